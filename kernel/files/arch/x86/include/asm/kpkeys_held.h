/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes of entries where the gate is surely open: in lazy-MMU mode under a
 * lock, as in fork(), or in guard(kpkeys_pgtables_section). They do not ask.
 * With CONFIG_KPKEYS_DESIGNS every write asks.
 *
 * Only <asm/pgtable.h> includes this file.
 */
#if !defined(_ASM_X86_KPKEYS_HELD_H) && !defined(CONFIG_KPKEYS_DESIGNS)
#define _ASM_X86_KPKEYS_HELD_H

#define wrprotect_ptes_held wrprotect_ptes_held
static __always_inline void wrprotect_ptes_held(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						unsigned int nr)
{
	for (; nr; nr--, ptep++, addr += PAGE_SIZE) {
		if (kpkeys_lazy_mmu_holds())
			___ptep_set_wrprotect(ptep);
		else
			ptep_set_wrprotect(mm, addr, ptep);
	}
}

#define set_ptes_held set_ptes_held
static __always_inline void set_ptes_held(struct mm_struct *mm,
					  unsigned long addr, pte_t *ptep,
					  pte_t pte, unsigned int nr)
{
	page_table_check_ptes_set(mm, ptep, pte, nr);
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, 1)) {
		if (kpkeys_lazy_mmu_holds())
			WRITE_ONCE(*ptep, pte);
		else
			native_set_pte(ptep, pte);
	}
}

#define ptep_get_and_clear_held ptep_get_and_clear_held
static __always_inline pte_t ptep_get_and_clear_held(struct mm_struct *mm,
						     unsigned long addr,
						     pte_t *ptep)
{
	pte_t pte;

	if (!kpkeys_lazy_mmu_holds())
		return ptep_get_and_clear(mm, addr, ptep);
	pte = native_make_pte(xchg(&ptep->pte, 0));
	page_table_check_pte_clear(mm, pte);
	return pte;
}

#endif /* _ASM_X86_KPKEYS_HELD_H */
