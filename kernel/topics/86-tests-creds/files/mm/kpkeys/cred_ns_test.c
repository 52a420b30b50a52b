// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: what is known of user namespaces, and for how long. */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/user_namespace.h>

#include "cred_lists.h"
#include "cred_slots.h"
#include "creds.h"
#include "creds_test.h"

/* For tasks to be in, of one test each: some are when it is over. */
static struct user_namespace namespaces[4];

struct user_namespace *kpkeys_test_make_ns(struct kunit *test)
{
	struct user_namespace *ns = kunit_kzalloc(test, sizeof(*ns), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ns);
	KUNIT_ASSERT_EQ(test, kpkeys_make_user_ns(ns), 0);
	return ns;
}

void kpkeys_test_make_lasting_ns(struct kunit *test, struct user_namespace *ns)
{
	refcount_set(&ns->ns.KPKEYS_TEST_NS_COUNT, INT_MAX / 2);
	ns->parent = &init_user_ns;
	ns->level = 1;
	KUNIT_ASSERT_EQ(test, kpkeys_make_user_ns(ns), 0);
}

static struct user_namespace *own_ns(struct kunit *test, unsigned int i)
{
	kpkeys_test_make_lasting_ns(test, &namespaces[i]);
	return &namespaces[i];
}

static bool is_known(const struct user_namespace *ns)
{
	return kpkeys_ns_number(ns);
}

/* What the namespace itself says is ordinary memory. */
static void test_parent_and_owner_are_noted(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);

	ns->parent = ns;
	ns->owner = KUIDT_INIT(USER);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_ns_parent(ns), &init_user_ns);
	KUNIT_EXPECT_TRUE(test, uid_eq(kpkeys_ns_owner(ns), current_euid()));
	kpkeys_drop_user_ns(ns);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_ns_parent(ns), &init_user_ns);
	KUNIT_EXPECT_FALSE(test, uid_valid(kpkeys_ns_owner(ns)));
	kpkeys_test_expect_clean(test);
}

static void test_nobody_stores_to_what_is_noted(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);
	kuid_t *owner = &kpkeys_list(ns->slot)->ns.owner, value = KUIDT_INIT(USER);

	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(owner, &value, sizeof(value)), -EFAULT);
	kpkeys_drop_user_ns(ns);
}

/* The number is another namespace's, that of a list of groups, or none's. */
static void test_numbers_are_of_one_namespace(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test), *other = kpkeys_test_make_ns(test);
	unsigned int own = ns->slot, i;
	const unsigned int forged[] = {
		other->slot, current_cred()->group_info->slot, 0, ~0U,
	};

	for (i = 0; i < ARRAY_SIZE(forged); i++) {
		ns->slot = forged[i];
		KUNIT_EXPECT_FALSE_MSG(test, uid_valid(kpkeys_ns_owner(ns)), "%u", i);
	}
	ns->slot = own;
	kpkeys_drop_user_ns(ns);
	kpkeys_drop_user_ns(other);
}

/* The address of a namespace is that of a list of groups with the mark of one. */
static void test_namespace_is_freed_as_no_list_of_groups(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);
	struct group_info *forged = (void *)kpkeys_owner_of_ns(ns);

	put_unaligned(ns->slot, &forged->slot);
	KUNIT_EXPECT_FALSE(test, kpkeys_free_groups(forged));
	KUNIT_EXPECT_TRUE(test, is_known(ns));
	kpkeys_drop_user_ns(ns);
}

static void test_namespace_is_made_once(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);
	const struct uid_gid_map map = { .extent = { { 0, 0, 10 } }, .nr_extents = 1 };

	KUNIT_ASSERT_EQ(test, kpkeys_seal_map(ns, &map, false), 0);
	kpkeys_drop_user_ns(ns);
	KUNIT_EXPECT_FALSE(test, is_known(ns));
	KUNIT_EXPECT_EQ(test, kpkeys_make_user_ns(ns), 0);
	KUNIT_EXPECT_FALSE(test, kuid_has_mapping(ns, GLOBAL_ROOT_UID));
	kpkeys_test_expect_clean(test);
	KUNIT_EXPECT_EQ(test, kpkeys_make_user_ns(ns), -ENOMEM);
	KUNIT_EXPECT_EQ(test, kpkeys_make_user_ns(&init_user_ns), -EPERM);
	kpkeys_drop_user_ns(ns);
}

/* ---- namespaces that are freed while somebody needs them ---- */

struct guest {
	struct user_namespace *ns, *below;
	int err;
};

static void enter(struct user_namespace *ns)
{
	struct cred *new = prepare_creds();

	new->user_ns = get_user_ns(ns);
	commit_creds(new);
}

