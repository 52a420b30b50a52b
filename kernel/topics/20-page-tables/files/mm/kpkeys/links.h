/* SPDX-License-Identifier: GPL-2.0-only */
/* How tables are linked, in the table of frames: in line, for sections. */
#ifndef _MM_KPKEYS_LINKS_H
#define _MM_KPKEYS_LINKS_H

#include <linux/kpkeys_frames.h>
#include <linux/mm.h>

#include "addresses.h"
#include "tables.h"

/**
 * kpkeys_has_links - is that a table whose entries lead to tables of a level?
 * @parent: what the table of frames says of it
 * @level: KPKEYS_LEVEL_* of these
 *
 * Where the entry is lay on the stack of an interrupt since it was asked about, maybe.
 */
static __always_inline bool kpkeys_has_links(u8 parent, unsigned int level)
{
	/* Below are pages of the pool that hold no table, and above nothing. */
	if (level < KPKEYS_LEVEL_PTE || level >= KPKEYS_LEVEL_PGD)
		return false;
	if (kpkeys_state.mode == KPKEYS_AUDIT)
		return true;
	return is_table(parent) && parent != GONE &&
	       min(level_of(parent), KPKEYS_LEVEL_PGD) == level_above(level);
}

/* A table below one of the kernel's is one, too. */
static __always_inline u8 frame_below(u8 parent, unsigned int level, enum kpkeys_link link)
{
	return is_kernels(parent) ? KPKEYS_KERNEL_TABLE(level, link) :
				    KPKEYS_TABLE(level, link);
}

/* Is that linked below a table that is to become the kernel's? See adopt.c. */
static __always_inline bool waits(u8 frame)
{
	return is_kernels(frame) && link_of(frame) == KPKEYS_LINK_CLAIMED;
}

/* What was the kernel's has entries that no process may have. */
static __always_inline bool may_claim(u8 parent, u8 old, unsigned int level,
				      enum kpkeys_link link)
{
	u8 owner = is_kernels(old) ? parent : KPKEYS_FRAME_TABLE;

	return old == TAKEN || old == frame_below(owner, level, KPKEYS_LINK_NONE) ||
	       (old == frame_below(owner, level, KPKEYS_LINK_CLAIMED) &&
		!waits(old) && link != KPKEYS_LINK_CLAIMED);
}

/* What it is under decides whose it is. */
static __always_inline bool claim_below(u8 parent, unsigned long pfn,
					unsigned int level, enum kpkeys_link link)
{
	u8 *frame = frame_at(pfn), old;

	if (!frame)
		return false;
	old = READ_ONCE(*frame);
	do {
		if (!may_claim(parent, old, level, link))
			return false;
	} while (!try_cmpxchg(frame, &old, frame_below(parent, level, link)));
	return true;
}

static __always_inline bool claim(unsigned long pfn, unsigned int level, enum kpkeys_link link)
{
	return claim_below(KPKEYS_FRAME_TABLE, pfn, level, link);
}

/* From one kind of link to another; all else stays. */
static __always_inline void change(unsigned long pfn, enum kpkeys_link from, enum kpkeys_link to)
{
	u8 *frame = frame_at(pfn), old = frame ? READ_ONCE(*frame) : KPKEYS_FRAME_ORDINARY;

	while (is_table(old) && link_of(old) == from && !waits(old))
		if (try_cmpxchg(frame, &old, frame_below(old, level_of(old), to)))
			break;
}

/* What several entries lead to stays. */
static __always_inline void unlink(unsigned long pfn)
{
	change(pfn, KPKEYS_LINK_ONE, KPKEYS_LINK_NONE);
}

/* With isolation an entry for user space says what the kernel's half says. */
static __always_inline unsigned long shadowed(const u64 *entry, u8 parent)
{
	if (level_of(parent) != LEVEL_USER_PGD)
		return 0;
	return kpkeys_table_pfn(READ_ONCE(*(entry - PTRS_PER_PGD)));
}

/**
 * kpkeys_has_user_half - has an entry a place in a second table?
 * @entry: in a top-level table, as somebody says who may have been lied to
 */
