// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps of IDs of user namespaces: whose files a task may open as if they were its
 * own. Each is written once, and is sealed then. What is known of the namespace says
 * where.
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
 * __kpkeys_sealed_map - which IDs a user namespace has
 * @ns: which
 * @gids: those of groups, else of users
 *
 * Return: a sealed map. No other one is believed.
 */
struct uid_gid_map *__kpkeys_sealed_map(struct user_namespace *ns, bool gids)
{
	unsigned int nr;
	struct uid_gid_map *map;

	if (ns == &init_user_ns)
		return &all_ids;
	nr = kpkeys_ns_number(ns);
	map = kpkeys_map_of(nr, gids);
	/* It may have gone, and another list have come: where the map is, it did not say. */
	smp_rmb();
	return map && kpkeys_is_ns(nr, ns) ? map : &no_ids;
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
	const struct uid_gid_extent *ids = kpkeys_extents_of(&kpkeys_list(nr)->map) + i;
	u32 n;

	for (n = 0; n < UID_GID_MAP_MAX_EXTENTS; n++) {
		/* Found again each time: sections have no registers to spare. */
		OPTIMIZER_HIDE_VAR(from);
		OPTIMIZER_HIDE_VAR(ids);
		if (n >= from->nr_extents)
			return false;
		if (kpkeys_extent_has(kpkeys_extents_of(from) + n, ids->lower_first, ids->count))
			return true;
	}
	return false;
}

/* One's own ID anybody has, and in a namespace those that it has. Others take a capability. */
static __always_inline bool may_have(const struct cred *cred, unsigned int nr, bool gids)
{
	const struct uid_gid_map *map = &kpkeys_list(nr)->map, *from;
	u32 own = gids ? __kgid_val(cred->egid) : __kuid_val(cred->euid), i;

	if (kpkeys_cred_rules(cred, gids ? CAP_SETGID : CAP_SETUID))
		return true;
	if (map->nr_extents == 1 && map->extent->count == 1 && map->extent->lower_first == own)
		return true;
	if (!kpkeys_cred_can(cred, gids ? CAP_SETGID : CAP_SETUID))
		return false;
	for (i = 0; i < 2 * UID_GID_MAP_MAX_EXTENTS; i++) {
		kpkeys_reread(nr);
		if (i >= nr_copied(kpkeys_list(nr)->map.nr_extents))
			return true;
		from = kpkeys_map_of(cred->ns_slot, gids);
		if (!from || !is_given(from, nr, i))
			return false;
	}
	return true;
}

/* ---- writing one ---- */

struct mapping {
	const struct user_namespace *ns;
	const struct uid_gid_map *map;
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

/* Once, and while it is known of which namespace. */
static __always_inline int publish_map(unsigned int nr, const struct user_namespace *ns, bool gids)
{
	unsigned int of, other;

	if (!kpkeys_ns_hold(ns, &of) || !of)
		return -EPERM;
	kpkeys_list_publish(nr, KPKEYS_LIST_MAP);
	other = cmpxchg(&kpkeys_list(of)->ns.map[gids], 0, nr);
	kpkeys_list_put(of);
	return other ? -EPERM : 0;
}

/* What it is not to have is asked of the copy. */
static __always_inline int seal(unsigned int chunk, const struct mapping *mapping, bool gids)
{
	unsigned int nr, extents;
	int ret = -EPERM;

	extents = READ_ONCE(mapping->map->nr_extents);
	if (!extents || extents > UID_GID_MAP_MAX_EXTENTS)
		return -EINVAL;
	nr = kpkeys_list_take(chunk, units_of_map(extents), false);
	if (!nr)
		return -EAGAIN;
	fill_map(&kpkeys_list(nr)->map, READ_ONCE(mapping->map), extents);
	const struct cred *own __free(kpkeys_held) = kpkeys_hold_own_real();

	if (!own || !may_have(own, nr, gids) || !kpkeys_runs_programs())
		nr |= KPKEYS_GROWN;
	if (!(nr & KPKEYS_GROWN) || kpkeys_state.mode == KPKEYS_AUDIT)
		ret = publish_map(nr & ~KPKEYS_GROWN, READ_ONCE(mapping->ns), gids);
	if (!ret)
		return nr;
	kpkeys_list_put(nr & ~KPKEYS_GROWN);
	return ret;
}

static noinline __flatten int seal_uids(unsigned int chunk, void *mapping)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(mapping);
	return seal(chunk, mapping, false);
}

static noinline __flatten int seal_gids(unsigned int chunk, void *mapping)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(mapping);
	return seal(chunk, mapping, true);
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
int __kpkeys_seal_map(const struct user_namespace *ns, const struct uid_gid_map *map, bool gids)
{
	struct mapping mapping = { .ns = ns, .map = map };
	u32 extents = min_t(u32, map->nr_extents, UID_GID_MAP_MAX_EXTENTS);
	int nr;

	guard(mutex)(&kpkeys_list_lock);
	nr = kpkeys_list_somewhere(units_of_map(extents), gids ? seal_gids : seal_uids, &mapping);
	if (nr == -EPERM || (nr > 0 && nr & KPKEYS_GROWN))
		pr_notice_ratelimited("IDs that %s[%d] could not give are %s\n", current->comm,
				      current->pid, nr < 0 ? "refused" : "let through");
	return min(nr, 0);
}
