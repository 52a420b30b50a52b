// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of roots, in pages of the pool that are never given back. The number
 * in an mm is ordinary memory: it only says where to look, and a record that
 * names another mm is not that mm's.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/export.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/kpkeys_ptp.h>
#include <linux/kpkeys_roots.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "arrivals.h"
#include "depot.h"
#include "internal.h"
#include "links.h"

#define ROOTS_PER_PAGE	(PAGE_SIZE / sizeof(struct kpkeys_root))

#define NO_ROOT_SIZE	KPKEYS_ROOT_SIZE
#define NO_SUCH_ROOT	(~0U)

struct kpkeys_roots kpkeys_roots;
EXPORT_SYMBOL_GPL(kpkeys_roots);

pgd_t kpkeys_no_root[NO_ROOT_SIZE / sizeof(pgd_t)]
	__aligned(NO_ROOT_SIZE) __ro_after_init;
EXPORT_SYMBOL_GPL(kpkeys_no_root);

/* Who forges it may have records mixed up, and their mms refused. */
static DEFINE_RAW_SPINLOCK(roots_lock);

static unsigned int number(unsigned int page, unsigned int i)
{
	return page << KPKEYS_ROOT_SHIFT | i * sizeof(struct kpkeys_root);
}

static __always_inline const struct mm_struct *mm_of(unsigned int nr)
{
	return READ_ONCE(__kpkeys_root_at(nr)->mm);
}

static void set_root(unsigned int nr, struct mm_struct *mm, pgd_t *pgd)
{
	struct kpkeys_root *root = __kpkeys_root_at(nr);

	guard(kpkeys_hardened_pgtables)();
	root->pgd = pgd;
	root->mm = mm;
}

static __always_inline unsigned int chain_of(const struct mm_struct *mm)
{
	return hash_ptr(mm, ilog2(KPKEYS_ROOT_CHAINS));
}

/* The record of an mm, whatever the mm says. That of init_mm is in no chain. */
static __always_inline unsigned int find(const struct mm_struct *mm)
{
	unsigned int nr = READ_ONCE(kpkeys_roots.chain[chain_of(mm)]);

	while (nr && mm_of(nr) != mm)
		nr = READ_ONCE(__kpkeys_root_at(nr)->next);
	return nr;
}

static __always_inline bool has_root(const struct mm_struct *mm)
{
	return mm == &init_mm || find(mm);
}

/* In a section. */
static __always_inline void add_to_chain(unsigned int nr)
{
	struct kpkeys_root *root = __kpkeys_root_at(nr);
	unsigned int *chain = &kpkeys_roots.chain[chain_of(mm_of(nr))];

	root->next = *chain;
	WRITE_ONCE(*chain, nr);
}

/* In a section. Who is at the record looks at no other from there on. */
static __always_inline void take_from_chain(unsigned int nr)
{
	struct kpkeys_root *root = __kpkeys_root_at(nr);
	unsigned int *at = &kpkeys_roots.chain[chain_of(mm_of(nr))];

	while (*at && *at != nr)
		at = &__kpkeys_root_at(*at)->next;
	if (*at)
		WRITE_ONCE(*at, root->next);
}

/* The first record of all is init_mm's and never free. An mm has one root. */
static noinline __flatten unsigned int take_root(struct mm_struct *mm, pgd_t *pgd)
{
	struct kpkeys_root *root;
	unsigned int nr;

	if (!READ_ONCE(kpkeys_roots.free))
		return 0;
	guard(kpkeys_hardened_pgtables)();
	if (has_root(mm) || !kpkeys_link_root(pgd))
		return NO_SUCH_ROOT;
	nr = READ_ONCE(kpkeys_roots.free);
	root = __kpkeys_root_at(nr);
	kpkeys_roots.free = (unsigned long)root->pgd;
	root->pgd = pgd;
	root->mm = mm;
	add_to_chain(nr);
	return nr;
}

/* In a section. */
static __always_inline void push_root(unsigned int nr)
{
	struct kpkeys_root *root = __kpkeys_root_at(nr);

	root->mm = NULL;
	root->since = 0;
	root->pgd = (pgd_t *)(unsigned long)kpkeys_roots.free;
	kpkeys_roots.free = nr;
}

/* ---- roots of mms that are gone ---- */

