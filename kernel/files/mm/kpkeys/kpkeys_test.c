// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of kernel protection keys: levels and guards, page tables, pool.
 *
 * Each asks memory itself: a store to a page-table page must fail where the
 * gate is shut and work where it is open. The violations this reports in the
 * log are the tests' own.
 */
#include <kunit/test.h>

#include <linux/completion.h>
#include <linux/console.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/pgalloc.h>
#include <asm/tlbflush.h>

#include <trace/events/power.h>

#include "internal.h"
#include "check.h"

#define KPKEYS_TEST_REQUIRES(test, condition)				\
do {									\
	if (!(condition))						\
		kunit_skip((test), "needs " #condition);		\
} while (0)

/* A page-table page of the test's own, and a store to it. */
static struct page *ptp;

static int store(void)
{
	unsigned long value = 0;

	return copy_to_kernel_nofault(page_address(ptp), &value, sizeof(value));
}

static int kpkeys_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	ptp = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, ptp);
	return 0;
}

static void kpkeys_test_exit(struct kunit *test)
{
	if (ptp)
		kpkeys_ptp_free(ptp, 0);
	ptp = NULL;
}

static unsigned long writes(void)
{
	return raw_cpu_read(kpkeys_counters.reg_writes);
}

/* ---- levels and guards ---- */

static void test_level_registers(struct kunit *test)
{
	unsigned int a, b;

	for (a = 0; a < KPKEYS_NR_LEVELS; a++)
		for (b = 0; b < a; b++)
			KUNIT_EXPECT_NE(test, kpkeys_level_reg(a),
					kpkeys_level_reg(b));
	KUNIT_EXPECT_EQ(test, arch_kpkeys_read_reg(),
			(kpkeys_reg_t)ARCH_KPKEYS_REG_DEFAULT);
}

static void test_default_denies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, store(), -EFAULT);
}

/* A store with a fixup is an error to the caller, and no less a violation. */
static void test_denied_store_counts(struct kunit *test)
{
	unsigned long before, counted, flags;
	int err;

	local_irq_save(flags);
	before = raw_cpu_read(kpkeys_counters.violations);
	err = store();
	counted = raw_cpu_read(kpkeys_counters.violations) - before;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, err, -EFAULT);
	KUNIT_EXPECT_EQ(test, counted, 1);
}

static void test_guard_allows(struct kunit *test)
{
	scoped_guard(kpkeys_hardened_pgtables)
		KUNIT_EXPECT_EQ(test, store(), 0);
	KUNIT_EXPECT_EQ(test, store(), -EFAULT);
}

/* Where writes are counted, interrupts are off: they shut the gate as well. */
static void test_guard_nests(struct kunit *test)
{
	unsigned long before, used, flags;
	int inside;

	local_irq_save(flags);
	before = writes();
	scoped_guard(kpkeys_hardened_pgtables) {
		scoped_guard(kpkeys_hardened_pgtables)
			used = writes() - before;
		inside = store();
	}
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, used, 1);
	KUNIT_EXPECT_EQ(test, inside, 0);
	KUNIT_EXPECT_EQ(test, store(), -EFAULT);
}

static void test_state_is_keyed(struct kunit *test)
{
	u64 word = 1;

	KUNIT_EXPECT_EQ(test, -EFAULT,
			copy_to_kernel_nofault(this_cpu_ptr(&kpkeys_cpu), &word,
					       sizeof(word)));
	KUNIT_EXPECT_EQ(test, -EFAULT,
			copy_to_kernel_nofault(&kpkeys_state, &word,
					       sizeof(word)));
}

static void test_lazy_nests(struct kunit *test)
{
	unsigned long before, flags;
	int first, second;

	local_irq_save(flags);
	before = writes();
	arch_enter_lazy_mmu_mode();
	arch_enter_lazy_mmu_mode();
	first = store();
	arch_leave_lazy_mmu_mode();
	second = store();
	arch_leave_lazy_mmu_mode();
	before = writes() - before;
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, first, 0);
	KUNIT_EXPECT_EQ(test, second, 0);
	KUNIT_EXPECT_EQ(test, before, 2);
	KUNIT_EXPECT_EQ(test, store(), -EFAULT);
}

