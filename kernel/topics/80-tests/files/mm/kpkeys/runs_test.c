// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: contiguous runs of arm64. Sections take and write a run as a
 * whole, and leave a part of one to who unfolds it with the gate shut: what is
 * left of a run may be a translation of all its pages.
 */
#include <linux/hugetlb.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_taken.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/pgalloc.h>

#include "sections.h"
#include "slots.h"

#define ADDR	(16UL * PMD_SIZE)
#define ORDER	(CONT_PTE_SHIFT - PAGE_SHIFT)
#define BEHIND	(ADDR + CONT_PTE_SIZE)
#define SWAPPED	(1UL << 12)	/* some page of swap */

/* Two tables that no CPU walks; a run in the first. */
static pmd_t pmd[2];
static pte_t *table[2];
static struct page *pages;
static struct vm_area_struct vma = { .vm_mm = &init_mm };

static void plant(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*ptep, pte);
}

static void plant_run(void)
{
	unsigned long pfn = page_to_pfn(pages);
	unsigned int i;

	for (i = 0; i < CONT_PTES; i++)
		plant(table[0] + i, pte_mkcont(pfn_pte(pfn + i, PAGE_SHARED)));
}

/* How many entries are there, contiguous or not? */
static unsigned int nr_in(const pte_t *ptep, bool contiguous)
{
	unsigned int i, nr = 0;

	for (i = 0; i < CONT_PTES; i++, ptep++)
		nr += pte_valid(*ptep) && pte_cont(*ptep) == contiguous;
	return nr;
}

static void test_unfolds_for_any_mm(struct kunit *test)
{
	pte_clear(&init_mm, ADDR + 3 * PAGE_SIZE, table[0] + 3);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), 0);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], false), CONT_PTES - 1);
}

static unsigned long copy(unsigned long end)
{
	DECLARE_BITMAP(skip, PTRS_PER_PTE) = { };
	unsigned long before;

	guard(irqsave)();
	before = kpkeys_test_writes();
	copy_ptes(&vma, &vma, table[1], table[0], ADDR, end, skip);
	return kpkeys_test_writes() - before;
}

static void test_run_is_copied_as_one(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, copy(BEHIND), 2);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), CONT_PTES);
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), CONT_PTES);
	KUNIT_EXPECT_FALSE(test, pte_write(table[0][CONT_PTES - 1]));
	KUNIT_EXPECT_FALSE(test, pte_write(table[1][CONT_PTES - 1]));
	KUNIT_EXPECT_EQ(test, pte_pfn(table[1][5]), page_to_pfn(pages) + 5);
}

static void test_part_of_a_run_is_copied(struct kunit *test)
{
	copy(BEHIND - PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), 0);
	KUNIT_EXPECT_TRUE(test, pte_write(table[0][CONT_PTES - 1]));
	KUNIT_EXPECT_EQ(test, nr_in(table[1], false), CONT_PTES - 1);
	KUNIT_EXPECT_EQ(test, pte_pfn(table[1][5]), page_to_pfn(pages) + 5);
}

static unsigned int move(unsigned int from, unsigned int to)
{
	guard(preempt)();
	return __move_ptes(&init_mm, table[0] + from, ADDR + from * PAGE_SIZE,
			   table[1] + to, ADDR + PMD_SIZE + to * PAGE_SIZE,
			   BEHIND - ADDR - from * PAGE_SIZE, false);
}

static void test_run_is_moved_as_one(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, move(0, CONT_PTES), CONT_PTES);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), 0);
	KUNIT_EXPECT_EQ(test, nr_in(table[1] + CONT_PTES, true), CONT_PTES);
}

static void test_run_is_moved_to_where_none_is(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, move(0, 1), CONT_PTES);
	KUNIT_EXPECT_EQ(test, nr_in(table[1] + 1, false), CONT_PTES);
}

static void test_part_of_a_run_is_not_moved(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, move(1, 1), 0);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), CONT_PTES);
}

static unsigned int change(struct ptes_change *change, unsigned long end)
{
	change->vma = &vma;
	if (!pgprot_val(change->prot))
		change->prot = PAGE_READONLY;
	change->flush_start = end;
	guard(preempt)();
	return (change_ptes(change, table[0], ADDR, end) - ADDR) / PAGE_SIZE;
}

