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

/* Neither of these is what an entry that maps memory leads to. */
static __always_inline unsigned long kpkeys_table_pfn(u64 value)
{
	if ((value & (_PAGE_PRESENT | _PAGE_PSE)) != _PAGE_PRESENT)
		return 0;
	return (value & PTE_PFN_MASK) >> PAGE_SHIFT;
}

static __always_inline u64 kpkeys_with_table(u64 value, phys_addr_t table)
{
	return (value & ~PTE_PFN_MASK) | table;
}

/* pte_pfn() of a present entry: nothing is inverted in that. */
#define kpkeys_present_pfn(pte)	(((pte).pte & PTE_PFN_MASK) >> PAGE_SHIFT)

/*
 * May a process have an entry with these bits? The kernel must not run what is
 * mapped for it, and what is global is in the TLB for all processes.
 */
static __always_inline bool kpkeys_is_private(u64 value)
{
	if (!(value & _PAGE_PRESENT))
		return true;
	return value & _PAGE_USER ? !(value & _PAGE_GLOBAL) : value & _PAGE_NX;
}

/* In a section, behind the write or ahead of it. */
static __always_inline void kpkeys_entry_written(u64 value)
{
}

static __always_inline bool kpkeys_is_linear(const void *addr)
{
	return (unsigned long)addr >= PAGE_OFFSET &&
	       (unsigned long)addr < VMALLOC_START;
}

/* The page frame; of what is not in the direct map a number that there is not. */
static __always_inline unsigned long kpkeys_linear_pfn(const void *addr)
{
	return ((unsigned long)addr - PAGE_OFFSET) >> PAGE_SHIFT;
}

/* Is that a table of the last level? Of others kpkeys_set_elsewhere() knows more. */
static __always_inline bool kpkeys_is_pte_slot(const void *ptep)
{
	return kpkeys_is_linear(ptep) && kpkeys_is_whole_entry(ptep) &&
	       (kpkeys_frame_byte(PHYS_PFN(__pa(ptep))) & ~KPKEYS_FRAME_LINK) ==
	       KPKEYS_TABLE(KPKEYS_LEVEL_PTE, 0);
}

static __always_inline bool kpkeys_is_kernel_slot(const void *ptep)
{
	return kpkeys_is_linear(ptep) && kpkeys_is_whole_entry(ptep) &&
	       (kpkeys_frame_byte(PHYS_PFN(__pa(ptep))) & ~KPKEYS_FRAME_LINK) ==
	       KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PTE, 0);
}

/*
 * May an entry of the kernel be written, whatever it is? Those stay that lead to
 * what is not ordinary, maybe: kpkeys_refuse_leaf() knows.
 */
static __always_inline bool kpkeys_is_open_kernel_slot(const void *ptep)
{
	u64 old;

	if (!kpkeys_is_kernel_slot(ptep))
		return false;
	old = READ_ONCE(*(const u64 *)ptep);
	return !(old & _PAGE_PRESENT) ||
	       kpkeys_frame((old & PTE_PFN_MASK) >> PAGE_SHIFT) == KPKEYS_FRAME_ORDINARY;
}

static __always_inline bool kpkeys_is_open_slot(const void *ptep)
{
	return likely(kpkeys_is_pte_slot(ptep)) || kpkeys_is_open_kernel_slot(ptep);
}

void kpkeys_set_pte(pte_t *ptep, pte_t pte);
void kpkeys_set_pmd(pmd_t *pmdp, pmd_t pmd);
void kpkeys_set_pud(pud_t *pudp, pud_t pud);
void kpkeys_set_p4d(p4d_t *p4dp, p4d_t p4d);
void kpkeys_set_pgd(pgd_t *pgdp, pgd_t pgd);
pmd_t kpkeys_exchange_pmd(pmd_t *pmdp, pmd_t pmd);
pud_t kpkeys_exchange_pud(pud_t *pudp, pud_t pud);
void kpkeys_set_kernel_entry(void *entry, u64 value);
void kpkeys_clone_pgd_range(pgd_t *to, const pgd_t *from, unsigned int nr);
bool kpkeys_refuse_block(const void *entry, u64 value, unsigned long size);
void kpkeys_set_ptes(pte_t *ptep, pte_t pte, unsigned int nr);
pte_t kpkeys_clear_pte(pte_t *ptep);
bool kpkeys_refuse_change(const void *entry, unsigned int nr);
bool kpkeys_refuse_ptes(const void *entry, unsigned int nr);
bool kpkeys_try_set_pte(pte_t *ptep, pte_t pte);
void kpkeys_wrprotect_ptes(pte_t *ptep, unsigned int nr);
void kpkeys_wrprotect_pmd(pmd_t *pmdp);
bool kpkeys_clear_young(void *entry);
bool kpkeys_fill_table(pte_t *table, pte_t pte);

/**
 * kpkeys_entry_leads_to - what an entry maps, or the table below it
 * @value: of the entry
 * @level: KPKEYS_LEVEL_* of its table
 * @pfn: set to the first frame
 * @nr: set to how many
 *
 * Return: false if the CPU does not use it.
 */
static __always_inline bool kpkeys_entry_leads_to(u64 value, int level,
						  unsigned long *pfn,
						  unsigned long *nr)
{
	if (!(value & _PAGE_PRESENT))
		return false;
	*nr = 1;
	if (level > 1 && level <= 3 && (value & _PAGE_PSE))
		*nr = 1UL << (level - 1) * (PMD_SHIFT - PAGE_SHIFT);
	*pfn = ALIGN_DOWN((value & PTE_PFN_MASK) >> PAGE_SHIFT, *nr);
	return true;
}

#endif /* _ASM_X86_KPKEYS_ENTRIES_H */
