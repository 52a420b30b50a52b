// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers that write entries, for where no section is open.
 *
 * Single entries are what page faults write: nothing else is in their way.
 */
#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/pgtable.h>

/**
 * kpkeys_set_pte - __set_pte() outside a section
 * @ptep: where
 * @pte: what
 */
void kpkeys_set_pte(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	___set_pte(ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pte);

static noinline void set_run(struct mm_struct *mm, pte_t *ptep, pte_t pte,
			     unsigned int nr)
{
	guard(kpkeys_pgtables_section)(nr);
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, 1)) {
		__check_safe_pte_update(mm, ptep, pte);
		__set_pte(ptep, pte);
	}
}

/**
 * kpkeys_set_ptes - __set_ptes() outside a section, behind its checks
 * @mm: whose
 * @ptep: where
 * @pte: the first entry
 * @nr: how many
 */
void kpkeys_set_ptes(struct mm_struct *mm, pte_t *ptep, pte_t pte,
		     unsigned int nr)
{
	if (nr > 1)
		return set_run(mm, ptep, pte, nr);
	__check_safe_pte_update(mm, ptep, pte);
	kpkeys_set_pte(ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_ptes);

static noinline pte_t clear_one(struct mm_struct *mm, unsigned long addr,
				pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	return ___ptep_get_and_clear(mm, addr, ptep);
}

/**
 * kpkeys_clear_ptes - __get_and_clear_full_ptes() outside a section
 * @mm: whose
 * @addr: what the first one maps
 * @ptep: where
 * @nr: how many
 *
 * Return: the first one, dirty or young if one of them was.
 */
pte_t kpkeys_clear_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			unsigned int nr)
{
	pte_t pte, first;

	if (nr == 1)
		return clear_one(mm, addr, ptep);
	guard(kpkeys_pgtables_section)(nr);
	first = __ptep_get_and_clear(mm, addr, ptep);
	while (--nr) {
		pte = __ptep_get_and_clear(mm, addr += PAGE_SIZE, ++ptep);
		if (pte_dirty(pte))
			first = pte_mkdirty(first);
		if (pte_young(pte))
			first = pte_mkyoung(first);
	}
	return first;
}
EXPORT_SYMBOL_GPL(kpkeys_clear_ptes);

static noinline void wrprotect_one(struct mm_struct *mm, unsigned long addr,
				   pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	___ptep_set_wrprotect(mm, addr, ptep, __ptep_get(ptep));
}

/**
 * kpkeys_wrprotect_ptes - __wrprotect_ptes() outside a section
 * @mm: whose
 * @addr: what the first one maps
 * @ptep: where
 * @nr: how many
 */
void kpkeys_wrprotect_ptes(struct mm_struct *mm, unsigned long addr,
			   pte_t *ptep, unsigned int nr)
{
	if (nr == 1)
		return wrprotect_one(mm, addr, ptep);
	guard(kpkeys_pgtables_section)(nr);
	for (; nr; nr--, ptep++, addr += PAGE_SIZE)
		__ptep_set_wrprotect(mm, addr, ptep);
}
EXPORT_SYMBOL_GPL(kpkeys_wrprotect_ptes);
