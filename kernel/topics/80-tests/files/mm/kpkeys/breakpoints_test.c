// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: no breakpoint is in the kernel, unless the command line allows it. */
#include <linux/kpkeys_test.h>
#include <linux/hw_breakpoint.h>
#include <linux/kallsyms.h>
#include <linux/kpkeys_breakpoints.h>
#include <linux/perf_event.h>
#ifdef CONFIG_X86_64
#include <asm/debugreg.h>
#else
#include <asm/debug-monitors.h>
#endif

#include "internal.h"

static unsigned long watched;
static int hits;

static void count_hit(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	hits++;
#ifdef CONFIG_ARM64
	sysreg_clear_set(mdscr_el1, MDSCR_EL1_KDE, 0);
#endif
}

/* Who asks is told so, and it is no violation. */
static void test_kernel_breakpoint_is_turned_down(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();
	struct perf_event * __percpu *events;
	struct perf_event_attr attr;
	long err;

	KPKEYS_TEST_REQUIRES(test, !kpkeys_breaks_in_kernel());
	kpkeys_test_watch(&attr, &watched);
	events = register_wide_hw_breakpoint(&attr, count_hit, NULL);
	err = PTR_ERR_OR_ZERO((void __force *)events);
	if (!err)
		unregister_wide_hw_breakpoint(events);
	KUNIT_EXPECT_EQ(test, err, -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
}

static void move_to_kernel(struct perf_event *event, void *at)
{
	struct arch_hw_breakpoint *info = counter_arch_bp(event);

	info->address = (unsigned long)at;
#ifdef CONFIG_ARM64
	info->ctrl.privilege = AARCH64_BREAKPOINT_EL1;
#endif
}

/* It is not enabled yet. */
static struct perf_event *breakpoint_of_process(struct kunit *test)
{
	struct perf_event_attr attr;
	struct perf_event *event;

	kpkeys_test_watch(&attr, (void *)PAGE_SIZE);
	attr.disabled = true;
	event = register_user_hw_breakpoint(&attr, count_hit, NULL, current);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	return event;
}

/* One of user space, moved in its event, which is ordinary memory. */
static void test_moved_breakpoint(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();
	struct perf_event *event;

	KPKEYS_TEST_REQUIRES(test, !kpkeys_breaks_in_kernel());
	event = breakpoint_of_process(test);
	hits = 0;
	move_to_kernel(event, &watched);
	perf_event_enable(event);
	WRITE_ONCE(watched, 0);
	unregister_hw_breakpoint(event);
	KUNIT_EXPECT_EQ(test, hits, 0);
	/* One: the event is pinned, and is not tried again. */
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
}

#ifdef CONFIG_X86_64
#define GENERAL_DETECT	BIT(13)		/* in DR7: stop ahead of the next MOV to one */

static unsigned long address_in_register(void)
{
	unsigned long address;

	asm volatile("mov %%db3, %0" : "=r" (address));
	return address;
}

static unsigned long written_address(void *at)
{
	unsigned long addresses[HBP_NUM] = { [3] = (unsigned long)at }, written;

	guard(irqsave)();
	arch_kpkeys_set_breakpoints(addresses);
	written = address_in_register();
	hw_breakpoint_restore();
	return written;
}

/* Whatever was looked at before. */
static void test_register_takes_no_kernel_breakpoint(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, !kpkeys_breaks_in_kernel());
	KUNIT_EXPECT_EQ(test, written_address((void *)PAGE_SIZE), PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, written_address(&watched), 0);
	KUNIT_EXPECT_EQ(test, written_address((void *)TASK_SIZE_MAX), 0);
}

/* From the copies for each CPU. */
static void test_restored_breakpoint(struct kunit *test)
{
	unsigned long (__percpu *copies)[HBP_NUM];
	unsigned long *copy, address, control;

	copies = (void __percpu *)kallsyms_lookup_name("cpu_debugreg");
	KPKEYS_TEST_REQUIRES(test, copies && !kpkeys_breaks_in_kernel());
	scoped_guard(irqsave) {
		copy = &(*this_cpu_ptr(copies))[3];
		*copy = (unsigned long)&watched;
		this_cpu_or(cpu_dr7, GENERAL_DETECT);
		hw_breakpoint_restore();
		address = address_in_register();
		get_debugreg(control, 7);
		*copy = 0;
		this_cpu_and(cpu_dr7, ~GENERAL_DETECT);
		hw_breakpoint_restore();
	}
	KUNIT_EXPECT_EQ(test, address, 0);
	KUNIT_EXPECT_EQ(test, control & GENERAL_DETECT, 0);
}

/* What a guest left over is not what somebody enables with his own. */
static void test_all_registers_are_written(struct kunit *test)
{
	unsigned long address, control;
	struct perf_event *event;

	KPKEYS_TEST_REQUIRES(test, !kpkeys_breaks_in_kernel());
	event = breakpoint_of_process(test);
	migrate_disable();
	this_cpu_or(cpu_dr7, GENERAL_DETECT);
	native_set_debugreg(3, (unsigned long)&watched);
	perf_event_enable(event);
	address = address_in_register();
	get_debugreg(control, 7);
	this_cpu_and(cpu_dr7, ~GENERAL_DETECT);
	migrate_enable();
	unregister_hw_breakpoint(event);
	KUNIT_EXPECT_EQ(test, address, 0);
	KUNIT_EXPECT_NE(test, control & DR_GLOBAL_ENABLE_MASK, 0);
	KUNIT_EXPECT_EQ(test, control & GENERAL_DETECT, 0);
}
#else
static void test_register_takes_no_kernel_breakpoint(struct kunit *test)
{
	struct pt_regs regs = { };
	u64 control, step;

	KPKEYS_TEST_REQUIRES(test, !kpkeys_breaks_in_kernel());
	scoped_guard(irqsave) {
		enable_debug_monitors(DBG_ACTIVE_EL1);
		control = read_sysreg(mdscr_el1);
		disable_debug_monitors(DBG_ACTIVE_EL1);
		kernel_enable_single_step(&regs);
		step = read_sysreg(mdscr_el1);
		write_sysreg(step & ~MDSCR_EL1_SS, mdscr_el1);
	}
	KUNIT_EXPECT_EQ(test, control & (MDSCR_EL1_KDE | MDSCR_EL1_MDE), MDSCR_EL1_MDE);
	KUNIT_EXPECT_EQ(test, step & MDSCR_EL1_SS, 0);
}
#endif

static struct kunit_case breakpoints_cases[] = {
	KUNIT_CASE(test_kernel_breakpoint_is_turned_down),
	KUNIT_CASE(test_moved_breakpoint),
	KUNIT_CASE(test_register_takes_no_kernel_breakpoint),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_restored_breakpoint),
	KUNIT_CASE(test_all_registers_are_written),
#endif
	{}
};

static struct kunit_suite breakpoints_suite = {
	.name = "kpkeys-breakpoints",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = breakpoints_cases,
};
kunit_test_suite(breakpoints_suite);
