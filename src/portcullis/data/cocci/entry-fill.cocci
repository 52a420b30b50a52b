// SPDX-License-Identifier: GPL-2.0-only
// Finds:   whole tables, or runs of entries, that are cleared or copied as memory.
// Why:     it is many stores to a read-only page at once. Entries that are copied like this lead to tables to which
//          something else leads already, which the protection refuses, and mapped pages that nobody asked about.
// Instead: nothing for a table that is new: what pte_alloc_one_kernel() and its like hand out is cleared. set_ptes() for
//          runs, pmd_clear() and so on, one by one, else.
// Words:   \b(?:pte|pmd|pud|p4d|pgd)_(?:t|offset\w*|off\w*|alloc\w*|page_vaddr|pgtable)\b|->(?:pte|pmd|pud|pgd)\b|\bswapper_pg_dir\b|\bpgtable_t\b

@fill@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t;
type T;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
pgtable_t t;
expression e;
identifier w = {memset, memset16, memset32, memset64, memset_l, memset_p, memset_io, memcpy, memmove, memcpy_fromio,
	__memcpy, __memset, memzero_explicit, bzero, clear_page, copy_page, copy_from_user, __copy_from_user,
	copy_from_kernel_nofault, copy_mc_to_kernel};
identifier h = {clear_highpage, copy_highpage, memset_page, memzero_page, memcpy_to_page, clear_user_highpage,
	zero_user, zero_user_segment, zero_user_segments};
position x != {guarded.g, otherwise.g, scoped.g};
@@
(
 w(p@x, ...)
|
 w((T)p@x, ...)
|
 w(&p@x[...], ...)
|
 w@x(\(pmd_page_vaddr(...)\|(T)pmd_page_vaddr(...)\), ...)
|
 w@x(page_address(t), ...)
|
 w@x(ptdesc_address(e), ...)
|
 h@x(t, ...)
|
 h@x(virt_to_page(p), ...)
)

@script:python@
x << fill.x;
@@
coccilib.report.print_report(x[0], "entry-fill in %s" % x[0].current_element)
