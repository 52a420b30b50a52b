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
 * said by the table of frames, too. An entry that leads to what comes is one too
 * many, unless it is the direct map's, and has the key.
 *
 * An entry that is not present does not count: to make it so again, as
 * mprotect() does with PROT_NONE, is to set it, by a helper that asks.
 *
 * Text and read-only data of modules are looked for by the same search: when
 * they come, nothing but entries that are read-only may lead to them, and when
 * they leave, nothing but what the kernel maps as data.
 *
 * The search runs in sections. What is to be found and how far the search is
 * are in keyed memory, and not on the stack, which can be written.
 * So can the lock that keeps searches apart. Steps are kept apart by a flag in
 * keyed memory: whoever takes one, for whatever round, goes on where it is.
 */
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_leaf.h>

#include "arrivals.h"
#include "internal.h"
#include "tables.h"

#define ENTRIES		(PAGE_SIZE / sizeof(u64))
#define STEPS		16	/* in a section: tables, or entries that are judged */
#define TRIES		20	/* a tick each, for a page that is just being freed */

/* Who takes pages from the page allocator to key them holds it. */
static DEFINE_MUTEX(arrivals_lock);

/* In a section. */
static __always_inline bool begin_step(void)
{
	return !xchg(&arrivals()->is_busy, true);
}

static __always_inline void wait_for_step(void)
{
	while (!begin_step())
		cpu_relax();
}

static __always_inline void end_step(void)
{
	/* Who takes the next step finds what this one has written. */
	smp_store_release(&arrivals()->is_busy, false);
}

/**
 * kpkeys_arrivals_expect - pages are about to get a key, or to be entered
 *
 * From here on copies of entries are asked what they map. Before it they need
 * not be: see is_searched_for(). Whoever did not is waited for as those who
 * found the pages ordinary.
 */
void kpkeys_arrivals_expect(void)
{
	guard(kpkeys_hardened_pgtables)();
	atomic_inc(&arrivals()->expected);
}

/**
 * kpkeys_arrivals_settle - the search for what maps them is over
 */
void kpkeys_arrivals_settle(void)
{
	guard(kpkeys_hardened_pgtables)();
	atomic_dec(&arrivals()->expected);
}

static __always_inline bool has_begun(void)
{
	return arrivals()->next || arrivals()->entry;
}

/* In a section, behind what is to be searched for. */
static __always_inline void ask_anew(void)
{
	arrivals()->since = next_keying();
	arrivals()->asked = false;
}

/* In a section. Who found these frames ordinary has written his entry. */
static __always_inline bool were_asked(void)
{
	if (!arrivals()->asked)
		arrivals()->asked = have_seen(&arrivals()->since);
	return arrivals()->asked;
}

/**
 * kpkeys_arrivals_begin - nothing comes yet
 *
 * Until kpkeys_arrivals_end() there is nobody else, unless the lock is forged:
 * then pages that come are not among those that were searched for.
 */
__flatten void kpkeys_arrivals_begin(void)
{
	mutex_lock(&arrivals_lock);
	guard(kpkeys_hardened_pgtables)();
	wait_for_step();
	arrivals()->round++;
	arrivals()->nr = 0;
	arrivals()->next = 0;
	arrivals()->entry = 0;
	arrivals()->start = ULONG_MAX;
	arrivals()->end = 0;
	arrivals()->mapped = 0;
	arrivals()->modules = arrivals()->leaving;
	ask_anew();
	end_step();
}

/**
 * kpkeys_arrivals_end - what came has its place
 */
void kpkeys_arrivals_end(void)
{
	mutex_unlock(&arrivals_lock);
}

static __always_inline int add(unsigned long pfn, unsigned int nr)
{
	unsigned int i = READ_ONCE(arrivals()->nr);

	if (i >= KPKEYS_MAX_ARRIVALS || has_begun())
		return -EEXIST;
	arrivals()->block[i].pfn = pfn;
	arrivals()->block[i].nr = nr;
	arrivals()->block[i].unused = pfn;
	arrivals()->nr = i + 1;
	arrivals()->start = min(arrivals()->start, pfn);
	arrivals()->end = max(arrivals()->end, pfn + nr);
	ask_anew();
	return 0;
}

