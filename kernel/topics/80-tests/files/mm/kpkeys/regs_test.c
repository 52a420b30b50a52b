// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: the registers of interrupted code, and where they are saved. A
 * handler changes the frame or its stack, as a store from another CPU would
 * while it runs.
 */
#include <linux/kpkeys_patching.h>
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/hrtimer.h>
#include <linux/hw_breakpoint.h>
#include <linux/kpkeys_breakpoints.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>

#ifdef CONFIG_X86_64
#include <asm/desc.h>
#include <asm/irq_regs.h>
#include <asm/processor.h>
#endif

#include "internal.h"

#define VALUE		0x1234UL
#define OTHER		0x5678UL

#ifdef CONFIG_X86_64
#define FIRST(frame)	((frame)->bx)
#define SECOND(frame)	((frame)->r12)
#define FIRST_NAME	"rbx"
#define SECOND_NAME	"r12"
#define CLOBBERS	"cc"
#define WAIT_FOR(flag)							\
	"1: pause\n\t"							\
	"cmpl $0, " flag "\n\t"						\
	"je 1b"
#define STORE_ZERO(to)	"movq $0, " to
#else
#define FIRST(frame)	((frame)->regs[19])
#define SECOND(frame)	((frame)->regs[20])
#define FIRST_NAME	"x19"
#define SECOND_NAME	"x20"
#define CLOBBERS	"x9"
#define WAIT_FOR(flag)							\
	"1: yield\n\t"							\
	"ldr w9, " flag "\n\t"						\
	"cbz w9, 1b"
#define STORE_ZERO(to)	"str xzr, " to
#endif

static int done;

/* Again, if it came before who waits for it had his registers. */
static enum hrtimer_restart change_frame(struct hrtimer *timer)
{
	struct pt_regs *regs = get_irq_regs();

	if (!regs || FIRST(regs) != VALUE || SECOND(regs) != VALUE) {
		hrtimer_forward_now(timer, ms_to_ktime(1));
		return HRTIMER_RESTART;
	}
	FIRST(regs) = OTHER;
	SECOND(regs) = OTHER;
	WRITE_ONCE(done, 1);
	return HRTIMER_NORESTART;
}

/* Return: false if one of the two registers changed. */
static noinline bool wait_with_registers(void)
{
	register unsigned long first asm(FIRST_NAME) = VALUE;
	register unsigned long second asm(SECOND_NAME) = VALUE;

	asm volatile(WAIT_FOR("%[done]")
		     : "+r" (first), "+r" (second)
		     : [done] "m" (done)
		     : "memory", CLOBBERS);
	return first == VALUE && second == VALUE;
}

static bool wait_for_timer(void)
{
	struct hrtimer timer;
	bool kept;

	done = 0;
	hrtimer_setup_on_stack(&timer, change_frame, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);
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

#ifdef CONFIG_X86_64
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

/* As kprobes do. */
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
#else
/* Begins with what is probed. */
static noinline notrace unsigned long run_probed(unsigned long value)
{
	asm volatile("add x9, x9, #1" : "+r" (value) : : "x9", "memory");
	return value;
}

static int answer_probe(struct kprobe *probe, struct pt_regs *regs)
{
	regs->regs[0] = OTHER;
	return 0;
}

/* By a BRK, and one more behind the instruction. */
static void test_trap_changes_registers(struct kunit *test)
{
	static struct kprobe probe = {
		.addr = (kprobe_opcode_t *)run_probed,
		.pre_handler = answer_probe,
	};
	unsigned long value;
	int after;

	if (!IS_ENABLED(CONFIG_KPROBES))
		kunit_skip(test, "needs kprobes");
	KPKEYS_TEST_REQUIRES(test, kpkeys_kernel_probes);
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe), 0);
	scoped_guard(kpkeys_hardened_pgtables) {
		value = run_probed(VALUE);
		after = kpkeys_test_store();
	}
	unregister_kprobe(&probe);
	KUNIT_EXPECT_EQ(test, value, OTHER);
	KUNIT_EXPECT_EQ(test, after, 0);
}
#endif

static unsigned long watched;
static int hits;

/* Who has a handler of his own is not stepped: the store is not watched again. */
static void answer_watchpoint(struct perf_event *event,
			      struct perf_sample_data *data, struct pt_regs *regs)
{
	hits += FIRST(regs) == VALUE;
	FIRST(regs) = OTHER;
#ifdef CONFIG_ARM64
	sysreg_clear_set(mdscr_el1, MDSCR_EL1_KDE, 0);
#endif
}

static noinline unsigned long store_watched(void)
{
	register unsigned long value asm(FIRST_NAME) = VALUE;

	asm volatile(STORE_ZERO("%[watched]")
		     : "+r" (value), [watched] "=m" (watched) : : "memory");
	return value;
}

