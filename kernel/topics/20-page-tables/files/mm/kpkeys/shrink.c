// SPDX-License-Identifier: GPL-2.0-only
/* Regions of the depot that are idle go back to the page allocator, whole. */
#include <linux/bitmap.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/shrinker.h>

#include "depot.h"

static bool is_idle(const struct kpkeys_region *region)
{
	return region->nr_free == region->nr_owned - 1;
}

/* Somebody who looked the page up by number may still hold a reference. */
static bool is_quiet(const struct kpkeys_region *region)
{
	unsigned int slot;

	for_each_set_bit(slot, region->owned, KPKEYS_REGION_PAGES)
		if (page_ref_count(virt_to_page(slot_page(region, slot))) != 1)
			return false;
	return true;
}

static struct kpkeys_region *unlink_idle(int nid)
{
	struct kpkeys_node *node = node_of(nid);
	struct kpkeys_region *region;
	int i;

	for (i = KPKEYS_OCCUPANCY - 1; i >= 0; i--) {
		list_for_each_entry(region, &node->regions[i], list) {
			if (!is_idle(region) || !is_quiet(region) ||
			    node->nr_owned < region->nr_owned + node->nr_kept ||
			    node->nr_free < region->nr_free + KPKEYS_RESERVE)
				continue;
			list_del_init(&region->list);
			region->leaving = true;
			node->nr_free -= region->nr_free;
			node->nr_owned -= region->nr_owned;
			kpkeys_state.region_pages -= region->nr_owned;
			kpkeys_state.nr_regions--;
			return region;
		}
	}
	return NULL;
}

static struct kpkeys_region *unlink_idle_locked(int nid)
{
	struct kpkeys_region *region;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_node_lock(nid);
	region = unlink_idle(nid);
	kpkeys_node_unlock(nid);
	return region;
}

/*
 * The next run of pages to go. That with the header is the last, because the
 * header says which they are: each call asks it, under its key, and has the
 * pages forgotten before they are anybody else's. What the caller keeps
 * while TLBs are flushed is ordinary memory.
 */
static unsigned int next_run(struct kpkeys_region *region, void **addr)
{
	unsigned int header = page_slot(region), start, end, first = 0, nr = 0;

	guard(kpkeys_hardened_pgtables)();
	if (!kpkeys_has_ptp_key(region) || !kpkeys_table_is_kept(region) ||
	    !region->leaving || region->index != region_index(region)) {
		kpkeys_freelist_error("region", region);
		return 0;
	}
	for_each_set_bitrange(start, end, region->owned, KPKEYS_REGION_PAGES) {
		first = start;
		nr = end - start;
		if (header < start || header >= end)
			break;
	}
	if (first <= header && header < first + nr)
		kpkeys_table_release(region);
	bitmap_clear(region->owned, first, nr);
	*addr = slot_page(region, first);
	return nr;
}

static void release(struct kpkeys_region *region)
{
	void *addr = region;
	unsigned int nr;

	do {
		nr = next_run(region, &addr);
		if (nr)
			kpkeys_block_free(addr, nr);
	} while (nr && ((void *)region < addr ||
			(void *)region >= addr + nr * PAGE_SIZE));
	kpkeys_freelist_report();
}

static unsigned long shrink_node(int nid, unsigned long nr_pages)
{
	struct kpkeys_region *region;
	unsigned long freed = 0;

	mutex_lock(&kpkeys_regions_lock);
	while (freed < nr_pages) {
		region = unlink_idle_locked(nid);
		if (!region)
			break;
		xa_erase(&kpkeys_regions, region->index);
		freed += region->nr_owned;
		release(region);
	}
	mutex_unlock(&kpkeys_regions_lock);
	atomic_long_add(freed, &kpkeys_events.shrink_returned);
	return freed;
}

/**
 * kpkeys_depot_shrink - give whole idle regions back to the page allocator
 * @nr_pages: stop after this many pages
 *
 * Return: pages given back.
 */
unsigned long kpkeys_depot_shrink(unsigned long nr_pages)
{
	unsigned long freed = 0;
	int nid;

	for_each_node_state(nid, N_MEMORY)
		if (freed < nr_pages)
			freed += shrink_node(nid, nr_pages - freed);
	return freed;
}

static unsigned long shrink_count(struct shrinker *s, struct shrink_control *sc)
{
	struct kpkeys_node *node = node_of(sc->nid);
	unsigned long free = READ_ONCE(node->nr_free), owned = READ_ONCE(node->nr_owned);

	free = min(free, owned - min(owned, READ_ONCE(node->nr_kept)));
	return free > KPKEYS_REGION_PAGES + KPKEYS_RESERVE ? free - KPKEYS_RESERVE : 0;
}

static unsigned long shrink_scan(struct shrinker *s, struct shrink_control *sc)
{
	return shrink_node(sc->nid, sc->nr_to_scan) ?: SHRINK_STOP;
}

static int __init shrinker_init(void)
{
	struct shrinker *s;

	if (!kpkeys_pgtables_enabled())
		return 0;
	s = shrinker_alloc(SHRINKER_NUMA_AWARE, "kpkeys-pool");
	if (!s)
		return -ENOMEM;
	s->count_objects = shrink_count;
	s->scan_objects = shrink_scan;
	shrinker_register(s);
	return 0;
}
late_initcall(shrinker_init);
