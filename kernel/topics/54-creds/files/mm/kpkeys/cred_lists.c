// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of groups: sealed before credentials name them.
 *
 * Whoever makes a list fills it in ordinary memory, as ever. Sealed credentials
 * name its copy in keyed memory only. References to the copy are counted in the
 * list that it was copied from. When nobody refers to that any more, the copy
 * goes with the last sealed credentials that name it.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/kpkeys_guarded.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include "cred_lists.h"
#include "creds.h"

static DEFINE_MUTEX(seal_lock);

static struct group_info no_groups_counts = { .usage = REFCOUNT_INIT(2) };

struct group_info kpkeys_no_groups __ro_after_init = { .counts = &no_groups_counts };

static __always_inline void fill_list(struct kpkeys_list *list, unsigned int nr,
				      struct group_info *groups, unsigned int nr_groups)
{
	unsigned int i;

	list->groups.counts = groups;
	list->groups.slot = nr;
	list->groups.ngroups = nr_groups;
	for (i = 0; i < nr_groups; i++)
		list->groups.gid[i] = READ_ONCE(groups->gid[i]);
}

/* Return: its number, or -errno. */
static noinline __flatten int seal_list(unsigned int chunk, struct group_info *groups,
					unsigned int nr_groups)
{
	struct kpkeys_list_chunk *lists;
	unsigned int unit, units;

	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(groups);
	kpkeys_reread(nr_groups);
	if (nr_groups > KPKEYS_MAX_GROUPS || chunk >= kpkeys_nr_list_chunks())
		return -EINVAL;
	units = kpkeys_list_units(nr_groups);
	lists = kpkeys_list_chunk(chunk);
	unit = kpkeys_list_claim(lists->used, units);
	if (!unit)
		return -EAGAIN;
	atomic_sub(units, &kpkeys_cred_lists.nr_free[chunk]);
	fill_list(&lists->list[unit], chunk * KPKEYS_LIST_UNITS + unit, groups, nr_groups);
	WRITE_ONCE(lists->list[unit].owner, (unsigned long)groups & ~1UL);
	/* Whoever sees the bit sees the list. */
	smp_mb__before_atomic();
	set_bit(unit, lists->first);
	return chunk * KPKEYS_LIST_UNITS + unit;
}

static int seal_in_a_chunk(struct group_info *groups, unsigned int nr_groups)
{
	unsigned int chunk, nr = kpkeys_nr_list_chunks();
	int ret = -EAGAIN;

	for (chunk = 0; chunk < nr && ret == -EAGAIN; chunk++)
		if (atomic_read(&kpkeys_cred_lists.nr_free[chunk]) >= kpkeys_list_units(nr_groups))
			ret = seal_list(chunk, groups, nr_groups);
	return ret;
}

/* What was copied once is not looked at again. */
static struct kpkeys_list *sealed_before(const struct group_info *groups)
{
	struct kpkeys_list *list = kpkeys_list_at(READ_ONCE(groups->slot));

	return list && READ_ONCE(list->owner) == (unsigned long)groups ? list : NULL;
}

/**
 * __kpkeys_seal_groups - have a list sealed
 * @groups: sorted, and complete
 *
 * Return: 0 or -errno: -EINVAL for more groups than %KPKEYS_MAX_GROUPS.
 */
int __kpkeys_seal_groups(struct group_info *groups)
{
	unsigned int nr_groups = READ_ONCE(groups->ngroups);
	int nr, err = 0;

	if (nr_groups > KPKEYS_MAX_GROUPS) {
		pr_warn_once("a list of more than %zu groups is not sealed, and refused\n",
			     KPKEYS_MAX_GROUPS);
		return -EINVAL;
	}
	guard(mutex)(&seal_lock);
	if (kpkeys_list_of(groups) || sealed_before(groups))
		return 0;
	while ((nr = seal_in_a_chunk(groups, nr_groups)) == -EAGAIN && !err)
		err = kpkeys_grow_cred_lists();
	if (nr < 0)
		return err ?: nr;
	groups->slot = nr;
	return 0;
}

/**
 * __kpkeys_sealed_groups - a list as credentials may name it
 * @groups: which; its references stay as they are
 *
 * Return: the sealed copy, or @groups if it cannot be sealed.
 */
struct group_info *__kpkeys_sealed_groups(struct group_info *groups)
{
	struct kpkeys_list *list;

	if (__kpkeys_seal_groups(groups))
		return groups;
	list = sealed_before(groups);
	return list ? &list->groups : groups;
}

static noinline __flatten bool free_list(unsigned int nr, const struct group_info *groups)
{
	struct kpkeys_list *list;

	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	kpkeys_reread(groups);
	list = kpkeys_list_at(nr);
	if (!list || READ_ONCE(list->owner) != (unsigned long)groups)
		return false;
	/* Pairs with the count in kpkeys_list_drop(): one of both sees the other. */
	smp_store_mb(list->owner, (unsigned long)groups | 1);
	kpkeys_list_release_unused(list);
	return true;
}

/**
 * __kpkeys_free_groups - a list that nobody refers to goes
 * @groups: what was copied
 *
 * Its copy stays while sealed credentials name it.
 *
 * Return: false if the number of the copy is forged; the list stays, then.
 */
bool __kpkeys_free_groups(struct group_info *groups)
{
	if (!groups->slot || free_list(groups->slot, groups))
		return true;
	kpkeys_refuse_quietly("free", "a list of groups that is not sealed", groups);
	return false;
}
