// SPDX-License-Identifier: GPL-2.0-only
/* Helpers that write entries, for where no section is open. */
#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/pgtable.h>

/* All in one section, except in designs with one for each entry. */
#define for_each_section(i, step, nr)					\
	for (i = 0, step = kpkeys_has_runs() ? (nr) : 1; i < (nr); i += step)

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
	unsigned int i, step;

	for_each_section(i, step, nr) {
		guard(kpkeys_hardened_pgtables)();
		___set_ptes(mm, ptep + i, pte_advance_pfn(pte, i), step);
	}
}
EXPORT_SYMBOL_GPL(kpkeys_set_ptes);

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
	unsigned int i, step;
	pte_t pte, first = __pte(0);

	for_each_section(i, step, nr) {
		guard(kpkeys_hardened_pgtables)();
		pte = ___get_and_clear_ptes(mm, addr + i * PAGE_SIZE, ptep + i,
					    step);
		if (!i)
			first = pte;
		if (pte_dirty(pte))
			first = pte_mkdirty(first);
		if (pte_young(pte))
			first = pte_mkyoung(first);
	}
	return first;
}
EXPORT_SYMBOL_GPL(kpkeys_clear_ptes);

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
	unsigned int i, step;

	for_each_section(i, step, nr) {
		guard(kpkeys_hardened_pgtables)();
		___wrprotect_ptes(mm, addr + i * PAGE_SIZE, ptep + i, step);
	}
}
EXPORT_SYMBOL_GPL(kpkeys_wrprotect_ptes);
