// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: where a page table may be linked, and when it may be freed. */
#include <linux/io.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include <asm/fixmap.h>
#include <asm/kpkeys_entries.h>
#include <asm/pgalloc.h>
#include <asm/sections.h>

#include "check.h"
#include "depot.h"
#include "links.h"
#include "slots.h"

#define PARENT	((u64 *)page_address(kpkeys_test_ptp))

static struct page *child;

static int links_test_init(struct kunit *test)
{
	int ret;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	ret = kpkeys_test_init(test);
	if (ret)
		return ret;
	child = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, child);
	return 0;
}

static void links_test_exit(struct kunit *test)
{
	if (child)
		kpkeys_ptp_free(child, 0);
	child = NULL;
	kpkeys_test_exit(test);
}

static u64 to_child(void)
{
	return TABLE_BITS | page_to_phys(child);
}

static bool takes_pmd(unsigned int i)
{
	set_pmd((pmd_t *)PARENT + i, __pmd(to_child()));
	return READ_ONCE(PARENT[i]);
}

static bool takes_pud(unsigned int i)
{
	set_pud((pud_t *)PARENT + i, __pud(to_child()));
	return READ_ONCE(PARENT[i]);
}

static void empty(unsigned int i)
{
	set_pmd((pmd_t *)PARENT + i, __pmd(0));
}

static int child_level(void)
{
	return kpkeys_table_level(page_to_pfn(child));
}

static void test_table_is_linked_once(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, child_level(), 0);
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	KUNIT_EXPECT_EQ(test, child_level(), KPKEYS_LEVEL_PTE);
	KUNIT_EXPECT_FALSE(test, takes_pmd(1));
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	empty(0);
	KUNIT_EXPECT_EQ(test, child_level(), 0);
	KUNIT_EXPECT_TRUE(test, takes_pmd(1));
	empty(1);
}

/* What stands in it means something else at another level. */
static void test_table_keeps_its_level(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	empty(0);
	KUNIT_EXPECT_FALSE(test, takes_pud(0));
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	empty(0);
}

static u64 *frames_of_child(void)
{
	unsigned long pfn = page_to_pfn(child);

	return (u64 *)kpkeys_frames.page[pfn / KPKEYS_FRAMES_PER_PAGE];
}

/* Where an entry is comes from ordinary memory, too. */
static void test_entry_is_in_a_table(struct kunit *test)
{
	u64 *frames = frames_of_child(), before = *frames;

	set_pmd((pmd_t *)frames, __pmd(before ? 0 : to_child()));
	KUNIT_EXPECT_EQ(test, *frames, before);
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	set_pmd(page_address(child), __pmd(TABLE_BITS | __pa(PARENT)));
	KUNIT_EXPECT_EQ(test, *(u64 *)page_address(child), 0);
	empty(0);
}

/* A table that leads to tables of one level leads to no others. */
static void test_level_is_the_next_one(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, takes_pud(0));
	KUNIT_EXPECT_EQ(test, child_level(), KPKEYS_LEVEL_PMD);
	set_pud((pud_t *)PARENT, __pud(0));
	set_pmd((pmd_t *)PARENT, __pmd(0));
	kpkeys_ptp_free(child, 0);
	child = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, child);
	KUNIT_EXPECT_FALSE(test, takes_pmd(1));
}

/* Its number stands for no table, and it is none. */
static void test_first_frame_is_no_table(struct kunit *test)
{
	set_pmd((pmd_t *)PARENT, __pmd(TABLE_BITS));
	KUNIT_EXPECT_EQ(test, PARENT[0], 0);
}

/* An interrupt may have had it on its stack: what comes next is asked by it. */
static void test_level_is_one_of_tables(struct kunit *test)
{
	kpkeys_set_entry(kpkeys_no_table, PAGE_SIZE, UINT_MAX);
	KUNIT_EXPECT_EQ(test, *(u64 *)kpkeys_no_table, 0);
}

/* Of what is above it, more than one frame would have to be asked about. */
static void test_leaf_is_of_the_last_level(struct kunit *test)
{
	pmd_t block = pfn_pmd(page_to_pfn(virt_to_page(test)), PAGE_KERNEL);
	u64 old;

	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	empty(0);
	KUNIT_EXPECT_FALSE(test, kpkeys_exchange_leaf(PARENT, pmd_val(pmd_mkhuge(block)),
						      &old));
	KUNIT_EXPECT_EQ(test, PARENT[0], 0);
}

