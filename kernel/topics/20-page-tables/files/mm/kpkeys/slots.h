/* SPDX-License-Identifier: GPL-2.0-only */
/* Places of entries, and what is written there: in line, for sections that ask again. */
#ifndef _MM_KPKEYS_SLOTS_H
#define _MM_KPKEYS_SLOTS_H

#include <linux/kpkeys_frames.h>
#include <linux/mm.h>

#include "addresses.h"
#include "internal.h"
#include "tables.h"

/* What takes the place of a table is filled as that would have been. */
static __always_inline bool is_no_table(const void *entry)
{
	return PTR_ALIGN_DOWN(entry, PAGE_SIZE) == no_table;
}

/* Of hugetlb: what maps a page there is a table's, or a huge page's, here. */
static __always_inline bool is_higher_table(u8 frame)
{
	return is_table(frame) && level_of(frame) > KPKEYS_LEVEL_PTE &&
	       level_of(frame) < LEVEL_TAKEN;
}

/**
 * kpkeys_are_entries - are these still what kpkeys_refuse_change() let pass?
 * @entry: the first one
 * @nr: how many
 *
 * In the section that changes them: an interrupt in between had the address on
 * its stack.
 */
static __always_inline bool kpkeys_are_entries(const void *entry, unsigned int nr)
{
	unsigned long pfn = kpkeys_table_of(entry);
	u8 frame = kpkeys_frame_byte(pfn);

	if (kpkeys_state.mode == KPKEYS_AUDIT || unlikely(!no_table))
		return true;
	return pfn != ULONG_MAX && offset_in_page(entry) + nr * sizeof(u64) <= PAGE_SIZE &&
	       (frame == KPKEYS_FRAME_ORDINARY || is_no_table(entry) ||
		is_higher_table(frame) ||
		(is_table(frame) && level_of(frame) == KPKEYS_LEVEL_PTE));
}

/*
 * Is an entry for others than those who have the table? A table is a process's until
 * it is linked as the kernel's, or was begun as such: the kernel does not run what is
 * mapped there, and no other process has it. Nor has user space what the kernel maps.
 */
static __always_inline bool is_foreign(unsigned long table, u64 value)
{
	enum kpkeys_frame frame = kpkeys_frame(table);

	if (!kpkeys_processes_run)
		return false;
	if (frame == KPKEYS_FRAME_KERNEL_TABLE)
		return arch_kpkeys_leaf_is_users(value);
	return frame == KPKEYS_FRAME_TABLE && !kpkeys_is_private(value);
}

static __always_inline bool leads_to_the_same(u64 old, u64 value, int level)
{
	unsigned long before, span, pfn, nr;

	return kpkeys_entry_leads_to(old, level, &before, &span) &&
	       kpkeys_entry_leads_to(value, level, &pfn, &nr) &&
	       before == pfn && span == nr;
}

/* What the kernel may run, that is. */
static __always_inline bool kpkeys_are_text(unsigned long pfn, unsigned long nr)
{
	while (nr && kpkeys_frame_is_text(pfn)) {
		pfn++;
		nr--;
	}
	return !nr;
}

/* Made anew, rather than kept while something else looked. */
static __always_inline bool leads_to_text(u64 value, int level)
{
	unsigned long pfn, nr;

	kpkeys_reread(value);
	return kpkeys_entry_leads_to(value, level, &pfn, &nr) && kpkeys_are_text(pfn, nr);
}

/**
 * kpkeys_runs_anew - would the kernel run what is no text, and what it did not run?
 * @entry: where
 * @table: the page frame that it is in
 * @value: what it is to be
 *
 * Some that is no text is run from the start. Who maps other pages at the address of
 * text of a module has them where they are not run.
 */
static __always_inline bool kpkeys_runs_anew(const void *entry, unsigned long table,
					     u64 value)
{
	u64 old;
	int level;

	if (!arch_kpkeys_leaf_runs(value) || !kpkeys_processes_run ||
	    kpkeys_frame(table) != KPKEYS_FRAME_KERNEL_TABLE)
		return false;
	level = kpkeys_level_to_search(table);
	old = READ_ONCE(*(const u64 *)entry);
	if (leads_to_the_same(old, value, level) &&
	    (!kpkeys_state.only_text_runs || arch_kpkeys_leaf_runs(old)))
		return false;
	return !leads_to_text(value, level);
}

