// SPDX-License-Identifier: GPL-2.0-only
// Finds:   assignments to an entry of a page table, also by WRITE_ONCE() and by way of another type.
// Why:     page tables are read-only. The store faults, is reported as a violation, and kills the task; it would also
//          skip the questions that the kernel's helpers ask before they write an entry.
// Instead: set_pte(), set_pmd() and so on for the kernel's tables; set_pte_at(), set_ptes(), set_pmd_at() for those of
//          processes; pte_clear(), ptep_get_and_clear(), pmd_clear() to clear; vm_insert_page(), remap_pfn_range(),
//          vmap() and apply_to_page_range() where whole mappings are made.
// Not found: stores through a pointer that came from an untyped one; entries of which only a copy on the stack is
//          written look the same as those of a table if they are written through a pointer.
// Words:   \b(?:pte|pmd|pud|p4d|pgd)_(?:t|offset\w*|off\w*|alloc\w*)\b|->(?:pte|pmd|pud|pgd)\b|\bswapper_pg_dir\b|\blookup_address\b|\bvirt_to_kpte\b|\bget_locked_pte\b

@store@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t;
type T;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier f;
identifier w = {WRITE_ONCE, smp_store_mb};
identifier r = {smp_store_release, rcu_assign_pointer};
identifier v = {pte_val, pmd_val, pud_val, p4d_val, pgd_val};
expression e, i;
assignment operator op;
position x != {guarded.g, otherwise.g, scoped.g};
@@
(
 *p@x op e
|
 *(T *)p@x op e
|
 p@x->f op e
|
 (*p@x).f op e
|
 p@x[i] op e
|
 p@x[i].f op e
|
 *&p@x->f op e
|
 v(*p@x) op e
|
 v(p@x[i]) op e
|
 w(*p@x, e)
|
 w(*(T *)p@x, e)
|
 w(p@x->f, e)
|
 w(p@x[i], e)
|
 w(p@x[i].f, e)
|
 r(p@x, e)
|
 r(&p@x->f, e)
|
 r((T *)p@x, e)
)

// By a pointer to integers that was made of one to entries.
@integers exists@
type T;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier q;
identifier w = {WRITE_ONCE, smp_store_mb};
expression e, i, other;
assignment operator op;
position x;
position y != {guarded.g, otherwise.g, scoped.g};
@@
(
 q = (T *)p@y;
|
 T *q = (T *)p@y;
)
 ... when any
     when != q = other
(
 *q@x op e
|
 q@x[i] op e
|
 w(*q@x, e)
|
 w(q@x[i], e)
)

@script:python@
x << store.x;
@@
coccilib.report.print_report(x[0], "entry-store in %s" % x[0].current_element)

@script:python@
x << integers.x;
@@
coccilib.report.print_report(x[0], "entry-store in %s" % x[0].current_element)
