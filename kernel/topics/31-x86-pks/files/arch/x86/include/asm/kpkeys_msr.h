/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers that are not written for whoever names them: their numbers are often data. */
#ifndef _ASM_X86_KPKEYS_MSR_H
#define _ASM_X86_KPKEYS_MSR_H

#include <linux/types.h>

#include <asm/msr-index.h>

#ifdef CONFIG_KPKEYS
bool __kpkeys_refuse_msr(u32 msr, u64 value);

/* Has another CPU start, where it says: by x2APIC, and by Hyper-V. */
static __always_inline bool kpkeys_msr_starts_cpus(u32 msr)
{
	return msr == 0x830 || msr == 0x40000071;	/* HV_X64_MSR_ICR */
}

/*
 * A hypervisor writes to the page that it names: KVM the time, what it stole, and
 * what else it says; Hyper-V has a page of its own there, and Xen writes its calls.
 */
static __always_inline bool kpkeys_msr_names_page(u32 msr)
{
	switch (msr) {
	case 0x11 ... 0x12:			/* MSR_KVM_WALL_CLOCK, SYSTEM_TIME */
	case 0x4b564d00 ... 0x4b564d04:		/* MSR_KVM_WALL_CLOCK_NEW to PV_EOI_EN */
	case 0x40000000 ... 0x40000001:		/* Xen's; HV_X64_MSR_HYPERCALL */
	case 0x40000021:			/* HV_X64_MSR_REFERENCE_TSC */
	case 0x40000073:			/* HV_X64_MSR_VP_ASSIST_PAGE */
	case 0x40000082 ... 0x40000083:		/* HV_X64_MSR_SIEFP, SIMP */
	case 0x40000200:			/* Xen's, beside Hyper-V's */
	case 0x40001082 ... 0x40001083:		/* HV_X64_MSR_NESTED_SIEFP, SIMP */
		return true;
	default:
		return false;
	}
}

/* Guards do not come here. */
static __always_inline bool kpkeys_refuse_msr(u32 msr, u64 value)
{
	return unlikely(msr == MSR_IA32_PKRS || msr == MSR_GS_BASE ||
			msr == MSR_IA32_HW_FEEDBACK_PTR ||
			kpkeys_msr_starts_cpus(msr) || kpkeys_msr_names_page(msr)) &&
	       __kpkeys_refuse_msr(msr, value);
}
#else
static __always_inline bool kpkeys_refuse_msr(u32 msr, u64 value)
{
	return false;
}
#endif

#endif /* _ASM_X86_KPKEYS_MSR_H */
