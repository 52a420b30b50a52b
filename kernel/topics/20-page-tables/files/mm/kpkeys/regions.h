/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sections of the pool do with regions. In line, so that nothing waits on a
 * stack that another CPU can write while the gate is open: what is taken, and
 * where it is noted, comes from keyed memory, by way of the table of frames.
 */
#ifndef _MM_KPKEYS_REGIONS_H
#define _MM_KPKEYS_REGIONS_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/string.h>

#include <asm/byteorder.h>

#include "arrivals.h"
#include "internal.h"
#include "tables.h"

/* Pages of a node that only allocations which cannot sleep may take, one by one. */
#define KPKEYS_RESERVE	32

/**
 * struct kpkeys_region - pages of the pool under one large direct-map entry
 * @list: in one of the node's lists while it has free pages
 * @next: of those that there are before there is a table of frames
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
	struct kpkeys_region	*next;
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

DECLARE_PER_CPU(struct kpkeys_note, kpkeys_note);

/*
 * In a section, interrupts off: kpkeys_freelist_error(). What is printed comes
 * from kpkeys_freelist_report(), the last one if there are several.
 */
static __always_inline void kpkeys_note_error(const char *what, const void *where)
{
	kpkeys_event(&kpkeys_events.freelist_errors);
	raw_cpu_write(kpkeys_note.where, where);
	raw_cpu_write(kpkeys_note.what, what);
}

static __always_inline unsigned long region_index(const void *page)
{
	return kpkeys_linear_pfn(page) >> KPKEYS_REGION_ORDER;
}

static __always_inline unsigned int page_slot(const void *page)
{
	return kpkeys_linear_pfn(page) & (KPKEYS_REGION_PAGES - 1);
}

static __always_inline void *slot_page(const struct kpkeys_region *region,
				       unsigned int slot)
{
	return pfn_to_kaddr((region->index << KPKEYS_REGION_ORDER) + slot);
}

/* Node numbers come from ordinary memory: none leads out of the array. */
static __always_inline unsigned int node_index(int nid)
{
	return nid & (MAX_NUMNODES - 1);
}

static __always_inline struct kpkeys_node *node_of(int nid)
{
	return &kpkeys_state.node[node_index(nid)];
}

/*
 * In a section, interrupts off. No spinlock: one that anybody can write makes
 * CPUs wait with the gate open, and store where the list of waiters says.
 */
static __always_inline void kpkeys_node_lock(int nid)
{
	while (test_and_set_bit_lock(0, &node_of(nid)->lock))
		cpu_relax();
}

static __always_inline void kpkeys_node_unlock(int nid)
{
	clear_bit_unlock(0, &node_of(nid)->lock);
}

/* ---- the region that a page is in ---- */

/* The first byte of eight that says so, in memory order. */
static __always_inline int header_among(const u64 *frames)
{
	const u64 ones = ~0ULL / 0xff;
	u64 word = le64_to_cpu(READ_ONCE(*(const __le64 *)frames)) ^ HEADER * ones;

	word = (word - ones) & ~word & (ones << 7);
	return word ? __ffs(word) / BITS_PER_BYTE : -1;
}

/* Most have it in their first page. */
static __always_inline struct kpkeys_region *find_header(unsigned long index)
{
	unsigned long pfn = index << KPKEYS_REGION_ORDER;
	const u8 *frame = frame_at(pfn);
	int i;

	if (!frame)
		return NULL;
	do {
		i = header_among((const u64 *)frame);
		if (i >= 0)
			return pfn_to_kaddr(pfn + i);
		pfn += sizeof(u64);
		frame += sizeof(u64);
	} while (pfn % KPKEYS_REGION_PAGES);
	return NULL;
}

/**
 * kpkeys_find_region - the region a page is in
 * @page: its address
 *
 * The table of frames says where its header is. Until it does, all of them are
 * in a list.
 *
 * Return: the region or NULL.
 */
static __always_inline struct kpkeys_region *kpkeys_find_region(const void *page)
{
	unsigned long index = region_index(page);
	struct kpkeys_region *region;

	if (likely(no_table))
		return find_header(index);
	region = kpkeys_state.boot_regions;
	while (region && region->index != index)
		region = region->next;
	return region;
}

/* ---- pages out ---- */

/* The kernel's own helpers call others in kernels that check their lists. */
static __always_inline void kpkeys_list_del(struct list_head *entry)
{
	__list_del(entry->prev, entry->next);
	INIT_LIST_HEAD(entry);
}

static __always_inline void kpkeys_list_add(struct list_head *entry, struct list_head *head)
{
	struct list_head *first = head->next;

	first->prev = entry;
	entry->next = first;
	entry->prev = head;
	WRITE_ONCE(head->next, entry);
}

/*
 * Put a region where its number of free pages says; its node is locked. The
 * fullest are used first, so that others drain and can go back.
 */
static __always_inline void kpkeys_relink(struct kpkeys_region *region)
{
	struct kpkeys_node *node = node_of(region->nid);
	unsigned int list = region->nr_free * KPKEYS_OCCUPANCY /
			    (KPKEYS_REGION_PAGES + 1);

	kpkeys_list_del(&region->list);
	if (region->nr_free)
		kpkeys_list_add(&region->list, &node->regions[list]);
}

