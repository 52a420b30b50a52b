// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: page tables and the checker. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <asm/fixmap.h>
#include <asm/pgalloc.h>

#include "check.h"
#include "kpkeys_test.h"

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
	KUNIT_ASSERT_EQ(test, 0, kpkeys_set_pkey(lm_alias(init_mm.pgd), 1,
						 KPKEYS_PKEY_DEFAULT, true));
	kpkeys_check(check);
	KUNIT_EXPECT_EQ(test, 0, kpkeys_set_pkey(lm_alias(init_mm.pgd), 1,
						 KPKEYS_PKEY_PGTABLES, true));
	KUNIT_EXPECT_FALSE(test, check->ok);
	KUNIT_EXPECT_GT(test, check->ptp_unkeyed, 0);
}

static void test_set_ptes_is_one_section(struct kunit *test)
{
	pte_t *table = page_address(kpkeys_test_ptp), pte = pfn_pte(1, PAGE_KERNEL);
	unsigned long before, used, flags, published;

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
}

/* What a task switch closes must be seen by table walks even so. */
static void test_switch_publishes(struct kunit *test)
{
	pte_t *table = page_address(kpkeys_test_ptp);
	unsigned long published, flags;

	local_irq_save(flags);
	published = kpkeys_test_publishes();
	arch_enter_lazy_mmu_mode();
	set_pte(table, pfn_pte(1, PAGE_KERNEL));
	__kpkeys_close_for_switch();
	published = kpkeys_test_publishes() - published;
	arch_leave_lazy_mmu_mode();
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
/* Far below the fixmap nothing is mapped, so this takes a new table. */
static void test_single_entry_takes_table(struct kunit *test)
{
	unsigned long addr = FIXADDR_TOT_START - 2 * PMD_SIZE;
	unsigned long used = kpkeys_pool_nr_used();

	set_pte_vaddr(addr, __pte(0));
	KUNIT_EXPECT_GT(test, kpkeys_pool_nr_used(), used);
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

static struct kunit_case pgtables_cases[] = {
	KUNIT_CASE(test_checker),
	KUNIT_CASE(test_checker_sees_unkeyed),
	KUNIT_CASE(test_set_ptes_is_one_section),
	KUNIT_CASE(test_switch_publishes),
	KUNIT_CASE(test_vm_map_ram_is_one_section),
	KUNIT_CASE(test_huge_vmap_frees_tables),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_single_entry_takes_table),
#endif
#ifdef CONFIG_ARM64
	KUNIT_CASE(test_fixmap_slot_is_keyed),
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
