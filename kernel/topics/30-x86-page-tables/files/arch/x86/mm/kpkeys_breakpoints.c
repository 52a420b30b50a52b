// SPDX-License-Identifier: GPL-2.0-only
/* The debug registers that say where breakpoints are. */
#include <linux/hw_breakpoint.h>
#include <linux/kpkeys_breakpoints.h>

#include <asm/debugreg.h>
#include <asm/processor.h>

#include "kpkeys/internal.h"

/**
 * arch_kpkeys_set_breakpoints - say where all breakpoints of this CPU are
 * @address: of each register, in ordinary memory
 *
 * Those in the kernel are at address 0 instead. All are written: another one may
 * have been left over by a guest. In a section, where what an NMI had on its stack
 * is put back.
 */
void arch_kpkeys_set_breakpoints(const unsigned long *address)
{
	unsigned long at;
	int i;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(address);
	/* Each of them is another instruction. */
#pragma GCC unroll 4
	for (i = 0; i < HBP_NUM; i++) {
		at = READ_ONCE(address[i]);
		if (at >= TASK_SIZE_MAX && !kpkeys_allows_breakpoints())
			at = 0;
		native_set_debugreg(i, at);
	}
}
