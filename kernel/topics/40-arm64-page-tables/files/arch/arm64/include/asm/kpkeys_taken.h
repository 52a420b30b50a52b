/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking entries out of a table and putting them back or into another, where
 * the gate is surely open: none of these asks, and so none calls anything.
 *
 * A contiguous run is taken and written as a whole. Who needs a part of one
 * unfolds it with the gate shut, and what can be folded is folded behind the
 * section: both look at what maps the run, and flush.
 *
 * Only <linux/kpkeys_taken.h> and kpkeys_entries.c include this file.
 */
#ifndef _ASM_ARM64_KPKEYS_TAKEN_H
#define _ASM_ARM64_KPKEYS_TAKEN_H

#include <linux/align.h>
#include <linux/kpkeys_compat.h>
#include <linux/page_table_check.h>

/* ---- contiguous runs ---- */

/* Two tests of a bit each: of nearly all entries the first. */
static __always_inline bool is_run(pte_t pte)
{
	return IS_ENABLED(CONFIG_ARM64_CONTPTE) && unlikely(pte_cont(pte)) &&
	       pte_valid(pte);
}

static __always_inline bool begins_run(const pte_t *ptep)
{
	return IS_ALIGNED((unsigned long)ptep, CONT_PTES * sizeof(*ptep));
}

/**
 * nr_of_run - how many entries are taken or written together
 * @ptep: the first one
 * @pte: what it is
 * @max: how many may be
 *
 * Return: 1, or all of a run; 0 for a part of one.
 */
#define nr_of_run nr_of_run
static __always_inline unsigned int nr_of_run(const pte_t *ptep, pte_t pte,
					      unsigned long max)
{
	if (likely(!is_run(pte)))
		return 1;
	return begins_run(ptep) && max >= CONT_PTES ? CONT_PTES : 0;
}

/* Of a run, any entry may be dirty or young. */
static __always_inline pte_t add_flags_of(pte_t pte, pte_t other)
{
	if (pte_dirty(other))
		pte = pte_mkdirty(pte);
	return pte_young(other) ? pte_mkyoung(pte) : pte;
}

#ifdef CONFIG_ARM64_CONTPTE
/* With the gate shut: no run lies across the ends of what is taken. */
static __always_inline void unfold_edges(struct mm_struct *mm, pte_t *ptep,
					 unsigned long addr, unsigned long end)
{
	pte_t *last = ptep + (end - addr) / PAGE_SIZE - 1;

	if (!IS_ALIGNED(addr, CONT_PTE_SIZE))
		contpte_try_unfold(mm, addr, ptep, __ptep_get(ptep));
	if (!IS_ALIGNED(end, CONT_PTE_SIZE))
		contpte_try_unfold(mm, end - PAGE_SIZE, last, __ptep_get(last));
}

/* With the gate shut, of entries that were written one by one. */
static __always_inline void fold_ptes(struct mm_struct *mm, pte_t *ptep,
				      unsigned long addr, unsigned long end)
{
	unsigned long last = ALIGN(addr + PAGE_SIZE, CONT_PTE_SIZE) - PAGE_SIZE;
	pte_t *next = ptep + (last - addr) / PAGE_SIZE;

	for (; last < end; last += CONT_PTE_SIZE, next += CONT_PTES)
		contpte_try_fold(mm, last, next, __ptep_get(next));
}


/*
 * Where nothing is protected, for who has asked: nor do these, for each entry.
 * Runs are for those that do.
 */
#define set_plain_ptes set_plain_ptes
static __always_inline void set_plain_ptes(struct mm_struct *mm,
					   unsigned long addr, pte_t *ptep,
					   pte_t pte, unsigned int nr)
{
	if (unlikely(nr != 1))
		return set_ptes(mm, addr, ptep, pte, nr);
	pte = pte_mknoncont(pte);
	contpte_try_unfold(mm, addr, ptep, __ptep_get(ptep));
	kpkeys_check_ptes_set(mm, addr, ptep, pte, 1);
	__sync_cache_and_tags(pte, 1);
	__check_safe_pte_update(mm, ptep, pte);
	___set_pte(ptep, pte);
	contpte_try_fold(mm, addr, ptep, pte);
}