/* A lazy section that sleeps comes back shut, and guards work in it. */
static void test_lazy_sleeps(struct kunit *test)
{
	int bare, guarded;

	arch_enter_lazy_mmu_mode();
	schedule_timeout_uninterruptible(2);
	bare = store();
	scoped_guard(kpkeys_hardened_pgtables)
		guarded = store();
	arch_leave_lazy_mmu_mode();

	KUNIT_EXPECT_EQ(test, bare, -EFAULT);
	KUNIT_EXPECT_EQ(test, guarded, 0);
	KUNIT_EXPECT_EQ(test, store(), -EFAULT);
}

/* ---- what runs inside a section of somebody else ---- */

static int seen;

static void irq_store(struct irq_work *work)
{
	seen = store();
}

static void test_interrupt_runs_shut(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(irq_store);
	int after;

	seen = 1;
	scoped_guard(kpkeys_hardened_pgtables) {
		irq_work_queue(&work);
		while (irq_work_is_busy(&work))
			cpu_relax();
		after = store();
	}
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static void softirq_store(struct tasklet_struct *tasklet)
{
	seen = store();
}

static void test_softirq_runs_shut(struct kunit *test)
{
	DECLARE_TASKLET(tasklet, softirq_store);
	int after;

	seen = 1;
	local_bh_disable();
	tasklet_hi_schedule(&tasklet);
	scoped_guard(kpkeys_hardened_pgtables) {
		/* Runs the softirq here. */
		local_bh_enable();
		after = store();
	}
	tasklet_kill(&tasklet);
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static kpkeys_reg_t reg_in_warn;

/* The line that the exception prints; others come from before and after it. */
static void warn_write(struct console *con, const char *s, unsigned int n)
{
	if (strnstr(s, "WARNING: ", n))
		reg_in_warn = arch_kpkeys_read_reg();
}

/* A console sees the register while WARN() prints. */
static void test_warn_runs_shut(struct kunit *test)
{
	static struct console con = {
		.name = "kpkeys", .write = warn_write, .index = -1,
		.flags = CON_ENABLED | CON_ANYTIME,
	};
	int after;

	register_console(&con);
	reg_in_warn = ~0;
	scoped_guard(kpkeys_hardened_pgtables) {
		WARN(1, "from a test\n");
		after = store();
	}
	unregister_console(&con);
	KUNIT_EXPECT_EQ(test, reg_in_warn,
			(kpkeys_reg_t)ARCH_KPKEYS_REG_DEFAULT);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static int leave_open(void *done)
{
	scoped_guard(preempt)
		__kpkeys_raise(KPKEYS_LVL_PGTABLES);
	complete(done);
	schedule_timeout_uninterruptible(1);
	seen = store();
	return 0;
}

static void test_switch_closes(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;

	seen = 1;
	task = kthread_run(leave_open, &done, "kpkeys-test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&done);
	schedule_timeout_uninterruptible(HZ / 5);
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
}

static struct kunit_case level_cases[] = {
	KUNIT_CASE(test_level_registers),
	KUNIT_CASE(test_default_denies),
	KUNIT_CASE(test_denied_store_counts),
	KUNIT_CASE(test_guard_allows),
	KUNIT_CASE(test_guard_nests),
	KUNIT_CASE(test_state_is_keyed),
	KUNIT_CASE(test_lazy_nests),
	KUNIT_CASE(test_lazy_sleeps),
	KUNIT_CASE(test_interrupt_runs_shut),
	KUNIT_CASE(test_softirq_runs_shut),
	KUNIT_CASE(test_warn_runs_shut),
	KUNIT_CASE(test_switch_closes),
	{}
};

static struct kunit_suite level_suite = {
	.name = "kpkeys-levels",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = level_cases,
};

/* ---- page tables ---- */

static void expect_clean(struct kunit *test)
{
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check),
						   GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, check);
	kpkeys_check(check);
	KUNIT_EXPECT_TRUE(test, check->ok);
	KUNIT_EXPECT_GT(test, check->ptp_total, 0);
	KUNIT_EXPECT_EQ(test, check->ptp_unkeyed, 0);
	KUNIT_EXPECT_EQ(test, check->foreign, 0);
	KUNIT_EXPECT_EQ(test, check->keyed, kpkeys_check_expected(check));
}

static void test_checker(struct kunit *test)
{
	expect_clean(test);
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
	pte_t *table = page_address(ptp), pte = pfn_pte(1, PAGE_KERNEL);
	unsigned long before, used, flags;

	local_irq_save(flags);
	before = writes();
	set_ptes(&init_mm, 0, table, pte, 16);
	used = writes() - before;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, used, 2);
	KUNIT_EXPECT_EQ(test, pte_pfn(table[15]), 16);
}

#define MAPPED	64

/* Writes of one vm_map_ram() and one vm_unmap_ram(); other things add to them. */
static unsigned long writes_to_map(struct kunit *test, struct page **pages)
{
	unsigned long before;
	void *addr;

	migrate_disable();
	before = writes();
	addr = vm_map_ram(pages, MAPPED, NUMA_NO_NODE);
	if (addr)
		vm_unmap_ram(addr, MAPPED);
	before = writes() - before;
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
	expect_clean(test);
}

#ifdef CONFIG_X86_64
/* Far below the fixmap nothing is mapped, so this takes a new table. */
static void test_single_entry_takes_table(struct kunit *test)
{
	unsigned long addr = FIXADDR_TOT_START - 2 * PMD_SIZE;
	unsigned long used = kpkeys_pool_nr_used();

	set_pte_vaddr(addr, __pte(0));
	KUNIT_EXPECT_GT(test, kpkeys_pool_nr_used(), used);
	expect_clean(test);
}
#endif

static struct kunit_case pgtables_cases[] = {
	KUNIT_CASE(test_checker),
	KUNIT_CASE(test_checker_sees_unkeyed),
	KUNIT_CASE(test_set_ptes_is_one_section),
	KUNIT_CASE(test_vm_map_ram_is_one_section),
	KUNIT_CASE(test_huge_vmap_frees_tables),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_single_entry_takes_table),
#endif
	{}
};

