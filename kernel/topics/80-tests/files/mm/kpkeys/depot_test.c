// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what the depot believes. Each changes what an attacker could,
 * at the moment when he could, and looks at what came of it.
 */
#include <linux/bitmap.h>
#include <linux/cpu.h>
#include <linux/gfp.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_test.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>

#include <trace/events/kpkeys.h>
#include <trace/events/printk.h>

#include "depot.h"

static long errors(void)
{
	return atomic_long_read(&kpkeys_events.freelist_errors);
}

/* One that is lost costs the pool a page, one that is found costs it none. */
static bool is_in_depot(struct page *page)
{
	void *addr = page_address(page);
	struct kpkeys_region *region = kpkeys_find_region(addr);

	return region && test_bit(page_slot(addr), region->free);
}

/* A page that has no key, and no mark either. */
static struct page *bare_page(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return page;
}

/* ---- what is written before the key is there ---- */

static struct task_struct *tester;
static void *keyed;
static unsigned int nr_keyed;

/* As a store would that came before the key: the last page is not free. */
static void forge_header(void *data, const void *addr, unsigned int nr,
			 int pkey, int ret)
{
	struct kpkeys_region *region = (void *)addr;

	if (current != tester || pkey != KPKEYS_PKEY_PGTABLES)
		return;
	keyed = region;
	nr_keyed = nr;
	guard(kpkeys_hardened_pgtables)();
	__clear_bit(page_slot(addr) + nr - 1, region->free);
	__clear_bit(page_slot(addr) + nr - 1, region->owned);
}

/* Puts right what is wrong: the tests that follow use the same pool. */
static bool owns_last(struct kpkeys_region *region, unsigned int slot)
{
	bool owned, free;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_node_lock(region->nid);
	owned = test_and_set_bit(slot, region->owned);
	free = test_and_set_bit(slot, region->free);
	kpkeys_node_unlock(region->nid);
	return owned && free;
}

static void test_header_is_written_keyed(struct kunit *test)
{
	struct kpkeys_region *region;
	int err;

	tester = current;
	keyed = NULL;
	KPKEYS_TEST_REQUIRES(test, !register_trace_kpkeys_key(forge_header, NULL));
	err = kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL);
	unregister_trace_kpkeys_key(forge_header, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_ASSERT_GE(test, err, 0);
	KUNIT_ASSERT_NOT_NULL(test, keyed);
	region = kpkeys_find_region(keyed);
	KUNIT_ASSERT_NOT_NULL(test, region);
	KUNIT_EXPECT_TRUE(test, owns_last(region, page_slot(keyed) + nr_keyed - 1));
}

/* ---- what has no key ---- */

static void test_free_without_key_is_refused(struct kunit *test)
{
	struct page *page = bare_page(test);
	long before = errors();

	kpkeys_ptp_free(page, 0);
	KUNIT_EXPECT_EQ(test, errors(), before + 1);
	KUNIT_EXPECT_FALSE(test, kpkeys_table_is_free(page_address(page)));
	__free_page(page);
}

static void put_in_depot(void *addr)
{
	scoped_guard(irqsave) {
		scoped_guard(kpkeys_hardened_pgtables)
			kpkeys_depot_put(addr);
		kpkeys_freelist_report();
	}
}

static void test_orphan_without_key_is_refused(struct kunit *test)
{
	struct page *page = bare_page(test);
	struct kpkeys_node *node = node_of(page_to_nid(page));
	unsigned long orphans = node->nr_orphans;
	long before = errors();

	put_in_depot(page_address(page));
	KUNIT_EXPECT_EQ(test, errors(), before + 1);
	KUNIT_EXPECT_EQ(test, node->nr_orphans, orphans);
	KUNIT_ASSERT_PTR_NE(test, node->orphans, page_address(page));
	__free_page(page);
}

/* What stood in the list before comes back. */
static void *take_with_orphan(struct kpkeys_node *node, int nid, void *orphan)
{
	struct kpkeys_node was;
	void *taken;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	was.orphans = node->orphans;
	was.nr_orphans = node->nr_orphans;
	node->orphans = orphan;
	node->nr_orphans = 1;
	taken = kpkeys_depot_take(nid, 0, true);
	node->orphans = was.orphans;
	node->nr_orphans = was.nr_orphans;
	return taken;
}

