/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes known numbers of what emulator/plugins counts, each between two
 * marks; x86.jsonl has what must be counted. Entered by PVH in 32-bit mode.
 */
#define CODE		0x08
#define DATA		0x10
#define USER_DATA	0x1b
#define USER_CODE	0x23
#define TSS		0x28
#define STAR_BASE	0x10	/* SYSRET: DATA + 8 for data, + 16 for code */

#define PRESENT		1
#define WRITE		2
#define USER		4
#define LARGE		0x80

#define CR4_PAE		(1 << 5)
#define CR4_PGE		(1 << 7)
#define CR4_PKE		(1 << 22)
#define CR4_PKS		(1 << 24)
#define CR0_WP		(1 << 16)

#define APIC		0xffffffffff400000	/* mapped here: decoders look for the last MiB */
#define APIC_EOI	0xb0
#define APIC_SPURIOUS	0xf0
#define APIC_ICR	0x300
#define SELF		0x44000			/* shorthand and level */
#define VECTOR		0x40
#define SEND_NMI	0x4400			/* to the CPU whose number is 0 */
#define LEAVE		5
#define UNMAPPED	0x7f0000000000
#define FIRST_PAGE	0x2000000
#define PAGE		0x200000
#define EXIT_PORT	0xf4

	.macro	open name
	.pushsection .rodata
9:	.asciz	"\name"
	.popsection
	lea	9b(%rip), %rdi
	nopl	0x504b4f01(%rax)
	.endm

	.macro	close
	nopl	0x504b4f02(%rax)
	.endm

/* 21 instructions; the emulator takes interrupts at jumps. */
	.macro	wait_here
	.rept	10
	nop
	.endr
	jmp	8f
8:	.rept	10
	nop
	.endr
	.endm

/* A load from each of 40 pages of 2 MiB: 162 instructions. */
	.macro	walk
	mov	$FIRST_PAGE, %esi
	mov	$40, %ecx
7:	mov	(%rsi), %al
	add	$PAGE, %esi
	dec	%ecx
	jnz	7b
	.endm

/* Where exceptions of the kernel's and user's own making go on. */
	.macro	after label
	lea	\label(%rip), %r15
	.endm

	.section .note, "a", @note
	.long	4, 4, 18		/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.long	start32

	.section .text.start, "ax"
	.code32
	.global	start32
start32:
	mov	$pdpt + PRESENT + WRITE + USER, %eax
	mov	%eax, pml4
	mov	%eax, pml4 + 511 * 8
	movl	$pd + PRESENT + WRITE + USER, pdpt
	movl	$high_pd + PRESENT + WRITE, pdpt + 511 * 8
	movl	$0xfee00000 + PRESENT + WRITE + LARGE, high_pd + 0x1fa * 8
	mov	$PRESENT + WRITE + USER + LARGE, %eax
	mov	$pd, %edi
1:	mov	%eax, (%edi)
	add	$8, %edi
	add	$0x200000, %eax
	cmp	$pd + 512 * 8, %edi
	jne	1b
	mov	$CR4_PAE, %eax
	mov	%eax, %cr4
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$0xc0000080, %ecx
	mov	$0x101, %eax		/* LME, SCE */
	xor	%edx, %edx
	wrmsr
	mov	$0x80000011, %eax
	mov	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$CODE, $start64

	.code64
start64:
	mov	$DATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	lea	stack_top(%rip), %rsp
	lea	tss(%rip), %rax
	mov	%ax, gdt + TSS + 2
	shr	$16, %rax
	mov	%al, gdt + TSS + 4
	mov	%ah, gdt + TSS + 7
	mov	$TSS, %eax
	ltr	%ax
	lea	exception_top(%rip), %rax
	mov	%rax, tss + 4		/* what exceptions of user space use */
	call	fill_idt
	mov	$0xc0000081, %ecx	/* STAR */
	xor	%eax, %eax
	mov	$STAR_BASE << 16 | CODE, %edx
	wrmsr
	mov	$0xc0000082, %ecx	/* LSTAR */
	lea	system_call(%rip), %rax
	xor	%edx, %edx
	wrmsr
	mov	$CR4_PAE | CR4_PGE | CR4_PKE | CR4_PKS, %eax
	mov	%rax, %cr4
	movl	$0x1ff, APIC + APIC_SPURIOUS
	mov	$0xff, %al		/* no timer of the firmware's */
	out	%al, $0x21
	out	%al, $0xa1
	call	counted
	xor	%eax, %eax
	outl	%eax, $EXIT_PORT
	hlt

