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

#include <linux/capability.h>
#include <linux/kpkeys_guarded.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include "cred_lists.h"
#include "creds.h"

/* What somebody else has taken for a moment is not taken for full. */
DEFINE_MUTEX(kpkeys_list_lock);

static struct group_info no_groups_counts = { .usage = REFCOUNT_INIT(2) };

struct group_info kpkeys_no_groups __ro_after_init = { .counts = &no_groups_counts };

/* The last ones are for those who may do more than have a namespace of their own. */
static bool may_grow(void)
{
	return kpkeys_nr_list_chunks() < KPKEYS_LIST_CHUNKS / 4 * 3 ||
	       ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

/**
 * kpkeys_list_somewhere - have a list made in a chunk that has room
 * @units: how many are free there at least
 * @seal: makes it, in a section of its own; its number or -errno, -EAGAIN for no room
 * @data: of what
 *
 * Return: what @seal returned last, or -errno.
 */
int kpkeys_list_somewhere(unsigned int units, int (*seal)(unsigned int chunk, void *data),
			  void *data)
{
	unsigned int chunk;
	int ret, err = 0;

	lockdep_assert_held(&kpkeys_list_lock);
	do {
		ret = -EAGAIN;
		for (chunk = 0; chunk < kpkeys_nr_list_chunks() && ret == -EAGAIN; chunk++)
			if (atomic_read(&kpkeys_cred_lists.nr_free[chunk]) >= units)
				ret = seal(chunk, data);
		if (ret == -EAGAIN)
			err = may_grow() ? kpkeys_grow_cred_lists() : -ENOSPC;
	} while (ret == -EAGAIN && !err);
	return err ?: ret;
}

static __always_inline void fill_groups(struct group_info *copy, struct group_info *groups,
					unsigned int slot, unsigned int nr)
{
	unsigned int i;

	copy->counts = groups;
	copy->slot = slot;
	copy->ngroups = nr;
	for (i = 0; i < nr; i++)
		copy->gid[i] = READ_ONCE(groups->gid[i]);
}

static noinline __flatten int seal_groups(unsigned int chunk, void *data)
{
	struct group_info *groups = data;
	unsigned int nr, nr_groups;

	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(groups);
	nr_groups = READ_ONCE(groups->ngroups);
	if (nr_groups > KPKEYS_MAX_GROUPS)
		return -EINVAL;
	nr = kpkeys_list_take(chunk, kpkeys_groups_units(nr_groups), false);
	if (!nr)
		return -EAGAIN;
	fill_groups(&kpkeys_list(nr)->groups, groups, nr, nr_groups);
	kpkeys_list_publish(nr, (unsigned long)groups & ~(KPKEYS_LIST_GONE | KPKEYS_LIST_KINDS));
	return nr;
}

/* What was copied once is not looked at again. */
static struct group_info *sealed_before(struct group_info *groups)
{
	unsigned int nr = READ_ONCE(groups->slot);

	if (kpkeys_is_list(nr, groups))
		return groups;
	return kpkeys_list_owner(nr) == (unsigned long)groups ? &kpkeys_list(nr)->groups : NULL;
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
	int nr;

	if (nr_groups > KPKEYS_MAX_GROUPS) {
		pr_warn_once("a list of more than %zu groups is not sealed, and refused\n",
			     KPKEYS_MAX_GROUPS);
		return -EINVAL;
	}
	guard(mutex)(&kpkeys_list_lock);
	if (sealed_before(groups))
		return 0;
	nr = kpkeys_list_somewhere(kpkeys_groups_units(nr_groups), seal_groups, groups);
	if (nr < 0)
		return nr;
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
	if (!sealed_before(groups))
		__kpkeys_seal_groups(groups);
	return sealed_before(groups) ?: groups;
}

static noinline __flatten bool free_groups(unsigned int nr, const struct group_info *groups)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	kpkeys_reread(groups);
	return !((unsigned long)groups & (KPKEYS_LIST_GONE | KPKEYS_LIST_KINDS)) &&
	       kpkeys_list_leave(nr, (unsigned long)groups);
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
	if (!groups->slot || free_groups(groups->slot, groups))
		return true;
	kpkeys_refuse_quietly("free", "a list of groups that is not sealed", groups);
	return false;
}
