// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory changes its type: it becomes page tables, or secrets, when nothing
 * maps it any more. The page allocator says that nobody uses it, but by a count
 * and by lists that anybody can write. So the entries themselves are asked.
 *
 * What comes has its key, and is in the table of frames as what it is to be.
 * From there on no helper writes an entry that maps it. Behind the flush that
 * puts the key in force, and when whoever looked at the table of frames before
 * has written his entry, the pages of all tables are read. What they are is
 * said by the table of frames, too. An entry that leads to what comes, and is
 * not that of the direct map, is one too many.
 *
 * An entry that is not present does not count: to make it so again, as
 * mprotect() does with PROT_NONE, is to set it, by a helper that asks.
 *
 * Text and read-only data of modules are looked for by the same search: when
 * they come, nothing but entries that are read-only may lead to them, and when
 * they leave, nothing but the direct map.
 *
 * What is to be found and how far the search is are in keyed memory.
 */
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/unaligned.h>

#include <asm/kpkeys_entries.h>

#include "depot.h"
#include "internal.h"

#define ENTRIES		(PAGE_SIZE / sizeof(u64))
#define TRIES		20	/* a tick each, for a page that is just being freed */

/* Who takes pages from the page allocator to key them holds it. */
static DEFINE_MUTEX(arrivals_lock);

static struct kpkeys_arrivals *arrivals(void)
{
	return &kpkeys_state.arrivals;
}

/**
 * kpkeys_arrivals_begin - nothing comes yet
 *
 * Until kpkeys_arrivals_end() there is nobody else, unless the lock is forged:
 * then pages that come are not among those that were searched for.
 */
void kpkeys_arrivals_begin(void)
{
	mutex_lock(&arrivals_lock);
	guard(kpkeys_hardened_pgtables)();
	arrivals()->round++;
	arrivals()->nr = 0;
	arrivals()->next = 0;
	arrivals()->mapped = 0;
	arrivals()->modules = arrivals()->leaving;
}

/**
 * kpkeys_arrivals_end - what came has its place
 */
void kpkeys_arrivals_end(void)
{
	mutex_unlock(&arrivals_lock);
}

/* Of tables: those that are not used yet. */
static bool are_new(unsigned long pfn, unsigned int nr, int pkey)
{
	while (nr--)
		if (kpkeys_frame_byte(pfn++) != kpkeys_frame_of_key(pkey))
			return false;
	return true;
}

/**
 * kpkeys_arrivals_add - pages come that have a key, entered and in force
 * @addr: the first one
 * @nr: how many
 * @pkey: the key
 *
 * Return: 0, -EAGAIN if another kpkeys_flush() is due, or -EEXIST if they are
 * not what they were keyed as.
 */
int kpkeys_arrivals_add(const void *addr, unsigned int nr, int pkey)
{
	unsigned long pfn = PHYS_PFN(__pa(addr));
	unsigned int i;

	guard(kpkeys_hardened_pgtables)();
	if (!kpkeys_in_force())
		return -EAGAIN;
	i = READ_ONCE(arrivals()->nr);
	if (i >= KPKEYS_MAX_ARRIVALS || arrivals()->next ||
	    !kpkeys_block_has_key(addr, nr * PAGE_SIZE, pkey) ||
	    (kpkeys_frames.nr && !are_new(pfn, nr, pkey)))
		return -EEXIST;
	arrivals()->block[i].pfn = pfn;
	arrivals()->block[i].nr = nr;
	arrivals()->nr = i + 1;
	return 0;
}

/**
 * kpkeys_arrivals_add_modules - look for what leads to pages of modules, too
 */
void kpkeys_arrivals_add_modules(void)
{
	guard(kpkeys_hardened_pgtables)();
	arrivals()->modules = true;
}

static bool is_complete(void)
{
	return arrivals()->next == kpkeys_frames.nr;
}

/**
 * kpkeys_modules_are_sound - were all entries asked, and is none that should not be?
 */
bool kpkeys_modules_are_sound(void)
{
	return arrivals()->modules && is_complete() &&
	       !(arrivals()->mapped & KPKEYS_MODULES);
}

