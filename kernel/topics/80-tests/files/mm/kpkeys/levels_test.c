// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: levels, guards, and what runs inside a section. */
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/completion.h>
#include <linux/console.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/nmi.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <trace/events/power.h>
#include <trace/events/printk.h>

#include "internal.h"

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

static void test_unknown_level_grants_nothing(struct kunit *test)
{
	unsigned int level;

	for (level = KPKEYS_NR_LEVELS; level < 256; level++)
		KUNIT_ASSERT_EQ(test, kpkeys_level_reg(level),
				(kpkeys_reg_t)ARCH_KPKEYS_REG_DEFAULT);
}

/* What a guard brings back lies on the stack, where anybody may change it. */
static void test_tampered_level_grants_nothing(struct kunit *test)
{
	unsigned long flags;
	kpkeys_reg_t reg;
	u64 word = 0;
	int err;

	local_irq_save(flags);
	kpkeys_set_level(KPKEYS_LVL_PGTABLES);
	kpkeys_restore_level(KPKEYS_LVL_PGTABLES, 7);
	reg = arch_kpkeys_read_reg();
	err = copy_to_kernel_nofault(raw_cpu_ptr(&kpkeys_cpu.saved[0].frame),
				     &word, sizeof(word));
	/* The copy says 7 now: put it right. */
	__kpkeys_raise(KPKEYS_LVL_PGTABLES, KPKEYS_LVL_DEFAULT);
	__kpkeys_lower(KPKEYS_LVL_DEFAULT);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, reg, (kpkeys_reg_t)ARCH_KPKEYS_REG_DEFAULT);
	KUNIT_EXPECT_EQ(test, err, -EFAULT);
}

static void test_default_denies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kpkeys_test_store(), -EFAULT);
}

/* A store with a fixup is an error to the caller, and no less a violation. */
static void test_denied_store_counts(struct kunit *test)
{
	unsigned long before, counted, flags;
	int err;

	local_irq_save(flags);
	before = raw_cpu_read(kpkeys_counters.violations);
	err = kpkeys_test_store();
	counted = raw_cpu_read(kpkeys_counters.violations) - before;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, err, -EFAULT);
	KUNIT_EXPECT_EQ(test, counted, 1);
}

static void test_guard_allows(struct kunit *test)
{
	scoped_guard(kpkeys_hardened_pgtables)
		KUNIT_EXPECT_EQ(test, kpkeys_test_store(), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_test_store(), -EFAULT);
}

/* Where writes are counted, interrupts are off: they shut the gate as well. */
static void test_guard_nests(struct kunit *test)
{
	unsigned long before, used, flags;
	int inside;

	local_irq_save(flags);
	before = kpkeys_test_writes();
	scoped_guard(kpkeys_hardened_pgtables) {
		scoped_guard(kpkeys_hardened_pgtables)
			barrier();
		inside = kpkeys_test_store();
	}
	used = kpkeys_test_writes() - before;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, used, 2);
	KUNIT_EXPECT_EQ(test, inside, 0);
	KUNIT_EXPECT_EQ(test, kpkeys_test_store(), -EFAULT);
}

static void test_state_is_keyed(struct kunit *test)
{
	u64 word = 1;

	KUNIT_EXPECT_EQ(test, -EFAULT,
			copy_to_kernel_nofault(raw_cpu_ptr(&kpkeys_cpu), &word,
					       sizeof(word)));
	KUNIT_EXPECT_EQ(test, -EFAULT,
			copy_to_kernel_nofault(&kpkeys_state, &word,
					       sizeof(word)));
}

/* Code of others is in lazy-MMU mode, and may be preempted there. */
static void test_lazy_mode_is_shut(struct kunit *test)
{
	int inside;

	lazy_mmu_mode_enable();
	inside = kpkeys_test_store();
	lazy_mmu_mode_disable();
	KUNIT_EXPECT_EQ(test, inside, -EFAULT);
}

/* ---- sections of several writes: guards inside leave the gate alone ---- */

static int guarded_store(void)
{
	guard(kpkeys_hardened_pgtables)();
	return kpkeys_test_store();
}

static void test_run_holds(struct kunit *test)
{
	bool alone, several;
	int inside;

	scoped_guard(kpkeys_pgtables_section, 1)
		alone = kpkeys_is_held();
	scoped_guard(kpkeys_pgtables_section, 2) {
		several = kpkeys_is_held();
		inside = guarded_store();
	}
	KUNIT_EXPECT_FALSE(test, alone);
	KUNIT_EXPECT_TRUE(test, several);
	KUNIT_EXPECT_EQ(test, inside, 0);
	KUNIT_EXPECT_FALSE(test, kpkeys_is_held());
}

/* ---- what runs inside a section of somebody else ---- */

static int seen;

static void irq_store(struct irq_work *work)
{
	seen = kpkeys_test_store();
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
		after = kpkeys_test_store();
	}
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static void irq_guarded_store(struct irq_work *work)
{
	seen = guarded_store();
}

