// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate across exceptions, softirqs, task switches and the return to user
 * space.
 *
 * What an exception interrupts is pushed to a per-CPU stack that is writable
 * at a raised level only, together with the address of the exception frame.
 * The way back looks at that stack alone: neither the frame nor the task holds
 * anything that could be changed to open the gate.
 *
 * So are the registers of what was interrupted, which say what it will store
 * and where: the frame is on a stack, and its handler may take long.
 *
 * All accesses are relative to the CPU's base register. raw_cpu_ptr() would
 * take the offset from ordinary memory.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bug.h>
#include <linux/export.h>
#include <linux/extable.h>
#include <linux/filter.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "internal.h"

/* Before the code that every way from user space goes through, or behind it. */
static __always_inline bool is_users(kpkeys_reg_t reg)
{
	return reg != ARCH_KPKEYS_REG_DEFAULT && reg == ARCH_KPKEYS_REG_USER;
}

/* What audit lets through runs with more than any level has. */
static __always_inline bool valid_reg(kpkeys_reg_t reg)
{
	unsigned int level;

	if (is_users(reg))
		return true;
	for (level = 0; level < KPKEYS_NR_LEVELS; level++)
		if (reg == kpkeys_level_reg(level))
			return true;
	return reg == kpkeys_audit_reg() && kpkeys_state.mode == KPKEYS_AUDIT;
}

static __always_inline void save_regs(u8 n, const unsigned long *regs)
{
	unsigned int i;

	raw_cpu_write(kpkeys_cpu.saved[n].has_regs, !!regs);
	for (i = 0; regs && i < ARCH_KPKEYS_REGS; i++)
		raw_cpu_write(kpkeys_cpu.regs[n][i], READ_ONCE(regs[i]));
}

/* Sections of whatever interrupts use the same words. */
static __always_inline void save_kept(u8 n)
{
	unsigned int i;

	for (i = 0; i < KPKEYS_KEPT_WORDS; i++)
		raw_cpu_write(kpkeys_cpu.saved_kept[n][i],
			      raw_cpu_read(kpkeys_cpu.kept_words[i]));
}

static __always_inline void restore_kept(u8 n)
{
	unsigned int i;

	/* The code shows where each goes. */
#pragma GCC unroll 16
	for (i = 0; i < KPKEYS_KEPT_WORDS; i++)
		raw_cpu_write(kpkeys_cpu.kept_words[i],
			      raw_cpu_read(kpkeys_cpu.saved_kept[n][i]));
}

static __always_inline void push(unsigned long frame, const unsigned long *regs)
{
	kpkeys_reg_t reg = arch_kpkeys_read_reg();
	u8 n = raw_cpu_read(kpkeys_cpu.nr_saved);

	if (unlikely(n >= KPKEYS_MAX_SAVED)) {
		arch_kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
		BUG();
	}

	/* It lets nothing be written, not even this. */
	if (is_users(reg))
		arch_kpkeys_write_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES));
	/* An NMI from here on uses the slots above this one. */
	raw_cpu_write(kpkeys_cpu.nr_saved, n + 1);
	barrier();
	save_regs(n, regs);
	save_kept(n);
	raw_cpu_write(kpkeys_cpu.saved[n].frame, frame);
	raw_cpu_write(kpkeys_cpu.saved[n].reg, reg);
	raw_cpu_write(kpkeys_cpu.saved[n].level,
		      raw_cpu_read(kpkeys_cpu.level));
	raw_cpu_write(kpkeys_cpu.saved[n].held,
		      raw_cpu_read(kpkeys_cpu.held));
	raw_cpu_inc(kpkeys_counters.exceptions_open);
	__kpkeys_set_held(false);
	__kpkeys_lower(KPKEYS_LVL_DEFAULT);
	kpkeys_count(reg_writes, 1);
}

/**
 * __kpkeys_push - save the gate of interrupted code and shut it
 * @frame: identifies the interrupted code
 */
noinstr void __kpkeys_push(unsigned long frame)
{
	push(frame, NULL);
}

/**
 * __kpkeys_push_regs - the same, and save the registers
 * @regs: the exception frame
 */
