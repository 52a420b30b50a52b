// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: pages become memory of the pool when nothing maps them. What
 * does is put into a table as an attacker's mapping would be there already.
 */
#include <linux/irq_work.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

#include <asm/kpkeys_mm.h>
#include <asm/pgalloc.h>

#include <trace/events/kpkeys.h>

#include "arrivals.h"
#include "depot.h"

#define ORDER	3
#define NR	(1U << ORDER)

static struct page *new_block(struct kunit *test)
{
	void *addr = kpkeys_block_alloc(NUMA_NO_NODE, GFP_KERNEL, ORDER);

	KUNIT_ASSERT_NOT_NULL(test, addr);
	return virt_to_page(addr);
}

static void key(struct kunit *test, void *addr)
{
	KUNIT_ASSERT_EQ(test, kpkeys_block_key(addr, ORDER, KPKEYS_PKEY_PGTABLES), 0);
}

static int add(void *addr, unsigned int parts)
{
	unsigned int i, nr = NR / parts;
	int ret = 0;

	for (i = 0; i < parts && !ret; i++)
		ret = kpkeys_arrivals_add(addr + i * nr * PAGE_SIZE, nr,
					  KPKEYS_PKEY_PGTABLES);
	return ret;
}

static int search(void *addr, unsigned int parts)
{
	int ret;

	do {
		kpkeys_arrivals_end();
		kpkeys_flush();
		kpkeys_arrivals_begin();
		ret = add(addr, parts);
	} while (ret == -EAGAIN);
	kpkeys_arrivals_search();
	return ret;
}

/* Returns whether they may be used. */
static bool arrives(void *addr)
{
	bool arrived;

	kpkeys_arrivals_begin();
	arrived = !search(addr, 1) && kpkeys_has_arrived(addr, NR);
	kpkeys_arrivals_end();
	return arrived;
}

static void test_unmapped_pages_arrive(struct kunit *test)
{
	void *addr = page_address(new_block(test));
	unsigned long before = kpkeys_test_violations();
	s64 asked;

	key(test, addr);
	asked = kpkeys_nr_keyings();
	KUNIT_EXPECT_TRUE(test, arrives(addr));
	KUNIT_EXPECT_GT(test, kpkeys_nr_keyings(), asked);
	KUNIT_EXPECT_TRUE(test, kpkeys_has_arrived(addr, 1));
	KUNIT_EXPECT_FALSE(test, kpkeys_has_arrived(addr, NR + 1));
	KUNIT_EXPECT_FALSE(test, kpkeys_has_arrived(page_address(kpkeys_test_ptp), 1));
	kpkeys_arrivals_begin();
	kpkeys_arrivals_end();
	KUNIT_EXPECT_FALSE(test, kpkeys_has_arrived(addr, 1));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
	kpkeys_block_free(addr, NR);
}

static pte_t *direct_entry(struct kunit *test, void *addr)
{
	struct kpkeys_leaf leaf;

	KUNIT_ASSERT_TRUE(test, arch_kpkeys_leaf((unsigned long)addr, &leaf));
	KUNIT_ASSERT_EQ(test, leaf.size, PAGE_SIZE);
	return __va(leaf.entry);
}

/* As a forged mapping of the process makes UFFDIO_MOVE do it. */
static void exchange(struct kunit *test, void *addr)
{
	pte_t *a = direct_entry(test, addr), *b = direct_entry(test, addr + PAGE_SIZE);
	pte_t first = ptep_get(a), second = ptep_get(b);

	scoped_guard(kpkeys_hardened_pgtables) {
		WRITE_ONCE(*a, second);
		WRITE_ONCE(*b, first);
	}
	flush_tlb_kernel_range((unsigned long)addr, (unsigned long)addr + 2 * PAGE_SIZE);
}