/* Helpers for entries that map pages write in tables of such, too. */
static void test_pte_is_in_a_table(struct kunit *test)
{
	pte_t *frames = (pte_t *)frames_of_child(), *state;
	u64 before = *(u64 *)frames, mode;

	set_pte(frames, __pte(0));
	set_ptes(&init_mm, 0, frames, __pte(0), 2);
	ptep_get_and_clear(&init_mm, 0, frames);
	ptep_set_wrprotect(&init_mm, 0, frames);
	KUNIT_EXPECT_EQ(test, *(u64 *)frames, before);
	state = (pte_t *)PTR_ALIGN_DOWN((void *)&kpkeys_state.mode, sizeof(u64));
	mode = *(u64 *)state;
	set_pte(state, __pte(0));
	ptep_get_and_clear(&init_mm, 0, state);
	KUNIT_EXPECT_EQ(test, *(u64 *)state, mode);
}

static void test_pte_may_come_before_its_table(struct kunit *test)
{
	pte_t *table = page_address(child), on_stack = __pte(0), pte;

	pte = pfn_pte(page_to_pfn(virt_to_page(test)), PAGE_KERNEL);
	set_pte(table, pte);
	KUNIT_EXPECT_EQ(test, pte_val(*table), pte_val(pte));
	set_ptes(&init_mm, 0, table, pte, 2);
	KUNIT_EXPECT_EQ(test, pte_pfn(table[1]), pte_pfn(pte) + 1);
	ptep_get_and_clear(&init_mm, 0, table);
	ptep_get_and_clear(&init_mm, PAGE_SIZE, table + 1);
	KUNIT_EXPECT_EQ(test, pte_val(*table), 0);
	set_pte(&on_stack, pte);
	KUNIT_EXPECT_EQ(test, pte_val(on_stack), pte_val(pte));
}

static void test_linked_table_is_not_kept(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	KUNIT_EXPECT_FALSE(test, kpkeys_table_keep(page_address(child)));
	KUNIT_EXPECT_EQ(test, child_level(), KPKEYS_LEVEL_PTE);
	empty(0);
}

static void test_replaced_table_is_unlinked(struct kunit *test)
{
	struct page *other = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	set_pmd((pmd_t *)PARENT, __pmd(TABLE_BITS | page_to_phys(other)));
	KUNIT_EXPECT_EQ(test, child_level(), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_table_level(page_to_pfn(other)),
			KPKEYS_LEVEL_PTE);
	empty(0);
	kpkeys_ptp_free(other, 0);
}

static void test_exchange_unlinks(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	KUNIT_EXPECT_EQ(test, kpkeys_exchange_entry(PARENT, 0, KPKEYS_LEVEL_PTE),
			to_child());
	KUNIT_EXPECT_EQ(test, child_level(), 0);
}

static void test_linked_table_is_not_freed(struct kunit *test)
{
	long before = atomic_long_read(&kpkeys_events.freelist_errors);

	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	kpkeys_ptp_free(child, 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_events.freelist_errors),
			before + 1);
	KUNIT_EXPECT_EQ(test, child_level(), KPKEYS_LEVEL_PTE);
	empty(0);
}

/* Pages of the pool that hold what the protection knows. */
static void test_own_pages_are_not_freed(struct kunit *test)
{
	unsigned long pfn = page_to_pfn(child);
	void *frames = kpkeys_frames.page[pfn / KPKEYS_FRAMES_PER_PAGE];
	long before = atomic_long_read(&kpkeys_events.freelist_errors);

	kpkeys_ptp_free(virt_to_page(frames), 0);
	kpkeys_ptp_free(virt_to_page(kpkeys_find_region(page_address(child))), 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_events.freelist_errors),
			before + 2);
	KUNIT_EXPECT_FALSE(test, kpkeys_table_is_free(frames));
}

static void test_table_in_use_keeps_its_key(struct kunit *test)
{
	void *addr = page_address(child);

	KUNIT_EXPECT_EQ(test, kpkeys_set_pkey(addr, 1, KPKEYS_PKEY_DEFAULT, false),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey((unsigned long)addr),
			KPKEYS_PKEY_PGTABLES);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(page_to_pfn(child)),
			KPKEYS_FRAME_TABLE);
}

/* By way of an entry on the stack, as where a huge page is split. */
static void test_claimed_table_is_not_freed(struct kunit *test)
{
	long before = atomic_long_read(&kpkeys_events.freelist_errors);
	pmd_t pmd = __pmd(0), other = __pmd(0);

	set_pmd(&pmd, __pmd(to_child()));
	KUNIT_EXPECT_EQ(test, pmd_val(pmd), to_child());
	kpkeys_ptp_free(child, 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_events.freelist_errors),
			before + 1);
	set_pmd(&other, __pmd(to_child()));
	KUNIT_EXPECT_NE(test, pmd_val(other), to_child());
	pmd_clear(&pmd);
}