static void be_in_one_that_goes(void *data)
{
	struct guest *guest = data;

	enter(guest->ns);
	kpkeys_drop_user_ns(guest->ns);
	guest->err = kpkeys_make_user_ns(guest->ns);
}

static void test_namespace_in_use_is_not_new(struct kunit *test)
{
	struct guest guest = { .ns = own_ns(test, 0) };
	unsigned long before = kpkeys_test_violations();

	kpkeys_test_in_task(test, be_in_one_that_goes, &guest);
	KUNIT_EXPECT_EQ(test, guest.err, -ENOMEM);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
}

/* Sealed credentials that name it have gone, and wait to be freed. */
static void leave_waiting(struct user_namespace *ns)
{
	struct cred *new = prepare_creds();
	const struct cred *old;

	new->user_ns = get_user_ns(ns);
	old = kpkeys_test_override(new);
	kpkeys_test_revert(old);
	put_cred(new);
	rcu_barrier();
}

/* Until the task that was in it has gone. */
static void wait_for_users(struct kunit *test, const struct user_namespace *ns, long users)
{
	unsigned int tries = 200;

	do {
		rcu_barrier();
		kpkeys_free_waiting_creds();
		msleep(20);
	} while (atomic_long_read(&kpkeys_list_state(ns->slot)->users) != users && tries--);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_list_state(ns->slot)->users), users);
}

static void make_one_below(void *data)
{
	struct guest *guest = data;

	enter(guest->ns);
	guest->err = kpkeys_make_user_ns(guest->below);
}

/* Of two that nobody is in the upper one stays as long as the other, and goes with it. */
static void test_namespace_stays_for_those_below(struct kunit *test)
{
	struct guest guest = { .ns = own_ns(test, 1), .below = &namespaces[2] };

	refcount_set(&guest.below->ns.KPKEYS_TEST_NS_COUNT, INT_MAX / 2);
	kpkeys_test_in_task(test, make_one_below, &guest);
	KUNIT_ASSERT_EQ(test, guest.err, 0);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_ns_parent(guest.below), guest.ns);
	wait_for_users(test, guest.ns, 2);
	leave_waiting(guest.below);
	kpkeys_drop_user_ns(guest.ns);
	kpkeys_drop_user_ns(guest.below);
	KUNIT_EXPECT_EQ(test, kpkeys_make_user_ns(guest.ns), 0);
	kpkeys_drop_user_ns(guest.ns);
	kpkeys_test_expect_clean(test);
}

static void test_namespace_after_its_last_user(struct kunit *test)
{
	struct user_namespace *ns = own_ns(test, 3);

	leave_waiting(ns);
	kpkeys_drop_user_ns(ns);
	KUNIT_EXPECT_EQ(test, kpkeys_make_user_ns(ns), 0);
	kpkeys_drop_user_ns(ns);
	kpkeys_test_expect_clean(test);
}

static void override_in(void *data)
{
	struct guest *guest = data;
	struct cred *new = prepare_creds();
	const struct cred *old;

	new->user_ns = guest->ns;
	new->cap_effective = CAP_FULL_SET;
	old = kpkeys_test_override(new);
	guest->err = current_user_ns() == guest->ns || capable(CAP_SYS_ADMIN);
	kpkeys_test_revert(old);
}

/* Whoever has one made up by him does nothing in it. */
static void test_unknown_namespace_has_no_rights(struct kunit *test)
{
	struct user_namespace *ns = kpkeys_test_make_ns(test);
	struct guest guest = { .ns = ns, .err = 1 };

	kpkeys_drop_user_ns(ns);
	refcount_set(&ns->ns.KPKEYS_TEST_NS_COUNT, INT_MAX / 2);
	kpkeys_test_in_task(test, override_in, &guest);
	KUNIT_EXPECT_EQ(test, guest.err, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(test_parent_and_owner_are_noted),
	KUNIT_CASE(test_nobody_stores_to_what_is_noted),
	KUNIT_CASE(test_numbers_are_of_one_namespace),
	KUNIT_CASE(test_namespace_is_freed_as_no_list_of_groups),
	KUNIT_CASE(test_namespace_is_made_once),
	KUNIT_CASE(test_namespace_in_use_is_not_new),
	KUNIT_CASE(test_namespace_stays_for_those_below),
	KUNIT_CASE(test_namespace_after_its_last_user),
	KUNIT_CASE(test_unknown_namespace_has_no_rights),
	{}
};

static struct kunit_suite suite = {
	.name = "kpkeys-cred-ns",
	.init = kpkeys_test_creds_init,
	.exit = kpkeys_test_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
