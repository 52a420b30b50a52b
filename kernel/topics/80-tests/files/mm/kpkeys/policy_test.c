// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: page tables come from the nodes that the task's memory policy
 * asks for, with keys and without.
 */
#include <linux/kpkeys_test.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#ifdef CONFIG_NUMA

/* Never freed, however many tasks have put it when they exit. */
static struct mempolicy policy = {
	.refcnt = ATOMIC_INIT(1 << 20),
	.home_node = NUMA_NO_NODE,
};

static void follow(unsigned short mode, nodemask_t nodes)
{
	policy.mode = mode;
	policy.nodes = nodes;
	task_lock(current);
	current->mempolicy = &policy;
	task_unlock(current);
}

static int policy_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, num_node_state(N_MEMORY) > 1);
	KPKEYS_TEST_REQUIRES(test, !current->mempolicy);
	return 0;
}

static int node_of_table(struct kunit *test)
{
	struct ptdesc *pt = pagetable_alloc(GFP_KERNEL | __GFP_ZERO, 0);
	int nid;

	KUNIT_ASSERT_NOT_NULL(test, pt);
	nid = page_to_nid(ptdesc_page(pt));
	pagetable_free(pt);
	return nid;
}

static int node_of_pgd(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();
	int nid;

	KUNIT_ASSERT_NOT_NULL(test, mm);
	nid = page_to_nid(virt_to_page(mm->pgd));
	mmput(mm);
	return nid;
}

static void expect_node(struct kunit *test, unsigned short mode, int nid)
{
	follow(mode, nodemask_of_node(nid));
	KUNIT_EXPECT_EQ(test, node_of_table(test), nid);
	KUNIT_EXPECT_EQ(test, node_of_pgd(test), nid);
}

static void test_policy_binds_tables(struct kunit *test)
{
	int nid;

	for_each_node_state(nid, N_MEMORY)
		expect_node(test, MPOL_BIND, nid);
}

static void test_policy_prefers_tables(struct kunit *test)
{
	int nid;

	for_each_node_state(nid, N_MEMORY)
		expect_node(test, MPOL_PREFERRED, nid);
}

static void test_policy_interleaves_tables(struct kunit *test)
{
	unsigned int nr = num_node_state(N_MEMORY), i;
	nodemask_t seen = NODE_MASK_NONE;

	follow(MPOL_INTERLEAVE, node_states[N_MEMORY]);
	for (i = 0; i < nr; i++)
		node_set(node_of_table(test), seen);
	KUNIT_EXPECT_EQ(test, nodes_weight(seen), nr);
}

#define MANY	700

/* More than one block holds: the pool grows where the policy says. */
static void test_policy_binds_growth(struct kunit *test)
{
	struct ptdesc **pt = kunit_kcalloc(test, MANY, sizeof(*pt), GFP_KERNEL);
	int nid = next_node(first_memory_node, node_states[N_MEMORY]);
	unsigned int i, astray = 0;

	KUNIT_ASSERT_NOT_NULL(test, pt);
	follow(MPOL_BIND, nodemask_of_node(nid));
	for (i = 0; i < MANY; i++) {
		pt[i] = pagetable_alloc(GFP_KERNEL | __GFP_ZERO, 0);
		if (!pt[i])
			break;
		astray += page_to_nid(ptdesc_page(pt[i])) != nid;
	}
	KUNIT_EXPECT_EQ(test, i, MANY);
	KUNIT_EXPECT_EQ(test, astray, 0);
	while (i--)
		pagetable_free(pt[i]);
}

static void test_no_policy_is_local(struct kunit *test)
{
	int nid, local;

	migrate_disable();
	local = numa_mem_id();
	nid = node_of_table(test);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, nid, local);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(test_policy_binds_tables),
	KUNIT_CASE(test_policy_prefers_tables),
	KUNIT_CASE(test_policy_interleaves_tables),
	KUNIT_CASE(test_policy_binds_growth),
	KUNIT_CASE(test_no_policy_is_local),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "kpkeys-policy",
	.init = policy_test_init,
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);

#endif /* CONFIG_NUMA */