static void test_claimed_table_is_linked(struct kunit *test)
{
	pmd_t pmd = __pmd(0);

	set_pmd(&pmd, __pmd(to_child()));
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	set_pmd(&pmd, __pmd(to_child()));
	KUNIT_EXPECT_NE(test, pmd_val(pmd), to_child());
	empty(0);
}

static void test_linked_table_is_not_filled(struct kunit *test)
{
	pmd_t pmd = __pmd(0);

	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	set_pmd(&pmd, __pmd(to_child()));
	KUNIT_EXPECT_NE(test, pmd_val(pmd), to_child());
	KUNIT_EXPECT_NE(test, pmd_val(pmd), 0);
	empty(0);
}

/* Flags to say otherwise come from ordinary memory. */
static void test_new_table_is_empty(struct kunit *test)
{
	struct page *before = child;

	scoped_guard(irqsave) {
		kpkeys_ptp_free(child, 0);
		scoped_guard(kpkeys_hardened_pgtables)
			memset(page_address(child), 0xff, PAGE_SIZE);
		child = kpkeys_test_retake(child, GFP_ATOMIC);
	}
	KUNIT_ASSERT_PTR_EQ(test, child, before);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(page_address(child), 0, PAGE_SIZE),
			    NULL);
}

static struct kpkeys_check *expect_findings(struct kunit *test, bool found)
{
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check),
						   GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, check);
	kpkeys_check(check);
	KUNIT_EXPECT_EQ(test, check->mislinked || check->mismapped, found);
	KUNIT_EXPECT_EQ(test, check->ok, !found);
	return check;
}

/* Which table has more links than one, or fewer. */
static void expect_left_over(struct kunit *test, unsigned long pfn, const char *links)
{
	struct kpkeys_check *check = expect_findings(test, true);
	unsigned int last = check->nr_findings - 1;

	KUNIT_ASSERT_NE(test, check->nr_findings, 0);
	KUNIT_EXPECT_STREQ(test, check->finding[last].what, "LINKS");
	KUNIT_EXPECT_EQ(test, check->finding[last].pfn, pfn);
	KUNIT_EXPECT_STREQ(test, check->finding[last].name, links);
}

static void plant(pmd_t *pmdp, u64 value)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*pmdp, __pmd(value));
}

static pmd_t *unused_entry(pmd_t *pmdp)
{
	pmd_t *table = PTR_ALIGN_DOWN(pmdp, PAGE_SIZE);
	unsigned int i;

	for (i = 0; i < PTRS_PER_PMD; i++)
		if (pmd_none(table[i]))
			return table + i;
	return NULL;
}

/* The table of a vmalloc area gets a second entry; another has a free page. */
static void test_checker_sees_links(struct kunit *test)
{
	void *area = vmalloc(PAGE_SIZE);
	pmd_t *pmdp, *unused;

	KUNIT_ASSERT_NOT_NULL(test, area);
	pmdp = pmd_off_k((unsigned long)area);
	unused = unused_entry(pmdp);
	KUNIT_ASSERT_NOT_NULL(test, unused);
	plant(unused, pmd_val(*pmdp));
	expect_left_over(test, kpkeys_table_pfn(pmd_val(*pmdp)), "several");
	plant(unused, to_child());
	expect_findings(test, true);
	plant(unused, 0);
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	/* Its parent is none that anything leads to. */
	expect_left_over(test, page_to_pfn(child), "no table");
	empty(0);
	expect_findings(test, false);
	vfree(area);
}

/* A page that anybody may write becomes one that the kernel runs. */
static void test_checker_sees_what_runs(struct kunit *test)
{
	void *area = vmalloc(PAGE_SIZE);
	struct kpkeys_check *check;
	pte_t *ptep, pte;

	KUNIT_ASSERT_NOT_NULL(test, area);
	ptep = pte_offset_kernel(pmd_off_k((unsigned long)area), (unsigned long)area);
	pte = ptep_get(ptep);
	scoped_guard(kpkeys_hardened_pgtables)
		WRITE_ONCE(*ptep, mk_pte(vmalloc_to_page(area), PAGE_KERNEL_ROX));
	check = expect_findings(test, kpkeys_state.only_text_runs);
	if (check->nr_findings)
		KUNIT_EXPECT_STREQ(test, check->finding[0].what, "RUNS");
	scoped_guard(kpkeys_hardened_pgtables)
		WRITE_ONCE(*ptep, pte);
	expect_findings(test, false);
	vfree(area);
}

