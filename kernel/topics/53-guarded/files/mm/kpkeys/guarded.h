/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of mm/kpkeys: guarded variables when the kernel starts, and the checker. */
#ifndef _MM_KPKEYS_GUARDED_H
#define _MM_KPKEYS_GUARDED_H

#include <linux/types.h>

#ifdef CONFIG_KPKEYS_GUARDED
void kpkeys_guarded_init(void);
void kpkeys_key_guarded(void);
bool kpkeys_guarded_denied(void);
unsigned long kpkeys_guarded_nr_pages(void);
void *kpkeys_guarded_page(unsigned long nr);
#else
static inline void kpkeys_guarded_init(void) { }
static inline void kpkeys_key_guarded(void) { }
static inline bool kpkeys_guarded_denied(void) { return true; }
static inline unsigned long kpkeys_guarded_nr_pages(void) { return 0; }
static inline void *kpkeys_guarded_page(unsigned long nr) { return NULL; }
#endif

#endif /* _MM_KPKEYS_GUARDED_H */
