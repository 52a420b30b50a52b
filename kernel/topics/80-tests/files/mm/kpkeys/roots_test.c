// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: records of roots, and what is refused for want of one. */
#include <linux/completion.h>
#include <linux/hw_breakpoint.h>
#include <linux/kpkeys_breakpoints.h>
#include <linux/kpkeys_roots.h>
#include <linux/kpkeys_test.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/perf_event.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include <asm/pgalloc.h>

#include "check.h"
#include "internal.h"
#include "tables.h"

#define MANY	600	/* mms: more than two pages of records with 4K pages */

static struct mm_struct *mm, *other;

static int roots_test_init(struct kunit *test)
{
	int ret = kpkeys_test_init(test);

	if (ret)
		return ret;
	mm = mm_alloc();
	other = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	KUNIT_ASSERT_NOT_NULL(test, other);
	return 0;
}

static void roots_test_exit(struct kunit *test)
{
	if (mm)
		mmdrop(mm);
	if (other)
		mmdrop(other);
	mm = NULL;
	other = NULL;
	kpkeys_test_exit(test);
}

static bool is_denied(void *addr)
{
	unsigned long value = *(unsigned long *)addr;

	return copy_to_kernel_nofault(addr, &value, sizeof(value));
}

static void test_each_mm_has_its_own(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();

	KUNIT_EXPECT_NE(test, mm->kpkeys_root, other->kpkeys_root);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_root(mm), mm->pgd);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_root(other), other->pgd);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_loaded_root(&init_mm, NULL, NULL),
			    (pgd_t *)swapper_pg_dir);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
}

static void test_records_are_keyed(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_denied(__kpkeys_root_at(mm->kpkeys_root)));
	KUNIT_EXPECT_TRUE(test, is_denied(&kpkeys_roots.page[0]));
}

/* It has its own root again, and is right from then on. */
static void expect_refused(struct kunit *test, pgd_t *pgd)
{
	unsigned long before = kpkeys_test_violations();

	KUNIT_EXPECT_PTR_EQ(test, kpkeys_root(mm), pgd);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_PTR_EQ(test, mm->pgd, pgd);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_loaded_root(mm, NULL, NULL), pgd);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
}

static void test_forged_root(struct kunit *test)
{
	pgd_t *pgd = mm->pgd;

	mm->pgd = other->pgd;
	expect_refused(test, pgd);
	mm->pgd = page_address(kpkeys_test_ptp);
	expect_refused(test, pgd);
}

static void test_forged_number(struct kunit *test)
{
	mm->kpkeys_root = other->kpkeys_root;
	expect_refused(test, mm->pgd);
	mm->kpkeys_root = ~0U;
	expect_refused(test, mm->pgd);
	mm->kpkeys_root = 0;
	expect_refused(test, mm->pgd);
}

/* All of it is right but where it lies. */
static void test_forged_mm(struct kunit *test)
{
	struct mm_struct *forged = kunit_kmalloc(test, sizeof(*mm), GFP_KERNEL);
	pmd_t *pmd = NULL;
	pgd_t *pgd;
	p4d_t *p4d;

	KUNIT_ASSERT_NOT_NULL(test, forged);
	memcpy(forged, mm, sizeof(*mm));
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_loaded_root(forged, NULL,
						     swapper_pg_dir),
			    (pgd_t *)swapper_pg_dir);
	pgd = pgd_offset(forged, 0);
	KUNIT_EXPECT_TRUE(test, kpkeys_is_no_root(pgd));
	p4d = p4d_alloc(forged, pgd, 0);
	if (p4d && pud_alloc(forged, p4d, 0))
		pmd = pmd_alloc(forged, pud_offset(p4d, 0), 0);
	KUNIT_EXPECT_NULL(test, pmd);
	KUNIT_EXPECT_NULL(test, kpkeys_root_remove(forged));
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_root(mm), mm->pgd);
}

/* What says which mm this CPU has loaded is ordinary memory. */
static void go_on_with(struct mm_struct *next)
{
#ifdef CONFIG_X86
	this_cpu_write(cpu_tlbstate.loaded_mm, next);
#endif
	switch_mm_irqs_off(next, next, current);
}

static void test_forged_loaded_mm(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations(), flags;
	bool stays, changes;

	kthread_use_mm(mm);
	local_irq_save(flags);
	switch_mm_irqs_off(mm, mm, current);
	stays = arch_kpkeys_runs_on(mm->pgd);
	go_on_with(other);
	changes = arch_kpkeys_runs_on(other->pgd);
	switch_mm_irqs_off(other, mm, current);
	local_irq_restore(flags);
	kthread_unuse_mm(mm);
	KUNIT_EXPECT_TRUE(test, stays);
	KUNIT_EXPECT_TRUE(test, changes);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
}