#define MANY_GONE	16

/* What a record says instead of an mm: nobody has it. */
#define NOBODY	((struct mm_struct *)kpkeys_no_root)

static unsigned int nr_records(void)
{
	return READ_ONCE(kpkeys_roots.nr_pages) * ROOTS_PER_PAGE;
}

static __always_inline bool is_new(const struct kpkeys_root *root)
{
	return READ_ONCE(root->mm) == NOBODY && !READ_ONCE(root->since);
}

/* Each CPU has said since then that it runs on another root. */
static __always_inline bool is_left(const struct kpkeys_root *root)
{
	return READ_ONCE(root->mm) == NOBODY && READ_ONCE(root->since) &&
	       have_seen(&root->since);
}

static __always_inline bool has_record(unsigned int page, bool (*is)(const struct kpkeys_root *))
{
	unsigned int i;

	for (i = 0; i < ROOTS_PER_PAGE; i++)
		if (is(__kpkeys_root_at(number(page, i))))
			return true;
	return false;
}

/* Those that were also freed: behind that, nobody knows the table any more. */
static noinline __flatten void ask_for(unsigned int page)
{
	struct kpkeys_root *root;
	unsigned int i;

	if (!has_record(page, is_new))
		return;
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(page);
	for (i = 0; i < ROOTS_PER_PAGE; i++) {
		root = __kpkeys_root_at(number(page, i));
		if (is_new(root) &&
		    kpkeys_frame_byte(kpkeys_linear_pfn(root->pgd)) == GONE)
			root->since = next_keying();
	}
}

/* Returns false if a CPU still runs on it: it is lost. */
static __always_inline bool bury_pages(void *pgd)
{
	void *page = pgd;

	kpkeys_keep(end, (unsigned long)pgd + KPKEYS_ROOT_SIZE);
	for (; (unsigned long)page != kpkeys_kept(end); page += PAGE_SIZE) {
		if (!kpkeys_table_bury(page))
			return false;
		if (want_init_on_free())
			arch_kpkeys_clear_page(page);
		kpkeys_depot_put(page);
	}
	return true;
}

static __always_inline bool bury_root(unsigned int nr)
{
	pgd_t *pgd = __kpkeys_root_at(nr)->pgd;

	kpkeys_keep(nr, kpkeys_kept(nr) - 1);
	kpkeys_state.roots_gone--;
	push_root(nr);
	return bury_pages(pgd);
}

/* With the lock, some of a page of records. Returns a root that a CPU runs on. */
static noinline __flatten pgd_t *bury_locked(unsigned int page)
{
	guard(kpkeys_hardened_pgtables)();
	/* Not before: the stack may have been changed while the lock was waited for. */
	kpkeys_reread(page);
	kpkeys_keep(given, number(page, 0));
	kpkeys_keep(nr, MANY_GONE);
	do {
		if (is_left(__kpkeys_root_at(kpkeys_kept(given))) &&
		    !bury_root(kpkeys_kept(given)))
			return (pgd_t *)(kpkeys_kept(end) - KPKEYS_ROOT_SIZE);
		kpkeys_keep(given, kpkeys_kept(given) + sizeof(struct kpkeys_root));
	} while (kpkeys_kept(nr) && kpkeys_kept(given) % PAGE_SIZE);
	return NULL;
}

static void bury(unsigned int page)
{
	pgd_t *pgd;

	while (has_record(page, is_left)) {
		pgd = NULL;
		scoped_guard(raw_spinlock_irqsave, &roots_lock)
			pgd = bury_locked(page);
		kpkeys_freelist_report();
		if (pgd)
			kpkeys_refuse_quietly("free", "a root that a CPU runs on", pgd);
	}
}

static void visit_pages(void (*fn)(unsigned int page))
{
	unsigned int page;

	for (page = 0; page < READ_ONCE(kpkeys_roots.nr_pages); page++)
		fn(page);
}

/* One flush is enough for all. Who forges it has CPUs asked more often. */
static DEFINE_MUTEX(bury_lock);

/**
 * kpkeys_bury_roots - give tables back that no CPU uses any more
 *
 * That an mm is gone is said by a count, in ordinary memory. A root that became
 * another table while a CPU runs on it would have entries of that one's. So it is
 * with tables that a CPU still walks, as nobody told it that they were unlinked.
 */
