// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: a table that was linked rests until every CPU has forgotten it. */
#include <linux/cpu.h>
#include <linux/io.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "depot.h"
#include "tables.h"

#define PARENT	((u64 *)page_address(kpkeys_test_ptp))

static int rest_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	return kpkeys_test_init(test);
}

static struct page *new_table(struct kunit *test)
{
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return page;
}

/* Under the only entry of the test's page; false if it was refused. */
static bool link_table(struct page *page)
{
	set_pmd((pmd_t *)PARENT, __pmd(TABLE_BITS | page_to_phys(page)));
	return READ_ONCE(PARENT[0]);
}

static void unlink_table(void)
{
	set_pmd((pmd_t *)PARENT, __pmd(0));
}

static void test_table_that_was_never_linked_is_free(struct kunit *test)
{
	struct page *page = new_table(test);
	bool is_free;

	scoped_guard(irqsave) {
		kpkeys_ptp_free(page, 0);
		is_free = kpkeys_table_is_free(page_address(page));
	}
	KUNIT_EXPECT_TRUE(test, is_free);
}

static void say_runs(int cpu, bool runs)
{
	guard(kpkeys_hardened_pgtables)();
	per_cpu_ptr(&kpkeys_cpu, cpu)->in_use = runs;
}

/* A CPU that an attacker took out of all masks goes on to walk what it knows. */
static void test_table_rests_until_forgotten(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();
	int cpu = cpumask_last(cpu_online_mask);
	struct page *page;
	void *table;

	KPKEYS_TEST_REQUIRES(test, cpu);
	page = new_table(test);
	table = page_address(page);
	KUNIT_EXPECT_TRUE(test, link_table(page));
	unlink_table();
	kpkeys_test_remove_cpu(test, cpu);
	kpkeys_bury_roots();
	say_runs(cpu, true);
	kpkeys_ptp_free(page, 0);
	kpkeys_bury_roots();
	KUNIT_EXPECT_TRUE(test, kpkeys_root_is_gone(table));
	KUNIT_EXPECT_GT(test, kpkeys_test_violations(), before);
	say_runs(cpu, false);
	kpkeys_bury_roots();
	KUNIT_EXPECT_FALSE(test, kpkeys_root_is_gone(table));
	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
}

static u8 *map_page(struct kunit *test, struct page *page)
{
	u8 *at = vmap(&page, 1, VM_MAP, PAGE_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, at);
	return at;
}

/* To another page, of which no TLB is told. */
static bool is_stale(u8 *at, struct page *page)
{
	u8 seen;

	guard(preempt)();
	seen = READ_ONCE(*at);
	set_pte(virt_to_kpte((unsigned long)at), mk_pte(page, PAGE_KERNEL));
	return READ_ONCE(*at) == seen;
}

/* Nobody but the CPU itself can say that it has, whoever had others flush. */
static void test_cpu_that_answers_has_forgotten(struct kunit *test)
{
	u8 *old = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	u8 *new = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	bool stale;
	u8 *at;

	KUNIT_ASSERT_TRUE(test, old && new);
	*new = 1;
	at = map_page(test, virt_to_page(old));
	migrate_disable();
	stale = is_stale(at, virt_to_page(new));
	KUNIT_EXPECT_TRUE(test, kpkeys_ask_cpus());
	KUNIT_EXPECT_EQ(test, READ_ONCE(*at), 1);
	migrate_enable();
	vunmap(at);
	kpkeys_test_expect_clean(test);
	if (!stale)
		kunit_skip(test, "an emulated CPU forgets where a section ends");
}

#define MANY	(3 * KPKEYS_MANY_TABLES)
#define TRIES	4

static void link_and_free(struct page *page)
{
	link_table(page);
	unlink_table();
	kpkeys_ptp_free(page, 0);
}

static bool many_rest_when_many_were_freed(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		link_and_free(new_table(test));
	for (i = 0; i < HZ && kpkeys_depot_nr_resting() >= KPKEYS_MANY_TABLES; i++)
		schedule_timeout_uninterruptible(1);
	return kpkeys_depot_nr_resting() >= KPKEYS_MANY_TABLES;
}

/*
 * Many at once are forgotten at once, and the pool does not grow for them. Where a
 * CPU was in a section when it was asked, they rest until many are gone again.
 */
static void test_tables_are_forgotten_together(struct kunit *test)
{
	s64 asked = kpkeys_nr_keyings();
	unsigned int tries = 1;

	while (many_rest_when_many_were_freed(test) && tries < TRIES)
		tries++;
	KUNIT_EXPECT_LT(test, kpkeys_depot_nr_resting(), KPKEYS_MANY_TABLES);
	/* Each time is two: what rests is named, and all CPUs are asked. */
	KUNIT_EXPECT_LE(test, kpkeys_nr_keyings() - asked,
			2 * nr_node_ids * (tries * MANY / KPKEYS_SOME_TABLES + 1));
	kpkeys_test_expect_clean(test);
}

static struct kunit_case rest_cases[] = {
	KUNIT_CASE(test_table_that_was_never_linked_is_free),
	KUNIT_CASE(test_table_rests_until_forgotten),
	KUNIT_CASE(test_cpu_that_answers_has_forgotten),
	KUNIT_CASE(test_tables_are_forgotten_together),
	{}
};

static struct kunit_suite rest_suite = {
	.name = "kpkeys-rest",
	.init = rest_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = rest_cases,
};

kunit_test_suite(rest_suite);
