/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a table brings that becomes the kernel's, and that no table of the kernel's
 * may have: in line, for sections.
 */
#ifndef _MM_KPKEYS_BRINGS_H
#define _MM_KPKEYS_BRINGS_H

#include <linux/kpkeys_frames.h>
#include <linux/mm.h>

#include <asm/kpkeys_leaf.h>

#include "addresses.h"
#include "slots.h"
#include "tables.h"

/* A table that was a process's may have what user space runs. */
static __always_inline bool is_no_text(u64 value, int level)
{
	unsigned long pfn, nr;

	return arch_kpkeys_leaf_runs(value) && !table_below(value, level) &&
	       kpkeys_entry_leads_to(value, level, &pfn, &nr) && !kpkeys_are_text(pfn, nr);
}

/* What is keyed would be at another address: a table may say the same in smaller pieces. */
static __always_inline bool is_keyed(u64 value, int level)
{
	return arch_kpkeys_leaf_has_key(value, level) ||
	       (!table_below(value, level) && leads_to_keyed(value, level));
}

/* Not one that waits to be, and has tables of a process below it, maybe. */
static __always_inline bool is_kernels_in_use(unsigned long table)
{
	u8 frame = kpkeys_frame_byte(table);

	return is_kernels(frame) && link_of(frame) >= KPKEYS_LINK_ONE;
}

/* As it may be where the table is a process's, and not where it is the kernel's. */
static __always_inline bool is_no_kernels(u64 value, int level)
{
	unsigned long table = table_below(value, level);

	return table ? !is_kernels_in_use(table) : arch_kpkeys_leaf_is_users(value);
}

#endif /* _MM_KPKEYS_BRINGS_H */
