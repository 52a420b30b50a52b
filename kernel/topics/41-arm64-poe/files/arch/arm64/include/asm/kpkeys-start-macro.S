/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that starts, or wakes without its registers, finds its task, its stack
 * and its per-CPU memory by what ordinary memory says. It stores to none of them
 * before its overlays are on, and opens no gate before it has a right to the last.
 */
#ifndef __ASM_KPKEYS_START_MACRO_S
#define __ASM_KPKEYS_START_MACRO_S

#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/kpkeys_compat.h>
#include <asm/sysreg.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES

	/* By constants. A CPU that has none goes on, and is refused in C. */
	.macro kpkeys_start_overlays tmp1, tmp2
	ldr_l	w\tmp1, kpkeys_start_poe, \tmp2
	mrs_s	\tmp2, SYS_ID_AA64MMFR3_EL1
	ubfx	\tmp2, \tmp2, #ID_AA64MMFR3_EL1_S1POE_SHIFT, #4
	cbz	\tmp2, .Lstarted\@
	cbz	w\tmp1, .Lstarted\@
	mov_q	\tmp1, POR_EL1_DEFAULT
	msr_s	SYS_POR_EL1, \tmp1
	isb
	mrs	\tmp1, REG_TCR2_EL1
	orr	\tmp1, \tmp1, #TCR2_EL1_POE
	msr	REG_TCR2_EL1, \tmp1
	isb
.Lstarted\@:
	.endm

	/* Clobbers what a function may, and x19. A CPU with another's memory waits for good. */
	.macro kpkeys_start_memory tsk
	mov	x19, lr
.Lagain\@:
	bl	kpkeys_cpu_comes
	tbnz	w0, #0, .Lmine\@
	wfi
	b	.Lagain\@
.Lmine\@:
	mov	lr, x19
	mrs	\tsk, sp_el0
	.endm

#else

	.macro kpkeys_start_overlays tmp1, tmp2
	.endm

	.macro kpkeys_start_memory tsk
	.endm

#endif

#endif /* __ASM_KPKEYS_START_MACRO_S */
