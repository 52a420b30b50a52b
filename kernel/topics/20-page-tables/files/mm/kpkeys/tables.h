/* SPDX-License-Identifier: GPL-2.0-only */
/* What the table of frames says of frames and tables: in line, for sections that ask. */
#ifndef _MM_KPKEYS_TABLES_H
#define _MM_KPKEYS_TABLES_H

#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/unaligned.h>

#include <asm/fixmap.h>
#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_leaf.h>
#include <asm/kpkeys_patch.h>
#include <asm/sections.h>

#include "internal.h"

/* Does a root have a half that is a copy of the kernel's? */
#define ROOT_HAS_COPY	(ARCH_KPKEYS_COPY_BEGINS < PAGE_SIZE)

/* Levels of what holds no table, and of the half that user space runs on. */
#define LEVEL_FREE	0
#define LEVEL_USER_PGD	6
#define LEVEL_TAKEN	7

#define FREE	KPKEYS_TABLE(LEVEL_FREE, KPKEYS_LINK_NONE)
#define TAKEN	KPKEYS_TABLE(LEVEL_TAKEN, KPKEYS_LINK_NONE)
#define KEPT	KPKEYS_TABLE(LEVEL_FREE, KPKEYS_LINK_SHARED)
#define GONE	KPKEYS_TABLE(LEVEL_TAKEN, KPKEYS_LINK_SHARED)	/* was linked */
#define HEADER	KPKEYS_KERNEL_TABLE(LEVEL_FREE, KPKEYS_LINK_SHARED)	/* of a region */

/* Four of them: x86 compares no more without a register. */
#define ORDINARY_FRAMES	(KPKEYS_FRAME_ORDINARY * 0x01010101U)

/* Until it is there, tables have not been entered, and all is well. */
#define no_table	kpkeys_no_table

static __always_inline u8 *frame_at(unsigned long pfn)
{
	unsigned long index = pfn / KPKEYS_FRAMES_PER_PAGE;

	if (index >= kpkeys_frames.nr)
		return NULL;
	return &kpkeys_frames.page[index][pfn % KPKEYS_FRAMES_PER_PAGE];
}

/* The kernel image can be written, and all of it be run, until its text is entered. */
static inline bool kpkeys_is_still_written(unsigned long pfn)
{
	return pfn >= PHYS_PFN(__pa_symbol(_text)) && pfn < PHYS_PFN(__pa_symbol(_end)) &&
	       kpkeys_frame(PHYS_PFN(__pa_symbol(_stext))) != KPKEYS_FRAME_READONLY;
}

/* Of what is no whole page in the linear map a number that there is not. */
static __always_inline unsigned long page_pfn(const void *page)
{
	return offset_in_page(page) ? ULONG_MAX : kpkeys_linear_pfn(page);
}

static __always_inline u8 *frame_of(const void *page)
{
	return offset_in_page(page) ? NULL : frame_at(PHYS_PFN(__pa(page)));
}

static __always_inline unsigned int level_of(u8 frame)
{
	return (frame & KPKEYS_FRAME_LEVEL) >> 3;
}

static __always_inline enum kpkeys_link link_of(u8 frame)
{
	return (frame & KPKEYS_FRAME_LINK) >> 6;
}

static __always_inline bool is_table(u8 frame)
{
	return kpkeys_frame_is_table(frame & KPKEYS_FRAME_KIND);
}

static __always_inline bool is_kernels(u8 frame)
{
	return (frame & KPKEYS_FRAME_KIND) == KPKEYS_FRAME_KERNEL_TABLE;
}

/* Of folded levels there are no tables. */
static __always_inline unsigned int level_below_root(void)
{
	if (!mm_p4d_folded(&init_mm))
		return KPKEYS_LEVEL_P4D;
	if (!mm_pud_folded(&init_mm))
		return KPKEYS_LEVEL_PUD;
	return mm_pmd_folded(&init_mm) ? KPKEYS_LEVEL_PTE : KPKEYS_LEVEL_PMD;
}

static __always_inline unsigned int level_above(unsigned int level)
{
	return level == level_below_root() ? KPKEYS_LEVEL_PGD : level + 1;
}

/*
 * Is that a place in a root of a process where the kernel's entries are copied to, and
 * nothing else is written? While the kernel starts isolation and EFI fill theirs.
 */
static __always_inline bool is_in_copy(const void *entry, u8 parent)
{
	return offset_in_page(entry) >= ARCH_KPKEYS_COPY_BEGINS && !is_kernels(parent) &&
	       level_of(parent) >= KPKEYS_LEVEL_PGD && kpkeys_processes_run &&
	       kpkeys_state.mode != KPKEYS_AUDIT;
}

