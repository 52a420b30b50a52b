/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the newest kernel that this is for has, under the names it has there.
 */
#ifndef _ASM_X86_KPKEYS_COMPAT_H
#define _ASM_X86_KPKEYS_COMPAT_H

#include <linux/kpkeys.h>
#include <linux/version.h>

#include <asm/cpufeature.h>
#include <asm/text-patching.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)

#include <asm/cpuid/api.h>
#include <asm/msr.h>

/*
 * The half of user space is allocated only where there is isolation. A
 * top-level table has it in any case where tables may become keyed.
 */
#define kpkeys_pgd_order() \
	(kpkeys_wanted() ? IS_ENABLED(CONFIG_MITIGATION_PAGE_TABLE_ISOLATION) : \
				     pgd_allocation_order())

#else

#include <asm/processor.h>

#define TEXT_POKE_MAX_OPCODE_SIZE	POKE_MAX_OPCODE_SIZE
#define text_poke_mm			poking_mm
#define rdmsrq(msr, val)		rdmsrl(msr, val)
#define rdmsrq_safe(msr, val)		rdmsrl_safe(msr, val)
#define wrmsrq(msr, val)		wrmsrl(msr, val)
#define wrmsrq_safe(msr, val)		wrmsrl_safe(msr, val)

#endif

#endif /* _ASM_X86_KPKEYS_COMPAT_H */
