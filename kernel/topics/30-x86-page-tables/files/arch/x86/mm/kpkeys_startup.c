// SPDX-License-Identifier: GPL-2.0-only
/* Where CPUs start: in real mode, where nothing is protected. */
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/pfn.h>

#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/kpkeys_mm.h>
#include <asm/kpkeys_startup.h>
#include <asm/realmode.h>

/* INIT to one CPU, by its ID, that a start follows. */
static bool is_init_of_another(u32 low, u32 id)
{
	return (low & APIC_MODE_MASK) == APIC_DM_INIT &&
	       !(low & (APIC_DEST_LOGICAL | APIC_DEST_ALLBUT | APIC_DEST_SELF)) &&
	       id != boot_cpu_physical_apicid && id != U32_MAX;
}

static bool starts_nobody(u32 low)
{
	u32 mode = low & APIC_MODE_MASK;

	return mode == APIC_DM_FIXED || mode == APIC_DM_LOWEST || mode == APIC_DM_NMI;
}

/**
 * kpkeys_checked_icr - what to have a local APIC send
 * @low: what was to be written to its command register
 * @id: to whom
 *
 * A CPU starts at the kernel's own code for that, whatever waited on a stack. The
 * boot CPU would start at the firmware's, which asks ordinary memory where to go on.
 *
 * Return: @low; with that code as its vector if it has a CPU start; an interrupt that
 * nobody handles if it must not be sent.
 */
u32 kpkeys_checked_icr(u32 low, u32 id)
{
	if (!kpkeys_pgtables_enabled() || starts_nobody(low) || is_init_of_another(low, id))
		return low;
	if ((low & APIC_MODE_MASK) == APIC_DM_STARTUP)
		return APIC_DM_STARTUP | PHYS_PFN(real_mode_header->trampoline_start);
	if (!kpkeys_refuse("write", "the register that starts CPUs", NULL, NULL))
		return low;
	return APIC_DM_FIXED | SPURIOUS_APIC_VECTOR;
}
