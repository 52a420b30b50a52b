// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: kpkeys/linear_map: what the linear map is made of, what its tables
 * take and what was split. Walks the whole map: a file for people, not polls.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include <asm/kpkeys_mm.h>
#include <asm/memory.h>

#include "live_split.h"

/* Entries by what they map; of those, how many are in contiguous ranges. */
struct census {
	unsigned long puds, pmds, cont_pmds, ptes, cont_ptes;
	unsigned long pmd_tables, pte_tables;
	unsigned long last_pmd_table, last_pte_table;
};

static void count_entry(struct census *c, pte_t pte, unsigned long size)
{
	bool cont = pte_cont(pte);

	if (size == PAGE_SIZE) {
		c->ptes++;
		c->cont_ptes += cont;
	} else if (size == PMD_SIZE) {
		c->pmds++;
		c->cont_pmds += cont;
	} else {
		c->puds++;
	}
}

/* An address at which a small entry is, or could be, has a table above it. */
static void count_tables(struct census *c, unsigned long addr,
			 unsigned long size)
{
	if (size < PUD_SIZE && c->last_pmd_table != (addr & PUD_MASK)) {
		c->last_pmd_table = addr & PUD_MASK;
		c->pmd_tables++;
	}
	if (size < PMD_SIZE && c->last_pte_table != (addr & PMD_MASK)) {
		c->last_pte_table = addr & PMD_MASK;
		c->pte_tables++;
	}
}

static void take_census(struct census *c)
{
	unsigned long addr, size;
	pte_t *ptep;

	for (addr = PAGE_OFFSET; addr < PAGE_END; addr += size) {
		ptep = kpkeys_leaf(addr, &size);
		count_tables(c, addr, size);
		if (ptep)
			count_entry(c, __ptep_get(ptep), size);
		cond_resched();
	}
}

static void show(struct seq_file *m, const char *name, unsigned long value)
{
	seq_printf(m, "%s %lu\n", name, value);
}

static void show_census(struct seq_file *m, const struct census *c)
{
	unsigned long saved = c->pmds + c->puds * (1 + PTRS_PER_PMD);

	show(m, "puds", c->puds);
	show(m, "pmds", c->pmds);
	show(m, "cont_pmds", c->cont_pmds);
	show(m, "ptes", c->ptes);
	show(m, "cont_ptes", c->cont_ptes);
	show(m, "pmd_tables", c->pmd_tables);
	show(m, "pte_tables", c->pte_tables);
	show(m, "table_kib", (c->pmd_tables + c->pte_tables) * (PAGE_SIZE >> 10));
	show(m, "saved_kib", saved * (PAGE_SIZE >> 10));
}

static void show_events(struct seq_file *m, const struct live_split_events *e)
{
	show(m, "split_puds", atomic_long_read(&e->puds));
	show(m, "split_pmds", atomic_long_read(&e->pmds));
	show(m, "unfolded_pmds", atomic_long_read(&e->cont_pmds));
	show(m, "unfolded_ptes", atomic_long_read(&e->cont_ptes));
	show(m, "refused", atomic_long_read(&e->refused));
}

static int linear_map_show(struct seq_file *m, void *v)
{
	static const char * const states[] = {
		[LIVE_SPLIT_UNUSED]	= "unused",
		[LIVE_SPLIT_ON]		= "on",
		[LIVE_SPLIT_HELD]	= "held",
	};
	struct census census = {
		.last_pmd_table = ULONG_MAX,
		.last_pte_table = ULONG_MAX,
	};

	/* Tables of the map are freed only where memory goes. */
	get_online_mems();
	take_census(&census);
	put_online_mems();
	seq_printf(m, "live_split %s\n", states[live_split_state]);
	show_census(m, &census);
	show_events(m, &live_split_events);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(linear_map);

static int __init live_split_stats_init(void)
{
	struct dentry *dir = debugfs_lookup("kpkeys", NULL);

	debugfs_create_file("linear_map", 0400, dir, NULL, &linear_map_fops);
	dput(dir);
	return 0;
}
/* After the folder is made. */
late_initcall_sync(live_split_stats_init);
