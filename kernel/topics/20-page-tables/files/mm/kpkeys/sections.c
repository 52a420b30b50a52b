// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of unmapping, fork() and mprotect() that are or surround a section. What
 * runs in one does nothing but write entries; what it has to know of pages is
 * found ahead of it, and what it took is accounted for behind it.
 *
 * For memory.c and mprotect.c, without keys as well.
 */
#include <linux/kpkeys_taken.h>
#include <linux/ksm.h>
#include <linux/memory-tiers.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/sched/sysctl.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <asm/tlb.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES

#include "internal.h"

/* Does an entry map what is no ordinary page? */
static __always_inline bool is_typed(pte_t pte)
{
	return kpkeys_pgtables_enabled() && kpkeys_is_typed(pte);
}

static __always_inline bool is_search_on(void)
{
	return kpkeys_pgtables_enabled() &&
	       unlikely(atomic_read(&kpkeys_state.arrivals.expected));
}

#else

#define is_typed(pte)		false
#define is_search_on()		false
#define pte_gains(old, pte)	false

#endif

/* ---- unmapping ---- */

/**
 * zap_take_ptes - take entries out of a table
 * @mm: whose
 * @pte: the first one, under the lock of its table
 * @addr: what it maps
 * @end: where the last one's mapping ends, taken_end() of @addr at most
 * @keep: those that stay, by taken_index()
 * @full: nobody uses the mm any more
 * @taken: filled in; what stays is none there
 *
 * Page tables can be written here, so nothing else happens: what was taken is
 * accounted for behind the section.
 */
void zap_take_ptes(struct mm_struct *mm, pte_t *pte, unsigned long addr,
		   unsigned long end, const unsigned long *keep, bool full,
		   struct taken_ptes *taken)
{
	bool refused = taken_are_refused(pte, addr, end);
	pte_t ptent;
	int nr;

	guard(kpkeys_pgtables_section)(NR_TAKEN_PTES);
	kpkeys_reread(pte);
	kpkeys_reread(addr);
	kpkeys_reread(end);
	refused |= !taken_are_ptes(pte, addr, end);
	taken_enter_lazy_mmu();
	for (; addr != end; pte += nr) {
		ptent = ptep_get(pte);
		nr = pte_batch_hint(pte, ptent);
		if (nr > 1)
			nr = min_t(int, nr, (end - addr) / PAGE_SIZE);
		if (pte_none(ptent) || refused ||
		    test_bit(taken_index(addr), keep))
			ptent = __pte(0);
		else
			ptent = take_ptes(mm, addr, pte, nr, full);
		addr = write_taken_run(taken, addr, ptent, nr);
	}
	taken_leave_lazy_mmu();
}

/**
 * zap_put_back_ptes - put entries back that zap_take_ptes() took
 * @mm: whose
 * @pte: where the first one was
 * @addr: what it maps
 * @end: where the last one's mapping ends
 * @taken: the entries
 *
 * They are not accounted for, since a batch is full or somebody wants the CPU. No
 * TLB has them any more.
 */
void zap_put_back_ptes(struct mm_struct *mm, pte_t *pte, unsigned long addr,
		       unsigned long end, struct taken_ptes *taken)
{
	pte_t ptent;

	guard(kpkeys_pgtables_section)(NR_TAKEN_PTES);
	taken_enter_lazy_mmu();
	for (; addr != end; pte++, addr += PAGE_SIZE) {
		ptent = read_taken(taken, addr);
		if (!pte_none(ptent))
			put_back_pte(mm, addr, pte, ptent);
	}
	taken_leave_lazy_mmu();
}

/* ---- fork ---- */

/* What the child gets for the parent's entry. */
static __always_inline pte_t copied_pte(pte_t pte, unsigned long vm_flags)
{
	if (!pte_present(pte))
		return vm_flags & VM_UFFD_WP ? pte : pte_swp_clear_uffd_wp(pte);

	/* If it's a COW mapping, write protect it both processes. */
	if (is_cow_mapping(vm_flags) && pte_write(pte))
		pte = pte_wrprotect(pte);

	/* If it's a shared mapping, mark it clean in the child. */
	if (vm_flags & VM_SHARED)
		pte = pte_mkclean(pte);
	pte = pte_mkold(pte);

	return vm_flags & VM_UFFD_WP ? pte : pte_clear_uffd_wp(pte);
}

/*
 * Does a search look for what this entry maps? Nothing else becomes of a page
 * that is mapped, so an entry that was asked about when it was set need not be
 * again: if it only loses permissions, or is copied. But a search might be past
 * the copy's table already, or pass by while an entry is taken out.
 */
static __always_inline bool is_searched_for(pte_t pte)
{
	return is_search_on() && is_typed(pte);
}

static __always_inline bool is_skipped(unsigned long addr,
				       const unsigned long *skip)
{
	return skip && test_bit(pte_index(addr), skip);
}