static void test_orphan_without_key_is_not_taken(struct kunit *test)
{
	struct page *page = bare_page(test);
	int nid = page_to_nid(page);
	long before = errors();
	void *taken;

	taken = take_with_orphan(node_of(nid), nid, page_address(page));
	KUNIT_EXPECT_EQ(test, errors(), before + 1);
	KUNIT_EXPECT_PTR_NE(test, taken, page_address(page));
	if (taken && taken != page_address(page))
		put_in_depot(taken);
	__free_page(page);
}

/* ---- the reserve ---- */

/* What may be taken by whoever can wait, for the time of the test. */
static void *drain(int nid)
{
	void *first = NULL, *page;

	guard(kpkeys_hardened_pgtables)();
	while ((page = kpkeys_depot_take(nid, 0, false))) {
		*(void **)page = first;
		first = page;
	}
	return first;
}

static void undrain(void *page)
{
	void *next;

	guard(kpkeys_hardened_pgtables)();
	for (; page; page = next) {
		next = *(void **)page;
		kpkeys_depot_put(page);
	}
}

static unsigned int fill_from_reserve(int nid)
{
	unsigned int nr, i;
	void *drained;

	guard(irqsave)();
	drained = drain(nid);
	scoped_guard(kpkeys_hardened_pgtables) {
		for (i = raw_cpu_read(kpkeys_cpu.mag.nr); i; i--)
			kpkeys_depot_put(raw_cpu_read(kpkeys_cpu.mag.page[i - 1]));
		raw_cpu_write(kpkeys_cpu.mag.nr, 0);
	}
	undrain(drained);
	drained = drain(nid);
	scoped_guard(kpkeys_hardened_pgtables)
		nr = kpkeys_depot_fill(nid, true, KPKEYS_MAG_SIZE / 2);
	undrain(drained);
	return nr;
}

static void test_reserve_goes_page_by_page(struct kunit *test)
{
	unsigned int nr;

	migrate_disable();
	nr = fill_from_reserve(numa_mem_id());
	migrate_enable();
	KUNIT_EXPECT_EQ(test, nr, 1);
}

/* ---- pairs ---- */

static struct page *pair_of(struct kunit *test)
{
	struct page *pair = kpkeys_ptp_alloc(GFP_KERNEL, 1, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, pair);
	return pair;
}

/* In use, says the table of frames, while it waits in the pool. */
static void spoil(struct page *page)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_table_take(page_address(page));
}

/* Its other half is fine, and must not be lost with it. */
static void alloc_beside(struct kunit *test, unsigned int bad)
{
	struct page *pair = pair_of(test), *other;
	long before = errors();
	bool found;

	scoped_guard(irqsave) {
		kpkeys_ptp_free(pair, 1);
		spoil(pair + bad);
		other = kpkeys_ptp_alloc(GFP_ATOMIC, 1, NUMA_NO_NODE);
		found = is_in_depot(pair + !bad);
	}
	KUNIT_EXPECT_EQ(test, errors(), before + 1);
	KUNIT_EXPECT_TRUE(test, found);
	KUNIT_EXPECT_FALSE(test, is_in_depot(pair + bad));
	if (other)
		kpkeys_ptp_free(other, 1);
	kpkeys_ptp_free(pair + bad, 0);
}

static void test_pair_alloc_loses_nothing(struct kunit *test)
{
	alloc_beside(test, 0);
	alloc_beside(test, 1);
}

static void free_beside(struct kunit *test, unsigned int bad)
{
	struct page *pair = pair_of(test);
	long before = errors();
	bool found;

	scoped_guard(irqsave) {
		kpkeys_ptp_free(pair + bad, 0);
		kpkeys_ptp_free(pair, 1);
		found = is_in_depot(pair + !bad);
	}
	KUNIT_EXPECT_EQ(test, errors(), before + 1);
	KUNIT_EXPECT_TRUE(test, found);
}

