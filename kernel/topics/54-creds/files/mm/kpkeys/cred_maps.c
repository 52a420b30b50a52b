// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps of IDs of user namespaces: whose files a task may open as if they were its
 * own. Each is written once, and is sealed then. What is sealed is found by a number
 * in the map, and knows where that is.
 *
 * A map has no ID that its writer could not give, by data that no store changes.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitops.h>
#include <linux/kpkeys_guarded.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>

#include "cred_lists.h"
#include "cred_rules.h"
#include "cred_slots.h"

#define IN_MAP	UID_GID_MAP_MAX_BASE_EXTENTS
#define ALL_IDS	4294967295U

/* The first namespace has all IDs as they are, whatever it says. */
static struct uid_gid_map all_ids __ro_after_init = {
	.extent = { { .count = ALL_IDS } },
	.nr_extents = 1,
};

static struct uid_gid_map no_ids __ro_after_init;

/**
 * __kpkeys_sealed_map - what a map of IDs says
 * @map: of which namespace, and for which IDs
 *
 * Return: its sealed copy. Nothing else in it is believed.
 */
struct uid_gid_map *__kpkeys_sealed_map(struct uid_gid_map *map)
{
	struct kpkeys_list *list;

	if (map == &init_user_ns.uid_map || map == &init_user_ns.gid_map)
		return &all_ids;
	list = kpkeys_list_of_map(map);
	return list ? &list->map : &no_ids;
}

/* ---- what a map may have ---- */

/* Many are copied twice, sorted in two ways, behind the map and side by side. */
static __always_inline u32 nr_copied(u32 nr)
{
	return nr > IN_MAP ? 2 * nr : nr;
}

/* Some of the IDs of a copy. */
static __always_inline bool is_given(const struct uid_gid_map *from, unsigned int nr, u32 i)
{
	const struct uid_gid_extent *extent = kpkeys_extents_of(&kpkeys_list(nr)->map) + i;

	return kpkeys_map_gives(from, extent->lower_first, extent->count);
}

/* One's own ID anybody has, and in a namespace those that it has. Others take a capability. */
static __always_inline bool may_have(const struct cred *cred, unsigned int nr)
{
	const struct uid_gid_map *map = &kpkeys_list(nr)->map, *from;
	bool gids = map->slot;
	u32 own = gids ? __kgid_val(cred->egid) : __kuid_val(cred->euid), i;

	if (kpkeys_cred_rules(cred, gids ? CAP_SETGID : CAP_SETUID))
		return true;
	if (map->nr_extents == 1 && map->extent->count == 1 && map->extent->lower_first == own)
		return true;
	if (cred->user_ns == &init_user_ns)
		return false;
	from = gids ? &cred->user_ns->gid_map : &cred->user_ns->uid_map;
	for (i = 0; i < 2 * UID_GID_MAP_MAX_EXTENTS; i++) {
		kpkeys_reread(nr);
		if (i >= nr_copied(kpkeys_list(nr)->map.nr_extents))
			return true;
		if (!is_given(from, nr, i))
			return false;
	}
	return true;
}

/* ---- writing one ---- */

struct mapping {
	struct user_namespace *ns;
	const struct uid_gid_map *map;
	bool gids;
};

static __always_inline void copy_extents(struct uid_gid_extent *to,
					 const struct uid_gid_extent *from, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		WRITE_ONCE(to[i].first, from[i].first);
		WRITE_ONCE(to[i].lower_first, from[i].lower_first);
		WRITE_ONCE(to[i].count, from[i].count);
	}
}

static __always_inline void fill_map(struct uid_gid_map *copy, const struct uid_gid_map *map,
				     u32 nr)
{
	struct uid_gid_extent *behind = (void *)(copy + 1);

	copy->nr_extents = nr;
	if (nr <= IN_MAP) {
		copy_extents(copy->extent, map->extent, nr);
		return;
	}
	copy->forward = behind;
	copy->reverse = behind + nr;
	copy_extents(behind, READ_ONCE(map->forward), nr);
	copy_extents(behind + nr, READ_ONCE(map->reverse), nr);
}

static __always_inline unsigned int units_of_map(u32 nr)
{
	return DIV_ROUND_UP(sizeof(struct uid_gid_map) +
			    (nr > IN_MAP ? nr_copied(nr) * sizeof(struct uid_gid_extent) : 0),
			    KPKEYS_LIST_UNIT);
}

/* One that somebody is about to free may be found again. */
static __always_inline bool was_made(const struct uid_gid_map *map)
{
	unsigned int nr, end = kpkeys_nr_list_chunks() * KPKEYS_LIST_UNITS;

	for (nr = 0; nr < end; nr++)
		if ((READ_ONCE(kpkeys_list_state(nr)->owner) & ~KPKEYS_LIST_GONE) ==
		    kpkeys_owner_of_map(map))
			return true;
	return false;
}

/* One of each: asked and answered by one CPU at a time. */
static __always_inline int publish_map(unsigned int nr, const struct uid_gid_map *own)
{
	bool made;

	if (test_and_set_bit_lock(0, &kpkeys_cred_lists.busy))
		return -EBUSY;
	made = was_made(own);
	if (!made)
		kpkeys_list_publish(nr, kpkeys_owner_of_map(own));
	clear_bit_unlock(0, &kpkeys_cred_lists.busy);
	return made ? -EPERM : 0;
}