/* Not what may go by the same run as before. */
static __always_inline bool is_beside_needed(const u64 *entry, u64 value, int level)
{
	unsigned int nr = kpkeys_nr_contiguous(value, level), i;
	const u64 *run = PTR_ALIGN_DOWN(entry, nr * sizeof(u64));

	if (kpkeys_frame(kpkeys_table_of(entry)) != KPKEYS_FRAME_KERNEL_TABLE ||
	    (kpkeys_nr_contiguous(READ_ONCE(*entry), level) > 1 &&
	     leads_to_the_same(READ_ONCE(*entry), value, level)))
		return false;
	for (i = 0; i < nr; i++)
		if (run + i != entry && is_needed(READ_ONCE(run[i]), level))
			return true;
	return false;
}

/* Sections take what follows the first page of a run for what the others map. */
static __always_inline bool is_misplaced(const u64 *entry, u64 value, int level)
{
	unsigned long pfn, nr;

	return kpkeys_entry_leads_to(value, level, &pfn, &nr) &&
	       (pfn / nr ^ (unsigned long)entry / sizeof(u64)) &
	       (kpkeys_nr_contiguous(value, level) - 1);
}

/* What has a key is beside what has the same one. User space has keys of its own. */
static __always_inline bool is_of_its_kind(u64 value, enum kpkeys_frame frame, int level)
{
	if (frame != KPKEYS_FRAME_ORDINARY)
		return arch_kpkeys_leaf_fits(value, frame);
	return arch_kpkeys_leaf_is_users(value) || !arch_kpkeys_leaf_has_key(value, level);
}

/**
 * kpkeys_may_be_run - may all be mapped that an entry leads to, if it is of a contiguous run?
 * @value: of the entry
 * @level: KPKEYS_LEVEL_* of its table
 */
static __always_inline bool kpkeys_may_be_run(u64 value, int level)
{
	unsigned long pfn, nr;

	if (likely(kpkeys_nr_contiguous(value, level) == 1) ||
	    !kpkeys_may_lead_to(value, level, &pfn, &nr))
		return true;
	if (kpkeys_state.only_text_runs && arch_kpkeys_leaf_runs(value) &&
	    !arch_kpkeys_leaf_is_users(value))
		return kpkeys_are_text(pfn, nr);
	for (; nr; nr--) {
		kpkeys_reread(value);
		if (!is_of_its_kind(value, kpkeys_frame(pfn++), level))
			return false;
	}
	return true;
}

/**
 * kpkeys_spreads - may a CPU map by a contiguous run what must not be mapped so?
 * @entry: where
 * @value: what
 * @level: KPKEYS_LEVEL_* of its table
 *
 * Frames beside that of the entry, or by the addresses of the entries beside it.
 */
static __always_inline bool kpkeys_spreads(const void *entry, u64 value, int level)
{
	return unlikely(kpkeys_nr_contiguous(value, level) > 1) && kpkeys_processes_run &&
	       (is_misplaced(entry, value, level) || !kpkeys_may_be_run(value, level) ||
		is_beside_needed(entry, value, level));
}

static __always_inline bool any_is_keyed(unsigned long pfn, unsigned long nr, u64 value)
{
	enum kpkeys_frame frame;

	if (kpkeys_are_ordinary(pfn, nr))
		return false;
	for (; nr; nr--) {
		frame = kpkeys_frame(pfn++);
		kpkeys_reread(value);
		if (frame != KPKEYS_FRAME_ORDINARY &&
		    (!kpkeys_frame_is_constant(frame) || arch_kpkeys_section_writes(value)))
			return true;
	}
	return false;
}

static __always_inline bool leads_to_keyed(u64 value, int level)
{
	unsigned long pfn, nr;

	kpkeys_reread(value);
	return kpkeys_entry_leads_to(value, level, &pfn, &nr) &&
	       any_is_keyed(pfn, nr, value);
}

