// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: which entries fork() copies and mprotect() changes, which faults
 * set together, and when they ask what these map. Entries are put into tables as
 * if a helper had written them.
 */
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_taken.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <asm/pgalloc.h>

#include <trace/events/kpkeys.h>

#include "depot.h"
#include "sections.h"

#define ADDR	(16UL * PMD_SIZE)
#define NR	3

/* The same entries of two processes, in tables that no CPU walks. */
struct pair {
	pmd_t		pmd[2];
	pte_t		*pte[2];
	struct page	*page;	/* to map */
};

static void new_pair(struct kunit *test, struct pair *p)
{
	pgtable_t table;
	int i;

	/* Two: with a run of entries the one behind it is mapped as well. */
	p->page = alloc_pages(GFP_KERNEL, 1);
	KUNIT_ASSERT_NOT_NULL(test, p->page);
	for (i = 0; i < 2; i++) {
		table = pte_alloc_one(&init_mm);
		KUNIT_ASSERT_NOT_NULL(test, table);
		p->pmd[i] = __pmd(0);
		pmd_populate(&init_mm, &p->pmd[i], table);
		p->pte[i] = page_address(table);
	}
}

static void plant(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*ptep, pte);
}

static void free_pair(struct pair *p)
{
	int i;

	for (i = 0; i < 2 * NR; i++)
		plant(p->pte[i / NR] + i % NR, __pte(0));
	for (i = 0; i < 2; i++) {
		set_pmd(&p->pmd[i], __pmd(0));
		pte_free(&init_mm, virt_to_page(p->pte[i]));
	}
	__free_pages(p->page, 1);
}

static void copy(struct pair *p, pte_t *from, const unsigned long *skip)
{
	struct vm_area_struct parent = { .vm_mm = &init_mm };
	struct vm_area_struct child = { .vm_mm = &init_mm };

	vm_flags_init(&parent, VM_READ | VM_WRITE | VM_MAYWRITE);
	vm_flags_init(&child, VM_READ | VM_WRITE | VM_MAYWRITE);
	guard(preempt)();
	copy_ptes(&child, &parent, p->pte[1], from, ADDR, ADDR + NR * PAGE_SIZE, skip);
}

static unsigned long pfn_of_table(void)
{
	return page_to_pfn(kpkeys_test_ptp);
}

static bool is_copied(struct pair *p, unsigned int i)
{
	return !pte_none(ptep_get(p->pte[1] + i));
}

static void test_copies_what_is_not_skipped(struct kunit *test)
{
	pte_t pte = pfn_pte(page_to_pfn(ZERO_PAGE(0)), PAGE_READONLY);
	DECLARE_BITMAP(skip, PTRS_PER_PTE) = { };
	struct pair p;
	int i;

	new_pair(test, &p);
	for (i = 0; i < NR; i++)
		plant(p.pte[0] + i, i == 1 ? __pte(0) : pte);
	copy(&p, p.pte[0], skip);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ(test, is_copied(&p, i), i != 1);
	for (i = 0; i < NR; i++)
		plant(p.pte[1] + i, __pte(0));
	__set_bit(2, skip);
	copy(&p, p.pte[0], skip);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ(test, is_copied(&p, i), i == 0);
	free_pair(&p);
}

/* A search might be past the child's table, and come to the parent's later. */
static void test_copies_are_asked_while_pages_change(struct kunit *test)
{
	pte_t pte = pfn_pte(pfn_of_table(), PAGE_READONLY);
	DECLARE_BITMAP(skip, PTRS_PER_PTE) = { };
	unsigned long before;
	struct pair p;

	new_pair(test, &p);
	before = kpkeys_test_violations();
	plant(p.pte[0] + 1, pte);
	kpkeys_arrivals_expect();
	copy(&p, p.pte[0], skip);
	kpkeys_arrivals_settle();
	KUNIT_EXPECT_FALSE(test, is_copied(&p, 1));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&kpkeys_state.arrivals.expected), 0);
	free_pair(&p);
}

