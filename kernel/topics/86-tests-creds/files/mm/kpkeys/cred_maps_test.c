// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: sealed maps of IDs, and who may have one made. */
#include <linux/cred.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "cred_lists.h"
#include "cred_slots.h"
#include "creds_test.h"
#include "kpkeys_test_programs.h"

#define OTHER	1001
#define MANY	UID_GID_MAP_MAX_EXTENTS

/* For tasks to be in, of one test each: some are when it is over, and the map stays. */
static struct user_namespace namespaces[3];

static struct user_namespace *own_ns(struct kunit *test, unsigned int i)
{
	kpkeys_test_make_lasting_ns(test, &namespaces[i]);
	return &namespaces[i];
}

static struct uid_gid_map one_extent(u32 first, u32 lower, u32 count)
{
	return (struct uid_gid_map) {
		.extent = { { .first = first, .lower_first = lower, .count = count } },
		.nr_extents = 1,
	};
}

static int seal_uids(struct user_namespace *ns, u32 lower, u32 count)
{
	struct uid_gid_map map = one_extent(0, lower, count);

	return kpkeys_seal_map(ns, &map, false);
}

static bool has(struct user_namespace *ns, u32 id)
{
	return kuid_has_mapping(ns, KUIDT_INIT(id));
}

/* What the namespace itself says is ordinary memory. */
static void test_map_is_a_copy(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);

	ns->uid_map = one_extent(0, OTHER, 10);
	KUNIT_EXPECT_FALSE(test, has(ns, OTHER));
	KUNIT_EXPECT_EQ(test, seal_uids(ns, OTHER, 1), 0);
	KUNIT_EXPECT_TRUE(test, has(ns, OTHER));
	KUNIT_EXPECT_FALSE(test, has(ns, OTHER + 1));
	KUNIT_EXPECT_TRUE(test, uid_eq(make_kuid(ns, 0), KUIDT_INIT(OTHER)));
	KUNIT_EXPECT_FALSE(test, uid_valid(make_kuid(ns, 1)));
	KUNIT_EXPECT_FALSE(test, gid_valid(make_kgid(ns, 0)));
	kpkeys_drop_user_ns(ns);
	KUNIT_EXPECT_FALSE(test, has(ns, OTHER));
	kpkeys_test_expect_clean(test);
}

static void test_nobody_stores_to_maps(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);
	struct uid_gid_map *map;
	u32 value = 0;

	KUNIT_ASSERT_EQ(test, seal_uids(ns, OTHER, 1), 0);
	map = kpkeys_uid_map(ns);
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(&map->nr_extents, &value, sizeof(value)),
			-EFAULT);
	kpkeys_drop_user_ns(ns);
}

static void test_map_is_written_once(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);

	KUNIT_EXPECT_EQ(test, seal_uids(ns, OTHER, 1), 0);
	KUNIT_EXPECT_EQ(test, seal_uids(ns, 0, 1), -EPERM);
	kpkeys_drop_user_ns(ns);
	KUNIT_EXPECT_EQ(test, seal_uids(ns, 0, 1), -EPERM);
	KUNIT_EXPECT_EQ(test, kpkeys_make_user_ns(ns), 0);
	KUNIT_EXPECT_EQ(test, seal_uids(ns, 0, 1), 0);
	kpkeys_drop_user_ns(ns);
}

static unsigned int map_number(const struct user_namespace *ns)
{
	return kpkeys_list(ns->slot)->ns.map[0];
}

/* The number is another namespace's, that of a map, that of a list of groups, or none's. */
static void test_maps_know_their_namespace(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test), *other = kpkeys_test_make_ns(test);
	unsigned int own = ns->slot, i;
	u32 forged[4];

	KUNIT_ASSERT_EQ(test, seal_uids(other, 0, 10), 0);
	forged[0] = other->slot;
	forged[1] = map_number(other);
	forged[2] = current_cred()->group_info->slot;
	forged[3] = ~0U;
	for (i = 0; i < ARRAY_SIZE(forged); i++) {
		ns->slot = forged[i];
		KUNIT_EXPECT_FALSE_MSG(test, has(ns, 0), "%u", i);
	}
	ns->slot = own;
	KUNIT_EXPECT_FALSE(test, gid_valid(make_kgid(other, 0)));
	kpkeys_drop_user_ns(other);
	kpkeys_drop_user_ns(ns);
}