/*
 * A slot of the fixmap that is for tables has the key whatever it leads to. So has the
 * one of text, where there are no entries. On x86 there is none for tables.
 */
static __always_inline bool is_fixed(const void *entry)
{
	unsigned long addr = (unsigned long)entry;

	return ARCH_KPKEYS_TABLE_SLOT && kpkeys_is_whole_entry(entry) &&
	       addr >= FIXADDR_TOT_START && addr < FIXADDR_TOP &&
	       ALIGN_DOWN(addr, PAGE_SIZE) != ARCH_KPKEYS_PATCH_SLOT;
}

/* In the direct map, where an address has its number, whatever the tables say. */
static __always_inline unsigned long slot_pfn(const void *entry)
{
	return kpkeys_is_linear(entry) && kpkeys_is_whole_entry(entry) ?
	       PHYS_PFN(__pa_nodebug(entry)) : ULONG_MAX;
}

/* Memory of the image that is free has an address there still. */
static __always_inline bool is_in_image(const void *entry)
{
	return entry >= (const void *)_text && entry < (const void *)_end &&
	       kpkeys_is_whole_entry(entry);
}

/* By words: runs are 16 pages and more. */
static __always_inline bool are_all_ordinary(const u8 *frame, unsigned long nr)
{
	for (; nr >= sizeof(u32); nr -= sizeof(u32), frame += sizeof(u32))
		if (get_unaligned((const u32 *)frame) != ORDINARY_FRAMES)
			return false;
	for (; nr; nr--)
		if (*frame++ != KPKEYS_FRAME_ORDINARY)
			return false;
	return true;
}

/* May an entry map a frame, whatever that is? */
static __always_inline bool kpkeys_may_map(u64 value, enum kpkeys_frame frame)
{
	return frame == KPKEYS_FRAME_ORDINARY || arch_kpkeys_leaf_fits(value, frame);
}

/**
 * kpkeys_are_ordinary - may anybody map these frames?
 * @pfn: the first one
 * @nr: how many
 */
static __always_inline bool kpkeys_are_ordinary(unsigned long pfn, unsigned long nr)
{
	unsigned long index, first, run;

	for (; nr; nr -= run, pfn += run) {
		/* Registers are few: where the table is need not stay in one. */
		barrier();
		index = pfn / KPKEYS_FRAMES_PER_PAGE;
		first = pfn % KPKEYS_FRAMES_PER_PAGE;
		run = min(nr, KPKEYS_FRAMES_PER_PAGE - first);
		if (index < kpkeys_frames.nr &&
		    !are_all_ordinary(kpkeys_frames.page[index] + first, run))
			return false;
	}
	return true;
}

/* The level of a table that is linked, or 0. */
static __always_inline int level_of_linked(unsigned long pfn)
{
	u8 frame = kpkeys_frame_byte(pfn);

	if (!is_table(frame) || frame == GONE ||
	    link_of(frame) < KPKEYS_LINK_ONE)
		return 0;
	return min(level_of(frame), KPKEYS_LEVEL_PGD);
}

/**
 * kpkeys_level_to_search - what level of entries a page has, linked or not
 * @pfn: any page frame
 *
 * A table may be unlinked, with all that it maps, and be linked again. Of one
 * that was not linked yet nothing says the level: most are of the last. One that
 * is gone is cleared first; who still walks it forgets it behind the search.
 *
 * Return: KPKEYS_LEVEL_*, or 0 if it is free or no table.
 */
static __always_inline int kpkeys_level_to_search(unsigned long pfn)
{
	u8 frame = kpkeys_frame_byte(pfn);

	if (!is_table(frame) || frame == GONE)
		return 0;
	if (level_of(frame) == LEVEL_TAKEN)
		return KPKEYS_LEVEL_PTE;
	return min(level_of(frame), KPKEYS_LEVEL_PGD);
}

/* ---- pages of the pool; in a section, and in line ---- */

static __always_inline bool kpkeys_change_frame_now(unsigned long pfn, u8 from, u8 to)
{
	u8 *frame = frame_at(pfn);

	return frame && try_cmpxchg(frame, &from, to);
}

/* Of what is no table: it has its key, and nobody uses it yet. */
#define KPKEYS_FRAME_NEW	(KPKEYS_LINK_CLAIMED << 6)

/* A table that is new waits in the pool. */
static __always_inline u8 kpkeys_new_frame(int pkey)
{
	enum kpkeys_frame frame = kpkeys_frame_of_key(pkey);

	return frame == KPKEYS_FRAME_TABLE ? frame : frame | KPKEYS_FRAME_NEW;
}