static void test_held_section_interrupted(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(irq_guarded_store);
	bool before, after;

	seen = 1;
	scoped_guard(kpkeys_pgtables_section, 2) {
		before = kpkeys_is_held();
		irq_work_queue(&work);
		while (irq_work_is_busy(&work))
			cpu_relax();
		after = kpkeys_is_held();
	}
	KUNIT_EXPECT_TRUE(test, before);
	KUNIT_EXPECT_EQ(test, seen, 0);
	KUNIT_EXPECT_TRUE(test, after);
	KUNIT_EXPECT_FALSE(test, kpkeys_is_held());
}

/* A frame may be where such a variable is, if an attacker says where stacks are. */
static void test_softirqs_take_no_frame(struct kunit *test)
{
	unsigned long slot;
	bool shut;

	scoped_guard(kpkeys_hardened_pgtables) {
		__kpkeys_push((unsigned long)&slot);
		kpkeys_softirq_exit(&slot);
		shut = arch_kpkeys_read_reg() == ARCH_KPKEYS_REG_DEFAULT;
		if (shut)
			__kpkeys_pop((unsigned long)&slot);
	}
	KUNIT_EXPECT_TRUE(test, shut);
}

static void look_at_gate(void *data, const char *text, size_t len)
{
	seen = arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT;
}

static void test_message_is_stored_shut(struct kunit *test)
{
	bool open;

	KPKEYS_TEST_REQUIRES(test, !register_trace_console(look_at_gate, NULL));
	seen = -1;
	scoped_guard(kpkeys_hardened_pgtables) {
		pr_info("a message from a section\n");
		open = arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT;
	}
	unregister_trace_console(look_at_gate, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, seen, 0);
	KUNIT_EXPECT_TRUE(test, open);
}

static void softirq_store(struct tasklet_struct *tasklet)
{
	seen = kpkeys_test_store();
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
		after = kpkeys_test_store();
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
		after = kpkeys_test_store();
	}
	unregister_console(&con);
	KUNIT_EXPECT_EQ(test, reg_in_warn,
			(kpkeys_reg_t)ARCH_KPKEYS_REG_DEFAULT);
	KUNIT_EXPECT_EQ(test, after, 0);
}

/* What a backtrace that another CPU asked for says when it begins. */
struct backtrace {
	struct work_struct	work;
	int			cpu;
	bool			seen;
	bool			by_nmi;
	kpkeys_reg_t		reg;
};

static void watch_printk(void *data, const char *text, size_t len)
{
	struct backtrace *backtrace = data;

	if (backtrace->seen || raw_smp_processor_id() != backtrace->cpu ||
	    !strnstr(text, "NMI backtrace for cpu", len))
		return;
	backtrace->reg = arch_kpkeys_read_reg();
	backtrace->by_nmi = in_nmi();
	WRITE_ONCE(backtrace->seen, true);
}

static void ask_for_backtrace(struct work_struct *work)
{
	struct backtrace *backtrace = container_of(work, struct backtrace, work);

	trigger_single_cpu_backtrace(backtrace->cpu);
}

/* Masked, so that only an NMI comes, and on arm64 by its own entry code. */
static int store_after_backtrace(struct backtrace *backtrace)
{
	ktime_t end = ktime_add_ms(ktime_get(), 1000);

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	while (!READ_ONCE(backtrace->seen) && ktime_before(ktime_get(), end))
		cpu_relax();
	return kpkeys_test_store();
}

static int interrupt_by_backtrace(struct backtrace *backtrace)
{
	unsigned int other;
	int after = -ENODEV;

	migrate_disable();
	backtrace->cpu = raw_smp_processor_id();
	other = cpumask_any_but(cpu_online_mask, backtrace->cpu);
	if (other < nr_cpu_ids) {
		schedule_work_on(other, &backtrace->work);
		after = store_after_backtrace(backtrace);
		flush_work(&backtrace->work);
	}
	migrate_enable();
	return after;
}

/* A section of its own, with values of its own. */
static void irq_keep(struct irq_work *work)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_keep(entry, NULL);
	kpkeys_keep(value, ~0ULL);
	kpkeys_keep(done, false);
}

static void test_interrupt_gives_values_back(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(irq_keep);
	u64 *entry, value;
	bool done;

	scoped_guard(kpkeys_hardened_pgtables) {
		kpkeys_keep(entry, &value);
		kpkeys_keep(value, 0x123456789);
		kpkeys_keep(done, true);
		irq_work_queue(&work);
		while (irq_work_is_busy(&work))
			cpu_relax();
		entry = kpkeys_kept(entry);
		value = kpkeys_kept(value);
		done = kpkeys_kept(done);
	}
	KUNIT_EXPECT_PTR_EQ(test, entry, &value);
	KUNIT_EXPECT_EQ(test, value, 0x123456789);
	KUNIT_EXPECT_TRUE(test, done);
}