noinstr void __kpkeys_push_regs(struct pt_regs *regs)
{
	push((unsigned long)regs, (const unsigned long *)regs);
}

/**
 * __kpkeys_pop - give back what __kpkeys_push() saved for @frame, if anything
 * @frame: as given to __kpkeys_push()
 *
 * The innermost entry may belong to a frame further out: then @frame
 * interrupted code whose gate was shut.
 */
noinstr void __kpkeys_pop(unsigned long frame)
{
	u8 n = raw_cpu_read(kpkeys_cpu.nr_saved) - 1;
	kpkeys_reg_t reg = raw_cpu_read(kpkeys_cpu.saved[n].reg);
	u8 level = raw_cpu_read(kpkeys_cpu.saved[n].level);
	bool held = raw_cpu_read(kpkeys_cpu.saved[n].held);

	if (raw_cpu_read(kpkeys_cpu.saved[n].frame) != frame)
		return;
	if (WARN_ON_ONCE(!valid_reg(reg)))
		return;

	/* Raised first: nothing here can be written otherwise. */
	__kpkeys_write_reg(is_users(reg) ? kpkeys_level_reg(KPKEYS_LVL_PGTABLES) :
					   reg);
	restore_kept(n);
	barrier();
	raw_cpu_write(kpkeys_cpu.nr_saved, n);
	raw_cpu_write(kpkeys_cpu.level, level);
	__kpkeys_set_held(held);
	if (is_users(reg))
		arch_kpkeys_write_reg(reg);
}

/* What debug exceptions change, so that the CPU goes on behind what it watches. */
static __always_inline unsigned long handlers_bits(unsigned int i)
{
	return i == ARCH_KPKEYS_REGS_FLAGS ? ARCH_KPKEYS_FLAGS_DEBUG : 0;
}

static __always_inline bool are_changed(u8 n, const unsigned long *regs,
					unsigned int except)
{
	unsigned int i;

	for (i = 0; i < ARCH_KPKEYS_REGS; i++)
		if (i != except &&
		    (READ_ONCE(regs[i]) ^ raw_cpu_read(kpkeys_cpu.regs[n][i])) &
		    ~handlers_bits(i))
			return true;
	return false;
}

/* The kernel's own table is read-only, and found by no data. */
static bool is_fixup(unsigned long from, unsigned long to)
{
	const struct exception_table_entry *e;

	if (core_kernel_text(from))
		e = search_kernel_exception_table(from);
	else
		e = search_exception_tables(from);
	return e && (to == (unsigned long)&e->fixup + e->fixup ||
		     is_bpf_text_address(from));
}

/* A fault of an instruction that kprobes step goes to where the probe is. */
static bool is_stepped(unsigned long from)
{
	return !core_kernel_text(from) && is_kprobe_insn_slot(from);
}

static __always_inline unsigned long saved_ip(u8 n)
{
	return raw_cpu_read(kpkeys_cpu.regs[n][ARCH_KPKEYS_REGS_IP]);
}

/*
 * A handler may move the code to a fixup, or behind a trap. Not in line: what
 * follows depends on nothing that this may spill.
 */
static noinline enum kpkeys_resume judge_regs(u8 n, const unsigned long *regs)
{
	unsigned long from = saved_ip(n);
	unsigned long to = READ_ONCE(regs[ARCH_KPKEYS_REGS_IP]);
	enum kpkeys_resume resume = KPKEYS_RESUME_SAME;

	if (from != to)
		resume = is_fixup(from, to) || is_stepped(from) ?
			 KPKEYS_RESUME_AS_IS : arch_kpkeys_resume(from, to);
	if (resume == KPKEYS_RESUME_AS_IS)
		return KPKEYS_RESUME_AS_IS;
	if (resume == KPKEYS_RESUME_NEXT &&
	    !are_changed(n, regs, ARCH_KPKEYS_REGS_IP))
		return KPKEYS_RESUME_NEXT;
	return kpkeys_refuse_quietly("change", "what an interrupted section saved",
				     regs) ?
	       KPKEYS_RESUME_SAME : KPKEYS_RESUME_AS_IS;
}

