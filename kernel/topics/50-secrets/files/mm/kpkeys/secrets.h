/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of mm/kpkeys: secrets when the kernel starts, and the checker. */
#ifndef _MM_KPKEYS_SECRETS_H
#define _MM_KPKEYS_SECRETS_H

#include <linux/types.h>

typedef void (*kpkeys_page_fn)(void *page, void *arg);

#ifdef CONFIG_KPKEYS_SECRETS
/* From the linker script. */
extern char __secrets_start[], __secrets_end[];
extern __percpu char __per_cpu_secrets_start[], __per_cpu_secrets_end[];

unsigned long kpkeys_secret_nr_used(void);
unsigned long kpkeys_secret_nr_pages(void);
void kpkeys_secrets_init(void);
void kpkeys_key_secrets(void);
bool kpkeys_secrets_denied(void);
void kpkeys_walk_secrets(kpkeys_page_fn fn, void *arg);
void kpkeys_secrets_freeze(void);
void kpkeys_secrets_thaw(void);
#else
static inline unsigned long kpkeys_secret_nr_used(void) { return 0; }
static inline unsigned long kpkeys_secret_nr_pages(void) { return 0; }
static inline void kpkeys_secrets_init(void) { }
static inline void kpkeys_key_secrets(void) { }
static inline bool kpkeys_secrets_denied(void) { return true; }
static inline void kpkeys_walk_secrets(kpkeys_page_fn fn, void *arg) { }
static inline void kpkeys_secrets_freeze(void) { }
static inline void kpkeys_secrets_thaw(void) { }
#endif

#endif /* _MM_KPKEYS_SECRETS_H */
