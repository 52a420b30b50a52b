// SPDX-License-Identifier: GPL-2.0-only
/* Kernel protection keys: what a fault says with POE, and what follows it. */
#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/kpkeys_arch.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include <asm/daifflags.h>
#include <asm/debug-monitors.h>
#include <asm/esr.h>
#include <asm/insn.h>
#include <asm/kpkeys_compat.h>
#include <asm/kpkeys_mm.h>
#include <asm/ptrace.h>
#include <asm/sysreg.h>

/**
 * arch_kpkeys_is_violation - did a kernel key stop this access?
 * @error_code: ESR_EL1
 * @address: of the access
 */
bool arch_kpkeys_is_violation(unsigned long error_code, unsigned long address)
{
	return ESR_ELx_EC(error_code) == ESR_ELx_EC_DABT_CUR &&
	       esr_fsc_is_permission_fault(error_code) &&
	       (ESR_ELx_ISS2(error_code) & ESR_ELx_Overlay) &&
	       is_ttbr1_addr(address);
}

/**
 * arch_kpkeys_is_write - was it a store?
 * @error_code: ESR_EL1
 */
bool arch_kpkeys_is_write(unsigned long error_code)
{
	return error_code & ESR_ELx_WNR;
}

/* In what the innermost exception saved, if @regs is that exception. */
static bool was_granted(struct pt_regs *regs, int pkey, bool write)
{
	u8 n = raw_cpu_read(kpkeys_cpu.nr_saved);
	u64 perm = write ? POE_W : POE_R;

	if (!n || raw_cpu_read(kpkeys_cpu.saved[n - 1].frame) !=
		  (unsigned long)regs || pkey < 0)
		return false;
	return raw_cpu_read(kpkeys_cpu.saved[n - 1].reg) & POR_PERM(pkey, perm);
}

/**
 * arch_kpkeys_repeat - did an access come before the raise was in force?
 * @regs: of the access
 * @address: where it goes
 * @write: is it a store?
 *
 * The return to it gives it what the register had said, and is synchronised.
 */
bool arch_kpkeys_repeat(struct pt_regs *regs, unsigned long address, bool write)
{
	if (!static_branch_unlikely(&kpkeys_late_raise_key) ||
	    !was_granted(regs, arch_kpkeys_addr_pkey(address), write))
		return false;
	raw_cpu_inc(kpkeys_counters.repeats);
	return true;
}
NOKPROBE_SYMBOL(arch_kpkeys_repeat);

/**
 * arch_kpkeys_may_pass - can audit let this access through?
 * @regs: of the access
 * @address: where it goes
 * @write: is it a store?
 *
 * Not a store where the mapping is read-only as well: it would fault again
 * while it is stepped, and its handler would be stepped instead. Nor exclusive
 * accesses: the exception ends what the load began, and a store that follows
 * would be tried for ever.
 */
bool arch_kpkeys_may_pass(struct pt_regs *regs, unsigned long address,
			  bool write)
{
	u32 insn = le32_to_cpu(*(__le32 *)instruction_pointer(regs));
	unsigned long size;
	pte_t *ptep = kpkeys_leaf(address, &size);

	if (aarch64_insn_is_exclusive(insn))
		return false;
	return ptep && !(write && (pte_val(__ptep_get(ptep)) & PTE_RDONLY));
}
NOKPROBE_SYMBOL(arch_kpkeys_may_pass);

static_assert(sizeof_field(struct pt_regs, regs[0]) == sizeof(long) &&
	      offsetof(struct pt_regs, pc) == ARCH_KPKEYS_REGS_IP * sizeof(long) &&
	      offsetof(struct pt_regs, pstate) == ARCH_KPKEYS_REGS_FLAGS * sizeof(long) &&
	      !(ARCH_KPKEYS_FLAGS_DEBUG ^ DBG_SPSR_SS) &&
	      offsetofend(struct pt_regs, kpkeys_last_reg) == ARCH_KPKEYS_REGS * sizeof(long));

/* Behind a BUG() comes anything. Those of kprobes and debuggers are not asked for. */
static bool is_warning(unsigned long pc)
{
	struct bug_entry *bug = find_bug(pc);
	u32 insn;

	return !aarch64_insn_read((void *)pc, &insn) &&
	       aarch64_insn_is_brk(insn) &&
	       (!bug || bug->flags & BUGFLAG_WARNING);
}

/**
 * arch_kpkeys_resume - how code goes on that an exception moved
 * @from: the instruction that was interrupted
 * @to: where the frame says that it goes on
 *
 * Instructions that the kernel emulates for itself are in no section.
 */
enum kpkeys_resume arch_kpkeys_resume(unsigned long from, unsigned long to)
{
	return to == from + arch_kpkeys_trap_size(from) && is_warning(from) ?
	       KPKEYS_RESUME_NEXT : KPKEYS_RESUME_SAME;
}

/**
 * arch_kpkeys_step - have one instruction of the interrupted code run
 * @regs: of that code
 *
 * Nothing may come between: no interrupt, and so no preemption.
 *
 * Return: what arch_kpkeys_step_done() wants back.
 */
unsigned long arch_kpkeys_step(struct pt_regs *regs)
{
	unsigned long daif = regs->pstate & DAIF_MASK;

	local_irq_disable();
	/* Once stepping is on, it would step whatever runs unmasked: this. */
	asm volatile("msr daifset, #8" : : : "memory");
	regs->pstate |= PSR_A_BIT | PSR_I_BIT | PSR_F_BIT;
	regs->pstate &= ~PSR_D_BIT;
	if (kernel_active_single_step())
		kernel_rewind_single_step(regs);
	else
		kernel_enable_single_step(regs);
	return daif;
}
NOKPROBE_SYMBOL(arch_kpkeys_step);

/**
 * arch_kpkeys_step_done - go on as before arch_kpkeys_step()
 * @regs: behind the instruction
 * @daif: what arch_kpkeys_step() returned
 */
void arch_kpkeys_step_done(struct pt_regs *regs, unsigned long daif)
{
	kernel_disable_single_step();
	regs->pstate &= ~(DAIF_MASK | DBG_SPSR_SS);
	regs->pstate |= daif;
}
NOKPROBE_SYMBOL(arch_kpkeys_step_done);
