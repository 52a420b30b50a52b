// SPDX-License-Identifier: GPL-2.0-only
/* Entries of the kernel's that other tables get, and new top-level tables. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/printk.h>

#include <asm/espfix.h>
#include <asm/kpkeys_leaf.h>
#include <asm/kpkeys_mm.h>

#include "kpkeys/addresses.h"
#include "kpkeys/links.h"
#include "kpkeys/slots.h"

/* Whether to ask lay on the stack of an interrupt, maybe, as what to ask about did. */
static __always_inline bool let_through(bool ask)
{
	return !ask && kpkeys_state.mode == KPKEYS_AUDIT;
}

/* Of the same level, so that no entry means something else than before. */
static bool is_like(const void *to, const void *from, unsigned int nr)
{
	int level = kpkeys_table_level(kpkeys_entry_pfn(to));

	return !kpkeys_pgtables_enabled() ||
	       (offset_in_page(to) + nr * sizeof(pgd_t) <= PAGE_SIZE && level &&
		level == kpkeys_table_level(kpkeys_entry_pfn(from)));
}

/* The kernel's, and all of it. */
static __always_inline bool is_whole_half(const pgd_t *to, unsigned int nr)
{
	return offset_in_page(to) == KERNEL_PGD_BOUNDARY * sizeof(pgd_t) &&
	       nr == KERNEL_PGD_PTRS;
}

static noinline __flatten bool clone_range(pgd_t *to, const pgd_t *from, unsigned int nr, bool ask)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(to);
	kpkeys_reread(from);
	kpkeys_reread(nr);
	if (!((is_whole_half(to, nr) && kpkeys_begin_root(to, from, nr)) ||
	      let_through(ask)))
		return false;
	memcpy(to, from, nr * sizeof(pgd_t));
	/* The half that user space runs on comes behind. */
	if (cpu_feature_enabled(X86_FEATURE_PTI))
		memcpy(to + PTRS_PER_PGD, from + PTRS_PER_PGD,
		       nr * sizeof(pgd_t));
	return true;
}

/**
 * kpkeys_clone_pgd_range - clone_pgd_range() where page tables are protected
 * @to: in a new top-level table
 * @from: in one that CPUs use
 * @nr: how many entries, of one table
 */
void kpkeys_clone_pgd_range(pgd_t *to, const pgd_t *from, unsigned int nr)
{
	if (clone_range(to, from, nr, true) ||
	    kpkeys_refuse("use as a root", "another page", to, NULL))
		return;
	clone_range(to, from, nr, false);
}

/*
 * What is keyed has one address of the kernel. So an entry that leads to it has another
 * place in other top-level tables only, and the same one, once the kernel's are made.
 */
static __always_inline bool is_same_place(int level)
{
	bool made = kpkeys_top_has_twin() ? kpkeys_state.are_copied : kpkeys_processes_run;

	return !made ||
	       (level == KPKEYS_LEVEL_PGD && offset_in_page(kpkeys_kept(entry)) ==
					     offset_in_page(kpkeys_kept(source)));
}

/* Of what is kept, in the section. */
static __always_inline bool may_copy(void)
{
	unsigned long from = kpkeys_table_of(kpkeys_kept(source));
	int level = level_of_linked(slot_pfn(kpkeys_kept(entry)));

	return level && level == level_of_linked(from) && is_same_place(level) &&
	       kpkeys_frame(from) == KPKEYS_FRAME_KERNEL_TABLE &&
	       !kpkeys_loses(READ_ONCE(*kpkeys_kept(entry)), kpkeys_kept(value), level);
}

/* Asked in the section: both lay on the stack of an interrupt, maybe. */
static noinline __flatten bool copy_entry(u64 *entry, const u64 *source, bool ask)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	kpkeys_reread(source);
	kpkeys_keep(entry, entry);
	kpkeys_keep(source, source);
	kpkeys_keep(value, READ_ONCE(*source));
	kpkeys_keep(done, let_through(ask));
	if (kpkeys_frames.nr && !may_copy() && !kpkeys_kept(done))
		return false;
	__kpkeys_share_table(kpkeys_table_pfn(kpkeys_kept(value)));
	WRITE_ONCE(*kpkeys_kept(entry), kpkeys_kept(value));
	return true;
}

/**
 * kpkeys_copy_entries - copy entries of one table to another
 * @to: first entry to write
 * @from: first entry to read
 * @nr: how many, of one table
 *
 * For callers that find @to in data that anybody can write: nothing but a
 * linked table of the same level is written, and the gate is open for a single
 * entry each, where that differs. The tables that they lead to are shared then.
 */
void kpkeys_copy_entries(void *to, const void *from, unsigned int nr)
{
	const u64 *source = from;
	u64 *entry = to;

	if (!is_like(to, from, nr)) {
		pr_err_ratelimited("corrupted pointer to a page table: not written to\n");
		return;
	}
	for (; nr--; entry++, source++) {
		if (READ_ONCE(*entry) == READ_ONCE(*source))
			continue;
		if (copy_entry(entry, source, true))
			continue;
		if (kpkeys_refuse("copy", "another page table", entry, NULL))
			return;
		copy_entry(entry, source, false);
	}
}

/**
 * kpkeys_tables_are_copied - below the top no entry is copied any more
 *
 * Where both halves have tables of the kernel's, that is behind its last change of them.
 */
void kpkeys_tables_are_copied(void)
{
	if (!kpkeys_pgtables_enabled())
		return;
	guard(kpkeys_hardened_pgtables)();
	kpkeys_state.are_copied = true;
}

#ifdef CONFIG_X86_ESPFIX64
/* Its entries are at many places of a table, where none is copied to later. */
static int __init make_espfix(void)
{
	int cpu;

	if (kpkeys_pgtables_enabled())
		for_each_possible_cpu(cpu)
			init_espfix_ap(cpu);
	return 0;
}
early_initcall(make_espfix);
#endif
