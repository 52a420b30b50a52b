/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes of entries outside sections, and what looks at entries first. They are
 * out of line, so that helpers stay small enough to be in line: with guards, fork
 * of 128 MiB executed 13% more instructions than the stock kernel, and 10% more
 * with kpkeys=off (3.7% and 0.5% like this; counted on arm64).
 */
#ifndef _ASM_X86_KPKEYS_ENTRIES_H
#define _ASM_X86_KPKEYS_ENTRIES_H

#include <linux/kpkeys_frames.h>
#include <asm/pgtable_types.h>

void kpkeys_set_pte(pte_t *ptep, pte_t pte);
void kpkeys_set_patch_pte(pte_t *ptep, pte_t pte);
void kpkeys_set_pmd(pmd_t *pmdp, pmd_t pmd);
void kpkeys_set_pud(pud_t *pudp, pud_t pud);
bool kpkeys_refuse_entry(const void *entry, u64 value, unsigned long size);
void kpkeys_set_ptes(pte_t *ptep, pte_t pte, unsigned int nr);
pte_t kpkeys_clear_pte(pte_t *ptep);
void kpkeys_wrprotect_ptes(pte_t *ptep, unsigned int nr);

#endif /* _ASM_X86_KPKEYS_ENTRIES_H */