static __always_inline void wrprotect_plain_ptes(struct mm_struct *mm,
						 unsigned long addr, pte_t *ptep,
						 unsigned int nr)
{
	pte_t pte = __ptep_get(ptep);

	if (unlikely(nr != 1 || pte_cont(pte)))
		wrprotect_ptes(mm, addr, ptep, nr);
	else
		___ptep_set_wrprotect(mm, addr, ptep, pte);
}

static __always_inline void clear_plain_ptes(struct mm_struct *mm,
					     unsigned long addr, pte_t *ptep,
					     unsigned int nr, int full)
{
	if (unlikely(nr != 1))
		return clear_full_ptes(mm, addr, ptep, nr, full);
	contpte_try_unfold(mm, addr, ptep, __ptep_get(ptep));
	___ptep_get_and_clear(mm, addr, ptep);
}
#else
#define unfold_edges(mm, ptep, addr, end)	do { } while (0)
#define fold_ptes(mm, ptep, addr, end)		do { (void)(ptep); (void)(addr); } while (0)
#endif

/* ---- in a section ---- */

/* Where the CPU's memory is, is in a register, and so is this. */
#define taken_base(cpu_pte)	raw_cpu_ptr(cpu_pte)

/* While nobody uses the mm, what the CPU notes of an entry may be lost. */
static __always_inline pte_t take_pte(struct mm_struct *mm, unsigned long addr,
				      pte_t *ptep, bool full)
{
	pte_t pte;

	if (!full)
		return ___ptep_get_and_clear(mm, addr, ptep);
	pte = READ_ONCE(*ptep);
	WRITE_ONCE(*ptep, __pte(0));
	kpkeys_check_pte_clear(mm, addr, pte);
	return pte;
}

static __always_inline pte_t take_ptes(struct mm_struct *mm, unsigned long addr,
				       pte_t *ptep, unsigned int nr, bool full)
{
	pte_t pte = take_pte(mm, addr, ptep, full);

	while (unlikely(--nr))
		pte = add_flags_of(pte, take_pte(mm, addr, ++ptep, full));
	return pte;
}

#define read_copied_ptes read_copied_ptes
static __always_inline unsigned int read_copied_ptes(pte_t *ptep, pte_t *pte)
{
	pte_t *end, *next = PTR_ALIGN_DOWN(ptep, CONT_PTES * sizeof(*ptep));

	*pte = __ptep_get(ptep);
	if (likely(!is_run(*pte)))
		return 1;
	for (end = next + CONT_PTES; next < end; next++)
		*pte = add_flags_of(*pte, __ptep_get(next));
	return end - ptep;
}

/* Returns false for a part of a run: that must be unfolded. */
static __always_inline bool protect_copied_ptes(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						pte_t pte, unsigned int nr)
{
	if (likely(!is_run(pte))) {
		___ptep_set_wrprotect(mm, addr, ptep, pte);
		return true;
	}
	if (!begins_run(ptep) || nr != CONT_PTES)
		return false;
	for (; nr; nr--, ptep++)
		___ptep_set_wrprotect(mm, addr, ptep, __ptep_get(ptep));
	return true;
}

/* A run is contiguous if the CPU uses it, and what it maps and where it is allow it. */
static __always_inline void set_run_held(pte_t *ptep, pte_t pte, unsigned int nr)
{
	if (nr == CONT_PTES && pte_valid(pte) && begins_run(ptep) &&
	    IS_ALIGNED(pte_pfn(pte), CONT_PTES))
		pte = pte_mkcont(pte);
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, 1))
		WRITE_ONCE(*ptep, pte);
}