/**
 * kpkeys_modules_may_leave - is all that leaves without a mapping?
 *
 * Ask this inside the guard that lets it go.
 */
bool kpkeys_modules_may_leave(void)
{
	return arrivals()->modules && is_complete() && kpkeys_in_force();
}

static int find_arrival(unsigned long pfn, unsigned long nr)
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
bool kpkeys_has_arrived(const void *addr, unsigned int nr)
{
	unsigned long pfn = PHYS_PFN(__pa(addr));
	int i;

	if (!kpkeys_frames.nr || kpkeys_state.mode == KPKEYS_AUDIT)
		return true;
	i = find_arrival(pfn, nr);
	return i >= 0 && is_complete() &&
	       !(arrivals()->mapped & BIT(i)) &&
	       pfn >= arrivals()->block[i].pfn &&
	       pfn + nr <= arrivals()->block[i].pfn + arrivals()->block[i].nr;
}

/* ---- the search ---- */

/**
 * struct span - frames from the first to the last that comes
 * @start: the first one
 * @end: behind the last one
 */
struct span {
	unsigned long	start, end;
};

static struct span span_of_arrivals(void)
{
	struct span span = { .start = ULONG_MAX };
	unsigned int i;

	if (arrivals()->modules)
		return (struct span) { .end = ULONG_MAX };

	for (i = 0; i < arrivals()->nr && i < KPKEYS_MAX_ARRIVALS; i++) {
		span.start = min(span.start, arrivals()->block[i].pfn);
		span.end = max(span.end, arrivals()->block[i].pfn +
					 arrivals()->block[i].nr);
	}
	return span;
}

/* The direct map has them, with their key. */
static bool is_direct_map(const void *entry, unsigned long pfn)
{
	struct kpkeys_leaf leaf;

	return arch_kpkeys_leaf((unsigned long)pfn_to_kaddr(pfn), &leaf) &&
	       leaf.entry == __pa(entry);
}

/* A large entry may lead to several. */
static unsigned long arrivals_below(const u64 *entry, unsigned long pfn,
				    unsigned long nr)
{
	unsigned long mask = 0, start;
	unsigned int i;

	for (i = 0; i < arrivals()->nr && i < KPKEYS_MAX_ARRIVALS; i++) {
		start = arrivals()->block[i].pfn;
		if (pfn < start + arrivals()->block[i].nr && start < pfn + nr &&
		    !is_direct_map(entry, max(pfn, start)))
			mask |= BIT(i);
	}
	return mask;
}

static bool is_misfit(const u64 *entry, u64 value, unsigned long pfn)
{
	switch (kpkeys_frame(pfn)) {
	case KPKEYS_FRAME_MODULE:
		return !arch_kpkeys_leaf_fits(value, KPKEYS_FRAME_MODULE);
	case KPKEYS_FRAME_LEAVING:
		return !is_direct_map(entry, pfn);
	default:
		return false;
	}
}

static unsigned long modules_below(const u64 *entry, u64 value,
				   unsigned long pfn, unsigned long nr)
{
	if (!arrivals()->modules || kpkeys_are_ordinary(pfn, nr))
		return 0;
	for (; nr--; pfn++)
		if (is_misfit(entry, value, pfn))
			return KPKEYS_MODULES;
	return 0;
}

/* Returns which ones it leads to, a bit for each. */
static unsigned long look_at(const u64 *entry, int level, const struct span *span)
{
	unsigned long pfn, nr;
	u64 value = READ_ONCE(*entry);

	if (!kpkeys_entry_leads_to(value, level, &pfn, &nr) ||
	    pfn >= span->end || pfn + nr <= span->start ||
	    (nr == 1 && !kpkeys_frame(pfn)))
		return 0;
	return arrivals_below(entry, pfn, nr) |
	       modules_below(entry, value, pfn, nr);
}