static void test_map_is_no_list_of_groups(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);
	struct uid_gid_map map = one_extent(0, 0, 1);
	const struct group_info *groups;
	unsigned int nr;

	KUNIT_ASSERT_EQ(test, kpkeys_seal_map(ns, &map, false), 0);
	nr = map_number(ns);
	KUNIT_EXPECT_FALSE(test, kpkeys_are_sealed(&kpkeys_list(nr)->groups));
	kpkeys_drop_user_ns(ns);
	KUNIT_ASSERT_EQ(test, kpkeys_make_user_ns(ns), 0);
	/* Its number stands where that of the list would. */
	map.extent[(offsetof(struct group_info, slot)) / sizeof(map.extent[0])] =
		(struct uid_gid_extent) { nr, nr, nr };
	map.nr_extents = UID_GID_MAP_MAX_BASE_EXTENTS;
	KUNIT_ASSERT_EQ(test, kpkeys_seal_map(ns, &map, false), 0);
	groups = &kpkeys_list(map_number(ns))->groups;
	KUNIT_EXPECT_EQ(test, groups->slot, map_number(ns));
	KUNIT_EXPECT_FALSE(test, kpkeys_are_sealed(groups));
	kpkeys_drop_user_ns(ns);
}

/* Whatever its maps say. */
static void test_first_namespace_has_all(struct kunit *test)
{
	u32 nr = init_user_ns.uid_map.nr_extents;
	bool mapped;

	init_user_ns.uid_map.nr_extents = 0;
	mapped = has(&init_user_ns, OTHER) && has(&init_user_ns, 0) && has(&init_user_ns, -2);
	init_user_ns.uid_map.nr_extents = nr;
	KUNIT_EXPECT_TRUE(test, mapped);
	KUNIT_EXPECT_FALSE(test, has(&init_user_ns, -1));
}

static void make_many(struct kunit *test, struct uid_gid_map *map)
{
	u32 i;

	map->nr_extents = MANY;
	map->forward = kunit_kcalloc(test, MANY, sizeof(*map->forward), GFP_KERNEL);
	map->reverse = kunit_kcalloc(test, MANY, sizeof(*map->reverse), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map->forward);
	KUNIT_ASSERT_NOT_NULL(test, map->reverse);
	for (i = 0; i < MANY; i++) {
		map->forward[i] = (struct uid_gid_extent) { i, 10 * (MANY - i), 1 };
		map->reverse[MANY - 1 - i] = map->forward[i];
	}
}

static void test_long_maps(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);
	struct uid_gid_map map = { };

	make_many(test, &map);
	KUNIT_ASSERT_EQ(test, kpkeys_seal_map(ns, &map, false), 0);
	memset(map.forward, 0, MANY * sizeof(*map.forward));
	KUNIT_EXPECT_TRUE(test, uid_eq(make_kuid(ns, 0), KUIDT_INIT(10 * MANY)));
	KUNIT_EXPECT_TRUE(test, uid_eq(make_kuid(ns, MANY - 1), KUIDT_INIT(10)));
	KUNIT_EXPECT_EQ(test, from_kuid(ns, KUIDT_INIT(20)), MANY - 2);
	KUNIT_EXPECT_FALSE(test, has(ns, 11));
	kpkeys_drop_user_ns(ns);
	map.nr_extents = MANY + 1;
	KUNIT_EXPECT_EQ(test, kpkeys_seal_map(ns, &map, false), -EINVAL);
	kpkeys_test_expect_clean(test);
}

/* ---- whom a writer may give ---- */

struct writer {
	struct user_namespace *ns, *own;
	struct uid_gid_map map;
	bool gids, is_weak, is_thread;
	int err;
};

/* A user, with all capabilities in a namespace of its own if it has one. */
static void write_map(void *data)
{
	struct writer *writer = data;
	struct cred *new = prepare_creds();

	new->uid = KUIDT_INIT(USER);
	new->euid = KUIDT_INIT(USER);
	new->suid = KUIDT_INIT(USER);
	new->fsuid = KUIDT_INIT(USER);
	new->egid = KGIDT_INIT(OTHER);
	if (writer->own)
		new->user_ns = get_user_ns(writer->own);
	if (!writer->own || writer->is_weak)
		new->cap_effective = CAP_EMPTY_SET;
	commit_creds(new);
	kpkeys_test_run_programs(!writer->is_thread);
	writer->err = kpkeys_seal_map(writer->ns, &writer->map, writer->gids);
}

static int write_by(struct kunit *test, struct user_namespace *own, bool gids,
		    struct uid_gid_map map)
{
	struct writer writer = {
		.ns = kpkeys_test_make_ns(test), .own = own, .gids = gids, .map = map,
	};