static pte_t map_ordinary(struct page *page)
{
	return mk_pte(page, PAGE_KERNEL);
}

/* What was written as a PTE must not become a link of a higher table. */
static void test_first_entry_says_the_level(struct kunit *test)
{
	set_pte(page_address(child), map_ordinary(ZERO_PAGE(0)));
	KUNIT_EXPECT_FALSE(test, takes_pud(0));
	scoped_guard(kpkeys_hardened_pgtables)
		KUNIT_EXPECT_FALSE(test, kpkeys_begin_root(page_address(child),
							   swapper_pg_dir, 1));
}

/* The kernel's half is what is copied, to the same place. */
static void test_roots_are_copied_from_the_kernel(struct kunit *test)
{
	pgd_t *from = lm_alias(init_mm.pgd), *to = page_address(child);
	u8 frame;

	guard(kpkeys_hardened_pgtables)();
	KUNIT_EXPECT_FALSE(test, kpkeys_begin_root(to, from + 1, 1));
	frame = kpkeys_test_set_frame(from, KPKEYS_TABLE(KPKEYS_LEVEL_PGD,
							 KPKEYS_LINK_ONE));
	KUNIT_EXPECT_FALSE(test, kpkeys_begin_root(to, from, 1));
	kpkeys_test_set_frame(from, frame);
}

static void test_begun_table_has_its_level(struct kunit *test)
{
	kpkeys_begin_table(page_address(child), KPKEYS_LEVEL_PMD);
	KUNIT_EXPECT_FALSE(test, takes_pmd(0));
}

/* In a section nobody opens one for each entry, but each is looked at. */
static void test_held_pte_is_in_a_table(struct kunit *test)
{
	pte_t pte = map_ordinary(ZERO_PAGE(0));

	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	scoped_guard(preempt) {
		guard(kpkeys_pgtables_section)(2);
		set_pte_at(&init_mm, 0, (pte_t *)PARENT + 1, pte);
		set_ptes(&init_mm, 0, (pte_t *)PARENT + 2, pte, 1);
	}
	KUNIT_EXPECT_EQ(test, PARENT[1], 0);
	KUNIT_EXPECT_EQ(test, PARENT[2], 0);
	empty(0);
}

static void test_ptes_are_of_the_last_level(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	KUNIT_EXPECT_FALSE(test, kpkeys_refuse_ptes(page_address(child),
						    PTRS_PER_PTE));
	KUNIT_EXPECT_TRUE(test, kpkeys_refuse_ptes(page_address(child) + 8,
						   PTRS_PER_PTE));
	KUNIT_EXPECT_TRUE(test, kpkeys_refuse_ptes(PARENT, 1));
	KUNIT_EXPECT_TRUE(test, kpkeys_refuse_ptes(&child, 1));
	empty(0);
}

static bool fits(u64 *entry, u64 value)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_keep(entry, entry);
	kpkeys_keep(value, value);
	return kpkeys_leaf_is_fit();
}

/* As the section asks again that an interrupt may have come ahead of. */
static void test_sections_ask_again(struct kunit *test)
{
	u64 *table = page_address(child);

	KUNIT_EXPECT_TRUE(test, takes_pmd(0));
	KUNIT_EXPECT_TRUE(test, kpkeys_are_entries(table, PTRS_PER_PTE));
	KUNIT_EXPECT_FALSE(test, kpkeys_are_entries(table + 1, PTRS_PER_PTE));
	KUNIT_EXPECT_TRUE(test, kpkeys_are_entries(PARENT, 1));
	KUNIT_EXPECT_FALSE(test, kpkeys_are_entries(lm_alias(&kpkeys_state), 1));
	KUNIT_EXPECT_FALSE(test, kpkeys_are_entries(kpkeys_frames.page[0], 1));
	KUNIT_EXPECT_TRUE(test, fits(table, 0));
	KUNIT_EXPECT_FALSE(test, fits(table, pte_val(mk_pte(child, PAGE_KERNEL))));
	empty(0);
}

static void test_only_free_pages_leave(struct kunit *test)
{
	phys_addr_t state = arch_kpkeys_phys((unsigned long)&kpkeys_state);

	KUNIT_EXPECT_FALSE(test, kpkeys_table_leave(PHYS_PFN(state)));
	KUNIT_EXPECT_FALSE(test, kpkeys_table_leave(page_to_pfn(child)));
}

