// SPDX-License-Identifier: GPL-2.0-only
// Finds:   memory of another allocator that becomes a page table: what is assigned to a pointer to entries, linked by
//          *_populate() or set_*(), deposited for a huge page or made a table by pagetable_*_ctor(); tables in static data.
// Why:     tables are pages of the pool, which are read-only before they are used and known to the table of frames. An
//          entry that leads to any other page is refused: the task is killed, and the memory is not mapped.
// Instead: pte_alloc_kernel(), pte_alloc_map(), pmd_alloc() and so on, which also link; pte_alloc_one_kernel(),
//          pmd_alloc_one(), pagetable_alloc() for the page alone; best of all vmap(), ioremap(), vm_insert_page().
// Words:   \b(?:pte|pmd|pud|p4d|pgd|pgtable)_t\b|\b(?:pmd|pud|p4d|pgd)_populate\w*|\bpgtable_trans_huge_deposit\b|\bpagetable_\w+_ctor\b|\bset_(?:pmd|pud|p4d|pgd)\b

@allocated@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t;
type T;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier m = {__get_free_page, __get_free_pages, __get_dma_pages, get_zeroed_page, kmalloc, kzalloc, kcalloc,
	kmalloc_array, kmalloc_node, kzalloc_node, kvmalloc, kvzalloc, kmemdup, kmem_cache_alloc, kmem_cache_zalloc,
	vmalloc, vzalloc, vmalloc_node, devm_kmalloc, devm_kzalloc, devm_get_free_pages, alloc_pages_exact,
	alloc_pages_exact_nid, dma_alloc_coherent, dma_pool_alloc, memblock_alloc, memblock_alloc_raw,
	memblock_alloc_node, memblock_alloc_low, memblock_alloc_from, memblock_alloc_try_nid};
identifier n = {alloc_page, alloc_pages, alloc_pages_node, __alloc_pages};
pgtable_t t;
position x;
@@
(
 p = m@x(...)
|
 p = (T)m@x(...)
|
 (pte_t *)m@x(...)
|
 (pmd_t *)m@x(...)
|
 (pud_t *)m@x(...)
|
 (p4d_t *)m@x(...)
|
 (pgd_t *)m@x(...)
|
 t = n@x(...)
)

// By way of struct page.
@paged exists@
type T;
expression page, e;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier m = {alloc_page, alloc_pages, alloc_pages_node, __alloc_pages, alloc_page_vma, folio_alloc, __folio_alloc};
identifier a = {page_address, page_to_virt, folio_address, lowmem_page_address, kmap, kmap_atomic, kmap_local_page};
position x;
@@
 page = m(...)
 ... when any
     when != page = e
(
 p = a@x(page)
|
 p = (T)a@x(page)
)

// Linked, deposited, or made a table.
@linked exists@
type T;
expression new, e;
identifier m = {__get_free_page, __get_free_pages, get_zeroed_page, kmalloc, kzalloc, kmem_cache_alloc, kmem_cache_zalloc,
	alloc_pages_exact, alloc_page, alloc_pages, alloc_pages_node, __alloc_pages, folio_alloc};
identifier l = {pmd_populate, pmd_populate_safe, pud_populate, pud_populate_safe, p4d_populate, p4d_populate_safe,
	pgd_populate, pgd_populate_safe, pmd_populate_kernel, pmd_populate_kernel_safe, pgtable_trans_huge_deposit};
identifier s = {set_pmd, set_pud, set_p4d, set_pgd, native_set_pmd, native_set_pud, native_set_p4d, native_set_pgd,
	set_pmd_at, set_pud_at};
identifier c = {pagetable_pte_ctor, pagetable_pmd_ctor, pagetable_pud_ctor, pagetable_p4d_ctor,
	pagetable_pgd_ctor};
identifier v = {__pa, virt_to_phys, page_to_phys, page_to_pfn, virt_to_pfn};
position x;
@@
(
 new = m(...)
|
 new = (T)m(...)
)
 ... when any
     when != new = e
(
 l@x(..., <+... new ...+>)
|
 s@x(..., <+... v(<+... new ...+>) ...+>)
|
 c@x(<+... new ...+>)
)

@fixed@
identifier t;
identifier n = {PTRS_PER_PTE, PTRS_PER_PMD, PTRS_PER_PUD, PTRS_PER_P4D, PTRS_PER_PGD};
position x;
@@
(
 pte_t t@x[n];
|
 pmd_t t@x[n];
|
 pud_t t@x[n];
|
 p4d_t t@x[n];
|
 pgd_t t@x[n];
)

@script:python@
x << allocated.x;
@@
coccilib.report.print_report(x[0], "table-alloc in %s" % x[0].current_element)

@script:python@
x << paged.x;
@@
coccilib.report.print_report(x[0], "table-alloc in %s" % x[0].current_element)

@script:python@
x << linked.x;
@@
coccilib.report.print_report(x[0], "table-alloc in %s" % x[0].current_element)

@script:python@
x << fixed.x;
@@
coccilib.report.print_report(x[0], "table-alloc in %s" % x[0].current_element)
