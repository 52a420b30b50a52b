/* SPDX-License-Identifier: GPL-2.0-only */
/* Only <linux/kpkeys_taken.h> includes this file. */
#ifndef _ASM_ARM64_KPKEYS_TAKEN_H
#define _ASM_ARM64_KPKEYS_TAKEN_H

/* Both know about contiguous entries. */
#define take_ptes	get_and_clear_full_ptes
#define put_back_pte	set_pte_at
#define write_swap_pte	set_pte_at

#ifdef CONFIG_ARM64_CONTPTE
#define protect_copied_ptes	wrprotect_ptes_held

/*
 * The section has asked where the entries are, and they were empty. What an
 * entry maps is looked at where it is written.
 */
#define set_copied_ptes set_copied_ptes
static __always_inline bool set_copied_ptes(struct mm_struct *mm,
					    unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned int nr)
{
	if (nr != 1 || !kpkeys_lazy_mmu_holds()) {
		set_ptes_held(mm, addr, ptep, pte, nr);
		return true;
	}
	if (kpkeys_pgtables_enabled() && unlikely(kpkeys_is_typed(pte)))
		return false;
	pte = pte_mknoncont(pte);
	page_table_check_ptes_set(mm, ptep, pte, 1);
	__sync_cache_and_tags(pte, 1);
	WRITE_ONCE(*ptep, pte);
	contpte_try_fold(mm, addr, ptep, pte);
	return true;
}
#endif

#endif /* _ASM_ARM64_KPKEYS_TAKEN_H */
