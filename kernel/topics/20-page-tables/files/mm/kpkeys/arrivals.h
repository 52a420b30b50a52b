/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether keys are in force, and what was searched for: in line, for sections
 * that use new memory.
 */
#ifndef _MM_KPKEYS_ARRIVALS_H
#define _MM_KPKEYS_ARRIVALS_H

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/percpu.h>

#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_leaf.h>

#include "addresses.h"
#include "internal.h"
#include "tables.h"

static __always_inline bool is_late(unsigned int cpu, const s64 *nr)
{
	const struct kpkeys_cpu *each = per_cpu_ptr(&kpkeys_cpu, cpu);

	return READ_ONCE(each->in_use) && READ_ONCE(each->flushed) < READ_ONCE(*nr);
}

/*
 * A CPU that has not forgotten what was @nr keyings ago, or -1. By what is
 * read-only after init: nr_cpu_ids and all other masks change. The mask and the
 * number are read each time, so that they do not wait on the stack.
 */
static __always_inline int late_cpu(const s64 *nr)
{
	const unsigned long *bits = cpumask_bits(cpu_possible_mask);
	unsigned long word;
	unsigned int cpu;

	for (cpu = 0; cpu < BITS_PER_TYPE(struct cpumask); cpu++) {
		word = READ_ONCE(bits[BIT_WORD(cpu)]) >> cpu % BITS_PER_LONG;
		if (!word) {
			cpu |= BITS_PER_LONG - 1;
			continue;
		}
		cpu += __ffs(word);
		if (is_late(cpu, nr))
			return cpu;
	}
	return -1;
}

/* Has every CPU seen that many keyings, and left the sections of before? */
static __always_inline bool have_seen(const s64 *nr)
{
	return late_cpu(nr) < 0 || kpkeys_state.mode == KPKEYS_AUDIT;
}

/*
 * What CPUs will have seen when they were asked from now on. In a section, behind what
 * they are to find then: that this was before they were asked is known by the number,
 * and not by a lock in ordinary memory that keeps others from asking.
 */
static __always_inline s64 next_keying(void)
{
	/* In order with what is ahead of it; and no barrier that uses the stack. */
	return atomic64_add_return(0, &kpkeys_state.keyings) + 1;
}

static __always_inline int late_for_keys(void)
{
	return late_cpu(&kpkeys_state.keyings.counter);
}

/* kpkeys_in_force(), in line */
static __always_inline bool are_in_force(void)
{
	return have_seen(&kpkeys_state.keyings.counter);
}

static __always_inline struct kpkeys_arrivals *arrivals(void)
{
	return &kpkeys_state.arrivals;
}

static __always_inline bool is_complete(void)
{
	return READ_ONCE(arrivals()->next) == kpkeys_frames.nr * KPKEYS_FRAMES_PER_PAGE;
}

/**
 * kpkeys_modules_are_sound - were all entries asked, and is none that should not be?
 *
 * Ask this inside the guard that believes it.
 */
static __always_inline bool kpkeys_modules_are_sound(void)
{
	return arrivals()->modules && is_complete() && have_seen(&arrivals()->keyed) &&
	       !(arrivals()->mapped & KPKEYS_MODULES);
}

/**
 * kpkeys_modules_may_leave - is all that leaves without a mapping?
 *
 * Ask this inside the guard that lets it go.
 */
static __always_inline bool kpkeys_modules_may_leave(void)
{
	return arrivals()->modules && is_complete() &&
	       !(arrivals()->mapped & KPKEYS_LEAVERS) && are_in_force();
}

static __always_inline int find_arrival(unsigned long pfn, unsigned long nr)
{
	unsigned int i;

	for (i = 0; i < arrivals()->nr && i < KPKEYS_MAX_ARRIVALS; i++)
		if (pfn < arrivals()->block[i].pfn + arrivals()->block[i].nr &&
		    arrivals()->block[i].pfn < pfn + nr)
			return i;
	return -1;
}

/**
 * kpkeys_has_arrived - may pages be used, since nothing else maps them?
 * @addr: the first one
 * @nr: how many
 *
 * Ask this inside the guard that first uses them.
 *
 * Return: true; in audit mode, and before there is a table of frames, always.
 */
