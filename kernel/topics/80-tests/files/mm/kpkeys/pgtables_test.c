// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: page tables and the checker. */
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_test.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/fixmap.h>
#include <asm/kpkeys_mm.h>
#include <asm/pgalloc.h>
#include <asm/setup.h>

#include <trace/events/printk.h>

#include "check.h"
#include "internal.h"
#include "tables.h"

static void test_checker(struct kunit *test)
{
	kpkeys_test_expect_clean(test);
}

/* The checker must see a table that lost its key. */
static void test_checker_sees_unkeyed(struct kunit *test)
{
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check),
						   GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, check);
	KUNIT_ASSERT_EQ(test, 0, kpkeys_test_key(lm_alias(init_mm.pgd),
						 KPKEYS_PKEY_DEFAULT, true));
	kpkeys_check(check);
	KUNIT_EXPECT_EQ(test, 0, kpkeys_test_key(lm_alias(init_mm.pgd),
						 KPKEYS_PKEY_PGTABLES, true));
	KUNIT_EXPECT_FALSE(test, check->ok);
	KUNIT_EXPECT_GT(test, check->ptp_unkeyed, 0);
}

static void test_set_ptes_is_one_section(struct kunit *test)
{
	pte_t *table = page_address(kpkeys_test_ptp), pte = pfn_pte(1, PAGE_KERNEL);
	unsigned long before, used, flags, published;
	pmd_t pmd = __pmd(0);

	/* From here on it is known to be a table of PTEs. */
	pmd_populate_kernel(&init_mm, &pmd, table);
	local_irq_save(flags);
	before = kpkeys_test_writes();
	published = kpkeys_test_publishes();
	set_ptes(&init_mm, 0, table, pte, 16);
	used = kpkeys_test_writes() - before;
	published = kpkeys_test_publishes() - published;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, used, 2);
	KUNIT_EXPECT_EQ(test, published, ARCH_KPKEYS_PUBLISHES);
	KUNIT_EXPECT_EQ(test, pte_pfn(table[15]), 16);
	set_pmd(&pmd, __pmd(0));
}

/* What a task switch closes must be seen by table walks even so. */
static void test_switch_publishes(struct kunit *test)
{
	pte_t *table = page_address(kpkeys_test_ptp);
	unsigned long published, flags;

	local_irq_save(flags);
	published = kpkeys_test_publishes();
	__kpkeys_open_section(2);
	set_pte(table, pfn_pte(1, PAGE_KERNEL));
	__kpkeys_close_for_switch();
	preempt_enable_notrace();
	published = kpkeys_test_publishes() - published;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, published, ARCH_KPKEYS_PUBLISHES);
}

#define MAPPED	64

/* Writes of one vm_map_ram() and one vm_unmap_ram(); other things add to them. */
static unsigned long writes_to_map(struct kunit *test, struct page **pages)
{
	unsigned long before;
	void *addr;

	migrate_disable();
	before = kpkeys_test_writes();
	addr = vm_map_ram(pages, MAPPED, NUMA_NO_NODE);
	if (addr)
		vm_unmap_ram(addr, MAPPED);
	before = kpkeys_test_writes() - before;
	migrate_enable();
	KUNIT_EXPECT_NOT_NULL(test, addr);
	return before;
}

static void test_vm_map_ram_is_one_section(struct kunit *test)
{
	unsigned long least = ULONG_MAX;
	struct page *pages[MAPPED];
	int i;

	for (i = 0; i < MAPPED; i++)
		pages[i] = ZERO_PAGE(0);
	for (i = 0; i < 8; i++)
		least = min(least, writes_to_map(test, pages));
	KUNIT_EXPECT_LE(test, least, 8);
}

static void test_huge_vmap_frees_tables(struct kunit *test)
{
	pte_t *pte = pte_alloc_one_kernel(&init_mm);
	unsigned long used;
	pmd_t pmd;

	KUNIT_ASSERT_NOT_NULL(test, pte);
	used = kpkeys_pool_nr_used();
	pmd_populate_kernel(&init_mm, &pmd, pte);
	KUNIT_EXPECT_EQ(test, 1, pmd_free_pte_page(&pmd, VMALLOC_START));
	KUNIT_EXPECT_LT(test, kpkeys_pool_nr_used(), used);
	kpkeys_test_expect_clean(test);
}

