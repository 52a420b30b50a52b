// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places of entries. Where an entry is to be written is said by a stack or by
 * other ordinary data, so each helper asks whether a table is there, and of
 * which level.
 */
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>

#include "slots.h"

/**
 * kpkeys_write_outside - write an entry that is in no page of the pool
 * @entry: where, on a stack or by a slot of the fixmap
 * @value: what
 * @parent: what the table of frames says of the page that it is in
 */
void kpkeys_write_outside(u64 *entry, u64 value, u8 parent)
{
	if (parent != KPKEYS_FRAME_ORDINARY || !is_fixed(entry)) {
		WRITE_ONCE(*entry, value);
		return;
	}
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	if (is_fixed(entry) &&
	    kpkeys_frame_byte(kpkeys_table_of(entry)) == KPKEYS_FRAME_ORDINARY)
		WRITE_ONCE(*entry, value);
}

/* The middle of an entry is as good as a page that holds none. */
static u8 frame_of_slot(const void *entry)
{
	return kpkeys_is_whole_entry(entry) ?
	       kpkeys_frame_byte(kpkeys_entry_pfn(entry)) : KPKEYS_FRAME_STATE;
}

/* So are all, until tables have been entered. */
static bool is_pte_table(const void *entry, u8 frame)
{
	if (unlikely(!no_table) || is_no_table(entry))
		return true;
	if (frame == TAKEN)
		return kpkeys_begin_level(kpkeys_entry_pfn(entry), KPKEYS_LEVEL_PTE);
	return is_table(frame) && level_of(frame) == KPKEYS_LEVEL_PTE;
}

static unsigned long size_of_level(unsigned int level)
{
	switch (level) {
	case KPKEYS_LEVEL_PMD:
		return PMD_SIZE;
	case KPKEYS_LEVEL_PUD:
		return PUD_SIZE;
	default:
		return PGDIR_SIZE;
	}
}

static bool refuse_slot(const void *entry)
{
	unsigned long pfn = kpkeys_entry_pfn(entry);
	bool holds_none = kpkeys_frame(pfn) == KPKEYS_FRAME_TABLE;

	return kpkeys_refuse("use as a page table", holds_none ?
			     "a page that holds none" : kpkeys_frame_name(pfn),
			     entry, NULL);
}

/**
 * kpkeys_set_elsewhere - write an entry that is in no table of the last level
 * @entry: where, as somebody says who may have been lied to
 * @value: what
 *
 * What is no page table is written with the gate shut.
 *
 * Return: true if that was dealt with; else it may be written like others.
 */
bool kpkeys_set_elsewhere(void *entry, u64 value)
{
	u8 frame = frame_of_slot(entry);

	if (is_pte_table(entry, frame))
		return false;
	if (frame == KPKEYS_FRAME_ORDINARY) {
		kpkeys_write_outside(entry, value, frame);
		return true;
	}
	if (!is_higher_table(frame))
		return refuse_slot(entry);
	guard(preempt)();
	if (!kpkeys_refuse_block(entry, value, size_of_level(level_of(frame))))
		kpkeys_set_entry(entry, value, 0);
	return true;
}

/**
 * kpkeys_clear_elsewhere - clear an entry that is in no table of the last level
 * @entry: where
 * @old: set to what was there
 *
 * Return: as kpkeys_set_elsewhere().
 */
bool kpkeys_clear_elsewhere(void *entry, u64 *old)
{
	u8 frame = frame_of_slot(entry);

	if (is_pte_table(entry, frame))
		return false;
	if (frame == KPKEYS_FRAME_ORDINARY)
		*old = xchg((u64 *)entry, 0);
	else if (is_higher_table(frame))
		*old = kpkeys_exchange_entry(entry, 0, 0);
	else if (refuse_slot(entry))
		*old = READ_ONCE(*(u64 *)entry);
	else
		return false;
	return true;
}

/**
 * kpkeys_refuse_change - may bits not change in what somebody says are entries?
 * @entry: the first one
 * @nr: how many, of one table of any level
 */
bool kpkeys_refuse_change(const void *entry, unsigned int nr)
{
	u8 frame = frame_of_slot(entry);

	if (offset_in_page(entry) + nr * sizeof(u64) > PAGE_SIZE)
		return refuse_slot(entry);
	if (frame == KPKEYS_FRAME_ORDINARY || is_pte_table(entry, frame) ||
	    is_higher_table(frame))
		return false;
	return refuse_slot(entry);
}

/**
 * kpkeys_refuse_ptes - may what somebody says are PTEs not be written or taken?
 * @entry: the first one
 * @nr: how many, of one table of the last level, and not the kernel's
 */
bool kpkeys_refuse_ptes(const void *entry, unsigned int nr)
{
	u8 frame = frame_of_slot(entry);

	if (offset_in_page(entry) + nr * sizeof(u64) <= PAGE_SIZE &&
	    !is_kernels(frame) && is_pte_table(entry, frame))
		return false;
	return refuse_slot(entry);
}

/**
 * kpkeys_exchange_leaf - write an entry that kpkeys_refuse_leaf() let pass
 * @entry: where
 * @value: what
 * @old: set to what was there
 *
 * Return: false if it must not be written now.
 */
noinline __flatten bool kpkeys_exchange_leaf(void *entry, u64 value, u64 *old)
{
	u64 seen;

	scoped_guard(kpkeys_hardened_pgtables) {
		kpkeys_reread(entry);
		kpkeys_reread(value);
		kpkeys_keep(entry, entry);
		kpkeys_keep(value, value);
		if (!kpkeys_leaf_is_fit())
			return false;
		seen = xchg(kpkeys_kept(entry), kpkeys_kept(value));
		kpkeys_entry_written(kpkeys_kept(value));
	}
	*old = seen;
	return true;
}