static void test_pair_free_loses_nothing(struct kunit *test)
{
	free_beside(test, 0);
	free_beside(test, 1);
}

/* Its order would be forgotten, and half of it lost. */
static void test_compound_is_refused(struct kunit *test)
{
	unsigned long used = kpkeys_pool_nr_used();
	struct ptdesc *pt = pagetable_alloc(GFP_KERNEL, 1);

	KUNIT_EXPECT_NULL(test, pt);
	if (pt)
		pagetable_free(pt);
	KUNIT_EXPECT_LE(test, kpkeys_pool_nr_used(), used);
}

/* ---- what a wait could change ---- */

static unsigned int releases, copies;

/* All pages of a block belong to it: nothing else on a stack looks like that. */
static __no_sanitize_address bool is_bitmap(const unsigned long *word)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(KPKEYS_REGION_PAGES); i++)
		if (READ_ONCE(word[i]) != ~0UL)
			return false;
	return true;
}

static __no_sanitize_address void look_at_stack(void *data, const void *addr,
						unsigned int nr, int pkey, int ret)
{
	unsigned long *word = __builtin_frame_address(0);
	unsigned long *end = task_stack_page(current) + THREAD_SIZE;

	if (current != tester || pkey != KPKEYS_PKEY_DEFAULT)
		return;
	releases++;
	for (; word + BITS_TO_LONGS(KPKEYS_REGION_PAGES) <= end; word++)
		copies += is_bitmap(word);
}

static void test_release_trusts_no_stack(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, KPKEYS_REGION_PAGES >= 256);
	/* At least one of them is idle then. */
	kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL);
	kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL);
	tester = current;
	releases = 0;
	copies = 0;
	KPKEYS_TEST_REQUIRES(test, !register_trace_kpkeys_key(look_at_stack, NULL));
	kpkeys_depot_shrink(1);
	unregister_trace_kpkeys_key(look_at_stack, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_GT(test, releases, 0);
	KUNIT_EXPECT_EQ(test, copies, 0);
	kpkeys_test_expect_clean(test);
}

/* ---- fragmented memory ---- */

#define PIECE_ORDER	2
#define PIECE		(1U << PIECE_ORDER)

static void take_all(struct list_head *blocks)
{
	struct page *page;

	while ((page = alloc_pages(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN,
				   PIECE_ORDER + 1))) {
		split_page(page, PIECE_ORDER + 1);
		list_add(&page->lru, blocks);
	}
}

static void free_pieces(struct page *page, unsigned int nr)
{
	while (nr--)
		__free_page(page++);
}

/* Compaction may make blocks of pages that can be moved: these come first. */
static int refill_by_chunks(long before)
{
	int nid, i = 0;

	do {
		nid = kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL);
	} while (nid >= 0 && ++i < 8 &&
		 atomic_long_read(&kpkeys_events.pool_chunks) == before);
	return nid;
}

/* Nobody is killed for a block when there are pages enough. */
static void test_fragments_will_do(struct kunit *test)
{
	long before = atomic_long_read(&kpkeys_events.pool_chunks);
	struct page *page, *next;
	LIST_HEAD(halves);
	LIST_HEAD(blocks);
	int nid;

	take_all(&halves);
	list_for_each_entry(page, &halves, lru)
		free_pieces(page + PIECE, PIECE);
	/* What the allocator kept back while it had little else. */
	take_all(&blocks);
	nid = refill_by_chunks(before);
	list_for_each_entry_safe(page, next, &halves, lru)
		free_pieces(page, PIECE);
	list_for_each_entry_safe(page, next, &blocks, lru)
		free_pieces(page, 2 * PIECE);
	KUNIT_EXPECT_GE(test, nid, 0);
	KUNIT_EXPECT_GT(test, atomic_long_read(&kpkeys_events.pool_chunks), before);
}

/* ---- messages ---- */

static unsigned int printed, printed_open;

static void look_at_message(void *data, const char *text, size_t len)
{
	if (!strnstr(text, "corrupted pool", len))
		return;
	printed++;
	printed_open += raw_cpu_read(kpkeys_cpu.level) != KPKEYS_LVL_DEFAULT;
}

