// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: tables that become the kernel's with what is below them. */
#include <linux/io.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/kpkeys_entries.h>

#include "links.h"
#include "slots.h"

#define TABLE	((u64 *)page_address(kpkeys_test_ptp))

static int adopt_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	return kpkeys_test_init(test);
}

static void *new_table(struct kunit *test)
{
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return page_address(page);
}

static void free_as_new(void *table)
{
	kpkeys_test_set_frame(table, TAKEN);
	kpkeys_ptp_free(virt_to_page(table), 0);
}

static enum kpkeys_frame kind(const void *table)
{
	return kpkeys_frame(PHYS_PFN(__pa(table)));
}

/* It is filled first, and linked then, as where memory is plugged in. */
static void test_tables_below_are_known(struct kunit *test)
{
	u64 *top, *last;

	KPKEYS_TEST_REQUIRES(test, level_below_root() >= KPKEYS_LEVEL_PUD);
	top = new_table(test);
	last = new_table(test);
	set_pmd((pmd_t *)TABLE, __pmd(TABLE_BITS | __pa(last)));
	KUNIT_EXPECT_EQ(test, kind(last), KPKEYS_FRAME_TABLE);
	kpkeys_test_set_frame(top, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PUD,
						       KPKEYS_LINK_ONE));
	set_pud((pud_t *)top, __pud(TABLE_BITS | __pa(TABLE)));
	KUNIT_EXPECT_EQ(test, kind(TABLE), KPKEYS_FRAME_KERNEL_TABLE);
	KUNIT_EXPECT_EQ(test, kind(last), KPKEYS_FRAME_KERNEL_TABLE);
	/* What leads to a table does not go. */
	set_pud((pud_t *)top, __pud(0));
	KUNIT_EXPECT_NE(test, READ_ONCE(*top), 0);
	set_pmd((pmd_t *)TABLE, __pmd(0));
	set_pud((pud_t *)top, __pud(0));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*top), 0);
	kpkeys_test_set_frame(top, KPKEYS_TABLE(KPKEYS_LEVEL_PUD, KPKEYS_LINK_NONE));
	kpkeys_ptp_free(virt_to_page(top), 0);
	kpkeys_ptp_free(virt_to_page(last), 0);
}

/* That they were looked at is known by what they are then, and not by a stack. */
static void test_kernel_takes_no_table_of_a_process(struct kunit *test)
{
	u64 link = TABLE_BITS | __pa(TABLE), *top, *last;
	u8 frame;

	KPKEYS_TEST_REQUIRES(test, level_below_root() >= KPKEYS_LEVEL_PUD);
	top = new_table(test);
	last = new_table(test);
	set_pmd((pmd_t *)TABLE, __pmd(TABLE_BITS | __pa(last)));
	frame = kpkeys_test_set_frame(last, KPKEYS_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_NONE));
	kpkeys_test_set_frame(top, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PUD,
						       KPKEYS_LINK_ONE));
	set_pud((pud_t *)top, __pud(link));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*top), 0);
	kpkeys_test_set_frame(last, frame);
	set_pud((pud_t *)top, __pud(link));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*top), link);
	set_pmd((pmd_t *)TABLE, __pmd(0));
	set_pud((pud_t *)top, __pud(0));
	kpkeys_test_set_frame(top, KPKEYS_TABLE(KPKEYS_LEVEL_PUD, KPKEYS_LINK_NONE));
	kpkeys_ptp_free(virt_to_page(top), 0);
	kpkeys_ptp_free(virt_to_page(last), 0);
}

