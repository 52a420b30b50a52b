// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: what the kernel finds protected memory by is not taken away. */
#include <linux/io.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_taken.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_mm.h>
#include <asm/pgalloc.h>

#include "addresses.h"
#include "arrivals.h"
#include "check.h"
#include "internal.h"

/* A page of the protection's state, and the entry that the direct map has of it. */
static void *state;
static pte_t *slot;

static int key_state(void)
{
	return kpkeys_set_pkey(state, 1, KPKEYS_PKEY_STATE, false);
}

/* Nothing but a free page of the pool may lose its key. */
static int unkey_state(void)
{
	kpkeys_test_set_frame(state, KPKEYS_FRAME_TABLE);
	return kpkeys_set_pkey(state, 1, KPKEYS_PKEY_DEFAULT, false);
}

static int addresses_test_init(struct kunit *test)
{
	struct kpkeys_leaf leaf;
	int ret;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	ret = kpkeys_test_init(test);
	if (ret)
		return ret;
	state = (void *)__get_free_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, state);
	KUNIT_ASSERT_EQ(test, key_state(), 0);
	KUNIT_ASSERT_TRUE(test, arch_kpkeys_leaf((unsigned long)state, &leaf));
	KUNIT_ASSERT_EQ(test, leaf.size, PAGE_SIZE);
	slot = __va(leaf.entry);
	return 0;
}

static void addresses_test_exit(struct kunit *test)
{
	if (state) {
		unkey_state();
		free_page((unsigned long)state);
	}
	state = NULL;
	kpkeys_test_exit(test);
}

/* Puts it back, so that a kernel that lost it goes on. */
static bool is_still(u64 before)
{
	u64 now = READ_ONCE(*(u64 *)slot);

	scoped_guard(kpkeys_hardened_pgtables)
		WRITE_ONCE(*(u64 *)slot, before);
	return now == before;
}

static void test_mapping_is_not_cleared(struct kunit *test)
{
	u64 before = pte_val(ptep_get(slot));
	unsigned long addr = (unsigned long)state;

	ptep_get_and_clear(&init_mm, addr, slot);
	KUNIT_EXPECT_TRUE(test, is_still(before));
	pte_clear(&init_mm, addr, slot);
	KUNIT_EXPECT_TRUE(test, is_still(before));
	vunmap_range(addr, addr + PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, is_still(before));
}

static void test_mapping_is_not_replaced(struct kunit *test)
{
	u64 before = pte_val(ptep_get(slot));
	pte_t other = mk_pte(ZERO_PAGE(0), PAGE_KERNEL);

	set_pte(slot, other);
	KUNIT_EXPECT_TRUE(test, is_still(before));
	scoped_guard(preempt) {
		guard(kpkeys_pgtables_section)(2);
		set_ptes(&init_mm, (unsigned long)state, slot, other, 1);
	}
	KUNIT_EXPECT_TRUE(test, is_still(before));
	set_pte(slot, __pte(before));
	KUNIT_EXPECT_TRUE(test, is_still(before));
}

/* Sections of vmalloc leave it, and what maps it, to the helpers that refuse. */
static void test_sections_leave_mappings(struct kunit *test)
{
	struct page *pages[] = { ZERO_PAGE(0), virt_to_page(state) };
	u64 before = pte_val(ptep_get(slot));
	struct kpkeys_leaf leaf;
	void *area;
	pte_t *ptep;

	KUNIT_EXPECT_EQ(test, __vunmap_ptes(slot, 1), 0);
	KUNIT_EXPECT_EQ(test, __vmap_ptes(slot, pages, 1, PAGE_KERNEL_RO), 0);
	KUNIT_EXPECT_TRUE(test, is_still(before));

	area = vmap((struct page *[]) { pages[0], pages[0] }, 2, VM_MAP, PAGE_KERNEL_RO);
	KUNIT_ASSERT_NOT_NULL(test, area);
	if (arch_kpkeys_leaf((unsigned long)area, &leaf)) {
		ptep = __va(leaf.entry);
		KUNIT_EXPECT_EQ(test, __vunmap_ptes(ptep, PTRS_PER_PTE + 1), 0);
		KUNIT_EXPECT_EQ(test, __vunmap_ptes(ptep, 1), 1);
		KUNIT_EXPECT_EQ(test, __vmap_ptes(ptep, pages + 1, 1, PAGE_KERNEL_RO), 0);
		KUNIT_EXPECT_EQ(test, __vmap_run(ptep, page_to_pfn(pages[1]), 1,
						 PAGE_KERNEL_RO), 0);
		KUNIT_EXPECT_TRUE(test, pte_none(ptep_get(ptep)));
		KUNIT_EXPECT_EQ(test, __vmap_ptes(ptep, pages, 1, PAGE_KERNEL_RO), 1);
		KUNIT_EXPECT_FALSE(test, pte_none(ptep_get(ptep)));
	}
	vunmap(area);
}

