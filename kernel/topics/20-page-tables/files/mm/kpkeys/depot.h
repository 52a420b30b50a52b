/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the depot (pages by node) and the pool (pages by CPU). */
#ifndef _MM_KPKEYS_DEPOT_H
#define _MM_KPKEYS_DEPOT_H

#include "internal.h"
#include "regions.h"

/* A magazine's last places are for pages that one section took out and cleared. */
#define KPKEYS_NR_READY		8
#define KPKEYS_NR_WAITING	(KPKEYS_MAG_SIZE - KPKEYS_NR_READY)

/* depot.c */
unsigned int kpkeys_depot_fill(int nid, bool reserve, unsigned int nr);
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

/* rest.c */
bool kpkeys_rest_now(int nid);

/* blocks.c */
extern struct mutex kpkeys_regions_lock;
int kpkeys_depot_refill(int nid, nodemask_t *nodes, gfp_t gfp);
void kpkeys_depot_refill_later(void);
int kpkeys_depot_bootstrap(void);
void *kpkeys_block_alloc(int nid, gfp_t gfp, unsigned int order);
int kpkeys_block_key(void *addr, unsigned int order, int pkey);
void kpkeys_block_free(void *addr, unsigned int nr);
void kpkeys_depot_start(void);

#endif /* _MM_KPKEYS_DEPOT_H */
