/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to mm/kpkeys. */
#ifndef _MM_KPKEYS_INTERNAL_H
#define _MM_KPKEYS_INTERNAL_H

#include <linux/irq_work.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/nodemask.h>
#include <linux/ratelimit.h>

enum kpkeys_mode {
	KPKEYS_OFF,
	KPKEYS_AUDIT,
	KPKEYS_ENFORCE,
};

/* A region is what one large direct-map entry spans, but 8 MiB at most. */
#define KPKEYS_REGION_ORDER	(MIN(PMD_SHIFT, 23) - PAGE_SHIFT)
#define KPKEYS_REGION_PAGES	(1U << KPKEYS_REGION_ORDER)
#define KPKEYS_OCCUPANCY	4	/* lists of regions, by free pages */

/**
 * struct kpkeys_node - depot of one NUMA node
 * @lock: bit 0, taken in sections only
 * @regions: regions with free pages, the fullest in the first list
 * @orphans: freed pages of the boot tables, linked through their first word
 * @gone: tables that were linked and are free, likewise
 * @resting: those of them that CPUs are being asked to forget
 * @since: what CPUs say when they have
 * @rested: they have
 * @nr_owned: pages of all regions, free and used, and their headers
 * @nr_kept: of them, how many stay in any case
 * @nr_free: free pages in @regions
 * @nr_orphans: pages in @orphans
 * @nr_gone: pages in @gone
 * @nr_resting: pages in @resting
 */
struct kpkeys_node {
	unsigned long		lock;
	struct list_head	regions[KPKEYS_OCCUPANCY];
	void			*orphans;
	void			*gone;
	void			*resting;
	s64			since;
	bool			rested;
	unsigned long		nr_owned;
	unsigned long		nr_kept;
	unsigned long		nr_free;
	unsigned long		nr_orphans;
	unsigned long		nr_gone;
	unsigned long		nr_resting;
};

struct kpkeys_region;

#define KPKEYS_MAX_ARRIVALS	16	/* blocks that one search serves */
#define KPKEYS_MODULES	BIT(KPKEYS_MAX_ARRIVALS)
#define KPKEYS_LEAVERS	BIT(KPKEYS_MAX_ARRIVALS + 1)

/**
 * struct kpkeys_arrivals - pages that are about to get another use
 * @block: the first frame of each block, how many there are, and of what is used once
 *	only the first one that nobody uses yet
 * @nr: blocks
 * @start: first frame of all
 * @end: behind the last one
 * @mapped: of them, those that something maps; and KPKEYS_MODULES, KPKEYS_LEAVERS
 * @modules: pages of modules come or leave
 * @leaving: pages that are KPKEYS_FRAME_LEAVING
 * @next: page frame with which the search goes on
 * @entry: if that is a table, the entry
 * @at_home: that is the one by which the kernel has what it leads to
 * @found: what that leads to and must not, as in @mapped
 * @is_busy: somebody takes a step of the search
 * @round: which search that is
 * @expected: how many are about to have pages change their type
 * @since: how many keyings CPUs must have seen before the search
 * @asked: they have
 * @keyed: what CPUs say when they forgot what the search saw go
 */
struct kpkeys_arrivals {
	struct {
		unsigned long	pfn;
		unsigned long	nr;
		unsigned long	unused;
	}			block[KPKEYS_MAX_ARRIVALS];
	unsigned int		nr;
	unsigned long		start, end;
	unsigned long		mapped;
	bool			modules;
	unsigned long		leaving;
	unsigned long		next;
	unsigned int		entry;
	bool			at_home;
	unsigned long		found;
	bool			is_busy;
	unsigned long		round;
	atomic_t		expected;
	s64			since;
	bool			asked;
	s64			keyed;
};

/**
 * struct kpkeys_state - global state; whole pages with KPKEYS_PKEY_STATE
 * @mode: what a violation leads to; may only be tightened
 * @boot_pages: page-table pages keyed where they were
 * @state_pages: pages like this one
 * @region_pages: pages of the pool, free and used
 * @nr_regions: regions; each spends a page on its header
 * @lost_pages: keyed, but nobody's, since something maps them
 * @arrivals: what is to be keyed memory next
 * @keyings: how often something was keyed
 * @roots_gone: roots of mms that are gone, until no CPU runs on them
 * @patching: a CPU writes to text, by the one slot that there is
 * @are_copied: with isolation, the kernel's tables are as both halves have them
 * @proving: a violation is expected, once, while the kernel starts
 * @boot_regions: those of the depots, until there is a table of frames
 * @node: the depots
 */
struct kpkeys_state {
	enum kpkeys_mode	mode;
	unsigned long		boot_pages;
	unsigned long		state_pages;
	unsigned long		region_pages;
	unsigned long		nr_regions;
	unsigned long		lost_pages;
	struct kpkeys_arrivals	arrivals;
	atomic64_t		keyings;
	unsigned long		roots_gone;
	bool			patching;
	bool			are_copied;
	bool			proving;
	bool			only_text_runs;
	struct kpkeys_region	*boot_regions;
	struct kpkeys_node	node[MAX_NUMNODES];
} __aligned(PAGE_SIZE);

/* Events too rare for per-CPU counters. */
struct kpkeys_events {
	atomic_long_t	pool_refills;
	atomic_long_t	pool_refill_failures;
	atomic_long_t	pages_keyed;
	atomic_long_t	key_tlb_flushes;
	atomic_long_t	direct_map_splits;
	atomic_long_t	unkeyed_fallbacks;
	atomic_long_t	shrink_returned;
	atomic_long_t	freelist_errors;
	atomic_long_t	pool_blocks;
	atomic_long_t	pool_chunks;
	atomic_long_t	retype_scans;
	atomic_long_t	retype_tables;
};