static bool becomes(pte_t *ptep, pte_t pte)
{
	set_pte(ptep, pte);
	return pte_val(ptep_get(ptep)) == pte_val(pte);
}

/* Not even where it is mapped already, where text is entered. */
static void test_kernel_runs_no_other_page(struct kunit *test)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1), *both[] = { page, page + 1 };
	void *area = page ? vmap(both, 2, VM_MAP, PAGE_KERNEL) : NULL;
	struct kpkeys_leaf leaf;
	pte_t *ptep;

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_ASSERT_TRUE(test, arch_kpkeys_leaf((unsigned long)area, &leaf));
	ptep = __va(leaf.entry);
	KUNIT_EXPECT_FALSE(test, becomes(ptep, mk_pte(page + 1, PAGE_KERNEL_EXEC)));
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_FALSE(test, becomes(ptep, mk_pte(page + 1, PAGE_SHARED_EXEC)));
	KUNIT_EXPECT_EQ(test, becomes(ptep, mk_pte(page, PAGE_KERNEL_ROX)),
			!kpkeys_state.only_text_runs);
	KUNIT_EXPECT_TRUE(test, becomes(ptep, mk_pte(page + 1, PAGE_KERNEL)));
	KUNIT_EXPECT_TRUE(test, becomes(ptep, __pte(0)));
	KUNIT_EXPECT_FALSE(test, becomes(ptep, mk_pte(page, PAGE_KERNEL_EXEC)));
	KUNIT_EXPECT_EQ(test, __vmap_ptes(ptep, &page, 1, PAGE_KERNEL_EXEC), 0);
	KUNIT_EXPECT_EQ(test, __vmap_run(ptep, page_to_pfn(page), 1, PAGE_KERNEL_EXEC), 0);
	vunmap(area);
	__free_pages(page, 1);
}

/* A table of a process is none of the kernel's. */
static void test_sections_want_tables_of_the_kernel(struct kunit *test)
{
	struct page *page = ZERO_PAGE(0);
	pte_t *table = page_address(kpkeys_test_ptp);

	KUNIT_EXPECT_EQ(test, __vmap_ptes(table, &page, 1, PAGE_KERNEL_RO), 0);
	KUNIT_EXPECT_EQ(test, __vmap_run(table, 0, 1, PAGE_KERNEL_RO), 0);
	KUNIT_EXPECT_EQ(test, __vunmap_ptes(table, 1), 0);
}

/* No process has entries there. */
static void test_kernel_entries_are_not_taken(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kpkeys_refuse_ptes(slot, 1));
}

static void test_other_memory_is_unmapped(struct kunit *test)
{
	unsigned long addr = (unsigned long)state;
	u64 before;

	KUNIT_ASSERT_EQ(test, unkey_state(), 0);
	before = pte_val(ptep_get(slot));
	ptep_get_and_clear(&init_mm, addr, slot);
	KUNIT_EXPECT_FALSE(test, is_still(before));
	KUNIT_ASSERT_EQ(test, key_state(), 0);
}

static void test_table_is_not_unlinked(struct kunit *test)
{
	pmd_t *pmdp = pmd_off_k((unsigned long)state), was = READ_ONCE(*pmdp), now;

	set_pmd(pmdp, __pmd(TABLE_BITS | page_to_phys(kpkeys_test_ptp)));
	now = READ_ONCE(*pmdp);
	scoped_guard(kpkeys_hardened_pgtables)
		WRITE_ONCE(*pmdp, was);
	KUNIT_EXPECT_EQ(test, pmd_val(now), pmd_val(was));
	KUNIT_EXPECT_EQ(test, kpkeys_table_links(page_to_pfn(kpkeys_test_ptp)),
			KPKEYS_LINK_NONE);
}

