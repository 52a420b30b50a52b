/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel protection keys on x86-64, by one of two means:
 *
 * PKS: the register is IA32_PKRS.
 *
 * Write protection, for CPUs without PKS: what has a key is mapped read-only,
 * too, and the register is CR0.WP. Set, it stands for KPKEYS_LVL_DEFAULT; clear,
 * for every other level. It opens all that is read-only and hides nothing.
 *
 * Only <linux/kpkeys_state.h> includes this file.
 */
#ifndef _ASM_X86_KPKEYS_H
#define _ASM_X86_KPKEYS_H

#include <linux/types.h>
#include <asm/alternative.h>
#include <asm/cpufeatures.h>
#include <asm/msr-index.h>
#include <asm/processor-flags.h>

#define KPKEYS_PKEY_DEFAULT	0
#define KPKEYS_PKEY_STATE	1	/* the gate's own bookkeeping */
#define KPKEYS_PKEY_PGTABLES	2
#define KPKEYS_PKEY_SECRET	3

#define PKRS_AD(pkey)		(1U << ((pkey) * 2))
#define PKRS_WD(pkey)		(2U << ((pkey) * 2))

/*
 * The one table: each level, and what DEFAULT denies that this level grants.
 * Every raised level may also write the gate's own state.
 */
#define ARCH_KPKEYS_LEVELS(L)						\
	L(KPKEYS_LVL_PGTABLES, PKRS_WD(KPKEYS_PKEY_PGTABLES))		\
	L(KPKEYS_LVL_SECRET, PKRS_AD(KPKEYS_PKEY_SECRET))

/* A constant, not a macro: ARCH_KPKEYS_LEVELS() must not nest. */
#define __PKRS_DENIED(name, grants)	| (grants)
enum {
	ARCH_KPKEYS_REG_DEFAULT =
		PKRS_WD(KPKEYS_PKEY_STATE) ARCH_KPKEYS_LEVELS(__PKRS_DENIED)
};

#define ARCH_KPKEYS_REG_GRANTS(grants)					\
	(ARCH_KPKEYS_REG_DEFAULT & ~(PKRS_WD(KPKEYS_PKEY_STATE) | (grants)))

typedef u32 kpkeys_reg_t;

/*
 * What a value denies the gate's own state, which every raised level may
 * write, is what CR0.WP denies.
 */
#define KPKEYS_WP_SHIFT		(X86_CR0_WP_BIT - (KPKEYS_PKEY_STATE * 2 + 1))

/* What CR0.WP clear is read as: no copy of the level says more. */
#define KPKEYS_WP_OPEN							\
	ARCH_KPKEYS_REG_GRANTS(PKRS_WD(KPKEYS_PKEY_PGTABLES))

/*
 * Memory accesses that PKRS governs do not pass an earlier WRMSR to it, not
 * even speculatively (SDM vol. 3, 4.6.2), and MOV to CR0 serializes, so neither
 * direction needs a fence. Other bits of CR0 stay as they are. An interrupt
 * between the two accesses to CR0 leaves them so, too.
 */
static __always_inline void arch_kpkeys_write_reg(kpkeys_reg_t reg)
{
	asm volatile(ALTERNATIVE("mov %[pkrs], %%ecx\n\t"
				 "xor %%edx, %%edx\n\t"
				 "wrmsr",
				 "mov %%cr0, %%rcx\n\t"
				 "and %[state], %%eax\n\t"
				 "shl %[shift], %%eax\n\t"
				 "btr %[wp], %%ecx\n\t"
				 "or %%eax, %%ecx\n\t"
				 "mov %%rcx, %%cr0",
				 X86_FEATURE_KPKEYS_WP)
		     : "+a" (reg)
		     : [pkrs] "i" (MSR_IA32_PKRS),
		       [state] "i" (PKRS_WD(KPKEYS_PKEY_STATE)),
		       [shift] "i" (KPKEYS_WP_SHIFT), [wp] "i" (X86_CR0_WP_BIT)
		     : "rcx", "rdx", "cc", "memory");
}

static __always_inline void arch_kpkeys_raise_reg(kpkeys_reg_t reg, bool at_once)
{
	arch_kpkeys_write_reg(reg);
}

static __always_inline void arch_kpkeys_lower_reg(kpkeys_reg_t reg, bool at_once)
{
	arch_kpkeys_write_reg(reg);
}

static __always_inline kpkeys_reg_t arch_kpkeys_read_reg(void)
{
	kpkeys_reg_t reg;

	asm volatile(ALTERNATIVE("mov %[pkrs], %%ecx\n\t"
				 "rdmsr",
				 "mov %%cr0, %%rax\n\t"
				 "bt %[wp], %%eax\n\t"
				 "sbb %%eax, %%eax\n\t"
				 "and %[shut], %%eax\n\t"
				 "or %[open], %%eax",
				 X86_FEATURE_KPKEYS_WP)
		     : "=a" (reg)
		     : [pkrs] "i" (MSR_IA32_PKRS), [wp] "i" (X86_CR0_WP_BIT),
		       [shut] "i" (ARCH_KPKEYS_REG_DEFAULT & ~KPKEYS_WP_OPEN),
		       [open] "i" (KPKEYS_WP_OPEN)
		     : "rcx", "rdx", "cc", "memory");
	return reg;
}

/* Table walks see entries in program order: nothing to defer. */
#define ARCH_KPKEYS_PUBLISHES	0
static __always_inline void arch_kpkeys_publish(void) { }

#endif /* _ASM_X86_KPKEYS_H */