static __always_inline bool kpkeys_has_user_half(const void *entry)
{
	unsigned long pfn = kpkeys_table_of(entry);

	if (unlikely(!no_table))
		return true;
	return pfn != ULONG_MAX && is_table(kpkeys_frame_byte(pfn + 1)) &&
	       level_of(kpkeys_frame_byte(pfn)) == KPKEYS_LEVEL_PGD &&
	       level_of(kpkeys_frame_byte(pfn + 1)) == LEVEL_USER_PGD;
}

/* Would user space go on with a table that the kernel's half lets go? */
static __always_inline bool is_shadowed(const u64 *entry, u8 parent, unsigned long table)
{
	return IS_ENABLED(CONFIG_MITIGATION_PAGE_TABLE_ISOLATION) &&
	       level_of(parent) == KPKEYS_LEVEL_PGD && kpkeys_has_user_half(entry) &&
	       kpkeys_table_pfn(READ_ONCE(*(entry + PTRS_PER_PGD))) == table;
}

/**
 * __kpkeys_share_table - kpkeys_share_table() in a section
 * @pfn: the table
 */
static __always_inline void __kpkeys_share_table(unsigned long pfn)
{
	change(pfn, KPKEYS_LINK_ONE, KPKEYS_LINK_SHARED);
}

/*
 * A new table is claimed when the kernel's half is copied to it, and nothing else is
 * linked as a root. While the kernel starts EFI has one that gets its entries later.
 */
static __always_inline bool claim_page_of_root(unsigned long pfn, unsigned int level,
					       enum kpkeys_link link)
{
	u8 from = link == KPKEYS_LINK_CLAIMED ? TAKEN :
						KPKEYS_TABLE(level, KPKEYS_LINK_CLAIMED);

	if (!ROOT_HAS_COPY || !kpkeys_processes_run || kpkeys_state.mode == KPKEYS_AUDIT)
		return claim(pfn, level, link);
	return kpkeys_change_frame_now(pfn, from, KPKEYS_TABLE(level, link));
}

/* The half that user space runs on comes behind it, if there is one. */
static __always_inline bool claim_root(const pgd_t *pgd, enum kpkeys_link link)
{
	unsigned long pfn = page_pfn(pgd);

	if (unlikely(!no_table))
		return true;
	if (!claim_page_of_root(pfn, KPKEYS_LEVEL_PGD, link))
		return false;
	if (!IS_ENABLED(CONFIG_MITIGATION_PAGE_TABLE_ISOLATION))
		return true;
	return claim_page_of_root(pfn + 1, LEVEL_USER_PGD, link);
}

/**
 * kpkeys_begin_root - entries are to be copied where CPUs are to begin
 * @to: the first one, of a table as it was allocated
 * @from: the first one, in the same place of the kernel's table
 * @nr: how many
 *
 * In a section. Another table of the kernel's may have no half for user space.
 *
 * Return: false if either is another table, or @to is no new one.
 */
static __always_inline bool kpkeys_begin_root(const void *to, const void *from,
					      unsigned int nr)
{
	if (unlikely(!no_table))
		return true;
	return offset_in_page(to) + nr * sizeof(pgd_t) <= PAGE_SIZE &&
	       kpkeys_is_whole_entry(to) &&
	       from == (void *)swapper_pg_dir + offset_in_page(to) &&
	       claim_root(to - offset_in_page(to), KPKEYS_LINK_CLAIMED);
}

/**
 * kpkeys_link_root - CPUs may begin at a table
 * @pgd: as it was allocated, with the half that user space runs on
 *
 * In a section.
 *
 * Return: false if it must not be one.
 */
static __always_inline bool kpkeys_link_root(const pgd_t *pgd)
{
	return claim_root(pgd, KPKEYS_LINK_ONE);
}

/**
 * kpkeys_unlink_root - a table is about to be freed where CPUs began
 * @pgd: the table
 *
 * In a section.
 */
static __always_inline void kpkeys_unlink_root(const pgd_t *pgd)
{
	unsigned long pfn = page_pfn(pgd);

	unlink(pfn);
	if (IS_ENABLED(CONFIG_MITIGATION_PAGE_TABLE_ISOLATION))
		unlink(pfn + 1);
}

#endif /* _MM_KPKEYS_LINKS_H */
