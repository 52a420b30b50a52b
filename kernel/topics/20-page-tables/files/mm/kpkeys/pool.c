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

static void clean(struct page *page)
{
	set_page_private(page, 0);
	page->mapping = NULL;
	page_ptdesc(page)->pt_index = 0;
	INIT_LIST_HEAD(&page->lru);
}

/* ---- pages out ---- */

/**
 * struct taken - what a section took
 * @page: cleared, or half of what was to be taken if the other is @bad
 * @bad: a page that is not free, whatever waits there: left alone for good
 */
struct taken {
	void		*page;
	const void	*bad;
};

/* Whatever @gfp says: it may come from ordinary memory. */
static __always_inline void clear(void *page)
{
	arch_kpkeys_clear_page(page);
}

/* In a section. This CPU's magazine holds pages of the local node. */
static __always_inline void *pop(void)
{
	unsigned int n = raw_cpu_read(kpkeys_cpu.mag.nr);
	void *page;

	n -= !!n;
	raw_cpu_write(kpkeys_cpu.mag.nr, n);
	n = min_t(unsigned int, n, KPKEYS_NR_WAITING - 1);
	page = raw_cpu_read(kpkeys_cpu.mag.page[n]);
	raw_cpu_write(kpkeys_cpu.mag.page[n], NULL);
	return page;
}

/* Returns how many; behind them is one that is not free, or NULL. */
static noinline __flatten unsigned int make_ready(unsigned int nr)
{
	unsigned int i;
	void *page;

	guard(kpkeys_hardened_pgtables)();
	for (i = 0; i < nr && i < KPKEYS_NR_READY; i++) {
		page = pop();
		/* So that an index stays one: no pointer into this page. */
		kpkeys_reread(i);
		raw_cpu_write(kpkeys_cpu.mag.page[KPKEYS_NR_WAITING + i], page);
		if (!page || !kpkeys_table_take(page))
			break;
		clear(page);
	}
	return i;
}

/*
 * Who changes this has a page handed out twice, or none. It may be a table by then,
 * which is seen here; else its second link is refused.
 */
static DEFINE_PER_CPU(unsigned int, nr_ready);

static void *ready_at(unsigned int i)
{
	return raw_cpu_read(kpkeys_cpu.mag.page[KPKEYS_NR_WAITING + i % KPKEYS_NR_READY]);
}

static struct taken take_ready(void)
{
	unsigned int left = raw_cpu_read(nr_ready) - 1;
	void *page = ready_at(left);

	if (likely(kpkeys_is_linear(page) && kpkeys_table_is_new(page))) {
		raw_cpu_write(nr_ready, left);
		return (struct taken){ page };
	}
	raw_cpu_write(nr_ready, 0);
	return (struct taken){ .bad = page };
}

static __always_inline struct taken take_both(void *page)
{
	void *second = page + PAGE_SIZE;
	bool ok = kpkeys_table_take(page), both = kpkeys_table_take(second);

	if (!ok || !both)
		return (struct taken){ ok ? page : both ? second : NULL, ok ? second : page };
	clear(page);
	clear(second);
	return (struct taken){ page };
}

static noinline __flatten struct taken take_from_depot(unsigned int order, int nid,
						       bool reserve)
{
	void *page;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(nid);
	kpkeys_reread(order);
	page = kpkeys_depot_take(nid, order, reserve);
	if (!page)
		return (struct taken){};
	if (order)
		return take_both(page);
	if (!kpkeys_table_take(page))
		return (struct taken){ .bad = page };
	clear(page);
	return (struct taken){ page };
}

/* Several in one section. Until there is a table of frames none may wait. */
static struct taken fill_and_take(int nid, bool reserve)
{
	unsigned int n, nr = likely(no_table) ? KPKEYS_NR_READY : 1;

	if (raw_cpu_read(kpkeys_cpu.mag.nr))
		kpkeys_count(pool_hits, 1);
	else if (!kpkeys_depot_fill(nid, reserve, BATCH))
		return (struct taken){};
	n = make_ready(nr);
	raw_cpu_write(nr_ready, n);
	if (n < nr && ready_at(n))
		return (struct taken){ .bad = ready_at(n) };
	return n ? take_ready() : (struct taken){};
}

static struct taken take_local(int nid, bool reserve)
{
	if (!raw_cpu_read(nr_ready))
		return fill_and_take(nid, reserve);
	kpkeys_count(pool_hits, 1);
	return take_ready();
}

static void put(struct page **tables, unsigned int nr, bool local);

/* What is not sound is left alone for good; the other half is not lost. */
static void leave_bad(struct taken taken)
{
	struct page *half = taken.page ? virt_to_page(taken.page) : NULL;

	kpkeys_freelist_error("page that is not free", taken.bad);
	if (half)
		put(&half, 1, false);
}

