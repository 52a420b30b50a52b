/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_KPKEYS_DESIGNS_H
#define _MM_KPKEYS_DESIGNS_H

#include <linux/gfp.h>

struct page;

#ifdef CONFIG_KPKEYS_TEST_ONLY_DESIGNS
void kpkeys_design_init(void);
const char *kpkeys_design_name(void);
bool kpkeys_keys_singly(gfp_t gfp);
void *kpkeys_single_alloc(int nid, gfp_t gfp, unsigned int order);
bool kpkeys_single_free(struct page *page, unsigned int order);
bool kpkeys_single_bury(void *addr);
unsigned long kpkeys_nr_single(void);
#else
static inline void kpkeys_design_init(void) { }
static inline const char *kpkeys_design_name(void) { return "portcullis"; }
static inline bool kpkeys_keys_singly(gfp_t gfp) { return false; }
static inline void *kpkeys_single_alloc(int nid, gfp_t gfp, unsigned int order)
{
	return NULL;
}

static inline bool kpkeys_single_free(struct page *page, unsigned int order)
{
	return false;
}

static inline bool kpkeys_single_bury(void *addr) { return false; }
static inline unsigned long kpkeys_nr_single(void) { return 0; }
#endif

#endif /* _MM_KPKEYS_DESIGNS_H */