static struct kunit_suite pgtables_suite = {
	.name = "kpkeys-pgtables",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = pgtables_cases,
};

/* ---- pool ---- */

static bool is_keyed(struct page *page)
{
	return arch_kpkeys_addr_pkey((unsigned long)page_address(page)) ==
	       KPKEYS_PKEY_PGTABLES;
}

static void test_pool_pages_are_keyed(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_keyed(ptp));
	KUNIT_EXPECT_FALSE(test, kpkeys_ptp_is_free(ptp));
}

static void test_pool_pairs_are_aligned(struct kunit *test)
{
	struct page *pair = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 1,
					     NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, pair);
	KUNIT_EXPECT_EQ(test, page_to_pfn(pair) & 1, 0);
	KUNIT_EXPECT_TRUE(test, is_keyed(pair) && is_keyed(pair + 1));
	kpkeys_ptp_free(pair, 1);
}

static void test_pool_serves_atomic(struct kunit *test)
{
	unsigned long flags;
	struct page *page;

	local_irq_save(flags);
	page = kpkeys_ptp_alloc(GFP_ATOMIC | __GFP_ZERO, 0, NUMA_NO_NODE);
	local_irq_restore(flags);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_TRUE(test, is_keyed(page));
	kpkeys_ptp_free(page, 0);
}

static void test_pool_keeps_node(struct kunit *test)
{
	struct page *page;
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0, nid);
		KUNIT_ASSERT_NOT_NULL(test, page);
		KUNIT_EXPECT_EQ(test, page_to_nid(page), nid);
		kpkeys_ptp_free(page, 0);
	}
}

/* Dirty a page while it waits in the pool, and take it again at once. */
static struct page *retake_dirty(struct page *page, gfp_t gfp)
{
	struct page *again;
	unsigned long flags;

	local_irq_save(flags);
	kpkeys_ptp_free(page, 0);
	scoped_guard(kpkeys_hardened_pgtables)
		memset(page_address(page), 0xff, PAGE_SIZE);
	again = kpkeys_ptp_alloc(gfp, 0, NUMA_NO_NODE);
	local_irq_restore(flags);
	return again;
}

static void test_pool_clears(struct kunit *test)
{
	struct page *page = ptp;

	ptp = retake_dirty(page, GFP_ATOMIC | __GFP_ZERO);
	KUNIT_ASSERT_PTR_EQ(test, ptp, page);
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(ptp), 0, PAGE_SIZE));
}

