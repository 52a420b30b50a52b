// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the depot's memory comes from: blocks of the page allocator, keyed once.
 * shrink.c gives them back.
 *
 * Lock order: kpkeys_regions_lock (mutex), then the node's lock (in a section,
 * interrupts off). Nothing is allocated with reclaim under either of them.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/kpkeys_compat.h>
#include <linux/kpkeys_force.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/workqueue.h>

#include "depot.h"

/*
 * Up to the costly order the allocator retries until it succeeds or a task is
 * killed. That is for four pages only: a header, what a split takes, and two
 * tables.
 */
#define CHUNK_ORDER	PAGE_ALLOC_COSTLY_ORDER
#define LAST_ORDER	2
#define CHUNKS_AT_ONCE	4
#define MANY_REFERENCES	(1 << 20)

/* The set of regions: who adds or removes one holds it, inside the arrivals' lock. */
DEFINE_MUTEX(kpkeys_regions_lock);

/* What still has a key is nobody's memory, whatever the caller believes. */
static void free_unkeyed(void *addr, unsigned int nr)
{
	for (; nr--; addr += PAGE_SIZE)
		if (arch_kpkeys_addr_pkey((unsigned long)addr) == KPKEYS_PKEY_DEFAULT)
			free_page((unsigned long)addr);
		else
			kpkeys_freelist_error("page with a key", addr);
}

static void *block_alloc(int nid, nodemask_t *nodes, gfp_t gfp,
			 unsigned int order)
{
	struct page *page;

	gfp &= ~(__GFP_ACCOUNT | __GFP_COMP | __GFP_HIGHMEM | __GFP_MOVABLE);
	page = kpkeys_alloc_pages(gfp, order, nid, nodes);
	if (!page)
		return NULL;
	split_page(page, order);
	return page_address(page);
}

/**
 * kpkeys_block_alloc - take pages that are to be keyed from the page allocator
 * @nid: preferred node
 * @gfp: of the allocation that needs them; may sleep
 * @order: as for alloc_pages()
 *
 * Return: the address of the first page, or NULL.
 */
void *kpkeys_block_alloc(int nid, gfp_t gfp, unsigned int order)
{
	if (nid == NUMA_NO_NODE)
		nid = numa_mem_id();
	return block_alloc(nid, NULL, gfp, order);
}

/**
 * kpkeys_block_free - give pages back that may be keyed
 * @addr: the first one
 * @nr: how many
 *
 * One that stays keyed must not be given away.
 */
void kpkeys_block_free(void *addr, unsigned int nr)
{
	if (kpkeys_set_pkey(addr, nr, KPKEYS_PKEY_DEFAULT, false)) {
		kpkeys_event(&kpkeys_events.unkeyed_fallbacks);
		pr_err("%u pages at %p stay keyed and are lost\n", nr, addr);
		return;
	}
	free_unkeyed(addr, nr);
}

/**
 * kpkeys_block_key - key a block; in force after kpkeys_flush()
 * @addr: as returned by kpkeys_block_alloc()
 * @order: as given there
 * @pkey: KPKEYS_PKEY_*
 *
 * Return: 0, or -errno: the block is gone then. One that was refused is nobody's.
 */
int kpkeys_block_key(void *addr, unsigned int order, int pkey)
{
	int ret = kpkeys_key_new_noflush(addr, 1U << order, pkey);

	/* No page that was hidden ever shows itself again. */
	if (ret && ret != -EPERM && pkey == KPKEYS_PKEY_PGTABLES)
		kpkeys_block_free(addr, 1U << order);
	return ret;
}

static void *alloc_keyed(int nid, nodemask_t *nodes, gfp_t gfp,
			 unsigned int order)
{
	void *addr = block_alloc(nid, nodes, gfp, order);

	if (!addr || kpkeys_block_key(addr, order, KPKEYS_PKEY_PGTABLES))
		return NULL;
	return addr;
}

