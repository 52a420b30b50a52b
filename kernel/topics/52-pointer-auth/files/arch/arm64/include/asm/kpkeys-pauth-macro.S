/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of pointer authentication that are secrets: what entry.S and its like
 * do instead of loading them from the task.
 *
 * The kernel's key is loaded whenever user space is left, whatever is said of
 * the keys that a task has enabled. To have the gate open then, and no barrier
 * for it, user space runs with POR_EL1_USER: that reads secrets, writes nothing,
 * and does not concern EL0. Exceptions synchronise, and their returns do.
 *
 * Most places begin with a branch, out of line, to code that ends with a branch
 * behind the original code. Callbacks make NOPs of it where keys stay in the
 * task.
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

	.macro kpkeys_pauth_begin patch
alternative_cb ARM64_ALWAYS_BOOT, \patch
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
	.macro kpkeys_pauth_open tsk, slot, tmp1, tmp2, reg
	mov	\tmp1, #THREAD_PAUTH_SLOT
	ldr	\tmp1, [\tsk, \tmp1]
	adr_l	\slot, kpkeys_slots + SLOTS_CHUNK
	lsr	\tmp2, \tmp1, #SLOTS_SHIFT
	cmp	\tmp2, #SLOTS_CHUNKS
	b.hs	.Lstranger\@
	ldr	\slot, [\slot, \tmp2, lsl #3]
	cbz	\slot, .Lstranger\@		// no such chunk yet: user space begins there
	ubfx	\tmp1, \tmp1, #0, #SLOTS_SHIFT
	add	\slot, \slot, \tmp1, lsl #SLOT_SHIFT
	mov_q	\tmp1, \reg
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

#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL

	/* To the register, and to where entry from user space finds it. */
	.macro kpkeys_pauth_load_kernel slot, tmp1, tmp2
	adr_this_cpu \tmp1, kpkeys_pauth_key, \tmp2
	ldr	\tmp2, [\slot, #SLOT_KERNEL_APIA]
	msr_s	SYS_APIAKEYLO_EL1, \tmp2
	str	\tmp2, [\tmp1]
	ldr	\tmp2, [\slot, #SLOT_KERNEL_APIA + 8]
	msr_s	SYS_APIAKEYHI_EL1, \tmp2
	str	\tmp2, [\tmp1, #8]
	.endm

	/*
	 * Entry from user space. Which keys that had enabled the register says,
	 * and no memory. The isb behind the original code serves both the key
	 * and the gate: until then loads may succeed that should not, so what
	 * was loaded through tsk, whatever that is, goes no further.
	 */
	.macro kpkeys_pauth_entry flags, tmp1, tmp2, tmp3, done
	kpkeys_pauth_begin kpkeys_pauth_patch
	adr_this_cpu \tmp1, kpkeys_pauth_key, \tmp2
	ldp	\tmp2, \tmp3, [\tmp1]
	msr_s	SYS_APIAKEYLO_EL1, \tmp2
	msr_s	SYS_APIAKEYHI_EL1, \tmp3
	kpkeys_pauth_shut \tmp1
	mov	\flags, xzr
	mrs	\tmp1, sctlr_el1
	tbnz	\tmp1, SCTLR_ELx_ENIA_SHIFT, \done
	orr	\tmp1, \tmp1, SCTLR_ELx_ENIA
	msr	sctlr_el1, \tmp1
	kpkeys_pauth_end \done
	.endm

	/* With the gate open as it stays: user space's key. */
	.macro kpkeys_pauth_load_user tsk, slot, tmp1, tmp2
	kpkeys_pauth_open \tsk, \slot, \tmp1, \tmp2, POR_EL1_USER
	PAUTH_LOAD(APIA, \slot, SLOT_USER_APIA, \tmp1, \tmp2)
	.endm

	.macro kpkeys_pauth_open_user tmp
alternative_cb ARM64_ALWAYS_BOOT, kpkeys_pauth_patch_kernel
	mov_q	\tmp, POR_EL1_USER
	msr_s	SYS_POR_EL1, \tmp
alternative_cb_end
	.endm

#else /* !CONFIG_ARM64_PTR_AUTH_KERNEL */

	/* User space has key IA to itself: no need to install it at each exit. */
	.macro kpkeys_pauth_load_kernel slot, tmp1, tmp2
	PAUTH_LOAD(APIA, \slot, SLOT_USER_APIA, \tmp1, \tmp2)
	.endm

	.macro kpkeys_pauth_entry flags, tmp1, tmp2, tmp3, done
	.endm

	.macro kpkeys_pauth_load_user tsk, slot, tmp1, tmp2
	.endm

	.macro kpkeys_pauth_open_user tmp
	.endm

#endif /* CONFIG_ARM64_PTR_AUTH_KERNEL */

	/* Exit to user space whose keys are hidden, too: they are loaded later. */
	.macro kpkeys_pauth_exit done
alternative_cb ARM64_ALWAYS_BOOT, kpkeys_pauth_patch_all
	b	\done
alternative_cb_end
	.endm

	/* The last thing but to load the registers of user space. */
	.macro kpkeys_pauth_leave tsk, slot, tmp1, tmp2
	kpkeys_pauth_begin kpkeys_pauth_patch_all
	kpkeys_pauth_load_user \tsk, \slot, \tmp1, \tmp2
	ldr	\tmp1, [\tsk, THREAD_SCTLR_USER]
	tbnz	\tmp1, SCTLR_ELx_ENIA_SHIFT, .Ldone\@
	mrs	\tmp1, sctlr_el1
	bic	\tmp1, \tmp1, SCTLR_ELx_ENIA
	msr	sctlr_el1, \tmp1
	kpkeys_pauth_end .Ldone\@
	kpkeys_pauth_open_user \tmp1
.Ldone\@:
	.endm

	/* The keys of the task that this CPU runs from now on. */
	.macro kpkeys_pauth_install tsk, slot, tmp1, tmp2, done
	kpkeys_pauth_begin kpkeys_pauth_patch
	kpkeys_pauth_open \tsk, \slot, \tmp1, \tmp2, POR_EL1_SECRET
alternative_cb ARM64_ALWAYS_BOOT, kpkeys_pauth_patch_kernel
	b	.Lkernel\@
alternative_cb_end
	PAUTH_LOAD(APIB, \slot, SLOT_USER_APIB, \tmp1, \tmp2)
	PAUTH_LOAD(APDA, \slot, SLOT_USER_APDA, \tmp1, \tmp2)
	PAUTH_LOAD(APDB, \slot, SLOT_USER_APDB, \tmp1, \tmp2)
alternative_if ARM64_HAS_GENERIC_AUTH
	PAUTH_LOAD(APGA, \slot, SLOT_USER_APGA, \tmp1, \tmp2)
alternative_else_nop_endif
.Lkernel\@:
	kpkeys_pauth_load_kernel \slot, \tmp1, \tmp2
	kpkeys_pauth_shut \tmp1
	isb
	kpkeys_pauth_end \done
	.endm

#else /* !CONFIG_KPKEYS_PAUTH */

	.macro kpkeys_pauth_entry flags, tmp1, tmp2, tmp3, done
	.endm

	.macro kpkeys_pauth_exit done
	.endm

	.macro kpkeys_pauth_leave tsk, slot, tmp1, tmp2
	.endm

	.macro kpkeys_pauth_install tsk, slot, tmp1, tmp2, done
	.endm

#endif /* CONFIG_KPKEYS_PAUTH */

#endif /* __ASM_KPKEYS_PAUTH_MACRO_S */
