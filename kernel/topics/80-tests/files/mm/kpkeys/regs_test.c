// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: the registers of interrupted code, and where they are saved. A
 * handler changes the frame or its stack, as a store from another CPU would
 * while it runs.
 */
#include <linux/kpkeys_test.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/uaccess.h>

#ifdef CONFIG_X86_64
#include <asm/fsgsbase.h>
#include <asm/irq_regs.h>
#include <asm/processor.h>
#endif

#include "internal.h"

#ifdef CONFIG_X86_64
#define VALUE		0x1234UL
#define OTHER		0x5678UL

static int done;

/* Again, if it came before who waits for it had his registers. */
static enum hrtimer_restart change_frame(struct hrtimer *timer)
{
	struct pt_regs *regs = get_irq_regs();

	if (!regs || regs->bx != VALUE || regs->r12 != VALUE) {
		hrtimer_forward_now(timer, ms_to_ktime(1));
		return HRTIMER_RESTART;
	}
	regs->bx = OTHER;
	regs->r12 = OTHER;
	WRITE_ONCE(done, 1);
	return HRTIMER_NORESTART;
}

/* Return: false if one of the two registers changed. */
static noinline bool wait_with_registers(void)
{
	register unsigned long second asm("r12") = VALUE;
	unsigned long first = VALUE;

	asm volatile("1: pause\n\t"
		     "cmpl $0, %[done]\n\t"
		     "je 1b"
		     : "+b" (first), "+r" (second)
		     : [done] "m" (done)
		     : "cc", "memory");
	return first == VALUE && second == VALUE;
}

static bool wait_for_timer(void)
{
	struct hrtimer timer;
	bool kept;

	done = 0;
	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = change_frame;
	hrtimer_start(&timer, ms_to_ktime(2), HRTIMER_MODE_REL_PINNED_HARD);
	kept = wait_with_registers();
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	return kept;
}

/* Of code with a shut gate nobody keeps registers: so the change is a real one. */
static void test_interrupt_changes_registers(struct kunit *test)
{
	bool kept;

	preempt_disable();
	kept = wait_for_timer();
	preempt_enable();
	KUNIT_EXPECT_FALSE(test, kept);
}

static void test_section_keeps_registers(struct kunit *test)
{
	unsigned long before;
	bool kept;
	int after;

	scoped_guard(kpkeys_hardened_pgtables) {
		before = raw_cpu_read(kpkeys_counters.violations);
		kept = wait_for_timer();
		before -= raw_cpu_read(kpkeys_counters.violations);
		after = kpkeys_test_store();
	}
	KUNIT_EXPECT_TRUE(test, kept);
	KUNIT_EXPECT_EQ(test, after, 0);
	KUNIT_EXPECT_EQ(test, before, -1UL);
}

static int answer_int3(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3 || args->regs->bx != VALUE)
		return NOTIFY_DONE;
	args->regs->bx = OTHER;
	return NOTIFY_STOP;
}

static unsigned long int3(void)
{
	unsigned long value = VALUE;

	asm volatile("int3" : "+b" (value) : : "memory");
	return value;
}

/* Kprobes do. */
static void test_trap_changes_registers(struct kunit *test)
{
	static struct notifier_block nb = { .notifier_call = answer_int3 };
	unsigned long value;
	int after;

	KUNIT_ASSERT_EQ(test, register_die_notifier(&nb), 0);
	scoped_guard(kpkeys_hardened_pgtables) {
		value = int3();
		after = kpkeys_test_store();
	}
	unregister_die_notifier(&nb);
	KUNIT_EXPECT_EQ(test, value, OTHER);
	KUNIT_EXPECT_EQ(test, after, 0);
}

/* A fault with a fixup goes on there, and says so in a register. */
static void test_fixup_changes_registers(struct kunit *test)
{
	unsigned long value;
	int err, after;

	scoped_guard(kpkeys_hardened_pgtables) {
		err = copy_from_kernel_nofault(&value, (void *)-PAGE_SIZE, sizeof(value));
		after = kpkeys_test_store();
	}
	KUNIT_EXPECT_NE(test, err, 0);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static int changed;

/* Entry code has it in a register, which the handler's functions push. */
static void change_saved_base(const struct pt_regs *regs, unsigned long base)
{
	unsigned long *word = __builtin_frame_address(0);

	for (; word < (unsigned long *)regs; word++) {
		if (READ_ONCE(*word) != base)
			continue;
		WRITE_ONCE(*word, base + OTHER);
		changed++;
	}
}

static int answer_step(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_DEBUG)
		return NOTIFY_DONE;
	change_saved_base(args->regs, rdgsbase());
	args->regs->flags &= ~X86_EFLAGS_TF;
	return NOTIFY_STOP;
}

/* Nothing but registers until it is put right. */
static unsigned long gs_base_behind_step(void)
{
	unsigned long base = rdgsbase(), after;

	asm volatile("pushfq\n\t"
		     "orq %[tf], (%%rsp)\n\t"
		     "popfq\n\t"
		     "nop\n\t"
		     "rdgsbase %[after]\n\t"
		     "wrgsbase %[base]"
		     : [after] "=&r" (after)
		     : [base] "r" (base), [tf] "i" (X86_EFLAGS_TF)
		     : "cc", "memory");
	return after - base;
}

static void test_trap_keeps_gs_base(struct kunit *test)
{
	static struct notifier_block nb = { .notifier_call = answer_step };
	unsigned long flags, moved;

	KPKEYS_TEST_REQUIRES(test, boot_cpu_has(X86_FEATURE_FSGSBASE));
	KUNIT_ASSERT_EQ(test, register_die_notifier(&nb), 0);
	changed = 0;
	local_irq_save(flags);
	moved = gs_base_behind_step();
	local_irq_restore(flags);
	unregister_die_notifier(&nb);
	KUNIT_EXPECT_GT(test, changed, 0);
	KUNIT_EXPECT_EQ(test, moved, 0);
}

/* Where the CPU pushes frames to, it pushes them from open sections, too. */
static void test_tss_is_state(struct kunit *test)
{
	struct tss_struct *tss;
	unsigned int cpu;
	u64 stack;

	for_each_possible_cpu(cpu) {
		tss = per_cpu_ptr(&cpu_tss_rw, cpu);
		stack = READ_ONCE(tss->x86_tss.ist[IST_INDEX_NMI]);
		KUNIT_EXPECT_NE(test, stack, 0);
		KUNIT_EXPECT_EQ(test, -EFAULT,
				copy_to_kernel_nofault(&tss->x86_tss.ist[IST_INDEX_NMI],
						       &stack, sizeof(stack)));
		KUNIT_EXPECT_EQ(test, KPKEYS_PKEY_STATE,
				arch_kpkeys_addr_pkey((unsigned long)tss));
		KUNIT_EXPECT_EQ(test, KPKEYS_PKEY_DEFAULT,
				arch_kpkeys_addr_pkey((unsigned long)&tss->entry_scratch));
	}
}

static struct kunit_case regs_cases[] = {
	KUNIT_CASE(test_interrupt_changes_registers),
	KUNIT_CASE(test_section_keeps_registers),
	KUNIT_CASE(test_trap_changes_registers),
	KUNIT_CASE(test_fixup_changes_registers),
	KUNIT_CASE(test_trap_keeps_gs_base),
	KUNIT_CASE(test_tss_is_state),
	{}
};

static struct kunit_suite regs_suite = {
	.name = "kpkeys-regs",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = regs_cases,
};
kunit_test_suite(regs_suite);
#endif
