// SPDX-License-Identifier: GPL-2.0-only
/*
 * Live splitting: entries.
 *
 * What is split says the same as before, in smaller pieces. The lock keeps
 * apart those who split; it does not cover changes of what is already split,
 * which are their owner's.
 */
#include <linux/kpkeys_ptp.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/spinlock.h>

#include <asm/kpkeys_mm.h>
#include <asm/memory.h>
#include <asm/pgalloc.h>
#include <asm/sections.h>
#include <asm/tlbflush.h>

#include "live_split.h"

struct live_split_events live_split_events;

static DEFINE_SPINLOCK(split_lock);

/*
 * A mapping that got smaller may still be in a TLB as it was. That would do
 * no harm until its pieces begin to differ; drop it now, so that nobody who
 * changes one has to think of it.
 */
static void flush_one(unsigned long addr)
{
	flush_tlb_kernel_range(addr, addr + PAGE_SIZE);
}

static void unfold(pte_t *ptep, unsigned long addr, unsigned long size)
{
	unsigned int i, nr = size == PAGE_SIZE ? CONT_PTES : CONT_PMDS;

	ptep = PTR_ALIGN_DOWN(ptep, nr * sizeof(*ptep));
	if (!kpkeys_pgtables_enabled())
		for (i = 0; i < nr; i++)
			WRITE_ONCE(ptep[i], pte_mknoncont(__ptep_get(ptep + i)));
	else if (!kpkeys_unfold(ptep, nr))
		return;
	flush_one(addr);
	atomic_long_inc(size == PAGE_SIZE ? &live_split_events.cont_ptes :
					    &live_split_events.cont_pmds);
}

/*
 * vmalloc takes its pages apart one by one, and the alias of kernel text and
 * rodata is made read-only by code that knows blocks, but not ranges.
 */
static bool may_be_contiguous(unsigned long addr)
{
	return __is_lm_address(addr) &&
	       (__pa(addr) < __pa_symbol(_text) ||
		__pa(addr) >= __pa_symbol(__init_begin));
}

/* The first entry of the table that takes the place of a block. */
static pte_t first_piece(pte_t block, unsigned long size, bool cont)
{
	pteval_t val = pte_val(block);

	if (size == PAGE_SIZE)
		val |= PTE_TYPE_PAGE;
	if (cont)
		val |= PTE_CONT;
	return __pte(val);
}

static bool fill(pte_t *table, pte_t pte, unsigned long size)
{
	unsigned int i;

	if (kpkeys_pgtables_enabled()) {
		if (!kpkeys_fill_table(table, pte, size == PAGE_SIZE ?
				       KPKEYS_LEVEL_PTE : KPKEYS_LEVEL_PMD))
			return false;
	} else {
		for (i = 0; i < PTRS_PER_PTE; i++) {
			WRITE_ONCE(table[i], pte);
			pte = pte_advance_pfn(pte, size >> PAGE_SHIFT);
		}
	}
	/* A walk that finds the table must find its entries. */
	dsb(ishst);
	return true;
}

static void link_table(pte_t *ptep, unsigned long addr, unsigned long size, pte_t *table)
{
	bool linear = __is_lm_address(addr);

	if (size == PMD_SIZE) {
		__pmd_populate((pmd_t *)ptep, __pa(table),
			       PMD_TYPE_TABLE | PMD_TABLE_UXN | PMD_TABLE_AF |
			       (linear ? PMD_TABLE_PXN : 0));
		atomic_long_inc(&live_split_events.pmds);
	} else {
		__pud_populate((pud_t *)ptep, __pa(table),
			       PUD_TYPE_TABLE | PUD_TABLE_UXN | PUD_TABLE_AF |
			       (linear ? PUD_TABLE_PXN : 0));
		atomic_long_inc(&live_split_events.puds);
	}
	flush_one(addr);
}

static bool split(pte_t *ptep, unsigned long addr, unsigned long size,
		  pte_t *table, bool cont)
{
	unsigned long piece = size / PTRS_PER_PTE;

	cont = cont && may_be_contiguous(addr);
	if (!fill(table, first_piece(__ptep_get(ptep), piece, cont), piece))
		return false;
	link_table(ptep, addr, size, table);
	return true;
}

