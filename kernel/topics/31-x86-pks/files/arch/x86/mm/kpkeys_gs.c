// SPDX-License-Identifier: GPL-2.0-only
/* Kernel protection keys: whose GS base a paranoid exception came with. */
#include <linux/kpkeys.h>
#include <linux/linkage.h>
#include <linux/percpu.h>

#include <asm/kpkeys_gs.h>

/**
 * kpkeys_note_user_gs - which exception is to leave with user space's GS base
 * @frame: its frame, or zero for none
 *
 * With the kernel's base, its page tables and a shut gate: ahead of all C code of the
 * handler, or behind it. No guard: the level's copy and the preemption count are those
 * of what was interrupted.
 */
asmlinkage noinstr void kpkeys_note_user_gs(unsigned long frame)
{
	bool protected = kpkeys_pgtables_enabled();

	if (protected)
		arch_kpkeys_raise_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES), false);
	raw_cpu_write(kpkeys_cpu.user_gs, frame);
	if (protected)
		arch_kpkeys_lower_reg(ARCH_KPKEYS_REG_DEFAULT, false);
}
