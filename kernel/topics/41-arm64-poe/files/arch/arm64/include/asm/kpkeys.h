/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel protection keys on arm64: FEAT_S1POE, the POR_EL1 register.
 *
 * Only <linux/kpkeys_state.h> includes this file.
 */
#ifndef _ASM_ARM64_KPKEYS_H
#define _ASM_ARM64_KPKEYS_H

#include <linux/jump_label.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/esr.h>
#include <asm/kpkeys_compat.h>
#include <asm/por.h>
#include <asm/sysreg.h>
#include <asm/thread_info.h>

/*
 * POR_EL1 also governs what the kernel does to user memory, by the index user
 * space chose. So user space gets the low indexes, on which POR_EL1 never
 * denies anything, and the kernel's own are out of its reach.
 */
#define KPKEYS_PKEY_DEFAULT	0
#define KPKEYS_NR_USER_PKEYS	5
#define KPKEYS_PKEY_STATE	6	/* the gate's own bookkeeping */
#define KPKEYS_PKEY_PGTABLES	7

#define POR_PERM(pkey, perm)	((perm) << ((pkey) * POR_ELx_BITS_PER_IDX))
#define POR_R(pkey)		POR_PERM(pkey, POE_R)
#define POR_W(pkey)		POR_PERM(pkey, POE_W)

/*
 * The one table: each level, and what it grants beyond DEFAULT. Every raised
 * level may also write the gate's own state.
 */
#define ARCH_KPKEYS_LEVELS(L)						\
	L(KPKEYS_LVL_PGTABLES, POR_W(KPKEYS_PKEY_PGTABLES))

#define POR_USER(pkey)		POR_PERM(pkey, POE_RWX)
enum {
	ARCH_KPKEYS_REG_DEFAULT =
		POR_USER(0) | POR_USER(1) | POR_USER(2) |
		POR_USER(3) | POR_USER(4) |
		POR_R(KPKEYS_PKEY_STATE) | POR_R(KPKEYS_PKEY_PGTABLES)
};

#define ARCH_KPKEYS_REG_GRANTS(grants)					\
	(ARCH_KPKEYS_REG_DEFAULT | POR_W(KPKEYS_PKEY_STATE) | (grants))

typedef u64 kpkeys_reg_t;

/*
 * A write to POR_EL1 never affects accesses before it in program order, and
 * is sure to affect those behind the next context synchronisation event.
 * Raising needs the ISB for the stores that follow to succeed; lowering needs
 * it for later ones to fail. An exception return is such an event, too, but
 * whoever raises the gate right before one still writes keyed memory first.
 */
static __always_inline void arch_kpkeys_write_reg(kpkeys_reg_t reg)
{
	asm volatile(__msr_s(SYS_POR_EL1, "%x0")
		     "	isb\n"
		     : : "rZ" (reg) : "memory");
}

DECLARE_STATIC_KEY_FALSE(kpkeys_late_raise_key);
DECLARE_STATIC_KEY_FALSE(kpkeys_late_lower_key);

/*
 * Where CPUs are seldom late (kpkeys_late_raise=) nothing waits for the raise. An
 * access that comes too early faults, and is repeated: exceptions synchronise
 * the context.
 */
static __always_inline void arch_kpkeys_raise_reg(kpkeys_reg_t reg, bool at_once)
{
	asm volatile(__msr_s(SYS_POR_EL1, "%x0") : : "rZ" (reg) : "memory");
	if (!static_branch_unlikely(&kpkeys_late_raise_key) || at_once)
		isb();
}

/*
 * With kpkeys=...,late-lower the default level is in force from the next
 * context synchronisation event on: somebody else's ISB, an exception or the
 * return from one.
 */
static __always_inline void arch_kpkeys_lower_reg(kpkeys_reg_t reg, bool at_once)
{
	asm volatile(__msr_s(SYS_POR_EL1, "%x0") : : "rZ" (reg) : "memory");
	if (!static_branch_unlikely(&kpkeys_late_lower_key) || at_once)
		isb();
}

/*
 * Where the stack is, was ordinary memory. An interrupt of a section stores to it
 * with the gate open, so it must not lie behind a page table: neither in the linear
 * map, nor in the fixmap, nor in the image, whose first data are the one stack that
 * is there.
 */
/**
 * struct kpkeys_stacks - where stacks are
 * @room: bytes above the linear map, up to the memory map and the fixmap
 * @image: behind the one stack in the image
 * @image_size: bytes of the image that are there
 */
struct kpkeys_stacks {
	unsigned long	room;
	unsigned long	image;
	unsigned long	image_size;
};

extern struct kpkeys_stacks kpkeys_stacks;

static __always_inline bool arch_kpkeys_has_stack(void)
{
	unsigned long stack = current_stack_pointer;

	return (stack - PAGE_END < kpkeys_stacks.room) &
	       (stack - kpkeys_stacks.image >= kpkeys_stacks.image_size);
}

static __always_inline kpkeys_reg_t arch_kpkeys_read_reg(void)
{
	return read_sysreg_s(SYS_POR_EL1);
}

/*
 * Of struct pt_regs all that the way back reads, up to the priority mask; what is
 * behind it the entry code writes later. Where pc and pstate are, PSTATE.SS, and the length
 * of BRK.
 */
#define ARCH_KPKEYS_REGS	KPKEYS_REGS_READ
#define ARCH_KPKEYS_REGS_IP	32
#define ARCH_KPKEYS_REGS_FLAGS	33
#define ARCH_KPKEYS_FLAGS_DEBUG	(1UL << 21)
#define arch_kpkeys_trap_size(ip)	4

/*
 * Entries of kernel mappings: table walks see them behind a DSB, and what the
 * CPU does next behind an ISB. The one that lowers the gate follows at once,
 * so a section needs no other, and one DSB however many entries it wrote.
 */
#define ARCH_KPKEYS_PUBLISHES	1
static __always_inline void arch_kpkeys_publish(void)
{
	dsb(ishst);
}

/* Of any of the eight, shut: is it there to stop anybody? */
#define arch_kpkeys_denies_read(pkey)	(!(ARCH_KPKEYS_REG_DEFAULT & POR_R(pkey)))
#define arch_kpkeys_denies_write(pkey)	(!(ARCH_KPKEYS_REG_DEFAULT & POR_W(pkey)))

/* Finding the CPU's memory takes one instruction, and reading it another. */
#define arch_kpkeys_may_have_moved()					\
	(IS_ENABLED(CONFIG_PREEMPTION) &&				\
	 !READ_ONCE(current_thread_info()->preempt.count))

/* User tables are separate: all entries of a top-level table are theirs. */
#define ARCH_KPKEYS_USER_PGDS	PTRS_PER_PGD

/* See arch/arm64/mm/pageattr.c. */
#define ARCH_KPKEYS_ALIASES_FOLLOW	rodata_full

/* As clear_page(), which is a call. */
#define arch_kpkeys_clear_page(page)					\
do {									\
	unsigned long __id = read_sysreg(dczid_el0), __at;		\
	unsigned long __from = (unsigned long)(page);			\
									\
	if (unlikely(__id & BIT(4))) {		\
		kpkeys_clear_words((void *)__from, PAGE_SIZE);		\
		break;							\
	}								\
	for (__at = __from; __at < __from + PAGE_SIZE;			\
	     __at += 4UL << (__id & 0xf))			\
		asm volatile("dc zva, %0" : : "r" (__at) : "memory");	\
} while (0)

#endif /* _ASM_ARM64_KPKEYS_H */
