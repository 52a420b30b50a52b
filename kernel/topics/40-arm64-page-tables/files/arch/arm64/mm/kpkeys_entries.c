// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers that write entries, for where no section is open, and where what an
 * entry maps is to be looked at.
 *
 * Single entries are what page faults write: nothing else is in their way.
 */
#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_compat.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/kpkeys_mm.h>
#include <asm/kpkeys_taken.h>

#include "kpkeys/slots.h"

static unsigned long mapped_pfn(pte_t pte)
{
	return pte_valid(pte) ? kpkeys_present_pfn(pte) : ULONG_MAX;
}

/* What a CPU may have in its TLB with others: asked one by one, or all of them. */
static __always_inline bool is_of_run(pte_t pte)
{
	return kpkeys_nr_contiguous(pte_val(pte), KPKEYS_LEVEL_PTE) > 1;
}

static __always_inline bool is_whole_run(const pte_t *ptep, pte_t pte, unsigned int nr)
{
	return IS_ALIGNED((unsigned long)ptep / sizeof(*ptep) | kpkeys_present_pfn(pte) | nr,
			  CONT_PTES);
}

/**
 * kpkeys_refuse_run - may entries that map memory not be written?
 * @ptep: the first one, of any level
 * @pte: what it is to be
 * @nr: pages that all of them map
 */
bool kpkeys_refuse_run(pte_t *ptep, pte_t pte, unsigned long nr)
{
	return kpkeys_refuse_leaf(ptep, pte_val(pte), mapped_pfn(pte),
				  pte_valid(pte) ? nr : 1);
}

/**
 * kpkeys_refuse_block - may an entry above the last level not be written?
 * @entry: where
 * @value: what; if it leads to a table, whoever writes it looks at that
 * @size: what an entry of this level spans
 */
bool kpkeys_refuse_block(const void *entry, u64 value, unsigned long size)
{
	unsigned long pfn = kpkeys_present_pfn(__pte(value)), nr = PHYS_PFN(size);

	if (!(value & PTE_VALID) || (value & KPKEYS_NO_BLOCK))
		return false;
	return kpkeys_refuse_leaf(entry, value, ALIGN_DOWN(pfn, nr), nr);
}
EXPORT_SYMBOL_GPL(kpkeys_refuse_block);

/**
 * kpkeys_refuse_flags - may an entry not get flags in place?
 * @ptep: where
 * @pte: what is there, of a page or of PMD_SIZE
 * @flags: to be added, with PTE_RDONLY the other way round
 */
bool kpkeys_refuse_flags(pte_t *ptep, pte_t pte, pteval_t flags)
{
	bool is_page = pte_val(pte) & KPKEYS_NO_BLOCK;

	pte_val(pte) = ((pte_val(pte) ^ PTE_RDONLY) | flags) ^ PTE_RDONLY;
	if (kpkeys_refuse_change(ptep, 1))
		return true;
	/* It maps what it mapped. */
	if (is_page && likely(!kpkeys_is_typed(pte) && !is_of_run(pte)))
		return false;
	return kpkeys_refuse_run(ptep, pte, is_page ? 1 : PHYS_PFN(PMD_SIZE));
}

static __always_inline bool is_pte_run(const pte_t *ptep, unsigned int nr)
{
	return kpkeys_is_pte_slot(ptep) &&
	       offset_in_page(ptep) + nr * sizeof(*ptep) <= PAGE_SIZE;
}

static __always_inline bool is_ordinary(pte_t *ptep, pte_t pte)
{
	if (kpkeys_is_typed(pte) || is_of_run(pte))
		return false;
	if (likely(kpkeys_is_pte_slot(ptep)))
		return kpkeys_is_private(pte_val(pte));
	return kpkeys_is_open_kernel_slot(ptep) &&
	       !arch_kpkeys_leaf_is_users(pte_val(pte)) &&
	       !kpkeys_runs_anew(ptep, kpkeys_table_of(ptep), pte_val(pte));
}

