/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes of entries in lazy-MMU mode under a lock: no need to ask whether that
 * is a section. For fork(). With CONFIG_KPKEYS_DESIGNS every write asks.
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

#endif /* _ASM_X86_KPKEYS_HELD_H */
