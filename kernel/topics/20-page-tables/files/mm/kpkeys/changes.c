// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of mprotect() and madvise() that are or surround a section: entries stay,
 * and change. For kernels without keys as well.
 */
#include <linux/kpkeys_compat.h>
#include <linux/kpkeys_taken.h>
#include <linux/ksm.h>
#include <linux/memory-tiers.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/sched/sysctl.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <asm/tlb.h>

#include "sections.h"

/* ---- NUMA hints ---- */

/*
 * Does an entry stay for NUMA hints, or is its folio to be marked? Ahead of the
 * section, since folios are found by struct page.
 */
static bool numa_keeps_pte(struct vm_area_struct *vma, unsigned long addr,
			   pte_t oldpte, int target_node)
{
	struct folio *folio;
	bool toptier;
	int nid;

	/* Avoid TLB flush if possible */
	if (!pte_present(oldpte) || pte_protnone(oldpte))
		return true;

	/*
	 * Avoid trapping faults against the zero or KSM pages. See similar
	 * comment in change_huge_pmd.
	 */
	folio = vm_normal_folio(vma, addr, oldpte);
	if (!folio || folio_is_zone_device(folio) || folio_test_ksm(folio))
		return true;

	/* Also skip shared copy-on-write pages */
	if (is_cow_mapping(vma->vm_flags) &&
	    (folio_maybe_dma_pinned(folio) || folio_maybe_mapped_shared(folio)))
		return true;

	/*
	 * While migration can move some dirty pages, it cannot move them all
	 * from MIGRATE_ASYNC context.
	 */
	if (folio_is_file_lru(folio) && folio_test_dirty(folio))
		return true;

	/*
	 * Don't mess with PTEs if page is already on the node a single-threaded
	 * process is running on.
	 */
	nid = folio_nid(folio);
	if (target_node == nid)
		return true;

	/* Skip scanning top tier node if normal numa balancing is disabled */
	toptier = node_is_toptier(nid);
	if (!(sysctl_numa_balancing_mode & NUMA_BALANCING_NORMAL) && toptier)
		return true;
	if (folio_use_access_time(folio))
		folio_xchg_access_time(folio, jiffies_to_msecs(jiffies));
	return false;
}

static void numa_note_kept(struct ptes_change *change, pte_t *pte,
			   unsigned long addr, unsigned long end, int target_node)
{
	for (; addr != end; pte++, addr += PAGE_SIZE)
		if (numa_keeps_pte(change->vma, addr, ptep_get(pte), target_node))
			__set_bit(pte_index(addr), change->noted);
}

/* ---- mprotect() ---- */

static __always_inline pte_t changed_pte(pte_t pte, pgprot_t prot,
					 unsigned long flags)
{
	pte = pte_modify(pte, prot);
	if (flags & MM_CP_UFFD_WP)
		return pte_mkuffd(pte);
	return flags & MM_CP_UFFD_WP_RESOLVE ? pte_clear_uffd(pte) : pte;
}

static void sync_changed(struct ptes_change *change, pte_t *pte,
			 unsigned long addr, unsigned long end)
{
	pte_t ptent;

	for (; addr != end; pte++, addr += PAGE_SIZE) {
		ptent = ptep_get(pte);
		if (pte_present(ptent))
			sync_pte(changed_pte(ptent, change->prot, change->flags));
	}
}

static void note_writable(struct ptes_change *change, pte_t *pte,
			  unsigned long addr, unsigned long end)
{
	pte_t ptent;

	for (; addr != end; pte++, addr += PAGE_SIZE) {
		ptent = ptep_get(pte);
		if (!pte_present(ptent))
			continue;
		ptent = changed_pte(ptent, change->prot, change->flags);
		if (!pte_write(ptent) &&
		    can_change_pte_writable(change->vma, addr, ptent))
			__set_bit(pte_index(addr), change->noted);
	}
}

/**
 * note_ptes - do and decide what mprotect() needs pages for
 * @change: its @noted, which is empty, is filled in
 * @pte: the first entry, under the lock of its table
 * @addr: what it maps
 * @end: where the last one's mapping ends, in the same table
 * @target_node: for NUMA hints: where a process is that has one thread
 */
void note_ptes(struct ptes_change *change, pte_t *pte, unsigned long addr,
	       unsigned long end, int target_node)
{
	if (kpkeys_pgtables_enabled() && needs_sync(change->vma))
		sync_changed(change, pte, addr, end);
	if (change->flags & MM_CP_PROT_NUMA)
		numa_note_kept(change, pte, addr, end, target_node);
	else if (kpkeys_pgtables_enabled() &&
		 change->flags & MM_CP_TRY_CHANGE_WRITABLE)
		note_writable(change, pte, addr, end);
}

/* Does an entry stay as it is that maps nothing? */
static __always_inline bool is_left(pte_t pte, unsigned long flags)
{
	if (flags & (MM_CP_UFFD_WP | MM_CP_UFFD_WP_RESOLVE))
		return false;
	return pte_none(pte) || softleaf_is_swap(softleaf_from_pte(pte));
}

/* How many of entries that belong together are noted? */
static __always_inline unsigned int nr_noted(const struct ptes_change *change,
					     unsigned long addr, unsigned int nr)
{
	unsigned int i = pte_index(addr), noted = 0;

	for (; nr; nr--, i++)
		noted += test_bit(i, change->noted);
	return noted;
}

