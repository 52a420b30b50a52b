// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of unmapping, fork(), mremap() and faults that are or surround a section.
 * What runs in one does nothing but write entries; what it has to know of pages is
 * found ahead of it, and what it took is accounted for behind it.
 */
#include <linux/kpkeys_compat.h>
#include <linux/kpkeys_taken.h>
#include <linux/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "sections.h"

/* ---- unmapping ---- */

/* In the section, too: what is refused stays. */
static __always_inline void take_none(pte_t *base, unsigned long addr,
				      unsigned long end)
{
	unsigned int nr = min((end - addr) >> PAGE_SHIFT, NR_TAKEN_PTES);

	for (; nr; nr--, addr += PAGE_SIZE)
		write_taken(base, addr, __pte(0));
}

/* Part of a run stays: its ends were unfolded. Returns how many entries it is. */
static __always_inline unsigned int take_run(struct mm_struct *mm, pte_t *pte,
					     unsigned long addr, unsigned long end,
					     bool full, pte_t *base)
{
	unsigned int nr = nr_of_run(pte, READ_ONCE(*pte), (end - addr) / PAGE_SIZE);

	if (!nr) {
		write_taken(base, addr, __pte(0));
		return 1;
	}
	write_taken_run(base, addr, take_ptes(mm, addr, pte, nr, full), nr);
	return nr;
}

/**
 * zap_take_ptes - take entries out of a table
 * @mm: whose
 * @pte: the first one, under the lock of its table
 * @addr: what it maps
 * @end: where the last one's mapping ends, taken_end() of @addr at most
 * @keep: those that stay, by taken_index(), or NULL
 * @full: nobody uses the mm any more
 * @taken: filled in; what stays is none there
 *
 * Page tables can be written here, so nothing else happens: what was taken is
 * accounted for behind the section.
 */
__flatten void zap_take_ptes(struct mm_struct *mm, pte_t *pte, unsigned long addr,
			     unsigned long end, const unsigned long *keep,
			     bool full, struct taken_ptes *taken)
{
	bool refused = taken_are_refused(pte, addr, end);
	unsigned int nr;
	pte_t ptent, *base;

	unfold_edges(mm, pte, addr, end);
	guard(kpkeys_pgtables_section)(NR_TAKEN_PTES);
	kpkeys_reread(pte);
	kpkeys_reread(addr);
	kpkeys_reread(end);
	base = begin_taken(taken);
	if (refused || !taken_are_ptes(pte, addr, end))
		return take_none(base, addr, end);
	for (; addr != end; pte++, addr += PAGE_SIZE) {
		ptent = READ_ONCE(*pte);
		if (pte_none(ptent) || (keep && test_bit(taken_index(addr), keep))) {
			write_taken(base, addr, __pte(0));
		} else if (likely(!is_run(ptent))) {
			write_taken(base, addr, take_ptes(mm, addr, pte, 1, full));
		} else {
			nr = take_run(mm, pte, addr, end, full, base);
			pte += nr - 1;
			addr += (nr - 1) * PAGE_SIZE;
		}
	}
}

/* Up to one of which it must be asked what it maps: no table led there meanwhile. */
static noinline __flatten unsigned long
put_back_in_section(struct mm_struct *mm, pte_t *pte, unsigned long addr,
		    unsigned long end, struct taken_ptes *taken)
{
	pte_t ptent, *base;

	guard(kpkeys_pgtables_section)(NR_TAKEN_PTES);
	kpkeys_reread(pte);
	kpkeys_reread(addr);
	kpkeys_reread(end);
	base = begin_taken(taken);
	if (!taken_are_ptes(pte, addr, end))
		return end;
	for (; addr != end; pte++, addr += PAGE_SIZE) {
		ptent = read_taken(base, addr);
		if (is_typed(ptent) ||
		    (!pte_none(ptent) && !set_copied_ptes(mm, addr, pte, ptent, 1)))
			break;
	}
	return addr;
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
	unsigned long next, start = addr;
	pte_t *first = pte;

	for (; addr != end; addr = next + PAGE_SIZE, pte++) {
		next = put_back_in_section(mm, pte, addr, end, taken);
		if (next == end)
			break;
		pte += (next - addr) / PAGE_SIZE;
		set_pte_at(mm, next, pte, *taken_ptep(taken, next));
	}
	fold_ptes(mm, first, start, end);
}

/* ---- fork ---- */

/* What the child gets for the parent's entry. */
static __always_inline pte_t copied_pte(pte_t pte, unsigned long vm_flags)
{
	if (!pte_present(pte))
		return vm_flags & VM_UFFD_WP ? pte : pte_swp_clear_uffd(pte);

	/* If it's a COW mapping, write protect it both processes. */
	if (is_cow_mapping(vm_flags) && pte_write(pte))
		pte = pte_wrprotect(pte);

	/* If it's a shared mapping, mark it clean in the child. */
	if (vm_flags & VM_SHARED)
		pte = pte_mkclean(pte);
	pte = pte_mkold(pte);

	return vm_flags & VM_UFFD_WP ? pte : pte_clear_uffd(pte);
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
	unsigned int i = pte_index(addr), next = i;

	nr = min_t(unsigned long, nr, (end - addr) / PAGE_SIZE);
	if (skip && test_bit(i, skip))
		return 1;
	for (; skip && next < i + nr && !test_bit(next, skip); next++)
		;
	return skip ? next - i : nr;
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
	bool is_cow;
	unsigned int nr;
	pte_t pte;

	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(src);
	kpkeys_reread(dst);
	kpkeys_reread(addr);
	kpkeys_reread(end);
	if (!taken_are_ptes(src, addr, end) || !copies_are_known(src) ||
	    !taken_are_ptes(dst, addr, end))
		return end;
	for (; addr != end; addr += nr * PAGE_SIZE, src += nr, dst += nr) {
		/* What is computed of them would be kept on the stack. */
		kpkeys_reread(vm_flags);
		kpkeys_reread(skip);
		is_cow = is_cow_mapping(vm_flags);
		nr = read_copied_ptes(src, &pte);
		if (unlikely(nr > 1))
			nr = nr_to_copy(addr, end, nr, skip);
		if (pte_none(pte) || is_skipped(addr, skip))
			continue;
		if (is_searched_for(pte, nr))
			break;
		if (likely(pte_present(pte))) {
			if (is_cow && pte_write(pte) &&
			    !protect_copied_ptes(src_mm, addr, src, pte, nr))
				break;
		} else if (pte_swp_exclusive(pte)) {
			/* Mark the swap entry as shared. */
			pte = pte_swp_clear_exclusive(pte);
			write_swap_pte(src_mm, addr, src, pte);
		}
		if (!set_copied_ptes(dst_mm, addr, dst, copied_pte(pte, vm_flags), nr))
			break;
	}
	return addr;
}

