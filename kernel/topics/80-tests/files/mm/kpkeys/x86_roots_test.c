// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: what the kernel's half of a root of x86-64 is, and stays. */
#include <linux/io.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_taken.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>

#include <asm/kpkeys_entries.h>
#include <asm/sections.h>

#include "internal.h"
#include "links.h"
#include "tables.h"

/* Behind another table than the kernel's own may be anything. */
static void test_root_has_the_kernels_half(struct kunit *test)
{
	pgd_t *to, *from = swapper_pg_dir + KERNEL_PGD_BOUNDARY;
	struct page *page;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	to = (pgd_t *)page_address(page) + KERNEL_PGD_BOUNDARY;
	kpkeys_clone_pgd_range(to, lm_alias(from), KERNEL_PGD_PTRS);
	kpkeys_clone_pgd_range(to, from, KERNEL_PGD_PTRS - 1);
	kpkeys_clone_pgd_range(to + 1, from + 1, KERNEL_PGD_PTRS - 1);
	KUNIT_EXPECT_EQ(test, pgd_val(to[0]), 0);	/* pgd_none() is false with four levels */
	KUNIT_EXPECT_EQ(test, pgd_val(to[KERNEL_PGD_PTRS - 1]), 0);
	kpkeys_clone_pgd_range(to, from, KERNEL_PGD_PTRS);
	KUNIT_EXPECT_EQ(test, pgd_val(to[0]), pgd_val(from[0]));
	kpkeys_ptp_free(page, 1);
}

static bool becomes_root(struct page *page)
{
	guard(kpkeys_hardened_pgtables)();
	return kpkeys_link_root(page_address(page));
}

static void copy_half(struct page *page)
{
	pgd_t *from = swapper_pg_dir + KERNEL_PGD_BOUNDARY;

	kpkeys_clone_pgd_range((pgd_t *)page_address(page) + KERNEL_PGD_BOUNDARY, from,
			       KERNEL_PGD_PTRS);
}

static void free_as_new(struct page *page)
{
	kpkeys_test_set_frame(page_address(page), TAKEN);
	kpkeys_test_set_frame(page_address(page) + PAGE_SIZE, TAKEN);
	kpkeys_ptp_free(page, 1);
}

/* Once: one that was unlinked may have entries of its mm in it. */
static void test_root_was_copied(struct kunit *test)
{
	struct page *page;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_FALSE(test, becomes_root(page));
	free_as_new(page);
	page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	copy_half(page);
	KUNIT_EXPECT_TRUE(test, becomes_root(page));
	KUNIT_EXPECT_FALSE(test, becomes_root(page));
	scoped_guard(kpkeys_hardened_pgtables)
		kpkeys_unlink_root(page_address(page));
	KUNIT_EXPECT_FALSE(test, becomes_root(page));
	free_as_new(page);
}

/* What its first entry says, and an entry on a stack, is not that it was copied to. */
static void test_root_with_an_entry_is_none(struct kunit *test)
{
	struct page *page;
	pmd_t pmd = __pmd(0);
	u64 *entry;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	entry = page_address(page);
	kpkeys_set_entry(entry, 0, kpkeys_level_below_root());
	KUNIT_EXPECT_FALSE(test, becomes_root(page));
	copy_half(page);
	KUNIT_EXPECT_EQ(test, entry[KERNEL_PGD_BOUNDARY + KERNEL_PGD_PTRS - 1], 0);
	free_as_new(page);
	page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	kpkeys_set_entry(&pmd, _PAGE_TABLE | page_to_phys(page), KPKEYS_LEVEL_PGD);
	KUNIT_EXPECT_NE(test, page_to_phys(page), pmd_val(pmd) & PTE_PFN_MASK);
	KUNIT_EXPECT_FALSE(test, becomes_root(page));
	free_as_new(page);
}

/* As where there is no memory for its record: no CPU knows it. */
static void test_copied_root_is_freed(struct kunit *test)
{
	long before = atomic_long_read(&kpkeys_events.freelist_errors);
	struct page *page;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	copy_half(page);
	kpkeys_ptp_free(page, 1);
	KUNIT_EXPECT_TRUE(test, kpkeys_table_is_free(page_address(page)));
	KUNIT_EXPECT_TRUE(test, kpkeys_table_is_free(page_address(page) + PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_events.freelist_errors), before);
}

#define FIRST_OF_KERNEL	(PTRS_PER_PGD / 2)

static unsigned int empty_entry(const u64 *root)
{
	unsigned int i = FIRST_OF_KERNEL;

	while (i < PTRS_PER_PGD && root[i])
		i++;
	return i;
}

static bool takes(u64 *entry, u64 value)
{
	return kpkeys_set_entry(entry, value, kpkeys_level_below_root()) &&
	       READ_ONCE(*entry) == value;
}

/* Of what a process has, nothing is found where the kernel's own memory is. */
static void test_process_has_no_table_in_the_kernels_half(struct kunit *test)
{
	struct page *table;
	struct mm_struct *mm;
	u64 *root, link, old;
	unsigned int i;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	table = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_NOT_NULL(test, mm);
	link = _PAGE_TABLE | page_to_phys(table);
	root = (u64 *)mm->pgd;
	old = root[PTRS_PER_PGD - 1];
	i = empty_entry(root);
	KUNIT_ASSERT_LT(test, i, PTRS_PER_PGD);
	KUNIT_EXPECT_FALSE(test, takes(root + i, link));
	KUNIT_EXPECT_FALSE(test, takes(root + PTRS_PER_PGD - 1, link));
	KUNIT_EXPECT_FALSE(test, takes(root + PTRS_PER_PGD - 1, 0));
	KUNIT_EXPECT_EQ(test, root[i], 0);
	KUNIT_EXPECT_EQ(test, root[PTRS_PER_PGD - 1], old);
	if (kpkeys_has_user_half(root + i)) {
		KUNIT_EXPECT_FALSE(test, takes(root + PTRS_PER_PGD + i, link));
		KUNIT_EXPECT_EQ(test, root[PTRS_PER_PGD + i], 0);
	}
	/* By way of a chain, all that is below is linked first. */
	__kpkeys_make_tables(mm, (unsigned long)((long)((u64)i << (64 - 9)) >>
						 (64 - 9 - PGDIR_SHIFT)));
	KUNIT_EXPECT_EQ(test, root[i], 0);
	KUNIT_EXPECT_TRUE(test, takes(root + FIRST_OF_KERNEL - 1, link));
	KUNIT_EXPECT_TRUE(test, takes(root + FIRST_OF_KERNEL - 1, 0));
	kpkeys_ptp_free(table, 0);
	mmdrop(mm);
}

static struct kunit_case x86_roots_cases[] = {
	KUNIT_CASE(test_root_has_the_kernels_half),
	KUNIT_CASE(test_root_was_copied),
	KUNIT_CASE(test_root_with_an_entry_is_none),
	KUNIT_CASE(test_copied_root_is_freed),
	KUNIT_CASE(test_process_has_no_table_in_the_kernels_half),
	{}
};

static struct kunit_suite x86_roots_suite = {
	.name = "kpkeys-x86-roots",
	.test_cases = x86_roots_cases,
};

kunit_test_suite(x86_roots_suite);
