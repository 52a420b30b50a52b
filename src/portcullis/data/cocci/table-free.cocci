// SPDX-License-Identifier: GPL-2.0-only
// Finds:   page tables that are freed as ordinary pages or memory.
// Why:     a page of the pool that the page allocator gets is still read-only: whoever is given it next dies of the first
//          store. A table that is linked, or that a CPU may still walk, would be used for something else.
// Instead: pte_free_kernel(), pte_free(), pmd_free(), pud_free(), pagetable_dtor() and pagetable_free(); tlb_remove_table()
//          and pte_free_tlb() where a process may still walk it.
// Words:   \b(?:pte|pmd|pud|p4d|pgd|pgtable)_t\b|\bpmd_page_vaddr\b|\bpmd_pgtable\b

@freed@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t;
type T;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
pgtable_t t;
expression cache;
identifier f = {free_page, free_pages, free_pages_exact, kfree, kvfree, kfree_sensitive, vfree, memblock_free, __free_page,
	__free_pages, put_page, free_unref_page, free_highpage};
identifier g = {__free_page, __free_pages, put_page, free_unref_page, tlb_remove_page, mempool_free_pages};
identifier v = {virt_to_page, virt_to_head_page, virt_to_folio};
position x;
@@
(
 f@x(p, ...)
|
 f@x((T)p, ...)
|
 kmem_cache_free@x(cache, p)
|
 dma_pool_free@x(cache, p, ...)
|
 f@x(\(pmd_page_vaddr(...)\|(T)pmd_page_vaddr(...)\), ...)
|
 g@x(v(p), ...)
|
 g@x(v((T)p), ...)
|
 folio_put@x(v(p))
|
 g@x(t, ...)
|
 tlb_remove_page@x(cache, v(p))
|
 tlb_remove_page@x(cache, t)
)

@script:python@
x << freed.x;
@@
coccilib.report.print_report(x[0], "table-free in %s" % x[0].current_element)
