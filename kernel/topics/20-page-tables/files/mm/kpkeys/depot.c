// SPDX-License-Identifier: GPL-2.0-only
/*
 * The depot: page-table memory by NUMA node. See blocks.c for how memory gets
 * here and leaves.
 *
 * A region is the part of the direct map that one large entry spans. Where
 * memory allows, the pool takes a whole region (a block) and keys it with one
 * change of that entry; when memory is fragmented it takes chunks, which split
 * the entry. The first page of a region holds its bitmaps, so everything that
 * decides which page is handed out next is itself keyed.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/xarray.h>

#include "internal.h"
#include "depot.h"

DEFINE_XARRAY(kpkeys_regions);

/**
 * kpkeys_find_region - the region a page is in
 * @page: its address
 *
 * The xarray is ordinary memory: believe what it says only if it is keyed.
 *
 * Return: the region or NULL.
 */
struct kpkeys_region *kpkeys_find_region(const void *page)
{
	unsigned long index = region_index(page);
	struct kpkeys_region *region = xa_load(&kpkeys_regions, index);

	if (!region)
		return NULL;
	if (!kpkeys_has_ptp_key(region) || !kpkeys_table_is_kept(region) ||
	    region->index != index) {
		kpkeys_freelist_error("region", region);
		return NULL;
	}
	return region;
}

/**
 * kpkeys_depot_keep - headers of regions are no tables
 */
void __init kpkeys_depot_keep(void)
{
	struct kpkeys_region *region;
	unsigned long index;

	xa_for_each(&kpkeys_regions, index, region)
		kpkeys_table_keep(region);
}

DEFINE_PER_CPU(struct kpkeys_note, kpkeys_note);

/**
 * kpkeys_freelist_error - something that leads to free pages was changed
 * @what: what it was
 * @where: its address
 *
 * Counts it. The gate may be open here and a node locked: what is printed
 * comes from kpkeys_freelist_report(), the last one if there are several.
 */
void kpkeys_freelist_error(const char *what, const void *where)
{
	guard(irqsave)();
	kpkeys_event(&kpkeys_events.freelist_errors);
	raw_cpu_write(kpkeys_note.where, where);
	raw_cpu_write(kpkeys_note.what, what);
}

static struct kpkeys_note take_note(void)
{
	struct kpkeys_note note;

	guard(irqsave)();
	note = *raw_cpu_ptr(&kpkeys_note);
	raw_cpu_write(kpkeys_note.what, NULL);
	return note;
}

void __kpkeys_freelist_report(void)
{
	struct kpkeys_note note;

	/* In somebody else's section: the next call does it. */
	if (raw_cpu_read(kpkeys_cpu.level) != KPKEYS_LVL_DEFAULT)
		return;
	note = take_note();
	if (note.what)
		pr_err_ratelimited("corrupted pool: %s at %p; not used\n",
				   note.what, note.where);
}

/**
 * kpkeys_relink - put a region where its number of free pages says
 * @region: the region; its node is locked
 *
 * The fullest are used first, so that others drain and can go back.
 */
void kpkeys_relink(struct kpkeys_region *region)
{
	struct kpkeys_node *node = node_of(region->nid);
	unsigned int list = region->nr_free * KPKEYS_OCCUPANCY /
			    (KPKEYS_REGION_PAGES + 1);

	if (region->nr_free)
		list_move(&region->list, &node->regions[list]);
	else
		list_del_init(&region->list);
}

static void take_slot(struct kpkeys_region *region, unsigned int slot)
{
	__clear_bit(slot, region->free);
	region->nr_free--;
	node_of(region->nid)->nr_free--;
}

static struct kpkeys_region *first_region(struct kpkeys_node *node)
{
	unsigned int i;

	for (i = 0; i < KPKEYS_OCCUPANCY; i++)
		if (!list_empty(&node->regions[i]))
			return list_first_entry(&node->regions[i],
						struct kpkeys_region, list);
	return NULL;
}

static bool above_reserve(struct kpkeys_node *node, bool reserve,
			  unsigned int nr)
{
	return node->nr_free >= nr + (reserve ? 0 : KPKEYS_RESERVE);
}

/* Each is looked at before its link is: what has no key leads nowhere. */
static void *pop_orphan(struct kpkeys_node *node)
{
	void *page = node->orphans;

	if (!kpkeys_has_ptp_key(page)) {
		kpkeys_freelist_error("list of freed boot tables", page);
		node->orphans = NULL;
		node->nr_orphans = 0;
		return NULL;
	}
	node->orphans = *(void **)page;
	node->nr_orphans--;
	return page;
}

