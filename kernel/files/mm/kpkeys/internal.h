/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to mm/kpkeys and the architectures' backends. */
#ifndef _MM_KPKEYS_INTERNAL_H
#define _MM_KPKEYS_INTERNAL_H

#include <linux/kpkeys.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/nodemask.h>

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
 * @regions: regions with free pages, the fullest in the first list
 * @orphans: freed pages of the boot tables, linked through their first word
 * @nr_free: free pages in @regions
 * @nr_orphans: pages in @orphans
 */
struct kpkeys_node {
	struct list_head	regions[KPKEYS_OCCUPANCY];
	void			*orphans;
	unsigned long		nr_free;
	unsigned long		nr_orphans;
};

/**
 * struct kpkeys_state - global state; whole pages with KPKEYS_PKEY_STATE
 * @mode: what a violation leads to; may only be tightened
 * @boot_pages: page-table pages keyed where they were
 * @state_pages: pages like this one
 * @secret_pages: pages with KPKEYS_PKEY_SECRET
 * @region_pages: pages of the pool, free and used
 * @nr_regions: regions; each spends a page on its header
 * @proving: a violation is expected, once, while the kernel starts
 * @node: the depots
 */
struct kpkeys_state {
	enum kpkeys_mode	mode;
	unsigned long		boot_pages;
	unsigned long		state_pages;
	unsigned long		secret_pages;
	unsigned long		region_pages;
	unsigned long		nr_regions;
	bool			proving;
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
};

extern const char * const kpkeys_mode_names[KPKEYS_ENFORCE + 1];
extern struct kpkeys_state kpkeys_state;
extern struct kpkeys_events kpkeys_events;

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
/* Returns whether to go further down. */
typedef bool (*kpkeys_ptp_fn)(void *ptp, int level, const char *name, void *arg);

#define KPKEYS_LEVEL_PTE	1
#define KPKEYS_LEVEL_PMD	2
#define KPKEYS_LEVEL_PUD	3
#define KPKEYS_LEVEL_P4D	4
#define KPKEYS_LEVEL_PGD	5

/* Which half of a top-level table to walk. */
#define KPKEYS_WALK_USER	1
#define KPKEYS_WALK_KERNEL	2
#define KPKEYS_WALK_ALL		3

/* Entries of a top-level table that are user space's. */
#ifndef ARCH_KPKEYS_USER_PGDS
#define ARCH_KPKEYS_USER_PGDS	(PTRS_PER_PGD / 2)
#endif

void kpkeys_walk_pgd(pgd_t *pgd, int halves, const char *name,
		     kpkeys_ptp_fn fn, void *arg);
void kpkeys_walk_kernel(kpkeys_ptp_fn fn, void *arg);
void kpkeys_walk_user(pgd_t *pgd, const char *name, kpkeys_ptp_fn fn, void *arg);
const char *kpkeys_level_name(int level);

/* pgtables.c */
int kpkeys_set_pkey_noflush(void *addr, unsigned int nr, int pkey, bool alias);
int kpkeys_set_pkey(void *addr, unsigned int nr, int pkey, bool alias);
void kpkeys_flush(void);
void kpkeys_key_static(void *addr, size_t size, int pkey);

/* designs.c */
#ifdef CONFIG_KPKEYS_DESIGNS
void kpkeys_design_init(void);
const char *kpkeys_design_name(void);
bool kpkeys_design_hides(void);
bool kpkeys_keys_singly(gfp_t gfp);
void *kpkeys_single_alloc(int nid, gfp_t gfp, unsigned int order);
bool kpkeys_single_free(struct page *page, unsigned int order);
unsigned long kpkeys_nr_single(void);
#else
static inline void kpkeys_design_init(void) { }
static inline const char *kpkeys_design_name(void) { return "portcullis"; }
static inline bool kpkeys_design_hides(void) { return true; }
static inline bool kpkeys_keys_singly(gfp_t gfp) { return false; }
static inline void *kpkeys_single_alloc(int nid, gfp_t gfp, unsigned int order)
{
	return NULL;
}

static inline bool kpkeys_single_free(struct page *page, unsigned int order)
{
	return false;
}

static inline unsigned long kpkeys_nr_single(void) { return 0; }
#endif

/* secrets.c */
typedef void (*kpkeys_page_fn)(void *page, void *arg);

#ifdef CONFIG_KPKEYS_SECRETS
/* From the linker script. */
extern char __secrets_start[], __secrets_end[];
extern __percpu char __per_cpu_secrets_start[], __per_cpu_secrets_end[];

unsigned long kpkeys_secret_nr_used(void);
void kpkeys_key_secrets(void);
bool kpkeys_secrets_denied(void);
void kpkeys_walk_secrets(kpkeys_page_fn fn, void *arg);
void kpkeys_secrets_freeze(void);
void kpkeys_secrets_thaw(void);
#else
static inline unsigned long kpkeys_secret_nr_used(void) { return 0; }
static inline void kpkeys_key_secrets(void) { }
static inline bool kpkeys_secrets_denied(void) { return true; }
static inline void kpkeys_walk_secrets(kpkeys_page_fn fn, void *arg) { }
static inline void kpkeys_secrets_freeze(void) { }
static inline void kpkeys_secrets_thaw(void) { }
#endif

/* pool.c */
bool kpkeys_ptp_is_free(struct page *page);
unsigned long kpkeys_pool_nr_free(void);
unsigned long kpkeys_pool_nr_used(void);

/* depot.c */
unsigned long kpkeys_depot_nr_free(void);
unsigned long kpkeys_depot_nr_orphans(void);
unsigned long kpkeys_depot_shrink(unsigned long nr_pages);

/* report.c */
void kpkeys_report(struct pt_regs *regs, unsigned long address, bool write);

/* The architecture's backend. */
extern const char arch_kpkeys_options[];	/* for messages */
bool arch_kpkeys_option(const char *word);
const char *arch_kpkeys_unsupported(void);
const char *arch_kpkeys_backend(void);
int arch_kpkeys_set_pkey(unsigned long addr, unsigned int nr, int pkey,
			 bool alias);
void arch_kpkeys_flush(void);
int arch_kpkeys_addr_pkey(unsigned long addr);
unsigned long arch_kpkeys_mapping_size(unsigned long addr);
void *arch_kpkeys_alias(void *addr);
void arch_kpkeys_walk_extra(kpkeys_ptp_fn fn, void *arg);
void arch_kpkeys_walk_user_half(pgd_t *pgd, const char *name, kpkeys_ptp_fn fn,
				void *arg);
phys_addr_t arch_kpkeys_phys(unsigned long addr);
bool arch_kpkeys_is_violation(unsigned long error_code, unsigned long address);
bool arch_kpkeys_is_write(unsigned long error_code);
bool arch_kpkeys_repeat(struct pt_regs *regs, unsigned long address, bool write);
bool arch_kpkeys_may_pass(struct pt_regs *regs, unsigned long address,
			  bool write);
unsigned long arch_kpkeys_step(struct pt_regs *regs);
void arch_kpkeys_step_done(struct pt_regs *regs, unsigned long flags);

#endif /* _MM_KPKEYS_INTERNAL_H */