/* What it is not to have is asked of the copy. */
static noinline __flatten int seal_map(unsigned int chunk, void *data)
{
	const struct mapping *mapping = data;
	const struct kpkeys_record *record;
	struct user_namespace *ns;
	unsigned int nr, extents;
	int ret = -EPERM;
	bool may;

	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(mapping);
	extents = READ_ONCE(mapping->map->nr_extents);
	if (!extents || extents > UID_GID_MAP_MAX_EXTENTS)
		return -EINVAL;
	nr = kpkeys_list_take(chunk, units_of_map(extents));
	if (!nr)
		return -EAGAIN;
	kpkeys_list(nr)->map.slot = READ_ONCE(mapping->gids);
	fill_map(&kpkeys_list(nr)->map, READ_ONCE(mapping->map), extents);
	record = kpkeys_own_record();
	may = record && may_have(record->real, nr);
	ns = READ_ONCE(mapping->ns);
	if (may || kpkeys_state.mode == KPKEYS_AUDIT)
		ret = publish_map(nr, kpkeys_list(nr)->map.slot ? &ns->gid_map : &ns->uid_map);
	if (!ret)
		return may ? nr : nr | KPKEYS_GROWN;
	kpkeys_list_put(nr);
	return ret;
}

/**
 * __kpkeys_seal_map - have a map sealed
 * @ns: whose; the lock of namespaces' maps is held
 * @map: what is to be in force
 * @gids: for groups, else for users
 *
 * That the writer is not covered is no violation: Linux asks who opened the file.
 *
 * Return: 0 or -errno.
 */
int __kpkeys_seal_map(struct user_namespace *ns, const struct uid_gid_map *map, bool gids)
{
	struct mapping mapping = { .ns = ns, .map = map, .gids = gids };
	u32 extents = min_t(u32, map->nr_extents, UID_GID_MAP_MAX_EXTENTS);
	int nr;

	guard(mutex)(&kpkeys_list_lock);
	nr = kpkeys_list_somewhere(units_of_map(extents), seal_map, &mapping);
	if (nr == -EPERM || (nr > 0 && nr & KPKEYS_GROWN))
		pr_notice_ratelimited("IDs that %s[%d] could not give are %s\n", current->comm,
				      current->pid, nr < 0 ? "refused" : "let through");
	if (nr < 0)
		return nr;
	(gids ? &ns->gid_map : &ns->uid_map)->slot = nr & ~KPKEYS_GROWN;
	return 0;
}

/* ---- namespaces come and go ---- */

/* Credentials that wait to be freed name one that may be gone. */
static __always_inline bool is_in(const struct kpkeys_cred_slot *slot,
				  const struct user_namespace *ns)
{
	return READ_ONCE(slot->owner) && !(READ_ONCE(slot->owner) & 1) &&
	       slot->cred.user_ns == ns && atomic_long_read(&slot->users) > 0;
}

static __always_inline bool is_in_force(const struct user_namespace *ns)
{
	unsigned int nr, end = READ_ONCE(kpkeys_cred_slots.nr_chunks) * KPKEYS_CRED_SLOTS;

	for (nr = 0; nr < end; nr++)
		if (is_in(kpkeys_cred_slot(nr), ns))
			return true;
	return false;
}

/*
 * Nobody finds it from here on. Who found it before has credentials in force that name
 * the namespace: then it is found again.
 */
static __always_inline void free_unless_in_force(unsigned int nr, unsigned long owner,
						 const struct user_namespace *ns)
{
	struct kpkeys_list_state *state = kpkeys_list_state(nr);

	if (cmpxchg(&state->owner, owner, owner | KPKEYS_LIST_GONE) != owner)
		return;
	if (is_in_force(ns))
		WRITE_ONCE(state->owner, owner);
	else
		kpkeys_list_put(nr);
}

/* By its owner, whatever ordinary memory says. */
static noinline __flatten void free_maps(const struct user_namespace *ns, bool gids)
{
	unsigned long owner;
	unsigned int nr;

	guard(kpkeys_guarded)();
	kpkeys_reread(ns);
	kpkeys_reread(gids);
	owner = kpkeys_owner_of_map(gids ? &ns->gid_map : &ns->uid_map);
	for (nr = 0; nr / KPKEYS_LIST_UNITS < kpkeys_nr_list_chunks(); nr++)
		if (READ_ONCE(kpkeys_list_state(nr)->owner) == owner)
			free_unless_in_force(nr, owner, ns);
}

/**
 * __kpkeys_drop_maps - a namespace has no IDs any more
 * @ns: which
 */
void __kpkeys_drop_maps(const struct user_namespace *ns)
{
	free_maps(ns, false);
	free_maps(ns, true);
}

/**
 * __kpkeys_new_user_ns - may this be a new namespace?
 * @ns: memory that ordinary counts say is free
 *
 * Return: 0, or -ENOMEM if a task is in a namespace there.
 */
int __kpkeys_new_user_ns(const struct user_namespace *ns)
{
	if (is_in_force(ns) &&
	    kpkeys_refuse("free", "a user namespace that a task is in", ns, NULL))
		return -ENOMEM;
	__kpkeys_drop_maps(ns);
	return was_made(&ns->uid_map) || was_made(&ns->gid_map) ? -ENOMEM : 0;
}
