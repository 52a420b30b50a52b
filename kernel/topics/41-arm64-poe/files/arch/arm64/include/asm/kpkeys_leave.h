/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_KPKEYS_LEAVE_H
#define _ASM_ARM64_KPKEYS_LEAVE_H

#include <linux/kpkeys.h>
#include <asm/sysreg.h>

/* Each index: read, write and execute. */
#define POR_ALL		0x7777777777777777UL

/**
 * kpkeys_leave - open the gate, for what is written over this kernel
 *
 * kexec and the restore of hibernation copy pages by a linear map of their own, in
 * which pages have their keys. One CPU is left, and it takes no exception any more:
 * where its vectors are, nothing is mapped.
 */
static __always_inline void kpkeys_leave(void)
{
	if (kpkeys_pgtables_enabled()) {
		write_sysreg_s(POR_ALL, SYS_POR_EL1);
		isb();
	}
}

#endif /* _ASM_ARM64_KPKEYS_LEAVE_H */