/* The kernel would write the one, and CPUs would walk the other. */
static void test_moved_pages_do_not_arrive(struct kunit *test)
{
	void *addr = page_address(new_block(test)), *moved = addr + PAGE_SIZE;

	key(test, addr);
	KUNIT_ASSERT_EQ(test, kpkeys_set_pkey(addr, NR, KPKEYS_PKEY_DEFAULT, false), 0);
	exchange(test, moved);
	key(test, addr);
	KUNIT_EXPECT_FALSE(test, arrives(addr));
	exchange(test, moved);
	KUNIT_EXPECT_TRUE(test, arrives(addr));
	kpkeys_block_free(addr, NR);
}

/* A CPU may know a mapping that went before the search came by. */
static void test_pages_arrive_behind_a_flush(struct kunit *test)
{
	void *addr = page_address(new_block(test));
	unsigned long flushes;

	key(test, addr);
	flushes = atomic_long_read(&kpkeys_events.key_tlb_flushes);
	KUNIT_EXPECT_TRUE(test, arrives(addr));
	flushes = atomic_long_read(&kpkeys_events.key_tlb_flushes) - flushes;
	KUNIT_EXPECT_GE(test, flushes, 2);
	scoped_guard(kpkeys_hardened_pgtables)
		kpkeys_state.arrivals.keyed = kpkeys_nr_keyings() + 1;
	KUNIT_EXPECT_FALSE(test, kpkeys_has_arrived(addr, 1));
	kpkeys_arrivals_begin();
	kpkeys_arrivals_end();
	kpkeys_block_free(addr, NR);
}

static void ask_since(s64 nr)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_state.arrivals.since = nr;
}

/* As if another one, who holds the same lock, had added them behind the asking. */
static void test_search_waits_for_later_sections(struct kunit *test)
{
	void *addr = page_address(new_block(test));
	s64 since;

	key(test, addr);
	kpkeys_arrivals_begin();
	kpkeys_flush();
	KUNIT_ASSERT_EQ(test, add(addr, 1), 0);
	since = kpkeys_state.arrivals.since;
	ask_since(S64_MAX);
	kpkeys_arrivals_search();
	KUNIT_EXPECT_FALSE(test, kpkeys_has_arrived(addr, NR));
	ask_since(since);
	kpkeys_arrivals_search();
	KUNIT_EXPECT_TRUE(test, kpkeys_has_arrived(addr, NR));
	kpkeys_arrivals_end();
	kpkeys_block_free(addr, NR);
}

static void test_mapped_page_does_not_arrive(struct kunit *test)
{
	struct page *block = new_block(test), *last = block + NR - 1;
	void *alias = vmap(&last, 1, VM_MAP, PAGE_KERNEL);
	unsigned long before = kpkeys_test_violations();

	KUNIT_ASSERT_NOT_NULL(test, alias);
	key(test, page_address(block));
	KUNIT_EXPECT_FALSE(test, arrives(page_address(block)));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	vunmap(alias);
	KUNIT_EXPECT_TRUE(test, arrives(page_address(block)));
	kpkeys_block_free(page_address(block), NR);
}

/* At another address it would be no page of the pool. Its key keeps it mapped there. */
static void test_page_with_its_key_does_not_arrive(struct kunit *test)
{
	pgprot_t keyed = kpkeys_test_prot(PAGE_KERNEL, KPKEYS_PKEY_PGTABLES);
	struct page *block = new_block(test), *last = block + NR - 1;
	void *alias = vmap(&last, 1, VM_MAP, keyed);

	KUNIT_ASSERT_NOT_NULL(test, alias);
	key(test, page_address(block));
	KUNIT_EXPECT_FALSE(test, arrives(page_address(block)));
	kpkeys_block_free(page_address(block), NR);
	vunmap(alias);
}

#ifdef CONFIG_ARM64
/* A CPU may take the entry of one page for all of a contiguous run. */
static void test_page_of_a_run_does_not_arrive(struct kunit *test)
{
	struct page *block = new_block(test), *page = alloc_page(GFP_KERNEL);
	pte_t beside = pte_mkcont(pfn_pte(page_to_pfn(block) ^ NR, PAGE_KERNEL));
	void *alias = vmap(&page, 1, VM_MAP, PAGE_KERNEL);
	u64 *entry, was;

	KUNIT_ASSERT_NOT_NULL(test, alias);
	entry = kpkeys_test_entry(alias);
	was = *entry;
	key(test, page_address(block));
	kpkeys_test_plant(entry, pte_val(beside));
	KUNIT_EXPECT_FALSE(test, arrives(page_address(block)));
	kpkeys_test_plant(entry, was);
	KUNIT_EXPECT_TRUE(test, arrives(page_address(block)));
	kpkeys_block_free(page_address(block), NR);
	vunmap(alias);
	__free_page(page);
}
#endif

