// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pool as the rest of the kernel sees it: page-table pages out, page-table
 * pages back, from a magazine per CPU. Allocating or freeing one changes no
 * mapping, splits nothing and flushes nothing.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/cpuset.h>
#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/topology.h>

#include "internal.h"
#include "depot.h"

#define BATCH	(KPKEYS_MAG_SIZE / 2)

/* Nothing that does not carry the key is ever handed out. */
static bool is_sound(void *addr)
{
	if (!virt_addr_valid(addr) ||
	    arch_kpkeys_addr_pkey((unsigned long)addr) != KPKEYS_PKEY_PGTABLES) {
		kpkeys_freelist_error("free page without the key", addr);
		return false;
	}
	if (!kpkeys_table_take(addr)) {
		kpkeys_freelist_error("page that is not free", addr);
		return false;
	}
	return true;
}

/* What is not sound is left alone for good; the other half is not lost. */
static bool are_sound(void *addr, unsigned int order)
{
	void *second = addr + PAGE_SIZE;
	bool sound = is_sound(addr), both;

	if (likely(!order))
		return sound;
	both = is_sound(second);
	if (sound && both)
		return true;
	if (sound || both) {
		kpkeys_table_put(sound ? addr : second);
		kpkeys_depot_put(sound ? addr : second);
	}
	return false;
}

static void clean(struct page *page)
{
	set_page_private(page, 0);
	page->mapping = NULL;
	page->index = 0;
	INIT_LIST_HEAD(&page->lru);
}

static void *mag_pop(int nid, bool reserve)
{
	unsigned int n = raw_cpu_read(kpkeys_cpu.mag.nr);

	if (n)
		kpkeys_count(pool_hits, 1);
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
		do {
			addr = take(order, nid, reserve);
		} while (addr && !are_sound(addr, order));
		/* Whatever @gfp says: it may come from ordinary memory. */
		if (addr)
			memset(addr, 0, PAGE_SIZE << order);
	}
	kpkeys_freelist_report();
	local_irq_restore(flags);
	return addr;
}

/*
 * Memory policy, as alloc_pages() follows it for whoever names no node: the
 * preferred node is the policy's, and MPOL_BIND and cpusets bound where else
 * to look and where to grow. Two differences: who cannot wait takes what the
 * pool has, and weights and the order of nodes are those of slabs.
 */
#ifdef CONFIG_NUMA
static struct mempolicy *policy_of(gfp_t gfp)
{
	if (in_interrupt() || (gfp & __GFP_THISNODE))
		return NULL;
	return current->mempolicy;
}

static int policy_node(gfp_t gfp)
{
	return unlikely(policy_of(gfp)) ? mempolicy_slab_node() : numa_mem_id();
}

static nodemask_t *policy_nodes(gfp_t gfp)
{
	struct mempolicy *policy = policy_of(gfp);

	if (!policy || policy->mode != MPOL_BIND ||
	    !apply_policy_zone(policy, gfp_zone(gfp)) ||
	    !cpuset_nodemask_valid_mems_allowed(&policy->nodes))
		return NULL;
	return &policy->nodes;
}
#else
static int policy_node(gfp_t gfp) { return numa_mem_id(); }
static nodemask_t *policy_nodes(gfp_t gfp) { return NULL; }
#endif

static bool may_use_node(int nid, nodemask_t *nodes, gfp_t gfp)
{
	return !gfpflags_allow_blocking(gfp) ||
	       ((!nodes || node_isset(nid, *nodes)) &&
		cpuset_zone_allowed(NODE_DATA(nid)->node_zones, gfp));
}

/* The nearest one in the task's cpuset. */
static int cpuset_node(int nid, gfp_t gfp)
{
	struct zoneref *z;

	if (cpuset_zone_allowed(NODE_DATA(nid)->node_zones, gfp | __GFP_HARDWALL))
		return nid;
	z = first_zones_zonelist(node_zonelist(nid, gfp), gfp_zone(gfp),
				 &cpuset_current_mems_allowed);
	return zonelist_zone(z) ? zonelist_node_idx(z) : nid;
}

static void *take_on_any_node(unsigned int order, int nid, nodemask_t *nodes,
			      gfp_t gfp)
{
	void *addr = take_cleared(order, nid, gfp);
	int other;

	if (gfp & __GFP_THISNODE)
		return addr;
	for_each_node_state(other, N_MEMORY)
		if (!addr && other != nid && may_use_node(other, nodes, gfp))
			addr = take_cleared(order, other, gfp);
	return addr;
}

/* What a refill gets may be on another node: that is where to look first. */
static void *refill_and_take(unsigned int order, int nid, nodemask_t *nodes,
			     gfp_t gfp)
{
	void *addr = NULL;
	int from;

	do {
		from = kpkeys_depot_refill(nid, nodes, gfp);
		if (from >= 0)
			addr = take_cleared(order, from, gfp);
	} while (!addr && from >= 0);
	return addr;
}

