// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: the tables of an address, linked and unlinked together. */
#include <linux/kpkeys_taken.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include <asm/kpkeys_mm.h>
#include <asm/tlb.h>

#include "internal.h"
#include "tables.h"

#define ADDR		(1UL << 37)
#define NR_REFUSED	64

static struct mm_struct *mm;

static int chains_test_init(struct kunit *test)
{
	mm = mm_alloc();
	return mm ? kpkeys_test_init(test) : -ENOMEM;
}

static void chains_test_exit(struct kunit *test)
{
	kpkeys_test_exit(test);
	mmdrop(mm);
}

/* With isolation a chain does not begin there. */
static void make_top(void)
{
	p4d_t *p4d = p4d_alloc(mm, pgd_offset(mm, ADDR), ADDR);

	if (p4d)
		pud_alloc(mm, p4d, ADDR);
}

static unsigned long make(void)
{
	unsigned long before;

	if (kpkeys_top_has_twin())
		make_top();
	migrate_disable();
	before = kpkeys_test_writes();
	__kpkeys_make_tables(mm, ADDR);
	before = kpkeys_test_writes() - before;
	migrate_enable();
	return before;
}

static void free_tables(void)
{
	struct mmu_gather tlb;

	tlb_gather_mmu(&tlb, mm);
	free_pgd_range(&tlb, ADDR, ADDR + PMD_SIZE, 0, 0);
	tlb_finish_mmu(&tlb);
}

static unsigned long table_at(pmd_t *pmd)
{
	return pmd ? kpkeys_table_pfn(pmd_val(*pmd)) : 0;
}

/* Two writes, and those that fill this CPU's magazine and make pages ready. */
static void test_tables_are_linked_together(struct kunit *test)
{
	unsigned long least = ULONG_MAX, pfn;
	pmd_t *pmd;
	int i;

	for (i = 0; i < 8; i++) {
		least = min(least, make());
		pmd = kpkeys_find_pmd(mm, ADDR);
		pfn = table_at(pmd);
		KUNIT_EXPECT_EQ(test, kpkeys_table_level(pfn), KPKEYS_LEVEL_PTE);
		KUNIT_EXPECT_EQ(test, kpkeys_table_level(PHYS_PFN(__pa(pmd))),
				KPKEYS_LEVEL_PMD);
		KUNIT_EXPECT_EQ(test, mm_pgtables_bytes(mm) > 0, true);
		free_tables();
		KUNIT_EXPECT_EQ(test, mm_pgtables_bytes(mm), 0);
		KUNIT_EXPECT_NULL(test, kpkeys_find_pmd(mm, ADDR));
		KUNIT_EXPECT_EQ(test, kpkeys_table_level(pfn), 0);
	}
	KUNIT_EXPECT_EQ(test, least, 2);
	kpkeys_test_expect_clean(test);
}

static void test_tables_are_made_once(struct kunit *test)
{
	unsigned long pfn;

	make();
	pfn = table_at(kpkeys_find_pmd(mm, ADDR));
	KUNIT_EXPECT_EQ(test, make(), 0);
	KUNIT_EXPECT_EQ(test, table_at(kpkeys_find_pmd(mm, ADDR)), pfn);
	free_tables();
}

/*
 * What is no table of that level is not written, and nothing is lost: others
 * use the pool as well, but not for so many tables.
 */
static void test_tables_are_linked_to_tables(struct kunit *test)
{
	unsigned long used = kpkeys_pool_nr_used();
	u8 frame;
	int i;

	KPKEYS_TEST_REQUIRES(test, !kpkeys_top_has_twin());
	frame = kpkeys_test_set_frame(mm->pgd, KPKEYS_TABLE(KPKEYS_LEVEL_PTE,
							    KPKEYS_LINK_ONE));
	for (i = 0; i < NR_REFUSED; i++)
		make();
	kpkeys_test_set_frame(mm->pgd, frame);
	KUNIT_EXPECT_NULL(test, kpkeys_find_pmd(mm, ADDR));
	KUNIT_EXPECT_LT(test, kpkeys_pool_nr_used(), used + NR_REFUSED);
}

/* What is told that an entry is of the last level may be told the place of another. */
static void test_leaf_is_no_table(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL);
	pmd_t *pmd;
	u64 value, old;

	KUNIT_ASSERT_NOT_NULL(test, page);
	make();
	pmd = kpkeys_find_pmd(mm, ADDR);
	value = pmd_val(*pmd) - PFN_PHYS(table_at(pmd)) + PFN_PHYS(page_to_pfn(page));
	KUNIT_EXPECT_FALSE(test, kpkeys_exchange_leaf(pmd + 1, value, &old));
	KUNIT_EXPECT_TRUE(test, pmd_none(READ_ONCE(pmd[1])));
	free_tables();
	__free_page(page);
}

static struct kunit_case chains_cases[] = {
	KUNIT_CASE(test_tables_are_linked_together),
	KUNIT_CASE(test_tables_are_made_once),
	KUNIT_CASE(test_tables_are_linked_to_tables),
	KUNIT_CASE(test_leaf_is_no_table),
	{}
};

static struct kunit_suite chains_suite = {
	.name = "kpkeys-chains",
	.init = chains_test_init,
	.exit = chains_test_exit,
	.test_cases = chains_cases,
};

kunit_test_suite(chains_suite);
