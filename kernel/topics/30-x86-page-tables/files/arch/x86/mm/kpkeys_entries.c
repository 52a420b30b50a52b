// SPDX-License-Identifier: GPL-2.0-only
/* Helpers that write entries, for where no section is open. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/printk.h>

#include <asm/kpkeys_mm.h>

/**
 * kpkeys_set_pte - native_set_pte() outside a section
 * @ptep: where
 * @pte: what
 */
void kpkeys_set_pte(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pte);

static noinline void set_run(pte_t *ptep, pte_t pte, unsigned int nr)
{
	guard(kpkeys_pgtables_section)(nr);
	for (; nr; nr--, ptep++, pte = pte_next_pfn(pte))
		native_set_pte(ptep, pte);
}

/**
 * kpkeys_set_ptes - set_ptes() outside a section, behind its checks
 * @ptep: where
 * @pte: the first entry
 * @nr: how many
 */
void kpkeys_set_ptes(pte_t *ptep, pte_t pte, unsigned int nr)
{
	if (nr > 1)
		set_run(ptep, pte, nr);
	else
		kpkeys_set_pte(ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_ptes);

/**
 * kpkeys_clear_pte - native_ptep_get_and_clear() outside a section
 * @ptep: where
 *
 * Return: what was there.
 */
pte_t kpkeys_clear_pte(pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	return native_make_pte(xchg(&ptep->pte, 0));
}
EXPORT_SYMBOL_GPL(kpkeys_clear_pte);

static noinline void wrprotect_one(pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	___ptep_set_wrprotect(ptep);
}

/**
 * kpkeys_wrprotect_ptes - wrprotect_ptes() outside a section
 * @ptep: where
 * @nr: how many
 */
void kpkeys_wrprotect_ptes(pte_t *ptep, unsigned int nr)
{
	if (nr == 1)
		return wrprotect_one(ptep);
	guard(kpkeys_pgtables_section)(nr);
	for (; nr; nr--, ptep++)
		___ptep_set_wrprotect(ptep);
}
EXPORT_SYMBOL_GPL(kpkeys_wrprotect_ptes);

static bool is_in_table(void *to, unsigned int nr)
{
	return !kpkeys_pgtables_enabled() ||
	       (offset_in_page(to) + nr * sizeof(pgd_t) <= PAGE_SIZE &&
		arch_kpkeys_addr_pkey((unsigned long)to) == KPKEYS_PKEY_PGTABLES);
}

/**
 * kpkeys_copy_entries - copy entries of one table to another
 * @to: first entry to write
 * @from: first entry to read
 * @nr: how many, of one table
 *
 * For callers that find @to in data that anybody can write: nothing but a
 * page-table page is written, and the gate is open for a single entry each,
 * where that differs.
 */
void kpkeys_copy_entries(void *to, const void *from, unsigned int nr)
{
	const pgdval_t *source = from;
	pgdval_t *entry = to;

	if (!is_in_table(to, nr)) {
		pr_err_ratelimited("corrupted pointer to a page table: not written to\n");
		return;
	}
	for (; nr--; entry++, source++) {
		pgdval_t value = READ_ONCE(*source);

		if (READ_ONCE(*entry) == value)
			continue;
		guard(kpkeys_hardened_pgtables)();
		WRITE_ONCE(*entry, value);
	}
}
