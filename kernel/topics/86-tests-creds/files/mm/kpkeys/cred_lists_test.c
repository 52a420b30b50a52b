// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: sealed lists of groups, and which credentials may name one. */
#include <linux/cred.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/uaccess.h>

#include "cred_lists.h"
#include "cred_slots.h"
#include "creds_test.h"

#define GROUP	7000

static struct group_info *make_groups(struct kunit *test, int nr)
{
	struct group_info *groups = groups_alloc(nr);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, groups);
	for (i = 0; i < nr; i++)
		groups->gid[i] = KGIDT_INIT(GROUP + i);
	return groups;
}

/* Prepared credentials of a user, and with such a list. */
static struct cred *make_member(struct kunit *test, int nr)
{
	struct group_info *groups = make_groups(test, nr);
	struct cred *cred = kpkeys_test_user(test);

	set_groups(cred, groups);
	put_group_info(groups);
	return cred;
}

static bool is_in_group(const struct group_info *groups, int nr)
{
	return groups_search(groups, KGIDT_INIT(GROUP + nr));
}

static void test_nobody_stores_to_lists(struct kunit *test)
{
	struct group_info *own = current_cred()->group_info;
	unsigned int value = 0;

	KUNIT_EXPECT_TRUE(test, kpkeys_are_sealed(own));
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(&own->ngroups, &value, sizeof(value)),
			-EFAULT);
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(&kpkeys_cred_lists, &value, sizeof(value)),
			-EFAULT);
}

/* What it was copied from is ordinary memory as before. */
static void test_list_is_a_copy(struct kunit *test)
{
	struct cred *member = make_member(test, 3);
	struct group_info *groups = member->group_info;

	KUNIT_EXPECT_TRUE(test, kpkeys_are_sealed(groups));
	group_counts(groups)->gid[2] = KGIDT_INIT(0);
	group_counts(groups)->ngroups = 100;
	KUNIT_EXPECT_EQ(test, groups->ngroups, 3);
	KUNIT_EXPECT_TRUE(test, is_in_group(groups, 2));
	KUNIT_EXPECT_FALSE(test, groups_search(groups, KGIDT_INIT(0)));
	put_cred(member);
	kpkeys_test_expect_clean(test);
}

static void test_list_is_sealed_once(struct kunit *test)
{
	struct group_info *groups = make_groups(test, 2);
	struct cred *one = kpkeys_test_user(test), *other = kpkeys_test_user(test);

	set_groups(one, groups);
	set_groups(other, groups);
	KUNIT_EXPECT_PTR_EQ(test, one->group_info, other->group_info);
	set_groups(other, one->group_info);
	KUNIT_EXPECT_PTR_EQ(test, one->group_info, other->group_info);
	put_group_info(groups);
	put_cred(one);
	put_cred(other);
	kpkeys_test_expect_clean(test);
}

/* In one unit, with the last word of it, behind it, and as many as go. */
static void test_lists_have_any_length(struct kunit *test)
{
	const int in_unit = (KPKEYS_LIST_UNIT - offsetof(struct group_info, gid)) / sizeof(kgid_t);
	const int lengths[] = { 0, 1, in_unit, in_unit + 1, 1000, KPKEYS_MAX_GROUPS };
	struct group_info *groups;
	struct cred *member;
	int i, last;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		last = lengths[i] - 1;
		member = make_member(test, lengths[i]);
		groups = member->group_info;
		KUNIT_EXPECT_TRUE_MSG(test, kpkeys_are_sealed(groups), "%d", lengths[i]);
		KUNIT_EXPECT_EQ(test, groups->ngroups, lengths[i]);
		if (last >= 0)
			KUNIT_EXPECT_TRUE(test, is_in_group(groups, last));
		KUNIT_EXPECT_FALSE(test, is_in_group(groups, last + 1));
		put_cred(member);
	}
	kpkeys_test_expect_clean(test);
}

static void test_too_long_lists_are_refused(struct kunit *test)
{
	struct group_info *groups = make_groups(test, KPKEYS_MAX_GROUPS + 1);

	KUNIT_EXPECT_EQ(test, set_current_groups(groups), -EINVAL);
	KUNIT_EXPECT_EQ(test, groups->slot, 0);
	put_group_info(groups);
	kpkeys_test_expect_clean(test);
}

/* What a list says may look like another one. */
static void test_inner_units_are_no_lists(struct kunit *test)
{
	struct group_info *groups = make_groups(test, 200);
	struct cred *member = kpkeys_test_user(test);
	unsigned int nr;

	memset(groups->gid, 0x11, 200 * sizeof(kgid_t));
	set_groups(member, groups);
	nr = member->group_info->slot;
	KUNIT_EXPECT_NE(test, kpkeys_list_owner(nr), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_list_owner(nr + 1), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_list_owner(nr - nr % KPKEYS_LIST_UNITS), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_list_owner(UINT_MAX), 0);
	put_group_info(groups);
	put_cred(member);
}