#define TABLE	((u64 *)page_address(kpkeys_test_ptp))

static void fill(u64 first)
{
	unsigned int i;

	guard(kpkeys_hardened_pgtables)();
	for (i = 0; i < PTRS_PER_PTE; i++)
		TABLE[i] = first + i * PAGE_SIZE;
}

static void test_split_says_the_same(struct kunit *test)
{
	u64 page = pte_val(ptep_get(slot)), block = page & ~(PMD_SIZE - PAGE_SIZE);
	u64 link = TABLE_BITS | __pa(TABLE), huge;

	huge = pmd_val(pmd_mkhuge(__pmd(block)));
	KUNIT_EXPECT_TRUE(test, kpkeys_loses(huge, 0, KPKEYS_LEVEL_PMD));
	KUNIT_EXPECT_FALSE(test, kpkeys_loses(huge, huge, KPKEYS_LEVEL_PMD));
	KUNIT_EXPECT_TRUE(test, kpkeys_loses(huge, link, KPKEYS_LEVEL_PMD));
	fill(block);
	KUNIT_EXPECT_FALSE(test, kpkeys_loses(huge, link, KPKEYS_LEVEL_PMD));
	scoped_guard(kpkeys_hardened_pgtables)
		TABLE[PTRS_PER_PTE - 1] = 0;
	KUNIT_EXPECT_TRUE(test, kpkeys_loses(huge, link, KPKEYS_LEVEL_PMD));
	scoped_guard(kpkeys_hardened_pgtables)
		memset(TABLE, 0, PAGE_SIZE);
}

static enum kpkeys_frame kind(const void *table)
{
	return kpkeys_frame(PHYS_PFN(__pa(table)));
}

static void test_tables_of_the_kernel_are_known(struct kunit *test)
{
	void *area = vmalloc(PAGE_SIZE);
	pte_t *ptep;
	u8 frame;
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_ASSERT_NOT_NULL(test, check);
	ptep = virt_to_kpte((unsigned long)area);
	KUNIT_EXPECT_EQ(test, kind(ptep), KPKEYS_FRAME_KERNEL_TABLE);
	KUNIT_EXPECT_EQ(test, kind(slot), KPKEYS_FRAME_KERNEL_TABLE);
	KUNIT_EXPECT_EQ(test, kind(TABLE), KPKEYS_FRAME_TABLE);
	frame = kpkeys_test_set_frame(PTR_ALIGN_DOWN(ptep, PAGE_SIZE),
				      KPKEYS_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_ONE));
	kpkeys_check(check);
	kpkeys_test_set_frame(PTR_ALIGN_DOWN(ptep, PAGE_SIZE), frame);
	KUNIT_EXPECT_EQ(test, check->misentered, 1);
	vfree(area);
}

static void *new_table(struct kunit *test)
{
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return page_address(page);
}

/* In the middle of an entry there is none. */
static void test_entries_are_whole(struct kunit *test)
{
	pte_t *middle = (void *)TABLE + 2, pte = mk_pte(ZERO_PAGE(0), PAGE_SHARED);

	set_pte((pte_t *)TABLE, pte);
	set_pte(middle, pte);
	ptep_set_wrprotect(&init_mm, 0, middle);
	ptep_get_and_clear(&init_mm, 0, middle);
	KUNIT_EXPECT_EQ(test, TABLE[0], pte_val(pte));
	KUNIT_EXPECT_EQ(test, TABLE[1], 0);
	KUNIT_EXPECT_TRUE(test, kpkeys_refuse_ptes(middle, 1));
	set_pte((pte_t *)TABLE, __pte(0));
	KUNIT_EXPECT_EQ(test, TABLE[0], 0);
}