/* The slot says where, and @offset how far behind the trap. */
static __always_inline void restore_regs(unsigned long offset)
{
	u8 n = raw_cpu_read(kpkeys_cpu.nr_saved) - 1;
	unsigned long *regs = (void *)raw_cpu_read(kpkeys_cpu.saved[n].frame);
	unsigned int i;

	for (i = 0; i < ARCH_KPKEYS_REGS; i++)
		WRITE_ONCE(regs[i],
			   (raw_cpu_read(kpkeys_cpu.regs[n][i]) & ~handlers_bits(i)) |
			   (READ_ONCE(regs[i]) & handlers_bits(i)));
	if (offset)
		regs[ARCH_KPKEYS_REGS_IP] += offset;
}

/*
 * Written in any case: what was compared may be changed by now. Audit mode lets that
 * through, as all that it reports.
 */
static __always_inline void check_regs(u8 n, const unsigned long *regs)
{
	enum kpkeys_resume resume;

	if (likely(!are_changed(n, regs, ARCH_KPKEYS_REGS))) {
		if (likely(kpkeys_state.mode != KPKEYS_AUDIT))
			restore_regs(0);
		return;
	}
	instrumentation_begin();
	resume = judge_regs(n, regs);
	instrumentation_end();
	if (resume == KPKEYS_RESUME_SAME)
		restore_regs(0);
	else if (resume == KPKEYS_RESUME_NEXT)
		restore_regs(arch_kpkeys_trap_size(saved_ip(n)));
}

/**
 * __kpkeys_pop_regs - give back what __kpkeys_push_regs() saved, if anything
 * @regs: the exception frame
 *
 * Registers first, while the gate is shut.
 */
noinstr void __kpkeys_pop_regs(struct pt_regs *regs)
{
	u8 n = raw_cpu_read(kpkeys_cpu.nr_saved) - 1;

	if (raw_cpu_read(kpkeys_cpu.saved[n].frame) == (unsigned long)regs &&
	    raw_cpu_read(kpkeys_cpu.saved[n].has_regs))
		check_regs(n, (unsigned long *)regs);
	__kpkeys_pop((unsigned long)regs);
}

/*
 * Forget everything: the code that was interrupted goes on with a shut gate.
 * But what is yet to be reported.
 */
static __always_inline void close_gate(void)
{
	bool refused = raw_cpu_read(kpkeys_cpu.refused);

	arch_kpkeys_write_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES));
	__kpkeys_publish();
	__kpkeys_set_held(false);
	raw_cpu_write(kpkeys_cpu.word, 0);
	raw_cpu_write(kpkeys_cpu.refused, refused);
	__kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
}

/*
 * Sections keep preemption off. An interrupt that preempts one has saved it; so
 * has the exception that a task dies of, which is a report of its own.
 */
static bool is_left_open(void)
{
	if (raw_cpu_read(kpkeys_cpu.nr_saved))
		return !(current->flags & PF_EXITING);
	return raw_cpu_read(kpkeys_cpu.level) != KPKEYS_LVL_DEFAULT ||
	       arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT;
}

/**
 * __kpkeys_close_for_switch - close the gate of the task that leaves this CPU
 *
 * Entries of the save stack belong to this task. Nobody will ask for them again.
 */
void __kpkeys_close_for_switch(void)
{
	bool left_open = is_left_open();

	close_gate();
	if (!left_open)
		return;
	raw_cpu_inc(kpkeys_counters.left_open);
	/* The run queue is locked. */
	printk_deferred(KERN_ERR "kpkeys: section left open by %s[%d] at a task switch\n",
			current->comm, task_pid_nr(current));
}

/**
 * __kpkeys_close_for_user - close a gate somebody left open
 *
 * And deal with a refusal, if no interrupt has: to user space the gate is shut.
 */
void __kpkeys_close_for_user(void)
{
	if (raw_cpu_read(kpkeys_cpu.refused) && !raw_cpu_read(kpkeys_cpu.level))
		kpkeys_finish_refusal();
	if (!__kpkeys_is_open(true))
		return;
	close_gate();
	raw_cpu_inc(kpkeys_counters.left_open);
	pr_err("section left open by %s[%d] on return to user space\n",
	       current->comm, task_pid_nr(current));
}