static __always_inline void take_from_region(struct kpkeys_region *region, unsigned int slot)
{
	__clear_bit(slot, region->free);
	region->nr_free--;
	node_of(region->nid)->nr_free--;
}

static __always_inline struct kpkeys_region *first_region(struct kpkeys_node *node)
{
	unsigned int i = 0;

	while (i < KPKEYS_OCCUPANCY - 1 && list_empty(&node->regions[i]))
		i++;
	return list_first_entry_or_null(&node->regions[i], struct kpkeys_region, list);
}

/* No bit search out of line. */
static __always_inline unsigned int first_free(const struct kpkeys_region *region)
{
	unsigned int i = 0;

	while (i < BITS_TO_LONGS(KPKEYS_REGION_PAGES) - 1 && !region->free[i])
		i++;
	return i * BITS_PER_LONG + (region->free[i] ? __ffs(region->free[i]) : 0);
}

static __always_inline bool above_reserve(struct kpkeys_node *node, bool reserve,
					  unsigned int nr)
{
	return node->nr_free >= nr + (reserve ? 0 : KPKEYS_RESERVE);
}

/* Each is looked at before its link is: what is not free leads nowhere. */
static __always_inline void *pop_orphan(struct kpkeys_node *node)
{
	void *page = node->orphans;

	if (!kpkeys_page_is_free(page)) {
		kpkeys_note_error("list of freed boot tables", page);
		node->orphans = NULL;
		node->nr_orphans = 0;
		return NULL;
	}
	node->orphans = *(void **)page;
	node->nr_orphans--;
	return page;
}

static __always_inline void *take_one(struct kpkeys_node *node, bool reserve)
{
	struct kpkeys_region *region;
	unsigned int slot;
	void *page;

	page = node->orphans ? pop_orphan(node) : NULL;
	if (page)
		return page;
	region = first_region(node);
	if (!region || !above_reserve(node, reserve, 1))
		return NULL;
	slot = first_free(region);
	take_from_region(region, slot);
	kpkeys_relink(region);
	return slot_page(region, slot);
}

/* First of two neighbours that are free and aligned to their size. */
static __always_inline int find_pair(const struct kpkeys_region *region)
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

static __always_inline void *take_pair(struct kpkeys_node *node)
{
	struct kpkeys_region *region;
	unsigned int i;
	int slot;

	for (i = 0; i < KPKEYS_OCCUPANCY; i++) {
		list_for_each_entry(region, &node->regions[i], list) {
			slot = find_pair(region);
			if (slot < 0)
				continue;
			take_from_region(region, slot);
			take_from_region(region, slot + 1);
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
static __always_inline void *kpkeys_depot_take(int nid, unsigned int order,
					       bool reserve)
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

/* ---- pages back ---- */

static __always_inline void put_in_region(struct kpkeys_region *region, unsigned int slot)
{
	if (test_bit(slot, region->free) || slot == page_slot(region)) {
		kpkeys_note_error("page freed twice or not ours",
				  slot_page(region, slot));
		return;
	}
	__set_bit(slot, region->free);
	region->nr_free++;
	node_of(region->nid)->nr_free++;
	kpkeys_relink(region);
}

static __always_inline void push_orphan(int nid, void *page)
{
	struct kpkeys_node *node = node_of(nid);

	*(void **)page = node->orphans;
	node->orphans = page;
	node->nr_orphans++;
}

/**
 * kpkeys_depot_put - take a page back
 * @page: its address; the table of frames has it as free
 *
 * Inside a section, interrupts off. Boot tables may lie between the chunks of
 * a region.
 */
static __always_inline void kpkeys_depot_put(void *page)
{
	struct kpkeys_region *region = kpkeys_find_region(page);
	int nid = region ? region->nid : page_to_nid(virt_to_page(page));

	/* Its number anew, rather than kept on the stack. */
	kpkeys_reread(page);
	if (!kpkeys_page_is_free(page)) {
		kpkeys_note_error("page that is not free", page);
		return;
	}
	kpkeys_node_lock(nid);
	if (region && test_bit(page_slot(page), region->owned))
		put_in_region(region, page_slot(page));
	else
		push_orphan(nid, page);
	kpkeys_node_unlock(nid);
}

/* ---- tables that rest ---- */

/* So many are worth a flush of all CPUs; so many, if there is nothing else. */
#define KPKEYS_MANY_TABLES	256
#define KPKEYS_SOME_TABLES	64

/**
 * kpkeys_depot_rest - keep a table until every CPU has forgotten it
 * @page: its address; the table of frames has it as gone
 *
 * Inside a section, interrupts off. A CPU that still walks it finds that the link,
 * an even number, is no entry.
 */
static __always_inline void kpkeys_depot_rest(void *page)
{
	int nid = page_to_nid(virt_to_page(page));
	struct kpkeys_node *node = node_of(nid);

	if (kpkeys_frame_byte(page_pfn(page)) != GONE)
		return;
	kpkeys_node_lock(nid);
	*(void **)page = node->gone;
	node->gone = page;
	node->nr_gone++;
	kpkeys_node_unlock(nid);
}

#endif /* _MM_KPKEYS_REGIONS_H */
