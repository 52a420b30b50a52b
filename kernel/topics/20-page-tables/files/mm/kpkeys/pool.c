// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pool as the rest of the kernel sees it: page-table pages out, page-table
 * pages back, from a magazine per CPU. Allocating or freeing one changes no
 * mapping, splits nothing and flushes nothing.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/topology.h>

#include "internal.h"
#include "depot.h"

#define BATCH	(KPKEYS_MAG_SIZE / 2)

/*
 * What page->private of a free page holds. struct page is ordinary memory, so
 * this proves nothing against an attacker; it finds double frees.
 */
static unsigned long free_mark(struct page *page)
{
	return 0x6b70666565000000UL ^ page_to_pfn(page);
}

/* Nothing that does not carry the key is ever handed out. */
static bool is_sound(void *addr)
{
	struct page *page = virt_to_page(addr);

	if (!virt_addr_valid(addr) ||
	    arch_kpkeys_addr_pkey((unsigned long)addr) != KPKEYS_PKEY_PGTABLES) {
		kpkeys_freelist_error("free page without the key", addr);
		return false;
	}
	/* Fresh from the page allocator, or freed here. */
	if (page_private(page) && page_private(page) != free_mark(page)) {
		kpkeys_freelist_error("mark of a free page", addr);
		return false;
	}
	return true;
}

static bool are_sound(void *addr, unsigned int order)
{
	return is_sound(addr) && (!order || is_sound(addr + PAGE_SIZE));
}

static void take_mark(struct page *page)
{
	set_page_private(page, 0);
	page->mapping = NULL;
	page->index = 0;
	INIT_LIST_HEAD(&page->lru);
}

static bool put_mark(struct page *page)
{
	if (page_private(page) == free_mark(page)) {
		kpkeys_freelist_error("page freed twice", page);
		return false;
	}
	set_page_private(page, free_mark(page));
	return true;
}

/**
 * kpkeys_pool_forget - remove the pool's marks from pages that leave it
 * @addr: first page
 * @nr: how many
 */
void kpkeys_pool_forget(void *addr, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		set_page_private(virt_to_page(addr + i * PAGE_SIZE), 0);
}

static void *mag_pop(int nid, bool reserve)
{
	unsigned int n = raw_cpu_read(kpkeys_cpu.mag.nr);

	if (n)
		raw_cpu_inc(kpkeys_counters.pool_hits);
	else
		n = kpkeys_depot_fill(nid, reserve, BATCH);
	if (!n)
		return NULL;
	raw_cpu_write(kpkeys_cpu.mag.nr, n - 1);
	return raw_cpu_read(kpkeys_cpu.mag.page[n - 1]);
}

static void mag_push(void *addr)
{
	unsigned int n = raw_cpu_read(kpkeys_cpu.mag.nr);

	if (n == KPKEYS_MAG_SIZE)
		while (n > BATCH)
			kpkeys_depot_put(raw_cpu_read(kpkeys_cpu.mag.page[--n]));
	raw_cpu_write(kpkeys_cpu.mag.page[n], addr);
	raw_cpu_write(kpkeys_cpu.mag.nr, n + 1);
}

static void *take(unsigned int order, int nid, bool reserve)
{
	/* The magazine holds pages of the local node. */
	if (!order && nid == numa_mem_id())
		return mag_pop(nid, reserve);
	return kpkeys_depot_take(nid, order, reserve);
}

static void *take_cleared(unsigned int order, int nid, gfp_t gfp)
{
	bool reserve = !gfpflags_allow_blocking(gfp) ||
		       (current->flags & PF_MEMALLOC);
	unsigned long flags;
	void *addr;

	local_irq_save(flags);
	scoped_guard(kpkeys_hardened_pgtables) {
		/* What is not sound is left alone for good. */
		do {
			addr = take(order, nid, reserve);
		} while (addr && !are_sound(addr, order));
		if (addr && want_init_on_alloc(gfp))
			memset(addr, 0, PAGE_SIZE << order);
	}
	local_irq_restore(flags);
	return addr;
}

