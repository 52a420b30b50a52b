/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of pointer authentication that are secrets: what entry.S and its like
 * do instead of loading them from the task.
 *
 * Each place begins with a branch, out of line, to code that ends with a
 * branch behind the original code. kpkeys_pauth_patch() makes it a NOP where
 * keys stay in the task.
 *
 * All of it runs with interrupts masked. An exception that comes even so (an
 * NMI, SDEI) finds the register open, and saves and shuts it as that of any
 * section. The copy of the level is not touched.
 */
#ifndef __ASM_KPKEYS_PAUTH_MACRO_S
#define __ASM_KPKEYS_PAUTH_MACRO_S

#include <asm/alternative.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/sysreg.h>

#ifdef CONFIG_KPKEYS_PAUTH

	.macro kpkeys_pauth_begin
alternative_cb ARM64_ALWAYS_BOOT, kpkeys_pauth_patch
	b	.Lpauth\@
alternative_cb_end
	.subsection 2
.Lpauth\@:
	.endm

	.macro kpkeys_pauth_end done
	b	\done
	.subsection 0
	.endm

	/*
	 * The slot's address, with the gate open. No number leads out of the
	 * secrets, and none to another task's keys.
	 */
	.macro kpkeys_pauth_open tsk, slot, tmp1, tmp2
	mov	\tmp1, #THREAD_PAUTH_SLOT
	ldr	\tmp1, [\tsk, \tmp1]
	adr_l	\slot, kpkeys_slots + SLOTS_CHUNK
	lsr	\tmp2, \tmp1, #SLOTS_SHIFT
	cmp	\tmp2, #SLOTS_CHUNKS
	b.hs	.Lstranger\@
	ldr	\slot, [\slot, \tmp2, lsl #3]
	ubfx	\tmp1, \tmp1, #0, #SLOTS_SHIFT
	add	\slot, \slot, \tmp1, lsl #SLOT_SHIFT
	mov_q	\tmp1, POR_EL1_SECRET
	msr_s	SYS_POR_EL1, \tmp1
	isb
	ldr	\tmp1, [\slot, #SLOT_OWNER]
	cmp	\tmp1, \tsk
	b.eq	.Lowner\@
.Lstranger\@:
	msr	sp_el0, \tsk		// current; on exit it was user space's
	bl	kpkeys_pauth_corrupt
.Lowner\@:
	.endm

	/* The caller synchronises, or returns from the exception. */
	.macro kpkeys_pauth_shut tmp
	mov_q	\tmp, POR_EL1_DEFAULT
	msr_s	SYS_POR_EL1, \tmp
	.endm

	.macro __kpkeys_pauth_load lo, hi, slot, offset, tmp1, tmp2
	ldp	\tmp1, \tmp2, [\slot, #\offset]
	msr_s	\lo, \tmp1
	msr_s	\hi, \tmp2
	.endm

#define PAUTH_LOAD(key, slot, offset, tmp1, tmp2)			\
	__kpkeys_pauth_load SYS_##key##KEYLO_EL1, SYS_##key##KEYHI_EL1,	\
			    slot, offset, tmp1, tmp2

	.macro kpkeys_pauth_load_kernel slot, tmp1, tmp2
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	PAUTH_LOAD(APIA, \slot, SLOT_KERNEL_APIA, \tmp1, \tmp2)
#else
	/* User space has it to itself: no need to install it at each exit. */
	PAUTH_LOAD(APIA, \slot, SLOT_USER_APIA, \tmp1, \tmp2)
#endif
	.endm

	/*
	 * Entry from user space: the key of the kernel, unless user space ran
	 * without; then it is still there. The isb behind the original code
	 * serves both the key and the gate.
	 */
	.macro kpkeys_pauth_entry tsk, sctlr, slot, tmp1, tmp2, done
	kpkeys_pauth_begin
	tbz	\sctlr, SCTLR_ELx_ENIA_SHIFT, .Loff\@
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	kpkeys_pauth_open \tsk, \slot, \tmp1, \tmp2
	kpkeys_pauth_load_kernel \slot, \tmp1, \tmp2
	kpkeys_pauth_shut \tmp1
#endif
	b	\done
.Loff\@:
	mrs	\tmp1, sctlr_el1
	orr	\tmp1, \tmp1, SCTLR_ELx_ENIA
	msr	sctlr_el1, \tmp1
	kpkeys_pauth_end \done
	.endm

	/* Exit to user space: the exception return synchronises. */
	.macro kpkeys_pauth_exit tsk, sctlr, slot, tmp1, tmp2, done
	kpkeys_pauth_begin
	tbz	\sctlr, SCTLR_ELx_ENIA_SHIFT, .Loff\@
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	kpkeys_pauth_open \tsk, \slot, \tmp1, \tmp2
	PAUTH_LOAD(APIA, \slot, SLOT_USER_APIA, \tmp1, \tmp2)
	kpkeys_pauth_shut \tmp1
#endif
	b	\done
.Loff\@:
	mrs	\tmp1, sctlr_el1
	bic	\tmp1, \tmp1, SCTLR_ELx_ENIA
	msr	sctlr_el1, \tmp1
	kpkeys_pauth_end \done
	.endm

	/* All keys of the task that this CPU runs from now on. */
	.macro kpkeys_pauth_install tsk, slot, tmp1, tmp2, done
	kpkeys_pauth_begin
	kpkeys_pauth_open \tsk, \slot, \tmp1, \tmp2
	kpkeys_pauth_load_kernel \slot, \tmp1, \tmp2
	PAUTH_LOAD(APIB, \slot, SLOT_USER_APIB, \tmp1, \tmp2)
	PAUTH_LOAD(APDA, \slot, SLOT_USER_APDA, \tmp1, \tmp2)
	PAUTH_LOAD(APDB, \slot, SLOT_USER_APDB, \tmp1, \tmp2)
alternative_if ARM64_HAS_GENERIC_AUTH
	PAUTH_LOAD(APGA, \slot, SLOT_USER_APGA, \tmp1, \tmp2)
alternative_else_nop_endif
	kpkeys_pauth_shut \tmp1
	isb
	kpkeys_pauth_end \done
	.endm

#else /* !CONFIG_KPKEYS_PAUTH */

	.macro kpkeys_pauth_entry tsk, sctlr, slot, tmp1, tmp2, done
	.endm

	.macro kpkeys_pauth_exit tsk, sctlr, slot, tmp1, tmp2, done
	.endm

	.macro kpkeys_pauth_install tsk, slot, tmp1, tmp2, done
	.endm

#endif /* CONFIG_KPKEYS_PAUTH */

#endif /* __ASM_KPKEYS_PAUTH_MACRO_S */
