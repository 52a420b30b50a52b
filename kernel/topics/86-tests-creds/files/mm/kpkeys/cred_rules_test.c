// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: what credentials may become. */
#include <linux/cred.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/user_namespace.h>

#include "cred_rules.h"
#include "cred_slots.h"
#include "creds_test.h"

#define OTHER	1001

struct rule_case {
	const char *name;
	void (*change)(struct cred *new);
	bool by_user, by_root, by_exec, in_namespace;
};

static struct user_namespace some_namespace, users_namespace, below_it;
static struct group_info some_groups = { .ngroups = 1, .gid = { KGIDT_INIT(OTHER) } };
static struct group_info root_groups = { .ngroups = 1, .gid = { KGIDT_INIT(0) } };

static void enter(struct cred *cred, struct user_namespace *ns)
{
	cred->user_ns = ns;
	cred->ns_slot = ns->slot;
}

#define CHANGE(name, what)						\
static void name(struct cred *new)					\
{									\
	what;								\
}

CHANGE(nothing, (void)new)
CHANGE(root_uid, new->uid = GLOBAL_ROOT_UID)
CHANGE(root_euid, new->euid = GLOBAL_ROOT_UID)
CHANGE(root_suid, new->suid = GLOBAL_ROOT_UID)
CHANGE(root_fsuid, new->fsuid = GLOBAL_ROOT_UID)
CHANGE(root_gid, new->gid = GLOBAL_ROOT_GID)
CHANGE(root_egid, new->egid = GLOBAL_ROOT_GID)
CHANGE(root_sgid, new->sgid = GLOBAL_ROOT_GID)
CHANGE(root_fsgid, new->fsgid = GLOBAL_ROOT_GID)
CHANGE(other_uid, new->euid = KUIDT_INIT(OTHER))
CHANGE(own_suid, new->euid = new->suid)
CHANGE(other_groups, new->group_info = &some_groups)
CHANGE(root_group, new->group_info = &root_groups)
CHANGE(permitted, new->cap_permitted = CAP_FULL_SET)
CHANGE(effective, new->cap_effective = CAP_FULL_SET)
CHANGE(granted, new->cap_permitted.val = new->cap_effective.val = BIT_ULL(CAP_KILL))
CHANGE(bounding, new->cap_bset = CAP_FULL_SET)
CHANGE(inheritable, new->cap_inheritable = CAP_FULL_SET)
CHANGE(ambient, new->cap_ambient = CAP_FULL_SET)
CHANGE(fewer, new->cap_bset = CAP_EMPTY_SET)
CHANGE(securebits, new->securebits ^= issecure_mask(SECURE_NOROOT))
CHANGE(keep_caps, new->securebits ^= issecure_mask(SECURE_KEEP_CAPS))
CHANGE(own_namespace, enter(new, &users_namespace); new->cap_permitted = CAP_FULL_SET)
CHANGE(namespace_below, enter(new, &below_it); new->cap_permitted = CAP_FULL_SET)
CHANGE(other_namespace, enter(new, &some_namespace); new->cap_permitted = CAP_FULL_SET)
CHANGE(first_namespace, enter(new, &init_user_ns))