/* From here on they are in use. Tables are handed out one by one instead. */
static __always_inline bool claim_kept(void)
{
	if (kpkeys_kept(value) == KPKEYS_FRAME_TABLE || !kpkeys_frames.nr)
		return true;
	kpkeys_keep(table, kpkeys_kept(given));
	kpkeys_keep(end, kpkeys_kept(given) + kpkeys_kept(nr));
	while (kpkeys_kept(table) < kpkeys_kept(end)) {
		if (!kpkeys_change_frame_now(kpkeys_kept(table), kpkeys_kept(value),
					     kpkeys_kept(value) & KPKEYS_FRAME_KIND))
			return false;
		kpkeys_keep(table, kpkeys_kept(table) + 1);
	}
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
noinline __flatten int kpkeys_arrivals_add(const void *addr, unsigned int nr,
					   int pkey)
{
	int ret;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(addr);
	kpkeys_reread(nr);
	if (kpkeys_state.mode != KPKEYS_AUDIT &&
	    late_for_keys() >= 0)
		return -EAGAIN;
	kpkeys_keep(given, kpkeys_linear_pfn(addr));
	kpkeys_keep(nr, nr);
	kpkeys_keep(value, kpkeys_new_frame(pkey));
	if (!kpkeys_are_new(addr, nr, pkey) ||
	    !kpkeys_are_at_home(kpkeys_kept(given), kpkeys_kept(nr)))
		return -EEXIST;
	wait_for_step();
	ret = claim_kept() ? add(kpkeys_kept(given), kpkeys_kept(nr)) : -EEXIST;
	end_step();
	return ret;
}

/* Where no memory is, all frames of that offset have one byte. */
static __always_inline bool is_hole(unsigned long pfn)
{
	unsigned long index = pfn / KPKEYS_FRAMES_PER_PAGE;

	return index >= kpkeys_frames.nr || kpkeys_frames.page[index] == kpkeys_no_frames;
}

/**
 * kpkeys_arrivals_come - look for what leads to a page that is to be a module's
 * @pfn: its page frame
 *
 * Not if the search has begun, as where the lock is forged: it may have been past
 * what leads to it.
 *
 * Return: whether it is looked for.
 */
noinline __flatten bool kpkeys_arrivals_come(unsigned long pfn)
{
	bool comes;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	wait_for_step();
	comes = pfn && !is_hole(pfn) && !has_begun() &&
		kpkeys_change_frame_now(pfn, KPKEYS_FRAME_ORDINARY,
					KPKEYS_FRAME_COMING);
	if (comes) {
		arrivals()->modules = true;
		ask_anew();
	}
	end_step();
	return comes;
}

/**
 * kpkeys_arrivals_leave - look for what leads to a page of a module that leaves
 * @pfn: its page frame
 *
 * Not if the search has begun, which may have been past what leads to it.
 *
 * Return: whether it is looked for.
 */
noinline __flatten bool kpkeys_arrivals_leave(unsigned long pfn)
{
	bool leaves;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	wait_for_step();
	leaves = !has_begun() &&
		 kpkeys_change_frame_now(pfn, KPKEYS_FRAME_MODULE,
					 KPKEYS_FRAME_LEAVING);
	if (leaves) {
		arrivals()->leaving++;
		arrivals()->modules = true;
		ask_anew();
	}
	end_step();
	return leaves;
}

/* ---- the search ---- */

static __always_inline void go_on(unsigned long pfn)
{
	arrivals()->next = pfn;
	arrivals()->entry = 0;
	/* What was mapped until the search came by may be known to a CPU. */
	if (is_complete())
		arrivals()->keyed = atomic64_inc_return(&kpkeys_state.keyings);
}

static __always_inline unsigned long skip_holes(unsigned long pfn)
{
	unsigned long index = pfn / KPKEYS_FRAMES_PER_PAGE;

	while (index < kpkeys_frames.nr &&
	       kpkeys_frames.page[index] == kpkeys_no_frames)
		index++;
	return index * KPKEYS_FRAMES_PER_PAGE;
}

/* To the next frame that may be a table, in one page of the table of frames. */
static __always_inline unsigned long skip_others(unsigned long pfn)
{
	const u8 *page = kpkeys_frames.page[pfn / KPKEYS_FRAMES_PER_PAGE];
	unsigned long i = pfn % KPKEYS_FRAMES_PER_PAGE;

	if (page == kpkeys_no_frames)
		return skip_holes(pfn);
	while (++i % sizeof(u32))
		if (kpkeys_frame_is_table(page[i] & KPKEYS_FRAME_KIND))
			return pfn - pfn % KPKEYS_FRAMES_PER_PAGE + i;
	while (i < KPKEYS_FRAMES_PER_PAGE && *(const u32 *)(page + i) == ORDINARY_FRAMES)
		i += sizeof(u32);
	return pfn - pfn % KPKEYS_FRAMES_PER_PAGE + i;
}

static __always_inline bool is_module(enum kpkeys_frame frame)
{
	return frame == KPKEYS_FRAME_MODULE || frame == KPKEYS_FRAME_LEAVING;
}

/* Worth a second look: in line, for each entry of each table. */
static __always_inline bool is_suspect(u64 value, int level)
{
	unsigned long pfn, nr;

	if (!kpkeys_may_lead_to(value, level, &pfn, &nr))
		return false;
	if (pfn < READ_ONCE(arrivals()->end) &&
	    pfn + nr > READ_ONCE(arrivals()->start))
		return nr > 1 || kpkeys_frame(pfn) != KPKEYS_FRAME_ORDINARY;
	return READ_ONCE(arrivals()->modules) && (nr > 1 || is_module(kpkeys_frame(pfn)));
}

/* Stops at the next suspect. Returns whether there is one. */
static __always_inline bool find_suspect(unsigned long pfn, int level)
{
	const u64 *table = pfn_to_kaddr(pfn);
	unsigned int i = READ_ONCE(arrivals()->entry);

	while (i < ENTRIES && !is_suspect(READ_ONCE(table[i]), level))
		i++;
	arrivals()->entry = i;
	return i < ENTRIES;
}

/* Is the entry that the search is at the one by which the kernel has a frame? */
static __always_inline bool is_home_of(unsigned long pfn)
{
	unsigned int level;
	const u64 *slot = kernel_slot((unsigned long)pfn_to_kaddr(pfn), &level);

	return kpkeys_table_of(slot) == arrivals()->next &&
	       offset_in_page(slot) == arrivals()->entry * sizeof(u64);
}

/* Of what comes, all has one key. */
static __always_inline void find_arrivals(u64 value, unsigned long pfn, unsigned long nr)
{
	unsigned long start;
	unsigned int i;

	for (i = 0; i < arrivals()->nr && i < KPKEYS_MAX_ARRIVALS; i++) {
		kpkeys_reread(value);
		start = arrivals()->block[i].pfn;
		if (pfn < start + arrivals()->block[i].nr && start < pfn + nr &&
		    !(arrivals()->at_home &&
		      arch_kpkeys_leaf_fits(value, kpkeys_frame(start))))
			arrivals()->found |= BIT(i);
	}
}

static __always_inline bool may_lead_to_leaver(u64 value)
{
	return kpkeys_frame(arrivals()->next) == KPKEYS_FRAME_KERNEL_TABLE &&
	       arch_kpkeys_leaf_is_data(value);
}

static __always_inline void find_modules(u64 value, unsigned long pfn, unsigned long nr)
{
	enum kpkeys_frame frame;

	if (!arrivals()->modules || kpkeys_are_ordinary(pfn, nr))
		return;
	for (; nr--; pfn++) {
		kpkeys_reread(value);
		frame = kpkeys_frame(pfn);
		if (frame == KPKEYS_FRAME_MODULE && !arch_kpkeys_leaf_fits(value, frame))
			arrivals()->found |= KPKEYS_MODULES;
		if (frame == KPKEYS_FRAME_LEAVING && !may_lead_to_leaver(value))
			arrivals()->found |= KPKEYS_LEAVERS;
	}
}

/* What the suspect leads to and must not, a bit for each. In a section. */
static __always_inline unsigned long misfits(void)
{
	unsigned long table = arrivals()->next, pfn, nr;
	int level = kpkeys_level_to_search(table);
	u64 value;

	arrivals()->found = 0;
	if (!level || arrivals()->entry >= ENTRIES)
		return 0;
	value = READ_ONCE(((const u64 *)pfn_to_kaddr(table))[arrivals()->entry]);
	if (!kpkeys_entry_leads_to(value, level, &pfn, &nr))
		return 0;
	arrivals()->at_home = is_home_of(pfn);
	/* Made anew, rather than kept while that looked. */
	kpkeys_reread(value);
	if (!kpkeys_may_lead_to(value, level, &pfn, &nr))
		return 0;
	find_arrivals(value, pfn, nr);
	find_modules(value, pfn, nr);
	return arrivals()->found;
}

static __always_inline bool is_round(unsigned long round)
{
	return READ_ONCE(arrivals()->round) == round && !is_complete();
}

/* Returns false if it is at a misfit. */
static __always_inline bool search_on(void)
{
	int level = kpkeys_level_to_search(READ_ONCE(arrivals()->next));

	if (!level) {
		go_on(skip_others(READ_ONCE(arrivals()->next)));
	} else if (!find_suspect(READ_ONCE(arrivals()->next), level)) {
		atomic_long_inc(&kpkeys_events.retype_tables);
		go_on(READ_ONCE(arrivals()->next) + 1);
	} else if (!misfits()) {
		arrivals()->entry++;
	} else {
		return false;
	}
	return true;
}

/* Returns whether it stopped at a misfit. */
static noinline __flatten bool search_some(unsigned long round)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(round);
	if (!begin_step())
		return false;
	kpkeys_keep(given, round);
	kpkeys_keep(nr, STEPS);
	kpkeys_keep(done, !were_asked());
	while (!kpkeys_kept(done) && kpkeys_kept(nr) && is_round(kpkeys_kept(given))) {
		kpkeys_keep(done, !search_on());
		kpkeys_keep(nr, kpkeys_kept(nr) - 1);
	}
	end_step();
	return kpkeys_kept(done) && arrivals()->asked;
}

static noinline __flatten bool is_misfit(unsigned long round)
{
	bool found;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(round);
	if (!begin_step())
		return true;
	found = is_round(round) && misfits();
	end_step();
	return found;
}

static noinline __flatten void note_misfit(unsigned long round)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(round);
	wait_for_step();
	if (is_round(round) && were_asked()) {
		arrivals()->mapped |= misfits();
		arrivals()->entry++;
	}
	end_step();
}

/* A page may be freed, and become something else, while it is looked at. */
static void judge(unsigned long round)
{
	unsigned int i;

	for (i = 0; i < TRIES && is_misfit(round); i++)
		schedule_timeout_uninterruptible(1);
	note_misfit(round);
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
	/*
	 * Who found these frames ordinary has written his entry then. RCU says so
	 * of those as well who had no section yet, but by ordinary memory.
	 */
	synchronize_rcu_expedited();
	if (!kpkeys_ask_cpus())
		return;
	kpkeys_event(&kpkeys_events.retype_scans);
	while (is_round(round) && have_seen(&arrivals()->since)) {
		if (search_some(round))
			judge(round);
		cond_resched();
	}
	kpkeys_flush();
	report();
}