static void *take(unsigned int order, int nid, bool reserve)
{
	struct taken taken;

	for (;;) {
		if (!order && nid == numa_mem_id())
			taken = take_local(nid, reserve);
		else
			taken = take_from_depot(order, nid, reserve);
		if (likely(!taken.bad))
			return taken.page;
		leave_bad(taken);
	}
}

static void *take_cleared(unsigned int order, int nid, gfp_t gfp)
{
	bool reserve = !gfpflags_allow_blocking(gfp) ||
		       (current->flags & PF_MEMALLOC);
	unsigned long flags;
	void *addr;

	local_irq_save(flags);
	addr = take(order, nid, reserve);
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

	if (kpkeys_rest_now(nid))
		addr = take_cleared(order, nid, gfp);
	if (addr)
		return addr;
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

/* ---- pages back ---- */

/* In a section. Returns false if the magazine is full. */
static __always_inline bool push(void *page)
{
	unsigned int n = raw_cpu_read(kpkeys_cpu.mag.nr);

	if (n >= KPKEYS_NR_WAITING)
		return false;
	raw_cpu_write(kpkeys_cpu.mag.page[n], page);
	raw_cpu_write(kpkeys_cpu.mag.nr, n + 1);
	return true;
}

/* Does it go to the magazine? Looked up where it is asked: it waits nowhere. */
static __always_inline bool is_given(void *page)
{
	return page_to_nid(virt_to_page(page)) == (int)kpkeys_kept(given);
}

/* In a section. What does not fit into the magazine goes to the depot. */
static __always_inline bool put_table(void *page)
{
	enum kpkeys_put put = kpkeys_table_put(page);

	if (put == KPKEYS_PUT_REFUSED || put == KPKEYS_PUT_GONE)
		return put == KPKEYS_PUT_GONE;
	if (want_init_on_free())
		clear(page);
	/* Clearing may have been a call: what is asked from here on is this one. */
	kpkeys_reread(page);
	if (put == KPKEYS_PUT_RESTS)
		kpkeys_depot_rest(page);
	else if (!is_given(page) || !push(page))
		kpkeys_depot_put(page);
	return true;
}

/*
 * Returns the page that cannot go back, or NULL. It does not keep the others.
 * Those of node @nid go to the magazine.
 */
static noinline __flatten const void *put_tables(struct page **tables, unsigned int nr,
						 int nid)
{
	const void *bad = NULL;
	struct page *page;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_keep(given, nid);
	kpkeys_keep(nr, nr);
	kpkeys_keep(source, (const u64 *)tables);
	while (kpkeys_kept(nr)) {
		kpkeys_keep(nr, kpkeys_kept(nr) - 1);
		page = (struct page *)READ_ONCE(kpkeys_kept(source)[kpkeys_kept(nr)]);
		if (!put_table(page_address(page)))
			bad = page_address(page);
	}
	return bad;
}

static void refuse_free(const void *bad)
{
	kpkeys_freelist_error(kpkeys_table_is_free(bad) ? "page freed twice" :
			      "freed page that is in use, or no table", bad);
	kpkeys_refuse("free", kpkeys_frame_name(PHYS_PFN(__pa(bad))), bad, NULL);
}

/* @local: to the magazine of this CPU, where pages are of its node. */
static void put(struct page **tables, unsigned int nr, bool local)
{
	unsigned long flags;
	const void *bad;

	local_irq_save(flags);
	bad = put_tables(tables, nr, local ? numa_mem_id() : NUMA_NO_NODE);
	if (bad)
		refuse_free(bad);
	kpkeys_freelist_report();
	local_irq_restore(flags);
	if (READ_ONCE(node_of(page_to_nid(*tables))->nr_gone) >= KPKEYS_MANY_TABLES)
		kpkeys_bury_later();
}

/* Pairs stay together. */
static void give_back(struct page *page, unsigned int order)
{
	struct page *tables[] = { page, page + 1 };

	put(tables, 1U << order, !order);
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
		put(tables + i, n, true);
	}
}

static unsigned long nr_in_magazines(void)
{
	unsigned long nr = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		nr += READ_ONCE(per_cpu_ptr(&kpkeys_cpu, cpu)->mag.nr) +
		      min(READ_ONCE(per_cpu(nr_ready, cpu)), KPKEYS_NR_READY);
	return nr;
}

/**
 * kpkeys_pool_nr_free - keyed pages that hold no table
 */
unsigned long kpkeys_pool_nr_free(void)
{
	return kpkeys_depot_nr_free() + kpkeys_depot_nr_orphans() +
	       kpkeys_depot_nr_resting() + nr_in_magazines();
}

/**
 * kpkeys_pool_nr_used - pages of the pool that hold a table
 */
unsigned long kpkeys_pool_nr_used(void)
{
	return kpkeys_state.region_pages - kpkeys_state.nr_regions -
	       kpkeys_depot_nr_free() - kpkeys_depot_nr_resting() -
	       nr_in_magazines();
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