static void test_links_are_whole(struct kunit *test)
{
	u64 *last = new_table(test);
	pmd_t *middle = (void *)TABLE + 2;
	u8 frame;

	frame = kpkeys_test_set_frame(TABLE, KPKEYS_TABLE(KPKEYS_LEVEL_PMD, KPKEYS_LINK_ONE));
	set_pmd(middle, __pmd(TABLE_BITS | __pa(last)));
	KUNIT_EXPECT_EQ(test, TABLE[0], 0);
	KUNIT_EXPECT_EQ(test, TABLE[1], 0);
	kpkeys_test_set_frame(TABLE, frame);
	kpkeys_ptp_free(virt_to_page(last), 0);
}

/* What begins in the middle of a page of the pool goes on in the next one. */
static void test_pages_are_whole(struct kunit *test)
{
	void *middle = (void *)new_table(test) + SZ_64;

	KUNIT_EXPECT_FALSE(test, kpkeys_table_keep(middle));
	KUNIT_EXPECT_FALSE(test, kpkeys_are_new(middle, 1, KPKEYS_PKEY_PGTABLES));
	scoped_guard(kpkeys_hardened_pgtables)
		KUNIT_EXPECT_FALSE(test, kpkeys_table_keep_new(middle));
	kpkeys_ptp_free(virt_to_page(middle), 0);
}

/* An entry of the kernel's, which maps a page of the test's. */
static pte_t *map_page(struct kunit *test, struct page **page, void **area)
{
	struct kpkeys_leaf leaf;

	*page = alloc_page(GFP_KERNEL);
	*area = *page ? vmap(page, 1, VM_MAP, PAGE_KERNEL) : NULL;
	KUNIT_ASSERT_NOT_NULL(test, *area);
	KUNIT_ASSERT_TRUE(test, arch_kpkeys_leaf((unsigned long)*area, &leaf));
	return __va(leaf.entry);
}

static void unmap_page(struct page *page, void *area)
{
	vunmap(area);
	__free_page(page);
}

/* Where there was another page, or none, what is keyed does not come. */
static void test_keyed_pages_stay_where_they_are(struct kunit *test)
{
	struct page *page;
	void *area;
	pte_t *ptep = map_page(test, &page, &area), keyed = ptep_get(slot);

	KUNIT_EXPECT_FALSE(test, becomes(ptep, keyed));
	KUNIT_EXPECT_TRUE(test, becomes(ptep, __pte(0)));
	KUNIT_EXPECT_FALSE(test, becomes(ptep, keyed));
	KUNIT_EXPECT_TRUE(test, becomes(slot, keyed));
	set_pte((pte_t *)TABLE, keyed);
	KUNIT_EXPECT_EQ(test, TABLE[0], 0);
	unmap_page(page, area);
}

/* What sections write past entries that are read-only, they would write there. */
static void test_constants_stay_where_they_are(struct kunit *test)
{
	pte_t text = pfn_pte(kpkeys_test_enter_text(), PAGE_KERNEL_RO);
	struct page *page;
	void *area;
	pte_t *ptep = map_page(test, &page, &area);

	KUNIT_EXPECT_EQ(test, becomes(ptep, text), arch_kpkeys_has_keys());
	kpkeys_test_set_frame(KPKEYS_TEST_TEXT, KPKEYS_FRAME_ORDINARY);
	KUNIT_EXPECT_TRUE(test, becomes(ptep, __pte(0)));
	unmap_page(page, area);
}

/* Each process would have it. */
static void test_user_space_has_no_page_of_the_kernel(struct kunit *test)
{
	struct page *page;
	void *area;
	pte_t *ptep = map_page(test, &page, &area);

	KUNIT_EXPECT_FALSE(test, becomes(ptep, mk_pte(page, PAGE_SHARED)));
	KUNIT_EXPECT_FALSE(test, becomes(ptep, mk_pte(page, PAGE_READONLY)));
	KUNIT_EXPECT_TRUE(test, becomes(ptep, mk_pte(page, PAGE_KERNEL_RO)));
	unmap_page(page, area);
}

