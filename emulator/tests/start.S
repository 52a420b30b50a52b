/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entry, exception vectors and the accesses under test. The program runs at
 * the exception level it was started at, with register names chosen by regime.h.
 */
#include "regime.h"

	.section .text.start, "ax"
	.global _start
_start:
#if EL == 2
	ldr	x0, =HCR_VALUE
	msr	hcr_el2, x0
	isb
#endif
	ldr	x0, =stack_top
	msr	spsel, #1
	mov	sp, x0
	ldr	x0, =vectors
	msr	VBAR, x0
	isb
	bl	main
	.global finish
finish:				/* semihosting SYS_EXIT with the status in x0 */
	ldr	x1, =0x20026	/* ADP_Stopped_ApplicationExit */
	stp	x1, x0, [sp, #-16]!
	mov	x1, sp
	mov	w0, #0x18
	hlt	#0xf000
	b	.

	.macro	vector handler
	.balign	0x80
	b	\handler
	.endm

	.balign	0x800
vectors:
	.rept	4
	vector	stray
	.endr
	vector	fault
	.rept	3
	vector	stray
	.endr
	vector	lower
	.rept	7
	vector	stray
	.endr

stray:
	mrs	x0, ESR
	mrs	x1, ELR
	b	unexpected

/* Leaves ESR in x0 and &seen in x2. */
	.macro note
	ldr	x2, =seen
	mrs	x0, ESR
	str	x0, [x2]
	mrs	x1, FAR
	str	x1, [x2, #8]
	ldr	x1, [x2, #16]
	add	x1, x1, #1
	str	x1, [x2, #16]
	.endm

/* At the same level: note it, and go on behind the access (or where a call would have returned to). */
fault:
	stp	x0, x1, [sp, #-32]!
	str	x2, [sp, #16]
	note
	ldr	x1, [x2, #24]	/* expecting? */
	cbz	x1, stray
	ubfx	x1, x0, #26, #6
	cmp	x1, #0x15	/* SVC: ELR is behind it already */
	b.eq	1f
	mrs	x2, ELR
	add	x2, x2, #4
	cmp	x1, #0x21	/* instruction abort: the caller is in x30 */
	csel	x2, x30, x2, eq
	msr	ELR, x2
1:	ldr	x2, [sp, #16]
	ldp	x0, x1, [sp], #32
	eret

/* From a lower level: note it, and return from run_lower(). */
lower:
	note
	ldp	x29, x30, [sp], #16
	ldp	x19, x20, [sp], #16
	isb
	ret

/* void run_lower(address, spsr): runs code at a lower level until it takes an exception */
	.global run_lower
run_lower:
	stp	x19, x20, [sp, #-16]!
	stp	x29, x30, [sp, #-16]!
	msr	ELR, x0
	msr	SPSR, x1
	isb
	eret

	.global do_read, do_write, do_exec, do_read_user, do_write_user
do_read:
	ldr	x0, [x0]
	ret
do_write:
	str	x1, [x0]
	ret
do_exec:
	stp	x29, x30, [sp, #-16]!
	blr	x0
	ldp	x29, x30, [sp], #16
	ret
do_read_user:
	ldtr	x0, [x0]
	ret
do_write_user:
	sttr	x1, [x0]
	ret

/* void set_then_write(por, address, value): no ISB between register write and store */
	.global set_then_write, set_svc_write
set_then_write:
	msr	POR, x0
	str	x2, [x1]
	ret
/* the same with an exception and its return in between */
set_svc_write:
	msr	POR, x0
	svc	#0
	str	x2, [x1]
	ret

	.section .bss.stack, "aw", %nobits
	.balign	16
	.skip	0x4000
stack_top:

/* What runs at a lower level; each ends in a call upwards. */
	.section .text.lower, "ax"
	.global read_tcr2_el1, write_tcr2_el1, read_por_el1, write_por_el1, read_por_el0, write_por_el0
	.global spin
spin:
	b	.
	.global read_pir_el1, write_pir_el1, read_pire0_el1, write_pire0_el1
read_pir_el1:
	mrs	x0, PIR_EL1
	b	call
write_pir_el1:
	msr	PIR_EL1, xzr
	b	call
read_pire0_el1:
	mrs	x0, PIRE0_EL1
	b	call
write_pire0_el1:
	msr	PIRE0_EL1, xzr
	b	call
read_tcr2_el1:
	mrs	x0, TCR2_EL1
	b	call
write_tcr2_el1:
	msr	TCR2_EL1, xzr
	b	call
read_por_el1:
	mrs	x0, POR_EL1
	b	call
write_por_el1:
	msr	POR_EL1, xzr
	b	call
read_por_el0:
	mrs	x0, POR_EL0
	b	call
write_por_el0:
	msr	POR_EL0, xzr
call:
#if EL == 3
	smc	#0
#else
	hvc	#0
#endif
	b	.

/* The page under test: a datum, code, and code for EL0. Aligned for the largest granule. */
	.section .page, "awx"
	.global page, page_code, page_user_code, page_user_por
	.balign	0x10000
page:
	.quad	0
	.balign	0x100
page_code:
	mov	w0, #42
	ret
	.balign	0x100
page_user_code:
	svc	#0
	.balign	0x100
page_user_por:
	mrs	x0, POR_EL0
	svc	#0
	.balign	0x10000
