/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For architectures that cannot make another CPU forget a mapping, and so ask
 * it to. Which CPUs are asked is ordinary data, so each says in keyed memory
 * what it has done. An architecture without these calls needs no answers. Which
 * root it runs on each CPU says in any case.
 */
#ifndef _LINUX_KPKEYS_FORCE_H
#define _LINUX_KPKEYS_FORCE_H

#include <linux/types.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
s64 kpkeys_nr_keyings(void);
void kpkeys_set_flushed(s64 nr, unsigned long root);
void kpkeys_cpu_leaves(void);
void kpkeys_say_root(unsigned long root);
void arch_kpkeys_ask(void);
#else
static inline void kpkeys_cpu_leaves(void) { }
#endif

#endif /* _LINUX_KPKEYS_FORCE_H */
