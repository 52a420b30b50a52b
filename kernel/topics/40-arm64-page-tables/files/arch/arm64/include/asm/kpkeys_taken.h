/* SPDX-License-Identifier: GPL-2.0-only */
/* Only <linux/kpkeys_taken.h> includes this file. */
#ifndef _ASM_ARM64_KPKEYS_TAKEN_H
#define _ASM_ARM64_KPKEYS_TAKEN_H

/* Both know about contiguous entries. */
#define take_ptes	get_and_clear_full_ptes
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
	if (nr != 1 || pte_cont(pte) || !kpkeys_section_holds())
		wrprotect_ptes(mm, addr, ptep, nr);
	else
		___ptep_set_wrprotect(mm, addr, ptep, pte);
}

/*
 * Ahead of the section: to keep caches and tags is to write to what struct page
 * leads to. Areas say whether they have such pages.
 */
#define needs_sync(vma)		((vma)->vm_flags & (VM_EXEC | VM_MTE))
#define sync_pte(pte)		__sync_cache_and_tags(pte, 1)

/* The section has asked where the entries are, and they were empty. */
#define set_copied_ptes set_copied_ptes
static __always_inline bool set_copied_ptes(struct mm_struct *mm,
					    unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned int nr)
{
	if (nr != 1 || !kpkeys_section_holds()) {
		set_ptes_held(mm, addr, ptep, pte, nr);
		return true;
	}
	pte = pte_mknoncont(pte);
	page_table_check_ptes_set(mm, ptep, pte, 1);
	WRITE_ONCE(*ptep, pte);
	contpte_try_fold(mm, addr, ptep, pte);
	return true;
}

/* As ptep_modify_prot_start(), which an erratum has flush for some. */
static __always_inline pte_t take_changed_pte(struct vm_area_struct *vma,
					      unsigned long addr, pte_t *ptep)
{
	if (alternative_has_cap_unlikely(ARM64_WORKAROUND_2645198) ||
	    !kpkeys_section_holds())
		return ptep_modify_prot_start(vma, addr, ptep);
	contpte_try_unfold(vma->vm_mm, addr, ptep, __ptep_get(ptep));
	return ___ptep_get_and_clear(vma->vm_mm, addr, ptep);
}

#define take_changed_pte take_changed_pte
#define set_changed_pte(vma, addr, ptep, old, pte)			\
	set_copied_ptes((vma)->vm_mm, addr, ptep, pte, 1)
#endif

#ifdef CONFIG_ARM64_PA_BITS_52
#define PTE_LEADS_TO	PHYS_TO_PTE_ADDR_MASK
#else
#define PTE_LEADS_TO	PTE_ADDR_LOW
#endif

/* Does an entry allow what @old does not, or lead elsewhere? */
static __always_inline bool pte_gains(pte_t old, pte_t pte)
{
	const pteval_t denied = PTE_RDONLY | PTE_UXN | PTE_PXN;
	pteval_t differs = pte_val(old) ^ pte_val(pte);
	pteval_t gained = differs & (pte_val(pte) ^ denied);

	return (differs & (PTE_LEADS_TO | PTE_PO_IDX_MASK)) |
	       (gained & (PTE_VALID | PTE_USER | PTE_WRITE | denied));
}

#endif /* _ASM_ARM64_KPKEYS_TAKEN_H */
