// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: permissions of single pages of the linear map, whatever it is
 * made of, and what must be true of blocks. And debugfs: kpkeys/protect, which
 * does the same to many MiB.
 */
#include <linux/debugfs.h>
#include <linux/execmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/set_memory.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include <asm/cacheflush.h>
#include <asm/insn.h>
#include <asm/tlbflush.h>

#include <linux/kpkeys_patching.h>
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_test_compat.h>
#include <asm/kpkeys_mm.h>
#include "live_split.h"

#define TRIES		512
#define TEST_ORDER	2
#define TEST_PAGES	BIT(TEST_ORDER)
#define AREA_PAGES	16

static int store(void *addr)
{
	unsigned long value = 0x5a5a;

	return copy_to_kernel_nofault(addr, &value, sizeof(value));
}

static bool is_large(void *addr)
{
	unsigned long size;
	pte_t *ptep = kpkeys_leaf((unsigned long)addr, &size);

	return ptep && (size > PAGE_SIZE || pte_cont(__ptep_get(ptep)));
}

static unsigned long leaf_size(void *addr)
{
	unsigned long size;

	return kpkeys_leaf((unsigned long)addr, &size) ? size : 0;
}

/* Permissions and memory type: what a split must not change. */
static u64 attributes(void *addr)
{
	unsigned long size;
	pte_t *ptep = kpkeys_leaf((unsigned long)addr, &size);

	return pgprot_val(pte_pgprot(__ptep_get(ptep))) &
	       ~(PTE_CONT | PTE_TYPE_MASK);
}

static void free_pages_action(void *page)
{
	__free_pages(page, TEST_ORDER);
}

/* A few pages amid a block or a contiguous range, freed after the test. */
static void *get_large(struct kunit *test)
{
	struct page *page;
	unsigned int i;

	KPKEYS_TEST_REQUIRES(test, live_split_state == LIVE_SPLIT_ON);
	for (i = 0; i < TRIES; i++) {
		page = alloc_pages(GFP_KERNEL, TEST_ORDER);
		KUNIT_ASSERT_NOT_NULL(test, page);
		kunit_add_action_or_reset(test, free_pages_action, page);
		if (is_large(page_address(page)))
			return page_address(page);
	}
	kunit_skip(test, "needs memory that is not split yet");
}

static void set_invalid(struct kunit *test, void *addr, bool invalid)
{
	struct page *page = virt_to_page(addr);
	int ret = invalid ? set_direct_map_invalid_noflush(page) :
			    set_direct_map_default_noflush(page);

	KUNIT_ASSERT_EQ(test, ret, 0);
	flush_tlb_kernel_range((unsigned long)addr,
			       (unsigned long)addr + PAGE_SIZE);
}

static void test_direct_map_of_one_page(struct kunit *test)
{
	void *addr = get_large(test), *page = addr + PAGE_SIZE;
	u64 before = attributes(page);

	set_invalid(test, page, true);
	KUNIT_EXPECT_FALSE(test, kernel_page_present(virt_to_page(page)));
	KUNIT_EXPECT_NE(test, store(page), 0);
	KUNIT_EXPECT_EQ(test, store(addr), 0);
	KUNIT_EXPECT_EQ(test, store(page + PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, attributes(addr), before);
	KUNIT_EXPECT_EQ(test, attributes(page + PAGE_SIZE), before);

	set_invalid(test, page, false);
	KUNIT_EXPECT_TRUE(test, kernel_page_present(virt_to_page(page)));
	KUNIT_EXPECT_EQ(test, store(page), 0);
	KUNIT_EXPECT_EQ(test, attributes(page), before);
	KUNIT_EXPECT_EQ(test, leaf_size(page), PAGE_SIZE);
}

static void test_key_of_one_page(struct kunit *test)
{
	void *addr = get_large(test), *page = addr + PAGE_SIZE;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	/* What it has already needs no split: a failed change must be undone. */
	KUNIT_EXPECT_EQ(test, 0, kpkeys_set_pkey(page, 1, KPKEYS_PKEY_DEFAULT,
						 false));
	KUNIT_EXPECT_TRUE(test, is_large(page));
	KUNIT_ASSERT_EQ(test, 0, kpkeys_set_pkey(page, 1, KPKEYS_PKEY_PGTABLES,
						 false));
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey((unsigned long)page),
			KPKEYS_PKEY_PGTABLES);
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey((unsigned long)addr),
			KPKEYS_PKEY_DEFAULT);
	KUNIT_EXPECT_EQ(test, store(addr), 0);
	KUNIT_EXPECT_EQ(test, store(page + PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, 0, kpkeys_set_pkey(page, 1, KPKEYS_PKEY_DEFAULT,
						 false));
	KUNIT_EXPECT_EQ(test, store(page), 0);
}

