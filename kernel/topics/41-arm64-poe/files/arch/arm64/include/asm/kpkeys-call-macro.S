/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of the firmware, whose number is often data. */
#ifndef __ASM_KPKEYS_CALL_MACRO_S
#define __ASM_KPKEYS_CALL_MACRO_S

#include <uapi/linux/psci.h>

#include <asm/assembler.h>

/* What runs at EL2 for KVM has a copy of these calls, and no such function. */
#if defined(CONFIG_KPKEYS_HARDENED_PGTABLES) && !defined(__KVM_NVHE_HYPERVISOR__)
#define KPKEYS_ASKS_CALLS	1
#endif

/* Each has a place where a CPU starts; by bits, from the first number on. */
#define KPKEYS_PSCI_STARTS	(1 << 0x1 | 1 << 0x3 | 1 << 0xc | 1 << 0xe)
#define KPKEYS_PSCI_LAST	0x1f
#define KPKEYS_NO_CALL		-1

	/*
	 * Makes the number in x0 that of no call if the firmware would start a CPU.
	 * kpkeys_call_start() does that, and does not come here. Changes x9 and x10.
	 */
	.macro	kpkeys_ask_call
#ifdef KPKEYS_ASKS_CALLS
	bic	w9, w0, #PSCI_0_2_64BIT
	mov_q	x10, PSCI_0_2_FN_BASE
	sub	w9, w9, w10
	cmp	w9, #KPKEYS_PSCI_LAST
	b.hi	.Lasked\@
	mov	w10, #KPKEYS_PSCI_STARTS
	lsr	w10, w10, w9
	tbz	w10, #0, .Lasked\@
	stp	x29, x30, [sp, #-80]!
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	bl	kpkeys_refuse_call
	tst	w0, #0xff
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldp	x29, x30, [sp], #80
	b.eq	.Lasked\@
	mov	x0, #KPKEYS_NO_CALL
.Lasked\@:
#endif
	.endm

	/* Firmware says the same of a number that it does not know. */
	.macro	kpkeys_call instr
#ifdef KPKEYS_ASKS_CALLS
	cmp	x0, #KPKEYS_NO_CALL
	b.eq	.Lcalled\@
#endif
	\instr	#0
.Lcalled\@:
	.endm

#endif /* __ASM_KPKEYS_CALL_MACRO_S */
