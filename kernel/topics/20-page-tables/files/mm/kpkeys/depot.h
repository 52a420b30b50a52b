/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the depot (pages by node) and the pool (pages by CPU). */
#ifndef _MM_KPKEYS_DEPOT_H
#define _MM_KPKEYS_DEPOT_H

#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "internal.h"

/* Pages of a node that only allocations which cannot sleep may take. */
#define KPKEYS_RESERVE	32

/**
 * struct kpkeys_region - pages of the pool under one large direct-map entry
 * @list: in one of the node's lists while it has free pages
 * @index: page frame number by KPKEYS_REGION_PAGES
 * @nid: node
 * @nr_owned: pages that belong to the pool, with the one that holds this
 * @nr_free: of them, how many are in the depot
 * @owned: which
 * @free: which
 */
struct kpkeys_region {
	struct list_head	list;
	unsigned long		index;
	int			nid;
	unsigned int		nr_owned;
	unsigned int		nr_free;
	DECLARE_BITMAP(owned, KPKEYS_REGION_PAGES);
	DECLARE_BITMAP(free, KPKEYS_REGION_PAGES);
};

/* depot.c */
extern raw_spinlock_t kpkeys_node_lock[MAX_NUMNODES];
extern struct xarray kpkeys_regions;

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

static inline struct kpkeys_node *node_of(int nid)
{
	return &kpkeys_state.node[nid];
}

struct kpkeys_region *kpkeys_find_region(const void *page);
void kpkeys_relink(struct kpkeys_region *region);
unsigned int kpkeys_depot_fill(int nid, bool reserve, unsigned int nr);
void *kpkeys_depot_take(int nid, unsigned int order, bool reserve);
void kpkeys_depot_put(void *page);
void kpkeys_freelist_error(const char *what, const void *where);

/* blocks.c */
int kpkeys_depot_refill(int nid, gfp_t gfp);
void kpkeys_depot_refill_later(void);
int kpkeys_depot_bootstrap(void);
void *kpkeys_block_alloc(int nid, gfp_t gfp, unsigned int order);
int kpkeys_block_key(void *addr, unsigned int order, int pkey);
void kpkeys_block_free(void *addr, unsigned int nr);
void kpkeys_depot_start(void);

/* pool.c */
void kpkeys_pool_forget(void *addr, unsigned int nr);

#endif /* _MM_KPKEYS_DEPOT_H */