static void plant_large(pmd_t *entry, void *addr)
{
	unsigned long pfn = PHYS_PFN(__pa(addr)) & ~(PTRS_PER_PTE - 1UL);

	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*entry, pmd_mkhuge(pfn_pmd(pfn, PAGE_KERNEL)));
}

static void test_all_below_an_entry_are_mapped(struct kunit *test)
{
	void *addr = page_address(new_block(test)), *half = addr + NR / 2 * PAGE_SIZE;
	pud_t pud = __pud(0);
	pmd_t *table = kpkeys_test_new_pmds(test, &pud);

	key(test, addr);
	plant_large(table, addr);
	kpkeys_arrivals_begin();
	KUNIT_EXPECT_EQ(test, search(addr, 2), 0);
	KUNIT_EXPECT_FALSE(test, kpkeys_has_arrived(addr, NR / 2));
	KUNIT_EXPECT_FALSE(test, kpkeys_has_arrived(half, NR / 2));
	kpkeys_arrivals_end();
	kpkeys_test_plant((u64 *)table, 0);
	kpkeys_test_free_pmds(table, &pud);
	KUNIT_EXPECT_TRUE(test, arrives(addr));
	kpkeys_block_free(addr, NR);
}

/* Without its key it does not either. */
static void test_ordinary_page_does_not_arrive(struct kunit *test)
{
	void *addr = page_address(new_block(test));

	KUNIT_EXPECT_FALSE(test, arrives(addr));
	kpkeys_block_free(addr, NR);
}

/* What is there in the table of frames' root would be cleared, as a new chunk is. */
static void test_state_in_use_does_not_arrive(struct kunit *test)
{
	int ret;

	kpkeys_arrivals_begin();
	do {
		kpkeys_arrivals_end();
		kpkeys_flush();
		kpkeys_arrivals_begin();
		ret = kpkeys_arrivals_add(kpkeys_frames.page, 1, KPKEYS_PKEY_STATE);
	} while (ret == -EAGAIN);
	kpkeys_arrivals_end();
	KUNIT_EXPECT_EQ(test, ret, -EEXIST);
}

static bool use(void *addr, unsigned int nr)
{
	guard(kpkeys_hardened_pgtables)();
	return kpkeys_use_arrival(addr, nr, KPKEYS_PKEY_PGTABLES);
}

static void test_arrival_is_used_once(struct kunit *test)
{
	void *addr = page_address(new_block(test));
	bool first, again, rest;

	key(test, addr);
	kpkeys_arrivals_begin();
	KUNIT_EXPECT_EQ(test, search(addr, 1), 0);
	first = use(addr, 2);
	again = use(addr + PAGE_SIZE, 2);
	rest = use(addr + 2 * PAGE_SIZE, NR - 2);
	kpkeys_arrivals_end();
	KUNIT_EXPECT_TRUE(test, first);
	KUNIT_EXPECT_FALSE(test, again);
	KUNIT_EXPECT_TRUE(test, rest);
	kpkeys_block_free(addr, NR);
}

/* ---- while the pool grows ---- */

static struct task_struct *tester;
static pte_t *planted;
static unsigned long nr_planted;

static void plant(void *data, const void *addr, unsigned int nr, int pkey, int ret)
{
	if (current != tester || pkey != KPKEYS_PKEY_PGTABLES)
		return;
	nr_planted += nr;
	guard(kpkeys_hardened_pgtables)();
	if (nr_planted == nr)
		WRITE_ONCE(*planted, pfn_pte(PHYS_PFN(__pa(addr)) + nr - 1, PAGE_KERNEL));
}

