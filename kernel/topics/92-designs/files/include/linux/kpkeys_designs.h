/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where designs of the protection differ that are here to be measured against.
 * Without CONFIG_KPKEYS_TEST_ONLY_DESIGNS there is one.
 *
 * Only <linux/kpkeys.h> includes this file.
 */
#ifndef _LINUX_KPKEYS_DESIGNS_H
#define _LINUX_KPKEYS_DESIGNS_H

#include <linux/percpu-defs.h>
#include <linux/types.h>
#include <asm/percpu.h>

struct page;

/* How deep this CPU is in lazy-MMU mode, where that is a section. */
DECLARE_PER_CPU(u8, kpkeys_lazy_depth);

#if defined(KPKEYS_BUILT_IN) && defined(CONFIG_KPKEYS_TEST_ONLY_DESIGNS)

#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(kpkeys_no_sections_key);
DECLARE_STATIC_KEY_FALSE(kpkeys_no_runs_key);
void __kpkeys_table_unlinked(struct page *page);
bool kpkeys_design_hides(void);

/* Is lazy-MMU mode a section? Not with a guard for each write. */
static __always_inline bool kpkeys_has_sections(void)
{
	return !static_branch_unlikely(&kpkeys_no_sections_key);
}

/* Are there sections beyond that? Not in designs that were published. */
static __always_inline bool kpkeys_has_runs(void)
{
	return !static_branch_unlikely(&kpkeys_no_runs_key);
}

/**
 * kpkeys_table_unlinked - a page-table page leaves the tables of a process
 * @page: it
 *
 * It is freed later. Where each table has its key by a change of its own, that
 * is undone here.
 */
static __always_inline void kpkeys_table_unlinked(struct page *page)
{
	if (!kpkeys_has_runs())
		__kpkeys_table_unlinked(page);
}

#else /* one design */

static __always_inline bool kpkeys_has_sections(void) { return true; }
static __always_inline bool kpkeys_has_runs(void) { return true; }
static __always_inline void kpkeys_table_unlinked(struct page *page) { }
static inline bool kpkeys_design_hides(void) { return true; }

#endif

#ifndef KPKEYS_BUILT_IN
static __always_inline void kpkeys_lazy_mmu_enter(void) { }
static __always_inline void kpkeys_lazy_mmu_leave(void) { }
#endif

/* A table is written as a whole: a section where lazy-MMU mode is one. */
#define KPKEYS_WHOLE_TABLE	(~0U)

/* Are @nr writes a section? */
static __always_inline bool kpkeys_wants_section(unsigned int nr)
{
	return nr > 1 && (nr == KPKEYS_WHOLE_TABLE ? kpkeys_has_sections() :
						     kpkeys_has_runs());
}

#endif /* _LINUX_KPKEYS_DESIGNS_H */
