/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Live splitting: the linear map is made of blocks and contiguous ranges, and
 * they are split while in use. Only CPUs that never answer a change of the
 * size of a mapping with an abort can do it (FEAT_BBM level 2 and more).
 */
#ifndef _ASM_ARM64_LIVE_SPLIT_H
#define _ASM_ARM64_LIVE_SPLIT_H

#include <linux/gfp.h>
#include <linux/types.h>
#include <asm/set_memory.h>

struct page;

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
bool live_split_init(void);
bool live_split_needs_pages(void);
bool live_split_is_used(void);
void live_split_check_cpu(void);
void live_split_finish_boot(void);
int live_split_at_edges(unsigned long addr, unsigned long end, gfp_t gfp);
int live_split_to_pages(unsigned long addr, unsigned long end);
int live_split_aliases(struct page **pages, unsigned int nr);
bool live_split_kfence_pool(void);
#else
static inline bool live_split_init(void) { return can_set_direct_map(); }
static inline bool live_split_needs_pages(void) { return can_set_direct_map(); }
static inline bool live_split_is_used(void) { return false; }
static inline void live_split_check_cpu(void) { }
static inline void live_split_finish_boot(void) { }
static inline int live_split_at_edges(unsigned long addr, unsigned long end, gfp_t gfp)
{
	return 0;
}

static inline int live_split_to_pages(unsigned long addr, unsigned long end)
{
	return 0;
}
static inline int live_split_aliases(struct page **pages, unsigned int nr)
{
	return 0;
}

static inline bool live_split_kfence_pool(void) { return true; }
#endif

#endif /* _ASM_ARM64_LIVE_SPLIT_H */