static void set_block_key(struct kunit *test, void *block, int pkey)
{
	KUNIT_EXPECT_EQ(test, 0, kpkeys_set_pkey(block, PTRS_PER_PTE, pkey, false));
	KUNIT_EXPECT_EQ(test, leaf_size(block), PMD_SIZE);
}

static void test_keyed_block_stays_one(struct kunit *test)
{
	struct page *page;
	void *block;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	KPKEYS_TEST_REQUIRES(test, live_split_state == LIVE_SPLIT_ON);
	KPKEYS_TEST_REQUIRES(test, KPKEYS_TEST_HUGE_AREAS);
	KPKEYS_TEST_REQUIRES(test, PMD_SIZE <= SZ_2M);
	page = alloc_pages(GFP_KERNEL, PMD_SHIFT - PAGE_SHIFT);
	KUNIT_ASSERT_NOT_NULL(test, page);
	block = page_address(page);
	set_block_key(test, block, KPKEYS_PKEY_PGTABLES);
	set_block_key(test, block, KPKEYS_PKEY_DEFAULT);
	__free_pages(page, PMD_SHIFT - PAGE_SHIFT);
}

static void expect_stores(struct kunit *test, void *area, unsigned int nr,
			  bool work)
{
	unsigned int i;

	for (i = 0; i < nr; i++, area += PAGE_SIZE) {
		void *alias = page_address(vmalloc_to_page(area));

		KUNIT_EXPECT_EQ(test, !store(area), work);
		KUNIT_EXPECT_EQ(test, !store(alias), work);
	}
}

static void test_vmalloc_permissions(struct kunit *test)
{
	void *area = vmalloc(AREA_PAGES * PAGE_SIZE);
	unsigned long addr = (unsigned long)area;

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_EXPECT_EQ(test, set_memory_ro(addr, AREA_PAGES), 0);
	expect_stores(test, area, AREA_PAGES, false);
	KUNIT_EXPECT_EQ(test, set_memory_rw(addr, AREA_PAGES), 0);
	expect_stores(test, area, AREA_PAGES, true);
	vfree(area);
}

static void test_part_of_huge_vmalloc(struct kunit *test)
{
	unsigned long size = 2 * PMD_SIZE;
	void *area, *part;

	KPKEYS_TEST_REQUIRES(test, live_split_state == LIVE_SPLIT_ON);
	KPKEYS_TEST_REQUIRES(test, KPKEYS_TEST_HUGE_AREAS);
	KPKEYS_TEST_REQUIRES(test, PMD_SIZE <= SZ_2M);
	area = vmalloc_huge(size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, area);
	part = area + PMD_SIZE + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, set_memory_ro((unsigned long)part, 1), 0);
	KUNIT_EXPECT_NE(test, store(part), 0);
	KUNIT_EXPECT_EQ(test, store(part - PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, store(part + PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, set_memory_rw((unsigned long)part, 1), 0);
	KUNIT_EXPECT_EQ(test, store(part), 0);
	vfree(area);
}

/* bti c; mov w0, #42; ret */
static const u32 answer[] = { 0xd503245f, 0x52800540, 0xd65f03c0 };

/* What loading a module does to memory, and what unloading it leaves. */
static void test_like_a_module(struct kunit *test)
{
	void *text = execmem_alloc(EXECMEM_MODULE_TEXT, AREA_PAGES * PAGE_SIZE);
	unsigned long addr = (unsigned long)text;
	int (*function)(void) = text;
	void *alias;

	KUNIT_ASSERT_NOT_NULL(test, text);
	alias = page_address(vmalloc_to_page(text));
	memcpy(text, answer, sizeof(answer));
	flush_icache_range(addr, addr + sizeof(answer));
	KUNIT_EXPECT_EQ(test, kpkeys_make_text(addr, AREA_PAGES), 0);
	KUNIT_EXPECT_EQ(test, function(), 42);
	expect_stores(test, text, AREA_PAGES, false);
	execmem_free(text);
	KUNIT_EXPECT_TRUE(test, kernel_page_present(virt_to_page(alias)));
	KUNIT_EXPECT_EQ(test, attributes(alias) & PTE_RDONLY, 0);
}

static void *contended;
static atomic_t contention_errors;

static void contend(struct work_struct *work)
{
	unsigned int i = raw_smp_processor_id() % TEST_PAGES;
	struct page *page = virt_to_page(contended) + i;

	if (set_direct_map_invalid_noflush(page) || kernel_page_present(page) ||
	    set_direct_map_default_noflush(page) || !kernel_page_present(page))
		atomic_inc(&contention_errors);
}

/* Several CPUs want pages of the same block at once. */
static void test_contention(struct kunit *test)
{
	int round;

	KPKEYS_TEST_REQUIRES(test, num_online_cpus() <= TEST_PAGES);
	atomic_set(&contention_errors, 0);
	for (round = 0; round < 8; round++) {
		contended = get_large(test);
		KUNIT_ASSERT_EQ(test, schedule_on_each_cpu(contend), 0);
		flush_tlb_all();
		KUNIT_EXPECT_EQ(test, store(contended), 0);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&contention_errors), 0);
}

