// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables that were linked rest, when they are free, until every CPU has forgotten
 * them. Who unlinks one has CPUs flush that a mask in ordinary memory names, or an
 * ASID. A CPU that was left out goes on to walk it, by what it keeps of the levels
 * above, and would take the entries of another table for what they are not.
 *
 * All nodes' tables are served by one flush, as roots are.
 */
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/sched.h>

#include "depot.h"

#define AT_ONCE	32	/* in a section */

/* What came while CPUs were asked waits for the next time. */
static noinline __flatten void name_resting(int nid)
{
	struct kpkeys_node *node;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(nid);
	node = node_of(nid);
	kpkeys_node_lock(nid);
	if (!node->resting) {
		node->resting = node->gone;
		node->nr_resting = node->nr_gone;
		node->gone = NULL;
		node->nr_gone = 0;
		node->rested = false;
		/* Who reads this number before it flushes forgets all of these. */
		node->since = atomic64_inc_return(&kpkeys_state.keyings);
	}
	kpkeys_node_unlock(nid);
}

/**
 * kpkeys_begin_rest - tables that are gone are about to be forgotten
 */
void kpkeys_begin_rest(void)
{
	int nid;

	for_each_node_state(nid, N_MEMORY)
		if (READ_ONCE(node_of(nid)->nr_gone))
			name_resting(nid);
}

/* In a section, with the node's lock. */
static __always_inline bool has_rested(struct kpkeys_node *node)
{
	if (!node->rested)
		node->rested = have_seen(&node->since);
	return node->rested;
}

static __always_inline void *pop_rested(int nid)
{
	struct kpkeys_node *node = node_of(nid);
	void *page = NULL;

	kpkeys_node_lock(nid);
	if (node->resting && has_rested(node)) {
		page = node->resting;
		node->resting = *(void **)page;
		node->nr_resting--;
	}
	kpkeys_node_unlock(nid);
	return page;
}

/* Returns whether there may be more. */
static noinline __flatten bool free_rested(int nid)
{
	void *page;

	guard(irqsave)();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_keep(nr, AT_ONCE);
	while (kpkeys_kept(nr)) {
		kpkeys_keep(nr, kpkeys_kept(nr) - 1);
		kpkeys_reread(nid);
		page = pop_rested(nid);
		if (!page)
			return false;
		if (kpkeys_table_bury(page))
			kpkeys_depot_put(page);
	}
	return true;
}

/**
 * kpkeys_end_rest - tables that every CPU has forgotten are free
 *
 * Those of a CPU that did not answer rest on.
 */
void kpkeys_end_rest(void)
{
	int nid;

	for_each_node_state(nid, N_MEMORY)
		while (READ_ONCE(node_of(nid)->resting) && free_rested(nid))
			cond_resched();
	kpkeys_freelist_report();
}

/* One flush will do for all who need a table. */
static DEFINE_MUTEX(now_lock);

static unsigned long nr_resting(int nid)
{
	return READ_ONCE(node_of(nid)->nr_gone) + READ_ONCE(node_of(nid)->nr_resting);
}

/**
 * kpkeys_rest_now - wait for CPUs to forget tables, if that brings some
 * @nid: node
 *
 * May sleep.
 *
 * Return: false if it brings next to none.
 */
bool kpkeys_rest_now(int nid)
{
	if (nr_resting(node_index(nid)) < KPKEYS_SOME_TABLES)
		return false;
	guard(mutex)(&now_lock);
	/* Who held it has brought some. */
	if (nr_resting(node_index(nid)) >= KPKEYS_SOME_TABLES)
		kpkeys_bury_roots();
	return true;
}

/**
 * kpkeys_depot_nr_resting - tables that are free and not yet forgotten
 */
unsigned long kpkeys_depot_nr_resting(void)
{
	unsigned long nr = 0;
	int nid;

	for_each_online_node(nid)
		nr += nr_resting(nid);
	return nr;
}
