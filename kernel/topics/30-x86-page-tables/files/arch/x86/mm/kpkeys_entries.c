// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers that write entries, for where no section is open, and where what an
 * entry maps is to be looked at.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/printk.h>

#include <asm/kpkeys_mm.h>

static __always_inline bool is_refused(pte_t *ptep, pte_t pte, unsigned int nr)
{
	if (!(pte_flags(pte) & _PAGE_PRESENT) ||
	    (nr == 1 && likely(!kpkeys_frame(pte_pfn(pte)))))
		return false;
	return kpkeys_refuse_leaf(ptep, pte_val(pte), pte_pfn(pte), nr);
}

/**
 * kpkeys_set_patch_pte - map text where it can be written
 * @ptep: where
 * @pte: what
 *
 * For text_poke() and nobody else: no other entry may make text writable.
 */
void kpkeys_set_patch_pte(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*ptep, pte);
}

/**
 * kpkeys_set_pte - native_set_pte() where page tables are protected
 * @ptep: where
 * @pte: what
 */
void kpkeys_set_pte(pte_t *ptep, pte_t pte)
{
	if (is_refused(ptep, pte, 1))
		return;
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pte);

/**
 * kpkeys_refuse_entry - may an entry above the last level not be written?
 * @entry: where
 * @value: what
 * @size: what an entry of this level spans, if it can map memory itself
 */
bool kpkeys_refuse_entry(const void *entry, u64 value, unsigned long size)
{
	unsigned long pfn = PHYS_PFN(value & PTE_PFN_MASK), nr = PHYS_PFN(size);

	if (!(value & _PAGE_PRESENT))
		return false;
	if (size && (value & _PAGE_PSE))
		return kpkeys_refuse_leaf(entry, value, ALIGN_DOWN(pfn, nr), nr);
	return kpkeys_refuse_link(entry, pfn);
}
EXPORT_SYMBOL_GPL(kpkeys_refuse_entry);

/**
 * kpkeys_set_pmd - native_set_pmd() where page tables are protected
 * @pmdp: where
 * @pmd: what
 */
void kpkeys_set_pmd(pmd_t *pmdp, pmd_t pmd)
{
	if (kpkeys_refuse_entry(pmdp, native_pmd_val(pmd), PMD_SIZE)) {
		if (native_pmd_val(pmd) & _PAGE_PSE)
			return;
		/* Who waits for a huge page to be split would wait for ever. */
		pmd = native_make_pmd(0);
	}
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*pmdp, pmd);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pmd);

/**
 * kpkeys_set_pud - native_set_pud() where page tables are protected
 * @pudp: where
 * @pud: what
 */
void kpkeys_set_pud(pud_t *pudp, pud_t pud)
{
	if (kpkeys_refuse_entry(pudp, native_pud_val(pud), PUD_SIZE)) {
		if (native_pud_val(pud) & _PAGE_PSE)
			return;
		/* Who waits for a huge page to be split would wait for ever. */
		pud = native_make_pud(0);
	}
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*pudp, pud);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pud);

static noinline void set_run(pte_t *ptep, pte_t pte, unsigned int nr)
{
	if (is_refused(ptep, pte, nr))
		return;
	guard(kpkeys_pgtables_section)(nr);
	for (; nr; nr--, ptep++, pte = pte_next_pfn(pte))
		WRITE_ONCE(*ptep, pte);
}

/**
 * kpkeys_set_ptes - set_ptes() where page tables are protected
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
