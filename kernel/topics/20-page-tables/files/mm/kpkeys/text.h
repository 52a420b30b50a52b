/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing to text: in line, for sections that do all of it. A task that waits has on
 * its stack what it is about to write, and where to. So nothing waits between the
 * look at a page and the write to it.
 *
 * Text is written by a slot for one page, which is empty when nobody writes. All CPUs
 * see it. It has the key of page tables.
 */
#ifndef _MM_KPKEYS_TEXT_H
#define _MM_KPKEYS_TEXT_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/processor.h>
#include <linux/unaligned.h>

#include <asm/barrier.h>
#include <asm/kpkeys_patch.h>
#include <asm/sections.h>

#include "addresses.h"
#include "internal.h"

/**
 * enum kpkeys_patched - what became of a section that writes to text
 * @KPKEYS_PATCHED: it did
 * @KPKEYS_PATCH_BUSY: another CPU does
 * @KPKEYS_PATCH_REFUSED: it must not
 */
enum kpkeys_patched {
	KPKEYS_PATCHED,
	KPKEYS_PATCH_BUSY,
	KPKEYS_PATCH_REFUSED,
};

/*
 * Another CPU would have its own page in the slot. A lock in ordinary memory is
 * anybody's to release.
 */
static __always_inline bool take_slot(void)
{
	return !xchg(&kpkeys_state.patching, true);
}

static __always_inline enum kpkeys_patched leave_slot(bool patched)
{
	/* The slot is empty before another CPU finds it free. */
	smp_store_release(&kpkeys_state.patching, false);
	return patched ? KPKEYS_PATCHED : KPKEYS_PATCH_REFUSED;
}

/* The page that an address of the kernel leads to. */
static __always_inline unsigned long mapped_at(unsigned long addr)
{
	unsigned long pfn, nr;
	unsigned int level;
	u64 value = kernel_entry(addr, &level);

	if ((long)addr >= 0 || !kpkeys_entry_leads_to(value, level, &pfn, &nr))
		return ULONG_MAX;
	return pfn + (PHYS_PFN(addr) & (nr - 1));
}

/* By whoever called a section, with the gate shut. */
static inline bool is_to_repeat(enum kpkeys_patched done, bool *ask, const void *at)
{
	if (done == KPKEYS_PATCH_BUSY) {
		cpu_relax();
		return true;
	}
	if (done == KPKEYS_PATCHED || !*ask ||
	    kpkeys_refuse("patching", "what is no text", at, NULL))
		return false;
	*ask = false;
	return true;
}

static __always_inline bool is_others(unsigned long pfn)
{
	enum kpkeys_frame frame = kpkeys_frame(pfn);

	return pfn != ULONG_MAX &&
	       (frame == KPKEYS_FRAME_ORDINARY || frame == KPKEYS_FRAME_MODULE);
}

/* The kernel's own text by its own address alone. */
static __always_inline bool is_own_text(unsigned long addr, unsigned long pfn)
{
	return kpkeys_frame(pfn) == KPKEYS_FRAME_READONLY &&
	       addr >= (unsigned long)_stext && addr < (unsigned long)_etext;
}

/*
 * What ftrace, kprobes and others say is to be patched, and by whom, is in ordinary
 * memory.
 */
static __always_inline bool kpkeys_allows_probes(void)
{
	return kpkeys_kernel_probes || !kpkeys_processes_run;
}

/* The kernel's own table of places is read-only. */
static __always_inline bool is_builtin(const struct jump_entry *entry)
{
	unsigned long at = (unsigned long)entry - (unsigned long)__start___jump_table;

	return at < (unsigned long)__stop___jump_table - (unsigned long)__start___jump_table &&
	       !(at % sizeof(*entry));
}

/*
 * Keys that nothing switches after the start: the protection's own, of what a section
 * asks, and of which security modules there are.
 */
static __always_inline bool is_settled(unsigned long key)
{
	return kpkeys_processes_run && key >= (unsigned long)__start_ro_after_init &&
	       key < (unsigned long)__end_ro_after_init;
}

static __always_inline bool is_for_ever(const struct jump_entry *entry)
{
	return is_settled((unsigned long)jump_entry_key(entry));
}

/* What is left to write, in words of the section: where to, what, how many bytes. */
#define text_to		kpkeys_kept(end)
#define text_from	kpkeys_kept(source)
#define text_left	kpkeys_kept(given)
#define text_page	kpkeys_kept(table)
#define text_piece	kpkeys_kept(seen)	/* up to the end of a page */
#define text_same	kpkeys_kept(done)	/* one instruction over and over */
#define text_own	kpkeys_kept(parent)	/* the kernel's own text, too */
#define text_ask	kpkeys_kept(level)	/* or let through what audit mode has reported */

static __always_inline void aim_at(unsigned long to, const void *from, unsigned long len,
				   bool same)
{
	kpkeys_keep(end, to);
	kpkeys_keep(source, from);
	kpkeys_keep(given, len);
	kpkeys_keep(done, same);
}

static __always_inline void go_on(void)
{
	kpkeys_keep(end, text_to + text_piece);
	if (!text_same)
		kpkeys_keep(source, (const void *)text_from + text_piece);
	kpkeys_keep(given, text_left - text_piece);
}

/* A word of data among text is read by others meanwhile, so it is written as one. */
static __always_inline void write_piece(void)
{
	kpkeys_insn_t *to = (void *)ARCH_KPKEYS_PATCH_SLOT + offset_in_page(text_to);
	const kpkeys_insn_t *from = (const void *)text_from;
	unsigned long step = text_same ? 0 : 1, nr = text_piece;

	if (nr == sizeof(u64) && step && IS_ALIGNED((unsigned long)to, sizeof(u64))) {
		WRITE_ONCE(*(u64 *)to, get_unaligned((const u64 *)from));
		return;
	}
	for (; nr >= sizeof(*to); nr -= sizeof(*to), from += step)
		WRITE_ONCE(*to++, READ_ONCE(*from));
}

static __always_inline bool may_be_written(void)
{
	if (is_others(text_page) || (text_own && is_own_text(text_to, text_page)))
		return true;
	return !text_ask && kpkeys_state.mode == KPKEYS_AUDIT && text_page != ULONG_MAX;
}

/**
 * write_text - write what aim_at() said, in the section that has the slot
 * @own: the kernel's own text, too
 * @ask: or let through what audit mode has reported
 *
 * Return: false if it is no text. What is ahead of that is written.
 */
static __always_inline bool write_text(bool own, bool ask)
{
	kpkeys_keep(parent, own);
	kpkeys_keep(level, ask);
	while (text_left) {
		kpkeys_keep(table, mapped_at(text_to));
		if (!may_be_written())
			return false;
		kpkeys_keep(seen, min(text_left, PAGE_SIZE - offset_in_page(text_to)));
		arch_kpkeys_map_text(text_page);
		write_piece();
		arch_kpkeys_unmap_text();
		go_on();
	}
	return true;
}

#endif /* _MM_KPKEYS_TEXT_H */