void kpkeys_bury_roots(void)
{
	guard(mutex)(&bury_lock);
	visit_pages(ask_for);
	kpkeys_begin_rest();
	kpkeys_ask_cpus();
	visit_pages(bury);
	kpkeys_end_rest();
}

static void bury_later(struct work_struct *work)
{
	kpkeys_bury_roots();
}

static DECLARE_WORK(bury_work, bury_later);

/**
 * kpkeys_bury_later - enough is gone that all CPUs may be asked for it
 */
void kpkeys_bury_later(void)
{
	if (system_unbound_wq)
		queue_work(system_unbound_wq, &bury_work);
}

static noinline __flatten void retire(unsigned int nr)
{
	struct kpkeys_root *root;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(nr);
	root = __kpkeys_root_at(nr);
	take_from_chain(nr);
	root->mm = NOBODY;
	kpkeys_state.roots_gone++;
	kpkeys_unlink_root(root->pgd);
}

/* Kept and entered at once: which page it is, is on a stack in between. */
static noinline __flatten bool enter_page(struct kpkeys_root *page)
{
	unsigned int nr;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(page);
	nr = READ_ONCE(kpkeys_roots.nr_pages);
	if (nr >= KPKEYS_ROOT_PAGES - 1 || !kpkeys_table_keep_new(page))
		return false;
	WRITE_ONCE(kpkeys_roots.page[nr], page);
	return true;
}

/* One that was entered: behind it is the page that stands for none. */
static noinline __flatten bool use_page(void)
{
	unsigned int nr, i;

	guard(kpkeys_hardened_pgtables)();
	nr = READ_ONCE(kpkeys_roots.nr_pages);
	if (nr >= KPKEYS_ROOT_PAGES - 1 ||
	    kpkeys_roots.page[nr] == kpkeys_roots.page[nr + 1])
		return false;
	kpkeys_roots.nr_pages = nr + 1;
	for (i = !nr; i < ROOTS_PER_PAGE; i++)
		push_root(number(nr, i));
	return true;
}

static bool add_page(struct kpkeys_root *page)
{
	return enter_page(page) && use_page();
}

static int more_roots(void)
{
	void *page = ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0);

	if (!page)
		return -ENOMEM;
	scoped_guard(raw_spinlock_irqsave, &roots_lock)
		if (add_page(page))
			return 0;
	ptp_free(page, 0);
	return -ENOMEM;
}

/**
 * kpkeys_root_add - an mm gets its top-level table
 * @mm: the mm
 * @pgd: the table, as it was allocated
 *
 * Return: 0, or -ENOMEM.
 */
int kpkeys_root_add(struct mm_struct *mm, pgd_t *pgd)
{
	unsigned int nr;

	if (!kpkeys_pgtables_enabled())
		return 0;
	for (;;) {
		scoped_guard(raw_spinlock_irqsave, &roots_lock)
			nr = take_root(mm, pgd);
		if (nr)
			break;
		if (more_roots())
			return -ENOMEM;
	}
	if (nr == NO_SUCH_ROOT) {
		kpkeys_refuse("use as a root", "another page, or for an mm that has one",
			      pgd, NULL);
		return -ENOMEM;
	}
	mm->kpkeys_root = nr;
	return 0;
}

/* Whatever its number says. */
static struct kpkeys_root *search(const struct mm_struct *mm, unsigned int *nr)
{
	*nr = mm == &init_mm ? 0 : find(mm);
	return mm_of(*nr) == mm ? __kpkeys_root_at(*nr) : NULL;
}

static bool is_live(const struct kpkeys_root *root)
{
	return root->mm && root->mm != NOBODY;
}

/**
 * kpkeys_root_is_live - is this the root of an mm?
 * @phys: its address
 */
bool kpkeys_root_is_live(phys_addr_t phys)
{
	const struct kpkeys_root *root;
	unsigned int i;

	for (i = 0; i < nr_records(); i++) {
		root = __kpkeys_root_at(number(i / ROOTS_PER_PAGE, i % ROOTS_PER_PAGE));
		if (is_live(root) && __pa(root->pgd) == phys)
			return true;
	}
	return false;
}

