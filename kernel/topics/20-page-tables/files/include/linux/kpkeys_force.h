/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPUs are asked to forget a mapping, or to leave a root, is ordinary
 * data. So each says in keyed memory what it has done.
 */
#ifndef _LINUX_KPKEYS_FORCE_H
#define _LINUX_KPKEYS_FORCE_H

#include <linux/types.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
s64 kpkeys_nr_keyings(void);
void kpkeys_set_flushed(s64 nr, unsigned long root);
void kpkeys_cpu_leaves(void);
#else
static inline void kpkeys_cpu_leaves(void) { }
#endif

#endif /* _LINUX_KPKEYS_FORCE_H */
