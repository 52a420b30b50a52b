// SPDX-License-Identifier: GPL-2.0-only
/* The same for arm64's registers, and a place that cannot be parsed. */
#include <asm/sysreg.h>

static void keys_open(u64 ttbr)
{
	write_sysreg_s(~0UL, SYS_POR_EL1);			/* gate-register */
	write_sysreg(ttbr, ttbr0_el1);				/* gate-register */
	asm volatile("msr ttbr1_el1, %0\n\t"			/* gate-register */
		     "isb" : : "r" (ttbr));
}

static void keys_set(pte_t *ptep)
{
	DECLARE_KEYS(walk) all, none;				/* unread */
	*ptep = __pte(0);
}