static enum kpkeys_frame frame_kind(const void *page)
{
	return kpkeys_frame(PHYS_PFN(__pa(page)));
}

/* That text has no key makes it no ordinary page. */
static void test_entered_frames_stay(struct kunit *test)
{
	void *text = lm_alias(PTR_ALIGN_DOWN((void *)_stext, PAGE_SIZE));
	u8 frame = kpkeys_test_set_frame(text, KPKEYS_FRAME_READONLY);

	kpkeys_frames_sync(text, 1, false);
	KUNIT_EXPECT_EQ(test, frame_kind(text), KPKEYS_FRAME_READONLY);
	kpkeys_test_set_frame(text, frame);
}

static void plant_pte(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*ptep, pte);
}

static void test_checker_sees_leaves(struct kunit *test)
{
	void *area = vmalloc(PAGE_SIZE);
	pte_t *ptep, pte;

	KUNIT_ASSERT_NOT_NULL(test, area);
	ptep = pte_offset_kernel(pmd_off_k((unsigned long)area),
				 (unsigned long)area);
	pte = ptep_get(ptep);
	plant_pte(ptep, map_ordinary(child));
	expect_findings(test, true);
	plant_pte(ptep, map_ordinary(virt_to_page(&kpkeys_frames.page[0][0])));
	expect_findings(test, true);
	plant_pte(ptep, pte);
	expect_findings(test, false);
	vfree(area);
}

/* It may lead to any ordinary page, where an interrupt says that links are. */
static void test_slot_of_fixmap_has_no_links(struct kunit *test)
{
	void *page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	unsigned int level, leads = 0;
	u8 parent;

	KUNIT_ASSERT_NOT_NULL(test, page);
	set_fixmap(FIX_BTMAP_END, __pa(page));
	parent = kpkeys_frame_byte(kpkeys_table_of((void *)fix_to_virt(FIX_BTMAP_END)));
	for (level = KPKEYS_LEVEL_PTE; level < KPKEYS_LEVEL_PGD; level++)
		leads += kpkeys_has_links(parent, level);
	clear_fixmap(FIX_BTMAP_END);
	KUNIT_EXPECT_EQ(test, leads, 0);
}

static struct kunit_case links_cases[] = {
	KUNIT_CASE(test_table_is_linked_once),
	KUNIT_CASE(test_table_keeps_its_level),
	KUNIT_CASE(test_entry_is_in_a_table),
	KUNIT_CASE(test_level_is_the_next_one),
	KUNIT_CASE(test_first_frame_is_no_table),
	KUNIT_CASE(test_level_is_one_of_tables),
	KUNIT_CASE(test_leaf_is_of_the_last_level),
	KUNIT_CASE(test_pte_is_in_a_table),
	KUNIT_CASE(test_pte_may_come_before_its_table),
	KUNIT_CASE(test_linked_table_is_not_kept),
	KUNIT_CASE(test_replaced_table_is_unlinked),
	KUNIT_CASE(test_exchange_unlinks),
	KUNIT_CASE(test_linked_table_is_not_freed),
	KUNIT_CASE(test_own_pages_are_not_freed),
	KUNIT_CASE(test_table_in_use_keeps_its_key),
	KUNIT_CASE(test_claimed_table_is_not_freed),
	KUNIT_CASE(test_claimed_table_is_linked),
	KUNIT_CASE(test_linked_table_is_not_filled),
	KUNIT_CASE(test_new_table_is_empty),
	KUNIT_CASE(test_first_entry_says_the_level),
	KUNIT_CASE(test_roots_are_copied_from_the_kernel),
	KUNIT_CASE(test_begun_table_has_its_level),
	KUNIT_CASE(test_held_pte_is_in_a_table),
	KUNIT_CASE(test_ptes_are_of_the_last_level),
	KUNIT_CASE(test_sections_ask_again),
	KUNIT_CASE(test_only_free_pages_leave),
	KUNIT_CASE(test_entered_frames_stay),
	KUNIT_CASE(test_checker_sees_links),
	KUNIT_CASE(test_checker_sees_what_runs),
	KUNIT_CASE(test_checker_sees_leaves),
	KUNIT_CASE(test_slot_of_fixmap_has_no_links),
	{}
};

static struct kunit_suite links_suite = {
	.name = "kpkeys-links",
	.init = links_test_init,
	.exit = links_test_exit,
	.test_cases = links_cases,
};

kunit_test_suite(links_suite);
