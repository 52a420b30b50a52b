/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of EFI's boot services in EFI's page tables. */
#ifndef _ASM_X86_KPKEYS_EFI_H
#define _ASM_X86_KPKEYS_EFI_H

#include <linux/efi.h>
#include <linux/mm_types.h>
#include <asm/pgtable_types.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
int kpkeys_efi_map(const efi_memory_desc_t *md, u64 va, unsigned long flags);
void kpkeys_efi_unmap(const efi_memory_desc_t *md);
#else
static inline int kpkeys_efi_map(const efi_memory_desc_t *md, u64 va, unsigned long flags)
{
	return kernel_map_pages_in_pgd(efi_mm.pgd, PHYS_PFN(md->phys_addr), va,
				       md->num_pages, flags);
}

static inline void kpkeys_efi_unmap(const efi_memory_desc_t *md) { }
#endif

#endif /* _ASM_X86_KPKEYS_EFI_H */