static void *take_on_any_node(unsigned int order, int nid, gfp_t gfp)
{
	void *addr = take_cleared(order, nid, gfp);
	int other;

	if (gfp & __GFP_THISNODE)
		return addr;
	for_each_node_state(other, N_MEMORY)
		if (!addr && other != nid)
			addr = take_cleared(order, other, gfp);
	return addr;
}

/* What a refill gets may be on another node: look there before the next one. */
static void *take_or_refill(unsigned int order, int nid, gfp_t gfp)
{
	bool blocking = gfpflags_allow_blocking(gfp);
	void *addr = take_cleared(order, nid, gfp);
	bool more = true;

	while (!addr && more) {
		more = blocking && !kpkeys_depot_refill(nid, gfp);
		addr = take_on_any_node(order, nid, gfp);
	}
	if (!blocking)
		kpkeys_depot_refill_later();
	return addr;
}

static void give_back(struct page *page, unsigned int order)
{
	void *addr = page_address(page);
	unsigned long flags;
	unsigned int i;

	local_irq_save(flags);
	scoped_guard(kpkeys_hardened_pgtables) {
		if (want_init_on_free())
			memset(addr, 0, PAGE_SIZE << order);
		if (!order && page_to_nid(page) == numa_mem_id())
			mag_push(addr);
		else
			for (i = 0; i < 1U << order; i++)
				kpkeys_depot_put(addr + i * PAGE_SIZE);
	}
	local_irq_restore(flags);
}

struct page *kpkeys_ptp_alloc(gfp_t gfp, unsigned int order, int nid)
{
	struct page *page;
	unsigned int i;
	void *addr;

	if (WARN_ON_ONCE(order > 1))
		return NULL;
	if (nid == NUMA_NO_NODE)
		nid = numa_mem_id();

	if (kpkeys_keys_singly(gfp))
		addr = kpkeys_single_alloc(nid, gfp, order);
	else
		addr = take_or_refill(order, nid, gfp);
	if (!addr)
		return NULL;
	page = virt_to_page(addr);
	for (i = 0; i < 1U << order; i++)
		take_mark(page + i);
	if ((gfp & __GFP_ACCOUNT) && memcg_kmem_online() &&
	    memcg_kmem_charge_page(page, gfp, order)) {
		kpkeys_ptp_free(page, order);
		return NULL;
	}
	return page;
}

void kpkeys_ptp_free(struct page *page, unsigned int order)
{
	unsigned int i;

	if (memcg_kmem_online())
		memcg_kmem_uncharge_page(page, order);
	if (kpkeys_single_free(page, order))
		return;
	for (i = 0; i < 1U << order; i++)
		if (!put_mark(page + i))
			return;
	give_back(page, order);
}

/**
 * kpkeys_ptp_is_free - is this page waiting in the pool?
 * @page: a keyed page
 */
bool kpkeys_ptp_is_free(struct page *page)
{
	return page_private(page) == free_mark(page);
}

static unsigned long nr_in_magazines(void)
{
	unsigned long nr = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		nr += READ_ONCE(per_cpu_ptr(&kpkeys_cpu, cpu)->mag.nr);
	return nr;
}

/**
 * kpkeys_pool_nr_free - keyed pages that hold no table
 */
unsigned long kpkeys_pool_nr_free(void)
{
	return kpkeys_depot_nr_free() + kpkeys_depot_nr_orphans() +
	       nr_in_magazines();
}

/**
 * kpkeys_pool_nr_used - pages of the pool that hold a table
 */
unsigned long kpkeys_pool_nr_used(void)
{
	return kpkeys_state.region_pages - kpkeys_state.nr_regions -
	       kpkeys_depot_nr_free() - nr_in_magazines();
}

/**
 * kpkeys_ptp_owns - must this page go back to the pool?
 * @page: a page that may or may not hold a page table
 */
bool kpkeys_ptp_owns(struct page *page)
{
	return arch_kpkeys_addr_pkey((unsigned long)page_address(page)) ==
	       KPKEYS_PKEY_PGTABLES;
}
