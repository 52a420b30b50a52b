/* SPDX-License-Identifier: GPL-2.0-only */
/* Only <linux/kpkeys_taken.h> includes this file. */
#ifndef _ASM_ARM64_KPKEYS_TAKEN_H
#define _ASM_ARM64_KPKEYS_TAKEN_H

/* Both know about contiguous entries. */
#define take_ptes	get_and_clear_full_ptes
#define put_back_pte	set_pte_at
#define write_swap_pte	set_pte_at

#ifdef CONFIG_ARM64_CONTPTE
/* Most entries are not contiguous: read once, and one test. */
#define read_copied_ptes read_copied_ptes
static __always_inline unsigned int read_copied_ptes(pte_t *ptep, pte_t *pte)
{
	*pte = __ptep_get(ptep);
	if (likely(!pte_valid_cont(*pte)))
		return 1;
	*pte = contpte_ptep_get(ptep, *pte);
	return pte_batch_hint(ptep, *pte);
}

static __always_inline void protect_copied_ptes(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						pte_t pte, unsigned int nr)
{
	if (nr != 1 || pte_cont(pte) || !kpkeys_lazy_mmu_holds())
		wrprotect_ptes(mm, addr, ptep, nr);
	else
		___ptep_set_wrprotect(mm, addr, ptep, pte);
}

/* The section has asked where the entries are, and they were empty. */
#define set_copied_ptes set_copied_ptes
static __always_inline bool set_copied_ptes(struct mm_struct *mm,
					    unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned int nr)
{
	if (nr != 1 || !kpkeys_lazy_mmu_holds()) {
		set_ptes_held(mm, addr, ptep, pte, nr);
		return true;
	}
	pte = pte_mknoncont(pte);
	page_table_check_ptes_set(mm, ptep, pte, 1);
	__sync_cache_and_tags(pte, 1);
	WRITE_ONCE(*ptep, pte);
	contpte_try_fold(mm, addr, ptep, pte);
	return true;
}
#endif

#endif /* _ASM_ARM64_KPKEYS_TAKEN_H */
