/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking entries out of a table and putting them back or into another, where
 * the gate is surely open: none of these asks, and so none calls anything.
 *
 * Only <linux/kpkeys_taken.h> includes this file.
 */
#ifndef _ASM_X86_KPKEYS_TAKEN_H
#define _ASM_X86_KPKEYS_TAKEN_H

#include <linux/page_table_check.h>

/* There are no batches (pte_batch_hint()), so @nr is 1. */
static __always_inline pte_t take_ptes(struct mm_struct *mm, unsigned long addr,
				       pte_t *ptep, unsigned int nr, bool full)
{
	pte_t pte = READ_ONCE(*ptep);

	if (full)
		WRITE_ONCE(*ptep, native_make_pte(0));
	else
		pte = native_make_pte(xchg(&ptep->pte, 0));
	page_table_check_pte_clear(mm, pte);
	return pte;
}

/* Meanwhile no table led to what it maps, which may have changed its type. */
static __always_inline void put_back_pte(struct mm_struct *mm,
					 unsigned long addr, pte_t *ptep,
					 pte_t pte)
{
	page_table_check_ptes_set(mm, ptep, pte, 1);
	if (kpkeys_pgtables_enabled())
		kpkeys_set_pte(ptep, pte);
	else
		WRITE_ONCE(*ptep, pte);
}

#ifndef CONFIG_PARAVIRT_XXL
#define set_copied_ptes set_copied_ptes
static __always_inline bool set_copied_ptes(struct mm_struct *mm,
					    unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned int nr)
{
	page_table_check_ptes_set(mm, ptep, pte, 1);
	WRITE_ONCE(*ptep, pte);
	return true;
}

static __always_inline void protect_copied_ptes(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						pte_t pte, unsigned int nr)
{
	___ptep_set_wrprotect(ptep);
}
#endif

/* What maps nothing needs no look at all. */
static __always_inline void write_swap_pte(struct mm_struct *mm,
					   unsigned long addr, pte_t *ptep,
					   pte_t pte)
{
	WRITE_ONCE(*ptep, pte);
}

#endif /* _ASM_X86_KPKEYS_TAKEN_H */
