/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where designs of the protection differ that are here to be measured against.
 * Without CONFIG_KPKEYS_DESIGNS there is one.
 *
 * Only <linux/kpkeys.h> includes this file.
 */
#ifndef _LINUX_KPKEYS_DESIGNS_H
#define _LINUX_KPKEYS_DESIGNS_H

struct page;

#if defined(KPKEYS_BUILT_IN) && defined(CONFIG_KPKEYS_DESIGNS)

#include <linux/jump_label.h>
#include <linux/kpkeys_state.h>

DECLARE_STATIC_KEY_FALSE(kpkeys_no_sections_key);
DECLARE_STATIC_KEY_FALSE(kpkeys_no_runs_key);
void __kpkeys_table_unlinked(struct page *page);
u8 __kpkeys_entry_enter(void);
void __kpkeys_entry_leave(u8 old);

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

/*
 * Designs without guard(kpkeys_entries)(). The guard itself is out of line, so
 * that small functions stay small.
 */
static __always_inline u8 kpkeys_entry_enter(void)
{
	if (kpkeys_has_runs() || kpkeys_is_held())
		return KPKEYS_LVL_UNTOUCHED;
	return __kpkeys_entry_enter();
}

static __always_inline void kpkeys_entry_leave(u8 old)
{
	if (old != KPKEYS_LVL_UNTOUCHED)
		__kpkeys_entry_leave(old);
}

#else /* one design */

static __always_inline bool kpkeys_has_sections(void) { return true; }
static __always_inline bool kpkeys_has_runs(void) { return true; }
static __always_inline void kpkeys_table_unlinked(struct page *page) { }
static __always_inline u8 kpkeys_entry_enter(void) { return KPKEYS_LVL_UNTOUCHED; }
static __always_inline void kpkeys_entry_leave(u8 old) { }

#endif

#endif /* _LINUX_KPKEYS_DESIGNS_H */