#ifdef CONFIG_X86_64
/* By a block of the level above: tables go from below. */
static void test_huge_vmap_frees_tables_below(struct kunit *test)
{
	pte_t *pte = pte_alloc_one_kernel(&init_mm);
	pmd_t *pmd = pmd_alloc_one(&init_mm, VMALLOC_START);
	unsigned long used;
	pud_t pud;

	KUNIT_ASSERT_NOT_NULL(test, pte);
	KUNIT_ASSERT_NOT_NULL(test, pmd);
	used = kpkeys_pool_nr_used();
	pmd_populate_kernel(&init_mm, &pmd[1], pte);
	pud_populate(&init_mm, &pud, pmd);
	KUNIT_EXPECT_EQ(test, 1, pud_free_pmd_page(&pud, VMALLOC_START));
	KUNIT_EXPECT_LE(test, kpkeys_pool_nr_used(), used - 2);
	kpkeys_test_expect_clean(test);
}

static void expect_aliases(struct kunit *test, unsigned long nr)
{
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check),
						   GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, check);
	kpkeys_check(check);
	KUNIT_EXPECT_EQ(test, check->ok, !nr);
	KUNIT_EXPECT_EQ(test, check->aliased, nr);
}

static void test_checker_sees_alias(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kpkeys_test_key(swapper_pg_dir,
						 KPKEYS_PKEY_DEFAULT, false));
	expect_aliases(test, 1);
	KUNIT_EXPECT_EQ(test, 0, kpkeys_test_key(swapper_pg_dir,
						 KPKEYS_PKEY_PGTABLES, false));
	expect_aliases(test, 0);
}

/* What is behind the brk is the page allocator's; it must not be mapped again. */
static void test_checker_sees_freed_image(struct kunit *test)
{
	pgprot_t present = __pgprot(_PAGE_PRESENT | _PAGE_NX), none = __pgprot(0);
	unsigned long addr = PAGE_ALIGN(_brk_end);

	KPKEYS_TEST_REQUIRES(test, !IS_ALIGNED(addr, PMD_SIZE));
	KUNIT_EXPECT_LT(test, arch_kpkeys_addr_pkey(addr), 0);
	KUNIT_ASSERT_EQ(test, 0, kpkeys_set_memory(addr, 1, present, none, false));
	expect_aliases(test, 1);
	KUNIT_EXPECT_EQ(test, 0, kpkeys_set_memory(addr, 1, none, present, false));
	kpkeys_flush();
	expect_aliases(test, 0);
}

/* Far below the fixmap nothing is mapped, so this takes a new table. */
static void test_single_entry_takes_table(struct kunit *test)
{
	unsigned long addr = FIXADDR_TOT_START - 2 * PMD_SIZE;
	unsigned long pfn;

	set_pte_vaddr(addr, __pte(0));
	pfn = kpkeys_table_pfn(pmd_val(*pmd_off_k(addr)));
	KUNIT_EXPECT_EQ(test, kpkeys_table_level(pfn), KPKEYS_LEVEL_PTE);
	kpkeys_test_expect_clean(test);
}
#endif

#ifdef CONFIG_ARM64
/* Tables are written through it, and other CPUs see it. */
static void test_fixmap_slot_is_keyed(struct kunit *test)
{
	phys_addr_t phys = page_to_phys(kpkeys_test_ptp);
	unsigned long slot = set_fixmap_offset(FIX_PTE, phys);

	KUNIT_EXPECT_EQ(test, arch_kpkeys_phys(slot), phys);
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey(slot),
			KPKEYS_PKEY_PGTABLES);
	clear_fixmap(FIX_PTE);
}
#endif

/* ---- reports: rate-limited, so that a test may have to wait ---- */

#define REPORT_TRIES	40

/* Nobody's: looked for to the end. */
static unsigned long searched_at_once(void)
{
	unsigned long before;

	guard(irqsave)();
	before = raw_cpu_read(kpkeys_counters.searched);
	kpkeys_test_store();
	return raw_cpu_read(kpkeys_counters.searched) - before;
}

static void test_report_is_bounded(struct kunit *test)
{
	unsigned long searched = 0;
	int i;

	for (i = 0; i < REPORT_TRIES && !searched; i++) {
		searched = searched_at_once();
		msleep(200);
	}
	KUNIT_EXPECT_GT(test, searched, 0);
	KUNIT_EXPECT_LE(test, searched, KPKEYS_SEARCH_AT_ONCE);
}

struct heard {
	unsigned int	entry;
	unsigned int	report;	/* its number */
	bool		named;
};

