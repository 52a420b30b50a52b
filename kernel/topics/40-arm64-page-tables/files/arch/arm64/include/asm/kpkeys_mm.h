/* SPDX-License-Identifier: GPL-2.0-only */
/* For arm64 code that sets up CPUs or changes the kernel's own mappings. */
#ifndef _ASM_ARM64_KPKEYS_MM_H
#define _ASM_ARM64_KPKEYS_MM_H

#include <linux/kpkeys.h>
#include <linux/kpkeys_force.h>
#include <linux/mm_types.h>
#include <asm/cpufeature.h>
#include <asm/fixmap.h>
#include <asm/kpkeys_compat.h>
#include <asm/pgtable-hwdef.h>
#include <asm/sysreg.h>

#ifdef CONFIG_KPKEYS
void kpkeys_setup_cpu(void);
void kpkeys_suspend_enter(void);
void kpkeys_suspend_exit(void);
void kpkeys_flush_cpu(void *unused);
bool kpkeys_wants_pages(void);
bool kpkeys_patches_alias(void);
pte_t *kpkeys_leaf(unsigned long addr, unsigned long *size);
#else
static inline void kpkeys_setup_cpu(void) { }
static inline void kpkeys_suspend_enter(void) { }
static inline void kpkeys_suspend_exit(void) { }
static inline void kpkeys_flush_cpu(void *unused) { }
static inline bool kpkeys_wants_pages(void) { return false; }
static inline bool kpkeys_patches_alias(void) { return false; }
#endif

/* The root that this CPU runs on, of a process. */
#define arch_kpkeys_root_pfn()						\
	PHYS_PFN(read_sysreg(ttbr0_el1) & GENMASK_ULL(47, PAGE_SHIFT))

/**
 * kpkeys_fixmap_prot - protection of a fixmap slot
 * @idx: the slot
 * @prot: as asked for; 0 clears the slot
 *
 * Page tables that have no other mapping yet, or a read-only one, are written
 * through slots of their own. Other CPUs see those, too: they carry the key.
 */
static inline pgprot_t kpkeys_fixmap_prot(enum fixed_addresses idx,
					  pgprot_t prot)
{
#ifdef KPKEYS_BUILT_IN
	if (kpkeys_pgtables_enabled() && pgprot_val(prot) &&
	    idx >= FIX_PTE && idx <= FIX_PGD)
		pgprot_val(prot) |= FIELD_PREP(PTE_PO_IDX_MASK,
					       KPKEYS_PKEY_PGTABLES);
#endif
	return prot;
}

/**
 * kpkeys_keep_key - protection of a page that may be mapped already
 * @old: its entry so far
 * @prot: what it is to be
 */
static inline pgprot_t kpkeys_keep_key(pte_t old, pgprot_t prot)
{
	return __pgprot(pgprot_val(prot) | (pte_val(old) & PTE_PO_IDX_MASK));
}

/**
 * kpkeys_max_user_pkey - how many keys user space may have, 0 included
 */
static inline int kpkeys_max_user_pkey(void)
{
#ifdef KPKEYS_BUILT_IN
	if (kpkeys_pgtables_enabled())
		return KPKEYS_NR_USER_PKEYS;
#endif
	return 8;
}

/* An entry of a new table for a process. */
#define kpkeys_table_of_process(pfn)					\
	(__phys_to_pte_val(PFN_PHYS(pfn)) | PMD_TYPE_TABLE | PMD_TABLE_AF | PMD_TABLE_PXN)

#define kpkeys_top_has_twin()	false

#endif /* _ASM_ARM64_KPKEYS_MM_H */