static unsigned int move(struct pair *p)
{
	guard(preempt)();
	return __move_ptes(&init_mm, p->pte[0], ADDR, p->pte[1], ADDR + PMD_SIZE,
			   NR * PAGE_SIZE, false);
}

static void test_moves_what_is_present(struct kunit *test)
{
	pte_t pte = pfn_pte(page_to_pfn(ZERO_PAGE(0)), PAGE_READONLY);
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0], pte);
	plant(p.pte[0] + 2, swp_entry_to_pte(swp_entry(1, 2)));
	KUNIT_EXPECT_EQ(test, move(&p), 2);
	KUNIT_EXPECT_TRUE(test, pte_none(ptep_get(p.pte[0])));
	KUNIT_EXPECT_TRUE(test, is_copied(&p, 0));
	KUNIT_EXPECT_FALSE(test, is_copied(&p, 2));
	KUNIT_EXPECT_FALSE(test, pte_none(ptep_get(p.pte[0] + 2)));
	free_pair(&p);
}

/* A search might be past the new table, and come to the old one later. */
static void test_moves_nothing_that_is_searched_for(struct kunit *test)
{
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0] + 1, pfn_pte(pfn_of_table(), PAGE_READONLY));
	kpkeys_arrivals_expect();
	KUNIT_EXPECT_EQ(test, move(&p), 1);
	kpkeys_arrivals_settle();
	KUNIT_EXPECT_FALSE(test, is_copied(&p, 1));
	free_pair(&p);
}

/* The same question of all sections that take, copy, move and change entries. */
static void test_tightened_mode_asks(struct kunit *test)
{
	enum kpkeys_mode mode = kpkeys_state.mode;
	struct page *page = ZERO_PAGE(0);
	bool loose, tight;

	scoped_guard(kpkeys_hardened_pgtables) {
		kpkeys_state.mode = KPKEYS_AUDIT;
		loose = taken_are_ptes(page_address(page), 0, PAGE_SIZE);
		kpkeys_state.mode = KPKEYS_ENFORCE;
		tight = taken_are_ptes(page_address(page), 0, PAGE_SIZE);
		kpkeys_state.mode = mode;
	}
	KUNIT_EXPECT_TRUE(test, loose);
	KUNIT_EXPECT_FALSE(test, tight);
}

/* What begins there is one of its entries, and where an area ends anybody can write. */
static void test_sections_end_with_a_page(struct kunit *test)
{
	pte_t *table = kpkeys_no_table;

	KUNIT_EXPECT_TRUE(test, taken_are_ptes(table, 0, PMD_SIZE));
	KUNIT_EXPECT_FALSE(test, taken_are_ptes(table, 0, PAGE_SIZE + PAGE_SIZE / 2));
	KUNIT_EXPECT_FALSE(test, taken_are_ptes(table, PAGE_SIZE / 2, PAGE_SIZE));
}

static bool asks;

static void note_asking(void *data, const void *addr, unsigned int nr, int pkey,
			int ret)
{
	asks |= atomic_read(&kpkeys_state.arrivals.expected);
}

/* What comes has not got its key before copies are asked about it. */
static void test_copies_are_asked_while_the_pool_grows(struct kunit *test)
{
	asks = false;
	KPKEYS_TEST_REQUIRES(test, !register_trace_kpkeys_key(note_asking, NULL));
	kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL);
	unregister_trace_kpkeys_key(note_asking, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_TRUE(test, asks);
}

/* Returns how many entries it did not come to. */
static unsigned int change(struct pair *p, struct ptes_change *change,
			   pgprot_t prot)
{
	struct vm_area_struct vma = { .vm_mm = &init_mm };
	unsigned long end = ADDR + NR * PAGE_SIZE;

	change->vma = &vma;
	change->prot = prot;
	change->flush_start = end;
	guard(preempt)();
	return (end - change_ptes(change, p->pte[0], ADDR, end)) / PAGE_SIZE;
}

static bool is_writable(struct pair *p, unsigned int i)
{
	return pte_write(ptep_get(p->pte[0] + i));
}