static void test_run_is_changed_as_one(struct kunit *test)
{
	struct ptes_change done = { };

	KUNIT_EXPECT_EQ(test, change(&done, BEHIND), CONT_PTES);
	KUNIT_EXPECT_EQ(test, done.pages, CONT_PTES);
	KUNIT_EXPECT_EQ(test, done.flush_start, ADDR);
	KUNIT_EXPECT_EQ(test, done.flush_end, BEHIND);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), CONT_PTES);
	KUNIT_EXPECT_FALSE(test, pte_write(table[0][CONT_PTES - 1]));
}

/* Helpers take the bit of what is present for a run. */
static void test_nothing_unmapped_is_a_run(struct kunit *test)
{
	struct ptes_change none = { .prot = PAGE_NONE };
	unsigned int i;

	KUNIT_EXPECT_EQ(test, change(&none, BEHIND), CONT_PTES);
	for (i = 0; i < CONT_PTES; i++)
		KUNIT_EXPECT_TRUE(test, pte_present(table[0][i]) &&
				  !pte_valid(table[0][i]) && !pte_cont(table[0][i]));
}

static void test_parts_of_a_run_are_not_changed(struct kunit *test)
{
	struct ptes_change part = { }, differs = { .flags = MM_CP_PROT_NUMA };

	KUNIT_EXPECT_EQ(test, change(&part, BEHIND - PAGE_SIZE), 0);
	__set_bit(3, differs.noted);
	KUNIT_EXPECT_EQ(test, change(&differs, BEHIND), 0);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), CONT_PTES);
	KUNIT_EXPECT_TRUE(test, pte_write(table[0][CONT_PTES - 1]));
}

/* A search might look for any page of the run. */
static void test_run_is_searched_for(struct kunit *test)
{
	struct ptes_change done = { };

	kpkeys_arrivals_expect();
	KUNIT_EXPECT_EQ(test, change(&done, BEHIND), 0);
	KUNIT_EXPECT_EQ(test, move(0, 0), 0);
	kpkeys_arrivals_settle();
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), CONT_PTES);
}

static void take(struct taken_ptes *taken, unsigned int from,
		 const unsigned long *keep)
{
	zap_take_ptes(&init_mm, table[0] + from, ADDR + from * PAGE_SIZE, BEHIND,
		      keep, false, taken);
}

static void test_run_is_taken_as_one(struct kunit *test)
{
	struct taken_ptes taken;
	unsigned int nr;

	scoped_guard(preempt) {
		take(&taken, 0, NULL);
		nr = nr_in(taken_ptep(&taken, ADDR), true);
		KUNIT_EXPECT_EQ(test, nr_in(table[0], true), 0);
		zap_put_back_ptes(&init_mm, table[0], ADDR, BEHIND, &taken);
	}
	KUNIT_EXPECT_EQ(test, nr, CONT_PTES);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true) + nr_in(table[0], false), CONT_PTES);
	KUNIT_EXPECT_EQ(test, pte_pfn(table[0][5]), page_to_pfn(pages) + 5);
}

static void test_part_of_a_run_is_taken(struct kunit *test)
{
	struct taken_ptes taken;

	scoped_guard(preempt)
		take(&taken, 4, NULL);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), 0);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], false), 4);
}

/* Nor does anything come back in its place. */
static void test_kept_run_stays(struct kunit *test)
{
	DECLARE_BITMAP(keep, NR_TAKEN_PTES) = { };
	struct taken_ptes taken;

	bitmap_set(keep, taken_index(ADDR), CONT_PTES);
	scoped_guard(preempt) {
		take(&taken, 0, keep);
		zap_put_back_ptes(&init_mm, table[0], ADDR, BEHIND, &taken);
	}
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), CONT_PTES);
}