static const struct rule_case rules[] = {
	{ "nothing", nothing, true, true, true, true },
	{ "uid 0", root_uid, false, true, false, false },
	{ "euid 0", root_euid, false, true, true, false },
	{ "suid 0", root_suid, false, true, true, false },
	{ "fsuid 0", root_fsuid, false, true, true, false },
	{ "gid 0", root_gid, false, true, false, false },
	{ "egid 0", root_egid, false, true, true, false },
	{ "sgid 0", root_sgid, false, true, true, false },
	{ "fsgid 0", root_fsgid, false, true, true, false },
	{ "another user", other_uid, false, true, true, true },
	{ "its saved uid", own_suid, true, true, true, true },
	{ "other groups", other_groups, false, true, false, true },
	{ "root's group", root_group, false, true, false, false },
	{ "permitted", permitted, false, true, false, true },
	{ "effective", effective, false, true, false, true },
	{ "what its bounding set has", granted, false, true, true, true },
	{ "bounding set", bounding, false, true, false, true },
	{ "inheritable", inheritable, false, true, false, true },
	{ "ambient", ambient, false, false, false, false },
	{ "a smaller bounding set", fewer, true, true, true, true },
	{ "securebits", securebits, false, true, false, true },
	{ "keep-caps", keep_caps, true, true, true, true },
	{ "a namespace of its own", own_namespace, true, true, false, false },
	{ "one below that", namespace_below, false, false, false, false },
	{ "another's namespace", other_namespace, false, false, false, true },
	{ "the first namespace", first_namespace, true, true, true, false },
};

/* Of a user, who has another saved ID; else with all capabilities. */
static void make_old(struct cred *old, bool can)
{
	memset(old, 0, sizeof(*old));
	old->uid = KUIDT_INIT(USER);
	old->euid = KUIDT_INIT(USER);
	old->suid = KUIDT_INIT(USER + 5);
	old->fsuid = KUIDT_INIT(USER);
	old->gid = KGIDT_INIT(USER);
	old->egid = KGIDT_INIT(USER);
	old->sgid = KGIDT_INIT(USER);
	old->fsgid = KGIDT_INIT(USER);
	old->user_ns = &init_user_ns;
	old->cap_bset.val = BIT_ULL(CAP_KILL);
	if (can) {
		old->cap_permitted = CAP_FULL_SET;
		old->cap_effective = CAP_FULL_SET;
		old->cap_bset = CAP_FULL_SET;
	}
}

/* Two, one below the other. */
static void make_by_user(void *data)
{
	struct cred *new = prepare_creds();

	new->euid = KUIDT_INIT(USER);
	commit_creds(new);
	kpkeys_make_user_ns(&users_namespace);
	refcount_set(&users_namespace.ns.KPKEYS_TEST_NS_COUNT, INT_MAX / 2);
	users_namespace.parent = &init_user_ns;
	users_namespace.level = 1;
	new = prepare_creds();
	new->user_ns = &users_namespace;
	commit_creds(new);
	kpkeys_make_user_ns(&below_it);
}

/* Once. One has an ID that is not the machine's root's. */
static void make_namespaces(struct kunit *test)
{
	const struct uid_gid_map map = { .extent = { { 0, OTHER, 1 } }, .nr_extents = 1 };

	if (some_namespace.slot)
		return;
	KUNIT_EXPECT_EQ(test, kpkeys_make_user_ns(&some_namespace), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_seal_map(&some_namespace, &map, false), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_seal_map(&some_namespace, &map, true), 0);
	kpkeys_test_in_task(test, make_by_user, NULL);
	KUNIT_EXPECT_NE(test, users_namespace.slot, 0);
	KUNIT_EXPECT_NE(test, below_it.slot, 0);
}

static bool may_have_securebits(struct cred *old, struct cred *new, unsigned int before,
				unsigned int after)
{
	make_old(old, false);
	*new = *old;
	old->securebits = before;
	new->securebits = after;
	return kpkeys_may_commit(old, new);
}

/* Anybody may set those that only programs ask about, and lock them for good. */
static void test_securebits_of_programs(struct kunit *test)
{
	struct cred *old = kunit_kzalloc(test, sizeof(*old), GFP_KERNEL);
	struct cred *new = kunit_kzalloc(test, sizeof(*new), GFP_KERNEL);
	const unsigned int bits = SECURE_ALL_UNPRIVILEGED, locks = KPKEYS_UNPRIVILEGED_LOCKS;

	KUNIT_ASSERT_NOT_NULL(test, old);
	KUNIT_ASSERT_NOT_NULL(test, new);
	KPKEYS_TEST_REQUIRES(test, bits);
	KUNIT_EXPECT_TRUE(test, may_have_securebits(old, new, 0, bits));
	KUNIT_EXPECT_TRUE(test, may_have_securebits(old, new, bits, 0));
	KUNIT_EXPECT_TRUE(test, may_have_securebits(old, new, bits, bits | locks));
	KUNIT_EXPECT_FALSE(test, may_have_securebits(old, new, bits | locks, bits));
	KUNIT_EXPECT_FALSE(test, may_have_securebits(old, new, bits | locks, locks));
}