extern const char * const kpkeys_mode_names[KPKEYS_ENFORCE + 1];
extern struct kpkeys_state kpkeys_state;
extern struct kpkeys_events kpkeys_events;

/* Until then tables are linked, and get their keys behind that. */
extern bool kpkeys_processes_run;

#define __KPKEYS_ALL_GRANTS(name, grants)	| (grants)

/* Everything that some level grants: for one instruction in audit mode. */
static __always_inline kpkeys_reg_t kpkeys_audit_reg(void)
{
	return ARCH_KPKEYS_REG_GRANTS(0 ARCH_KPKEYS_LEVELS(__KPKEYS_ALL_GRANTS));
}

static inline void kpkeys_event(atomic_long_t *event)
{
	atomic_long_inc(event);
}

/* walk.c */
void kpkeys_walk_kernel(kpkeys_ptp_fn fn, void *arg);
void kpkeys_walk_user(pgd_t *pgd, const char *name, kpkeys_ptp_fn fn, void *arg);
const char *kpkeys_level_name(int level);

/* keying.c */
int kpkeys_set_pkey_noflush(void *addr, unsigned int nr, int pkey, bool alias);
int kpkeys_key_new_noflush(void *addr, unsigned int nr, int pkey);
void kpkeys_key_boot_tables(void);
void kpkeys_key_static(void *addr, size_t size, int pkey,
		       unsigned long *count);

/* force.c */
bool kpkeys_in_force(void);
void kpkeys_flush_cpus(void);
bool kpkeys_ask_cpus(void);

/* cpus.c */
bool kpkeys_area_is(unsigned long offset, u64 id);

/* frames.c */
void kpkeys_frames_init(void);
int kpkeys_frames_add(unsigned long pfn, unsigned long end);
void kpkeys_frames_sync(void *addr, unsigned long nr, bool are_new);
bool kpkeys_frames_refuse_key(void *addr, unsigned long nr, int pkey);
bool kpkeys_frames_leave(void *addr, unsigned long nr);
const char *kpkeys_frame_name(unsigned long pfn);
extern u8 *kpkeys_no_frames;
void kpkeys_finish_refusal(void);
DECLARE_PER_CPU(struct irq_work, kpkeys_refusal_work);

/* links.c */
enum kpkeys_put {
	KPKEYS_PUT_REFUSED, KPKEYS_PUT_FREE, KPKEYS_PUT_RESTS, KPKEYS_PUT_GONE,
};

void kpkeys_bury_roots(void);
void kpkeys_bury_later(void);
void kpkeys_begin_rest(void);
void kpkeys_end_rest(void);
bool kpkeys_table_is_free(const void *page);
bool kpkeys_table_keep(const void *page);
bool kpkeys_table_is_kept(const void *page);
bool kpkeys_table_leave(unsigned long pfn);
void kpkeys_links_of(pgd_t *pgd);
void kpkeys_links_init(void);

/* Isolation takes what is behind a root for its other half. */
#define KPKEYS_ROOT_SIZE						\
	(PAGE_SIZE << IS_ENABLED(CONFIG_MITIGATION_PAGE_TABLE_ISOLATION))

/* retype.c */
void kpkeys_arrivals_expect(void);
void kpkeys_arrivals_settle(void);
void kpkeys_arrivals_begin(void);
int kpkeys_arrivals_add(const void *addr, unsigned int nr, int pkey);
void kpkeys_arrivals_search(void);
void kpkeys_arrivals_end(void);
bool kpkeys_arrivals_come(unsigned long pfn);
bool kpkeys_arrivals_leave(unsigned long pfn);

/* modules.c */
bool kpkeys_modules_are_entered(void);

/* roots.c */
void kpkeys_roots_init(void);
void kpkeys_roots_keep(void);

/* pool.c */
unsigned long kpkeys_pool_nr_free(void);
unsigned long kpkeys_pool_nr_used(void);

/* depot.c */
void kpkeys_depot_keep(void);
unsigned long kpkeys_depot_nr_free(void);
unsigned long kpkeys_depot_nr_orphans(void);
unsigned long kpkeys_depot_nr_resting(void);
unsigned long kpkeys_depot_nr_reserved(void);
unsigned long kpkeys_depot_shrink(unsigned long nr_pages);

/* breakpoints.c */
extern bool kpkeys_kernel_breakpoints;

/* Where page tables are hardened: may a breakpoint be in the kernel? */
static __always_inline bool kpkeys_allows_breakpoints(void)
{
	return kpkeys_kernel_breakpoints || kpkeys_state.mode == KPKEYS_AUDIT;
}

/* report.c */
#define KPKEYS_SEARCH_AT_ONCE	64	/* tables, while a violation is handled */
#define KPKEYS_MOST_PRINTED	40	/* of a kind, in this time */
#define KPKEYS_PRINT_INTERVAL	(5 * HZ)

bool kpkeys_parse_switch(const char *name, const char *arg);
bool __kpkeys_may_print(struct ratelimit_state *limit);
void kpkeys_reported(void);

/* Each place that asks is a kind. */
#define kpkeys_may_print() ({						\
	static DEFINE_RATELIMIT_STATE(__limit, KPKEYS_PRINT_INTERVAL,	\
				      KPKEYS_MOST_PRINTED);		\
	__kpkeys_may_print(&__limit);					\
})

void kpkeys_report(struct pt_regs *regs, unsigned long address, bool write);

#endif /* _MM_KPKEYS_INTERNAL_H */
