/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes of entries where the gate is surely open: in
 * guard(kpkeys_pgtables_section), as in fork(), or in lazy-MMU mode under a
 * spinlock. They do not ask; where the gate is shut after all, the write fails.
 *
 * Without them fork of 128 MiB in small folios executes 3.5% more instructions
 * (5,882,442 and 5,684,155), and vmalloc of 256 pages 1,278 more. Counted by
 * ./portcullis bench.
 *
 * Only <asm/pgtable.h> includes this file.
 */
#ifndef _ASM_ARM64_KPKEYS_HELD_H
#define _ASM_ARM64_KPKEYS_HELD_H

/* Lazy-MMU mode is, under a spinlock that keeps preemption off. */
static __always_inline bool kpkeys_lazy_mmu_holds(void)
{
	return IS_ENABLED(CONFIG_KPKEYS) && !IS_ENABLED(CONFIG_PREEMPT_RT);
}

#define wrprotect_ptes_held wrprotect_ptes_held
static __always_inline void wrprotect_ptes_held(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						unsigned int nr)
{
	pte_t pte = __ptep_get(ptep);

	if (nr != 1 || unlikely(pte_cont(pte)) ||
	    !kpkeys_lazy_mmu_holds())
		return wrprotect_ptes(mm, addr, ptep, nr);
	___ptep_set_wrprotect(mm, addr, ptep, pte);
}

#define set_ptes_held set_ptes_held
static __always_inline void set_ptes_held(struct mm_struct *mm,
					  unsigned long addr, pte_t *ptep,
					  pte_t pte, unsigned int nr)
{
	if (nr != 1 || !kpkeys_lazy_mmu_holds())
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

#define ptep_get_and_clear_held ptep_get_and_clear_held
static __always_inline pte_t ptep_get_and_clear_held(struct mm_struct *mm,
						     unsigned long addr,
						     pte_t *ptep)
{
	if (!kpkeys_lazy_mmu_holds())
		return ptep_get_and_clear(mm, addr, ptep);
	contpte_try_unfold(mm, addr, ptep, __ptep_get(ptep));
	if (kpkeys_pgtables_enabled() && unlikely(!kpkeys_is_open_slot(ptep)))
		return kpkeys_clear_ptes(mm, addr, ptep, 1);
	return ___ptep_get_and_clear(mm, addr, ptep);
}

#endif /* _ASM_ARM64_KPKEYS_HELD_H */