/* The page is found inside a section, in the magazine. */
static void find_corruption(struct kunit *test)
{
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, numa_mem_id()), *again;

	KUNIT_ASSERT_NOT_NULL(test, page);
	scoped_guard(irqsave) {
		kpkeys_ptp_free(page, 0);
		spoil(page);
		again = kpkeys_test_retake(page, GFP_ATOMIC);
	}
	KUNIT_EXPECT_NULL(test, again);
	kpkeys_ptp_free(page, 0);
}

static void test_prints_with_gate_shut(struct kunit *test)
{
	printed = 0;
	printed_open = 0;
	KPKEYS_TEST_REQUIRES(test, !register_trace_console(look_at_message, NULL));
	migrate_disable();
	find_corruption(test);
	migrate_enable();
	unregister_trace_console(look_at_message, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, printed, 1);
	KUNIT_EXPECT_EQ(test, printed_open, 0);
}

/* With interrupts off this CPU cannot be asked meanwhile. */
static bool is_late_for_next_key(void)
{
	guard(irqsave)();
	scoped_guard(kpkeys_hardened_pgtables)
		atomic64_inc(&kpkeys_state.keyings);
	return !kpkeys_in_force();
}

static void test_key_is_believed_when_in_force(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kpkeys_ask_cpus());
	KUNIT_EXPECT_TRUE(test, is_late_for_next_key());
	KUNIT_EXPECT_TRUE(test, kpkeys_flush());
	KUNIT_EXPECT_TRUE(test, kpkeys_in_force());
}

static bool is_asked(int cpu)
{
	return READ_ONCE(per_cpu_ptr(&kpkeys_cpu, cpu)->in_use);
}

static void test_cpu_that_runs_is_asked(struct kunit *test)
{
	int cpu = cpumask_last(cpu_online_mask);

	KPKEYS_TEST_REQUIRES(test, cpu);
	KUNIT_EXPECT_TRUE(test, is_asked(cpu));
	kpkeys_test_remove_cpu(test, cpu);
	KUNIT_EXPECT_FALSE(test, is_asked(cpu));
	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
	KUNIT_EXPECT_TRUE(test, is_asked(cpu));
}

static void say_runs(int cpu, bool runs)
{
	guard(kpkeys_hardened_pgtables)();
	per_cpu_ptr(&kpkeys_cpu, cpu)->in_use = runs;
}

/* An attacker takes it out of the mask of those that are sent interrupts. */
static void test_cpu_that_is_not_sent_any_is_waited_for(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();
	int cpu = cpumask_last(cpu_online_mask);

	KPKEYS_TEST_REQUIRES(test, cpu);
	kpkeys_test_remove_cpu(test, cpu);
	say_runs(cpu, true);
	KUNIT_EXPECT_FALSE(test, kpkeys_ask_cpus());
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	say_runs(cpu, false);
	KUNIT_EXPECT_TRUE(test, kpkeys_ask_cpus());
	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
}

/* Messages come first: there is a limit to how many are printed at a time. */
static struct kunit_case depot_cases[] = {
	KUNIT_CASE(test_prints_with_gate_shut),
	KUNIT_CASE(test_header_is_written_keyed),
	KUNIT_CASE(test_free_without_key_is_refused),
	KUNIT_CASE(test_orphan_without_key_is_refused),
	KUNIT_CASE(test_orphan_without_key_is_not_taken),
	KUNIT_CASE(test_reserve_goes_page_by_page),
	KUNIT_CASE(test_pair_alloc_loses_nothing),
	KUNIT_CASE(test_pair_free_loses_nothing),
	KUNIT_CASE(test_compound_is_refused),
	KUNIT_CASE(test_release_trusts_no_stack),
	KUNIT_CASE(test_fragments_will_do),
	KUNIT_CASE(test_key_is_believed_when_in_force),
	KUNIT_CASE(test_cpu_that_runs_is_asked),
	KUNIT_CASE(test_cpu_that_is_not_sent_any_is_waited_for),
	{}
};

static struct kunit_suite depot_suite = {
	.name = "kpkeys-depot",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = depot_cases,
};

kunit_test_suite(depot_suite);