/* The sections of vmalloc leave to others what they do not map. */
static void test_vmalloc_gives_user_space_no_page(struct kunit *test)
{
	struct page *page;
	void *area;
	pte_t *ptep = map_page(test, &page, &area);

	set_pte(ptep, __pte(0));
	KUNIT_EXPECT_EQ(test, __vmap_ptes(ptep, &page, 1, PAGE_SHARED), 0);
	KUNIT_EXPECT_EQ(test, __vmap_run(ptep, page_to_pfn(page), 1, PAGE_SHARED), 0);
	KUNIT_EXPECT_EQ(test, __vmap_ptes(ptep, &page, 1, PAGE_KERNEL), 1);
	unmap_page(page, area);
}

/* Until it is linked, a table may become a process's. */
static void test_tables_to_come_are_private(struct kunit *test)
{
	u64 *last = new_table(test);

	set_pte((pte_t *)last, pfn_pte(kpkeys_test_enter_text(), PAGE_KERNEL_ROX));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*last), 0);
	kpkeys_test_set_frame(last, KPKEYS_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_NONE));
	kpkeys_test_set_frame(KPKEYS_TEST_TEXT, KPKEYS_FRAME_ORDINARY);
	kpkeys_ptp_free(virt_to_page(last), 0);
}

/* With that entry a table does not become the kernel's; with one of the kernel's it does. */
static void expect_not_linked(struct kunit *test, pgprot_t prot)
{
	u64 *last = new_table(test), link = TABLE_BITS | __pa(last);
	struct page *page = ZERO_PAGE(0);
	u8 frame;

	frame = kpkeys_test_set_frame(TABLE, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PMD,
								 KPKEYS_LINK_ONE));
	set_pte((pte_t *)last, mk_pte(page, prot));
	set_pmd((pmd_t *)TABLE, __pmd(link));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*TABLE), 0);
	set_pte((pte_t *)last, mk_pte(page, PAGE_KERNEL_RO));
	set_pmd((pmd_t *)TABLE, __pmd(link));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*TABLE), link);
	set_pte((pte_t *)last, __pte(0));
	set_pmd((pmd_t *)TABLE, __pmd(0));
	kpkeys_test_set_frame(TABLE, frame);
	kpkeys_ptp_free(virt_to_page(last), 0);
}

static void test_kernel_takes_no_page_of_user_space(struct kunit *test)
{
	expect_not_linked(test, PAGE_READONLY);
}

/* It may go on to map what is for the kernel alone. */
static void test_table_of_the_kernel_is_for_no_process(struct kunit *test)
{
	u64 link = TABLE_BITS | __pa(TABLE), *top;

	KPKEYS_TEST_REQUIRES(test, level_below_root() >= KPKEYS_LEVEL_PUD);
	top = new_table(test);
	kpkeys_test_set_frame(top, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PUD,
						       KPKEYS_LINK_ONE));
	set_pud((pud_t *)top, __pud(link));
	set_pud((pud_t *)top, __pud(0));
	KUNIT_EXPECT_EQ(test, kind(TABLE), KPKEYS_FRAME_KERNEL_TABLE);
	kpkeys_test_set_frame(top, KPKEYS_TABLE(KPKEYS_LEVEL_PUD, KPKEYS_LINK_ONE));
	set_pud((pud_t *)top, __pud(link));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*top), 0);
	kpkeys_test_set_frame(top, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PUD,
						       KPKEYS_LINK_ONE));
	set_pud((pud_t *)top, __pud(link));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*top), link);
	set_pud((pud_t *)top, __pud(0));
	kpkeys_test_set_frame(top, KPKEYS_TABLE(KPKEYS_LEVEL_PUD, KPKEYS_LINK_NONE));
	kpkeys_ptp_free(virt_to_page(top), 0);
}

#ifdef CONFIG_X86

/* The entries above would be the kernel's, and so would be what user space runs. */
static void test_kernel_runs_no_table_of_a_process(struct kunit *test)
{
	expect_not_linked(test, PAGE_READONLY_EXEC);
}