static void test_changes_what_is_mapped(struct kunit *test)
{
	pte_t pte = pfn_pte(page_to_pfn(ZERO_PAGE(0)), PAGE_SHARED);
	struct ptes_change done = { };
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0] + 1, pte);
	plant(p.pte[0] + 2, pte);
	KUNIT_EXPECT_EQ(test, change(&p, &done, PAGE_READONLY), 0);
	KUNIT_EXPECT_FALSE(test, is_writable(&p, 1) || is_writable(&p, 2));
	KUNIT_EXPECT_EQ(test, done.pages, 2);
	KUNIT_EXPECT_EQ(test, done.flush_start, ADDR + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, done.flush_end, ADDR + 3 * PAGE_SIZE);
	free_pair(&p);
}

static void test_changes_what_is_not_kept(struct kunit *test)
{
	pte_t pte = pfn_pte(page_to_pfn(ZERO_PAGE(0)), PAGE_SHARED);
	struct ptes_change done = { .flags = MM_CP_PROT_NUMA };
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0], pte);
	plant(p.pte[0] + 1, pte);
	__set_bit(0, done.noted);
	KUNIT_EXPECT_EQ(test, change(&p, &done, PAGE_READONLY), 0);
	KUNIT_EXPECT_TRUE(test, is_writable(&p, 0));
	KUNIT_EXPECT_FALSE(test, is_writable(&p, 1));
	KUNIT_EXPECT_EQ(test, done.pages, 1);
	free_pair(&p);
}

static void test_swap_entries_that_differ_are_left(struct kunit *test)
{
	swp_entry_t differs = make_writable_migration_entry(1);
	struct ptes_change done = { };
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0] + 1, swp_entry_to_pte(swp_entry(0, 1)));
	plant(p.pte[0] + 2, swp_entry_to_pte(differs));
	KUNIT_EXPECT_EQ(test, change(&p, &done, PAGE_READONLY), 1);
	KUNIT_EXPECT_EQ(test, done.pages, 0);
	KUNIT_EXPECT_LE(test, done.flush_end, done.flush_start);
	free_pair(&p);
}

/* It would be a page table that its owner writes. */
static void test_tables_gain_no_permission(struct kunit *test)
{
	pte_t pte = pfn_pte(pfn_of_table(), PAGE_READONLY);
	struct ptes_change done = { };
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0], pfn_pte(page_to_pfn(p.page), PAGE_READONLY));
	plant(p.pte[0] + 1, pte);
	KUNIT_EXPECT_EQ(test, change(&p, &done, PAGE_SHARED), 2);
	KUNIT_EXPECT_TRUE(test, is_writable(&p, 0));
	KUNIT_EXPECT_EQ(test, pte_val(ptep_get(p.pte[0] + 1)), pte_val(pte));
	KUNIT_EXPECT_EQ(test, done.pages, 1);
	free_pair(&p);
}

/* Is an entry that maps a page table left as it is? */
static bool is_left(struct pair *p, pgprot_t from, pgprot_t to)
{
	struct ptes_change done = { };
	pte_t pte = pfn_pte(pfn_of_table(), from);
	unsigned int left;

	plant(p->pte[0], pte);
	left = change(p, &done, to);
	return left == NR && pte_val(ptep_get(p->pte[0])) == pte_val(pte);
}

#ifdef CONFIG_X86
#define KEY	(2UL << _PAGE_BIT_PKEY_BIT0)
#define USER	_PAGE_USER
#define RUN	__pgprot(pgprot_val(PAGE_READONLY_EXEC) & ~_PAGE_USER)
#define GLOBAL	__pgprot(pgprot_val(PAGE_READONLY) | _PAGE_GLOBAL)
#else
#define KEY	(2UL << 60)
#define USER	PTE_USER
#define RUN	__pgprot(pgprot_val(PAGE_READONLY_EXEC) & ~PTE_PXN)
#define GLOBAL	__pgprot(pgprot_val(PAGE_READONLY) & ~PTE_NG)
#endif