static void *take_or_refill(unsigned int order, int wanted, gfp_t gfp)
{
	int nid = wanted == NUMA_NO_NODE ? policy_node(gfp) : wanted;
	nodemask_t *nodes;
	void *addr;

	if (cpusets_enabled() && wanted == NUMA_NO_NODE)
		nid = cpuset_node(nid, gfp);
	addr = take_cleared(order, nid, gfp);
	if (unlikely(!addr)) {
		nodes = wanted == NUMA_NO_NODE ? policy_nodes(gfp) : NULL;
		if (gfpflags_allow_blocking(gfp))
			addr = refill_and_take(order, nid, nodes, gfp);
		if (!addr)
			addr = take_on_any_node(order, nid, nodes, gfp);
	}
	if (!gfpflags_allow_blocking(gfp))
		kpkeys_depot_refill_later();
	return addr;
}

/* In a section. */
static bool put_page_back(void *addr, bool local)
{
	enum kpkeys_put put = kpkeys_table_put(addr);

	if (put != KPKEYS_PUT_FREE)
		return put == KPKEYS_PUT_GONE;
	if (want_init_on_free())
		memset(addr, 0, PAGE_SIZE);
	if (local)
		mag_push(addr);
	else
		kpkeys_depot_put(addr);
	return true;
}

/**
 * kpkeys_ptp_bury - take a root back that was freed before
 * @pgd: the table
 *
 * In a section, interrupts off.
 *
 * Return: false if a CPU still runs on it: it is lost.
 */
bool kpkeys_ptp_bury(void *pgd)
{
	void *addr = pgd, *end = pgd + KPKEYS_ROOT_SIZE;

	for (; addr < end; addr += PAGE_SIZE) {
		if (!kpkeys_root_bury(addr))
			return false;
		if (want_init_on_free())
			memset(addr, 0, PAGE_SIZE);
		kpkeys_depot_put(addr);
	}
	return true;
}

/* Returns the page that cannot go back, or NULL. It does not keep the other. */
static void *put_pages(struct page *page, unsigned int order)
{
	bool local = !order && page_to_nid(page) == numa_mem_id();
	void *addr = page_address(page), *end = addr + (PAGE_SIZE << order);
	void *bad = NULL;

	guard(kpkeys_hardened_pgtables)();
	for (; addr < end; addr += PAGE_SIZE)
		if (!put_page_back(addr, local))
			bad = addr;
	return bad;
}

/* The same for tables one by one. */
static void *put_tables(struct page **tables, unsigned int nr)
{
	void *addr, *bad = NULL;

	guard(kpkeys_hardened_pgtables)();
	for (; nr; nr--, tables++) {
		addr = page_address(*tables);
		if (!put_page_back(addr, page_to_nid(*tables) == numa_mem_id()))
			bad = addr;
	}
	return bad;
}

static void refuse_free(const void *bad)
{
	kpkeys_freelist_error(kpkeys_table_is_free(bad) ? "page freed twice" :
			      "freed page that is in use, or no table", bad);
	kpkeys_refuse("free", kpkeys_frame_name(PHYS_PFN(__pa(bad))), bad, NULL);
}

static void give_back(struct page *page, unsigned int order)
{
	unsigned long flags;
	void *bad;

	local_irq_save(flags);
	bad = put_pages(page, order);
	if (bad)
		refuse_free(bad);
	kpkeys_freelist_report();
	local_irq_restore(flags);
}

static void give_back_tables(struct page **tables, unsigned int nr)
{
	unsigned long flags;
	void *bad;

	local_irq_save(flags);
	bad = put_tables(tables, nr);
	if (bad)
		refuse_free(bad);
	kpkeys_freelist_report();
	local_irq_restore(flags);
}

struct page *kpkeys_ptp_alloc(gfp_t gfp, unsigned int order, int nid)
{
	struct page *page;
	unsigned int i;
	void *addr;

	/* Not compound: who wants that asks the page for its order later. */
	if (WARN_ON_ONCE(order > !(gfp & __GFP_COMP)))
		return NULL;

	addr = take_or_refill(order, nid, gfp);
	if (!addr)
		return NULL;
	page = virt_to_page(addr);
	for (i = 0; i < 1U << order; i++)
		clean(page + i);
	if ((gfp & __GFP_ACCOUNT) && memcg_kmem_online() &&
	    memcg_kmem_charge_page(page, gfp, order)) {
		kpkeys_ptp_free(page, order);
		return NULL;
	}
	return page;
}

void kpkeys_ptp_free(struct page *page, unsigned int order)
{
	if (memcg_kmem_online())
		memcg_kmem_uncharge_page(page, order);
	give_back(page, order);
}

void kpkeys_ptp_free_tables(struct page **tables, unsigned int nr)
{
	unsigned int i, n;

	for (i = 0; memcg_kmem_online() && i < nr; i++)
		memcg_kmem_uncharge_page(tables[i], 0);
	for (i = 0; i < nr; i += n) {
		n = min(nr - i, BATCH);
		give_back_tables(tables + i, n);
	}
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
	return kpkeys_has_ptp_key(page_address(page));
}
