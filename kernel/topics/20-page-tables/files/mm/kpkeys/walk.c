// SPDX-License-Identifier: GPL-2.0-only
/*
 * Visit every page-table page below a top-level table.
 *
 * Folded levels are skipped by what the machine uses, not by PTRS_PER_P4D: it
 * is 1 with four levels, and a walk that trusts it ends after one entry.
 */
#include <linux/kasan.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "internal.h"

struct walk {
	const char	*name;
	kpkeys_ptp_fn	fn;
	void		*arg;
};

static bool visit(const struct walk *w, void *ptp, int level)
{
	return w->fn(ptp, level, w->name, w->arg);
}

/*
 * KASAN's shadow of nothing: tables whose entries all lead to one and the same
 * table of the next level. Walked in full they would take hours.
 */
static bool is_shadow_of_nothing(void *table)
{
	phys_addr_t __maybe_unused pa = __pa(table);

#if defined(CONFIG_KASAN_GENERIC) || defined(CONFIG_KASAN_SW_TAGS)
#if CONFIG_PGTABLE_LEVELS > 4
	if (pa == __pa_symbol(kasan_early_shadow_p4d))
		return true;
#endif
#if CONFIG_PGTABLE_LEVELS > 3
	if (pa == __pa_symbol(kasan_early_shadow_pud))
		return true;
#endif
#if CONFIG_PGTABLE_LEVELS > 2
	if (pa == __pa_symbol(kasan_early_shadow_pmd))
		return true;
#endif
#endif
	return false;
}

static unsigned int nr_to_walk(void *table, unsigned int nr)
{
	return is_shadow_of_nothing(table) ? 1 : nr;
}

static void walk_pmd(const struct walk *w, pmd_t *table)
{
	unsigned int i, nr = nr_to_walk(table, PTRS_PER_PMD);

	if (!visit(w, table, KPKEYS_LEVEL_PMD))
		return;
	for (i = 0; i < nr; i++) {
		pmd_t pmd = READ_ONCE(table[i]);

		if (!pmd_none(pmd) && pmd_present(pmd) && !pmd_leaf(pmd))
			visit(w, (void *)pmd_page_vaddr(pmd), KPKEYS_LEVEL_PTE);
	}
}

static void walk_pud_entry(const struct walk *w, pud_t pud)
{
	if (!pud_none(pud) && pud_present(pud) && !pud_leaf(pud))
		walk_pmd(w, pud_pgtable(pud));
}

static void walk_pud(const struct walk *w, pud_t *table)
{
	unsigned int i, nr = nr_to_walk(table, PTRS_PER_PUD);

	if (!visit(w, table, KPKEYS_LEVEL_PUD))
		return;
	for (i = 0; i < nr; i++)
		walk_pud_entry(w, READ_ONCE(table[i]));
}

static void walk_p4d_entry(const struct walk *w, p4d_t p4d)
{
	/* With three levels the top level is the folded pud. */
	if (mm_pud_folded(&init_mm))
		walk_pud_entry(w, __pud(p4d_val(p4d)));
	else if (!p4d_none(p4d) && p4d_present(p4d))
		walk_pud(w, p4d_pgtable(p4d));
}

static void walk_p4d(const struct walk *w, p4d_t *table)
{
	unsigned int i, nr = nr_to_walk(table, PTRS_PER_PGD);

	if (!visit(w, table, KPKEYS_LEVEL_P4D))
		return;
	for (i = 0; i < nr; i++)
		walk_p4d_entry(w, READ_ONCE(table[i]));
}

static void walk_pgd_entry(const struct walk *w, pgd_t *pgdp)
{
	pgd_t pgd = READ_ONCE(*pgdp);

	/* With four levels the top level is the folded p4d. */
	if (mm_p4d_folded(&init_mm))
		walk_p4d_entry(w, READ_ONCE(*(p4d_t *)pgdp));
	else if (!pgd_none(pgd) && pgd_present(pgd))
		walk_p4d(w, (p4d_t *)pgd_page_vaddr(pgd));
}

/**
 * kpkeys_walk_pgd - visit the page-table pages of one top-level table
 * @pgd: the table
 * @halves: KPKEYS_WALK_*: entries of user space, of the kernel, or all
 * @name: whose tables; handed on
 * @fn: called for each page, the top level first; false: not further down
 * @arg: handed on
 */
void kpkeys_walk_pgd(pgd_t *pgd, int halves, const char *name,
		     kpkeys_ptp_fn fn, void *arg)
{
	const struct walk w = { .name = name, .fn = fn, .arg = arg };
	unsigned int first = halves & KPKEYS_WALK_USER ? 0 :
							 ARCH_KPKEYS_USER_PGDS;
	unsigned int end = halves & KPKEYS_WALK_KERNEL ? PTRS_PER_PGD :
							 ARCH_KPKEYS_USER_PGDS;
	unsigned int i;

	if (!visit(&w, pgd, KPKEYS_LEVEL_PGD))
		return;
	for (i = first; i < end; i++)
		walk_pgd_entry(&w, pgd + i);
}

/**
 * kpkeys_walk_entry - visit the page-table pages below a top-level entry
 * @pgdp: the entry
 * @name: as for kpkeys_walk_pgd()
 * @fn: as for kpkeys_walk_pgd()
 * @arg: as for kpkeys_walk_pgd()
 */
void kpkeys_walk_entry(pgd_t *pgdp, const char *name, kpkeys_ptp_fn fn,
		       void *arg)
{
	const struct walk w = { .name = name, .fn = fn, .arg = arg };

	walk_pgd_entry(&w, pgdp);
}

/**
 * kpkeys_walk_kernel - visit the kernel's own page-table pages
 * @fn: as for kpkeys_walk_pgd()
 * @arg: handed on
 */
void kpkeys_walk_kernel(kpkeys_ptp_fn fn, void *arg)
{
	kpkeys_walk_pgd(lm_alias(init_mm.pgd), KPKEYS_WALK_ALL, "kernel", fn,
			arg);
	arch_kpkeys_walk_extra(fn, arg);
}

/**
 * kpkeys_walk_user - visit the page-table pages of a process
 * @pgd: its top-level table; the kernel's tables below it are left out
 * @name: handed on
 * @fn: as for kpkeys_walk_pgd()
 * @arg: handed on
 */
void kpkeys_walk_user(pgd_t *pgd, const char *name, kpkeys_ptp_fn fn, void *arg)
{
	kpkeys_walk_pgd(pgd, KPKEYS_WALK_USER, name, fn, arg);
	arch_kpkeys_walk_user_half(pgd, name, fn, arg);
}

/**
 * kpkeys_level_name - name of a page-table level
 * @level: KPKEYS_LEVEL_*
 */
const char *kpkeys_level_name(int level)
{
	static const char * const names[] = {
		"unknown", "PTE", "PMD", "PUD", "P4D", "PGD",
	};

	return level < ARRAY_SIZE(names) ? names[level] : names[0];
}