static bool takes(struct pair *p, pgprot_t prot, unsigned int nr)
{
	bool is_set;

	set_ptes(&init_mm, ADDR, p->pte[0], pfn_pte(page_to_pfn(p->page), prot), nr);
	is_set = !pte_none(ptep_get(p->pte[0] + nr - 1));
	while (nr--)
		plant(p->pte[0] + nr, __pte(0));
	return is_set;
}

/* What a process maps, the kernel does not run, and no other process has. */
static void test_entries_are_for_a_process(struct kunit *test)
{
	unsigned int nr;
	struct pair p;

	new_pair(test, &p);
	for (nr = 1; nr <= 2; nr++) {
		KUNIT_EXPECT_TRUE(test, takes(&p, PAGE_READONLY_EXEC, nr));
		KUNIT_EXPECT_FALSE(test, takes(&p, RUN, nr));
		KUNIT_EXPECT_FALSE(test, takes(&p, GLOBAL, nr));
	}
	free_pair(&p);
}

/* mprotect() has the new rights from vma->vm_page_prot, which anybody can write. */
static void test_entries_stay_for_a_process(struct kunit *test)
{
	pte_t pte = pfn_pte(page_to_pfn(ZERO_PAGE(0)), PAGE_READONLY_EXEC);
	struct ptes_change done = { };
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0], pte);
	KUNIT_EXPECT_EQ(test, change(&p, &done, RUN), NR);
	KUNIT_EXPECT_EQ(test, pte_val(ptep_get(p.pte[0])), pte_val(pte));
	KUNIT_EXPECT_EQ(test, change(&p, &done, GLOBAL), NR);
	KUNIT_EXPECT_EQ(test, pte_val(ptep_get(p.pte[0])), pte_val(pte));
	free_pair(&p);
}

/* Each right by itself. A key that is taken away is one. */
static void test_tables_gain_no_other_right(struct kunit *test)
{
	u64 prot = pgprot_val(PAGE_READONLY);
	struct pair p;

	new_pair(test, &p);
	KUNIT_EXPECT_FALSE(test, is_left(&p, PAGE_READONLY, PAGE_READONLY));
	KUNIT_EXPECT_TRUE(test, is_left(&p, PAGE_READONLY, PAGE_READONLY_EXEC));
	KUNIT_EXPECT_TRUE(test, is_left(&p, PAGE_NONE, PAGE_READONLY));
	KUNIT_EXPECT_TRUE(test, is_left(&p, __pgprot(prot & ~USER), PAGE_READONLY));
	KUNIT_EXPECT_TRUE(test, is_left(&p, __pgprot(prot | KEY), PAGE_READONLY));
	KUNIT_EXPECT_TRUE(test, is_left(&p, PAGE_READONLY, __pgprot(prot | KEY)));
	free_pair(&p);
}

/* A search might pass by while the entry is taken out. */
static void test_changes_are_asked_while_pages_change(struct kunit *test)
{
	pte_t pte = pfn_pte(pfn_of_table(), PAGE_SHARED);
	struct ptes_change done = { };
	struct pair p;

	new_pair(test, &p);
	plant(p.pte[0], pte);
	kpkeys_arrivals_expect();
	KUNIT_EXPECT_EQ(test, change(&p, &done, PAGE_READONLY), NR);
	kpkeys_arrivals_settle();
	KUNIT_EXPECT_EQ(test, pte_val(ptep_get(p.pte[0])), pte_val(pte));
	KUNIT_EXPECT_EQ(test, change(&p, &done, PAGE_READONLY), 0);
	KUNIT_EXPECT_FALSE(test, is_writable(&p, 0));
	free_pair(&p);
}

/* ---- faults that map several pages ---- */

/* In their table; returns the writes of the register. */
static unsigned long set_queued(struct pair *p, struct ptes_queue *queue)
{
	struct vm_area_struct vma = { .vm_mm = &init_mm };
	struct vm_fault vmf = { .vma = &vma, .pte = p->pte[0] + NR };
	unsigned long before;

	guard(irqsave)();
	before = kpkeys_test_writes();
	set_queued_ptes(queue, &vmf);
	return kpkeys_test_writes() - before;
}

