/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs are asked to forget mappings, where none can make another one do it; to
 * come out of sections; and on which root they run. Who is asked is ordinary
 * data, so each CPU says in keyed memory what it has done.
 */
#ifndef _LINUX_KPKEYS_FORCE_H
#define _LINUX_KPKEYS_FORCE_H

#include <linux/types.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
s64 kpkeys_nr_keyings(void);
void kpkeys_begin_flush(void);
void kpkeys_set_flushed(void);
bool kpkeys_flush(void);
void kpkeys_key_late_table_noflush(void *pgd, const char *name);
bool kpkeys_cpu_comes(void);
void kpkeys_cpu_leaves(void);
bool kpkeys_cpu_is_gone(void);
#else
static inline bool kpkeys_flush(void) { return true; }
static inline void kpkeys_key_late_table_noflush(void *pgd, const char *name) { }
static inline bool kpkeys_cpu_comes(void) { return true; }
static inline void kpkeys_cpu_leaves(void) { }
static inline bool kpkeys_cpu_is_gone(void) { return false; }
#endif

#endif /* _LINUX_KPKEYS_FORCE_H */