/**
 * kpkeys_maps_anew - would an entry map what is keyed, and did not before?
 * @entry: where
 * @table: the page frame that it is in
 * @value: what it is to be
 *
 * What has a key is where it was when it got it. By any other address it would be
 * taken for what is ordinary there, or be next to what is. So it is with all that a
 * section can write. Slots of the fixmap are known as such. What a table of the
 * kernel's brings is asked when it is linked.
 */
static __always_inline bool kpkeys_maps_anew(const void *entry, unsigned long table,
					     u64 value)
{
	int level;

	if (!kpkeys_processes_run || !kpkeys_frame_is_table(kpkeys_frame(table)) ||
	    kpkeys_maps_fixmap(table) ||
	    (is_kernels(kpkeys_frame_byte(table)) && !link_of(kpkeys_frame_byte(table))))
		return false;
	level = kpkeys_level_to_search(table);
	return !leads_to_the_same(READ_ONCE(*(const u64 *)entry), value, level) &&
	       leads_to_keyed(value, level);
}

/* The frame that an entry of the last level maps, or a number that there is not. */
static __always_inline unsigned long mapped_by(u64 value)
{
	unsigned long pfn, nr;

	return kpkeys_entry_leads_to(value, KPKEYS_LEVEL_PTE, &pfn, &nr) ?
	       pfn : ULONG_MAX;
}

/**
 * kpkeys_leaf_is_fit - may an entry still be written, as kpkeys_refuse_leaf() said?
 *
 * In the section that writes it, of @entry and @value as they are kept: an
 * interrupt in between had them on its stack. Above the last level an entry maps
 * more than one frame, or leads to a table.
 */
static __always_inline bool kpkeys_leaf_is_fit(void)
{
	enum kpkeys_frame frame;

	if (kpkeys_state.mode == KPKEYS_AUDIT)
		return true;
	if (!kpkeys_are_entries(kpkeys_kept(entry), 1))
		return false;
	kpkeys_keep(given, kpkeys_table_of(kpkeys_kept(entry)));
	if (is_higher_table(kpkeys_frame_byte(kpkeys_kept(given))) ||
	    kpkeys_slot_loses(kpkeys_kept(entry), kpkeys_kept(given), kpkeys_kept(value)) ||
	    is_foreign(kpkeys_kept(given), kpkeys_kept(value)) ||
	    kpkeys_spreads(kpkeys_kept(entry), kpkeys_kept(value), KPKEYS_LEVEL_PTE) ||
	    kpkeys_runs_anew(kpkeys_kept(entry), kpkeys_kept(given), kpkeys_kept(value)))
		return false;
	frame = kpkeys_frame(mapped_by(kpkeys_kept(value)));
	return frame == KPKEYS_FRAME_ORDINARY ||
	       (arch_kpkeys_leaf_fits(kpkeys_kept(value), frame) &&
		!kpkeys_maps_anew(kpkeys_kept(entry), kpkeys_kept(given),
				  kpkeys_kept(value)));
}

/**
 * kpkeys_block_is_fit - the same of an entry above the last level
 * @entry: where
 * @value: what
 * @level: KPKEYS_LEVEL_* of its table
 */
static __always_inline bool kpkeys_block_is_fit(const void *entry, u64 value, int level)
{
	unsigned long pfn, nr;

	if (!kpkeys_entry_leads_to(value, level, &pfn, &nr) ||
	    kpkeys_state.mode == KPKEYS_AUDIT)
		return true;
	kpkeys_keep(given, kpkeys_table_of(entry));
	if (is_foreign(kpkeys_kept(given), value) ||
	    kpkeys_spreads(entry, value, level) ||
	    kpkeys_runs_anew(entry, kpkeys_kept(given), value) ||
	    kpkeys_maps_anew(entry, kpkeys_kept(given), value))
		return false;
	if (kpkeys_are_ordinary(pfn, nr))
		return true;
	for (; nr--; pfn++) {
		kpkeys_reread(value);
		if (!kpkeys_may_map(value, kpkeys_frame(pfn)))
			return false;
	}
	return true;
}

#endif /* _MM_KPKEYS_SLOTS_H */
