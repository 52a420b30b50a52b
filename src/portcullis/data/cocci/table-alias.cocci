// SPDX-License-Identifier: GPL-2.0-only
// Finds:   page tables whose mapping is changed, or that are mapped once more: set_memory_*() and the like, entries that are
//          made of a table's page, tables that are handed to user space or to a device.
// Why:     the protection of a table is in each mapping of it. A change is refused, and so is an entry that maps a table
//          without its key: the task is killed. What a device maps it can write past all keys.
// Instead: nothing. The kernel's direct map is the one place from where tables are read, and its helpers write them.
// Words:   \b(?:pte|pmd|pud|p4d|pgd|pgtable)_t\b|\bpmd_page_vaddr\b|\bpmd_pgtable\b

@alias@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t;
type T;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
pgtable_t t;
expression e, a;
identifier s = {set_memory_ro, set_memory_rw, set_memory_rox, set_memory_x, set_memory_nx, set_memory_np,
	set_memory_np_noalias, set_memory_p, set_memory_4k, set_memory_uc, set_memory_wc, set_memory_wb, set_memory_valid,
	set_memory_nonglobal, set_memory_global, set_memory_encrypted, set_memory_decrypted};
identifier g = {set_pages_ro, set_pages_rw, set_pages_uc, set_pages_wb, set_direct_map_invalid_noflush,
	set_direct_map_default_noflush, set_direct_map_valid_noflush, mk_pte, mk_pmd, mk_huge_pmd, get_page};
identifier v = {virt_to_page, virt_to_head_page, virt_to_folio};
identifier n = {__pa, virt_to_phys, virt_to_pfn, page_to_pfn, page_to_phys};
identifier m = {pfn_pte, pfn_pmd, pfn_pud, pfn_to_pfn_t, phys_to_pfn_t, remap_pfn_range, io_remap_pfn_range,
	ioremap, ioremap_cache, ioremap_wc, memremap, vm_iomap_memory, vmf_insert_pfn, vmf_insert_pfn_prot,
	vmf_insert_mixed, dma_map_single, dma_map_single_attrs, dma_map_page, sg_set_buf, sg_init_one};
identifier i = {vm_insert_page, vmf_insert_page, sg_set_page, dma_map_page, vm_map_ram, vmap};
position x;
@@
(
 s@x(\(p\|(T)p\), ...)
|
 s@x(\(pmd_page_vaddr(...)\|(T)pmd_page_vaddr(...)\), ...)
|
 g@x(\(v(p)\|v((T)p)\|t\), ...)
|
 m@x(<+... n(\(p\|(T)p\|t\|v(p)\)) ...+>, ...)
|
 m@x(e, <+... n(\(p\|(T)p\|t\|v(p)\)) ...+>, ...)
|
 m@x(e, a, <+... n(\(p\|(T)p\|t\|v(p)\)) ...+>, ...)
|
 m@x(e, \(p\|(T)p\), ...)
|
 i@x(\(v(p)\|&t\|t\), ...)
|
 i@x(e, \(v(p)\|t\), ...)
|
 i@x(e, a, \(v(p)\|t\), ...)
)

@script:python@
x << alias.x;
@@
coccilib.report.print_report(x[0], "table-alias in %s" % x[0].current_element)
