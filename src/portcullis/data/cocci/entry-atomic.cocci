// SPDX-License-Identifier: GPL-2.0-only
// Finds:   exchanges, bit operations and atomic operations on an entry of a page table.
// Why:     a locked instruction on a page table faults like a store, even where it changes nothing. Nor does it keep the
//          books of which table is linked where.
// Instead: ptep_get_and_clear(), ptep_set_wrprotect(), ptep_test_and_clear_young(), ptep_set_access_flags() and the
//          same for higher levels; pmdp_establish() to exchange.
// Words:   \b(?:pte|pmd|pud|p4d|pgd)_(?:t|offset\w*|off\w*|alloc\w*)\b|->(?:pte|pmd|pud|pgd)\b|\bswapper_pg_dir\b|\blookup_address\b|\bvirt_to_kpte\b|\bget_locked_pte\b

@exchange@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t, atomic_t, atomic64_t, atomic_long_t;
type T;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier f;
identifier x = {xchg, xchg_relaxed, xchg_acquire, xchg_release, cmpxchg, cmpxchg_relaxed, cmpxchg_acquire,
	cmpxchg_release, cmpxchg_local, cmpxchg64, cmpxchg64_relaxed, cmpxchg64_local, cmpxchg_double, cmpxchg128,
	try_cmpxchg, try_cmpxchg_relaxed, try_cmpxchg_acquire, try_cmpxchg_release, try_cmpxchg_local, try_cmpxchg64,
	try_cmpxchg128, arch_xchg, arch_cmpxchg, arch_try_cmpxchg, sync_cmpxchg};
identifier b = {set_bit, clear_bit, change_bit, test_and_set_bit, test_and_clear_bit, test_and_change_bit,
	__set_bit, __clear_bit, __change_bit, __test_and_set_bit, __test_and_clear_bit, __test_and_change_bit,
	arch_set_bit, arch_clear_bit, arch_change_bit, arch_test_and_set_bit, arch_test_and_clear_bit,
	arch_test_and_change_bit, arch___set_bit, arch___clear_bit, arch___change_bit, arch___test_and_set_bit,
	arch___test_and_clear_bit, arch___test_and_change_bit, assign_bit, __assign_bit, clear_bit_unlock,
	test_and_set_bit_lock};
expression n, i;
position e != {guarded.g, otherwise.g, scoped.g};
@@
(
 x(p@e, ...)
|
 x((T)p@e, ...)
|
 x(&p@e->f, ...)
|
 x((T)&p@e->f, ...)
|
 x(&p@e[i].f, ...)
|
 b(n, p@e, ...)
|
 b(n, (T)p@e, ...)
|
 b(n, &p@e->f, ...)
|
 b(n, (T)&p@e->f, ...)
|
 b(n, (T)&p@e[i].f, ...)
|
 (atomic_t *)p@e
|
 (atomic64_t *)p@e
|
 (atomic_long_t *)p@e
|
 (atomic_t *)&p@e->f
|
 (atomic64_t *)&p@e->f
|
 (atomic_long_t *)&p@e->f
)

@script:python@
e << exchange.e;
@@
coccilib.report.print_report(e[0], "entry-atomic in %s" % e[0].current_element)
