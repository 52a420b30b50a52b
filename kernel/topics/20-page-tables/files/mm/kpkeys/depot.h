/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the depot (pages by node) and the pool (pages by CPU). */
#ifndef _MM_KPKEYS_DEPOT_H
#define _MM_KPKEYS_DEPOT_H

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/xarray.h>

#include "internal.h"

/* Pages of a node that only allocations which cannot sleep may take, one by one. */
#define KPKEYS_RESERVE	32

/**
 * struct kpkeys_region - pages of the pool under one large direct-map entry
 * @list: in one of the node's lists while it has free pages
 * @index: page frame number by KPKEYS_REGION_PAGES
 * @nid: node
 * @leaving: in no list any more, on its way back to the page allocator
 * @nr_owned: pages that belong to the pool, with the one that holds this
 * @nr_free: of them, how many are in the depot
 * @owned: which
 * @free: which
 */
struct kpkeys_region {
	struct list_head	list;
	unsigned long		index;
	int			nid;
	bool			leaving;
	unsigned int		nr_owned;
	unsigned int		nr_free;
	DECLARE_BITMAP(owned, KPKEYS_REGION_PAGES);
	DECLARE_BITMAP(free, KPKEYS_REGION_PAGES);
};

/**
 * struct kpkeys_note - what this CPU found and has not printed yet
 * @what: what was changed, or NULL
 * @where: its address
 */
struct kpkeys_note {
	const char	*what;
	const void	*where;
};

/* depot.c */
extern struct xarray kpkeys_regions;
DECLARE_PER_CPU(struct kpkeys_note, kpkeys_note);

static inline unsigned long region_index(const void *page)
{
	return PHYS_PFN(__pa(page)) >> KPKEYS_REGION_ORDER;
}

static inline unsigned int page_slot(const void *page)
{
	return PHYS_PFN(__pa(page)) & (KPKEYS_REGION_PAGES - 1);
}

static inline void *slot_page(const struct kpkeys_region *region,
			      unsigned int slot)
{
	return pfn_to_kaddr((region->index << KPKEYS_REGION_ORDER) + slot);
}

/* Node numbers come from ordinary memory: none leads out of the array. */
static inline unsigned int node_index(int nid)
{
	return nid & (MAX_NUMNODES - 1);
}

static inline struct kpkeys_node *node_of(int nid)
{
	return &kpkeys_state.node[node_index(nid)];
}

/*
 * In a section, interrupts off. No spinlock: one that anybody can write makes
 * CPUs wait with the gate open, and store where the list of waiters says.
 */
static inline void kpkeys_node_lock(int nid)
{
	while (test_and_set_bit_lock(0, &node_of(nid)->lock))
		cpu_relax();
}

static inline void kpkeys_node_unlock(int nid)
{
	clear_bit_unlock(0, &node_of(nid)->lock);
}

static inline bool kpkeys_has_ptp_key(const void *addr)
{
	return arch_kpkeys_addr_pkey((unsigned long)addr) == KPKEYS_PKEY_PGTABLES;
}

struct kpkeys_region *kpkeys_find_region(const void *page);
void kpkeys_relink(struct kpkeys_region *region);
unsigned int kpkeys_depot_fill(int nid, bool reserve, unsigned int nr);
void *kpkeys_depot_take(int nid, unsigned int order, bool reserve);
void kpkeys_depot_put(void *page);
void kpkeys_freelist_error(const char *what, const void *where);
void __kpkeys_freelist_report(void);

/**
 * kpkeys_freelist_report - print what kpkeys_freelist_error() found
 *
 * For whoever calls into the depot, behind its section and its locks.
 */
static inline void kpkeys_freelist_report(void)
{
	if (unlikely(raw_cpu_read(kpkeys_note.what)))
		__kpkeys_freelist_report();
}

/* blocks.c */
extern struct mutex kpkeys_regions_lock;
int kpkeys_depot_refill(int nid, nodemask_t *nodes, gfp_t gfp);
void kpkeys_depot_refill_later(void);
int kpkeys_depot_bootstrap(void);
void *kpkeys_block_alloc(int nid, gfp_t gfp, unsigned int order);
int kpkeys_block_key(void *addr, unsigned int order, int pkey);
bool kpkeys_block_has_key(const void *addr, size_t size, int pkey);
void kpkeys_block_free(void *addr, unsigned int nr);
void kpkeys_depot_start(void);

#endif /* _MM_KPKEYS_DEPOT_H */