static void test_rules(struct kunit *test)
{
	struct cred *old = kunit_kzalloc(test, sizeof(*old), GFP_KERNEL);
	struct cred *new = kunit_kzalloc(test, sizeof(*new), GFP_KERNEL);
	const struct rule_case *rule;

	KUNIT_ASSERT_NOT_NULL(test, old);
	KUNIT_ASSERT_NOT_NULL(test, new);
	make_namespaces(test);
	for (rule = rules; rule < rules + ARRAY_SIZE(rules); rule++) {
		make_old(old, false);
		*new = *old;
		rule->change(new);
		KUNIT_EXPECT_EQ_MSG(test, kpkeys_may_commit(old, new), rule->by_user,
				    "a user: %s", rule->name);
		KUNIT_EXPECT_EQ_MSG(test, kpkeys_may_exec(old, new), rule->by_exec,
				    "exec: %s", rule->name);
		make_old(old, true);
		*new = *old;
		rule->change(new);
		KUNIT_EXPECT_EQ_MSG(test, kpkeys_may_fork(old, new),
				    rule->by_root && kpkeys_same_ids(old, new), "fork: %s",
				    rule->name);
		KUNIT_EXPECT_EQ_MSG(test, kpkeys_may_commit(old, new), rule->by_root,
				    "root: %s", rule->name);
		enter(old, &some_namespace);
		*new = *old;
		rule->change(new);
		KUNIT_EXPECT_EQ_MSG(test, kpkeys_may_commit(old, new), rule->in_namespace,
				    "in a namespace: %s", rule->name);
	}
}

struct enter_case {
	struct user_namespace *ns;
	bool by_user, by_root;
};

static const struct enter_case namespaces[] = {
	{ &users_namespace, true, true },
	{ &below_it, true, true },
	{ &some_namespace, false, true },
	{ &init_user_ns, false, false },
};

static bool may_enter(struct cred *old, struct user_namespace *ns)
{
	struct cred new = *old;

	enter(&new, ns);
	new.cap_permitted = CAP_FULL_SET;
	return kpkeys_may_enter(old, &new);
}

static void test_who_enters(struct kunit *test)
{
	struct cred *old = kunit_kzalloc(test, sizeof(*old), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, old);
	make_namespaces(test);
	for (i = 0; i < ARRAY_SIZE(namespaces); i++) {
		make_old(old, false);
		KUNIT_EXPECT_EQ_MSG(test, may_enter(old, namespaces[i].ns),
				    namespaces[i].by_user, "a user: %u", i);
		make_old(old, true);
		KUNIT_EXPECT_EQ_MSG(test, may_enter(old, namespaces[i].ns),
				    namespaces[i].by_root, "root: %u", i);
		enter(old, &some_namespace);
		KUNIT_EXPECT_FALSE_MSG(test, may_enter(old, namespaces[i].ns),
				       "in a namespace: %u", i);
	}
	enter(old, &users_namespace);
	KUNIT_EXPECT_TRUE(test, may_enter(old, &below_it));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(test_rules),
	KUNIT_CASE(test_securebits_of_programs),
	KUNIT_CASE(test_who_enters),
	{}
};

static struct kunit_suite suite = {
	.name = "kpkeys-cred-rules",
	.init = kpkeys_test_creds_init,
	.exit = kpkeys_test_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
