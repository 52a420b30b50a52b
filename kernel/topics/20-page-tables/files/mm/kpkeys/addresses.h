/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protection, page tables and the kernel's text are found by their
 * addresses. Where an entry is to be written comes from ordinary data, so the
 * kernel might be made to unmap such an address, and to map another page there.
 * So the tables that map the kernel are known as such. What an entry of theirs
 * leads to stays there while it is protected.
 *
 * Text of modules does not count: it is unmapped before it is released. Nor do
 * mappings that do not protect, as they were there before.
 *
 * In line, for sections that ask.
 */
#ifndef _MM_KPKEYS_ADDRESSES_H
#define _MM_KPKEYS_ADDRESSES_H

#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_leaf.h>

#include "internal.h"
#include "tables.h"

static __always_inline bool is_found_by(u64 value, unsigned long pfn)
{
	enum kpkeys_frame frame = kpkeys_frame(pfn);

	switch (frame) {
	case KPKEYS_FRAME_ORDINARY:
	case KPKEYS_FRAME_MODULE:
	case KPKEYS_FRAME_LEAVING:
		return false;
	default:
		return arch_kpkeys_leaf_fits(value, frame);
	}
}

static __always_inline bool are_found_by(u64 value, unsigned long pfn, unsigned long nr)
{
	if (kpkeys_are_ordinary(pfn, nr))
		return false;
	for (; nr; nr--) {
		kpkeys_reread(value);
		if (is_found_by(value, pfn++))
			return true;
	}
	return false;
}

/**
 * kpkeys_may_lead_to - what a CPU may take an entry for
 * @value: of the entry
 * @level: KPKEYS_LEVEL_* of its table
 * @pfn: set to the first frame
 * @nr: set to how many
 *
 * It may have a contiguous run in its TLB as one, by any of its entries.
 *
 * Return: false if it does not use it.
 */
static __always_inline bool kpkeys_may_lead_to(u64 value, int level, unsigned long *pfn,
					       unsigned long *nr)
{
	if (!kpkeys_entry_leads_to(value, level, pfn, nr))
		return false;
	*nr *= kpkeys_nr_contiguous(value, level);
	*pfn = ALIGN_DOWN(*pfn, *nr);
	return true;
}

static __always_inline unsigned long table_below(u64 value, int level)
{
	return level > KPKEYS_LEVEL_PTE ? kpkeys_table_pfn(value) : 0;
}

static __always_inline bool maps(u64 value, int level, unsigned long pfn,
				 unsigned long nr)
{
	unsigned long first, span;

	return !table_below(value, level) &&
	       kpkeys_entry_leads_to(value, level, &first, &span) &&
	       first == pfn && span == nr;
}

/* Does a table map the same in smaller pieces? */
static __always_inline bool is_split(unsigned long table, unsigned long pfn, unsigned long nr)
{
	int level = kpkeys_level_to_search(table);
	unsigned long piece = nr / PTRS_PER_PTE;
	const u64 *entry = pfn_to_kaddr(table);

	do {
		if (!maps(READ_ONCE(*entry), level, pfn, piece))
			return false;
		pfn += piece;
	} while (offset_in_page(++entry));
	return true;
}

static __always_inline bool maps_needed(u64 value, int level)
{
	unsigned long pfn, nr;

	return kpkeys_entry_leads_to(value, level, &pfn, &nr) &&
	       are_found_by(value, pfn, nr);
}

/* Tables that lead to others are empty before they go. */
static __always_inline bool is_needed(u64 value, int level)
{
	return table_below(value, level) || maps_needed(value, level);
}

typedef bool entry_test(u64 value, int level);

/* Levels are folded, so the table says which one it is of. */
static __always_inline bool any_entry(unsigned long table, entry_test *test)
{
	int level = kpkeys_level_to_search(table);
	const u64 *entry = pfn_to_kaddr(table);

	do {
		if (test(READ_ONCE(*entry), level))
			return true;
	} while (offset_in_page(++entry));
	return false;
}

