/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sealed lists: groups of credentials, user namespaces, and maps of IDs of these. They
 * are units of chunks that hold nothing else.
 *
 * What a list says is any number. So what is known of it is not beside it, but in
 * front of all lists of its chunk.
 */
#ifndef _MM_KPKEYS_CRED_LISTS_H
#define _MM_KPKEYS_CRED_LISTS_H

#include <linux/cred.h>
#include <linux/math.h>
#include <linux/stddef.h>
#include <linux/user_namespace.h>

#include "chunks.h"
#include "internal.h"

#define KPKEYS_LIST_UNIT	128
#define KPKEYS_LIST_UNITS	(KPKEYS_CHUNK_SIZE / KPKEYS_LIST_UNIT)
#define KPKEYS_LIST_CHUNKS	1024

/* Beside the owner of a list: it is gone. And: a map, which has no other; a namespace. */
#define KPKEYS_LIST_GONE	1UL
#define KPKEYS_LIST_MAP		2UL
#define KPKEYS_LIST_NS		4UL
#define KPKEYS_LIST_KINDS	(KPKEYS_LIST_MAP | KPKEYS_LIST_NS)

/**
 * struct kpkeys_user_ns - what is known of a user namespace
 * @parent: the one above it
 * @owner: who made it
 * @above: number of what is known of @parent; 0 for the first namespace
 * @map: of its sealed maps of users and of groups; 0 while there is none
 */
struct kpkeys_user_ns {
	struct user_namespace	*parent;
	kuid_t			owner;
	unsigned int		above;
	unsigned int		map[2];
};

/**
 * struct kpkeys_list - a sealed list
 * @groups: a copy of one
 * @map: or of that; more extents than it has places for are behind it
 * @ns: or what is known of a user namespace
 */
struct kpkeys_list {
	union {
		struct group_info	groups;
		struct uid_gid_map	map;
		struct kpkeys_user_ns	ns;
	};
} __aligned(KPKEYS_LIST_UNIT);

/**
 * struct kpkeys_list_state - what is known of a list, by its first unit
 * @owner: what it was copied from, with KPKEYS_LIST_*; 0 for no list
 * @users: its owner, and sealed credentials that name it; of who counts to 0 it is freed.
 *	Of a namespace those below it, too, and it waits for who looks for such
 * @units: how many it has
 * @is_ns: is it a namespace? Who has a share in it reads that ahead of giving it up
 */
struct kpkeys_list_state {
	unsigned long	owner;
	atomic_long_t	users;
	unsigned int	units;
	bool		is_ns;
};

/**
 * struct kpkeys_list_chunk - lists, behind what is known of them
 * @used: units that are taken, those in front among them
 * @state: of lists, by units
 * @list: by units
 */
struct kpkeys_list_chunk {
	union {
		struct {
			unsigned long			used[BITS_TO_LONGS(KPKEYS_LIST_UNITS)];
			struct kpkeys_list_state	state[KPKEYS_LIST_UNITS];
		};
		struct kpkeys_list			list[KPKEYS_LIST_UNITS];
	};
};

#define KPKEYS_LIST_HEAD						\
	DIV_ROUND_UP(offsetofend(struct kpkeys_list_chunk, state), KPKEYS_LIST_UNIT)

/* As many as go into a chunk. */
#define KPKEYS_MAX_GROUPS						\
	(((KPKEYS_LIST_UNITS - KPKEYS_LIST_HEAD) * KPKEYS_LIST_UNIT -	\
	  offsetof(struct group_info, gid)) / sizeof(kgid_t))

/**
 * struct kpkeys_cred_lists - where the lists are; pages with KPKEYS_PKEY_STATE
 * @nr_chunks: chunks in use
 * @busy: bit 0: somebody looks at all namespaces
 * @chunk: their addresses
 * @nr_free: free units of each
 */
struct kpkeys_cred_lists {
	unsigned int			nr_chunks;
	unsigned long			busy;
	struct kpkeys_list_chunk	*chunk[KPKEYS_LIST_CHUNKS];
	atomic_t			nr_free[KPKEYS_LIST_CHUNKS];
} __aligned(PAGE_SIZE);

extern struct kpkeys_cred_lists kpkeys_cred_lists;

/* What stands where a list was that is none. */
extern struct group_info kpkeys_no_groups;

static __always_inline unsigned int kpkeys_groups_units(unsigned int nr)
{
	return DIV_ROUND_UP(offsetof(struct group_info, gid) + nr * sizeof(kgid_t),
			    KPKEYS_LIST_UNIT);
}

static __always_inline unsigned int kpkeys_nr_list_chunks(void)
{
	/* Pairs with the release in publish_lists(). */
	return smp_load_acquire(&kpkeys_cred_lists.nr_chunks);
}

