/* SPDX-License-Identifier: GPL-2.0-only */
/* For x86 code that sets up CPUs or changes the kernel's own mappings. */
#ifndef _ASM_X86_KPKEYS_MM_H
#define _ASM_X86_KPKEYS_MM_H

#include <linux/kpkeys.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/string.h>
#include <asm/pgtable_types.h>

struct pt_regs;

#ifdef CONFIG_KPKEYS
bool kpkeys_uses_pks(void);
void kpkeys_keep_pkrs(void);
void kpkeys_setup_cpu(void);
int kpkeys_set_memory(unsigned long addr, int numpages, pgprot_t set,
		      pgprot_t clr, bool alias);
void kpkeys_copy_entries(void *to, const void *from, unsigned int nr);
void kpkeys_tables_are_copied(void);
bool kpkeys_refuse_sharing(unsigned long addr, unsigned int nr);
void kpkeys_unmap_freed_image(void);
int kpkeys_unmap_image(unsigned long begin, unsigned long end);
void kpkeys_flush_cpu(void *unused);
void kpkeys_end_step(struct pt_regs *regs);
#else
static inline bool kpkeys_uses_pks(void) { return false; }
static inline void kpkeys_keep_pkrs(void) { }
static inline void kpkeys_setup_cpu(void) { }
static inline void kpkeys_copy_entries(void *to, const void *from,
				       unsigned int nr)
{
	memcpy(to, from, nr * sizeof(pgd_t));
}

static inline void kpkeys_tables_are_copied(void) { }
static inline bool kpkeys_refuse_sharing(unsigned long addr, unsigned int nr)
{
	return false;
}

static inline void kpkeys_unmap_freed_image(void) { }
static inline int kpkeys_unmap_image(unsigned long begin, unsigned long end)
{
	return 0;
}

static inline void kpkeys_flush_cpu(void *unused) { }
static inline void kpkeys_end_step(struct pt_regs *regs) { }
#endif

/* The root that this CPU runs on. */
#define arch_kpkeys_root_pfn()		PHYS_PFN(native_read_cr3_pa())

/* An entry of a new table for a process. */
#define kpkeys_table_of_process(pfn)	(PFN_PHYS(pfn) | _PAGE_TABLE)

/* With isolation there is a second top-level entry. */
#define kpkeys_top_has_twin()	cpu_feature_enabled(X86_FEATURE_PTI)

#endif /* _ASM_X86_KPKEYS_MM_H */
