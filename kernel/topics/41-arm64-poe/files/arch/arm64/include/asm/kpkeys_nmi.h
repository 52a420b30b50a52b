/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel protection keys on arm64 at EL2 (VHE): what an NMI leaves HCR_EL2 with.
 *
 * An NMI that comes while KVM has HCR_EL2.TGE clear sets it, and clears it as it ends.
 * Where no guest is about to run, TGE must stay: without it user space runs with the
 * tables of a guest, or with none. What an NMI keeps in memory does not decide that.
 */
#ifndef _ASM_ARM64_KPKEYS_NMI_H
#define _ASM_ARM64_KPKEYS_NMI_H

#include <linux/kpkeys.h>
#include <asm/kvm_arm.h>
#include <asm/sysreg.h>

/* Set with TGE where that was clear. As long as TGE is set it means nothing else. */
#define KPKEYS_HCR_HAD_NO_TGE	HCR_DC

/**
 * kpkeys_left_hcr - what HCR_EL2 is to be behind an NMI
 * @kept: what it was said to be ahead of it
 */
static __always_inline u64 kpkeys_left_hcr(u64 kept)
{
	u64 hcr;

	if (!kpkeys_pgtables_enabled())
		return kept;
	hcr = read_sysreg(hcr_el2);
	if (!(hcr & KPKEYS_HCR_HAD_NO_TGE))
		return hcr;
	hcr &= ~(HCR_TGE | KPKEYS_HCR_HAD_NO_TGE);
	/* A guest that is a hypervisor may want that bit for its own guest. */
	return hcr | (kept & KPKEYS_HCR_HAD_NO_TGE);
}

#endif /* _ASM_ARM64_KPKEYS_NMI_H */