	kpkeys_test_in_task(test, write_map, &writer);
	kpkeys_drop_user_ns(writer.ns);
	return writer.err;
}

static void test_users_have_their_own_ids(struct kunit *test)
{
	struct uid_gid_map two = one_extent(0, USER, 1);

	two.extent[two.nr_extents++] = (struct uid_gid_extent) { 1, USER, 1 };
	KUNIT_EXPECT_EQ(test, write_by(test, NULL, false, one_extent(0, USER, 1)), 0);
	KUNIT_EXPECT_EQ(test, write_by(test, NULL, true, one_extent(0, OTHER, 1)), 0);
	kpkeys_test_expect_clean(test);
	KUNIT_EXPECT_EQ(test, write_by(test, NULL, false, one_extent(0, OTHER, 1)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, NULL, true, one_extent(0, USER, 1)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, NULL, false, one_extent(0, 0, 1)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, NULL, false, one_extent(0, USER, 2)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, NULL, false, two), -EPERM);
}

/* A thread of the kernel writes what others gave it, and for which namespace they say, too. */
static void test_threads_of_the_kernel_give_none(struct kunit *test)
{
	struct writer writer = {
		.ns = kpkeys_test_make_ns(test), .map = one_extent(0, USER, 1), .is_thread = true,
	};

	kpkeys_test_in_task(test, write_map, &writer);
	kpkeys_drop_user_ns(writer.ns);
	KUNIT_EXPECT_EQ(test, writer.err, -EPERM);
}

/* In a namespace that has 2000 to 2009 as 0 to 9. */
static void test_namespaces_give_what_they_have(struct kunit *test)
{
	struct user_namespace *own = own_ns(test, 0);

	KUNIT_ASSERT_EQ(test, seal_uids(own, 2000, 10), 0);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(0, 2000, 10)), 0);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(5, 2009, 1)), 0);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(0, USER, 1)), 0);
	kpkeys_test_expect_clean(test);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(0, 1999, 2)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(0, 2009, 2)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(0, 2005, -1)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(0, 2005, 0)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, one_extent(0, 0, 1)), -EPERM);
	KUNIT_EXPECT_EQ(test, write_by(test, own, true, one_extent(0, 2000, 1)), -EPERM);
	kpkeys_drop_user_ns(own);
}

/* To who has the capability there. */
static void test_namespaces_give_by_capability(struct kunit *test)
{
	struct writer writer = {
		.own = own_ns(test, 2), .ns = kpkeys_test_make_ns(test),
		.map = one_extent(0, 2000, 1), .is_weak = true,
	};

	KUNIT_ASSERT_EQ(test, seal_uids(writer.own, 2000, 10), 0);
	kpkeys_test_in_task(test, write_map, &writer);
	KUNIT_EXPECT_EQ(test, writer.err, -EPERM);
	writer.is_weak = false;
	kpkeys_test_in_task(test, write_map, &writer);
	KUNIT_EXPECT_EQ(test, writer.err, 0);
	kpkeys_drop_user_ns(writer.ns);
	kpkeys_drop_user_ns(writer.own);
}

/* IDs are looked for in both copies, so both are asked about. */
static void test_both_copies_are_asked_about(struct kunit *test)
{
	struct user_namespace *own = own_ns(test, 1);
	struct uid_gid_map map = { };

	KUNIT_ASSERT_EQ(test, seal_uids(own, 10, 10 * MANY), 0);
	make_many(test, &map);
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, map), 0);
	map.reverse[7].lower_first = 0;
	KUNIT_EXPECT_EQ(test, write_by(test, own, false, map), -EPERM);
	kpkeys_drop_user_ns(own);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(test_map_is_a_copy),
	KUNIT_CASE(test_nobody_stores_to_maps),
	KUNIT_CASE(test_map_is_written_once),
	KUNIT_CASE(test_maps_know_their_namespace),
	KUNIT_CASE(test_map_is_no_list_of_groups),
	KUNIT_CASE(test_first_namespace_has_all),
	KUNIT_CASE(test_long_maps),
	KUNIT_CASE(test_users_have_their_own_ids),
	KUNIT_CASE(test_threads_of_the_kernel_give_none),
	KUNIT_CASE(test_namespaces_give_what_they_have),
	KUNIT_CASE(test_namespaces_give_by_capability),
	KUNIT_CASE(test_both_copies_are_asked_about),
	{}
};

static struct kunit_suite suite = {
	.name = "kpkeys-cred-maps",
	.init = kpkeys_test_creds_init,
	.exit = kpkeys_test_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