static void sync_ptes(pte_t *pte, unsigned long addr, unsigned long end)
{
	for (; addr != end; pte++, addr += PAGE_SIZE)
		if (pte_present(ptep_get(pte)))
			sync_pte(ptep_get(pte));
}

/* With the gate shut. */
static void copy_one(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma,
		     pte_t *dst, pte_t *src, unsigned long addr)
{
	unsigned long vm_flags = dst_vma->vm_flags;
	pte_t pte = ptep_get(src);

	if (!pte_present(pte) && pte_swp_exclusive(pte)) {
		pte = pte_swp_clear_exclusive(pte);
		set_pte_at(src_vma->vm_mm, addr, src, pte);
	} else if (pte_present(pte) && is_cow_mapping(vm_flags) && pte_write(pte)) {
		wrprotect_ptes(src_vma->vm_mm, addr, src, 1);
	}
	set_pte_at(dst_vma->vm_mm, addr, dst, copied_pte(pte, vm_flags));
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
	unsigned long next, start = addr;
	pte_t *first = dst;

	if (needs_sync(dst_vma))
		sync_ptes(src, addr, end);
	if (bitmap_empty(skip, PTRS_PER_PTE))
		skip = NULL;
	for (; addr != end; addr = next + PAGE_SIZE, src++, dst++) {
		if (taken_are_refused(src, addr, end) ||
		    taken_are_refused(dst, addr, end))
			break;
		next = copy_in_section(dst_vma, src_vma, dst, src, addr, end, skip);
		if (next == end)
			break;
		src += (next - addr) / PAGE_SIZE;
		dst += (next - addr) / PAGE_SIZE;
		copy_one(dst_vma, src_vma, dst, src, next);
	}
	fold_ptes(dst_vma->vm_mm, first, start, end);
}

/* ---- mremap() ---- */

static __always_inline pte_t moved_pte(pte_t pte, bool clear_uffd_wp)
{
	pte = pte_mksoft_dirty(pte);
	return clear_uffd_wp ? pte_clear_uffd(pte) : pte;
}

/**
 * __move_ptes - move entries to another table, up to one that its caller moves
 * @mm: whose
 * @old: the first one, under the lock of its table
 * @old_addr: what it maps
 * @new: where it goes, likewise
 * @new_addr: what it will map
 * @size: what all of them map, by one table each
 * @clear_uffd_wp: whether they lose write protection by userfaultfd
 *
 * Return: how many were moved, or are empty.
 */
noinline __flatten unsigned int
__move_ptes(struct mm_struct *mm, pte_t *old, unsigned long old_addr, pte_t *new,
	    unsigned long new_addr, unsigned long size, bool clear_uffd_wp)
{
	unsigned long end, start = old_addr;
	unsigned int nr;
	pte_t pte;

	if (taken_are_refused(old, 0, size) || taken_are_refused(new, 0, size))
		return size / PAGE_SIZE;
	guard(kpkeys_pgtables_section)(PTRS_PER_PTE);
	kpkeys_reread(old);
	kpkeys_reread(new);
	kpkeys_reread(size);
	if (!taken_are_ptes(old, 0, size) || !copies_are_known(old) ||
	    !taken_are_ptes(new, 0, size))
		return size / PAGE_SIZE;
	for (end = old_addr + size; old_addr != end; old += nr, new += nr,
	     old_addr += nr * PAGE_SIZE, new_addr += nr * PAGE_SIZE) {
		pte = READ_ONCE(*old);
		nr = nr_of_run(old, pte, (end - old_addr) / PAGE_SIZE);
		if (pte_none(pte))
			continue;
		if (!pte_present(pte) || unlikely(!nr) || is_searched_for(pte, nr))
			break;
		pte = take_ptes(mm, old_addr, old, nr, false);
		set_copied_ptes(mm, new_addr, new, moved_pte(pte, clear_uffd_wp), nr);
	}
	return (old_addr - start) / PAGE_SIZE;
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
	for (; i < nr; i++) {
		addr = READ_ONCE(queue->addr[i]);
		pte = READ_ONCE(queue->pte[i]);
		if (is_typed(pte) ||
		    !set_copied_ptes(mm, addr, table + pte_index(addr), pte, 1))
			break;
	}
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
	for (i = 0; i < nr; i++)
		fold_ptes(mm, table + pte_index(queue->addr[i]), queue->addr[i],
			  queue->addr[i] + PAGE_SIZE);
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