static void test_run_is_young_as_one(struct kunit *test)
{
	DECLARE_BITMAP(marked, PTRS_PER_PTE) = { };
	unsigned int i;

	plant(table[0] + CONT_PTES + 1, pfn_pte(page_to_pfn(pages), PAGE_SHARED));
	__set_bit(3, marked);
	__set_bit(CONT_PTES + 1, marked);
	scoped_guard(preempt)
		clear_marked(&vma, ADDR, table[0] + 7, marked, CYDP_CLEAR_YOUNG);
	KUNIT_EXPECT_EQ(test, nr_in(table[0], true), CONT_PTES);
	for (i = 0; i < CONT_PTES; i++)
		KUNIT_EXPECT_FALSE(test, pte_young(table[0][i]));
	KUNIT_EXPECT_FALSE(test, pte_young(table[0][CONT_PTES + 1]));
}

/* ---- what a CPU may map beside a page ---- */

static pte_t contiguous(pgprot_t prot)
{
	return pte_mkcont(pfn_pte(page_to_pfn(pages), prot));
}

/* As a forged protection of an area, or a number of a page that is too large, makes it. */
static void test_run_beside_protected_page_is_refused(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();
	void *beside = page_address(pages) + 5 * PAGE_SIZE;
	u8 frame = kpkeys_test_set_frame(beside, KPKEYS_FRAME_STATE);
	u64 old;

	kpkeys_set_pte(table[1], contiguous(PAGE_SHARED));
	KUNIT_EXPECT_TRUE(test, pte_none(*table[1]));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_FALSE(test, kpkeys_exchange_leaf(table[1], pte_val(contiguous(PAGE_SHARED)),
						      &old));
	kpkeys_set_ptes(&init_mm, table[1], contiguous(PAGE_SHARED), 2);
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), 0);
	kpkeys_set_pte(table[1], pte_mknoncont(contiguous(PAGE_SHARED)));
	KUNIT_EXPECT_EQ(test, nr_in(table[1], false), 1);
	kpkeys_test_set_frame(beside, frame);
	kpkeys_set_pte(table[1], contiguous(PAGE_SHARED));
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), 1);
}

/* Sections take what follows the first page for what the others of a run map. */
static void test_misplaced_run_is_refused(struct kunit *test)
{
	pte_t pte = contiguous(PAGE_SHARED);
	unsigned long before = kpkeys_test_violations();
	u64 old;

	kpkeys_set_pte(table[1] + 1, pte);
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_FALSE(test, kpkeys_exchange_leaf(table[1] + 1, pte_val(pte), &old));
	kpkeys_set_ptes(&init_mm, table[1] + 1, pte, CONT_PTES);
	KUNIT_EXPECT_EQ(test, nr_in(table[1] + 1, true), 0);
	kpkeys_set_ptes(&init_mm, table[1], pte, CONT_PTES);
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), CONT_PTES);
}

/* User space has keys, too. */
static void test_run_may_have_a_key_of_user_space(struct kunit *test)
{
	pgprot_t prot = __pgprot(pgprot_val(PAGE_SHARED) | FIELD_PREP(PTE_PO_IDX_MASK, 1));
	pte_t pte = pte_wrprotect(contiguous(prot));

	kpkeys_set_pte(table[1], pte);
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), 1);
	KUNIT_EXPECT_TRUE(test, kpkeys_add_flags(table[1], 1, PTE_AF | PTE_WRITE));
}

static void set_frames(unsigned int first, u8 frame)
{
	unsigned int i;

	for (i = first; i < CONT_PTES; i++)
		kpkeys_test_set_frame(page_address(pages) + i * PAGE_SIZE, frame);
}

/* As in a block of the pool that was split. */
static void test_run_has_one_key(struct kunit *test)
{
	pte_t pte = contiguous(kpkeys_test_prot(PAGE_KERNEL, KPKEYS_PKEY_PGTABLES));
	bool of_tables, of_some;

	set_frames(0, KPKEYS_FRAME_TABLE);
	of_tables = kpkeys_may_be_run(pte_val(pte), KPKEYS_LEVEL_PTE);
	set_frames(1, KPKEYS_FRAME_ORDINARY);
	of_some = kpkeys_may_be_run(pte_val(pte), KPKEYS_LEVEL_PTE);
	set_frames(0, KPKEYS_FRAME_ORDINARY);
	KUNIT_EXPECT_TRUE(test, of_tables);
	KUNIT_EXPECT_FALSE(test, of_some);
}