/* A page may be freed, and become something else, while it is looked at. */
static unsigned long are_still_mapped(const u64 *entry, int level,
				      const struct span *span, unsigned long mask)
{
	unsigned int i;

	for (i = 0; mask && i < TRIES; i++) {
		if (kpkeys_level_to_search(PHYS_PFN(__pa(entry))) != level)
			return 0;
		mask &= look_at(entry, level, span);
		schedule_timeout_uninterruptible(1);
	}
	return mask;
}

static void note_mapped(unsigned long mask)
{
	guard(kpkeys_hardened_pgtables)();
	arrivals()->mapped |= mask;
}

/* What is in use does not leave. */
static void keep_modules(const u64 *entry, int level)
{
	unsigned long pfn, nr;

	if (!kpkeys_entry_leads_to(READ_ONCE(*entry), level, &pfn, &nr))
		return;
	for (; nr--; pfn++)
		kpkeys_module_stays(pfn);
}

static void search_table(unsigned long pfn, int level, const struct span *span)
{
	const u64 *entry = pfn_to_kaddr(pfn), *end = entry + ENTRIES;
	unsigned long mask;

	for (; entry < end; entry++) {
		mask = look_at(entry, level, span) &
		       (~arrivals()->mapped | KPKEYS_MODULES);
		if (unlikely(mask))
			mask = are_still_mapped(entry, level, span, mask);
		if (unlikely(mask))
			note_mapped(mask);
		if (unlikely(mask & KPKEYS_MODULES))
			keep_modules(entry, level);
	}
	atomic_long_inc(&kpkeys_events.retype_tables);
	cond_resched();
}

static void search_word(unsigned long pfn, const struct span *span)
{
	unsigned long end = pfn + sizeof(u64);
	int level;

	for (; pfn < end; pfn++) {
		level = kpkeys_level_to_search(pfn);
		if (level)
			search_table(pfn, level, span);
	}
}

/* Those whose frames are in one page of the table of frames. */
static void search_page(unsigned long index, const struct span *span)
{
	const u8 *page = kpkeys_frames.page[index];
	unsigned long i;

	for (i = 0; i < KPKEYS_FRAMES_PER_PAGE; i += sizeof(u64))
		if (get_unaligned((const u64 *)(page + i)))
			search_word(index * KPKEYS_FRAMES_PER_PAGE + i, span);
}

static unsigned long skip_holes(unsigned long index)
{
	while (index < kpkeys_frames.nr && kpkeys_frames_are_hole(index))
		index++;
	return index;
}

static void note_searched(unsigned long round, unsigned long from, unsigned long to)
{
	guard(kpkeys_hardened_pgtables)();
	if (arrivals()->round != round || arrivals()->next != from)
		return;
	arrivals()->next = to;
	/* What was mapped for a moment may be known to a CPU. */
	if (arrivals()->modules && is_complete())
		atomic64_inc(&kpkeys_state.keyings);
}

/* Returns whether there is more. */
static bool search_next(unsigned long round)
{
	unsigned long from = READ_ONCE(arrivals()->next), index = skip_holes(from);
	struct span span = span_of_arrivals();

	if (index < kpkeys_frames.nr)
		search_page(index++, &span);
	note_searched(round, from, index);
	return index < kpkeys_frames.nr && READ_ONCE(arrivals()->round) == round;
}

static void report(void)
{
	unsigned int i;

	for (i = 0; i < arrivals()->nr && i < KPKEYS_MAX_ARRIVALS; i++)
		if (arrivals()->mapped & BIT(i))
			kpkeys_refuse("change of type", "a mapped page",
				      pfn_to_kaddr(arrivals()->block[i].pfn), NULL);
}

/**
 * kpkeys_arrivals_search - look for entries that lead to what comes
 *
 * May sleep. Reports what it finds; kpkeys_has_arrived() says what may be used.
 */
void kpkeys_arrivals_search(void)
{
	unsigned long round = READ_ONCE(arrivals()->round);

	if (!kpkeys_frames.nr)
		return;
	/* Who found these frames ordinary has written his entry then. */
	synchronize_rcu_expedited();
	kpkeys_event(&kpkeys_events.retype_scans);
	while (search_next(round))
		;
	report();
}