static pgd_t *remove_locked(struct mm_struct *mm)
{
	unsigned int nr = READ_ONCE(mm->kpkeys_root);
	struct kpkeys_root *root = __kpkeys_root_at(nr);

	if (root->mm != mm)
		root = search(mm, &nr);
	if (!root)
		return NULL;
	retire(nr);
	return root->pgd;
}

/**
 * kpkeys_root_remove - an mm is about to lose its top-level table
 * @mm: the mm
 *
 * Return: the table, which is to be freed, or NULL if @mm has none. It is not
 * used again before each CPU has said that it runs on another one.
 */
pgd_t *kpkeys_root_remove(struct mm_struct *mm)
{
	pgd_t *pgd;

	if (!kpkeys_pgtables_enabled())
		return mm->pgd;
	kpkeys_loaded_root(mm, NULL, NULL);
	scoped_guard(raw_spinlock_irqsave, &roots_lock)
		pgd = remove_locked(mm);
	if (READ_ONCE(kpkeys_state.roots_gone) >= MANY_GONE)
		kpkeys_bury_later();
	return pgd;
}

/**
 * kpkeys_is_no_root - is this an entry of the table that has none?
 * @entry: at any level
 */
bool kpkeys_is_no_root(const void *entry)
{
	return PTR_ALIGN_DOWN(entry, NO_ROOT_SIZE) == (void *)kpkeys_no_root;
}

/**
 * __kpkeys_find_root - an mm is not what its record says
 * @mm: the mm
 * @task: who is to use it, or NULL for the current one
 * @none: to return if it has no record
 *
 * Reports it. The task goes; until it has, and while it does, the mm has its
 * own root again. An mm without a record is forged, so it is left alone.
 *
 * Return: as kpkeys_loaded_root().
 */
pgd_t *__kpkeys_find_root(struct mm_struct *mm, struct task_struct *task,
			  pgd_t *none)
{
	pgd_t *pgd = READ_ONCE(mm->pgd);
	const struct kpkeys_root *root;
	unsigned int nr;

	root = search(mm, &nr);
	if (!kpkeys_refuse("use", root ? "a forged root" : "a root of nobody",
			   pgd, task))
		return pgd;
	if (!root)
		return none;
	WRITE_ONCE(mm->kpkeys_root, nr);
	WRITE_ONCE(mm->pgd, root->pgd);
	return root->pgd;
}
EXPORT_SYMBOL_GPL(__kpkeys_find_root);

/* What a CPU has loaded is not asked of memory, which anybody can write. */
bool __kpkeys_keeps_root(struct mm_struct *mm, struct task_struct *task)
{
	const pgd_t *root = kpkeys_loaded_root(mm, task, NULL);

	if (!root)
		return false;
	return likely(arch_kpkeys_runs_on(root)) ||
	       !kpkeys_refuse("use", "another root than that of the mm", root,
			      task);
}

/**
 * __kpkeys_refuse_mm - a vma leads to the tables of somebody else
 * @mm: them
 *
 * Return: as kpkeys_refuse_mm().
 */
bool __kpkeys_refuse_mm(const struct mm_struct *mm)
{
	return kpkeys_refuse("walk", "another process's tables", mm, NULL);
}

/**
 * kpkeys_roots_keep - pages of records are no tables
 */
void __init kpkeys_roots_keep(void)
{
	unsigned int i;

	for (i = 0; i < KPKEYS_ROOT_PAGES; i++)
		kpkeys_table_keep(kpkeys_roots.page[i]);
}

/**
 * kpkeys_roots_init - make the first records, of the mms that are there
 *
 * On the boot CPU, when no other runs; in force after kpkeys_flush().
 */
void __init kpkeys_roots_init(void)
{
	void *none = ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0);
	unsigned int i;

	if (!none)
		panic("kpkeys: no memory for the records of roots");
	for (i = 0; i < KPKEYS_ROOT_PAGES; i++)
		kpkeys_roots.page[i] = none;
	if (more_roots())
		panic("kpkeys: no memory for the records of roots");
	set_root(0, &init_mm, swapper_pg_dir);
	arch_kpkeys_add_roots();
	kpkeys_key_static(lm_alias(&kpkeys_roots), sizeof(kpkeys_roots),
			  KPKEYS_PKEY_STATE, &kpkeys_state.state_pages);
}