static struct kunit_case live_split_cases[] = {
	KUNIT_CASE(test_direct_map_of_one_page),
	KUNIT_CASE(test_key_of_one_page),
	KUNIT_CASE(test_keyed_block_stays_one),
	KUNIT_CASE(test_vmalloc_permissions),
	KUNIT_CASE(test_part_of_huge_vmalloc),
	KUNIT_CASE(test_like_a_module),
	KUNIT_CASE(test_contention),
	{}
};

static struct kunit_suite live_split_suite = {
	.name = "live-split",
	.test_cases = live_split_cases,
};

kunit_test_suite(live_split_suite);

#define SAMPLE	61	/* every such page of a large area */

static int check_stores(void *area, unsigned long nr, bool work)
{
	unsigned long i;

	for (i = 0; i < nr; i += SAMPLE) {
		void *page = area + i * PAGE_SIZE;
		void *alias = page_address(vmalloc_to_page(page));

		if (!store(page) != work || !store(alias) != work)
			return -EIO;
	}
	return 0;
}

static void fail_allocations(bool on)
{
#ifdef CONFIG_FAULT_INJECTION
	current->make_it_fail = on;
#endif
}

static int make_read_only(void *area, unsigned long nr, bool faults)
{
	int ret;

	fail_allocations(faults);
	ret = set_memory_ro((unsigned long)area, nr);
	fail_allocations(false);
	return ret;
}

/* -ENOMEM is an answer of set_memory_ro(), and nothing may have changed then. */
static int protect(u64 mib, bool faults)
{
	unsigned long nr = mib << (20 - PAGE_SHIFT);
	void *area = vmalloc(nr * PAGE_SIZE);
	int ret, changed;

	if (!area)
		return -ENOSPC;
	ret = make_read_only(area, nr, faults);
	changed = check_stores(area, nr, ret) ?:
		  ret ? 0 : set_memory_rw((unsigned long)area, nr) ?:
			    check_stores(area, nr, true);
	vfree(area);
	return changed ?: ret;
}

static int protect_set(void *data, u64 mib)
{
	return protect(mib, false);
}
DEFINE_DEBUGFS_ATTRIBUTE(protect_fops, NULL, protect_set, "%llu\n");

static int protect_faulty_set(void *data, u64 mib)
{
	return protect(mib, true);
}
DEFINE_DEBUGFS_ATTRIBUTE(protect_faulty_fops, NULL, protect_faulty_set,
			 "%llu\n");

static int __init protect_init(void)
{
	struct dentry *dir = debugfs_lookup("kpkeys", NULL);

	debugfs_create_file_unsafe("protect", 0200, dir, NULL, &protect_fops);
	debugfs_create_file_unsafe("protect_faulty", 0200, dir, NULL,
				   &protect_faulty_fops);
	dput(dir);
	return 0;
}
late_initcall_sync(protect_init);