/* Whatever stood there was written without the key: it is not looked at. */
static __always_inline struct kpkeys_region *new_region(void *addr)
{
	struct kpkeys_region *region = addr;

	kpkeys_clear_words(region, sizeof(*region));
	INIT_LIST_HEAD(&region->list);
	region->index = region_index(addr);
	region->nid = page_to_nid(virt_to_page(addr));
	if (!no_table) {
		region->next = kpkeys_state.boot_regions;
		kpkeys_state.boot_regions = region;
	}
	return region;
}

/* The first chunk spends its first page on the header. */
static __always_inline void spend_header(struct kpkeys_region *region)
{
	__clear_bit(page_slot(region), region->free);
	kpkeys_change_frame_now(kpkeys_linear_pfn(region), FREE, HEADER);
	region->nr_free--;
	node_of(region->nid)->nr_free--;
	kpkeys_state.nr_regions++;
}

static __always_inline void own_pages(struct kpkeys_region *region, void *addr,
				      unsigned int nr)
{
	struct kpkeys_node *node = node_of(region->nid);
	unsigned int i;

	for (i = page_slot(addr); i < page_slot(addr) + nr; i++) {
		__set_bit(i, region->owned);
		__set_bit(i, region->free);
	}
	region->nr_owned += nr;
	region->nr_free += nr;
	node->nr_free += nr;
	node->nr_owned += nr;
	kpkeys_state.region_pages += nr;
	if (region == addr)
		spend_header(region);
	kpkeys_relink(region);
}

static __always_inline bool owns_any(const struct kpkeys_region *region,
				     unsigned int first, unsigned int nr)
{
	for (; nr; nr--, first++)
		if (test_bit(first, region->owned))
			return true;
	return false;
}

/* Where they are, and how many, waited for a lock. */
static __always_inline bool are_fit(void *addr, unsigned int nr)
{
	return PAGE_ALIGNED(addr) && page_slot(addr) + nr <= KPKEYS_REGION_PAGES &&
	       kpkeys_has_arrived(addr, nr) &&
	       kpkeys_are_new(addr, nr, KPKEYS_PKEY_PGTABLES);
}

/* Returns the node that they are on. */
static noinline __flatten int link_pages(void *addr, unsigned int nr)
{
	struct kpkeys_region *region;
	int nid = -EEXIST;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(addr);
	kpkeys_reread(nr);
	if (!are_fit(addr, nr))
		return -EEXIST;
	kpkeys_reread(addr);
	region = kpkeys_find_region(addr) ?: new_region(addr);
	kpkeys_node_lock(region->nid);
	if (!owns_any(region, page_slot(addr), nr)) {
		own_pages(region, addr, nr);
		nid = region->nid;
	}
	kpkeys_node_unlock(region->nid);
	return nid;
}

/* Returns the node it is on. What is not sound is left alone for good. */
static int publish(void *addr, unsigned int nr)
{
	int ret;

	scoped_guard(mutex, &kpkeys_regions_lock)
		ret = link_pages(addr, nr);
	if (ret < 0)
		kpkeys_freelist_error("new block", addr);
	kpkeys_freelist_report();
	return ret;
}

/**
 * struct growth - what is taken at once, so that one search serves all of it
 * @addr: the blocks; NULL for one that is gone
 * @nr: how many
 * @order: of each
 */
struct growth {
	void		*addr[KPKEYS_MAX_ARRIVALS];
	unsigned int	nr;
	unsigned int	order;
};

static void take(struct growth *g, unsigned int max, int nid, nodemask_t *nodes,
		 gfp_t gfp)
{
	void *addr;

	while (g->nr < max) {
		addr = alloc_keyed(nid, nodes, gfp, g->order);
		if (!addr)
			break;
		g->addr[g->nr++] = addr;
	}
}

/* A search reads all tables: the more there are, the more it is to serve. */
static unsigned int nr_blocks_at_once(void)
{
	return min(1 + READ_ONCE(kpkeys_state.nr_regions) / 8,
		   KPKEYS_MAX_ARRIVALS);
}

