/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/linkage.h>

#include <uapi/linux/psci.h>

#include <asm/assembler.h>

/*
 * unsigned long kpkeys_call_start(unsigned long number, unsigned long what, bool hvc)
 *
 * Has a CPU start, or wake, at the kernel's own code for that. Where this is comes
 * from constants, and no interrupt puts it on a stack before the call.
 *
 * x0: PSCI's CPU_ON, CPU_SUSPEND or SYSTEM_SUSPEND; x1: which CPU, or how deep it
 * sleeps; x2: by HVC rather than SMC. Returns what the firmware does.
 */
SYM_FUNC_START(kpkeys_call_start)
	stp	x29, x30, [sp, #-32]!
	mov	x29, sp
	str	x19, [sp, #16]
	mrs	x19, daif
	msr	daifset, #0xf
	mov	w9, w2
	adr_l	x2, secondary_entry
	adr_l	x3, cpu_resume
	mov_q	x4, PSCI_0_2_FN64_CPU_ON
	cmp	x0, x4
	csel	x2, x2, x3, eq
	ldr_l	x3, kimage_voffset
	sub	x2, x2, x3
	/* It takes the place first. */
	mov_q	x4, PSCI_1_0_FN64_SYSTEM_SUSPEND
	cmp	x0, x4
	csel	x1, x2, x1, eq
	mov	x3, xzr
	cbnz	w9, 1f
	smc	#0
	b	2f
1:	hvc	#0
2:	msr	daif, x19
	ldr	x19, [sp, #16]
	ldp	x29, x30, [sp], #32
	ret
SYM_FUNC_END(kpkeys_call_start)