/* It takes the place of no block that was run. */
static void test_kernel_runs_no_table_that_was_filled(struct kunit *test)
{
	u64 *last = new_table(test);
	u8 frame;

	frame = kpkeys_test_set_frame(TABLE, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PMD,
								 KPKEYS_LINK_ONE));
	kpkeys_begin_table(last, KPKEYS_LEVEL_PTE);
	kpkeys_fill_table((pte_t *)last, mk_pte(ZERO_PAGE(0), PAGE_KERNEL_EXEC));
	KUNIT_EXPECT_NE(test, READ_ONCE(*last), 0);
	set_pmd((pmd_t *)TABLE, __pmd(TABLE_BITS | __pa(last)));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*TABLE), 0);
	scoped_guard(kpkeys_hardened_pgtables)
		memset(last, 0, PAGE_SIZE);
	kpkeys_test_set_frame(TABLE, frame);
	kpkeys_ptp_free(virt_to_page(last), 0);
}

static void test_links_of_processes_are_for_user_space(struct kunit *test)
{
	u64 *last = new_table(test);
	u8 frame;

	frame = kpkeys_test_set_frame(TABLE, KPKEYS_TABLE(KPKEYS_LEVEL_PMD, KPKEYS_LINK_ONE));
	set_pmd((pmd_t *)TABLE, __pmd(_KERNPG_TABLE | __pa(last)));
	KUNIT_EXPECT_EQ(test, TABLE[0], 0);
	set_pmd((pmd_t *)TABLE, __pmd(_PAGE_TABLE | __pa(last)));
	KUNIT_EXPECT_NE(test, TABLE[0], 0);
	set_pmd((pmd_t *)TABLE, __pmd(0));
	kpkeys_test_set_frame(TABLE, frame);
	kpkeys_ptp_free(virt_to_page(last), 0);
}

#endif

/* What was given back has an address there still, where there may be another page. */
static void test_image_is_looked_up(struct kunit *test)
{
	unsigned long addr = (unsigned long)_text;

	KUNIT_EXPECT_EQ(test, kpkeys_table_of(swapper_pg_dir),
			PHYS_PFN(__pa_symbol(swapper_pg_dir)));
	while (addr < (unsigned long)_end && arch_kpkeys_phys(addr))
		addr += PAGE_SIZE;
	if (addr >= (unsigned long)_end)
		kunit_skip(test, "all of the image is mapped");
	KUNIT_EXPECT_EQ(test, kpkeys_table_of((void *)addr), ULONG_MAX);
}

static struct kunit_case addresses_cases[] = {
	KUNIT_CASE(test_mapping_is_not_cleared),
	KUNIT_CASE(test_mapping_is_not_replaced),
	KUNIT_CASE(test_sections_leave_mappings),
	KUNIT_CASE(test_sections_want_tables_of_the_kernel),
	KUNIT_CASE(test_kernel_runs_no_other_page),
	KUNIT_CASE(test_entries_are_whole),
	KUNIT_CASE(test_links_are_whole),
	KUNIT_CASE(test_pages_are_whole),
	KUNIT_CASE(test_keyed_pages_stay_where_they_are),
	KUNIT_CASE(test_constants_stay_where_they_are),
	KUNIT_CASE(test_user_space_has_no_page_of_the_kernel),
	KUNIT_CASE(test_vmalloc_gives_user_space_no_page),
	KUNIT_CASE(test_tables_to_come_are_private),
	KUNIT_CASE(test_kernel_takes_no_page_of_user_space),
	KUNIT_CASE(test_kernel_entries_are_not_taken),
	KUNIT_CASE(test_other_memory_is_unmapped),
	KUNIT_CASE(test_table_is_not_unlinked),
	KUNIT_CASE(test_split_says_the_same),
	KUNIT_CASE(test_tables_of_the_kernel_are_known),
	KUNIT_CASE(test_table_of_the_kernel_is_for_no_process),
#ifdef CONFIG_X86
	KUNIT_CASE(test_kernel_runs_no_table_of_a_process),
	KUNIT_CASE(test_kernel_runs_no_table_that_was_filled),
	KUNIT_CASE(test_links_of_processes_are_for_user_space),
#endif
	KUNIT_CASE(test_image_is_looked_up),
	{}
};

static struct kunit_suite addresses_suite = {
	.name = "kpkeys-addresses",
	.init = addresses_test_init,
	.exit = addresses_test_exit,
	.test_cases = addresses_cases,
};

kunit_test_suite(addresses_suite);
