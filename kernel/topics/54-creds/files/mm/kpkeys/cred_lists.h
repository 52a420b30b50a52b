/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sealed lists of groups: units of chunks that hold nothing else.
 *
 * What a list says is any number, so no unit behind its first may be taken for
 * the first of another one. A bit says which are first ones.
 */
#ifndef _MM_KPKEYS_CRED_LISTS_H
#define _MM_KPKEYS_CRED_LISTS_H

#include <linux/cred.h>
#include <linux/math.h>
#include <linux/stddef.h>

#include "chunks.h"
#include "internal.h"

#define KPKEYS_LIST_UNIT	128
#define KPKEYS_LIST_UNITS	(KPKEYS_CHUNK_SIZE / KPKEYS_LIST_UNIT)
#define KPKEYS_LIST_CHUNKS	1024

/**
 * struct kpkeys_list - a sealed list of groups
 * @owner: what it was copied from, with bit 0 set if that is gone; 0 while it is free
 * @users: how many sealed credentials name it
 * @groups: the copy
 */
struct kpkeys_list {
	unsigned long		owner;
	atomic_long_t		users;
	struct group_info	groups;
} __aligned(KPKEYS_LIST_UNIT);

/* As many as go into a chunk. */
#define KPKEYS_MAX_GROUPS						\
	((KPKEYS_CHUNK_SIZE - KPKEYS_LIST_UNIT -			\
	  offsetof(struct kpkeys_list, groups.gid)) / sizeof(kgid_t))

/**
 * struct kpkeys_list_chunk - lists, behind what says where they are
 * @used: units that are taken, this one among them
 * @first: units that are the first ones of a list
 * @list: by units
 */
struct kpkeys_list_chunk {
	union {
		struct {
			unsigned long	used[BITS_TO_LONGS(KPKEYS_LIST_UNITS)];
			unsigned long	first[BITS_TO_LONGS(KPKEYS_LIST_UNITS)];
		};
		struct kpkeys_list	list[KPKEYS_LIST_UNITS];
	};
};

/**
 * struct kpkeys_cred_lists - where the lists are; pages with KPKEYS_PKEY_STATE
 * @nr_chunks: chunks in use
 * @chunk: their addresses
 * @nr_free: free units of each
 */
struct kpkeys_cred_lists {
	unsigned int			nr_chunks;
	struct kpkeys_list_chunk	*chunk[KPKEYS_LIST_CHUNKS];
	atomic_t			nr_free[KPKEYS_LIST_CHUNKS];
} __aligned(PAGE_SIZE);

extern struct kpkeys_cred_lists kpkeys_cred_lists;

/* What stands where a list was that is none. */
extern struct group_info kpkeys_no_groups;

static __always_inline unsigned int kpkeys_list_units(unsigned int nr_groups)
{
	return DIV_ROUND_UP(offsetof(struct kpkeys_list, groups.gid) + nr_groups * sizeof(kgid_t),
			    KPKEYS_LIST_UNIT);
}

static __always_inline struct kpkeys_list_chunk *kpkeys_list_chunk(unsigned int nr)
{
	OPTIMIZER_HIDE_VAR(nr);
	return kpkeys_cred_lists.chunk[nr];
}

static __always_inline unsigned int kpkeys_nr_list_chunks(void)
{
	/* Pairs with the release in publish_lists(). */
	return smp_load_acquire(&kpkeys_cred_lists.nr_chunks);
}

/**
 * kpkeys_list_at - address of a list
 * @nr: its number
 *
 * Return: NULL for a number that is no list's.
 */
static __always_inline struct kpkeys_list *kpkeys_list_at(unsigned int nr)
{
	unsigned int chunk = nr / KPKEYS_LIST_UNITS, unit = nr % KPKEYS_LIST_UNITS;

	if (chunk >= kpkeys_nr_list_chunks() ||
	    !test_bit_acquire(unit, kpkeys_list_chunk(chunk)->first))
		return NULL;
	return &kpkeys_list_chunk(chunk)->list[unit];
}

/* No pointer from ordinary memory is believed to be a sealed list's. */
static __always_inline struct kpkeys_list *kpkeys_list_of(const struct group_info *groups)
{
	struct kpkeys_list *list = groups ? kpkeys_list_at(READ_ONCE(groups->slot)) : NULL;

	return list && &list->groups == groups ? list : NULL;
}

/* ---- in sections ---- */

static __always_inline void kpkeys_list_give(unsigned long *used, unsigned int unit,
					     unsigned int nr)
{
	while (nr--)
		clear_bit_unlock(unit + nr, used);
}

/* Return: the first of so many, or 0. */
static __always_inline unsigned int kpkeys_list_claim(unsigned long *used, unsigned int nr)
{
	unsigned int unit, got = 0;

	for (unit = 1; unit < KPKEYS_LIST_UNITS && got < nr; unit++) {
		if (!test_and_set_bit(unit, used)) {
			got++;
			continue;
		}
		kpkeys_list_give(used, unit - got, got);
		got = 0;
	}
	if (got == nr)
		return unit - nr;
	kpkeys_list_give(used, unit - got, got);
	return 0;
}

/* Who counts down to nothing here is the only one who gives it back. */
static __always_inline void kpkeys_list_release_unused(struct kpkeys_list *list)
{
	struct kpkeys_list_chunk *chunk;
	unsigned int nr, units;

	if (atomic_long_cmpxchg(&list->users, 0, LONG_MIN))
		return;
	nr = list->groups.slot;
	units = kpkeys_list_units(list->groups.ngroups);
	chunk = kpkeys_list_chunk(nr / KPKEYS_LIST_UNITS);
	clear_bit(nr % KPKEYS_LIST_UNITS, chunk->first);
	/* With its users: whoever counts himself, and sees no list, counts back. */
	kpkeys_clear_words(list, units * KPKEYS_LIST_UNIT);
	kpkeys_list_give(chunk->used, nr % KPKEYS_LIST_UNITS, units);
	atomic_add(units, &kpkeys_cred_lists.nr_free[nr / KPKEYS_LIST_UNITS]);
}

/* Sealed credentials name it from now on. */
static __always_inline bool kpkeys_list_hold(const struct group_info *groups)
{
	struct kpkeys_list *list = kpkeys_list_of(groups);

	if (!list || !atomic_long_inc_unless_negative(&list->users))
		return false;
	if (kpkeys_list_of(groups))
		return true;
	atomic_long_dec(&list->users);
	return false;
}

static __always_inline void kpkeys_list_drop(const struct group_info *groups)
{
	struct kpkeys_list *list = kpkeys_list_of(groups);

	if (list && !atomic_long_dec_return(&list->users) && READ_ONCE(list->owner) & 1)
		kpkeys_list_release_unused(list);
}

#endif /* _MM_KPKEYS_CRED_LISTS_H */