/* An entry beside one that leads to a page with a key: a CPU may have it at its address. */
static void test_no_run_in_the_kernels_tables_beside_a_key(struct kunit *test)
{
	pte_t *entry = (pte_t *)kpkeys_test_entry(page_address(kpkeys_test_ptp));
	pte_t *beside = PTR_ALIGN_DOWN(entry, CONT_PTES * sizeof(*entry)), pte;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frame(kpkeys_table_of(entry)) ==
				   KPKEYS_FRAME_KERNEL_TABLE &&
				   kpkeys_level_to_search(kpkeys_table_of(entry)) ==
				   KPKEYS_LEVEL_PTE);
	pte = pfn_pte(page_to_pfn(pages) + (beside == entry), PAGE_KERNEL);
	beside += beside == entry;
	KUNIT_EXPECT_TRUE(test, kpkeys_spreads(beside, pte_val(pte_mkcont(pte)),
					       KPKEYS_LEVEL_PTE));
	KUNIT_EXPECT_FALSE(test, kpkeys_spreads(beside, pte_val(pte), KPKEYS_LEVEL_PTE));
}

/* Text may be mapped, but not be written. */
static void test_run_beside_text_is_not_writable(struct kunit *test)
{
	void *beside = page_address(pages) + 5 * PAGE_SIZE;
	u8 frame = kpkeys_test_set_frame(beside, KPKEYS_FRAME_READONLY);
	pteval_t flags = kpkeys_flags_to_add(contiguous(PAGE_SHARED));

	kpkeys_set_pte(table[1], contiguous(PAGE_READONLY));
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), 1);
	KUNIT_EXPECT_FALSE(test, kpkeys_add_flags(table[1], 1, flags));
	KUNIT_EXPECT_FALSE(test, __kpkeys_add_flags(table[1], 1, flags));
	kpkeys_test_set_frame(beside, frame);
	KUNIT_EXPECT_TRUE(test, kpkeys_add_flags(table[1], 1, flags));
}

/* Somewhere beside what the test has of the pool; 0 if there is none. */
static unsigned long find_ordinary_block(void)
{
	unsigned long pfn, nr = PHYS_PFN(PMD_SIZE), keyed = page_to_pfn(kpkeys_test_ptp);
	unsigned long first = ALIGN_DOWN(keyed, nr * CONT_PMDS);

	for (pfn = first; pfn < first + nr * CONT_PMDS; pfn += nr)
		if (pfn_valid(pfn) && kpkeys_are_ordinary(pfn, nr))
			return pfn;
	return 0;
}

static void test_block_beside_protected_page_is_refused(struct kunit *test)
{
	unsigned long pfn = find_ordinary_block(), before = kpkeys_test_violations();
	pmd_t *entry, single = pmd_mkhuge(pfn_pmd(pfn, PAGE_SHARED));
	u64 run = pmd_val(single) | PMD_SECT_CONT;
	pud_t pud = __pud(0);

	KPKEYS_TEST_REQUIRES(test, pfn);
	entry = kpkeys_test_new_pmds(test, &pud);
	set_pmd(entry, __pmd(run));
	KUNIT_EXPECT_TRUE(test, pmd_none(*entry));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_FALSE(test, kpkeys_set_entry(entry, run, KPKEYS_LEVEL_PTE));
	set_pmd(entry, single);
	KUNIT_EXPECT_EQ(test, pmd_val(*entry), pmd_val(single));
	set_pmd(entry, __pmd(0));
	kpkeys_test_free_pmds(entry, &pud);
}

#ifdef CONFIG_HUGETLB_PAGE
/* Cleared, flushed, set. What is empty may be left as it is. */
static void test_contiguous_huge_page_is_two_sections(struct kunit *test)
{
	pte_t pte = table[0][0];
	unsigned long before;
	unsigned int i;

	for (i = 0; i < CONT_PTES; i++)
		plant(table[1] + i, pte_advance_pfn(pte, i));
	scoped_guard(irqsave) {
		before = kpkeys_test_writes();
		set_huge_pte_at(&init_mm, ADDR, table[1], pte, CONT_PTE_SIZE);
		before = kpkeys_test_writes() - before;
	}
	KUNIT_EXPECT_EQ(test, before, 4);
	KUNIT_EXPECT_EQ(test, nr_in(table[1], true), CONT_PTES);
	KUNIT_EXPECT_EQ(test, pte_pfn(table[1][5]), pte_pfn(pte) + 5);
}

