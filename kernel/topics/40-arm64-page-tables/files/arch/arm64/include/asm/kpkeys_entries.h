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
#include <linux/mm_types.h>
#include <asm/kpkeys_compat.h>
#include <asm/pgtable-types.h>

struct mm_struct;

/* Of an entry that is there: it is of the last level, or leads to a table. */
#define KPKEYS_NO_BLOCK		(PMD_TYPE_TABLE & ~PMD_TYPE_SECT)

/*
 * Where the CPU finds what an entry leads to. A CPU without addresses of 52 bits ignores
 * some of the bits that __pte_to_phys() takes for the address. By TCR_EL1.IPS, where
 * PHYS_MASK does not know.
 */
#if defined(CONFIG_ARM64_64K_PAGES) && defined(CONFIG_ARM64_PA_BITS_52)
#define KPKEYS_PHYS_MASK						\
	((read_sysreg(tcr_el1) >> 32 & 7) < 6 ? GENMASK_ULL(47, 0) : GENMASK_ULL(51, 0))
/* In a section the mask would wait on the stack until the address is used. */
#define kpkeys_leads_to_phys(pte)					\
({									\
	phys_addr_t __phys = __pte_to_phys(pte) & KPKEYS_PHYS_MASK;	\
	OPTIMIZER_HIDE_VAR(__phys);					\
	__phys;								\
})
#else
#define KPKEYS_PHYS_MASK	PHYS_MASK
#define kpkeys_leads_to_phys(pte)	(__pte_to_phys(pte) & KPKEYS_PHYS_MASK)
#endif

#define kpkeys_present_pfn(pte)	PHYS_PFN(kpkeys_leads_to_phys(pte))

/* Neither of these is what an entry that maps memory leads to. */
#define kpkeys_table_pfn(value)						\
	(((value) & PMD_TYPE_MASK) == PMD_TYPE_TABLE ?			\
	 kpkeys_present_pfn(__pte(value)) : 0)

#define kpkeys_with_table(value, table)					\
	(((value) & ~__phys_to_pte_val(__pte_to_phys(__pte(value)))) |	\
	 __phys_to_pte_val(table))

#define kpkeys_is_linear(addr)	__is_lm_address((unsigned long)(addr))

/* The page frame; of what is not in the linear map a number that there is not. */
#define kpkeys_linear_pfn(addr)	PHYS_PFN(__lm_to_phys((unsigned long)(addr)))

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
#define kpkeys_is_open_kernel_slot(ptep)				\
({									\
	pte_t *__slot = (ptep);						\
									\
	kpkeys_is_kernel_slot(__slot) &&				\
	!kpkeys_is_typed(READ_ONCE(*__slot));				\
})

#define kpkeys_is_open_slot(ptep)					\
	(likely(kpkeys_is_pte_slot(ptep)) ||				\
	 kpkeys_is_open_kernel_slot(ptep))

/*
 * May a process have an entry with these bits? The kernel must not run what is
 * mapped for it, and what is global is in the TLB for all processes.
 */
#define kpkeys_is_private(value)					\
	(!((value) & PTE_VALID) ||					\
	 ((value) & PTE_PXN &&						\
	  ((value) & PTE_NG || ((value) & (PTE_USER | PTE_UXN)) == PTE_UXN)) || \
	 kpkeys_is_shadow_stack(value))

/* In a section, behind the write or ahead of it: its end has the barriers. */
#define kpkeys_entry_written(value)					\
do {									\
	if ((value) & PTE_VALID)					\
		kpkeys_defer_publish();					\
} while (0)

void kpkeys_set_pte(pte_t *ptep, pte_t pte);
bool kpkeys_try_set_pte(pte_t *ptep, pte_t pte);
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
void kpkeys_set_entries(struct mm_struct *mm, pte_t *ptep, pte_t pte,
			unsigned int nr, unsigned long stride);
pte_t kpkeys_clear_block(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			 unsigned long size);
pte_t kpkeys_clear_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			unsigned int nr);
void kpkeys_wrprotect_ptes(struct mm_struct *mm, unsigned long addr,
			   pte_t *ptep, unsigned int nr);
int kpkeys_clear_bits(pte_t *ptep, unsigned int nr, cydp_t flags);
bool kpkeys_add_flags(pte_t *ptep, unsigned int nr, pteval_t flags);
bool __kpkeys_add_flags(pte_t *ptep, unsigned int nr, pteval_t flags);
bool kpkeys_fill_table(pte_t *table, pte_t pte, unsigned int level);
bool kpkeys_unfold(pte_t *ptep, unsigned int nr);
void kpkeys_map_ptes(pte_t *ptep, unsigned long nr, unsigned long pfn, pgprot_t prot);
void kpkeys_set_valid(unsigned long addr, unsigned long nr, bool valid);
bool kpkeys_refuse_change(const void *entry, unsigned int nr);
bool kpkeys_refuse_ptes(const void *entry, unsigned int nr);

/* Those of an entry that __ptep_set_access_flags() adds, PTE_RDONLY the other way round. */
#define kpkeys_flags_to_add(pte)					\
	((pte_val(pte) & (PTE_RDONLY | PTE_AF | PTE_WRITE | PTE_DIRTY)) ^ \
	 PTE_RDONLY)

/* How many pages an entry maps that leads to no table. Folded levels span what those below do. */
#define kpkeys_pages_at(level)						\
	(1UL << (((level) == KPKEYS_LEVEL_PMD ? PMD_SHIFT :		\
		  (level) == KPKEYS_LEVEL_PUD ? PUD_SHIFT :		\
		  (level) == KPKEYS_LEVEL_P4D ? P4D_SHIFT :		\
						PGDIR_SHIFT) - PAGE_SHIFT))

/**
 * kpkeys_entry_leads_to - what an entry maps, or the table below it
 * @value: of the entry
 * @level: KPKEYS_LEVEL_* of its table
 * @pfn: set to the first frame
 * @nr: set to how many
 *
 * Return: false if the CPU does not use it.
 */
#define kpkeys_entry_leads_to(value, level, pfn, nr)			\
({									\
	bool __is_used = (value) & PTE_VALID;				\
									\
	if (__is_used) {						\
		*(nr) = (level) == KPKEYS_LEVEL_PTE ||			\
			((value) & KPKEYS_NO_BLOCK) ?			\
			1 : kpkeys_pages_at(level);			\
		*(pfn) = ALIGN_DOWN(kpkeys_present_pfn(__pte(value)), *(nr));	\
	}								\
	__is_used;							\
})

#endif /* _ASM_ARM64_KPKEYS_ENTRIES_H */
