// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a table is missing those below it are, too. They are made with the gate
 * shut, and linked in one section, the lowest first: CPUs see all of them or none.
 *
 * For tables of processes. What does not fit is left to the helpers that link one
 * table each, which report it.
 */
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_taken.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/spinlock.h>

#include <asm/kpkeys_mm.h>
#include <asm/pgalloc.h>

#include "tables.h"

/**
 * struct chain - tables that lead to an address
 * @top: level of the highest one that is missing
 * @pfn: page frames of new ones, by level
 */
struct chain {
	unsigned int	top;
	unsigned long	pfn[KPKEYS_LEVEL_PGD];
};

/* Returns the entry that is to lead to the highest one, NULL if there is a PMD. */
static void *find_missing(struct mm_struct *mm, unsigned long addr, unsigned int *top)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d = p4d_offset(pgd, addr);
	pud_t *pud;

	*top = KPKEYS_LEVEL_P4D;
	if (!mm_p4d_folded(mm) && pgd_none(READ_ONCE(*pgd)))
		return pgd;
	*top = KPKEYS_LEVEL_PUD;
	if (!mm_pud_folded(mm) && p4d_none(READ_ONCE(*p4d)))
		return p4d;
	pud = pud_offset(p4d, addr);
	*top = KPKEYS_LEVEL_PMD;
	return !mm_pmd_folded(mm) && pud_none(READ_ONCE(*pud)) ? pud : NULL;
}

/**
 * kpkeys_find_pmd - the entry that leads to a table of the last level
 * @mm: whose
 * @addr: in user space
 *
 * Return: NULL if there is no table for it.
 */
pmd_t *kpkeys_find_pmd(struct mm_struct *mm, unsigned long addr)
{
	unsigned int top;
	pud_t *pud;

	if (find_missing(mm, addr, &top))
		return NULL;
	pud = pud_offset(p4d_offset(pgd_offset(mm, addr), addr), addr);
	return pud_present(*pud) && !pud_leaf(*pud) ? pmd_offset(pud, addr) : NULL;
}

static void *alloc_table(struct mm_struct *mm, unsigned long addr, unsigned int level)
{
	pgtable_t table;

	switch (level) {
	case KPKEYS_LEVEL_PTE:
		table = pte_alloc_one(mm);
		return table ? page_address(table) : NULL;
	case KPKEYS_LEVEL_PMD:
		return pmd_alloc_one(mm, addr);
	case KPKEYS_LEVEL_PUD:
		return pud_alloc_one(mm, addr);
	default:
		return p4d_alloc_one(mm, addr);
	}
}

static void free_table(struct mm_struct *mm, void *table, unsigned int level)
{
	switch (level) {
	case KPKEYS_LEVEL_PTE:
		pte_free(mm, virt_to_page(table));
		break;
	case KPKEYS_LEVEL_PMD:
		pmd_free(mm, table);
		break;
	case KPKEYS_LEVEL_PUD:
		pud_free(mm, table);
		break;
	default:
		p4d_free(mm, table);
	}
}

static void free_chain(struct mm_struct *mm, const struct chain *chain,
		       unsigned int levels)
{
	unsigned int level;

	for (level = KPKEYS_LEVEL_PTE; level < levels; level++)
		free_table(mm, pfn_to_kaddr(chain->pfn[level]), level);
}

static bool alloc_chain(struct mm_struct *mm, unsigned long addr, struct chain *chain)
{
	unsigned int level;
	void *table;

	for (level = KPKEYS_LEVEL_PTE; level <= chain->top; level++) {
		table = alloc_table(mm, addr, level);
		if (!table) {
			free_chain(mm, chain, level);
			return false;
		}
		chain->pfn[level] = PHYS_PFN(__pa(table));
	}
	return true;
}

static void count_chain(struct mm_struct *mm, const struct chain *chain)
{
	mm_inc_nr_ptes(mm);
	mm_inc_nr_pmds(mm);
	if (chain->top >= KPKEYS_LEVEL_PUD)
		mm_inc_nr_puds(mm);
}

static __always_inline u64 *entry_in(unsigned long pfn, unsigned long addr,
				     unsigned int level)
{
	unsigned int shift = PAGE_SHIFT + (level - 1) * (PAGE_SHIFT - 3);

	return (u64 *)pfn_to_kaddr(pfn) + (addr >> shift) % PTRS_PER_PTE;
}

/* Is that an empty entry of a process, one level above? */
static __always_inline bool may_lead_to(const u64 *entry, unsigned int level)
{
	u8 table = KPKEYS_TABLE(level_above(level), KPKEYS_LINK_ONE);

	return kpkeys_is_linear(entry) && kpkeys_is_whole_entry(entry) && !READ_ONCE(*entry) &&
	       kpkeys_frame_byte(kpkeys_linear_pfn(entry)) == table &&
	       !is_in_copy(entry, table);
}

/*
 * Each was not linked before, and is empty. Where one was linked meanwhile, those
 * below it are lost: nobody frees what is linked.
 */
static noinline __flatten bool link_in_section(u64 *entry, unsigned long addr,
					       const struct chain *chain)
{
	unsigned int level, top;
	u64 value = 0, none = 0;
	unsigned long pfn;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	kpkeys_reread(addr);
	top = READ_ONCE(chain->top);
	if (top < KPKEYS_LEVEL_PTE || top > level_below_root() || !may_lead_to(entry, top))
		return false;
	for (level = KPKEYS_LEVEL_PTE; level <= top; level++) {
		pfn = READ_ONCE(chain->pfn[level]);
		if (!kpkeys_change_frame_now(pfn, TAKEN,
					     KPKEYS_TABLE(level, KPKEYS_LINK_ONE)))
			return false;
		if (value)
			WRITE_ONCE(*entry_in(pfn, addr, level), value);
		value = kpkeys_table_of_process(pfn);
	}
	if (!try_cmpxchg(entry, &none, value))
		return false;
	kpkeys_entry_written(value);
	return true;
}

/**
 * __kpkeys_make_tables - make the tables of an address, if several are missing
 * @mm: whose
 * @addr: in user space
 */
void __kpkeys_make_tables(struct mm_struct *mm, unsigned long addr)
{
	struct chain chain;
	u64 *entry = find_missing(mm, addr, &chain.top);
	bool linked;

	if (likely(!entry) || !no_table || kpkeys_is_no_root(entry))
		return;
	if (kpkeys_top_has_twin() && level_above(chain.top) == KPKEYS_LEVEL_PGD)
		return;
	if (!alloc_chain(mm, addr, &chain))
		return;
	scoped_guard(spinlock, &mm->page_table_lock) {
		linked = link_in_section(entry, addr, &chain);
		if (linked)
			count_chain(mm, &chain);
	}
	if (!linked)
		free_chain(mm, &chain, chain.top + 1);
}

/**
 * __kpkeys_make_copies - make tables for a copy, if the other one has them
 * @mm: whose
 * @from: the other one
 * @addr: in user space
 */
void __kpkeys_make_copies(struct mm_struct *mm, struct mm_struct *from,
			  unsigned long addr)
{
	pmd_t *pmd = kpkeys_find_pmd(from, addr);

	if (pmd && pmd_present(*pmd) && !pmd_leaf(*pmd))
		__kpkeys_make_tables(mm, addr);
}