/* Looked at and written with preemption off, before its frame changes its type. */
static __always_inline bool set_ordinary(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	kpkeys_reread(pte_val(pte));
	if (!is_ordinary(ptep, pte))
		return false;
	___set_pte(ptep, pte);
	return true;
}

/* Out of line, so that the way above saves no register for it. */
static noinline void set_other(pte_t *ptep, pte_t pte)
{
	u64 old;

	if (!kpkeys_is_pte_slot(ptep) && kpkeys_set_elsewhere(ptep, pte_val(pte)))
		return;
	if (!kpkeys_refuse_run(ptep, pte, 1))
		kpkeys_exchange_leaf(ptep, pte_val(pte), &old);
}

/**
 * kpkeys_set_pte - __set_pte() where page tables are protected
 * @ptep: where
 * @pte: what
 */
void __flatten kpkeys_set_pte(pte_t *ptep, pte_t pte)
{
	if (unlikely(!set_ordinary(ptep, pte)))
		set_other(ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pte);

#ifdef ptep_try_set
static __always_inline int try_set_ordinary(pte_t *ptep, pte_t pte)
{
	pteval_t none = 0;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	kpkeys_reread(pte_val(pte));
	if (!is_ordinary(ptep, pte))
		return -1;
	kpkeys_defer_publish();
	return try_cmpxchg(&pte_val(*ptep), &none, pte_val(pte));
}

/**
 * kpkeys_try_set_pte - ptep_try_set() where page tables are protected
 * @ptep: where
 * @pte: what
 *
 * Return: false if another entry is there. Who tries again would try for ever what
 * must not be written, so that is true.
 */
bool __flatten kpkeys_try_set_pte(pte_t *ptep, pte_t pte)
{
	int done = try_set_ordinary(ptep, pte);

	if (done >= 0)
		return done;
	if (!pte_none(__ptep_get(ptep)))
		return false;
	set_other(ptep, pte);
	return true;
}
EXPORT_SYMBOL_GPL(kpkeys_try_set_pte);
#endif

/* Who waits for a huge page to be split would wait for ever. */
static void set_or_clear(void *entry, u64 value, unsigned int level)
{
	if (!kpkeys_set_entry(entry, value, level))
		kpkeys_set_entry(entry, 0, level);
}

/**
 * kpkeys_set_block - __set_pte_at() where page tables are protected
 * @ptep: an entry of a higher level
 * @pte: what
 * @nr: how many pages an entry of this level maps
 */
void kpkeys_set_block(pte_t *ptep, pte_t pte, unsigned int nr)
{
	guard(preempt)();
	/* It knows what an entry spans there, whoever says something else. */
	if (kpkeys_set_elsewhere(ptep, pte_val(pte)) ||
	    kpkeys_refuse_block(ptep, pte_val(pte), nr * PAGE_SIZE))
		return;
	kpkeys_set_entry(ptep, pte_val(pte), 0);
}
EXPORT_SYMBOL_GPL(kpkeys_set_block);

/**
 * kpkeys_set_pmd - set_pmd() where page tables are protected
 * @pmdp: where
 * @pmd: what
 */
void kpkeys_set_pmd(pmd_t *pmdp, pmd_t pmd)
{
	guard(preempt)();
	if (!kpkeys_refuse_block(pmdp, pmd_val(pmd), PMD_SIZE))
		set_or_clear(pmdp, pmd_val(pmd), KPKEYS_LEVEL_PTE);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pmd);

/**
 * kpkeys_set_pud - set_pud() where page tables are protected
 * @pudp: where
 * @pud: what
 */
void kpkeys_set_pud(pud_t *pudp, pud_t pud)
{
	guard(preempt)();
	if (!kpkeys_refuse_block(pudp, pud_val(pud), PUD_SIZE))
		set_or_clear(pudp, pud_val(pud), KPKEYS_LEVEL_PMD);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pud);

/**
 * kpkeys_set_p4d - set_p4d() where page tables are protected
 * @p4dp: where
 * @p4d: what
 */
void kpkeys_set_p4d(p4d_t *p4dp, p4d_t p4d)
{
	kpkeys_set_entry(p4dp, p4d_val(p4d), KPKEYS_LEVEL_PUD);
}
EXPORT_SYMBOL_GPL(kpkeys_set_p4d);

/**
 * kpkeys_set_pgd - set_pgd() where page tables are protected
 * @pgdp: where
 * @pgd: what
 */
void kpkeys_set_pgd(pgd_t *pgdp, pgd_t pgd)
{
	kpkeys_set_entry(pgdp, pgd_val(pgd), KPKEYS_LEVEL_P4D);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pgd);

/**
 * kpkeys_set_swapper - write an entry of swapper_pg_dir
 * @pgdp: where, in any of its mappings
 * @pgd: what; with folded levels it may be a block
 */
void kpkeys_set_swapper(pgd_t *pgdp, pgd_t pgd)
{
	if (!kpkeys_refuse_block(pgdp, pgd_val(pgd), PGDIR_SIZE))
		kpkeys_set_entry(pgdp, pgd_val(pgd), kpkeys_level_below_root());
}

/**
 * kpkeys_exchange_pmd - xchg() of an entry where page tables are protected
 * @pmdp: where
 * @pmd: what
 *
 * Return: what was there, and still is if @pmd must not be written.
 */
pmd_t kpkeys_exchange_pmd(pmd_t *pmdp, pmd_t pmd)
{
	guard(preempt)();
	if (kpkeys_refuse_block(pmdp, pmd_val(pmd), PMD_SIZE))
		return READ_ONCE(*pmdp);
	return __pmd(kpkeys_exchange_entry(pmdp, pmd_val(pmd), KPKEYS_LEVEL_PTE));
}
EXPORT_SYMBOL_GPL(kpkeys_exchange_pmd);

/* Behind the last number that fits into an entry the first one follows. */
static __always_inline bool wraps(pte_t pte, unsigned int nr)
{
	return kpkeys_present_pfn(pte_advance_pfn(pte, nr - 1)) < kpkeys_present_pfn(pte);
}

static void set_one_by_one(pte_t *ptep, pte_t pte, unsigned int nr)
{
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, 1))
		kpkeys_set_pte(ptep, pte);
}

