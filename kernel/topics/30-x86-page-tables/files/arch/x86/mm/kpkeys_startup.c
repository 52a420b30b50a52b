// SPDX-License-Identifier: GPL-2.0-only
/* Where CPUs start: in real mode, where nothing is protected. */
#include <linux/kpkeys.h>
#include <linux/pfn.h>

#include <asm/apicdef.h>
#include <asm/kpkeys_startup.h>
#include <asm/realmode.h>

/**
 * kpkeys_checked_icr - what to have a local APIC send
 * @low: what was to be written to its command register
 *
 * A CPU starts at the kernel's own code for that, whatever waited on a stack.
 *
 * Return: @low, with that code as its vector if it has a CPU start.
 */
u32 kpkeys_checked_icr(u32 low)
{
	if (!kpkeys_pgtables_enabled() || (low & APIC_MODE_MASK) != APIC_DM_STARTUP)
		return low;
	return APIC_DM_STARTUP | PHYS_PFN(real_mode_header->trampoline_start);
}