/* The section has asked where the entries are, and they were empty. */
#define set_copied_ptes set_copied_ptes
static __always_inline bool set_copied_ptes(struct mm_struct *mm,
					    unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned int nr)
{
	kpkeys_check_ptes_set(mm, addr, ptep, pte, nr);
	pte = pte_mknoncont(pte);
	if (likely(nr == 1))
		WRITE_ONCE(*ptep, pte);
	else
		set_run_held(ptep, pte, nr);
	return true;
}

/* What maps nothing needs no look at all. */
static __always_inline void write_swap_pte(struct mm_struct *mm,
					   unsigned long addr, pte_t *ptep,
					   pte_t pte)
{
	WRITE_ONCE(*ptep, pte);
}

/* An erratum has ptep_modify_prot_start() flush for some. */
#define changes_are_single()						\
	alternative_has_cap_unlikely(ARM64_WORKAROUND_2645198)
#define take_changed_pte(vma, addr, ptep, nr)				\
	take_ptes((vma)->vm_mm, addr, ptep, nr, false)
#define set_changed_pte(vma, addr, ptep, old, pte, nr)			\
	set_copied_ptes((vma)->vm_mm, addr, ptep, pte, nr)

/* Returns what it was. */
static __always_inline pte_t clear_bits_in_place(pte_t *ptep, cydp_t flags)
{
	pte_t pte = __ptep_get(ptep), old;

	/* What another CPU has cleared meanwhile does not come back. */
	do {
		old = pte;
		if (flags & CYDP_CLEAR_YOUNG)
			pte = pte_mkold(pte);
		if (flags & CYDP_CLEAR_DIRTY)
			pte = pte_mkclean(pte);
		pte_val(pte) = cmpxchg_relaxed(&pte_val(*ptep), pte_val(old),
					       pte_val(pte));
	} while (pte_val(pte) != pte_val(old));
	return pte;
}

/* All of a run, whichever is marked. Returns where the next entry is. */
static __always_inline unsigned int clear_bits_at(pte_t *table, unsigned int i,
						  cydp_t flags)
{
	unsigned int end = i + 1;

	if (unlikely(is_run(__ptep_get(table + i)))) {
		i = ALIGN_DOWN(i, CONT_PTES);
		end = i + CONT_PTES;
	}
	for (; i < end; i++)
		clear_bits_in_place(table + i, flags);
	return end;
}

#define clear_marked_ptes clear_marked_ptes
static __always_inline void clear_marked_ptes(struct vm_area_struct *vma,
					      unsigned long base, pte_t *table,
					      const unsigned long *marked,
					      cydp_t flags)
{
	unsigned long word;
	unsigned int i, end;

	for (i = 0; i < PTRS_PER_PTE; i += BITS_PER_LONG) {
		word = READ_ONCE(marked[i / BITS_PER_LONG]);
		while (word) {
			end = clear_bits_at(table, i + __ffs(word), flags) - i;
			word &= end < BITS_PER_LONG ? ~0UL << end : 0;
		}
	}
}

/* ---- what is asked ahead of a section ---- */

/*
 * To keep caches and tags is to write to what struct page leads to. Areas say
 * whether they have such pages.
 */
#define needs_sync(vma)		((vma)->vm_flags & (VM_EXEC | VM_MTE))
#define sync_pte(pte)		__sync_cache_and_tags(pte, 1)

#ifdef CONFIG_ARM64_PA_BITS_52
#define PTE_LEADS_TO	PHYS_TO_PTE_ADDR_MASK
#else
#define PTE_LEADS_TO	PTE_ADDR_LOW
#endif

/* Does an entry allow what @old does not, or lead elsewhere? */
static __always_inline bool pte_gains(pte_t old, pte_t pte)
{
	const pteval_t denied = PTE_RDONLY | PTE_UXN | PTE_PXN;
	pteval_t differs = pte_val(old) ^ pte_val(pte);
	pteval_t gained = differs & (pte_val(pte) ^ denied);

	return (differs & (PTE_LEADS_TO | PTE_PO_IDX_MASK | PTE_NG)) |
	       (gained & (PTE_VALID | PTE_USER | PTE_WRITE | denied));
}

#endif /* _ASM_ARM64_KPKEYS_TAKEN_H */