static __always_inline struct kpkeys_list_chunk *kpkeys_list_chunk(unsigned int nr)
{
	return kpkeys_cred_lists.chunk[nr / KPKEYS_LIST_UNITS];
}

/* By numbers of keyed memory, or that have just been taken. */
static __always_inline struct kpkeys_list *kpkeys_list(unsigned int nr)
{
	/* Found again each time: sections have no registers to spare. */
	OPTIMIZER_HIDE_VAR(nr);
	return &kpkeys_list_chunk(nr)->list[nr % KPKEYS_LIST_UNITS];
}

static __always_inline struct kpkeys_list_state *kpkeys_list_state(unsigned int nr)
{
	OPTIMIZER_HIDE_VAR(nr);
	return &kpkeys_list_chunk(nr)->state[nr % KPKEYS_LIST_UNITS];
}

/* By a number of ordinary memory: whoever uses it twice reads it once. 0 for no list. */
static __always_inline unsigned long kpkeys_list_owner(unsigned int nr)
{
	if (nr / KPKEYS_LIST_UNITS >= kpkeys_nr_list_chunks())
		return 0;
	/* Pairs with the release in kpkeys_list_publish(). */
	return smp_load_acquire(&kpkeys_list_state(nr)->owner);
}

/* No pointer from ordinary memory is believed to be a sealed list's. */
static __always_inline bool kpkeys_is_list(unsigned int nr, const struct group_info *groups)
{
	unsigned long owner = kpkeys_list_owner(nr);

	return owner && !(owner & KPKEYS_LIST_KINDS) && &kpkeys_list(nr)->groups == groups;
}

static __always_inline bool kpkeys_are_sealed(const struct group_info *groups)
{
	return groups && kpkeys_is_list(READ_ONCE(groups->slot), groups);
}

static __always_inline unsigned long kpkeys_owner_of_ns(const struct user_namespace *ns)
{
	return (unsigned long)ns | KPKEYS_LIST_NS;
}

static __always_inline bool kpkeys_is_ns(unsigned int nr, const struct user_namespace *ns)
{
	return READ_ONCE(kpkeys_list_state(nr)->owner) == kpkeys_owner_of_ns(ns);
}

/* Return: of what is known of a namespace; 0 for the first one, and for none. */
static __always_inline unsigned int kpkeys_ns_number(const struct user_namespace *ns)
{
	unsigned int nr = READ_ONCE(ns->slot);

	return kpkeys_list_owner(nr) == kpkeys_owner_of_ns(ns) ? nr : 0;
}

/* Of a namespace whose number is known. */
static __always_inline struct uid_gid_map *kpkeys_map_of(unsigned int ns, bool gids)
{
	unsigned int nr = ns ? READ_ONCE(kpkeys_list(ns)->ns.map[gids]) : 0;

	return kpkeys_list_owner(nr) == KPKEYS_LIST_MAP ? &kpkeys_list(nr)->map : NULL;
}

/* ---- in sections ---- */

static __always_inline void kpkeys_list_give(unsigned int nr, unsigned int units)
{
	while (units--)
		clear_bit_unlock(nr % KPKEYS_LIST_UNITS + units, kpkeys_list_chunk(nr)->used);
}

/* Return: the first of so many units side by side, or 0. */
static __always_inline unsigned int kpkeys_list_claim(unsigned int chunk, unsigned int units)
{
	unsigned int nr = chunk * KPKEYS_LIST_UNITS + KPKEYS_LIST_HEAD, got = 0;

	for (; nr / KPKEYS_LIST_UNITS == chunk && got < units; nr++) {
		if (!test_and_set_bit(nr % KPKEYS_LIST_UNITS, kpkeys_list_chunk(nr)->used)) {
			got++;
			continue;
		}
		kpkeys_list_give(nr - got, got);
		got = 0;
	}
	if (got == units)
		return nr - units;
	kpkeys_list_give(nr - got, got);
	return 0;
}

/*
 * Nobody knows of it before kpkeys_list_publish().
 *
 * Return: its number, or 0 if there is no room.
 */
static __always_inline unsigned int kpkeys_list_take(unsigned int chunk, unsigned int units,
						     bool is_ns)
{
	unsigned int nr;

	if (chunk >= kpkeys_nr_list_chunks())
		return 0;
	nr = kpkeys_list_claim(chunk, units);
	if (!nr)
		return 0;
	atomic_sub(units, &kpkeys_cred_lists.nr_free[chunk]);
	kpkeys_list_state(nr)->units = units;
	kpkeys_list_state(nr)->is_ns = is_ns;
	/* Who counts himself sees that it has no owner yet. */
	atomic_long_set_release(&kpkeys_list_state(nr)->users, 1);
	return nr;
}