/* What is let in has no table of a process, either, and all above that waits. */
static void test_kernel_takes_no_table_further_below(struct kunit *test)
{
	u64 *root, *top, *last, link;
	u8 frame;

	KPKEYS_TEST_REQUIRES(test, level_below_root() >= KPKEYS_LEVEL_PUD);
	root = new_table(test);
	top = new_table(test);
	last = new_table(test);
	link = TABLE_BITS | __pa(top);
	set_pmd((pmd_t *)TABLE, __pmd(TABLE_BITS | __pa(last)));
	set_pud((pud_t *)top, __pud(TABLE_BITS | __pa(TABLE)));
	frame = kpkeys_test_set_frame(last, KPKEYS_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_NONE));
	kpkeys_test_set_frame(root, KPKEYS_KERNEL_TABLE(level_above(KPKEYS_LEVEL_PUD),
							KPKEYS_LINK_ONE));
	KUNIT_EXPECT_FALSE(test, kpkeys_set_entry(root, link, KPKEYS_LEVEL_PUD));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*root), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_table_level(PHYS_PFN(__pa(TABLE))), 0);
	kpkeys_test_set_frame(last, frame);
	kpkeys_test_set_frame(TABLE, KPKEYS_TABLE(KPKEYS_LEVEL_PMD, KPKEYS_LINK_ONE));
	KUNIT_EXPECT_TRUE(test, kpkeys_set_entry(root, link, KPKEYS_LEVEL_PUD));
	KUNIT_EXPECT_EQ(test, kind(last), KPKEYS_FRAME_KERNEL_TABLE);
	KUNIT_EXPECT_EQ(test, kpkeys_table_level(PHYS_PFN(__pa(last))), KPKEYS_LEVEL_PTE);
	set_pmd((pmd_t *)TABLE, __pmd(0));
	set_pud((pud_t *)top, __pud(0));
	kpkeys_set_entry(root, 0, KPKEYS_LEVEL_PUD);
	kpkeys_ptp_free(virt_to_page(last), 0);
	kpkeys_ptp_free(virt_to_page(top), 0);
	free_as_new(root);
}

static bool has_frame(const void *table, u8 frame)
{
	return kpkeys_frame_byte(PHYS_PFN(__pa(table))) == frame;
}

/* It is linked already. No other entry gets it, and it gets nothing that is keyed. */
static void test_table_that_waits_is_left_alone(struct kunit *test)
{
	u64 *last = new_table(test), link = TABLE_BITS | __pa(last);
	u64 keyed = pte_val(mk_pte(kpkeys_test_ptp, PAGE_KERNEL));
	u8 waits = KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_CLAIMED), frame;
	pmd_t pmd = __pmd(link);

	frame = kpkeys_test_set_frame(TABLE, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PMD,
								 KPKEYS_LINK_ONE));
	kpkeys_test_set_frame(last, waits);
	KUNIT_EXPECT_TRUE(test, kpkeys_maps_anew(last, PHYS_PFN(__pa(last)), keyed));
	set_pmd(&pmd, __pmd(0));
	KUNIT_EXPECT_TRUE(test, has_frame(last, waits));
	kpkeys_test_set_frame(last, waits);
	set_pmd((pmd_t *)TABLE, __pmd(link));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*TABLE), 0);
	kpkeys_test_set_frame(TABLE, frame);
	free_as_new(last);
}

#ifdef CONFIG_X86
static void test_kernel_runs_no_tables_below(struct kunit *test)
{
	u64 *top = new_table(test), *last = new_table(test);

	set_pte((pte_t *)last, mk_pte(ZERO_PAGE(0), PAGE_READONLY_EXEC));
	set_pmd((pmd_t *)TABLE, __pmd(TABLE_BITS | __pa(last)));
	kpkeys_test_set_frame(top, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PUD,
						       KPKEYS_LINK_ONE));
	set_pud((pud_t *)top, __pud(TABLE_BITS | __pa(TABLE)));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*top), 0);
	kpkeys_test_set_frame(last, KPKEYS_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_ONE));
	set_pte((pte_t *)last, __pte(0));
	set_pmd((pmd_t *)TABLE, __pmd(0));
	kpkeys_test_set_frame(top, KPKEYS_TABLE(KPKEYS_LEVEL_PUD, KPKEYS_LINK_NONE));
	kpkeys_ptp_free(virt_to_page(top), 0);
	kpkeys_ptp_free(virt_to_page(last), 0);
}
#endif

static struct kunit_case adopt_cases[] = {
	KUNIT_CASE(test_tables_below_are_known),
	KUNIT_CASE(test_kernel_takes_no_table_of_a_process),
	KUNIT_CASE(test_kernel_takes_no_table_further_below),
	KUNIT_CASE(test_table_that_waits_is_left_alone),
#ifdef CONFIG_X86
	KUNIT_CASE(test_kernel_runs_no_tables_below),
#endif
	{}
};

static struct kunit_suite adopt_suite = {
	.name = "kpkeys-adopt",
	.init = adopt_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = adopt_cases,
};

kunit_test_suite(adopt_suite);