/* Where it is, is ordinary memory, and any process may have one. */
static void test_watchpoint_keeps_registers(struct kunit *test)
{
	struct perf_event * __percpu *events;
	struct perf_event_attr attr;
	unsigned long value;
	int after;

	KPKEYS_TEST_REQUIRES(test, kpkeys_breaks_in_kernel());
	kpkeys_test_watch(&attr, &watched);
	hits = 0;
	events = register_wide_hw_breakpoint(&attr, answer_watchpoint, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR((void __force *)events));
	scoped_guard(kpkeys_hardened_pgtables) {
		value = store_watched();
		after = kpkeys_test_store();
	}
	unregister_wide_hw_breakpoint(events);
	KUNIT_EXPECT_EQ(test, hits, 1);
	KUNIT_EXPECT_EQ(test, value, VALUE);
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

#ifdef CONFIG_X86_64
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

/* It says where the TSS is, and to NMIs which CPU this is. */
static void test_gdt_is_state(struct kunit *test)
{
	struct desc_struct *entry, old;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		entry = get_cpu_gdt_rw(cpu) + GDT_ENTRY_CPUNODE;
		old = *entry;
		KUNIT_EXPECT_EQ(test, cpu, get_desc_limit(entry) & VDSO_CPUNODE_MASK);
		KUNIT_EXPECT_EQ(test, -EFAULT,
				copy_to_kernel_nofault(entry, &old, sizeof(old)));
		KUNIT_EXPECT_EQ(test, KPKEYS_PKEY_STATE,
				arch_kpkeys_addr_pkey((unsigned long)entry));
	}
}

static u64 load_segment(u64 word)
{
	u64 *slot = (u64 *)&current->thread.tls_array[1], old = *slot, seen;

	guard(preempt)();
	*slot = word;
	load_TLS(&current->thread, smp_processor_id());
	seen = *(u64 *)(get_current_gdt_rw() + GDT_ENTRY_TLS_MIN + 1);
	*slot = old;
	load_TLS(&current->thread, smp_processor_id());
	return seen;
}

#define DATA_OF_USER	0x00cff3000000ffffUL
#define CALL_GATE	0x0000ec0000100000UL	/* for everybody */
#define CODE_OF_KERNEL	0x00af9b000000ffffUL
#define FREE_TSS	0x0000890000000067UL

/* A task's segments are ordinary memory. */
static void test_forged_segment(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DATA_OF_USER, load_segment(DATA_OF_USER));
	KUNIT_EXPECT_EQ(test, 0, load_segment(0));
	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	KUNIT_EXPECT_EQ(test, 0, load_segment(CALL_GATE));
	KUNIT_EXPECT_EQ(test, 0, load_segment(CODE_OF_KERNEL));
	KUNIT_EXPECT_EQ(test, 0, load_segment(FREE_TSS));
}
#endif

#ifdef CONFIG_ARM64
/* Whether a CPU that starts or wakes is to have overlays. */
static void test_capabilities_are_constant(struct kunit *test)
{
	void *bits = system_cpucaps;

	KUNIT_EXPECT_TRUE(test, bits >= (void *)__start_ro_after_init &&
				bits < (void *)__end_ro_after_init);
}

/* By a task's copy, which is ordinary memory. */
static void test_user_bits_of_control_register(struct kunit *test)
{
	u64 mine = READ_ONCE(current->thread.sctlr_user), before, after;

	preempt_disable();
	before = read_sysreg(sctlr_el1);
	update_sctlr_el1(mine | SCTLR_EL1_UMA);
	after = read_sysreg(sctlr_el1);
	write_sysreg(before, sctlr_el1);
	isb();
	preempt_enable();
	KUNIT_EXPECT_EQ(test, before & SCTLR_EL1_UMA, 0);
	KUNIT_EXPECT_EQ(test, after & SCTLR_EL1_UMA, 0);
}
#endif

static struct kunit_case regs_cases[] = {
	KUNIT_CASE(test_interrupt_changes_registers),
	KUNIT_CASE(test_section_keeps_registers),
	KUNIT_CASE(test_trap_changes_registers),
	KUNIT_CASE(test_watchpoint_keeps_registers),
#ifdef CONFIG_ARM64
	KUNIT_CASE(test_capabilities_are_constant),
	KUNIT_CASE(test_user_bits_of_control_register),
#endif
	KUNIT_CASE(test_fixup_changes_registers),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_tss_is_state),
	KUNIT_CASE(test_gdt_is_state),
	KUNIT_CASE(test_forged_segment),
#endif
	{}
};

static struct kunit_suite regs_suite = {
	.name = "kpkeys-regs",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = regs_cases,
};
kunit_test_suite(regs_suite);
