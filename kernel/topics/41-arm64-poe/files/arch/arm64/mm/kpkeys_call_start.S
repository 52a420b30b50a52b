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
 * sleeps; x2: by HVC rather than SMC. Returns what the firmware does, or that there
 * is no such call: x0 may have been on a stack, too.
 */
SYM_FUNC_START(kpkeys_call_start)
	stp	x29, x30, [sp, #-32]!
	mov	x29, sp
	str	x19, [sp, #16]
	mrs	x19, daif
	msr	daifset, #0xf
	mov	w9, w2
	mov	x10, x0
	ldr_l	x11, kimage_voffset
	mov_q	x0, PSCI_0_2_FN64_CPU_ON
	adr_l	x2, secondary_entry
	cmp	x10, x0
	b.eq	1f
	mov_q	x0, PSCI_0_2_FN64_CPU_SUSPEND
	adr_l	x2, cpu_resume
	cmp	x10, x0
	b.eq	1f
	mov_q	x0, PSCI_1_0_FN64_SYSTEM_SUSPEND
	cmp	x10, x0
	b.ne	3f
	/* It takes the place first. */
	sub	x1, x2, x11
1:	sub	x2, x2, x11
	mov	x3, xzr
	cbnz	w9, 2f
	smc	#0
	b	4f
2:	hvc	#0
	b	4f
3:	mov	x0, #PSCI_RET_NOT_SUPPORTED
4:	msr	daif, x19
	ldr	x19, [sp, #16]
	ldp	x29, x30, [sp], #32
	ret
SYM_FUNC_END(kpkeys_call_start)
