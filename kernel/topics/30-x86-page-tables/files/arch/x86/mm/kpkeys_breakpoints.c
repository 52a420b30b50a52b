// SPDX-License-Identifier: GPL-2.0-only
/* The debug registers that say where breakpoints are. */
#include <linux/kpkeys_breakpoints.h>
#include <linux/limits.h>

#include <asm/debugreg.h>

#include "kpkeys/internal.h"

/**
 * arch_kpkeys_set_breakpoint - say where one of this CPU's breakpoints is
 * @nr: which, from 0 to 3
 * @address: where
 *
 * What is no address of user space is made one that is none at all. In a section,
 * so that no NMI has on its stack what is about to be written.
 */
void arch_kpkeys_set_breakpoint(unsigned int nr, unsigned long address)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(address);
	if (!kpkeys_kernel_breakpoints && kpkeys_state.mode != KPKEYS_AUDIT)
		address &= S64_MAX;
	native_set_debugreg(nr & 3, address);
}
