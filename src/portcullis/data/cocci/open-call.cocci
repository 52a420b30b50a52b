// SPDX-License-Identifier: GPL-2.0-only
// Finds:   calls between the beginning and the end of a section, but for helpers of entries and what is no code.
// Why:     all that is called there runs with the gate open and may store to any page table. What it saves on the stack,
//          its way back above all, another CPU can change meanwhile; a call by a pointer goes where that leads.
// Instead: decide, allocate, count and print ahead of the section or behind it. What must be asked inside is in line.
// Words:   \bkpkeys_(?:hardened_pgtables|pgtables_section|secret|set_level)\b

@initialize:python@
@@
import re

# What a section may name: helpers of entries and of this protection, atomic operations, what the compiler or the
# preprocessor makes of names.
HARMLESS = re.compile(
    r"(__)*(kpkeys|arch_kpkeys|native|huge|raw_cpu|this_cpu|smp|(arch_)?atomic(64|_long)?|static_branch)_\w+"
    r"|_*(set_|mk_|mk|pfn_|get_and_clear_)?(pte|pmd|pud|p4d|pgd|ptes|ptep|pmdp|pudp|pgprot|ptdesc)(_\w+)?"
    r"|(try_)?cmpxchg\w*|xchg\w*|_*(test_and_)?(set|clear|change|test)_bit"
    r"|READ_ONCE|WRITE_ONCE|(un)?likely|(min|max)(_t)?|clamp|BIT|GENMASK|sizeof|ARRAY_SIZE|IS_ENABLED|BUILD_BUG_ON"
    r"|IS_ALIGNED|ALIGN(_DOWN)?|barrier|dsb|isb|dmb|virt_to_\w+|phys_to_\w+|page_to_\w+|pfn_to_\w+|__p?va?|__pa"
    r"|PHYS_PFN|PFN_PHYS|PFN_DOWN|PFN_UP|clear_page|memset(64)?|memcpy|guard|scoped_guard"
)

@called exists@
iterator name scoped_guard;
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section, kpkeys_secret};
identifier f;
position x;
@@
(
 guard(w)(...);
 ... when any
 f@x(...)
|
 scoped_guard(w, ...) {
 ... when any
 f@x(...)
 ... when any
 }
)

// By a pointer, wherever that leads.
@pointer exists@
iterator name scoped_guard;
identifier w = {kpkeys_hardened_pgtables, kpkeys_pgtables_section, kpkeys_secret};
identifier f;
expression fn, e;
position x;
@@
(
 guard(w)(...);
 ... when any
 \(e->f@x(...)\|e.f@x(...)\|(*fn)@x(...)\)
|
 scoped_guard(w, ...) {
 ... when any
 \(e->f@x(...)\|e.f@x(...)\|(*fn)@x(...)\)
 ... when any
 }
)

@script:python@
x << called.x;
f << called.f;
@@
if not HARMLESS.fullmatch(f):
    coccilib.report.print_report(x[0], "open-call in %s" % x[0].current_element)

@script:python@
x << pointer.x;
@@
coccilib.report.print_report(x[0], "open-call in %s" % x[0].current_element)
