/* SPDX-License-Identifier: GPL-2.0-only */
/* What sections of page-table code ask about an entry. */
#ifndef _MM_KPKEYS_SECTIONS_H
#define _MM_KPKEYS_SECTIONS_H

#include <linux/kpkeys_taken.h>
#include <linux/pgtable.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES

#include "internal.h"

/* Does an entry of a process map what is no ordinary page, or not for it? */
static __always_inline bool is_typed(pte_t pte)
{
	return kpkeys_pgtables_enabled() &&
	       (kpkeys_is_typed(pte) || !kpkeys_is_private(pte_val(pte)));
}

static __always_inline bool is_search_on(void)
{
	return kpkeys_pgtables_enabled() &&
	       unlikely(atomic_read(&kpkeys_state.arrivals.expected));
}

/*
 * The end of an area is ordinary memory: who counts by pages up to one that is in
 * a page would go on behind the table.
 */
static __always_inline bool are_whole_pages(unsigned long addr, unsigned long end)
{
	return !((end - addr) & ~PAGE_MASK);
}

/* Are these no entries of a table? Asked once for all that are taken. */
static inline bool taken_are_refused(const pte_t *ptep, unsigned long addr,
				     unsigned long end)
{
	unsigned int nr = are_whole_pages(addr, end) ? (end - addr) >> PAGE_SHIFT :
						       UINT_MAX;

	return kpkeys_pgtables_enabled() && kpkeys_refuse_ptes(ptep, nr);
}

/* What was reported is let through, until the mode is tightened. */
static __always_inline bool all_are_taken(void)
{
	return !kpkeys_pgtables_enabled() || kpkeys_state.mode == KPKEYS_AUDIT;
}

/*
 * Are these in one table of the last level, or in what takes the place of one?
 * In the section: an interrupt since the question above had the address on its
 * stack. In line, so that the section has it in registers.
 */
static __always_inline bool taken_are_ptes(const pte_t *ptep, unsigned long addr,
					   unsigned long end)
{
	return all_are_taken() ||
	       ((kpkeys_is_pte_slot(ptep) ||
		 PTR_ALIGN_DOWN(ptep, PAGE_SIZE) == kpkeys_no_table) &&
		are_whole_pages(addr, end) &&
		((unsigned long)ptep & ~PAGE_MASK) / sizeof(*ptep) +
		((end - addr) >> PAGE_SHIFT) <= PTRS_PER_PTE);
}

/* Is all that this table maps what its kind may map? no_table has not been searched. */
static __always_inline bool copies_are_known(const pte_t *ptep)
{
	return all_are_taken() || kpkeys_is_pte_slot(ptep);
}

#else

#define is_typed(pte)		false
#define taken_are_refused(...)	false
#define taken_are_ptes(...)	true
#define copies_are_known(...)	true
#define is_search_on()		false
#define pte_gains(old, pte)	false

#endif

/*
 * Does a search look for what this entry maps? Nothing else becomes of a page
 * that is mapped, so an entry that was asked about when it was set need not be
 * again: if it only loses permissions, or is copied. But a search might be past
 * the copy's table already, or pass by while an entry is taken out. Each entry of a
 * run may be the one, so that is unfolded.
 */
static __always_inline bool is_searched_for(pte_t pte, unsigned int nr)
{
	return is_search_on() && (nr > 1 || is_typed(pte));
}

#endif /* _MM_KPKEYS_SECTIONS_H */