/**
 * kpkeys_loses - would an entry of the kernel lead to protected memory no more?
 * @old: what it is
 * @value: what it is to be
 * @level: KPKEYS_LEVEL_* of its table
 */
static __always_inline bool kpkeys_loses(u64 old, u64 value, int level)
{
	unsigned long table = table_below(old, level), pfn, nr;

	if (table)
		return table != table_below(value, level) &&
		       any_entry(table, is_needed);
	if (!maps_needed(old, level))
		return false;
	/* Made anew, rather than kept while that looked. */
	kpkeys_reread(old);
	if (!kpkeys_entry_leads_to(old, level, &pfn, &nr))
		return false;
	table = table_below(value, level);
	return table ? !is_split(table, pfn, nr) :
		       !maps(value, level, pfn, nr);
}

/**
 * kpkeys_slot_loses - the same of an entry that is in a table
 * @entry: where
 * @table: the page frame that it is in
 * @value: what it is to be
 */
static __always_inline bool kpkeys_slot_loses(const void *entry, unsigned long table,
					      u64 value)
{
	return kpkeys_frame(table) == KPKEYS_FRAME_KERNEL_TABLE &&
	       kpkeys_loses(READ_ONCE(*(const u64 *)entry), value,
			    kpkeys_level_to_search(table));
}

static __always_inline unsigned int index_at(unsigned long addr, unsigned int level)
{
	unsigned int bits = PAGE_SHIFT - 3;

	return (addr >> (PAGE_SHIFT + (level - KPKEYS_LEVEL_PTE) * bits)) & ((1U << bits) - 1);
}

/* Where an address of the kernel is mapped, by tables that nobody writes; and its level. */
static __always_inline const u64 *kernel_slot(unsigned long addr, unsigned int *level)
{
	const u64 *slot = (const u64 *)(swapper_pg_dir + pgd_index(addr));
	u64 value = READ_ONCE(*slot);

	*level = KPKEYS_LEVEL_PGD;
	while (*level > KPKEYS_LEVEL_PTE && kpkeys_leads_on(value)) {
		*level = *level == KPKEYS_LEVEL_PGD ? level_below_root() : *level - 1;
		slot = (const u64 *)pfn_to_kaddr(kpkeys_table_pfn(value)) +
		       index_at(addr, *level);
		value = READ_ONCE(*slot);
	}
	return slot;
}

static __always_inline u64 kernel_entry(unsigned long addr, unsigned int *level)
{
	return READ_ONCE(*kernel_slot(addr, level));
}

/**
 * kpkeys_table_of - the page frame of the table that an entry is in
 * @entry: where, in the linear map, the image, or a slot of the fixmap
 *
 * What is in the image, or in a slot, is looked up: it may be something else.
 *
 * Return: a number that there is not, if the entry is nowhere there.
 */
static __always_inline unsigned long kpkeys_table_of(const void *entry)
{
	unsigned long pfn = slot_pfn(entry), nr;
	unsigned int level;
	u64 value;

	if (pfn != ULONG_MAX || !no_table || !(is_in_image(entry) || is_fixed(entry)))
		return pfn;
	value = kernel_entry((unsigned long)entry, &level);
	if (!kpkeys_entry_leads_to(value, level, &pfn, &nr))
		return ULONG_MAX;
	return pfn + (PHYS_PFN((unsigned long)entry) & (nr - 1));
}

/* Does a table map tables for the kernel, by slots of the fixmap? Each has its key there. */
static __always_inline bool kpkeys_maps_fixmap(unsigned long table)
{
	unsigned int level;

	return ARCH_KPKEYS_TABLE_SLOT &&
	       kpkeys_table_of(kernel_slot(ARCH_KPKEYS_TABLE_SLOT, &level)) == table;
}

#endif /* _MM_KPKEYS_ADDRESSES_H */
