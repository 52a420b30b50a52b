/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel protection keys on x86-64: PKS. The register is IA32_PKRS.
 *
 * Only <linux/kpkeys_state.h> includes this file.
 */
#ifndef _ASM_X86_KPKEYS_H
#define _ASM_X86_KPKEYS_H

#include <linux/types.h>
#include <asm/asm.h>
#include <asm/msr-index.h>

#define KPKEYS_PKEY_DEFAULT	0
#define KPKEYS_PKEY_STATE	1	/* the gate's own bookkeeping */
#define KPKEYS_PKEY_PGTABLES	2

#define PKRS_AD(pkey)		(1U << ((pkey) * 2))
#define PKRS_WD(pkey)		(2U << ((pkey) * 2))

/*
 * The one table: each level, and what DEFAULT denies that this level grants.
 * Every raised level may also write the gate's own state.
 */
#define ARCH_KPKEYS_LEVELS(L)						\
	L(KPKEYS_LVL_PGTABLES, PKRS_WD(KPKEYS_PKEY_PGTABLES))

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
 * Memory accesses that PKRS governs do not pass an earlier WRMSR to it, not
 * even speculatively (SDM vol. 3, 4.6.2), so neither direction needs a fence.
 */
static __always_inline void arch_kpkeys_write_reg(kpkeys_reg_t reg)
{
	asm volatile("mov %[pkrs], %%ecx\n\t"
		     "xor %%edx, %%edx\n\t"
		     "wrmsr"
		     : "+a" (reg)
		     : [pkrs] "i" (MSR_IA32_PKRS)
		     : "rcx", "rdx", "cc", "memory");
}

/*
 * Where the stack is, was ordinary memory. An interrupt of a section pushes to it
 * with the gate open, so it must not lie behind a page table: neither in the direct
 * map nor in the image, whose first data are the one stack that is there.
 */
/**
 * struct kpkeys_stacks - where stacks are
 * @end: of the highest one
 * @room: bytes below it
 */
struct kpkeys_stacks {
	unsigned long	end;
	unsigned long	room;
};

extern struct kpkeys_stacks kpkeys_stacks;

static __always_inline bool arch_kpkeys_has_stack(void)
{
	return kpkeys_stacks.end - current_stack_pointer <= kpkeys_stacks.room;
}

/*
 * String instructions go the way that a flag says, which came from the stack of an
 * interrupt ahead of the section. From here on flags come from a keyed copy.
 */
static __always_inline void arch_kpkeys_raise_reg(kpkeys_reg_t reg, bool at_once)
{
	arch_kpkeys_write_reg(reg);
	asm volatile("cld" : : : "cc", "memory");
}

static __always_inline void arch_kpkeys_lower_reg(kpkeys_reg_t reg, bool at_once)
{
	arch_kpkeys_write_reg(reg);
}

static __always_inline kpkeys_reg_t arch_kpkeys_read_reg(void)
{
	kpkeys_reg_t reg;

	asm volatile("mov %[pkrs], %%ecx\n\t"
		     "rdmsr"
		     : "=a" (reg)
		     : [pkrs] "i" (MSR_IA32_PKRS)
		     : "rcx", "rdx", "cc", "memory");
	return reg;
}

#define arch_kpkeys_clear_page(page)					\
do {									\
	unsigned long __nr = PAGE_SIZE / sizeof(u64);			\
	void *__to = (page);						\
									\
	asm volatile("rep stosq"					\
		     : "+D" (__to), "+c" (__nr)				\
		     : "a" (0UL)					\
		     : "memory");					\
} while (0)

/* All of struct pt_regs, where ip and flags are in it, and RF. */
#define ARCH_KPKEYS_REGS	21
#define ARCH_KPKEYS_REGS_IP	16
#define ARCH_KPKEYS_REGS_FLAGS	18
#define ARCH_KPKEYS_FLAGS_DEBUG	(1UL << 16)

/* Of a UD2, or of newer kernels' UD1 for a warning: 67 48 0f b9 3a. */
#define arch_kpkeys_trap_size(ip)	(*(const u8 *)(ip) == 0x67 ? 5 : 2)

/* Of its TSS, its GDT and its LDT: see <asm/kpkeys_tss.h>, <asm/kpkeys_gdt.h>. */
#define ARCH_KPKEYS_CPU_PAGES	(2 + IS_ENABLED(CONFIG_MODIFY_LDT_SYSCALL) * 16)

/* One instruction finds the CPU's memory and reads it. */
#define arch_kpkeys_may_have_moved()	false

/* Table walks see entries in program order: nothing to defer. */
#define ARCH_KPKEYS_PUBLISHES	0
static __always_inline void arch_kpkeys_publish(void) { }

/* Of any of the 16, shut: is it there to stop anybody? */
#define arch_kpkeys_denies_read(pkey)	(!!(ARCH_KPKEYS_REG_DEFAULT & PKRS_AD(pkey)))
#define arch_kpkeys_denies_write(pkey)	(!!(ARCH_KPKEYS_REG_DEFAULT & PKRS_WD(pkey)))

/* Each CPU flushes for itself. */

#endif /* _ASM_X86_KPKEYS_H */