/* Nobody has sealed what names it. */
static void test_unused_list_goes(struct kunit *test)
{
	struct cred *member = make_member(test, 200);
	unsigned int nr = member->group_info->slot, chunk = nr / KPKEYS_LIST_UNITS;
	struct group_info *groups = member->group_info;
	int before;

	/* Lists of other tests go as well. */
	rcu_barrier();
	before = atomic_read(&kpkeys_cred_lists.nr_free[chunk]);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_list_state(nr)->users), 1);
	put_cred(member);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, kpkeys_list_owner(nr), 0);
	KUNIT_EXPECT_EQ(test, groups->gid[199].val, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&kpkeys_cred_lists.nr_free[chunk]),
			before + kpkeys_groups_units(200));
}

/* A count of users is ordinary memory: one that is wrong takes no list away. */
static void test_counts_free_no_list_in_use(struct kunit *test)
{
	struct cred *member = make_member(test, 2);
	const struct cred *old = kpkeys_test_override(member);
	struct group_info *groups = current_cred()->group_info;
	unsigned int nr = groups->slot;

	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_list_state(nr)->users), 2);
	KUNIT_EXPECT_TRUE(test, kpkeys_free_groups(group_counts(groups)));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_list_state(nr)->users), 1);
	KUNIT_EXPECT_FALSE(test, kpkeys_free_groups(group_counts(groups)));
	KUNIT_EXPECT_TRUE(test, kpkeys_are_sealed(groups));
	KUNIT_EXPECT_TRUE(test, is_in_group(groups, 1));
	/* What was copied is not to be freed again, and may have no copy any more. */
	kpkeys_test_revert(old);
	member->group_info = get_group_info(&kpkeys_no_groups);
	put_cred(member);
}

static void test_forged_number_frees_nothing(struct kunit *test)
{
	struct cred *member = make_member(test, 2), *other = make_member(test, 3);
	struct group_info *ordinary = group_counts(member->group_info);
	unsigned long before = kpkeys_test_violations();
	unsigned int own = ordinary->slot;

	ordinary->slot = other->group_info->slot;
	KUNIT_EXPECT_FALSE(test, kpkeys_free_groups(ordinary));
	ordinary->slot = own;
	KUNIT_EXPECT_TRUE(test, kpkeys_are_sealed(member->group_info));
	KUNIT_EXPECT_TRUE(test, kpkeys_are_sealed(other->group_info));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	put_cred(member);
	put_cred(other);
}

/* Its list is turned to one that nobody sealed, when it is about to be in force. */
static void test_override_has_sealed_groups_or_none(struct kunit *test)
{
	struct group_info *forged = make_groups(test, 2);
	struct cred *user = kpkeys_test_user(test);
	struct group_info *own = user->group_info;
	unsigned long before = kpkeys_test_violations();
	const struct cred *old;

	user->group_info = forged;
	old = kpkeys_test_override(user);
	user->group_info = own;
	KUNIT_EXPECT_FALSE(test, in_group_p(KGIDT_INIT(GROUP)));
	KUNIT_EXPECT_PTR_EQ(test, current_cred()->group_info, &kpkeys_no_groups);
	kpkeys_test_revert(old);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	put_cred(user);
	put_group_info(forged);
}

struct joiner {
	struct group_info *groups;
	bool joined;
};

static void join(void *data)
{
	struct joiner *joiner = data;
	struct cred *new = prepare_creds();

	put_group_info(new->group_info);
	new->group_info = get_group_info(joiner->groups);
	commit_creds(new);
	joiner->joined = in_group_p(KGIDT_INIT(GROUP));
}

/* Root might have any list, but by setgroups() only. */
static void test_committed_groups_are_sealed(struct kunit *test)
{
	struct joiner joiner = { .groups = make_groups(test, 2) };

	kpkeys_test_in_task(test, join, &joiner);
	KUNIT_EXPECT_FALSE(test, joiner.joined);
	KUNIT_EXPECT_EQ(test, kpkeys_seal_groups(joiner.groups), 0);
	joiner.groups = kpkeys_sealed_groups(joiner.groups);
	kpkeys_test_in_task(test, join, &joiner);
	KUNIT_EXPECT_TRUE(test, joiner.joined);
	put_group_info(joiner.groups);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(test_nobody_stores_to_lists),
	KUNIT_CASE(test_list_is_a_copy),
	KUNIT_CASE(test_list_is_sealed_once),
	KUNIT_CASE(test_lists_have_any_length),
	KUNIT_CASE(test_too_long_lists_are_refused),
	KUNIT_CASE(test_inner_units_are_no_lists),
	KUNIT_CASE(test_unused_list_goes),
	KUNIT_CASE(test_counts_free_no_list_in_use),
	KUNIT_CASE(test_forged_number_frees_nothing),
	KUNIT_CASE(test_override_has_sealed_groups_or_none),
	KUNIT_CASE(test_committed_groups_are_sealed),
	{}
};

static struct kunit_suite suite = {
	.name = "kpkeys-cred-lists",
	.init = kpkeys_test_creds_init,
	.exit = kpkeys_test_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