static __always_inline void kpkeys_list_publish(unsigned int nr, unsigned long owner)
{
	/* Whoever sees the owner sees the list. */
	smp_store_release(&kpkeys_list_state(nr)->owner, owner);
}

/* Nobody else has it: no count goes up from 0. */
static __always_inline void kpkeys_list_free(unsigned int nr)
{
	struct kpkeys_list_state *state = kpkeys_list_state(nr);
	unsigned int units = state->units;

	WRITE_ONCE(state->owner, 0);
	/* Who reads what is cleared sees that it has no owner. */
	smp_wmb();
	kpkeys_clear_words(kpkeys_list(nr), units * KPKEYS_LIST_UNIT);
	kpkeys_list_give(nr, units);
	atomic_add(units, &kpkeys_cred_lists.nr_free[nr / KPKEYS_LIST_UNITS]);
}

/* What is known of a namespace somebody else frees. */
static __always_inline void kpkeys_list_put(unsigned int nr)
{
	bool is_ns = READ_ONCE(kpkeys_list_state(nr)->is_ns);

	if (atomic_long_dec_and_test(&kpkeys_list_state(nr)->users) && !is_ns)
		kpkeys_list_free(nr);
}

/* Sealed credentials name it from now on. */
static __always_inline bool kpkeys_list_hold(const struct group_info *groups)
{
	unsigned int nr = groups ? READ_ONCE(groups->slot) : 0;

	if (!kpkeys_is_list(nr, groups) ||
	    !atomic_long_inc_not_zero(&kpkeys_list_state(nr)->users))
		return false;
	/* It may have gone, and another one come. */
	if (kpkeys_is_list(nr, groups))
		return true;
	kpkeys_list_put(nr);
	return false;
}

/* By its number. */
static __always_inline void kpkeys_ns_drop(unsigned int ns)
{
	if (ns)
		atomic_long_dec_return_release(&kpkeys_list_state(ns)->users);
}

/* Return: whether it is known; the first one has no number. */
static __always_inline bool kpkeys_ns_hold(const struct user_namespace *ns, unsigned int *number)
{
	unsigned int nr;

	*number = 0;
	if (ns == &init_user_ns)
		return true;
	nr = kpkeys_ns_number(ns);
	if (!nr || !atomic_long_inc_not_zero(&kpkeys_list_state(nr)->users))
		return false;
	/* It may have gone, and a list have come. */
	if (kpkeys_list_owner(nr) != kpkeys_owner_of_ns(ns)) {
		kpkeys_list_put(nr);
		return false;
	}
	*number = nr;
	return true;
}

static __always_inline void kpkeys_list_drop(const struct group_info *groups)
{
	if (kpkeys_are_sealed(groups))
		kpkeys_list_put(groups->slot);
}

/* The owner of a list is gone: once. */
static __always_inline bool kpkeys_list_leave(unsigned int nr, unsigned long owner)
{
	if (kpkeys_list_owner(nr) != owner ||
	    cmpxchg(&kpkeys_list_state(nr)->owner, owner, owner | KPKEYS_LIST_GONE) != owner)
		return false;
	kpkeys_list_put(nr);
	return true;
}

static __always_inline const struct uid_gid_extent *
kpkeys_extents_of(const struct uid_gid_map *map)
{
	return map->nr_extents > UID_GID_MAP_MAX_BASE_EXTENTS ? (void *)(map + 1) : map->extent;
}

/* Does an extent of a copy have these IDs of the machine, side by side? */
static __always_inline bool kpkeys_extent_has(const struct uid_gid_extent *extent, u32 first,
					      u32 count)
{
	u32 at = first - extent->lower_first;

	return count && at < extent->count && count <= extent->count - at;
}

/* Does a namespace that credentials in force name have an ID? */
static __always_inline bool kpkeys_map_gives(unsigned int ns, bool gids, u32 id)
{
	const struct uid_gid_map *map = kpkeys_map_of(ns, gids);
	const struct uid_gid_extent *extent;
	u32 i;

	if (!map)
		return false;
	extent = kpkeys_extents_of(map);
	for (i = 0; i < map->nr_extents && i < UID_GID_MAP_MAX_EXTENTS; i++, extent++)
		if (kpkeys_extent_has(extent, id, 1))
			return true;
	return false;
}

extern struct mutex kpkeys_list_lock;

int kpkeys_list_somewhere(unsigned int units, int (*seal)(unsigned int chunk, void *data),
			  void *data);

#endif /* _MM_KPKEYS_CRED_LISTS_H */
