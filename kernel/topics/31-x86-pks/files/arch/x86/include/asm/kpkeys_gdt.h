/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The GDT. From there the CPU takes its TSS, which says where an exception
 * pushes its frame; and NMIs and debug exceptions take the number of their CPU,
 * which says where their per-CPU memory is. So it has KPKEYS_PKEY_STATE. All is
 * written before it gets that, for every CPU that there may be, but for what
 * these helpers write. They find the GDT by the base register.
 */
#ifndef _ASM_X86_KPKEYS_GDT_H
#define _ASM_X86_KPKEYS_GDT_H

#include <linux/kpkeys.h>

struct thread_struct;

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
void kpkeys_fill_gdt(unsigned int cpu);
void kpkeys_load_gdt(void);
void kpkeys_load_tr(void);
void kpkeys_load_tls(const struct thread_struct *t);
void kpkeys_set_ldt_desc(unsigned long base, unsigned int limit);
void kpkeys_set_node(unsigned long cpudata);
#else
static inline void kpkeys_load_gdt(void) { }
static inline void kpkeys_load_tr(void) { }
static inline void kpkeys_load_tls(const struct thread_struct *t) { }
static inline void kpkeys_set_ldt_desc(unsigned long base, unsigned int limit) { }
static inline void kpkeys_set_node(unsigned long cpudata) { }
#endif

#endif /* _ASM_X86_KPKEYS_GDT_H */