/* Asked in the section, whose registers nobody changes. */
static noinline __flatten bool set_run(struct mm_struct *mm, pte_t *ptep, pte_t pte,
				       unsigned int nr)
{
	guard(kpkeys_pgtables_section)(nr);
	kpkeys_reread(ptep);
	kpkeys_reread(pte_val(pte));
	kpkeys_reread(nr);
	if (!is_pte_run(ptep, nr) || !kpkeys_is_private(pte_val(pte)) || wraps(pte, nr) ||
	    (is_of_run(pte) && !is_whole_run(ptep, pte, nr)) ||
	    !kpkeys_are_ordinary(kpkeys_present_pfn(pte), nr))
		return false;
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, 1)) {
		__check_safe_pte_update(mm, ptep, pte);
		___set_pte(ptep, pte);
	}
	return true;
}

/**
 * kpkeys_set_ptes - __set_ptes() behind its checks, where tables are protected
 * @mm: whose
 * @ptep: where
 * @pte: the first entry
 * @nr: how many
 */
void kpkeys_set_ptes(struct mm_struct *mm, pte_t *ptep, pte_t pte,
		     unsigned int nr)
{
	if (nr < 2 || !set_run(mm, ptep, pte, nr))
		set_one_by_one(ptep, pte, nr);
}
EXPORT_SYMBOL_GPL(kpkeys_set_ptes);

#ifdef KPKEYS_ENTRIES_OF_ANY_SIZE
/**
 * kpkeys_set_entries - entries of any level, behind their checks, where tables are protected
 * @mm: whose
 * @ptep: where
 * @pte: the first entry
 * @nr: how many
 * @stride: pages that each of them maps
 */
void kpkeys_set_entries(struct mm_struct *mm, pte_t *ptep, pte_t pte,
			unsigned int nr, unsigned long stride)
{
	if (stride == 1)
		return kpkeys_set_ptes(mm, ptep, pte, nr);
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, stride))
		kpkeys_set_block(ptep, pte, stride);
}
EXPORT_SYMBOL_GPL(kpkeys_set_entries);
#endif

