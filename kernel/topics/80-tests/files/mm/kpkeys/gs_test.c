// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of x86-64: whose GS base is in force. Exceptions come where user space's
 * is, and their handlers change what is on the stack, as a store from another CPU would.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kpkeys_test.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/fsgsbase.h>
#include <asm/kpkeys_compat.h>
#include <asm/nmi.h>
#include <asm/processor.h>

#include "internal.h"

#define VALUE		0x1234UL
#define OTHER		0x5678UL

/* What entry code has in a register, the handler's functions push. */
static void change_saved_base(const struct pt_regs *regs, unsigned long base)
{
	unsigned long *word = __builtin_frame_address(0);

	for (; word < (unsigned long *)regs; word++)
		if (READ_ONCE(*word) == base)
			WRITE_ONCE(*word, OTHER);
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

/* User space's is the same, which it may well be: it looks as if that were in force. */
static void test_trap_keeps_gs_base(struct kunit *test)
{
	static struct notifier_block nb = { .notifier_call = answer_step };
	unsigned long users, moved;

	KPKEYS_TEST_REQUIRES(test, boot_cpu_has(X86_FEATURE_FSGSBASE));
	KUNIT_ASSERT_EQ(test, register_die_notifier(&nb), 0);
	scoped_guard(irqsave) {
		rdmsrq(MSR_KERNEL_GS_BASE, users);
		wrmsrq(MSR_KERNEL_GS_BASE, rdgsbase());
		moved = gs_base_behind_step();
		wrmsrq(MSR_KERNEL_GS_BASE, users);
	}
	unregister_die_notifier(&nb);
	KUNIT_EXPECT_EQ(test, moved, 0);
}

/* What handlers saw of one that came while user space's base was in force. */
static struct {
	unsigned long	frame;
	unsigned long	noted;
	unsigned long	noted_nested;
	unsigned long	users;
	unsigned long	own;
	int		cpu;
	int		waits;
	int		nmis;
} seen;

static int see_nmi(unsigned int type, struct pt_regs *regs)
{
	if (smp_processor_id() != seen.cpu)
		return NMI_DONE;
	seen.noted_nested = raw_cpu_read(kpkeys_cpu.user_gs);
	if (!seen.frame) {
		seen.frame = (unsigned long)regs;
		seen.noted = seen.noted_nested;
		rdmsrq(MSR_KERNEL_GS_BASE, seen.users);
	}
	WRITE_ONCE(seen.nmis, seen.nmis + 1);
	return NMI_HANDLED;
}

static int see_step(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_DEBUG || smp_processor_id() != seen.cpu)
		return NOTIFY_DONE;
	seen.frame = (unsigned long)args->regs;
	seen.noted = raw_cpu_read(kpkeys_cpu.user_gs);
	rdmsrq(MSR_KERNEL_GS_BASE, seen.users);
	apic->send_IPI(seen.cpu, NMI_VECTOR);
	mdelay(10);
	args->regs->flags &= ~X86_EFLAGS_TF;
	return NOTIFY_STOP;
}

/* As entry code does: no per-CPU data until the second SWAPGS. */
static void step_with_users_base(void)
{
	asm volatile("pushfq\n\t"
		     "orq %[tf], (%%rsp)\n\t"
		     "swapgs\n\t"
		     "popfq\n\t"
		     "nop\n\t"
		     "swapgs"
		     : : [tf] "i" (X86_EFLAGS_TF) : "cc", "memory");
}

static void wait_with_users_base(void)
{
	asm volatile("swapgs\n\t"
		     "movl $1, %[waits]\n\t"
		     "1: pause\n\t"
		     "cmpl $0, %[nmis]\n\t"
		     "je 1b\n\t"
		     "swapgs"
		     : [waits] "=m" (seen.waits) : [nmis] "m" (seen.nmis) : "cc", "memory");
}

static void send_nmi(void *cpu)
{
	while (!READ_ONCE(seen.waits))
		cpu_relax();
	apic->send_IPI((long)cpu, NMI_VECTOR);
}

/* Return: user space's base, as it is behind that; VALUE is what it was. */
static unsigned long in_users_base(void (*what)(void))
{
	unsigned long users, after;

	guard(irqsave)();
	rdmsrq(MSR_GS_BASE, seen.own);
	rdmsrq(MSR_KERNEL_GS_BASE, users);
	wrmsrq(MSR_KERNEL_GS_BASE, VALUE);
	what();
	rdmsrq(MSR_KERNEL_GS_BASE, after);
	wrmsrq(MSR_KERNEL_GS_BASE, users);
	return after;
}

