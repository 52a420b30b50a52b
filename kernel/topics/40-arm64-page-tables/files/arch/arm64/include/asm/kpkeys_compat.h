/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the newest kernel that this is for has, under the names it has there.
 */
#ifndef _ASM_ARM64_KPKEYS_COMPAT_H
#define _ASM_ARM64_KPKEYS_COMPAT_H

#include <linux/version.h>

#include <asm/sysreg.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)

#ifndef __ASSEMBLER__
#include <asm/text-patching.h>
#endif

/* One helper each sets and clears entries of any level. */
#define KPKEYS_ENTRIES_OF_ANY_SIZE	1

/* The last that the way back from an exception reads of struct pt_regs, and words up to its end. */
#define kpkeys_last_reg		pmr
#define KPKEYS_REGS_READ	36

/*
 * User space's own pages for return addresses. What the kernel may do with them is
 * said by PIR_EL1, nothing, and not by the bits, by which it could run them.
 */
#define kpkeys_is_shadow_stack(value)					\
	(system_supports_gcs() &&					\
	 ((value) & (PTE_UXN | PTE_PXN | PTE_USER | PTE_NG)) ==		\
	 (PTE_UXN | PTE_USER | PTE_NG))

#else

#ifndef __ASSEMBLER__
#include <asm/patching.h>
#endif

/* Which CPUs never abort after a split is not known there. */
#define KPKEYS_LACKS_BBML3		1

#define kpkeys_last_reg			pmr_save
#define KPKEYS_REGS_READ		38
#define POR_ELx_BITS_PER_IDX		POR_BITS_PER_PKEY
#define POE_RWX				POE_RXW
#define TCR2_EL1_POE			TCR2_EL1x_POE
#define PMD_TABLE_AF			0
#define PUD_TABLE_AF			0
#define TTBRx_EL1_ASID_MASK		TTBR_ASID_MASK
#define __tlbi_sync_s1ish_kernel()	dsb(ish)
#define kpkeys_is_shadow_stack(value)	false

#endif

#endif /* _ASM_ARM64_KPKEYS_COMPAT_H */