/* What was there is told when the gate is shut: where to, the stack says. */
static noinline __flatten bool clear_slot(pte_t *ptep, pte_t *old)
{
	pteval_t seen;

	scoped_guard(kpkeys_hardened_pgtables) {
		kpkeys_reread(ptep);
		if (!kpkeys_is_open_slot(ptep))
			return false;
		seen = xchg_relaxed(&pte_val(*ptep), 0);
	}
	*old = __pte(seen);
	return true;
}

static pte_t clear_one(struct mm_struct *mm, unsigned long addr, pte_t *ptep)
{
	pte_t old;

	if (unlikely(!clear_slot(ptep, &old))) {
		if (kpkeys_clear_elsewhere(ptep, &pte_val(old)))
			return old;
		if (kpkeys_refuse_run(ptep, __pte(0), 1) ||
		    !kpkeys_exchange_leaf(ptep, 0, &pte_val(old)))
			return __pte(0);
	}
	kpkeys_check_pte_clear(mm, addr, old);
	return old;
}

/* Of a run, the first one is dirty or young if one of them was. Swap entries differ. */
static __always_inline pte_t add_flags(pte_t first, pte_t pte)
{
	return pte_present(first) ? add_flags_of(first, pte) : first;
}

static noinline __flatten bool clear_run(struct mm_struct *mm, unsigned long addr,
					 pte_t *ptep, unsigned int nr, pte_t *old)
{
	pte_t first;

	scoped_guard(kpkeys_pgtables_section, nr) {
		kpkeys_reread(ptep);
		kpkeys_reread(nr);
		if (!is_pte_run(ptep, nr))
			return false;
		first = ___ptep_get_and_clear(mm, addr, ptep);
		while (--nr)
			first = add_flags(first, ___ptep_get_and_clear(mm, addr += PAGE_SIZE,
								       ++ptep));
	}
	*old = first;
	return true;
}

/**
 * kpkeys_clear_ptes - __get_and_clear_full_ptes() outside a section
 * @mm: whose
 * @addr: what the first one maps
 * @ptep: where
 * @nr: how many
 *
 * Return: the first one, dirty or young if one of them was.
 */
pte_t kpkeys_clear_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			unsigned int nr)
{
	pte_t first;

	if (nr > 1 && likely(clear_run(mm, addr, ptep, nr, &first)))
		return first;
	first = clear_one(mm, addr, ptep);
	while (--nr)
		first = add_flags(first, clear_one(mm, addr += PAGE_SIZE, ++ptep));
	return first;
}
EXPORT_SYMBOL_GPL(kpkeys_clear_ptes);

#ifdef KPKEYS_ENTRIES_OF_ANY_SIZE
/**
 * kpkeys_clear_block - clear an entry above the last level
 * @mm: whose
 * @addr: what it maps
 * @ptep: where
 * @size: what an entry of this level spans
 *
 * Return: what was there.
 */
pte_t kpkeys_clear_block(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			 unsigned long size)
{
	if (size == PMD_SIZE)
		return pmd_pte(kpkeys_exchange_pmd((pmd_t *)ptep, __pmd(0)));
	return kpkeys_clear_ptes(mm, addr, ptep, 1);
}
EXPORT_SYMBOL_GPL(kpkeys_clear_block);
#endif

static noinline __flatten void wrprotect_one(struct mm_struct *mm, unsigned long addr,
					     pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	if (kpkeys_is_pte_slot(ptep) || kpkeys_are_entries(ptep, 1))
		___ptep_set_wrprotect(mm, addr, ptep, __ptep_get(ptep));
}

static noinline __flatten void wrprotect_run(struct mm_struct *mm, unsigned long addr,
					     pte_t *ptep, unsigned int nr)
{
	guard(kpkeys_pgtables_section)(nr);
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	if (!is_pte_run(ptep, nr) && !kpkeys_are_entries(ptep, nr))
		return;
	for (; nr; nr--, ptep++, addr += PAGE_SIZE)
		___ptep_set_wrprotect(mm, addr, ptep, __ptep_get(ptep));
}