static void queue_pfn(struct pair *p, struct ptes_queue *queue, unsigned int i,
		      unsigned long pfn)
{
	struct vm_area_struct vma = { .vm_mm = &init_mm };
	struct vm_fault vmf = { .vma = &vma, .pte = p->pte[0] + i };

	guard(preempt)();
	queue_pte(queue, &vmf, ADDR + i * PAGE_SIZE, pfn_pte(pfn, PAGE_READONLY));
}

static bool is_mapped(struct pair *p, unsigned int i)
{
	return !pte_none(ptep_get(p->pte[0] + i));
}

static void test_queued_entries_are_set_together(struct kunit *test)
{
	struct ptes_queue queue = { };
	struct pair p;
	int i;

	new_pair(test, &p);
	for (i = 0; i < NR; i++)
		queue_pfn(&p, &queue, i, page_to_pfn(p.page));
	KUNIT_EXPECT_FALSE(test, is_mapped(&p, 0));
	KUNIT_EXPECT_EQ(test, set_queued(&p, &queue), 2);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_TRUE(test, is_mapped(&p, i));
	KUNIT_EXPECT_EQ(test, set_queued(&p, &queue), 0);
	free_pair(&p);
}

static void test_full_queue_is_set(struct kunit *test)
{
	struct ptes_queue queue = { };
	struct pair p;
	int i;

	new_pair(test, &p);
	for (i = 0; i <= NR_QUEUED_PTES; i++)
		queue_pfn(&p, &queue, i, page_to_pfn(p.page));
	KUNIT_EXPECT_TRUE(test, is_mapped(&p, NR_QUEUED_PTES - 1));
	KUNIT_EXPECT_FALSE(test, is_mapped(&p, NR_QUEUED_PTES));
	set_queued(&p, &queue);
	KUNIT_EXPECT_TRUE(test, is_mapped(&p, NR_QUEUED_PTES));
	for (i = 0; i <= NR_QUEUED_PTES; i++)
		plant(p.pte[0] + i, __pte(0));
	free_pair(&p);
}

/* What another CPU wrote to the queue meanwhile. */
static void test_queued_entries_are_asked(struct kunit *test)
{
	struct ptes_queue queue = { };
	unsigned long before;
	struct pair p;

	new_pair(test, &p);
	before = kpkeys_test_violations();
	queue_pfn(&p, &queue, 0, pfn_of_table());
	queue_pfn(&p, &queue, 1, page_to_pfn(p.page));
	set_queued(&p, &queue);
	KUNIT_EXPECT_FALSE(test, is_mapped(&p, 0));
	KUNIT_EXPECT_TRUE(test, is_mapped(&p, 1));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	free_pair(&p);
}

static int copies_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	return kpkeys_test_init(test);
}

static struct kunit_case copies_cases[] = {
	KUNIT_CASE(test_entries_are_for_a_process),
	KUNIT_CASE(test_entries_stay_for_a_process),
	KUNIT_CASE(test_copies_what_is_not_skipped),
	KUNIT_CASE(test_copies_are_asked_while_pages_change),
	KUNIT_CASE(test_moves_what_is_present),
	KUNIT_CASE(test_moves_nothing_that_is_searched_for),
	KUNIT_CASE(test_sections_end_with_a_page),
	KUNIT_CASE(test_tightened_mode_asks),
	KUNIT_CASE(test_copies_are_asked_while_the_pool_grows),
	KUNIT_CASE(test_changes_what_is_mapped),
	KUNIT_CASE(test_changes_what_is_not_kept),
	KUNIT_CASE(test_swap_entries_that_differ_are_left),
	KUNIT_CASE(test_tables_gain_no_permission),
	KUNIT_CASE(test_tables_gain_no_other_right),
	KUNIT_CASE(test_changes_are_asked_while_pages_change),
	KUNIT_CASE(test_queued_entries_are_set_together),
	KUNIT_CASE(test_full_queue_is_set),
	KUNIT_CASE(test_queued_entries_are_asked),
	{}
};

static struct kunit_suite copies_suite = {
	.name = "kpkeys-copies",
	.init = copies_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = copies_cases,
};

kunit_test_suite(copies_suite);
