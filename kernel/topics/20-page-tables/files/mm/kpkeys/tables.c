// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a page of the pool is: free, taken to be a table, one of a level, or kept
 * for something else. The table of frames has it, beside how a table is linked.
 */
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_ptp.h>
#include <linux/kpkeys_taken.h>
#include <linux/mm.h>

#include "tables.h"

/*
 * Takes the place of a table that is not to be filled. No CPU walks it.
 */
void *kpkeys_no_table __ro_after_init;

/**
 * kpkeys_entry_pfn - the page frame that an entry is in
 * @entry: in a table, or on a stack, which vmalloc() may have mapped
 */
unsigned long kpkeys_entry_pfn(const void *entry)
{
	if (likely(kpkeys_is_linear(entry)))
		return PHYS_PFN(__pa(entry));
	return PHYS_PFN(arch_kpkeys_phys((unsigned long)entry));
}

/**
 * kpkeys_table_level - what level a table is of that CPUs may walk
 * @pfn: any page frame
 *
 * Return: KPKEYS_LEVEL_*, or 0 if it is no table or not linked.
 */
int kpkeys_table_level(unsigned long pfn)
{
	return level_of_linked(pfn);
}

/**
 * kpkeys_table_links - how a table is linked
 * @pfn: its page frame
 */
enum kpkeys_link kpkeys_table_links(unsigned long pfn)
{
	return link_of(kpkeys_frame_byte(pfn));
}

/* ---- pages of the pool ---- */

/**
 * kpkeys_table_is_free - is this page waiting in the pool?
 * @page: its address
 */
bool kpkeys_table_is_free(const void *page)
{
	return kpkeys_frame_byte(PHYS_PFN(__pa(page))) == FREE;
}

/**
 * kpkeys_table_keep - a page of the pool is never to become a table
 * @page: its address
 *
 * Return: false if it is one, or is no page of the pool.
 */
__flatten bool kpkeys_table_keep(const void *page)
{
	u8 *frame, taken = TAKEN, unused = FREE;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(page);
	frame = frame_of(page);
	if (!no_table)
		return true;
	return frame && (try_cmpxchg(frame, &taken, KEPT) ||
			 try_cmpxchg(frame, &unused, KEPT));
}

/**
 * kpkeys_table_is_kept - is this page of the pool never a table?
 * @page: its address
 */
bool kpkeys_table_is_kept(const void *page)
{
	return !no_table || kpkeys_frame_byte(PHYS_PFN(__pa(page))) == KEPT;
}

/**
 * kpkeys_table_leave - a page leaves the protection, and loses its key
 * @pfn: its page frame
 *
 * Who keys a page may have been lied to about which one it was.
 *
 * Return: false if it is anything but a free page of the pool.
 */
__flatten bool kpkeys_table_leave(unsigned long pfn)
{
	u8 *frame, old;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	frame = frame_at(pfn);
	if (!frame || *frame == KPKEYS_FRAME_ORDINARY)
		return true;
	old = READ_ONCE(*frame);
	do {
		if (old != FREE && no_table)
			return false;
	} while (!try_cmpxchg(frame, &old, KPKEYS_FRAME_ORDINARY));
	return true;
}

/* ---- tables of the last level ---- */

/* In a section, and in line. Returns false for what pmd_clear() must look at. */
static __always_inline bool unlink_ptes(u64 *entry, u64 value)
{
	unsigned long pfn = kpkeys_table_pfn(value);
	u8 parent = kpkeys_frame_byte(slot_pfn(entry));
	u8 old = KPKEYS_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_ONE);

	if ((parent & ~KPKEYS_FRAME_LINK) != KPKEYS_TABLE(KPKEYS_LEVEL_PMD, 0) ||
	    kpkeys_frame_byte(pfn) != old || !try_cmpxchg(entry, &value, 0))
		return false;
	kpkeys_change_frame_now(pfn, old, KPKEYS_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_NONE));
	return true;
}

/* Likewise, of the table that had them; pud_clear() looks at what stays. */
static __always_inline void unlink_pmds(u64 *entry, const void *pmd)
{
	u8 parent = kpkeys_frame_byte(slot_pfn(entry));
	u8 old = KPKEYS_TABLE(KPKEYS_LEVEL_PMD, KPKEYS_LINK_ONE);
	u64 value = READ_ONCE(*entry);
	unsigned long pfn = kpkeys_table_pfn(value);

	if ((parent & ~KPKEYS_FRAME_LINK) == KPKEYS_TABLE(level_above(KPKEYS_LEVEL_PMD), 0) &&
	    pfn == slot_pfn(pmd) && kpkeys_frame_byte(pfn) == old &&
	    try_cmpxchg(entry, &value, 0))
		kpkeys_change_frame_now(pfn, old,
					KPKEYS_TABLE(KPKEYS_LEVEL_PMD, KPKEYS_LINK_NONE));
}

/* What they were is kept in keyed memory: any other place could be changed ahead. */
static noinline __flatten unsigned int unlink_in_section(pmd_t *pmd, unsigned int nr,
							 pud_t *pud,
							 struct taken_ptes *taken)
{
	unsigned int i;
	pte_t *base;
	pmd_t old;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pmd);
	kpkeys_reread(pud);
	base = begin_taken(taken);
	for (i = 0; i < nr; i++, pmd++) {
		old = READ_ONCE(*pmd);
		if (pmd_none(old) || unlikely(pmd_bad(old)))
			old = __pmd(0);
		else if (!unlink_ptes((u64 *)pmd, pmd_val(old)))
			break;
		__write_taken(base, i % NR_TAKEN_PTES, __pte(pmd_val(old)));
	}
	if (pud && i == nr)
		unlink_pmds((u64 *)pud, pmd - 1);
	return i;
}

/**
 * __kpkeys_unlink_tables - unlink tables of the last level, of a process
 * @pmd: the first entry
 * @unlinked: what they were; none where there was none
 * @nr: how many, in one table, NR_TAKEN_PTES at most
 * @pud: if that table goes as well, the entry that leads to it, or NULL
 *
 * In one section, which calls nothing.
 *
 * Return: how many; pmd_clear() is to look at the next one.
 */
unsigned int __kpkeys_unlink_tables(pmd_t *pmd, pmd_t *unlinked, unsigned int nr,
				    pud_t *pud)
{
	struct taken_ptes taken;
	const pte_t *old;
	unsigned int i;

	guard(preempt)();
	nr = unlink_in_section(pmd, nr, pud, &taken);
	old = __taken_ptes(&taken);
	for (i = 0; i < nr; i++)
		unlinked[i] = __pmd(pte_val(old[i % NR_TAKEN_PTES]));
	return nr;
}