/* Bits of a swap entry are none of the accessed or dirty ones. */
static void test_swapped_huge_page_is_cleared_as_it_is(struct kunit *test)
{
	pte_t swap = __pte(PTE_AF | PTE_DIRTY);
	unsigned int i;

	for (i = 0; i < CONT_PTES; i++)
		plant(table[1] + i, i ? swap : __pte(SWAPPED));
	swap = huge_ptep_get_and_clear(&init_mm, ADDR, table[1], CONT_PTE_SIZE);
	KUNIT_EXPECT_EQ(test, pte_val(swap), SWAPPED);
}
#endif

static int runs_test_init(struct kunit *test)
{
	pgtable_t new;
	int i;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	pages = alloc_pages(GFP_KERNEL | __GFP_COMP, ORDER);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < 2; i++) {
		new = pte_alloc_one(&init_mm);
		KUNIT_ASSERT_NOT_NULL(test, new);
		pmd[i] = __pmd(0);
		pmd_populate(&init_mm, &pmd[i], new);
		table[i] = page_address(new);
	}
	vm_flags_init(&vma, VM_READ | VM_WRITE | VM_MAYWRITE);
	plant_run();
	return kpkeys_test_init(test);
}

static void runs_test_exit(struct kunit *test)
{
	int i, j;

	kpkeys_test_exit(test);
	for (i = 0; i < 2 && table[i]; i++) {
		for (j = 0; j < PTRS_PER_PTE; j++)
			plant(table[i] + j, __pte(0));
		set_pmd(&pmd[i], __pmd(0));
		pte_free(&init_mm, virt_to_page(table[i]));
		table[i] = NULL;
	}
	if (pages)
		__free_pages(pages, ORDER);
	pages = NULL;
}

static struct kunit_case runs_cases[] = {
	KUNIT_CASE(test_unfolds_for_any_mm),
	KUNIT_CASE(test_run_is_copied_as_one),
	KUNIT_CASE(test_part_of_a_run_is_copied),
	KUNIT_CASE(test_run_is_moved_as_one),
	KUNIT_CASE(test_run_is_moved_to_where_none_is),
	KUNIT_CASE(test_part_of_a_run_is_not_moved),
	KUNIT_CASE(test_run_is_changed_as_one),
	KUNIT_CASE(test_nothing_unmapped_is_a_run),
	KUNIT_CASE(test_parts_of_a_run_are_not_changed),
	KUNIT_CASE(test_run_is_searched_for),
	KUNIT_CASE(test_run_is_taken_as_one),
	KUNIT_CASE(test_part_of_a_run_is_taken),
	KUNIT_CASE(test_kept_run_stays),
	KUNIT_CASE(test_run_is_young_as_one),
	KUNIT_CASE(test_run_beside_protected_page_is_refused),
	KUNIT_CASE(test_misplaced_run_is_refused),
	KUNIT_CASE(test_run_may_have_a_key_of_user_space),
	KUNIT_CASE(test_run_has_one_key),
	KUNIT_CASE(test_no_run_in_the_kernels_tables_beside_a_key),
	KUNIT_CASE(test_run_beside_text_is_not_writable),
	KUNIT_CASE(test_block_beside_protected_page_is_refused),
#ifdef CONFIG_HUGETLB_PAGE
	KUNIT_CASE(test_contiguous_huge_page_is_two_sections),
	KUNIT_CASE(test_swapped_huge_page_is_cleared_as_it_is),
#endif
	{ }
};

static struct kunit_suite runs_suite = {
	.name		= "kpkeys-runs",
	.init		= runs_test_init,
	.exit		= runs_test_exit,
	.test_cases	= runs_cases,
};
kunit_test_suite(runs_suite);