/* The register while an NMI prints; a console would see it only later. */
static void test_nmi_runs_shut(struct kunit *test)
{
	struct backtrace backtrace = { .reg = ~0 };
	int after;

	INIT_WORK_ONSTACK(&backtrace.work, ask_for_backtrace);
	KUNIT_ASSERT_EQ(test, register_trace_console(watch_printk, &backtrace), 0);
	after = interrupt_by_backtrace(&backtrace);
	unregister_trace_console(watch_printk, &backtrace);
	tracepoint_synchronize_unregister();
	destroy_work_on_stack(&backtrace.work);
	if (!backtrace.by_nmi)
		kunit_skip(test, "no other CPU can send an NMI");
	KUNIT_EXPECT_EQ(test, backtrace.reg,
			(kpkeys_reg_t)ARCH_KPKEYS_REG_DEFAULT);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static int leave_open(void *done)
{
	scoped_guard(preempt)
		__kpkeys_raise(KPKEYS_LVL_PGTABLES, KPKEYS_LVL_DEFAULT);
	schedule_timeout_uninterruptible(1);
	seen = kpkeys_test_store();
	complete(done);
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
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
}

static unsigned long nr_left_open(void)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(kpkeys_counters.left_open, cpu);
	return sum;
}

/* The copy says that all is shut. */
static int open_register(void *done)
{
	arch_kpkeys_write_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES));
	schedule_timeout_uninterruptible(1);
	seen = kpkeys_test_store();
	complete(done);
	return 0;
}

static void test_switch_finds_register(struct kunit *test)
{
	unsigned long before = nr_left_open();
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;

	seen = 1;
	task = kthread_run(open_register, &done, "kpkeys-test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&done);
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
	KUNIT_EXPECT_EQ(test, nr_left_open() - before, 1);
}

/* An interrupt shut the gate when somebody else has run here, and remembers. */
static int spin_until_preempted(struct completion *done)
{
	unsigned long nr = current->nivcsw, end = jiffies + 10 * HZ;

	while (READ_ONCE(current->nivcsw) == nr && time_before(jiffies, end))
		cpu_relax();
	seen = kpkeys_test_store();
	complete(done);
	return 0;
}

static int open_register_and_spin(void *done)
{
	arch_kpkeys_write_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES));
	return spin_until_preempted(done);
}

/* With an interrupt as the only way to the other task. */
static int leave_open_and_spin(void *done)
{
	preempt_disable();
	__kpkeys_raise(KPKEYS_LVL_PGTABLES, KPKEYS_LVL_DEFAULT);
	preempt_enable_no_resched();
	return spin_until_preempted(done);
}

static int spin(void *data)
{
	while (!kthread_should_stop())
		cpu_relax();
	return 0;
}

static void preempt_and_count(struct kunit *test, int (*open)(void *done))
{
	unsigned long before = nr_left_open();
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task, *rival;

	KPKEYS_TEST_REQUIRES(test, IS_ENABLED(CONFIG_PREEMPT));
	seen = 1;
	rival = kthread_run_on_cpu(spin, NULL, 0, "kpkeys-rival/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(rival));
	task = kthread_run_on_cpu(open, &done, 0, "kpkeys-test/%u");
	if (!IS_ERR(task))
		wait_for_completion(&done);
	kthread_stop(rival);
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
	KUNIT_EXPECT_EQ(test, nr_left_open() - before, 1);
}

static void test_preemption_finds_register(struct kunit *test)
{
	preempt_and_count(test, open_register_and_spin);
}

static void test_preemption_finds_section(struct kunit *test)
{
	preempt_and_count(test, leave_open_and_spin);
}

static struct kunit_case level_cases[] = {
	KUNIT_CASE(test_level_registers),
	KUNIT_CASE(test_unknown_level_grants_nothing),
	KUNIT_CASE(test_tampered_level_grants_nothing),
	KUNIT_CASE(test_default_denies),
	KUNIT_CASE(test_denied_store_counts),
	KUNIT_CASE(test_guard_allows),
	KUNIT_CASE(test_guard_nests),
	KUNIT_CASE(test_state_is_keyed),
	KUNIT_CASE(test_lazy_mode_is_shut),
	KUNIT_CASE(test_run_holds),
	KUNIT_CASE(test_interrupt_runs_shut),
	KUNIT_CASE(test_held_section_interrupted),
	KUNIT_CASE(test_message_is_stored_shut),
	KUNIT_CASE(test_softirq_runs_shut),
	KUNIT_CASE(test_softirqs_take_no_frame),
	KUNIT_CASE(test_warn_runs_shut),
	KUNIT_CASE(test_interrupt_gives_values_back),
	KUNIT_CASE(test_nmi_runs_shut),
	KUNIT_CASE(test_switch_closes),
	KUNIT_CASE(test_switch_finds_register),
	KUNIT_CASE(test_preemption_finds_register),
	KUNIT_CASE(test_preemption_finds_section),
	{}
};

static struct kunit_suite level_suite = {
	.name = "kpkeys-levels",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = level_cases,
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

kunit_test_suite(level_suite);