static void test_mm_of_vma(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();

	KUNIT_EXPECT_FALSE(test, kpkeys_refuse_mm(mm, mm));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
	KUNIT_EXPECT_TRUE(test, kpkeys_refuse_mm(other, mm));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
}

/* A fault and a fork() that a vma leads elsewhere. */
static void test_walkers_refuse(struct kunit *test)
{
	struct vm_area_struct *vma = vm_area_alloc(other);
	unsigned long before = kpkeys_test_violations();

	KUNIT_ASSERT_NOT_NULL(test, vma);
	vma->vm_end = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, VM_FAULT_SIGSEGV,
			handle_mm_fault(vma, 0, FAULT_FLAG_USER, NULL));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_EQ(test, -EFAULT, copy_page_range(other, vma, mm, vma));
	KUNIT_EXPECT_EQ(test, -EFAULT, copy_page_range(mm, vma, other, vma));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 3);
	vm_area_free(vma);
}

/* A fork() that waited, and whose mm is another one since. */
static void test_second_root(struct kunit *test)
{
	pgd_t *second = pgd_alloc(mm);
	unsigned int nr = mm->kpkeys_root;

	KUNIT_ASSERT_NOT_NULL(test, second);
	KUNIT_EXPECT_EQ(test, -ENOMEM, kpkeys_root_add(mm, second));
	KUNIT_EXPECT_EQ(test, -ENOMEM, kpkeys_root_add(&init_mm, second));
	KUNIT_EXPECT_EQ(test, nr, mm->kpkeys_root);
	KUNIT_EXPECT_PTR_EQ(test, kpkeys_root(mm), mm->pgd);
	pgd_free(mm, second);
}

static void test_many_records(struct kunit *test)
{
	struct mm_struct **mms = kunit_kcalloc(test, MANY, sizeof(*mms),
					       GFP_KERNEL);
	unsigned int nr_pages, i;

	KUNIT_ASSERT_NOT_NULL(test, mms);
	for (i = 0; i < MANY; i++)
		mms[i] = mm_alloc();
	nr_pages = kpkeys_roots.nr_pages;
	KUNIT_EXPECT_GE(test, nr_pages * PAGE_SIZE, MANY * sizeof(struct kpkeys_root));
	for (i = 0; i < MANY; i++) {
		KUNIT_EXPECT_PTR_EQ(test, kpkeys_root(mms[i]), mms[i]->pgd);
		mmdrop(mms[i]);
	}
	kpkeys_bury_roots();
	for (i = 0; i < MANY; i++)
		mms[i] = mm_alloc();
	KUNIT_EXPECT_EQ(test, kpkeys_roots.nr_pages, nr_pages);
	for (i = 0; i < MANY; i++)
		mmdrop(mms[i]);
	kpkeys_test_expect_clean(test);
}

struct runner {
	struct mm_struct	*mm;
	struct completion	runs;
	bool			stop;
};

static int run_on_root(void *arg)
{
	struct runner *runner = arg;

	kthread_use_mm(runner->mm);
	scoped_guard(preempt) {
		complete(&runner->runs);
		while (!READ_ONCE(runner->stop))
			cpu_relax();
	}
	kthread_unuse_mm(runner->mm);
	return 0;
}

static struct task_struct *start_runner(struct kunit *test, struct runner *runner)
{
	int cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	struct task_struct *task = kthread_create(run_on_root, runner, "runner");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	get_task_struct(task);
	wake_up_process(task);
	wait_for_completion(&runner->runs);
	return task;
}

/* As the last mmdrop() does, which a forged count may have come early. */
static void free_root_of(struct mm_struct *mm)
{
	pgd_free(mm, kpkeys_root_remove(mm));
}

/* The other CPU stays on a root until it has another one. */
static void leave_root(struct kunit *test)
{
	struct runner runner = { .mm = other };
	struct task_struct *task;

	init_completion(&runner.runs);
	task = start_runner(test, &runner);
	WRITE_ONCE(runner.stop, true);
	kthread_stop_put(task);
}