/* One gate: address in rax, vector in ecx, flags in edx. */
set_gate:
	shl	$4, %ecx
	lea	idt(%rip), %rdi
	add	%rcx, %rdi
	mov	%ax, (%rdi)
	movw	$CODE, 2(%rdi)
	mov	%dx, 4(%rdi)
	shr	$16, %rax
	mov	%ax, 6(%rdi)
	shr	$16, %rax
	mov	%eax, 8(%rdi)
	ret

	.macro	gate vector, handler, flags=0x8e00
	lea	\handler(%rip), %rax
	mov	$\vector, %ecx
	mov	$\flags, %edx
	call	set_gate
	.endm

fill_idt:
	gate	2, nmi
	gate	3, plain, 0xee00
	gate	6, go_on
	gate	13, go_on_with_code
	gate	14, fault
	gate	VECTOR, interrupt
	gate	0x80, system_gate, 0xee00
	gate	LEAVE, leave_gate, 0xee00
	lidt	idt_pointer
	ret

	.balign 16
nmi:	iretq			/* 1 instruction */
	.balign 16
plain:	iretq			/* 1; gates with one address are one to the plugin */
	.balign 16
system_gate:
	iretq			/* 1 */
	.balign 16
go_on_with_code:
	add	$8, %rsp	/* no jump to go_on, which is a handler */
	mov	%r15, (%rsp)
	iretq			/* 3 */
	.balign 16
go_on:	mov	%r15, (%rsp)
	iretq			/* 2 */
	.balign 16
fault:	add	$8, %rsp
	mov	%r15, (%rsp)
	iretq			/* 3 */
	.balign 16
/* An exception and an NMI within return, which is not the return of the interrupt. */
interrupt:
	push	%rax
	int3			/* 1 instruction there */
	movl	$SEND_NMI, APIC + APIC_ICR
	jmp	1f		/* 1 there */
1:	movl	$0, APIC + APIC_EOI
	pop	%rax
	iretq			/* 9 with those there */
	.balign 16
system_call:
	nop
	sysretq			/* 2 */

counted:
	open	"nothing"
	close

	open	"instructions"
	.rept	100
	nop
	.endr
	close

	open	"keys"			/* 7 + 4 */
	mov	$0x6e1, %ecx
	xor	%eax, %eax
	xor	%edx, %edx
	.rept	3
	wrmsr
	.endr
	xor	%ecx, %ecx
	.rept	4
	wrpkru
	.endr
	close

	open	"control"		/* 20 */
	mov	%cr0, %rax
	mov	%rax, %rbx
	or	$CR0_WP, %rbx
	mov	%rbx, %cr0
	mov	%rax, %cr0
	mov	%cr3, %rax
	.rept	3
	mov	%rax, %cr3
	.endr
	mov	%cr4, %rax
	mov	%rax, %cr4		/* the same value flushes nothing */
	mov	%rax, %rbx
	xor	$CR4_PGE, %rbx
	mov	%rbx, %cr4
	mov	%rax, %cr4
	invlpg	(%rax)
	invlpg	(%rbx)
	mov	%cr8, %rax
	mov	%rax, %cr8		/* does not serialise */
	nop
	close

	open	"serialising"		/* 8 */
	xor	%eax, %eax
	cpuid
	xor	%eax, %eax
	cpuid
	mov	$0x277, %ecx		/* PAT */
	rdmsr
	wrmsr
	lidt	idt_pointer
	close

	open	"atomics"		/* 7, 4 of them atomic */
	lock incl counter
	lock cmpxchg %ecx, counter
	xchg	%eax, counter
	lock xadd %rax, counter
	xchg	%rax, %rdx
	incl	counter
	mov	%eax, counter
	close

	open	"string"		/* 5 */
	lea	buffer(%rip), %rdi
	mov	$100, %ecx
	rep stosb
	mov	$100, %ecx
	rep stosb
	close

	open	"pages"			/* 493 */
	walk
	walk
	mov	%cr3, %rax
	mov	%rax, %cr3
	walk
	mov	0x3000 - PAGE(%rsi), %al	/* the same page */
	sub	$PAGE, %esi
	invlpg	(%rsi)
	mov	(%rsi), %al
	mov	-PAGE(%rsi), %al	/* one that INVLPG did not name */
	close

	open	"exceptions"		/* 8 and in handlers 1 + 2 + 3 */
	int3
	after	1f
	ud2
