// SPDX-License-Identifier: GPL-2.0-only
/*
 * Violations: reported, and in audit mode let through for one instruction.
 *
 * The gate is opened where exceptions save it, for the code that faulted, and
 * the CPU is told to stop behind the next instruction.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/kprobes.h>
#include <linux/kpkeys.h>
#include <linux/ptrace.h>

#include "internal.h"

static bool is_armed(void)
{
	return raw_cpu_read(kpkeys_cpu.audit_armed);
}

/*
 * A guard would trust the copy of the level. Audit lets an attacker write that,
 * too, and must not fault while it handles the fault.
 */
static void open_for_audit(void)
{
	arch_kpkeys_write_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES));
}

static void close_for_audit(void)
{
	arch_kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
}

/*
 * An open gate for the frame's code; an NMI in between finds its own slot. Open
 * for every domain: one instruction may read a secret and write a page table.
 * In a section that instruction changes what was saved when it faulted.
 */
static void save_open_gate(unsigned long frame, u8 n)
{
	if (n && raw_cpu_read(kpkeys_cpu.saved[n - 1].frame) == frame)
		raw_cpu_write(kpkeys_cpu.saved[n - 1].has_regs, false);
	raw_cpu_write(kpkeys_cpu.nr_saved, n + 1);
	barrier();
	raw_cpu_write(kpkeys_cpu.saved[n].frame, frame);
	raw_cpu_write(kpkeys_cpu.saved[n].reg, kpkeys_audit_reg());
	raw_cpu_write(kpkeys_cpu.saved[n].level, KPKEYS_LVL_DEFAULT);
	raw_cpu_write(kpkeys_cpu.saved[n].held, false);
	raw_cpu_write(kpkeys_cpu.saved[n].has_regs, false);
}

/* Give the interrupted code an open gate for one instruction. */
static bool let_through(struct pt_regs *regs)
{
	unsigned long flags = arch_kpkeys_step(regs);
	u8 n = raw_cpu_read(kpkeys_cpu.nr_saved);

	if (n >= KPKEYS_MAX_SAVED) {
		arch_kpkeys_step_done(regs, flags);
		return false;
	}
	open_for_audit();
	save_open_gate((unsigned long)regs, n);
	if (!is_armed()) {
		raw_cpu_write(kpkeys_cpu.audit_flags, flags);
		raw_cpu_write(kpkeys_cpu.audit_armed, true);
	}
	close_for_audit();
	return true;
}

/**
 * kpkeys_handle_fault - a page fault that may be a violation
 * @regs: of the access
 * @error_code: from the CPU
 * @address: of the access
 *
 * Return: true if the access is to be repeated, false to go on as for any bad
 * kernel access.
 */
bool kpkeys_handle_fault(struct pt_regs *regs, unsigned long error_code,
			 unsigned long address)
{
	bool write = arch_kpkeys_is_write(error_code);

	if (!kpkeys_pgtables_enabled() ||
	    !arch_kpkeys_is_violation(error_code, address))
		return false;
	if (arch_kpkeys_repeat(regs, address, write))
		return true;
	if (kpkeys_state.proving)
		return false;
	kpkeys_report(regs, address, write);
	return kpkeys_state.mode == KPKEYS_AUDIT &&
	       arch_kpkeys_may_pass(regs, address, write) && let_through(regs);
}
NOKPROBE_SYMBOL(kpkeys_handle_fault);

/**
 * kpkeys_handle_debug - the end of an access that audit let through
 * @regs: behind the access
 *
 * The exception pushed the open gate it found; it must not come back.
 *
 * Return: true if this single step was ours.
 */
bool kpkeys_handle_debug(struct pt_regs *regs)
{
	u8 n;

	if (!kpkeys_pgtables_enabled() || !is_armed())
		return false;
	open_for_audit();
	raw_cpu_write(kpkeys_cpu.audit_armed, false);
	n = raw_cpu_read(kpkeys_cpu.nr_saved);
	if (n && raw_cpu_read(kpkeys_cpu.saved[n - 1].frame) ==
	    (unsigned long)regs)
		raw_cpu_write(kpkeys_cpu.nr_saved, n - 1);
	close_for_audit();
	arch_kpkeys_step_done(regs, raw_cpu_read(kpkeys_cpu.audit_flags));
	return true;
}
NOKPROBE_SYMBOL(kpkeys_handle_debug);