static void test_root_in_use_is_not_freed(struct kunit *test)
{
	struct runner runner = { .mm = mm };
	unsigned long before = kpkeys_test_violations();
	struct task_struct *task;
	pgd_t *pgd = mm->pgd;

	KPKEYS_TEST_REQUIRES(test, num_online_cpus() > 1);
	migrate_disable();
	/* Who does so on the runner's CPU would wait with the lock. */
	kpkeys_bury_roots();
	init_completion(&runner.runs);
	task = start_runner(test, &runner);
	free_root_of(mm);
	KUNIT_EXPECT_TRUE(test, kpkeys_root_is_gone(pgd));
	kpkeys_bury_roots();
	KUNIT_EXPECT_FALSE(test, kpkeys_table_is_free(pgd));
	KUNIT_EXPECT_FALSE(test, kpkeys_root_is_gone(pgd));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	WRITE_ONCE(runner.stop, true);
	kthread_stop_put(task);
	leave_root(test);
	migrate_enable();
	mm = NULL;
}

static void test_root_is_freed_when_left(struct kunit *test)
{
	pgd_t *pgd = mm->pgd;

	mmdrop(mm);
	mm = NULL;
	KUNIT_EXPECT_FALSE(test, kpkeys_table_is_free(pgd));
	kpkeys_bury_roots();
	KUNIT_EXPECT_TRUE(test, kpkeys_table_is_free(pgd));
}

static void ask_since(struct kpkeys_root *root, s64 nr)
{
	guard(kpkeys_hardened_pgtables)();
	root->since = nr;
}

/* As if another one, who holds the same mutex, had it marked behind the asking. */
static void test_root_is_not_freed_by_an_older_asking(struct kunit *test)
{
	struct kpkeys_root *root = __kpkeys_root_at(mm->kpkeys_root);
	pgd_t *pgd = mm->pgd;

	mmdrop(mm);
	mm = NULL;
	ask_since(root, S64_MAX);
	kpkeys_bury_roots();
	KUNIT_EXPECT_TRUE(test, kpkeys_root_is_gone(pgd));
	ask_since(root, 0);
	kpkeys_bury_roots();
	KUNIT_EXPECT_TRUE(test, kpkeys_table_is_free(pgd));
}

#ifdef CONFIG_ARM64
static int hits;

/* Nobody steps over it: it would come again. */
static void answer_breakpoint(struct perf_event *event,
			      struct perf_sample_data *data, struct pt_regs *regs)
{
	hits++;
	sysreg_clear_set(mdscr_el1, MDSCR_EL1_KDE, 0);
}

/* Where roots are in registers. Without the mask it is hit, or this tests nothing. */
static void test_nothing_interrupts_switch(struct kunit *test)
{
	struct perf_event * __percpu *events;
	struct perf_event_attr attr;
	int masked, plain;
	u64 user, kernel;

	KPKEYS_TEST_REQUIRES(test, kpkeys_breaks_in_kernel());
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)cpu_do_switch_mm;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_X;
	events = register_wide_hw_breakpoint(&attr, answer_breakpoint, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR((void __force *)events));
	scoped_guard(irqsave) {
		user = read_sysreg(ttbr0_el1);
		kernel = read_sysreg(ttbr1_el1);
		hits = 0;
		kpkeys_switch_root(mm, NULL);
		masked = hits;
		cpu_switch_mm(kpkeys_loaded_root(mm, NULL, mm->pgd), mm);
		plain = hits;
		write_sysreg(kernel, ttbr1_el1);
		write_sysreg(user, ttbr0_el1);
		isb();
	}
	unregister_wide_hw_breakpoint(events);
	KUNIT_EXPECT_EQ(test, masked, 0);
	KUNIT_EXPECT_EQ(test, plain, 1);
}
#endif

static struct kunit_case roots_cases[] = {
	KUNIT_CASE(test_each_mm_has_its_own),
	KUNIT_CASE(test_records_are_keyed),
#ifdef CONFIG_ARM64
	KUNIT_CASE(test_nothing_interrupts_switch),
#endif
	KUNIT_CASE(test_forged_root),
	KUNIT_CASE(test_forged_number),
	KUNIT_CASE(test_forged_mm),
	KUNIT_CASE(test_forged_loaded_mm),
	KUNIT_CASE(test_mm_of_vma),
	KUNIT_CASE(test_walkers_refuse),
	KUNIT_CASE(test_second_root),
	KUNIT_CASE(test_root_in_use_is_not_freed),
	KUNIT_CASE(test_root_is_freed_when_left),
	KUNIT_CASE(test_root_is_not_freed_by_an_older_asking),
	KUNIT_CASE(test_many_records),
	{}
};

static struct kunit_suite roots_suite = {
	.name = "kpkeys-roots",
	.init = roots_test_init,
	.exit = roots_test_exit,
	.test_cases = roots_cases,
};

kunit_test_suite(roots_suite);
