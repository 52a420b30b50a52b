/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes of entries outside sections, and what looks at entries first. They are
 * out of line, so that helpers stay small enough to be in line: with guards, fork
 * of 128 MiB executed 13% more instructions than the stock kernel, and 10% more
 * with kpkeys=off (3.7% and 0.5% like this, before entries were looked at).
 */
#ifndef _ASM_ARM64_KPKEYS_ENTRIES_H
#define _ASM_ARM64_KPKEYS_ENTRIES_H

#include <linux/kpkeys_frames.h>
#include <asm/pgtable-types.h>

struct mm_struct;

/* Neither of these is what an entry that maps memory leads to. */
#define kpkeys_table_pfn(value)						\
	(((value) & PMD_TYPE_MASK) == PMD_TYPE_TABLE ?			\
	 PHYS_PFN(__pte_to_phys(__pte(value))) : 0)

#define kpkeys_with_table(value, table)					\
	(((value) & ~__phys_to_pte_val(__pte_to_phys(__pte(value)))) |	\
	 __phys_to_pte_val(table))

#define kpkeys_is_linear(addr)	__is_lm_address((unsigned long)(addr))

/* Is that a table of the last level? Of others kpkeys_set_elsewhere() knows more. */
static __always_inline bool kpkeys_is_pte_slot(const void *ptep)
{
	return kpkeys_is_linear(ptep) &&
	       (kpkeys_frame_byte(PHYS_PFN(__pa(ptep))) & ~KPKEYS_FRAME_LINK) ==
	       KPKEYS_TABLE(KPKEYS_LEVEL_PTE, 0);
}

/* In a section, behind the write or ahead of it: its end has the barriers. */
#define kpkeys_entry_written(value)					\
do {									\
	if ((value) & PTE_VALID)					\
		kpkeys_defer_publish();					\
} while (0)

void kpkeys_set_pte(pte_t *ptep, pte_t pte);
void kpkeys_set_block(pte_t *ptep, pte_t pte, unsigned int nr);
void kpkeys_set_pmd(pmd_t *pmdp, pmd_t pmd);
void kpkeys_set_pud(pud_t *pudp, pud_t pud);
void kpkeys_set_p4d(p4d_t *p4dp, p4d_t p4d);
void kpkeys_set_pgd(pgd_t *pgdp, pgd_t pgd);
void kpkeys_set_swapper(pgd_t *pgdp, pgd_t pgd);
pmd_t kpkeys_exchange_pmd(pmd_t *pmdp, pmd_t pmd);
bool kpkeys_refuse_run(pte_t *ptep, pte_t pte, unsigned long nr);
bool kpkeys_refuse_block(const void *entry, u64 value, unsigned long size);
bool kpkeys_refuse_flags(pte_t *ptep, pte_t pte, pteval_t flags);
void kpkeys_set_ptes(struct mm_struct *mm, pte_t *ptep, pte_t pte,
		     unsigned int nr);
pte_t kpkeys_clear_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			unsigned int nr);
void kpkeys_wrprotect_ptes(struct mm_struct *mm, unsigned long addr,
			   pte_t *ptep, unsigned int nr);
bool kpkeys_refuse_change(const void *entry, unsigned int nr);
bool kpkeys_refuse_ptes(const void *entry, unsigned int nr);
bool kpkeys_entry_leads_to(u64 value, int level, unsigned long *pfn,
			   unsigned long *nr);

#endif /* _ASM_ARM64_KPKEYS_ENTRIES_H */