/**
 * kpkeys_wrprotect_ptes - __wrprotect_ptes() outside a section
 * @mm: whose
 * @addr: what the first one maps
 * @ptep: where
 * @nr: how many
 */
void kpkeys_wrprotect_ptes(struct mm_struct *mm, unsigned long addr,
			   pte_t *ptep, unsigned int nr)
{
	if (!is_pte_run(ptep, nr) && kpkeys_refuse_change(ptep, nr))
		return;
	if (nr == 1)
		wrprotect_one(mm, addr, ptep);
	else
		wrprotect_run(mm, addr, ptep, nr);
}
EXPORT_SYMBOL_GPL(kpkeys_wrprotect_ptes);

static noinline __flatten int clear_bits(pte_t *ptep, unsigned int nr, cydp_t flags)
{
	int young = 0;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	if (!kpkeys_are_entries(ptep, nr))
		return 0;
	for (; nr; nr--, ptep++)
		young |= pte_young(clear_bits_in_place(ptep, flags));
	return young;
}

/**
 * kpkeys_clear_bits - have entries no longer be accessed or dirty
 * @ptep: the first one, of any level
 * @nr: how many, of one table
 * @flags: CYDP_*: which bits
 *
 * Return: whether one of them was accessed.
 */
int kpkeys_clear_bits(pte_t *ptep, unsigned int nr, cydp_t flags)
{
	return kpkeys_refuse_change(ptep, nr) ? 0 : clear_bits(ptep, nr, flags);
}
EXPORT_SYMBOL_GPL(kpkeys_clear_bits);

/* Of what an entry above the last level maps all is ordinary that may get flags. */
static __always_inline bool may_have(u64 value, int level)
{
	unsigned long pfn = kpkeys_present_pfn(__pte(value)), nr = kpkeys_pages_at(level);

	if (kpkeys_state.mode == KPKEYS_AUDIT || !(value & PTE_VALID))
		return true;
	if (!kpkeys_may_be_run(value, level))
		return false;
	if (!(value & KPKEYS_NO_BLOCK))
		return kpkeys_are_ordinary(ALIGN_DOWN(pfn, nr), nr);
	return kpkeys_may_map(value, kpkeys_frame(pfn));
}

/* Returns false if what the entry maps is not to be mapped with them. */
static __always_inline bool add_flags_in_place(pte_t *ptep, pteval_t flags, int level)
{
	pteval_t val, old = pte_val(__ptep_get(ptep));

	do {
		val = ((old ^ PTE_RDONLY) | flags) ^ PTE_RDONLY;
		if (!may_have(val, level))
			return false;
	} while (!try_cmpxchg_relaxed(&pte_val(*ptep), &old, val));
	return true;
}

/**
 * __kpkeys_add_flags - kpkeys_add_flags(), without a report
 * @ptep: the first one
 * @nr: how many
 * @flags: those that are no such flags are left out
 *
 * Asks in its section: an interrupt ahead of it had all that on its stack.
 */
noinline __flatten bool __kpkeys_add_flags(pte_t *ptep, unsigned int nr, pteval_t flags)
{
	int level;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	kpkeys_reread(flags);
	flags &= PTE_RDONLY | PTE_AF | PTE_WRITE | PTE_DIRTY;
	if (!kpkeys_are_entries(ptep, nr))
		return false;
	level = kpkeys_level_to_search(kpkeys_table_of(ptep));
	for (; nr; nr--, ptep++)
		if (!add_flags_in_place(ptep, flags, level))
			return false;
	return true;
}

/**
 * kpkeys_add_flags - add flags to entries, as __ptep_set_access_flags() does
 * @ptep: the first one, of a page or of PMD_SIZE
 * @nr: how many, of one table
 * @flags: kpkeys_flags_to_add()
 *
 * Return: false if one of them may not get them.
 */
bool kpkeys_add_flags(pte_t *ptep, unsigned int nr, pteval_t flags)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (kpkeys_refuse_flags(ptep + i, __ptep_get(ptep + i), flags))
			return false;
	return __kpkeys_add_flags(ptep, nr, flags);
}
