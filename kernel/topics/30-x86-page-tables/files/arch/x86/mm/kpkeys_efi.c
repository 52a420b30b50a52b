// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of EFI's boot services, of which somebody else had reserved a part. It is
 * not reserved whole, and never freed: the rest of it is anybody's, a page table's or
 * text's as well, for which no other mapping may be there that can be written.
 */
#include <linux/efi.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_roots.h>
#include <linux/memblock.h>
#include <linux/minmax.h>
#include <linux/pgtable.h>

#include <asm/efi.h>
#include <asm/kpkeys_efi.h>

/* Firmware of the other width has all memory mapped. */
static bool __init is_shared(const efi_memory_desc_t *md)
{
	return (md->type == EFI_BOOT_SERVICES_CODE || md->type == EFI_BOOT_SERVICES_DATA) &&
	       (md->attribute & EFI_MEMORY_RUNTIME) && kpkeys_wanted() && !efi_is_mixed();
}

/**
 * kpkeys_efi_map - map a region for the firmware
 * @md: the region
 * @va: where
 * @flags: _PAGE_*
 *
 * Of boot services' memory that others have as well, what is reserved alone.
 *
 * Return: 0 or -errno.
 */
int __init kpkeys_efi_map(const efi_memory_desc_t *md, u64 va, unsigned long flags)
{
	u64 first = md->phys_addr, last = first + (md->num_pages << EFI_PAGE_SHIFT), i;
	pgd_t *root = kpkeys_root(&efi_mm);
	phys_addr_t start, end;
	int ret = 0;

	if (!is_shared(md))
		return kernel_map_pages_in_pgd(root, PHYS_PFN(first), va, md->num_pages, flags);
	for_each_reserved_mem_range(i, &start, &end) {
		start = max_t(u64, start & PAGE_MASK, first);
		end = min_t(u64, PAGE_ALIGN(end), last);
		if (start < end && !ret)
			ret = kernel_map_pages_in_pgd(root, PHYS_PFN(start), va + start - first,
						      PHYS_PFN(end - start), flags);
	}
	return ret;
}

static bool __init is_mapped(pgd_t *root, u64 addr)
{
	unsigned int level;
	pte_t *pte = lookup_address_in_pgd(pgd_offset_pgd(root, addr), addr, &level);

	return pte && !pte_none(READ_ONCE(*pte));
}

static void __init unmap_mapped(u64 addr, unsigned long nr)
{
	pgd_t *root = kpkeys_root(&efi_mm);
	unsigned long run;
	bool mapped;

	for (; nr; nr -= run, addr += run * PAGE_SIZE) {
		mapped = is_mapped(root, addr);
		for (run = 1; run < nr; run++)
			if (is_mapped(root, addr + run * PAGE_SIZE) != mapped)
				break;
		if (mapped && kernel_unmap_pages_in_pgd(root, addr, run))
			pr_err("kpkeys: EFI keeps boot services' memory at 0x%llx\n", addr);
	}
}

/**
 * kpkeys_efi_unmap - unmap what kpkeys_efi_map() has left of such memory
 * @md: the region
 *
 * What others had reserved is freed one day: an initramfs, or the kernel's own start.
 */
void __init kpkeys_efi_unmap(const efi_memory_desc_t *md)
{
	if (!is_shared(md))
		return;
	unmap_mapped(md->phys_addr, md->num_pages);
	unmap_mapped(md->virt_addr, md->num_pages);
}
