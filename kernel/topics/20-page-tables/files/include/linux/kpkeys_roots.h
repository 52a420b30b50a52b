/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose a top-level table is. mm->pgd is ordinary memory, and so no reason to
 * load a root, or to walk and write what is below it: what counts is a record in
 * keyed memory, made with the table, which names the mm and the table.
 */
#ifndef _LINUX_KPKEYS_ROOTS_H
#define _LINUX_KPKEYS_ROOTS_H

#include <linux/compiler.h>
#include <linux/kpkeys.h>
#include <linux/mm_types.h>
#include <asm/pgtable.h>

struct task_struct;

#ifdef KPKEYS_BUILT_IN

/* A record's number: its page, and where it is there. All numbers exist. */
#define KPKEYS_ROOT_PAGES	8192
#define KPKEYS_ROOT_SHIFT	19
#define KPKEYS_ROOT_CHAINS	1024

/**
 * struct kpkeys_root - record of a root, in a page of the pool
 * @mm: whose it is, or NULL: free; kpkeys_no_root: of an mm that is gone
 * @pgd: the root, or the number of the next free record
 * @since: when the mm is gone, which keying CPUs must have seen, or 0
 * @next: number of the next one in the chain of @mm, or 0
 */
struct kpkeys_root {
	struct mm_struct	*mm;
	pgd_t			*pgd;
	s64			since;
	unsigned int		next;
} __aligned(32);

/**
 * struct kpkeys_roots - the records; whole pages with KPKEYS_PKEY_STATE
 * @page: records by page; one page without any stands for all that are missing
 * @nr_pages: how many are there
 * @free: number of the first free record, 0 for none; that is init_mm's
 * @chain: numbers of the records of mms, by the address of the mm
 */
struct kpkeys_roots {
	struct kpkeys_root	*page[KPKEYS_ROOT_PAGES];
	unsigned int		nr_pages;
	unsigned int		free;
	unsigned int		chain[KPKEYS_ROOT_CHAINS];
} __aligned(PAGE_SIZE);

extern struct kpkeys_roots kpkeys_roots;
extern pgd_t kpkeys_no_root[];

/* For the architecture, and what it implements. */
void arch_kpkeys_add_roots(void);
bool arch_kpkeys_runs_on(const pgd_t *root);

int kpkeys_root_add(struct mm_struct *mm, pgd_t *pgd);
pgd_t *kpkeys_root_remove(struct mm_struct *mm);
bool kpkeys_is_no_root(const void *entry);
bool kpkeys_root_is_live(phys_addr_t phys);
pgd_t *__kpkeys_find_root(struct mm_struct *mm, struct task_struct *task,
			  pgd_t *none);
bool __kpkeys_refuse_mm(const struct mm_struct *mm);
bool __kpkeys_keeps_root(struct mm_struct *mm, struct task_struct *task);

static __always_inline struct kpkeys_root *__kpkeys_root_at(unsigned int nr)
{
	return (void *)kpkeys_roots.page[nr >> KPKEYS_ROOT_SHIFT] +
	       (nr & (PAGE_SIZE - sizeof(struct kpkeys_root)));
}

/**
 * kpkeys_loaded_root - the root to load for an mm
 * @mm: the mm
 * @task: whom it is loaded for, or NULL for the current one
 * @none: what to load if nobody has that mm
 *
 * The caller must load what is returned, and not look at mm->pgd: what was
 * looked at can change before it is used.
 *
 * Return: the root of @mm by its record. If mm->pgd is another one, that is a
 * violation, and what is returned in audit mode.
 */
static __always_inline pgd_t *kpkeys_loaded_root(struct mm_struct *mm,
						 struct task_struct *task,
						 pgd_t *none)
{
	const struct kpkeys_root *root;
	pgd_t *pgd = READ_ONCE(mm->pgd);

	if (!kpkeys_pgtables_enabled())
		return pgd;
	root = __kpkeys_root_at(READ_ONCE(mm->kpkeys_root));
	if (likely(root->mm == mm && root->pgd == pgd))
		return pgd;
	return __kpkeys_find_root(mm, task, none);
}

/**
 * kpkeys_root - the root where a walk over the tables of an mm begins
 * @mm: the mm
 *
 * Return: as kpkeys_loaded_root(); for an mm that nobody has a table without
 * entries, below which nothing is allocated.
 */
static __always_inline pgd_t *kpkeys_root(struct mm_struct *mm)
{
	if (__builtin_constant_p(mm == &init_mm) && mm == &init_mm)
		return swapper_pg_dir;
	return kpkeys_loaded_root(mm, NULL, kpkeys_no_root);
}

/**
 * kpkeys_keeps_root - does this CPU run on the root of the mm that it goes on with?
 * @mm: what it has loaded, as ordinary memory says
 * @task: whom it goes on for
 *
 * Return: false if it must load the root of @mm after all.
 */
static __always_inline bool kpkeys_keeps_root(struct mm_struct *mm,
					      struct task_struct *task)
{
	return !kpkeys_pgtables_enabled() || __kpkeys_keeps_root(mm, task);
}

/**
 * kpkeys_refuse_mm - is an mm that was read from a vma the wrong one?
 * @mm: vma->vm_mm
 * @named: the mm that the caller means
 *
 * Reports it if so.
 *
 * Return: true if its tables must not be touched, in audit mode never.
 */
static __always_inline bool kpkeys_refuse_mm(const struct mm_struct *mm,
					     const struct mm_struct *named)
{
	if (!kpkeys_pgtables_enabled() || likely(mm == named))
		return false;
	return __kpkeys_refuse_mm(mm);
}

#else

static inline int kpkeys_root_add(struct mm_struct *mm, pgd_t *pgd)
{
	return 0;
}

#define kpkeys_root(mm)				((mm)->pgd)
#define kpkeys_root_remove(mm)			((mm)->pgd)
#define kpkeys_loaded_root(mm, task, none)	((mm)->pgd)
#define kpkeys_is_no_root(entry)		false
#define kpkeys_keeps_root(mm, task)		true
#define kpkeys_refuse_mm(mm, named)		false

#endif /* KPKEYS_BUILT_IN */
#endif /* _LINUX_KPKEYS_ROOTS_H */