/**
 * kpkeys_page_is_free - does a page wait in the pool?
 * @page: its address
 *
 * What does has the key of page tables.
 */
static __always_inline bool kpkeys_page_is_free(const void *page)
{
	return !no_table || kpkeys_frame_byte(page_pfn(page)) == FREE;
}

/**
 * kpkeys_table_take - a page leaves the pool, to become a table
 * @page: its address
 *
 * Return: false if it is not a free one.
 */
static __always_inline bool kpkeys_table_take(const void *page)
{
	return unlikely(!no_table) ||
	       kpkeys_change_frame_now(page_pfn(page), FREE, TAKEN);
}

/**
 * kpkeys_table_keep_new - a page that left the pool is never to become a table
 * @page: its address
 *
 * Return: false if it is one already, or is no such page.
 */
static __always_inline bool kpkeys_table_keep_new(const void *page)
{
	return unlikely(!no_table) ||
	       kpkeys_change_frame_now(page_pfn(page), TAKEN, KEPT);
}

static __always_inline bool is_root(u8 frame)
{
	return level_of(frame) == KPKEYS_LEVEL_PGD ||
	       level_of(frame) == LEVEL_USER_PGD;
}

/* One that was copied to, and that no mm has got: no CPU knows it. */
static __always_inline bool is_new_root(u8 frame)
{
	return ROOT_HAS_COPY && is_root(frame) &&
	       link_of(frame) == KPKEYS_LINK_CLAIMED;
}

/**
 * kpkeys_table_put - a page comes back to the pool
 * @page: its address
 *
 * Return: KPKEYS_PUT_FREE if it was never linked. KPKEYS_PUT_RESTS if it was, and
 * CPUs are to forget it; KPKEYS_PUT_GONE if it was a root. kpkeys_table_bury()
 * gives these back. KPKEYS_PUT_REFUSED if it is free, is to be linked or is, or is
 * never a table.
 */
static __always_inline enum kpkeys_put kpkeys_table_put(const void *page)
{
	u8 *frame = frame_at(page_pfn(page)), old;
	bool is_new;

	if (unlikely(!no_table))
		return KPKEYS_PUT_FREE;
	if (!frame)
		return KPKEYS_PUT_REFUSED;
	old = READ_ONCE(*frame);
	do {
		is_new = old == TAKEN || is_new_root(old);
		if (!is_table(old) || old == FREE || (link_of(old) && !is_new))
			return KPKEYS_PUT_REFUSED;
	} while (!try_cmpxchg(frame, &old, is_new ? FREE : GONE));
	if (is_new)
		return KPKEYS_PUT_FREE;
	return is_root(old) ? KPKEYS_PUT_GONE : KPKEYS_PUT_RESTS;
}

/**
 * kpkeys_table_bury - a page that was a table is free
 * @page: its address
 *
 * When every CPU has forgotten it, and has said which root it runs on. Which one it
 * is, is in keyed memory: a whole page.
 *
 * Return: false if it is not, or a CPU runs on it.
 */
static __always_inline bool kpkeys_table_bury(const void *page)
{
	return kpkeys_change_frame_now(kpkeys_linear_pfn(page), GONE, FREE);
}

/**
 * kpkeys_root_is_gone - was this a root, and waits for CPUs to leave it?
 * @pgd: the table
 */
static __always_inline bool kpkeys_root_is_gone(const void *pgd)
{
	return kpkeys_frame_byte(page_pfn(pgd)) == GONE;
}

/**
 * kpkeys_root_in_use - this CPU runs on a root
 * @pfn: its page frame
 *
 * In a section. One whose mm is gone is never memory for anything else then.
 */
static __always_inline void kpkeys_root_in_use(unsigned long pfn)
{
	u8 *frame = frame_at(pfn), old = GONE;

	if (frame && READ_ONCE(*frame) == GONE)
		try_cmpxchg(frame, &old, KEPT);
}

/**
 * kpkeys_table_is_new - is this page of the pool a table that has no entry yet?
 * @page: its address
 */
static __always_inline bool kpkeys_table_is_new(const void *page)
{
	return !no_table || kpkeys_frame_byte(page_pfn(page)) == TAKEN;
}

/* chains.c */
pmd_t *kpkeys_find_pmd(struct mm_struct *mm, unsigned long addr);

/* links.c */
bool kpkeys_begin_level(unsigned long pfn, unsigned int level);
bool kpkeys_begin_kernels(unsigned long pfn, unsigned int level);

/* adopt.c */
void kpkeys_adopt_tables(unsigned long table);

/* slots.c */
void kpkeys_write_outside(u64 *entry, u64 value, u8 parent);

#endif /* _MM_KPKEYS_TABLES_H */