/* Of @nr entries that belong together, those before @end and what is skipped. */
static __always_inline unsigned int nr_to_copy(unsigned long addr,
					       unsigned long end, unsigned int nr,
					       const unsigned long *skip)
{
	unsigned int i = pte_index(addr);

	nr = min_t(unsigned long, nr, (end - addr) / PAGE_SIZE);
	if (skip && !test_bit(i, skip))
		nr = find_next_bit(skip, i + nr, i) - i;
	return skip && test_bit(i, skip) ? 1 : nr;
}

/*
 * Copy the entries that are accounted for. Page tables can be written here, so
 * nothing else happens, and nothing is called that would have pointers to them
 * saved in memory. Returns @end, or where an entry needs the gate shut.
 */
static noinline __flatten unsigned long
copy_in_section(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma,
		pte_t *dst, pte_t *src, unsigned long addr, unsigned long end,
		const unsigned long *skip)
{
	struct mm_struct *dst_mm = dst_vma->vm_mm, *src_mm = src_vma->vm_mm;
	unsigned long vm_flags = dst_vma->vm_flags;
	bool is_cow = is_cow_mapping(vm_flags);
	unsigned int nr;
	pte_t pte;

	if (taken_are_refused(src, addr, end) || taken_are_refused(dst, addr, end))
		return end;
	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(src);
	kpkeys_reread(dst);
	kpkeys_reread(addr);
	kpkeys_reread(end);
	if (!taken_are_ptes(src, addr, end) || !copies_are_known(src) ||
	    !taken_are_ptes(dst, addr, end))
		return end;
	taken_enter_lazy_mmu();
	for (; addr != end; addr += nr * PAGE_SIZE, src += nr, dst += nr) {
		nr = read_copied_ptes(src, &pte);
		if (unlikely(nr > 1))
			nr = nr_to_copy(addr, end, nr, skip);
		if (pte_none(pte) || is_skipped(addr, skip))
			continue;
		if (likely(pte_present(pte))) {
			if (is_cow && pte_write(pte))
				protect_copied_ptes(src_mm, addr, src, pte, nr);
		} else if (pte_swp_exclusive(pte)) {
			/* Mark the swap entry as shared. */
			pte = pte_swp_clear_exclusive(pte);
			write_swap_pte(src_mm, addr, src, pte);
		}
		if (is_searched_for(pte) ||
		    !set_copied_ptes(dst_mm, addr, dst, copied_pte(pte, vm_flags), nr))
			break;
	}
	taken_leave_lazy_mmu();
	return addr;
}

static void sync_ptes(pte_t *pte, unsigned long addr, unsigned long end)
{
	for (; addr != end; pte++, addr += PAGE_SIZE)
		if (pte_present(ptep_get(pte)))
			sync_pte(ptep_get(pte));
}

/**
 * copy_ptes - copy entries that are accounted for
 * @dst_vma: the child's
 * @src_vma: the parent's
 * @dst: the child's first entry, under the lock of its table
 * @src: the parent's, likewise
 * @addr: what they map
 * @end: where the last one's mapping ends, in the same table
 * @skip: those that are not to be copied, by pte_index()
 */
void copy_ptes(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma,
	       pte_t *dst, pte_t *src, unsigned long addr, unsigned long end,
	       const unsigned long *skip)
{
	unsigned long next;
	pte_t pte;

	if (needs_sync(dst_vma))
		sync_ptes(src, addr, end);
	if (bitmap_empty(skip, PTRS_PER_PTE))
		skip = NULL;
	for (; addr != end; addr = next + PAGE_SIZE, src++, dst++) {
		next = copy_in_section(dst_vma, src_vma, dst, src, addr, end, skip);
		if (next == end)
			return;
		src += (next - addr) / PAGE_SIZE;
		dst += (next - addr) / PAGE_SIZE;
		pte = copied_pte(ptep_get(src), dst_vma->vm_flags);
		set_pte_at(dst_vma->vm_mm, next, dst, pte);
	}
}

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
	    (folio_maybe_dma_pinned(folio) || folio_likely_mapped_shared(folio)))
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
		return pte_mkuffd_wp(pte);
	return flags & MM_CP_UFFD_WP_RESOLVE ? pte_clear_uffd_wp(pte) : pte;
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
	if (needs_sync(change->vma))
		sync_changed(change, pte, addr, end);
	if (change->flags & MM_CP_PROT_NUMA)
		numa_note_kept(change, pte, addr, end, target_node);
	else if (change->flags & MM_CP_TRY_CHANGE_WRITABLE)
		note_writable(change, pte, addr, end);
}

/* Does an entry stay as it is that maps nothing? */
static __always_inline bool is_left(pte_t pte, unsigned long flags)
{
	if (flags & (MM_CP_UFFD_WP | MM_CP_UFFD_WP_RESOLVE))
		return false;
	return pte_none(pte) || !non_swap_entry(pte_to_swp_entry(pte));
}