/* Chunks may take a table of the reserve each. */
static void take_memory(struct growth *g, int nid, nodemask_t *nodes, gfp_t gfp)
{
	gfp_t easily = gfp | __GFP_NOWARN | __GFP_NORETRY;

	g->nr = 0;
	g->order = KPKEYS_REGION_ORDER;
	take(g, nr_blocks_at_once(), nid, nodes, easily);
	if (g->nr)
		return;
	g->order = CHUNK_ORDER;
	take(g, CHUNKS_AT_ONCE, nid, nodes, easily);
	if (g->nr)
		return;
	g->order = LAST_ORDER;
	take(g, 1, nid, nodes, gfp);
	if (g->nr)
		take(g, CHUNKS_AT_ONCE << (CHUNK_ORDER - LAST_ORDER), nid,
		     nodes, easily);
}

static void give_back(const struct growth *g)
{
	unsigned int i;

	for (i = 0; i < g->nr; i++)
		kpkeys_block_free(g->addr[i], 1U << g->order);
}

static bool is_moved(const void *addr, unsigned int nr)
{
	for (; nr; nr--, addr += PAGE_SIZE)
		if (arch_kpkeys_phys((unsigned long)addr) != __pa(addr))
			return true;
	return false;
}

static void report_new(const void *addr, unsigned int nr)
{
	if (is_moved(addr, nr))
		kpkeys_refuse("change of type", "a page that was moved", addr, NULL);
	else
		kpkeys_freelist_error("new block", addr);
}

static int add_arrivals(struct growth *g)
{
	unsigned int i;
	int ret;

	for (i = 0; i < g->nr; i++) {
		ret = kpkeys_arrivals_add(g->addr[i], 1U << g->order,
					  KPKEYS_PKEY_PGTABLES);
		if (ret == -EAGAIN)
			return ret;
		if (ret)
			report_new(g->addr[i], 1U << g->order);
	}
	return 0;
}

/*
 * It keeps its key and is nobody's, nor will be when all who map it are gone:
 * each drops a reference that was counted away already.
 */
static void lose(void *addr, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		page_ref_add(virt_to_page(addr) + i, MANY_REFERENCES);
	guard(kpkeys_hardened_pgtables)();
	kpkeys_state.lost_pages += nr;
}

/* Returns the node that the last one is on. */
static int publish_arrivals(const struct growth *g)
{
	unsigned int nr = 1U << g->order, i;
	int nid = -ENOMEM, ret;

	for (i = 0; i < g->nr; i++) {
		if (!kpkeys_has_arrived(g->addr[i], nr)) {
			lose(g->addr[i], nr);
			continue;
		}
		ret = publish(g->addr[i], nr);
		if (ret < 0)
			continue;
		nid = ret;
		kpkeys_event(g->order == KPKEYS_REGION_ORDER ?
			     &kpkeys_events.pool_blocks :
			     &kpkeys_events.pool_chunks);
	}
	return nid;
}

static int search_and_publish(struct growth *g)
{
	int ret;

	kpkeys_arrivals_begin();
	ret = add_arrivals(g);
	if (!ret) {
		kpkeys_arrivals_search();
		ret = publish_arrivals(g);
	}
	kpkeys_arrivals_end();
	return ret;
}