/* Is that not the same for all of a run? Then it is unfolded. */
static __always_inline bool differ(const struct ptes_change *change,
				   unsigned long addr, unsigned int nr)
{
	unsigned int noted;

	if (nr == 1 || !(change->flags & (MM_CP_PROT_NUMA | MM_CP_TRY_CHANGE_WRITABLE)))
		return false;
	noted = nr_noted(change, addr, nr);
	return noted && noted != nr;
}

static __always_inline bool is_kept(const struct ptes_change *change,
				    unsigned long addr)
{
	return change->flags & MM_CP_PROT_NUMA && test_bit(pte_index(addr), change->noted);
}

static __always_inline bool gets_writable(const struct ptes_change *change,
					  pte_t pte, unsigned long addr)
{
	return change->flags & MM_CP_TRY_CHANGE_WRITABLE && !pte_write(pte) &&
	       test_bit(pte_index(addr), change->noted);
}

/* Must it be asked what entries map? The old ones were, when they were set. */
static __always_inline bool change_must_be_asked(pte_t old, pte_t pte,
						 unsigned int nr)
{
	if (!kpkeys_pgtables_enabled() || !pte_gains(old, pte))
		return false;
	for (; nr > 1; nr--, pte = pte_advance_pfn(pte, 1))
		if (is_typed(pte))
			return true;
	return is_typed(pte);
}

/*
 * Change entries up to one that has to be changed with the gate shut. Page
 * tables can be written here, so nothing else happens, and what comes of it is
 * in registers. The area is looked up where it is used, and waits nowhere.
 */
static noinline __flatten unsigned long
change_in_section(struct ptes_change *change, pte_t *ptep, unsigned long addr,
		  unsigned long end)
{
	unsigned long from = end, to = addr;
	unsigned int nr;
	pte_t old, pte;
	long pages = 0;
	bool ask;

	if (taken_are_refused(ptep, addr, end))
		return end;
	scoped_guard(kpkeys_pgtables_section, PTRS_PER_PTE) {
		kpkeys_reread(ptep);
		kpkeys_reread(addr);
		kpkeys_reread(end);
		if (!taken_are_ptes(ptep, addr, end))
			return end;
		for (; addr != end; ptep += nr, addr += nr * PAGE_SIZE) {
			old = READ_ONCE(*ptep);
			nr = nr_of_run(ptep, old, (end - addr) / PAGE_SIZE);
			if (!pte_present(old) && !is_left(old, change->flags))
				break;
			if (unlikely(!nr) || differ(change, addr, nr))
				break;
			if (!pte_present(old) || is_kept(change, addr))
				continue;
			if (is_searched_for(old, nr))
				break;
			old = take_changed_pte(change->vma, addr, ptep, nr);
			pte = changed_pte(old, change->prot, change->flags);
			if (gets_writable(change, pte, addr))
				pte = mkwrite_changed_pte(pte, change->vma);
			ask = change_must_be_asked(old, pte, nr);
			set_changed_pte(change->vma, addr, ptep, old, ask ? old : pte, nr);
			if (ask)
				break;
			pages += nr;
			if (!pte_needs_flush(old, pte))
				continue;
			from = min(from, addr);
			to = addr + nr * PAGE_SIZE;
		}
	}
	change->pages += pages;
	change->flush_start = min(change->flush_start, from);
	change->flush_end = max(change->flush_end, to);
	return addr;
}

/**
 * change_ptes - change permissions of entries, up to one that its caller changes
 * @change: to what; says afterwards what was done, in addition to before
 * @pte: the first entry, under the lock of its table
 * @addr: what it maps
 * @end: where the last one's mapping ends, in the same table
 *
 * Where nothing is protected the caller changes all of them.
 *
 * Return: what that one maps, or @end.
 */
unsigned long change_ptes(struct ptes_change *change, pte_t *pte,
			  unsigned long addr, unsigned long end)
{
	pte_t first = ptep_get(pte);
	unsigned long next;

	if (changes_are_single() ||
	    (!pte_present(first) && !is_left(first, change->flags)))
		return addr;
	next = change_in_section(change, pte, addr, end);
	fold_ptes(change->vma->vm_mm, pte, addr, next);
	return next;
}

/* ---- madvise() ---- */

static noinline __flatten void
clear_in_section(struct vm_area_struct *vma, unsigned long base, pte_t *table,
		 const unsigned long *marked, cydp_t flags)
{
	if (taken_are_refused(table, 0, PMD_SIZE))
		return;
	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(table);
	if (taken_are_ptes(table, 0, PMD_SIZE))
		clear_marked_ptes(vma, base, table, marked, flags);
}

/**
 * clear_marked - clear bits of entries, ahead of the end of their table's lock
 * @vma: theirs
 * @base: what the first entry of the table maps
 * @pte: any entry of the table
 * @marked: which entries, by pte_index(); empty afterwards
 * @flags: which bits
 */
void clear_marked(struct vm_area_struct *vma, unsigned long base, pte_t *pte,
		  unsigned long *marked, cydp_t flags)
{
	if (bitmap_empty(marked, PTRS_PER_PTE))
		return;
	pte = PTR_ALIGN_DOWN(pte, PTRS_PER_PTE * sizeof(*pte));
	if (kpkeys_pgtables_enabled())
		clear_in_section(vma, base, pte, marked, flags);
	else
		__clear_marked_ptes(vma, base, pte, marked, flags);
	bitmap_zero(marked, PTRS_PER_PTE);
}