static void test_pool_clears_by_init_on_alloc(struct kunit *test)
{
	struct page *page = ptp;

	KPKEYS_TEST_REQUIRES(test, want_init_on_alloc(0));
	ptp = retake_dirty(page, GFP_ATOMIC);
	KUNIT_ASSERT_PTR_EQ(test, ptp, page);
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(ptp), 0, PAGE_SIZE));
}

static void test_pool_clears_by_init_on_free(struct kunit *test)
{
	void *addr = page_address(ptp), *dirt;
	unsigned long flags;

	KPKEYS_TEST_REQUIRES(test, want_init_on_free());
	local_irq_save(flags);
	scoped_guard(kpkeys_hardened_pgtables)
		memset(addr, 0xff, PAGE_SIZE);
	kpkeys_ptp_free(ptp, 0);
	ptp = NULL;
	dirt = memchr_inv(addr, 0, PAGE_SIZE);
	local_irq_restore(flags);
	KUNIT_EXPECT_NULL(test, dirt);
}

#define MANY	1200

/* More than a block holds: keyed by the block, given back by the block. */
static void test_pool_grows_and_shrinks(struct kunit *test)
{
	struct page **pages = kunit_kcalloc(test, MANY, sizeof(*pages),
					    GFP_KERNEL);
	long flushes = atomic_long_read(&kpkeys_events.key_tlb_flushes);
	long returned = atomic_long_read(&kpkeys_events.shrink_returned);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < MANY; i++) {
		pages[i] = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0,
					    NUMA_NO_NODE);
		if (!pages[i] || !is_keyed(pages[i]))
			break;
	}
	KUNIT_EXPECT_EQ(test, i, MANY);
	flushes = atomic_long_read(&kpkeys_events.key_tlb_flushes) - flushes;
	KUNIT_EXPECT_LE(test, flushes, MANY / 512 + 1);
	while (i--)
		kpkeys_ptp_free(pages[i], 0);
	expect_clean(test);

	kpkeys_depot_shrink(ULONG_MAX);
	KUNIT_EXPECT_GT(test, atomic_long_read(&kpkeys_events.shrink_returned),
			returned);
	expect_clean(test);
}

static void test_pool_finds_double_free(struct kunit *test)
{
	long errors = atomic_long_read(&kpkeys_events.freelist_errors);
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	unsigned long free;

	KUNIT_ASSERT_NOT_NULL(test, page);
	kpkeys_ptp_free(page, 0);
	free = kpkeys_pool_nr_free();
	kpkeys_ptp_free(page, 0);
	KUNIT_EXPECT_EQ(test, kpkeys_pool_nr_free(), free);
	KUNIT_EXPECT_EQ(test, errors + 1,
			atomic_long_read(&kpkeys_events.freelist_errors));
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE(test_pool_pages_are_keyed),
	KUNIT_CASE(test_pool_pairs_are_aligned),
	KUNIT_CASE(test_pool_serves_atomic),
	KUNIT_CASE(test_pool_keeps_node),
	KUNIT_CASE(test_pool_clears),
	KUNIT_CASE(test_pool_clears_by_init_on_alloc),
	KUNIT_CASE(test_pool_clears_by_init_on_free),
	KUNIT_CASE(test_pool_grows_and_shrinks),
	KUNIT_CASE(test_pool_finds_double_free),
	{}
};

static struct kunit_suite pool_suite = {
	.name = "kpkeys-pool",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = pool_cases,
};

/*
 * Sleep clears the register. The first thing that happens when the machine is
 * awake looks at it, and complains in the log: no suite can send it to sleep.
 */
#ifdef CONFIG_PM_SLEEP
static void look_at_wake(void *data, const char *action, int val, bool start)
{
	if (!start && !strcmp(action, "machine_suspend") && kpkeys_pgtables_enabled())
		WARN_ON(arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT);
}

static int __init watch_wake(void)
{
	return register_trace_suspend_resume(look_at_wake, NULL);
}
late_initcall(watch_wake);
#endif

kunit_test_suites(&level_suite, &pgtables_suite, &pool_suite);

MODULE_DESCRIPTION("KUnit tests of kernel protection keys");
MODULE_LICENSE("GPL");