/* Somebody else who keys at the same time makes another flush necessary. */
static int put_in_force(struct growth *g)
{
	int ret;

	do {
		if (!kpkeys_flush()) {
			give_back(g);
			return -EBUSY;
		}
		ret = search_and_publish(g);
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * kpkeys_depot_refill - take memory from the page allocator and key it
 * @nid: preferred node
 * @nodes: if not NULL, others than these will not do
 * @gfp: of the allocation that needs it; may sleep
 *
 * Return: a node it came from, or -ENOMEM.
 */
int kpkeys_depot_refill(int nid, nodemask_t *nodes, gfp_t gfp)
{
	struct growth g;

	kpkeys_arrivals_expect();
	take_memory(&g, nid, nodes, gfp & ~__GFP_ZERO);
	nid = g.nr ? put_in_force(&g) : -ENOMEM;
	kpkeys_arrivals_settle();
	if (nid < 0) {
		kpkeys_event(&kpkeys_events.pool_refill_failures);
		return -ENOMEM;
	}
	kpkeys_event(&kpkeys_events.pool_refills);
	return nid;
}

static void refill_work(struct work_struct *work)
{
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		if (READ_ONCE(node_of(nid)->nr_free) < KPKEYS_RESERVE)
			kpkeys_rest_now(nid);
		if (READ_ONCE(node_of(nid)->nr_free) < KPKEYS_RESERVE)
			kpkeys_depot_refill(nid, NULL, GFP_KERNEL);
	}
}

static DECLARE_WORK(refill, refill_work);

/**
 * kpkeys_depot_refill_later - somebody used the reserve: fill it up
 */
void kpkeys_depot_refill_later(void)
{
	if (system_unbound_wq)
		queue_work(system_unbound_wq, &refill);
}

/* Parts of memory: what maps each page of it once takes half of that. */
#define RESERVE_PARTS	256

static unsigned long reserve_percent __initdata;
static unsigned long reserve_pages __initdata = ULONG_MAX;

static int __init reserve_setup(char *arg)
{
	unsigned long long value;
	char *end;

	if (!arg)
		return -EINVAL;
	value = memparse(arg, &end);
	if (*end == '%')
		reserve_percent = min(value, 50ULL);
	else
		reserve_pages = value >> PAGE_SHIFT;
	return end == arg ? -EINVAL : 0;
}
early_param("kpkeys_reserve", reserve_setup);

static unsigned long __init reserve_of(int nid)
{
	unsigned long here = node_present_pages(nid), pages = here / RESERVE_PARTS;

	if (reserve_percent)
		pages = here / 100 * reserve_percent;
	else if (reserve_pages != ULONG_MAX)
		pages = mult_frac(reserve_pages, here, totalram_pages());
	return round_down(min(pages, here / 2), KPKEYS_REGION_PAGES);
}

static void __init keep(int nid)
{
	unsigned long wanted = reserve_of(nid);
	void *addr;

	while (node_of(nid)->nr_owned < wanted) {
		addr = alloc_keyed(nid, NULL, GFP_KERNEL | __GFP_THISNODE |
				   __GFP_NOWARN | __GFP_NORETRY,
				   KPKEYS_REGION_ORDER);
		if (!addr || publish(addr, KPKEYS_REGION_PAGES) < 0)
			break;
		kpkeys_event(&kpkeys_events.pool_blocks);
	}
	guard(kpkeys_hardened_pgtables)();
	node_of(nid)->nr_kept = node_of(nid)->nr_owned;
}

static void *boot_region __initdata;

/**
 * kpkeys_depot_bootstrap - get the first block while guards are still off
 */
int __init kpkeys_depot_bootstrap(void)
{
	int nid, i;

	for (nid = 0; nid < MAX_NUMNODES; nid++)
		for (i = 0; i < KPKEYS_OCCUPANCY; i++)
			INIT_LIST_HEAD(&node_of(nid)->regions[i]);
	boot_region = alloc_keyed(numa_mem_id(), NULL, GFP_KERNEL,
				  KPKEYS_REGION_ORDER);
	return boot_region ? 0 : -ENOMEM;
}

/**
 * kpkeys_depot_start - hand the first blocks to the depot; guards are on
 *
 * Needs no flush: this is the only CPU, and nobody attacks it yet. Nothing maps
 * these blocks, nor has to be searched for what does.
 */
void __init kpkeys_depot_start(void)
{
	int nid;

	if (publish(boot_region, KPKEYS_REGION_PAGES) < 0)
		panic("kpkeys: no memory for the page-table pool");
	kpkeys_event(&kpkeys_events.pool_blocks);
	for_each_node_state(nid, N_MEMORY)
		keep(nid);
}