/* Two lines that belong together, the second maybe from a work item. */
static void hear(void *data, const char *text, size_t len)
{
	struct heard *heard = data;
	unsigned int report, entry;
	char line[256], *number;

	strscpy(line, text, min(len + 1, sizeof(line)));
	number = strstr(line, ", report ");
	if (number && strstr(line, "violation: write to page table at"))
		sscanf(number, ", report %u", &heard->report);
	else if (sscanf(line, "kpkeys:   report %u: level PTE, owner kernel, entry %u",
			&report, &entry) == 2 &&
		 report == heard->report && entry == heard->entry)
		WRITE_ONCE(heard->named, true);
}

static void store_until_heard(pte_t *pte, struct heard *heard)
{
	int i;

	for (i = 0; i < REPORT_TRIES && !READ_ONCE(heard->named); i++) {
		copy_to_kernel_nofault(pte, pte, sizeof(*pte));
		msleep(200);
	}
}

/* Behind more tables than the handler looks at. */
static pte_t *make_far_table(struct vm_struct *area, unsigned long size)
{
	unsigned long addr = (unsigned long)area->addr;

	if (apply_to_page_range(&init_mm, addr, size, NULL, NULL))
		return NULL;
	return virt_to_kpte(addr + size - PAGE_SIZE);
}

static void test_report_names_table(struct kunit *test)
{
	unsigned long size = (KPKEYS_SEARCH_AT_ONCE + 2) * PMD_SIZE;
	struct vm_struct *area = get_vm_area(size, VM_MAP);
	struct heard heard = {};
	pte_t *pte;

	KUNIT_ASSERT_NOT_NULL(test, area);
	pte = make_far_table(area, size);
	heard.entry = offset_in_page(pte) / sizeof(*pte);
	if (pte && !register_trace_console(hear, &heard)) {
		store_until_heard(pte, &heard);
		unregister_trace_console(hear, &heard);
		tracepoint_synchronize_unregister();
	}
	free_vm_area(area);
	KUNIT_EXPECT_TRUE(test, heard.named);
}

#ifdef ptep_try_set
/* As BPF's arenas have it set, in handlers of faults, too. */
static void test_empty_entry_is_set_once(struct kunit *test)
{
	void *page = vmalloc(PAGE_SIZE);
	pte_t *ptep, pte;

	KUNIT_ASSERT_NOT_NULL(test, page);
	ptep = (pte_t *)kpkeys_test_entry(page);
	pte = ptep_get_and_clear(&init_mm, (unsigned long)page, ptep);
	KUNIT_EXPECT_TRUE(test, ptep_try_set(ptep, pte));
	KUNIT_EXPECT_FALSE(test, ptep_try_set(ptep, pte));
	KUNIT_EXPECT_EQ(test, pte_pfn(ptep_get(ptep)), pte_pfn(pte));
	vfree(page);
}

/* Who tries until it is set would try for ever. */
static void test_refused_entry_is_not_tried_again(struct kunit *test)
{
	void *page = vmalloc(PAGE_SIZE);
	pte_t *ptep, pte;

	KUNIT_ASSERT_NOT_NULL(test, page);
	ptep = (pte_t *)kpkeys_test_entry(page);
	pte = ptep_get_and_clear(&init_mm, (unsigned long)page, ptep);
	KUNIT_EXPECT_TRUE(test, ptep_try_set(ptep, mk_pte(virt_to_page(ptep), PAGE_KERNEL)));
	KUNIT_EXPECT_TRUE(test, pte_none(ptep_get(ptep)));
	set_pte_at(&init_mm, (unsigned long)page, ptep, pte);
	vfree(page);
}
#endif

static struct kunit_case pgtables_cases[] = {
	KUNIT_CASE(test_checker),
	KUNIT_CASE(test_checker_sees_unkeyed),
	KUNIT_CASE(test_set_ptes_is_one_section),
	KUNIT_CASE(test_switch_publishes),
	KUNIT_CASE(test_vm_map_ram_is_one_section),
	KUNIT_CASE(test_huge_vmap_frees_tables),
	KUNIT_CASE(test_report_is_bounded),
	KUNIT_CASE(test_report_names_table),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_huge_vmap_frees_tables_below),
	KUNIT_CASE(test_checker_sees_alias),
	KUNIT_CASE(test_checker_sees_freed_image),
	KUNIT_CASE(test_single_entry_takes_table),
#endif
#ifdef CONFIG_ARM64
	KUNIT_CASE(test_fixmap_slot_is_keyed),
#endif
#ifdef ptep_try_set
	KUNIT_CASE(test_empty_entry_is_set_once),
	KUNIT_CASE(test_refused_entry_is_not_tried_again),
#endif
	{}
};

static struct kunit_suite pgtables_suite = {
	.name = "kpkeys-pgtables",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = pgtables_cases,
};

kunit_test_suite(pgtables_suite);