static void push_orphan(int nid, void *page)
{
	struct kpkeys_node *node = node_of(nid);

	if (!kpkeys_has_ptp_key(page)) {
		kpkeys_freelist_error("freed page without the key", page);
		return;
	}
	*(void **)page = node->orphans;
	node->orphans = page;
	node->nr_orphans++;
}

static void *take_one(struct kpkeys_node *node, bool reserve)
{
	struct kpkeys_region *region;
	unsigned int slot;
	void *page;

	page = node->orphans ? pop_orphan(node) : NULL;
	if (page)
		return page;
	if (!above_reserve(node, reserve, 1))
		return NULL;
	region = first_region(node);
	slot = find_first_bit(region->free, KPKEYS_REGION_PAGES);
	take_slot(region, slot);
	kpkeys_relink(region);
	return slot_page(region, slot);
}

/**
 * kpkeys_depot_fill - move pages to this CPU's magazine
 * @nid: node
 * @reserve: may the reserve be used? For one page: others need it as well
 * @nr: how many at most
 *
 * Inside a section, interrupts off. The pages go straight from keyed memory
 * to keyed memory.
 *
 * Return: how many.
 */
unsigned int kpkeys_depot_fill(int nid, bool reserve, unsigned int nr)
{
	struct kpkeys_node *node = node_of(nid);
	unsigned int n = 0;
	void *page;

	kpkeys_node_lock(nid);
	while (n < nr) {
		page = take_one(node, reserve && !n);
		if (!page)
			break;
		raw_cpu_write(kpkeys_cpu.mag.page[n++], page);
	}
	raw_cpu_write(kpkeys_cpu.mag.nr, n);
	kpkeys_node_unlock(nid);
	return n;
}

/* First of two neighbours that are free and aligned to their size. */
static int find_pair(const struct kpkeys_region *region)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(KPKEYS_REGION_PAGES); i++) {
		unsigned long word = region->free[i];

		word &= (word >> 1) & (~0UL / 3);
		if (word)
			return i * BITS_PER_LONG + __ffs(word);
	}
	return -1;
}

static void *take_pair(struct kpkeys_node *node)
{
	struct kpkeys_region *region;
	unsigned int i;
	int slot;

	for (i = 0; i < KPKEYS_OCCUPANCY; i++) {
		list_for_each_entry(region, &node->regions[i], list) {
			slot = find_pair(region);
			if (slot < 0)
				continue;
			take_slot(region, slot);
			take_slot(region, slot + 1);
			kpkeys_relink(region);
			return slot_page(region, slot);
		}
	}
	return NULL;
}

/**
 * kpkeys_depot_take - take one page, or two aligned to their common size
 * @nid: node
 * @order: 0 or 1
 * @reserve: may the reserve be used?
 *
 * Inside a section, interrupts off.
 */
void *kpkeys_depot_take(int nid, unsigned int order, bool reserve)
{
	struct kpkeys_node *node = node_of(nid);
	void *page = NULL;

	kpkeys_node_lock(nid);
	if (!order)
		page = take_one(node, reserve);
	else if (above_reserve(node, reserve, 2))
		page = take_pair(node);
	kpkeys_node_unlock(nid);
	return page;
}

static void put_slot(struct kpkeys_region *region, unsigned int slot)
{
	if (test_bit(slot, region->free) || slot == page_slot(region)) {
		kpkeys_freelist_error("page freed twice or not ours",
				      slot_page(region, slot));
		return;
	}
	__set_bit(slot, region->free);
	region->nr_free++;
	node_of(region->nid)->nr_free++;
	kpkeys_relink(region);
}

/**
 * kpkeys_depot_put - take a page back
 * @page: its address
 *
 * Inside a section, interrupts off. Boot tables may lie between the chunks of
 * a region.
 */
void kpkeys_depot_put(void *page)
{
	struct kpkeys_region *region = kpkeys_find_region(page);
	int nid = region ? region->nid : page_to_nid(virt_to_page(page));

	kpkeys_node_lock(nid);
	if (region && test_bit(page_slot(page), region->owned))
		put_slot(region, page_slot(page));
	else
		push_orphan(nid, page);
	kpkeys_node_unlock(nid);
}

/**
 * kpkeys_depot_nr_free - free pages in the regions of all nodes
 */
unsigned long kpkeys_depot_nr_free(void)
{
	unsigned long nr = 0;
	int nid;

	for_each_online_node(nid)
		nr += READ_ONCE(node_of(nid)->nr_free);
	return nr;
}

/**
 * kpkeys_depot_nr_orphans - freed pages of the boot tables
 */
unsigned long kpkeys_depot_nr_orphans(void)
{
	unsigned long nr = 0;
	int nid;

	for_each_online_node(nid)
		nr += READ_ONCE(node_of(nid)->nr_orphans);
	return nr;
}
