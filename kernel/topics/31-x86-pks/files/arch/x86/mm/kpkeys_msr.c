// SPDX-License-Identifier: GPL-2.0-only
/* Registers that are written by number, where data may say which. */
#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/pfn.h>

#include <asm/kpkeys_mm.h>
#include <asm/kpkeys_msr.h>
#include <asm/msr.h>

/*
 * What KVM writes at an address that may be anywhere in a page is no longer. Longer
 * things are aligned.
 */
#define MOST_WRITTEN	32
#define HYPERV_CALLS	0x40000001

/* A CPU has its own since it started, but while it wakes: a selector takes it. */
static bool is_other_base(u64 base)
{
	u64 own = __rdmsr(MSR_GS_BASE);

	return kpkeys_pgtables_enabled() && (s64)own < 0 && base != own;
}

/* Hyper-V's page of calls is run, like a module. */
static bool may_be_written(u32 msr, u64 phys)
{
	enum kpkeys_frame frame = kpkeys_frame(PHYS_PFN(phys));

	return frame == KPKEYS_FRAME_ORDINARY ||
	       (msr == HYPERV_CALLS && frame == KPKEYS_FRAME_MODULE);
}

static bool names_keyed_page(u32 msr, u64 value)
{
	return kpkeys_pgtables_enabled() &&
	       !(may_be_written(msr, value) &&
		 may_be_written(msr, value + MOST_WRITTEN - 1));
}

/**
 * __kpkeys_refuse_msr - may a register not be written by its number?
 * @msr: the number: of the register of keys, of the kernel's base, of one that has
 *	the CPU or its hypervisor write to physical memory, or of one that has another
 *	CPU start
 * @value: what is to be written
 *
 * Guards do not come here. All that the gate remembers is found by the base. What
 * the CPU or a hypervisor writes by itself passes no key.
 */
bool __kpkeys_refuse_msr(u32 msr, u64 value)
{
	if (msr == MSR_GS_BASE)
		return is_other_base(value) &&
		       kpkeys_refuse("write", "the base register", NULL, NULL);
	if (kpkeys_msr_names_page(msr))
		return names_keyed_page(msr, value) &&
		       kpkeys_refuse("write", "a register of addresses", NULL, NULL);
	if (msr == MSR_IA32_HW_FEEDBACK_PTR)
		return kpkeys_pgtables_enabled() &&
		       kpkeys_refuse("write", "a register of addresses", NULL, NULL);
	if (kpkeys_msr_starts_cpus(msr))
		return kpkeys_pgtables_enabled() &&
		       kpkeys_refuse("write", "the register that starts CPUs", NULL, NULL);
	return kpkeys_uses_pks() &&
	       kpkeys_refuse("write", "the register of keys", NULL, NULL);
}
EXPORT_SYMBOL_GPL(__kpkeys_refuse_msr);
