// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sections of vmalloc: entries of one table of the kernel. Nothing is called in
 * them; an entry that has to be looked at, and all behind it, is left to the
 * caller, whose helpers ask about each.
 */
#include <linux/kpkeys_taken.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/kpkeys_leaf.h>

#include "internal.h"

static __always_inline bool are_kernel_ptes(const pte_t *ptep, unsigned int nr)
{
	return kpkeys_is_kernel_slot(ptep) &&
	       offset_in_page(ptep) / sizeof(*ptep) + nr <= PTRS_PER_PTE;
}

/* What is no memory is not known to be ordinary; its struct page may be missing. */
static __always_inline bool is_ordinary_memory(unsigned long pfn)
{
	unsigned long index = pfn / KPKEYS_FRAMES_PER_PAGE;
	const u8 *frames;

	if (index >= kpkeys_frames.nr)
		return false;
	frames = READ_ONCE(kpkeys_frames.page[index]);
	return frames != kpkeys_no_frames &&
	       READ_ONCE(frames[pfn % KPKEYS_FRAMES_PER_PAGE]) == KPKEYS_FRAME_ORDINARY;
}

/* The kernel would run it, or all of user space have it; or it is of a contiguous run. */
static __always_inline bool is_to_be_looked_at(pte_t pte)
{
	u64 value = pte_val(pte);

	return arch_kpkeys_leaf_runs(value) || arch_kpkeys_leaf_is_users(value) ||
	       kpkeys_nr_contiguous(value, KPKEYS_LEVEL_PTE) > 1;
}

/**
 * __vmap_ptes - map pages, up to one that is to be looked at
 * @ptep: the first entry, which is empty as the others
 * @pages: what they are to map
 * @nr: how many, of one table
 * @prot: how
 *
 * Return: how many are set.
 */
__flatten unsigned int __vmap_ptes(pte_t *ptep, struct page **pages,
				   unsigned int nr, pgprot_t prot)
{
	pte_t *next, *end, pte;

	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	if (!are_kernel_ptes(ptep, nr))
		return 0;
	kpkeys_entry_written(pgprot_val(prot));
	for (next = ptep, end = ptep + nr; next < end; next++, pages++) {
		pte = mk_pte(READ_ONCE(*pages), prot);
		kpkeys_reread(pte.pte);
		if (!pte_none(READ_ONCE(*next)) || is_to_be_looked_at(pte) ||
		    !is_ordinary_memory(kpkeys_present_pfn(pte)))
			break;
		WRITE_ONCE(*next, pte);
	}
	return next - ptep;
}

/**
 * __vmap_run - map memory that is contiguous
 * @ptep: the first entry, which is empty as the others
 * @pfn: what that is to map
 * @nr: how many, of one table
 * @prot: how
 *
 * Return: how many are set.
 */
__flatten unsigned int __vmap_run(pte_t *ptep, unsigned long pfn, unsigned int nr,
				  pgprot_t prot)
{
	pte_t *next, *end, pte;

	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	if (!are_kernel_ptes(ptep, nr))
		return 0;
	kpkeys_entry_written(pgprot_val(prot));
	for (next = ptep, end = ptep + nr; next < end; next++, pfn++) {
		pte = pfn_pte(pfn, prot);
		kpkeys_reread(pte.pte);
		if (!pte_none(READ_ONCE(*next)) || kpkeys_is_typed(pte) ||
		    is_to_be_looked_at(pte))
			break;
		WRITE_ONCE(*next, pte);
	}
	return next - ptep;
}

/**
 * __vunmap_ptes - clear entries, up to one that is to be looked at
 * @ptep: the first one
 * @nr: how many, of one table
 *
 * Return: how many are empty.
 */
__flatten unsigned int __vunmap_ptes(pte_t *ptep, unsigned int nr)
{
	pte_t *next, *end, pte;

	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	if (!are_kernel_ptes(ptep, nr))
		return 0;
	for (next = ptep, end = ptep + nr; next < end; next++) {
		pte = READ_ONCE(*next);
		if (kpkeys_is_typed(pte) || (!pte_present(pte) && !pte_none(pte)))
			break;
		xchg_relaxed(&next->pte, 0);
	}
	return next - ptep;
}
