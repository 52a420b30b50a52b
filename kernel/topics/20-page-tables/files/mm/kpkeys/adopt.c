// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables below one that is to be the kernel's. Where it was filled before it is linked,
 * as where memory is plugged in, they are known as a process's. Each of them waits,
 * claimed, until all below it are the kernel's. Which ones they are, a stack says. But
 * whether any was left out is asked in the section that lets one in, and in the one that
 * writes the link to the first.
 */
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>

#include "brings.h"
#include "links.h"
#include "tables.h"

/* What is written to it is asked about as for the kernel, from here on. */
static __always_inline bool has_wait(unsigned long table)
{
	u8 *frame = frame_at(table), old;

	old = frame ? READ_ONCE(*frame) : KPKEYS_FRAME_ORDINARY;
	while (is_table(old) && !is_kernels(old) && level_of(old) >= KPKEYS_LEVEL_PTE &&
	       level_of(old) < KPKEYS_LEVEL_PGD && link_of(old) == KPKEYS_LINK_ONE)
		if (try_cmpxchg(frame, &old,
				KPKEYS_KERNEL_TABLE(level_of(old), KPKEYS_LINK_CLAIMED)))
			return true;
	return false;
}

static noinline __flatten bool await_table(const u64 *entry)
{
	u8 parent;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	parent = kpkeys_frame_byte(slot_pfn(entry));
	return is_kernels(parent) && level_of(parent) > KPKEYS_LEVEL_PTE &&
	       has_wait(kpkeys_table_pfn(READ_ONCE(*entry)));
}

/* One that has what is no kernel's waits for ever, and so does what is above it. */
static noinline __flatten bool let_in(unsigned long table)
{
	u8 frame;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(table);
	kpkeys_keep(table, table);
	if (!waits(kpkeys_frame_byte(kpkeys_kept(table))))
		return false;
	if (kpkeys_processes_run && kpkeys_state.mode != KPKEYS_AUDIT &&
	    (any_entry(kpkeys_kept(table), is_no_text) ||
	     any_entry(kpkeys_kept(table), is_keyed) ||
	     any_entry(kpkeys_kept(table), is_no_kernels)))
		return false;
	frame = kpkeys_frame_byte(kpkeys_kept(table));
	return waits(frame) &&
	       kpkeys_change_frame_now(kpkeys_kept(table), frame,
				       KPKEYS_KERNEL_TABLE(level_of(frame), KPKEYS_LINK_ONE));
}

/* As deep as there are levels. */
static void adopt_below(unsigned long table)
{
	const u64 *entry = pfn_to_kaddr(table), *end = entry + PTRS_PER_PTE;
	unsigned long pfn;

	if (level_of(kpkeys_frame_byte(table)) <= KPKEYS_LEVEL_PTE)
		return;
	for (; entry < end; entry++) {
		pfn = kpkeys_table_pfn(READ_ONCE(*entry));
		if (pfn && await_table(entry)) {
			adopt_below(pfn);
			let_in(pfn);
		}
	}
}

/**
 * kpkeys_adopt_tables - what is linked to a table becomes the kernel's
 * @table: its page frame, or 0; it is about to be linked as the kernel's
 *
 * Of what has no entry yet nothing says the level.
 */
void kpkeys_adopt_tables(unsigned long table)
{
	unsigned int level = level_of(kpkeys_frame_byte(table));

	if (level > KPKEYS_LEVEL_PTE && level < KPKEYS_LEVEL_PGD &&
	    kpkeys_begin_kernels(table, level))
		adopt_below(table);
}
