/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes of entries where the gate is surely open: in
 * guard(kpkeys_pgtables_section). They do not ask; where the gate is shut after
 * all, the write fails.
 *
 * Only <asm/pgtable.h> includes this file.
 */
#ifndef _ASM_ARM64_KPKEYS_HELD_H
#define _ASM_ARM64_KPKEYS_HELD_H

/* Without keys there is no section, and nothing to leave out. */
static __always_inline bool kpkeys_section_holds(void)
{
	return IS_ENABLED(CONFIG_KPKEYS);
}

#define wrprotect_ptes_held wrprotect_ptes_held
static __always_inline void wrprotect_ptes_held(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						unsigned int nr)
{
	pte_t pte = __ptep_get(ptep);

	if (nr != 1 || unlikely(pte_cont(pte)) ||
	    !kpkeys_section_holds())
		return wrprotect_ptes(mm, addr, ptep, nr);
	___ptep_set_wrprotect(mm, addr, ptep, pte);
}

#define set_ptes_held set_ptes_held
static __always_inline void set_ptes_held(struct mm_struct *mm,
					  unsigned long addr, pte_t *ptep,
					  pte_t pte, unsigned int nr)
{
	if (nr != 1 || !kpkeys_section_holds())
		return set_ptes(mm, addr, ptep, pte, nr);
	pte = pte_mknoncont(pte);
	contpte_try_unfold(mm, addr, ptep, __ptep_get(ptep));
	page_table_check_ptes_set(mm, ptep, pte, 1);
	__sync_cache_and_tags(pte, 1);
	__check_safe_pte_update(mm, ptep, pte);
	if (kpkeys_pgtables_enabled() &&
	    unlikely(kpkeys_is_typed(pte) || !kpkeys_is_open_slot(ptep)))
		kpkeys_set_pte(ptep, pte);
	else
		___set_pte(ptep, pte);
	contpte_try_fold(mm, addr, ptep, pte);
}

#endif /* _ASM_ARM64_KPKEYS_HELD_H */
