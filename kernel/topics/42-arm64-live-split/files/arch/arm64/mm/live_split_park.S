/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include <asm/kpkeys_compat.h>
#include <asm/mmu.h>

/*
 * live_split_park - wait without the linear map
 * x0: TTBR1_EL1 of a top-level table that does not have it
 * x1: to be increased when this CPU is there
 * x2: non-zero when it may go on
 *
 * All exceptions are masked. No stack: it may be in the linear map.
 */
SYM_FUNC_START(live_split_park)
	mrs	x3, ttbr1_el1
	and	x4, x3, #TTBRx_EL1_ASID_MASK
	orr	x0, x0, x4
	offset_ttbr1 x0, x4
	msr	ttbr1_el1, x0
	isb
	tlbi	vmalle1
	dsb	nsh
	isb

1:	ldxr	w4, [x1]
	add	w4, w4, #1
	stlxr	w5, w4, [x1]
	cbnz	w5, 1b

	sevl
2:	wfe
	ldaxr	w4, [x2]
	cbz	w4, 2b

	msr	ttbr1_el1, x3
	isb
	ret
SYM_FUNC_END(live_split_park)