static __always_inline bool is_kept(const struct ptes_change *change,
				    unsigned long addr, unsigned long flags)
{
	return flags & MM_CP_PROT_NUMA && test_bit(pte_index(addr), change->noted);
}

static __always_inline bool gets_writable(const struct ptes_change *change,
					  pte_t pte, unsigned long addr,
					  unsigned long flags)
{
	return flags & MM_CP_TRY_CHANGE_WRITABLE && !pte_write(pte) &&
	       test_bit(pte_index(addr), change->noted);
}

/* Must it be asked what an entry maps? The old one was, when it was set. */
static __always_inline bool change_must_be_asked(pte_t old, pte_t pte)
{
	return kpkeys_pgtables_enabled() && pte_gains(old, pte) && is_typed(pte);
}

/*
 * Change entries up to one that has to be changed with the gate shut. Page
 * tables can be written here, so nothing else happens, and what comes of it is
 * in registers.
 */
static noinline __flatten unsigned long
change_in_section(struct ptes_change *change, pte_t *ptep, unsigned long addr,
		  unsigned long end)
{
	unsigned long flags = change->flags, from = end, to = addr;
	struct vm_area_struct *vma = change->vma;
	pgprot_t prot = change->prot;
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
		taken_enter_lazy_mmu();
		for (; addr != end; ptep++, addr += PAGE_SIZE) {
			old = ptep_get(ptep);
			if (!pte_present(old) && !is_left(old, flags))
				break;
			if (!pte_present(old) || is_kept(change, addr, flags))
				continue;
			if (is_searched_for(old))
				break;
			old = take_changed_pte(vma, addr, ptep);
			pte = changed_pte(old, prot, flags);
			if (gets_writable(change, pte, addr, flags))
				pte = mkwrite_changed_pte(pte, vma);
			ask = change_must_be_asked(old, pte);
			set_changed_pte(vma, addr, ptep, old, ask ? old : pte);
			if (ask)
				break;
			pages++;
			if (!pte_needs_flush(old, pte))
				continue;
			from = min(from, addr);
			to = addr + PAGE_SIZE;
		}
		taken_leave_lazy_mmu();
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
 * Return: what that one maps, or @end.
 */
unsigned long change_ptes(struct ptes_change *change, pte_t *pte,
			  unsigned long addr, unsigned long end)
{
	pte_t first = ptep_get(pte);

	if (!pte_present(first) && !is_left(first, change->flags))
		return addr;
	return change_in_section(change, pte, addr, end);
}

/* ---- faults that map several pages ---- */

/* In a section set entries up to one that must be asked about with the gate shut. */
static noinline __flatten unsigned int
set_in_section(struct mm_struct *mm, pte_t *table, const struct ptes_queue *queue,
	       unsigned int i, unsigned int nr)
{
	unsigned long addr;
	pte_t pte;

	if (taken_are_refused(table, 0, PMD_SIZE))
		return nr;
	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(table);
	if (!taken_are_ptes(table, 0, PMD_SIZE))
		return nr;
	taken_enter_lazy_mmu();
	for (; i < nr; i++) {
		addr = READ_ONCE(queue->addr[i]);
		pte = READ_ONCE(queue->pte[i]);
		if (is_typed(pte) ||
		    !set_copied_ptes(mm, addr, table + pte_index(addr), pte, 1))
			break;
	}
	taken_leave_lazy_mmu();
	return i;
}

/**
 * __set_queued_ptes - set the entries that wait
 * @queue: they
 * @vmf: the fault; its @pte is any entry of their table, which is locked
 */
void __set_queued_ptes(struct ptes_queue *queue, struct vm_fault *vmf)
{
	pte_t *table = PTR_ALIGN_DOWN(vmf->pte, PTRS_PER_PTE * sizeof(pte_t));
	unsigned int i, nr = min(queue->nr, NR_QUEUED_PTES);
	struct mm_struct *mm = vmf->vma->vm_mm;

	for (i = 0; i < nr; i++) {
		i = set_in_section(mm, table, queue, i, nr);
		if (i < nr)
			set_pte_at(mm, queue->addr[i],
				   table + pte_index(queue->addr[i]), queue->pte[i]);
	}
	queue->nr = 0;
}

/**
 * __queue_pte - have an entry set later, with others of its table
 * @queue: its @nr is 0 at first
 * @vmf: the fault, which maps several pages
 * @addr: what the entry maps
 * @pte: what it is to be; it has been accounted for
 *
 * Nobody sees the difference: the table is locked until then, and a page that is
 * mapped by its counts and by no entry is tried again.
 */
void __queue_pte(struct ptes_queue *queue, struct vm_fault *vmf,
		 unsigned long addr, pte_t pte)
{
	unsigned int nr;

	if (queue->nr >= NR_QUEUED_PTES)
		__set_queued_ptes(queue, vmf);
	sync_pte(pte);
	nr = queue->nr++;
	queue->addr[nr] = addr;
	queue->pte[nr] = pte;
}