static void expect_noted(struct kunit *test, unsigned long after)
{
	KUNIT_EXPECT_EQ(test, after, VALUE);
	KUNIT_EXPECT_EQ(test, seen.users, VALUE);
	KUNIT_EXPECT_NE(test, seen.frame, 0);
	KUNIT_EXPECT_EQ(test, seen.noted, seen.frame);
	KUNIT_EXPECT_EQ(test, raw_cpu_read(kpkeys_cpu.user_gs), 0);
}

static int see_int3(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3 || smp_processor_id() != seen.cpu)
		return NOTIFY_DONE;
	seen.frame = (unsigned long)args->regs;
	args->regs->ss |= 4;	/* of the LDT, as some programs of 16 bits have */
	return NOTIFY_STOP;
}

/* Where no exception but a paranoid one should come. */
static void trap_with_users_base(void)
{
	asm volatile("swapgs\n\t"
		     "int3\n\t"
		     "swapgs"
		     : : : "cc", "memory");
}

static void trap(void)
{
	asm volatile("int3" : : : "cc", "memory");
}

/* With preemption off. */
static void look_here(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.cpu = smp_processor_id();
}

static unsigned long trap_in(struct kunit *test, notifier_fn_t handler, void (*what)(void))
{
	struct notifier_block nb = { .notifier_call = handler };
	unsigned long after;

	KUNIT_ASSERT_EQ(test, register_die_notifier(&nb), 0);
	scoped_guard(preempt) {
		look_here();
		after = in_users_base(what);
	}
	unregister_die_notifier(&nb);
	KUNIT_EXPECT_NE(test, seen.frame, 0);
	return after;
}

/* What else the frame says decides neither which base its handler has nor who goes on. */
static void test_trap_has_kernels_base(struct kunit *test)
{
	unsigned long after;

	KPKEYS_TEST_REQUIRES(test, boot_cpu_has(X86_FEATURE_FSGSBASE));
	after = trap_in(test, see_int3, trap_with_users_base);
	KUNIT_EXPECT_EQ(test, after, seen.own);
}

static void test_return_to_kernel_has_no_ldt(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, VALUE, trap_in(test, see_int3, trap));
}

/* An NMI of its handler is not the one that leaves with user space's base. */
static void test_trap_notes_user_gs(struct kunit *test)
{
	unsigned long after;

	KUNIT_ASSERT_EQ(test, 0, register_nmi_handler(NMI_LOCAL, see_nmi, 0, "kpkeys-test"));
	after = trap_in(test, see_step, step_with_users_base);
	unregister_nmi_handler(NMI_LOCAL, "kpkeys-test");
	expect_noted(test, after);
	KUNIT_EXPECT_EQ(test, seen.nmis, 1);
	KUNIT_EXPECT_EQ(test, seen.noted_nested, seen.frame);
}

static unsigned long wait_for_nmi(void)
{
	int other;

	guard(preempt)();
	look_here();
	other = cpumask_any_but(cpu_online_mask, seen.cpu);
	smp_call_function_single(other, send_nmi, (void *)(long)seen.cpu, false);
	return in_users_base(wait_with_users_base);
}

static void test_nmi_notes_user_gs(struct kunit *test)
{
	unsigned long after;

	KPKEYS_TEST_REQUIRES(test, num_online_cpus() > 1);
	KUNIT_ASSERT_EQ(test, 0, register_nmi_handler(NMI_LOCAL, see_nmi, 0, "kpkeys-test"));
	after = wait_for_nmi();
	unregister_nmi_handler(NMI_LOCAL, "kpkeys-test");
	expect_noted(test, after);
}

static struct kunit_case gs_cases[] = {
	KUNIT_CASE(test_trap_keeps_gs_base),
	KUNIT_CASE(test_trap_notes_user_gs),
	KUNIT_CASE(test_nmi_notes_user_gs),
	KUNIT_CASE(test_trap_has_kernels_base),
	KUNIT_CASE(test_return_to_kernel_has_no_ldt),
	{}
};

static struct kunit_suite gs_suite = {
	.name = "kpkeys-gs",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = gs_cases,
};
kunit_test_suite(gs_suite);
