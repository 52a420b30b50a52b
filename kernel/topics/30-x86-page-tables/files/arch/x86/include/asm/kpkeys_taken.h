/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking entries out of a table and putting them back or into another, where
 * the gate is surely open: none of these asks, and so none calls anything. Nor
 * does PARAVIRT_XXL matter: as a Xen PV guest the kernel protects nothing.
 *
 * Only <linux/kpkeys_taken.h> includes this file.
 */
#ifndef _ASM_X86_KPKEYS_TAKEN_H
#define _ASM_X86_KPKEYS_TAKEN_H

#include <linux/kpkeys_compat.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
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
	kpkeys_check_pte_clear(mm, addr, pte);
	return pte;
}

#define set_copied_ptes set_copied_ptes
static __always_inline bool set_copied_ptes(struct mm_struct *mm,
					    unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned int nr)
{
	kpkeys_check_ptes_set(mm, addr, ptep, pte, 1);
	WRITE_ONCE(*ptep, pte);
	return true;
}

static __always_inline bool protect_copied_ptes(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						pte_t pte, unsigned int nr)
{
	___ptep_set_wrprotect(ptep);
	return true;
}

#define take_changed_pte(vma, addr, ptep, nr)				\
	take_ptes((vma)->vm_mm, addr, ptep, 1, false)
#define set_changed_pte(vma, addr, ptep, old, pte, nr)			\
	set_copied_ptes((vma)->vm_mm, addr, ptep, pte, 1)

/* pte_mkwrite() in line. */
#define mkwrite_changed_pte mkwrite_changed_pte
static __always_inline pte_t mkwrite_changed_pte(pte_t pte,
						 struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_SHADOW_STACK)
		return pte_mkwrite_shstk(pte);
	return pte_clear_saveddirty(pte_mkwrite_novma(pte));
}

static __always_inline void clear_bits_in_place(pte_t *ptep, cydp_t flags)
{
	pte_t old = READ_ONCE(*ptep), new;

	do {
		new = flags & CYDP_CLEAR_YOUNG ? pte_mkold(old) : old;
		if (flags & CYDP_CLEAR_DIRTY)
			new = pte_mkclean(new);
	} while (!try_cmpxchg(&ptep->pte, &old.pte, new.pte));
}

#define clear_marked_ptes clear_marked_ptes
static __always_inline void clear_marked_ptes(struct vm_area_struct *vma,
					      unsigned long base, pte_t *table,
					      const unsigned long *marked,
					      cydp_t flags)
{
	unsigned long word, bit;
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i += BITS_PER_LONG) {
		word = READ_ONCE(marked[i / BITS_PER_LONG]);
		for (; word; word &= word - 1) {
			bit = __ffs(word);
			clear_bits_in_place(table + i + bit, flags);
		}
	}
}

/*
 * Does an entry allow what @old does not, or lead elsewhere? What is dirty and
 * not writable is a shadow stack, which the CPU writes. What is not user space's
 * any more is the kernel's.
 */
static __always_inline bool pte_gains(pte_t old, pte_t pte)
{
	pteval_t differs = old.pte ^ pte.pte, gained = differs & (pte.pte ^ _PAGE_NX);

	return (differs & (PTE_PFN_MASK | _PAGE_PKEY_MASK | _PAGE_USER | _PAGE_GLOBAL)) ||
	       (gained & (_PAGE_PRESENT | _PAGE_RW | _PAGE_DIRTY | _PAGE_NX));
}

/*
 * Where other threads may run, or devices walk the table, the new page could be in
 * one TLB while the old one is in another.
 */
#define overwrites_ptes overwrites_ptes
static __always_inline bool overwrites_ptes(const struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;

	return kpkeys_pgtables_enabled() && mm == current->mm &&
	       atomic_read(&mm->mm_users) == 1 && !mm_has_notifiers(mm);
}

/* What maps nothing needs no look at all. */
static __always_inline void write_swap_pte(struct mm_struct *mm,
					   unsigned long addr, pte_t *ptep,
					   pte_t pte)
{
	WRITE_ONCE(*ptep, pte);
}

#endif /* _ASM_X86_KPKEYS_TAKEN_H */
