/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of mm/kpkeys: credentials when the kernel starts, and the checker. */
#ifndef _MM_KPKEYS_CREDS_H
#define _MM_KPKEYS_CREDS_H

#ifdef CONFIG_KPKEYS_CREDS
void kpkeys_key_creds(void);
unsigned long kpkeys_creds_nr_pages(void);
unsigned long kpkeys_creds_nr_lost(void);
void *kpkeys_creds_page(unsigned long nr);
void kpkeys_creds_freeze(void);
void kpkeys_creds_thaw(void);
int kpkeys_grow_cred_lists(void);
void kpkeys_free_waiting_creds(void);
#else
static inline void kpkeys_key_creds(void) { }
static inline unsigned long kpkeys_creds_nr_pages(void) { return 0; }
static inline unsigned long kpkeys_creds_nr_lost(void) { return 0; }
static inline void *kpkeys_creds_page(unsigned long nr) { return NULL; }
static inline void kpkeys_creds_freeze(void) { }
static inline void kpkeys_creds_thaw(void) { }
#endif

#endif /* _MM_KPKEYS_CREDS_H */