/**
 * live_split_step - one step of splitting a range
 * @addr: page-aligned; where to go on
 * @end: of the range
 * @pages: down to pages, and not just so that no entry crosses its ends
 * @table: a table to use; NULL afterwards if it was
 *
 * Return: by how much to go on; 0 after a split; -EAGAIN if it takes a table;
 * -EPERM if the protection refuses it.
 */
long live_split_step(unsigned long addr, unsigned long end, bool pages,
		     void **table)
{
	unsigned long size;
	pte_t *ptep = kpkeys_leaf(addr, &size);
	bool whole;

	if (ptep && pte_cont(__ptep_get(ptep))) {
		unfold(ptep, addr, size);
		return 0;
	}
	if (!ptep || size == PAGE_SIZE)
		return size - (addr & (size - 1));
	whole = IS_ALIGNED(addr, size) && size <= end - addr;
	if (!pages && whole)
		return size;
	if (!*table)
		return -EAGAIN;
	/* Not to be unfolded at once. */
	if (!split(ptep, addr, size, *table, !whole))
		return -EPERM;
	*table = NULL;
	return 0;
}

static bool is_fit(unsigned long addr, unsigned long end, bool pages)
{
	unsigned long size;
	pte_t *ptep = kpkeys_leaf(addr, &size);

	if (!ptep)
		return true;
	return !pte_cont(__ptep_get(ptep)) &&
	       (size == PAGE_SIZE ||
		(!pages && IS_ALIGNED(addr, size) && size <= end - addr));
}

static long locked_step(unsigned long addr, unsigned long end, bool pages,
			void **table)
{
	guard(spinlock_irqsave)(&split_lock);
	if (READ_ONCE(live_split_state) == LIVE_SPLIT_HELD &&
	    !is_fit(addr, end, pages)) {
		atomic_long_inc(&live_split_events.refused);
		return -EBUSY;
	}
	return live_split_step(addr, end, pages, table);
}

/* Tables are taken while the lock is free: getting one may itself need a split. */
static int split_range(unsigned long addr, unsigned long end, bool pages,
		       gfp_t gfp)
{
	void *table = NULL;
	long done = 0;

	if (live_split_state == LIVE_SPLIT_UNUSED)
		return 0;
	addr = __tag_reset(addr);
	end = __tag_reset(end);
	while (addr < end && done >= 0) {
		done = locked_step(addr, end, pages, &table);
		if (done == -EAGAIN) {
			table = ptp_alloc(gfp, 0);
			done = table ? 0 : -ENOMEM;
		}
		addr += max(done, 0L);
	}
	if (table)
		ptp_free(table, 0);
	return min(done, 0L);
}

/**
 * live_split_at_edges - have no entry cross the ends of a range
 * @addr: page-aligned
 * @end: page-aligned
 * @gfp: for tables
 *
 * Blocks that lie in the range stay, contiguous ranges do not. Any context
 * but NMI, if @gfp allows it. Where splitting is not in use nothing happens,
 * and the caller has to look at what it finds.
 *
 * Return: 0, -ENOMEM, or -EBUSY while there is a CPU that cannot bear it.
 */
int live_split_at_edges(unsigned long addr, unsigned long end, gfp_t gfp)
{
	return split_range(addr, end, false, gfp);
}

/**
 * live_split_to_pages - have a range mapped by pages
 * @addr: page-aligned
 * @end: page-aligned
 *
 * May sleep if something has to be split.
 *
 * Return: as live_split_at_edges().
 */
int live_split_to_pages(unsigned long addr, unsigned long end)
{
	return split_range(addr, end, true, GFP_KERNEL);
}

/**
 * live_split_aliases - have pages mapped by pages in the linear map
 * @pages: the pages
 * @nr: how many
 *
 * Before the first of them changes: this can fail, and changes then cannot.
 *
 * Return: as live_split_at_edges().
 */
int live_split_aliases(struct page **pages, unsigned int nr)
{
	unsigned long addr;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < nr; i++) {
		addr = (unsigned long)page_address(pages[i]);
		ret = live_split_to_pages(addr, addr + PAGE_SIZE);
	}
	return ret;
}
