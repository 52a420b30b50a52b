/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes known numbers of what emulator/plugins counts, each between two
 * marks; arm64.jsonl has what must be counted. EL1 and EL0, without MMU.
 */
#define SCTLR_EL1	S3_0_C1_C0_0
#define POR_EL1		S3_0_C10_C2_4
#define POR_EL0		S3_3_C10_C2_4
#define ICC_PMR_EL1	S3_0_C4_C6_0
#define ICC_SGI1R_EL1	S3_0_C12_C11_5
#define ICC_IAR1_EL1	S3_0_C12_C12_0
#define ICC_EOIR1_EL1	S3_0_C12_C12_1
#define ICC_SRE_EL1	S3_0_C12_C12_5
#define ICC_IGRPEN1_EL1	S3_0_C12_C12_7

#define DISTRIBUTOR	0x08000000
#define REDISTRIBUTOR	0x080a0000
#define SGI_FRAME	0x10000
#define WAKER		0x14
#define IGROUPR0	0x80
#define ISENABLER0	0x100
#define NO_ADDRESS	(1 << 53)	/* beyond physical memory of any size */
#define PSCI_VERSION	0x84000000
#define SYSTEM_OFF	0x84000008
#define FIRST_PAGE	0x42000000
#define EL0T		0

	.arch	armv8.5-a+lse

	.macro	open name
	.pushsection .rodata
9:	.asciz	"\name"
	.popsection
	adr	x0, 9b
	hint	#64
	.endm

	.macro	close
	hint	#65
	.endm

/* A load from each of 40 pages: 162 instructions. */
	.macro	walk
	mov	x1, #FIRST_PAGE
	mov	x2, #40
7:	ldr	x3, [x1]
	add	x1, x1, #4096
	subs	x2, x2, #1
	b.ne	7b
	.endm

/* The page number of the first one: 2. */
	.macro	first_page
	mov	x1, #FIRST_PAGE
	lsr	x1, x1, #12
	.endm

	.section .text.start, "ax"
	.global	_start
_start:
	msr	spsel, #1
	ldr	x0, =stack_top
	mov	sp, x0
	ldr	x0, =vectors
	msr	vbar_el1, x0
	isb
	mov	x0, #3 << 20
	msr	cpacr_el1, x0
	bl	start_gic
	bl	counted
	ldr	w0, =SYSTEM_OFF
	hvc	#0
	b	.

