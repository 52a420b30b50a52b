# SPDX-License-Identifier: GPL-2.0-only
"""Names and numbers as people read them."""

from portcullis.lab.pricing import Range
from portcullis.lab.profile import Profile

_NAMES = {
    "instructions": "instructions",
    "added_instructions": "instructions added",
    "pkey_writes": "writes of the pkey register",
    "lone_writes": "writes of the pkey register without an ISB",
    "user_pkey_writes": "writes of the user's pkey register",
    "cr0_writes": "writes of CR0",
    "cr3_writes": "writes of CR3",
    "ttbr_writes": "writes of TTBR",
    "sctlr_writes": "writes of SCTLR_EL1",
    "isb": "ISBs",
    "dsb": "DSBs",
    "wrmsr": "WRMSRs",
    "tlbi_local": "local TLB invalidations",
    "tlbi_broadcast": "broadcast TLB invalidations",
    "tlbi_page": "TLB invalidations by page",
    "full_flush": "TLB refills after a full flush",
    "tlb_misses": "TLB misses",
    "page_fault": "page faults",
    "syscall": "system calls",
    "interrupt": "interrupts",
    "nmi": "NMIs",
    "other_exception": "other exceptions",
    "ipi_sent": "IPIs",
    "hypercall": "hypercalls",
    "atomic": "atomics",
}


# In plots, where there is no room for more.
STAR = "*"
STAR_SAYS = " A star: fitted, so that it agrees with a published figure by construction."


def event_name(event: str) -> str:
    """An event in words."""
    return _NAMES.get(event, event)


def percent(part: float) -> str:
    """A part of one as a percentage, with three digits or so and never `-0.00`."""
    value = 100 * part
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    return text.removeprefix("-") if not float(text) else text


def percent_range(parts: Range) -> str:
    """Parts of one as percentages: `3.40%`, or `1.20 to 5.60%` when the ends differ."""
    low, high = percent(parts.low), percent(parts.high)
    return f"{low}%" if low == high else f"{low} to {high}%"


def nanoseconds(ns: float) -> str:
    """A time with three digits: `12.3 ns`, `4.56 µs`."""
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def time_range(profile: Profile, cycles: Range) -> str:
    """Cycles as a range of time."""
    low, high = nanoseconds(profile.ns(cycles.low)), nanoseconds(profile.ns(cycles.high))
    return low if low == high else f"{low} to {high}"
