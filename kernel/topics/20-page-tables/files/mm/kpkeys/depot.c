// SPDX-License-Identifier: GPL-2.0-only
/*
 * The depot: page-table memory by NUMA node. See blocks.c for how memory gets
 * here and leaves, and regions.h for what sections do with it.
 *
 * A region is the part of the direct map that one large entry spans. Where
 * memory allows, the pool takes a whole region (a block) and keys it with one
 * change of that entry; when memory is fragmented it takes chunks, which split
 * the entry. The first page of a region holds its bitmaps, so everything that
 * decides which page is handed out next is itself keyed. The table of frames says
 * which page that is.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/mm.h>
#include <linux/printk.h>

#include "depot.h"

static void __init keep(struct kpkeys_region *region)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_change_frame_now(kpkeys_linear_pfn(region), FREE, HEADER);
}

/**
 * kpkeys_depot_keep - headers of regions are no tables
 */
void __init kpkeys_depot_keep(void)
{
	struct kpkeys_region *region;

	for (region = kpkeys_state.boot_regions; region; region = region->next)
		keep(region);
}

DEFINE_PER_CPU(struct kpkeys_note, kpkeys_note);

/**
 * kpkeys_freelist_error - something that leads to free pages was changed
 * @what: what it was
 * @where: its address
 *
 * Counts it. kpkeys_freelist_report() prints it.
 */
void kpkeys_freelist_error(const char *what, const void *where)
{
	guard(irqsave)();
	kpkeys_note_error(what, where);
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
	if (note.what && kpkeys_may_print())
		pr_err("corrupted pool: %s at %p; not used\n", note.what, note.where);
}

/**
 * kpkeys_depot_fill - move pages to this CPU's magazine, if that is empty
 * @nid: node
 * @reserve: may the reserve be used? For one page: others need it as well
 * @nr: how many at most
 *
 * With interrupts off. The pages go straight from keyed memory to keyed memory.
 *
 * Return: how many are there.
 */
noinline __flatten unsigned int kpkeys_depot_fill(int nid, bool reserve,
						  unsigned int nr)
{
	unsigned int n;
	void *page;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(nid);
	kpkeys_node_lock(nid);
	for (n = raw_cpu_read(kpkeys_cpu.mag.nr); n < nr && n < KPKEYS_NR_WAITING; n++) {
		/* So that no address of the node waits on the stack. */
		kpkeys_reread(nid);
		page = take_one(node_of(nid), reserve && !n);
		if (!page)
			break;
		raw_cpu_write(kpkeys_cpu.mag.page[n], page);
		raw_cpu_write(kpkeys_cpu.mag.nr, n + 1);
	}
	kpkeys_node_unlock(nid);
	return n;
}

#define SUM_OF_NODES(field) ({						\
	unsigned long __nr = 0;						\
	int __nid;							\
									\
	for_each_online_node(__nid)					\
		__nr += READ_ONCE(node_of(__nid)->field);		\
	__nr;								\
})

/**
 * kpkeys_depot_nr_free - free pages in the regions of all nodes
 */
unsigned long kpkeys_depot_nr_free(void)
{
	return SUM_OF_NODES(nr_free);
}

/**
 * kpkeys_depot_nr_orphans - freed pages of the boot tables
 */
unsigned long kpkeys_depot_nr_orphans(void)
{
	return SUM_OF_NODES(nr_orphans);
}

/**
 * kpkeys_depot_nr_reserved - pages that are not given back, with their headers
 */
unsigned long kpkeys_depot_nr_reserved(void)
{
	return SUM_OF_NODES(nr_kept);
}