start_gic:
	mov	x0, #1
	msr	ICC_SRE_EL1, x0
	isb
	ldr	x1, =DISTRIBUTOR
	mov	w0, #0x12		/* affinity routing, group 1 */
	str	w0, [x1]
	ldr	x1, =REDISTRIBUTOR
	str	wzr, [x1, #WAKER]
	add	x1, x1, #SGI_FRAME
	mov	w0, #1
	str	w0, [x1, #IGROUPR0]
	str	w0, [x1, #ISENABLER0]
	mov	x0, #0xff
	msr	ICC_PMR_EL1, x0
	mov	x0, #1
	msr	ICC_IGRPEN1_EL1, x0
	isb
	ret

/* A branch in each slot. */
	.macro	slot target
	.balign	0x80
	b	\target
	.endm

	.balign	0x800
vectors:
	.rept	4
	slot	stray
	.endr
	slot	kernel_sync
	slot	interrupt
	slot	stray
	slot	stray
	slot	user_sync
	slot	interrupt
	.rept	6
	slot	stray
	.endr

stray:	b	.

/* Goes on at x15: with the branch 3 instructions. */
kernel_sync:
	msr	elr_el1, x15
	eret

/* System calls return behind themselves (4 with the branch), others go to x15 (5) or leave (4). */
user_sync:
	cbnz	x14, 1f
	nop
	eret
1:	msr	elr_el1, x15
	cbnz	x13, leave
	eret

/* A system call within returns, and is not the return of the interrupt: with the branch 12, and 3. */
interrupt:
	sub	sp, sp, #16
	mrs	x10, elr_el1
	mrs	x11, spsr_el1
	adr	x15, 1f
	svc	#0
1:	msr	elr_el1, x10
	msr	spsr_el1, x11
	mrs	x12, ICC_IAR1_EL1
	msr	ICC_EOIR1_EL1, x12
	add	sp, sp, #16
	eret

counted:
	open	"nothing"
	close

	open	"instructions"
	.rept	100
	nop
	.endr
	close

	open	"keys"			/* 5 */
	.rept	3
	msr	POR_EL1, xzr
	.endr
	.rept	2
	msr	POR_EL0, xzr
	.endr
	close

	open	"barriers"		/* 13: 5 ISB, 4 DSB; SSBB, PSSBB and DMB are none */
	.rept	5
	isb
	.endr
	dsb	sy
	dsb	ish
	dsb	nshst
	dsb	oshld
	ssbb
	pssbb
	dmb	ish
	sb
	close

	open	"tlbi"			/* 13 */
	mov	x1, #0
	tlbi	vmalle1
	tlbi	vmalle1is
	tlbi	vmalle1os
	tlbi	vae1, x1
	tlbi	vae1is, x1
	tlbi	vale1is, x1
	tlbi	vaae1os, x1
	tlbi	aside1, x1
	tlbi	aside1is, x1
	tlbi	aside1os, x1
	tlbi	rvae1, x1
	tlbi	rvae1is, x1
	tlbi	rvale1is, x1
	close

	open	"registers"		/* 8 */
	mrs	x1, ttbr0_el1
	msr	ttbr0_el1, x1
	msr	ttbr0_el1, x1
	msr	ttbr1_el1, x1
	mrs	x1, SCTLR_EL1
	msr	SCTLR_EL1, x1
	msr	SCTLR_EL1, x1
	msr	tpidr_el1, x1
	close

	open	"atomics"		/* 14, 8 of them atomic */
	ldr	x1, =memory
	mov	x2, #0
	mov	x3, #0
	ldadd	w2, w3, [x1]
	stset	x2, [x1]
	swpal	x2, x2, [x1]
	cas	x2, x3, [x1]
	casp	x2, x3, x2, x3, [x1]
	caspa	x2, x3, x2, x3, [x1]
	ldxr	x2, [x1]
	stxr	w3, x2, [x1]
	ldaxp	x2, x3, [x1]
	stlxp	w4, x2, x3, [x1]
	ldapr	x2, [x1]
	close

	open	"pages"			/* 1147 */
	walk
	walk
	first_page
	tlbi	vae1is, x1
	walk
	first_page
	orr	x1, x1, #1 << 46	/* 4 KiB */
	orr	x1, x1, #3 << 39	/* 8 pages */
	tlbi	rvae1, x1
	walk
	mov	x1, #5 << 48		/* an ASID that is not in use */
	tlbi	aside1, x1
	walk
	mov	x1, #0
	tlbi	aside1, x1
	walk
	tlbi	vmalle1
	walk
	close

	open	"exceptions"		/* 9 and in the handlers 9 */
	adr	x15, 1f
	brk	#0
1:	adr	x15, 1f
	svc	#0
1:	adr	x15, 1f
	ldr	x1, =NO_ADDRESS
	ldr	x1, [x1]
1:	nop
	nop
	close

	open	"hypercall"		/* 4; the emulator is the firmware */
	ldr	w0, =PSCI_VERSION
	hvc	#0
	ldr	w0, =PSCI_VERSION
	hvc	#0
	close

	open	"interrupt"		/* 24, and 15 in the handler */
	msr	daifclr, #2
	mov	x1, #1
	msr	ICC_SGI1R_EL1, x1
	.rept	10
	nop
	.endr
	b	1f
1:	.rept	9
	nop
	.endr
	msr	daifset, #2
	close

	mov	x19, x30
	open	"user"			/* 9 here; the interrupt is pending until user space has begun */
	mov	x1, #1
	msr	ICC_SGI1R_EL1, x1
	mov	x13, #0
	mov	x14, #0
	adr	x1, user
	msr	elr_el1, x1
	mov	x1, #EL0T
	msr	spsr_el1, x1
	eret
leave:	close
	mov	x30, x19
	ret

/* 11 */
user:	nop
	svc	#0
	svc	#0
	mov	x14, #1
	adr	x15, 1f
	brk	#0
1:	ldr	x1, =memory
	ldadd	x1, x1, [x1]
	mov	x13, #1
	ldr	x1, =NO_ADDRESS
	ldr	x1, [x1]
	b	.

	.ltorg
	.bss
	.balign	16
memory:	.skip	64
	.skip	4096
stack_top:
