// SPDX-License-Identifier: GPL-2.0-only
// Finds:   stores to anything but entries between the beginning and the end of a section, and entries whose address is read
//          from memory there.
// Why:     with the gate open such a store goes wherever its pointer leads, to page tables as well. Who changed the pointer
//          in ordinary memory writes them.
// Instead: account for things ahead of the section or behind it; have addresses in variables, ahead of it, and take them
//          with kpkeys_reread() in it.
// Words:   \bkpkeys_(?:hardened_pgtables|pgtables_section|secret|set_level)\b

@entries exists@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section, kpkeys_secret};
position g;
@@
 guard(w)(...);
 ... when any
 p@g

@entries_scoped exists@
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
iterator name scoped_guard;
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section, kpkeys_secret};
position g;
@@
 scoped_guard(w, ...) {
 ... when any
 p@g
 ... when any
 }

@stored exists@
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section, kpkeys_secret};
identifier f, h;
identifier s = {set_pte, set_pte_at, set_ptes, __set_pte, __set_pte_at, __set_ptes, set_pmd, set_pmd_at, set_pud,
	set_pud_at, set_p4d, set_pgd, native_set_pte, native_set_pmd, native_set_pud, native_set_p4d, native_set_pgd,
	pte_clear, pmd_clear, pud_clear, p4d_clear, pgd_clear, ptep_get_and_clear, pmdp_get_and_clear, pudp_get_and_clear,
	ptep_set_wrprotect, pmdp_set_wrprotect};
expression a, e, i;
assignment operator op;
position x != {entries.g, entries_scoped.g};
@@
 guard(w)(...);
 ... when any
(
 a@x->f op e
|
 *a@x op e
|
 a->h[i]@x op e
|
 a@x->f++
|
 a@x->f--
|
 ++a@x->f
|
 --a@x->f
|
 WRITE_ONCE(a@x->f, e)
|
 WRITE_ONCE(*a@x, e)
|
 s@x(<+... a->f ...+>, ...)
|
 s@x(e, i, <+... a->f ...+>, ...)
)

@stored_scoped exists@
iterator name scoped_guard;
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section, kpkeys_secret};
identifier f, h;
identifier s = {set_pte, set_pte_at, set_ptes, __set_pte, __set_pte_at, __set_ptes, set_pmd, set_pmd_at, set_pud,
	set_pud_at, set_p4d, set_pgd, native_set_pte, native_set_pmd, native_set_pud, native_set_p4d, native_set_pgd,
	pte_clear, pmd_clear, pud_clear, p4d_clear, pgd_clear, ptep_get_and_clear, pmdp_get_and_clear, pudp_get_and_clear,
	ptep_set_wrprotect, pmdp_set_wrprotect};
expression a, e, i;
assignment operator op;
position x != {entries.g, entries_scoped.g};
@@
 scoped_guard(w, ...) {
 ... when any
(
 a@x->f op e
|
 *a@x op e
|
 a->h[i]@x op e
|
 a@x->f++
|
 a@x->f--
|
 ++a@x->f
|
 --a@x->f
|
 WRITE_ONCE(a@x->f, e)
|
 WRITE_ONCE(*a@x, e)
|
 s@x(<+... a->f ...+>, ...)
|
 s@x(e, i, <+... a->f ...+>, ...)
)
 ... when any
 }

@script:python@
x << stored.x;
@@
coccilib.report.print_report(x[0], "open-pointer in %s" % x[0].current_element)

@script:python@
x << stored_scoped.x;
@@
coccilib.report.print_report(x[0], "open-pointer in %s" % x[0].current_element)