static void grow_with_mapping(struct kunit *test, void *alias)
{
	pte_t was;

	planted = virt_to_kpte((unsigned long)alias);
	was = ptep_get(planted);
	nr_planted = 0;
	tester = current;
	KPKEYS_TEST_REQUIRES(test, !register_trace_kpkeys_key(plant, NULL));
	kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL);
	unregister_trace_kpkeys_key(plant, NULL);
	tracepoint_synchronize_unregister();
	scoped_guard(kpkeys_hardened_pgtables)
		WRITE_ONCE(*planted, was);
}

static void test_pool_takes_no_mapped_block(struct kunit *test)
{
	unsigned long lost = kpkeys_state.lost_pages, before = kpkeys_test_violations();
	struct page *page = alloc_page(GFP_KERNEL);
	void *alias;

	KUNIT_ASSERT_NOT_NULL(test, page);
	alias = vmap(&page, 1, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, alias);
	grow_with_mapping(test, alias);
	vunmap(alias);
	__free_page(page);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_GT(test, kpkeys_state.lost_pages, lost);
	kpkeys_test_expect_clean(test);
}

static void test_growth_finds_nothing(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();

	KUNIT_EXPECT_GE(test, kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
	kpkeys_test_expect_clean(test);
}

/* Small nodes keep nothing. */
static void test_what_is_kept_stays(struct kunit *test)
{
	unsigned long kept = 0;
	int nid;

	kpkeys_depot_shrink(ULONG_MAX);
	for_each_node_state(nid, N_MEMORY) {
		KUNIT_EXPECT_GE(test, node_of(nid)->nr_owned, node_of(nid)->nr_kept);
		kept += node_of(nid)->nr_kept;
	}
	KUNIT_EXPECT_GT(test, kept, 0);
	kpkeys_test_expect_clean(test);
}

static void say_flushed(struct irq_work *work)
{
	kpkeys_flush_cpu(NULL);
}

static DEFINE_IRQ_WORK(forget_work, say_flushed);

/* What it looked at is what it still writes. */
static bool is_late_in_section(void)
{
	guard(kpkeys_hardened_pgtables)();
	atomic64_inc(&kpkeys_state.keyings);
	irq_work_queue(&forget_work);
	while (irq_work_is_busy(&forget_work))
		cpu_relax();
	return !kpkeys_in_force();
}

static void test_section_is_waited_for(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kpkeys_ask_cpus());
	KUNIT_EXPECT_TRUE(test, is_late_in_section());
	KUNIT_EXPECT_TRUE(test, kpkeys_flush());
	KUNIT_EXPECT_TRUE(test, kpkeys_in_force());
}

static int retype_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	return kpkeys_test_init(test);
}

static struct kunit_case retype_cases[] = {
	KUNIT_CASE(test_unmapped_pages_arrive),
	KUNIT_CASE(test_moved_pages_do_not_arrive),
	KUNIT_CASE(test_pages_arrive_behind_a_flush),
	KUNIT_CASE(test_search_waits_for_later_sections),
	KUNIT_CASE(test_mapped_page_does_not_arrive),
	KUNIT_CASE(test_page_with_its_key_does_not_arrive),
	KUNIT_CASE(test_all_below_an_entry_are_mapped),
#ifdef CONFIG_ARM64
	KUNIT_CASE(test_page_of_a_run_does_not_arrive),
#endif
	KUNIT_CASE(test_ordinary_page_does_not_arrive),
	KUNIT_CASE(test_state_in_use_does_not_arrive),
	KUNIT_CASE(test_arrival_is_used_once),
	KUNIT_CASE(test_pool_takes_no_mapped_block),
	KUNIT_CASE(test_growth_finds_nothing),
	KUNIT_CASE(test_what_is_kept_stays),
	KUNIT_CASE(test_section_is_waited_for),
	{}
};

static struct kunit_suite retype_suite = {
	.name = "kpkeys-retype",
	.init = retype_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = retype_cases,
};

kunit_test_suite(retype_suite);
