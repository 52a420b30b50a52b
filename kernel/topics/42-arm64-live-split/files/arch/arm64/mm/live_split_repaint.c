// SPDX-License-Identifier: GPL-2.0-only
/*
 * Live splitting: the linear map becomes pages, because a CPU came up that
 * cannot bear a split.
 *
 * While the boot CPU, which can, splits what there is, all others wait with a
 * top-level table that lacks the linear map, so they have nothing of it in
 * their TLBs. The new tables come from the page allocator and not from the
 * pool, which could grow only by means of splits; they get their key where
 * they are, as boot tables do.
 */
#define pr_fmt(fmt) "live_split: " fmt

#include <linux/init.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_ptp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/stop_machine.h>

#include <asm/barrier.h>
#include <asm/daifflags.h>
#include <asm/kpkeys_mm.h>
#include <asm/memory.h>
#include <asm/tlbflush.h>

#include "live_split.h"

/* In the image, which CPUs that wait can still reach. */
static struct {
	int	cpu;		/* that does the work */
	int	parked;		/* others that wait */
	int	done;
	int	ret;
	phys_addr_t ttbr;	/* theirs */
} repaint;

static LIST_HEAD(spare_tables);

static unsigned long __init tables_needed(void)
{
	unsigned long addr, size, nr = 0;

	for (addr = PAGE_OFFSET; addr < PAGE_END; addr += size) {
		pte_t *ptep = kpkeys_leaf(addr, &size);

		if (ptep && size == PUD_SIZE)
			nr += 1 + PTRS_PER_PMD;
		else if (ptep && size == PMD_SIZE)
			nr++;
	}
	return nr;
}

static void __init free_spares(void)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &spare_tables, lru)
		__free_page(page);
	INIT_LIST_HEAD(&spare_tables);
}

/* Nobody could be killed for them yet. */
#define GFP_SPARES	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static int __init get_spares(unsigned long nr)
{
	struct page *page;
	unsigned long i;

	for (i = 0; i < nr; i++) {
		page = alloc_page(GFP_SPARES);
		if (!page)
			return -ENOMEM;
		list_add(&page->lru, &spare_tables);
	}
	return 0;
}

static void * __init take_spare(void)
{
	struct page *page = list_first_entry_or_null(&spare_tables,
						     struct page, lru);

	if (!page)
		return NULL;
	list_del_init(&page->lru);
	/* It is linked before it can have its key. */
	kpkeys_frames_table(page_address(page));
	return page_address(page);
}

static int __init split_everything(void)
{
	unsigned long addr = PAGE_OFFSET;
	void *table = NULL;
	long done;

	while (addr < PAGE_END) {
		done = live_split_step(addr, PAGE_END, true, &table);
		if (done == -EAGAIN) {
			table = take_spare();
			done = table ? 0 : -ENOMEM;
		}
		if (done < 0)
			return done;
		addr += done;
	}
	return 0;
}

static void __init wait_for_others(void)
{
	/* Pairs with the store-release of live_split_park(). */
	while (smp_load_acquire(&repaint.parked) < num_online_cpus() - 1)
		cpu_relax();
}

static void __init repaint_map(void)
{
	wait_for_others();
	repaint.ret = split_everything();
	if (!repaint.ret)
		live_split_state = LIVE_SPLIT_UNUSED;
	/* Nobody has seen the new tables yet, and nobody runs who could. */
	kpkeys_key_late_table_noflush(lm_alias(init_mm.pgd), "linear map");
	flush_tlb_all();
	/* Pairs with the load-acquire there. */
	smp_store_release(&repaint.done, 1);
	dsb(ishst);
	sev();
}

static int __init repaint_stopped(void *unused)
{
	unsigned long flags;

	if (smp_processor_id() == repaint.cpu) {
		repaint_map();
		return 0;
	}
	flags = local_daif_save();
	live_split_park(repaint.ttbr, &repaint.parked, &repaint.done);
	local_daif_restore(flags);
	return 0;
}

/* What the kernel maps, but for the linear map. */
static void __init copy_top_level(pgd_t *pgd)
{
	unsigned int i;

	guard(kpkeys_hardened_pgtables)();
	clear_page(pgd);
	for (i = pgd_index(PAGE_END); i < PTRS_PER_PGD; i++)
		WRITE_ONCE(pgd[i], READ_ONCE(swapper_pg_dir[i]));
}

/**
 * live_split_repaint - make the linear map of pages
 *
 * On the boot CPU when all others are up.
 *
 * Return: 0 or -ENOMEM; then the map is good, but some of it still blocks.
 */
int __init live_split_repaint(void)
{
	unsigned long nr = tables_needed();
	pgd_t *pgd = ptp_alloc(GFP_KERNEL, 0);
	int ret = pgd ? get_spares(nr) : -ENOMEM;

	if (!ret) {
		copy_top_level(pgd);
		repaint.cpu = smp_processor_id();
		repaint.ttbr = phys_to_ttbr(__pa(pgd));
		stop_machine(repaint_stopped, NULL, cpu_online_mask);
		if (kpkeys_pgtables_enabled())
			kpkeys_flush();
		ret = repaint.ret;
	}
	free_spares();
	if (pgd)
		ptp_free(pgd, 0);
	if (!ret)
		pr_info("not on every CPU: linear map repainted to pages, %lu tables\n",
			nr);
	return ret;
}