1:	after	1f
	mov	$UNMAPPED, %rax
	mov	(%rax), %rax
1:	nop
	nop
	close

	open	"hypercall"		/* 2, and 2 in the handler: nobody is there to take it */
	after	1f
	vmmcall
1:	close

	open	"interrupt"		/* 24, and 9 in the handler */
	sti
	movl	$SELF | VECTOR, APIC + APIC_ICR
	wait_here
	cli
	close

	open	"nmi"			/* 22, and 1 in the handler */
	movl	$SEND_NMI, APIC + APIC_ICR
	wait_here
	close

/* The interrupt is pending until user space has begun. */
	open	"user"			/* 9 here, handlers 2 + 1 + 1 + 3 + 3 + 2 */
	movl	$SELF | VECTOR, APIC + APIC_ICR
	mov	%rsp, saved
	push	$USER_DATA
	lea	user_stack(%rip), %rax
	push	%rax
	push	$0x202
	push	$USER_CODE
	push	$user
	iretq
back:	close

	mov	$0x1b, %ecx		/* APIC_BASE: x2APIC */
	rdmsr
	or	$0x400, %eax
	wrmsr
	lea	x2apic_interrupt(%rip), %rax
	mov	$VECTOR, %ecx
	mov	$0x8e00, %edx
	call	set_gate
	open	"x2apic"		/* 27, and 8 in the handler */
	sti
	mov	$0x830, %ecx
	mov	$SELF | VECTOR, %eax
	xor	%edx, %edx
	wrmsr
	wait_here
	cli
	close
	ret

/* 11; HLT is refused, and int $LEAVE goes to the kernel for good. */
user:	nop
	syscall
	int	$0x80
	lock incl counter
	int3
	after	1f
	mov	$UNMAPPED, %rax
	mov	(%rax), %rax
1:	after	1f
	hlt
1:	int	$LEAVE

	.balign 16
leave_gate:
	mov	saved, %rsp
	jmp	back

	.balign 16
x2apic_interrupt:
	push	%rax
	push	%rcx
	mov	$0x80b, %ecx		/* EOI */
	xor	%eax, %eax
	wrmsr
	pop	%rcx
	pop	%rax
	iretq

	.data
	.balign	16
gdt:	.quad	0
	.quad	0x00af9b000000ffff	/* CODE */
	.quad	0x00cf93000000ffff	/* DATA */
	.quad	0x00cff3000000ffff	/* USER_DATA */
	.quad	0x00affb000000ffff	/* USER_CODE */
	.quad	0x0000890000000067, 0	/* TSS */
gdt_pointer:
	.word	. - gdt - 1
	.quad	gdt
idt_pointer:
	.word	0xfff
	.quad	idt
counter: .quad	0
saved:	.quad	0

	.bss
	.balign	4096
pml4:	.skip	4096
pdpt:	.skip	4096
pd:	.skip	4096
high_pd: .skip	4096
idt:	.skip	4096
tss:	.skip	104
buffer:	.skip	256
	.balign	16
	.skip	4096
stack_top:
	.skip	4096
exception_top:
	.skip	4096
user_stack:
