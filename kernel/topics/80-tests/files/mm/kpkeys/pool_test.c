// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: the pool. */
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "depot.h"

/* Others may free as well, but not so often. */
#define NR_WRONG	8

static bool is_keyed(struct page *page)
{
	return arch_kpkeys_addr_pkey((unsigned long)page_address(page)) ==
	       KPKEYS_PKEY_PGTABLES;
}

static void test_pool_pages_are_keyed(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_keyed(kpkeys_test_ptp));
	KUNIT_EXPECT_FALSE(test, kpkeys_table_is_free(page_address(kpkeys_test_ptp)));
}

static void test_pool_pairs_are_aligned(struct kunit *test)
{
	struct page *pair = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1,
					     NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, pair);
	KUNIT_EXPECT_EQ(test, page_to_pfn(pair) & 1, 0);
	KUNIT_EXPECT_TRUE(test, is_keyed(pair) && is_keyed(pair + 1));
	kpkeys_ptp_free(pair, 1);
}

static void test_pool_serves_atomic(struct kunit *test)
{
	unsigned long flags;
	struct page *page;

	local_irq_save(flags);
	page = kpkeys_ptp_alloc(GFP_ATOMIC | __GFP_ZERO, 0, NUMA_NO_NODE);
	local_irq_restore(flags);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_TRUE(test, is_keyed(page));
	kpkeys_ptp_free(page, 0);
}

static void test_pool_keeps_node(struct kunit *test)
{
	struct page *page;
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0, nid);
		KUNIT_ASSERT_NOT_NULL(test, page);
		KUNIT_EXPECT_EQ(test, page_to_nid(page), nid);
		kpkeys_ptp_free(page, 0);
	}
}

/* Dirty a page while it waits in the pool, and take it again. */
static struct page *retake_dirty(struct page *page, gfp_t gfp)
{
	struct page *again;
	unsigned long flags;

	local_irq_save(flags);
	kpkeys_ptp_free(page, 0);
	scoped_guard(kpkeys_hardened_pgtables)
		memset(page_address(page), 0xff, PAGE_SIZE);
	again = kpkeys_test_retake(page, gfp);
	local_irq_restore(flags);
	return again;
}

static void test_pool_clears(struct kunit *test)
{
	struct page *page = kpkeys_test_ptp;

	kpkeys_test_ptp = retake_dirty(page, GFP_ATOMIC | __GFP_ZERO);
	KUNIT_ASSERT_PTR_EQ(test, kpkeys_test_ptp, page);
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(kpkeys_test_ptp), 0, PAGE_SIZE));
}

static void test_pool_clears_by_init_on_alloc(struct kunit *test)
{
	struct page *page = kpkeys_test_ptp;

	KPKEYS_TEST_REQUIRES(test, want_init_on_alloc(0));
	kpkeys_test_ptp = retake_dirty(page, GFP_ATOMIC);
	KUNIT_ASSERT_PTR_EQ(test, kpkeys_test_ptp, page);
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(kpkeys_test_ptp), 0, PAGE_SIZE));
}

static void test_pool_clears_by_init_on_free(struct kunit *test)
{
	void *addr = page_address(kpkeys_test_ptp), *dirt;
	unsigned long flags;

	KPKEYS_TEST_REQUIRES(test, want_init_on_free());
	local_irq_save(flags);
	scoped_guard(kpkeys_hardened_pgtables)
		memset(addr, 0xff, PAGE_SIZE);
	kpkeys_ptp_free(kpkeys_test_ptp, 0);
	kpkeys_test_ptp = NULL;
	dirt = memchr_inv(addr, 0, PAGE_SIZE);
	local_irq_restore(flags);
	KUNIT_EXPECT_NULL(test, dirt);
}

#define MANY	8192
#define BLOCKS	4

/* Until there are so many blocks: what is free already depends on what ran before. */
static unsigned int take_pages(struct kunit *test, struct page **pages, unsigned long regions)
{
	unsigned int i;

	for (i = 0; i < MANY && kpkeys_state.nr_regions < regions; i++) {
		pages[i] = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0, NUMA_NO_NODE);
		if (!pages[i])
			break;
		KUNIT_EXPECT_TRUE(test, is_keyed(pages[i]));
	}
	KUNIT_EXPECT_GE(test, kpkeys_state.nr_regions, regions);
	return i;
}

/*
 * Keyed by the block, given back by the block. On one CPU: the magazine of another
 * one would keep pages of the last blocks.
 */
static void test_pool_grows_and_shrinks(struct kunit *test)
{
	struct page **pages = kunit_kcalloc(test, MANY, sizeof(*pages), GFP_KERNEL);
	unsigned long regions;
	long flushes, returned;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	kpkeys_depot_shrink(ULONG_MAX);
	flushes = atomic_long_read(&kpkeys_events.key_tlb_flushes);
	regions = kpkeys_state.nr_regions;
	migrate_disable();
	i = take_pages(test, pages, regions + BLOCKS);
	flushes = atomic_long_read(&kpkeys_events.key_tlb_flushes) - flushes;
	/* One ahead of the search for what maps a block, and one behind it. */
	KUNIT_EXPECT_LE(test, flushes, 2 * (kpkeys_state.nr_regions - regions));
	while (i--)
		kpkeys_ptp_free(pages[i], 0);
	migrate_enable();
	kpkeys_test_expect_clean(test);

	returned = atomic_long_read(&kpkeys_events.shrink_returned);
	kpkeys_depot_shrink(ULONG_MAX);
	KUNIT_EXPECT_GE(test, atomic_long_read(&kpkeys_events.shrink_returned),
			returned + KPKEYS_REGION_PAGES);
	kpkeys_test_expect_clean(test);
}

static void test_pool_finds_double_free(struct kunit *test)
{
	long errors = atomic_long_read(&kpkeys_events.freelist_errors);
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	unsigned long free;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	kpkeys_ptp_free(page, 0);
	free = kpkeys_pool_nr_free();
	for (i = 0; i < NR_WRONG; i++)
		kpkeys_ptp_free(page, 0);
	KUNIT_EXPECT_LT(test, kpkeys_pool_nr_free(), free + NR_WRONG);
	KUNIT_EXPECT_EQ(test, errors + NR_WRONG,
			atomic_long_read(&kpkeys_events.freelist_errors));
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE(test_pool_pages_are_keyed),
	KUNIT_CASE(test_pool_pairs_are_aligned),
	KUNIT_CASE(test_pool_serves_atomic),
	KUNIT_CASE(test_pool_keeps_node),
	KUNIT_CASE(test_pool_clears),
	KUNIT_CASE(test_pool_clears_by_init_on_alloc),
	KUNIT_CASE(test_pool_clears_by_init_on_free),
	KUNIT_CASE(test_pool_grows_and_shrinks),
	KUNIT_CASE(test_pool_finds_double_free),
	{}
};

static struct kunit_suite pool_suite = {
	.name = "kpkeys-pool",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = pool_cases,
};

kunit_test_suite(pool_suite);
