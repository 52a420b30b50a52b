// SPDX-License-Identifier: GPL-2.0-only
/* Regions of the depot that are idle go back to the page allocator, whole. */
#include <linux/bitops.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/shrinker.h>

#include "depot.h"

static __always_inline bool is_idle(const struct kpkeys_region *region)
{
	return region->nr_free == region->nr_owned - 1;
}

/* May it go, as far as the node is concerned? In a section, with its lock. */
static __always_inline bool is_spare(const struct kpkeys_node *node,
				     const struct kpkeys_region *region)
{
	return is_idle(region) && !region->leaving &&
	       node->nr_owned >= region->nr_owned + node->nr_kept &&
	       node->nr_free >= region->nr_free + KPKEYS_RESERVE;
}

/* The emptiest first. */
static __always_inline struct kpkeys_region *find_spare(struct kpkeys_node *node,
							unsigned int skip)
{
	struct kpkeys_region *region;
	int i;

	for (i = KPKEYS_OCCUPANCY - 1; i >= 0; i--)
		list_for_each_entry(region, &node->regions[i], list)
			if (is_spare(node, region) && !skip--)
				return region;
	return NULL;
}

/* One that may go, behind @skip others. */
static noinline __flatten struct kpkeys_region *spare_region(int nid, unsigned int skip)
{
	struct kpkeys_region *region;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(nid);
	kpkeys_node_lock(nid);
	region = find_spare(node_of(nid), skip);
	kpkeys_node_unlock(nid);
	return region;
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

/* Which it is waited in ordinary memory. */
static __always_inline bool is_header(const struct kpkeys_region *region)
{
	return kpkeys_frame_byte(page_pfn(region)) == HEADER;
}

/* Nobody takes a page of it any more. */
static noinline __flatten bool unlink_region(struct kpkeys_region *region)
{
	struct kpkeys_node *node;
	bool is_ours;
	int nid;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(region);
	if (!is_header(region))
		return false;
	nid = region->nid;
	node = node_of(nid);
	kpkeys_node_lock(nid);
	is_ours = is_spare(node, region);
	if (is_ours) {
		kpkeys_list_del(&region->list);
		region->leaving = true;
		node->nr_free -= region->nr_free;
		node->nr_owned -= region->nr_owned;
		kpkeys_state.region_pages -= region->nr_owned;
		kpkeys_state.nr_regions--;
	}
	kpkeys_node_unlock(nid);
	return is_ours;
}

static struct kpkeys_region *unlink_idle(int nid)
{
	struct kpkeys_region *region;
	unsigned int skip;

	for (skip = 0; (region = spare_region(nid, skip)); skip++)
		if (is_quiet(region) && unlink_region(region))
			return region;
	return NULL;
}

/**
 * struct run - pages of a region that lie next to each other
 * @pfn: the first one
 * @nr: how many
 */
struct run {
	unsigned long	pfn;
	unsigned long	nr;
};

static __always_inline struct run run_from(const struct kpkeys_region *region,
					   unsigned int first)
{
	unsigned int end;

	while (first < KPKEYS_REGION_PAGES && !test_bit(first, region->owned))
		first++;
	end = first;
	while (end < KPKEYS_REGION_PAGES && test_bit(end, region->owned))
		end++;
	return (struct run){ (region->index << KPKEYS_REGION_ORDER) + first,
			     end - first };
}

static __always_inline bool is_in(const struct kpkeys_region *region, struct run run)
{
	unsigned long pfn = page_pfn(region);

	return pfn >= run.pfn && pfn < run.pfn + run.nr;
}

/* That with the header is the last: the header says which there are. */
static __always_inline struct run find_run(const struct kpkeys_region *region)
{
	struct run run = run_from(region, 0), next;

	next = run_from(region, run.pfn + run.nr -
				(region->index << KPKEYS_REGION_ORDER));
	return is_in(region, run) && next.nr ? next : run;
}

/*
 * The next pages to go. Each call asks the header, under its key, and has them
 * forgotten before they are anybody else's: what the caller keeps while TLBs are
 * flushed is ordinary memory.
 */
static noinline __flatten struct run take_run(struct kpkeys_region *region)
{
	struct run run = {};
	unsigned long pfn;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(region);
	if (!is_header(region) || !region->leaving)
		return run;
	run = find_run(region);
	for (pfn = run.pfn; pfn < run.pfn + run.nr; pfn++)
		__clear_bit(pfn & (KPKEYS_REGION_PAGES - 1), region->owned);
	if (is_in(region, run))
		kpkeys_change_frame_now(page_pfn(region), HEADER, FREE);
	return run;
}

static void release(struct kpkeys_region *region)
{
	struct run run;

	do {
		run = take_run(region);
		if (run.nr)
			kpkeys_block_free(pfn_to_kaddr(run.pfn), run.nr);
	} while (run.nr && !is_in(region, run));
	if (!run.nr)
		kpkeys_freelist_error("region", region);
	kpkeys_freelist_report();
}

static unsigned long shrink_node(int nid, unsigned long nr_pages)
{
	struct kpkeys_region *region;
	unsigned long freed = 0;

	mutex_lock(&kpkeys_regions_lock);
	while (freed < nr_pages) {
		region = unlink_idle(nid);
		if (!region)
			break;
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
