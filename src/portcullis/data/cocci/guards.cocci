// SPDX-License-Identifier: GPL-2.0-only
// Finds:   nothing; the rules behind it leave out what it knows.
//
// Entries may be written behind guard(kpkeys_hardened_pgtables)() and guard(kpkeys_pgtables_section)(nr), in the block of
// scoped_guard(), and behind a way out for the case that a guard is needed: if (kpkeys_must_raise()) return, or
// if (kpkeys_pgtables_enabled()) return. A guard in an inner block is taken to last until the function ends.

@guarded exists@
typedef pte_t, pmd_t, pud_t, p4d_t, pgd_t, pgtable_t;
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section};
identifier a = {kpkeys_must_raise, kpkeys_pgtables_enabled};
expression c;
position g;
@@
(
 guard(w)(...);
|
 if (a()) return ...;
|
 if (a()) { ... return ...; }
|
 if (a() && c) return ...;
|
 if (a() && c) { ... return ...; }
)
 ... when any
 p@g

@otherwise exists@
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
identifier a = {kpkeys_must_raise, kpkeys_pgtables_enabled};
statement S;
position g;
@@
 if (a()) S else {
 ... when any
 p@g
 ... when any
 }

@scoped exists@
{pte_t *, pmd_t *, pud_t *, p4d_t *, pgd_t *} p;
iterator name scoped_guard;
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section};
position g;
@@
 scoped_guard(w, ...) {
 ... when any
 p@g
 ... when any
 }
