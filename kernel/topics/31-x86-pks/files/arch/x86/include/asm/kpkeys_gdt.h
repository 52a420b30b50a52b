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

#include <linux/bits.h>
#include <linux/kpkeys.h>

struct thread_struct;

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
void kpkeys_fill_gdt(unsigned int cpu);
void kpkeys_load_gdt(void);
void kpkeys_load_tr(void);
void kpkeys_load_tls(const struct thread_struct *t);
void kpkeys_set_ldt_size(unsigned int size);
void kpkeys_set_node(unsigned long cpudata);
#else
static inline void kpkeys_load_gdt(void) { }
static inline void kpkeys_load_tr(void) { }
static inline void kpkeys_load_tls(const struct thread_struct *t) { }
static inline void kpkeys_set_node(unsigned long cpudata) { }
#endif

#if defined(CONFIG_KPKEYS_HARDENED_PGTABLES) && defined(CONFIG_MODIFY_LDT_SYSCALL)
u64 kpkeys_fill_ldt(unsigned int cpu);
void *kpkeys_ldt_page(unsigned int cpu, unsigned int nr);
void kpkeys_load_ldt(const void *entries, unsigned int nr);
bool kpkeys_ldt_is_users(void);
#else
static inline u64 kpkeys_fill_ldt(unsigned int cpu) { return 0; }
static inline void *kpkeys_ldt_page(unsigned int cpu, unsigned int nr) { return NULL; }
static inline void kpkeys_load_ldt(const void *entries, unsigned int nr) { }
static inline bool kpkeys_ldt_is_users(void) { return true; }
#endif

/**
 * kpkeys_is_users - may a process have this segment?
 * @word: its descriptor
 *
 * Return: true if it is empty, or data or code of user space: no gate, no TSS.
 * Nor does the CPU write to it, which notes in others that they were used.
 */
static __always_inline bool kpkeys_is_users(u64 word)
{
	const u64 accessed = BIT_ULL(40), not_system = BIT_ULL(44);
	const u64 user = 3ULL << 45, long_mode = BIT_ULL(53);
	const u64 must = accessed | not_system | user;

	return !word || (word & (must | long_mode)) == must;
}

#endif /* _ASM_X86_KPKEYS_GDT_H */
