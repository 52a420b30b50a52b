/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other gates than protection keys, each there and back; only
 * mm/kpkeys/lab.c includes this file.
 */
#ifndef _ASM_X86_KPKEYS_LAB_H
#define _ASM_X86_KPKEYS_LAB_H

#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kpkeys.h>
#include <asm/processor-flags.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>

/* native_write_cr0() would put the bit back, and warn. */
static inline void lab_write_cr0(unsigned long cr0)
{
	asm volatile("mov %0, %%cr0" : : "r" (cr0) : "memory");
}

static inline int lab_cr0_wp(unsigned int times, unsigned int pages)
{
	unsigned long cr0;

	guard(irqsave)();
	cr0 = native_read_cr0();
	while (times--) {
		lab_write_cr0(cr0 & ~X86_CR0_WP);
		lab_write_cr0(cr0);
	}
	return 0;
}

static inline int lab_cr3_value(unsigned int times, unsigned long flags)
{
	unsigned long cr3;

	guard(irqsave)();
	cr3 = __native_read_cr3() | flags;
	while (times--) {
		native_write_cr3(cr3);
		native_write_cr3(cr3);
	}
	return 0;
}

static inline int lab_cr3(unsigned int times, unsigned int pages)
{
	return lab_cr3_value(times, 0);
}

static inline int lab_cr3_pcid(unsigned int times, unsigned int pages)
{
	if (!(cr4_read_shadow() & X86_CR4_PCIDE))
		return -EOPNOTSUPP;
	return lab_cr3_value(times, X86_CR3_PCID_NOFLUSH);
}

#define ARCH_LAB_OPERATIONS						\
	{ "gate-cr0-wp", lab_cr0_wp },					\
	{ "gate-cr3", lab_cr3 },					\
	{ "gate-cr3-pcid", lab_cr3_pcid },

#endif /* _ASM_X86_KPKEYS_LAB_H */
