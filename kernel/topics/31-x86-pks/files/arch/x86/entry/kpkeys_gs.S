/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose GS base a paranoid exception found in force. The kernel's is the base of
 * all that the gate remembers, so whether the way back does SWAPGS must not lie on
 * the stack of a handler. It is in the CPU's keyed memory, together with the frame
 * of the one exception that is to do it: all that nest in it find the kernel's.
 */

/* Bits 16 to 47 of VSYSCALL_ADDR, near which the kernel has no code */
#define VSYSCALL_HIGH	0xffffff60

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES

/* For the caller's frame. Clobbers what C functions may. */
.macro NOTE_USER_GSBASE
	leaq	8(%rsp), %rdi
	call	kpkeys_note_user_gs
.endm

/* A handler that died may have left a note of a frame at the same place. */
.macro NOTE_KERNEL_GSBASE
	leaq	8(%rsp), %rax
	cmpq	%rax, PER_CPU_VAR(kpkeys_cpu + KPKEYS_user_gs)
	jne	.Lend_\@
	FORGET_USER_GSBASE
.Lend_\@:
.endm

/* A jump, so that no register says it from here on. */
.macro JUMP_IF_USER_GSBASE to:req
	cmpq	%rsp, PER_CPU_VAR(kpkeys_cpu + KPKEYS_user_gs)
	je	\to
.endm

.macro FORGET_USER_GSBASE
	xorl	%edi, %edi
	call	kpkeys_note_user_gs
.endm

/*
 * Wherever an exception says that it came from: its frame is in memory. Where it
 * came with user space's base all the same, that is lost.
 */
.macro SET_KERNEL_GSBASE scratch_reg:req
	ALTERNATIVE "jmp .Lend_\@", "", X86_FEATURE_FSGSBASE
	GET_PERCPU_BASE \scratch_reg
	wrgsbase \scratch_reg
.Lend_\@:
.endm

#else

.macro NOTE_USER_GSBASE
	xorl	%ebx, %ebx
.endm

.macro NOTE_KERNEL_GSBASE
	movl	$1, %ebx
.endm

.macro JUMP_IF_USER_GSBASE to:req
	testl	%ebx, %ebx
	jz	\to
.endm

.macro FORGET_USER_GSBASE
.endm

.macro SET_KERNEL_GSBASE scratch_reg:req
.endm

#endif /* CONFIG_KPKEYS_HARDENED_PGTABLES */
