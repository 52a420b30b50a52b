// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers that write entries of the kernel's own mappings: those that are made,
 * that take the place of a block, and that are no contiguous run any more.
 */
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/set_memory.h>

#include <asm/kpkeys_mm.h>

#include "kpkeys/slots.h"

/**
 * kpkeys_map_ptes - init_pte() where page tables are protected
 * @ptep: where, in one table
 * @nr: how many
 * @pfn: what the first one maps
 * @prot: how; a page that has a key keeps it
 *
 * Reports those that are not to be written, and leaves them out.
 */
void kpkeys_map_ptes(pte_t *ptep, unsigned long nr, unsigned long pfn, pgprot_t prot)
{
	unsigned long i;
	pte_t old, pte;

	for (i = 0; i < nr; i++, ptep++) {
		old = __ptep_get(ptep);
		pte = pfn_pte(pfn + i, kpkeys_keep_key(old, prot));
		BUG_ON(!pgattr_change_is_safe(pte_val(old), pte_val(pte)));
		kpkeys_set_pte(ptep, pte);
	}
}

/* One table has all slots for tables: see kpkeys_maps_fixmap(). */
static_assert((__fix_to_virt(FIX_PTE) ^ __fix_to_virt(FIX_PGD)) < PMD_SIZE);

/* What is keyed stays where those find it who ask what it is. */
static bool may_be_invalid(unsigned long addr)
{
	return kpkeys_frame(kpkeys_linear_pfn(addr)) == KPKEYS_FRAME_ORDINARY;
}

/**
 * kpkeys_set_valid - have the linear map lead to data of the kernel, or not
 * @addr: the first page
 * @nr: how many
 * @valid: lead to them
 *
 * To what is keyed it leads, with its key.
 */
void kpkeys_set_valid(unsigned long addr, unsigned long nr, bool valid)
{
	unsigned long end = addr + nr * PAGE_SIZE, next;

	for (; addr < end; addr = next) {
		next = addr + PAGE_SIZE;
		if (!may_be_invalid(addr))
			continue;
		while (next < end && may_be_invalid(next))
			next += PAGE_SIZE;
		set_memory_valid(addr, (next - addr) / PAGE_SIZE, valid);
	}
}

/* From then on it is of a level. Before there is a table of frames any page may be one. */
static __always_inline bool begin_filling(const pte_t *table, unsigned int level)
{
	return !offset_in_page(table) &&
	       (!no_table || kpkeys_change_frame_now(kpkeys_linear_pfn(table), TAKEN,
						     KPKEYS_KERNEL_TABLE(level, KPKEYS_LINK_NONE)));
}

/* Nor does the kernel run what is ordinary. */
static __always_inline bool piece_fits(u64 value, enum kpkeys_frame frame)
{
	return frame == KPKEYS_FRAME_ORDINARY ? kpkeys_is_private(value) :
						arch_kpkeys_leaf_fits(value, frame);
}

/* Tables that are linked to repaint the linear map get their keys behind that. */
static __always_inline bool pieces_fit(u64 value, unsigned long nr)
{
	unsigned long pfn = kpkeys_present_pfn(__pte(value));

	if (kpkeys_state.mode == KPKEYS_AUDIT || !kpkeys_processes_run)
		return true;
	/* The last of them may be no frame: a CPU may take its number for another one. */
	if (!IS_ALIGNED(pfn, nr))
		return false;
	if (kpkeys_are_ordinary(pfn, nr))
		return piece_fits(value, KPKEYS_FRAME_ORDINARY);
	for (; nr; nr--)
		if (!piece_fits(value, kpkeys_frame(pfn++)))
			return false;
	return true;
}

static noinline __flatten bool fill_table(pte_t *table, pte_t pte, unsigned int level)
{
	unsigned int i, nr;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(table);
	kpkeys_reread(pte_val(pte));
	kpkeys_reread(level);
	level = level == KPKEYS_LEVEL_PTE ? level : KPKEYS_LEVEL_PMD;
	nr = level == KPKEYS_LEVEL_PTE ? 1 : PTRS_PER_PTE;
	if (!begin_filling(table, level) || !pieces_fit(pte_val(pte), nr * PTRS_PER_PTE))
		return false;
	for (i = 0; i < PTRS_PER_PTE; i++) {
		WRITE_ONCE(table[i], pte);
		pte = pte_advance_pfn(pte, nr);
	}
	return true;
}

/**
 * kpkeys_fill_table - fill a table that takes the place of a block of the kernel's
 * @table: as the pool gave it
 * @pte: the first entry; the others map what follows
 * @level: KPKEYS_LEVEL_PTE, or KPKEYS_LEVEL_PMD
 *
 * Return: false if it is no new table, or maps what is not to be mapped like
 * this, which is reported.
 */
bool kpkeys_fill_table(pte_t *table, pte_t pte, unsigned int level)
{
	if (fill_table(table, pte, level))
		return true;
	kpkeys_refuse("use as a page table", "what is no new table", table, NULL);
	return false;
}

/**
 * kpkeys_unfold - have entries of the kernel's be no contiguous run any more
 * @ptep: the first one
 * @nr: how many
 *
 * Return: false if they are no entries.
 */
noinline __flatten bool kpkeys_unfold(pte_t *ptep, unsigned int nr)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	if (!kpkeys_are_entries(ptep, nr))
		return false;
	/* Another CPU may have cleared one meanwhile: it does not come back. */
	for (; nr; nr--, ptep++)
		atomic64_andnot(PTE_CONT, (atomic64_t *)ptep);
	return true;
}
