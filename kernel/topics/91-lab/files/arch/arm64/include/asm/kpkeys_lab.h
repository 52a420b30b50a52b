/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other gates than protection keys, each there and back; only
 * mm/kpkeys/lab.c includes this file.
 */
#ifndef _ASM_ARM64_KPKEYS_LAB_H
#define _ASM_ARM64_KPKEYS_LAB_H

#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kpkeys.h>
#include <linux/psci.h>
#include <asm/barrier.h>
#include <asm/sysreg.h>

static inline int lab_sctlr(unsigned int times, unsigned int pages)
{
	u64 sctlr;

	guard(irqsave)();
	sctlr = read_sysreg(sctlr_el1);
	while (times--) {
		write_sysreg(sctlr, sctlr_el1);
		isb();
		write_sysreg(sctlr, sctlr_el1);
		isb();
	}
	return 0;
}

/* As on the way into the kernel and back, where other barriers follow. */
static inline int lab_sctlr_no_isb(unsigned int times, unsigned int pages)
{
	u64 sctlr;

	guard(irqsave)();
	sctlr = read_sysreg(sctlr_el1);
	while (times--) {
		write_sysreg(sctlr, sctlr_el1);
		write_sysreg(sctlr, sctlr_el1);
	}
	return 0;
}

static inline int lab_ttbr0(unsigned int times, unsigned int pages)
{
	u64 ttbr;

	guard(irqsave)();
	ttbr = read_sysreg(ttbr0_el1);
	while (times--) {
		write_sysreg(ttbr, ttbr0_el1);
		isb();
		write_sysreg(ttbr, ttbr0_el1);
		isb();
	}
	return 0;
}

static inline int lab_hypercall(unsigned int times, unsigned int pages)
{
	if (!psci_ops.get_version)
		return -EOPNOTSUPP;
	while (times--)
		psci_ops.get_version();
	return 0;
}

#define ARCH_LAB_OPERATIONS						\
	{ "gate-sctlr", lab_sctlr },					\
	{ "gate-sctlr-no-isb", lab_sctlr_no_isb },			\
	{ "gate-ttbr0", lab_ttbr0 },					\
	{ "gate-hypercall", lab_hypercall },

#endif /* _ASM_ARM64_KPKEYS_LAB_H */