static __always_inline bool kpkeys_has_arrived(const void *addr, unsigned int nr)
{
	unsigned long pfn = kpkeys_linear_pfn(addr);
	int i;

	if (!kpkeys_frames.nr || kpkeys_state.mode == KPKEYS_AUDIT)
		return true;
	if (offset_in_page(addr))
		return false;
	i = find_arrival(pfn, nr);
	return i >= 0 && is_complete() && late_cpu(&arrivals()->keyed) < 0 &&
	       !(arrivals()->mapped & BIT(i)) &&
	       pfn >= arrivals()->block[i].pfn &&
	       pfn + nr <= arrivals()->block[i].pfn + arrivals()->block[i].nr;
}

/**
 * kpkeys_are_new - have pages got their key, and does nobody use them yet?
 * @addr: the first one
 * @nr: how many
 * @pkey: KPKEYS_PKEY_*
 *
 * By the table of frames. Ask this inside the guard that first believes what is in
 * them: the address waited in ordinary memory while TLBs were flushed.
 *
 * Return: true; before there is a table of frames always.
 */
static __always_inline bool kpkeys_are_new(const void *addr, unsigned int nr, int pkey)
{
	unsigned long pfn = kpkeys_linear_pfn(addr);

	if (kpkeys_frames.nr && offset_in_page(addr))
		return false;
	for (; kpkeys_frames.nr && nr; nr--, pfn++)
		if (kpkeys_frame_byte(pfn) != kpkeys_new_frame(pkey))
			return false;
	return true;
}

/**
 * kpkeys_use_arrival - use pages that have arrived, once
 * @addr: the first one
 * @nr: how many
 * @pkey: KPKEYS_PKEY_*; not that of page tables, which the pool hands out one by one
 *
 * In the section that first writes to them. Parts of a block are used in order.
 *
 * Return: false if they are something else, or somebody uses one of them.
 */
static __always_inline bool kpkeys_use_arrival(const void *addr, unsigned int nr, int pkey)
{
	unsigned long pfn = kpkeys_linear_pfn(addr), unused;
	unsigned int page;
	int i;

	if (!kpkeys_frames.nr)
		return true;
	for (page = 0; page < nr; page++)
		if (kpkeys_frame_byte(pfn + page) != kpkeys_frame_of_key(pkey))
			return false;
	i = find_arrival(pfn, nr);
	if (i < 0)
		return false;
	unused = READ_ONCE(arrivals()->block[i].unused);
	return pfn >= unused && try_cmpxchg(&arrivals()->block[i].unused, &unused, pfn + nr);
}

/* Goes on behind all that the entry maps. */
static __always_inline bool is_next_at_home(void)
{
	unsigned long pfn, nr;
	unsigned int level;
	u64 value = kernel_entry((unsigned long)pfn_to_kaddr(kpkeys_kept(table)), &level);

	if (!kpkeys_entry_leads_to(value, level, &pfn, &nr))
		return false;
	pfn += kpkeys_kept(table) & (nr - 1);
	nr -= kpkeys_kept(table) & (nr - 1);
	if (pfn != kpkeys_kept(table) || !arch_kpkeys_leaf_fits(value, kpkeys_frame(pfn)))
		return false;
	kpkeys_keep(table, pfn + nr);
	return true;
}

/**
 * kpkeys_are_at_home - does the direct map have pages where their numbers say?
 * @pfn: the first one
 * @nr: how many, that have their key
 *
 * In a section. The kernel writes what comes by its address; CPUs walk it by its
 * number, and the search looks for that. With its key it stays where it is: see
 * addresses.h.
 */
static __always_inline bool kpkeys_are_at_home(unsigned long pfn, unsigned int nr)
{
	kpkeys_keep(table, pfn);
	kpkeys_keep(end, pfn + nr);
	while (kpkeys_frames.nr && kpkeys_kept(table) < kpkeys_kept(end))
		if (!is_next_at_home())
			return false;
	return true;
}

#endif /* _MM_KPKEYS_ARRIVALS_H */
