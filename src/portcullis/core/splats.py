# SPDX-License-Identifier: GPL-2.0-only
"""Finds kernel complaints in a console log."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from portcullis.core.ktap import strip_printk

# name of the complaint -> what it looks like. Case matters: "warning:" in a boot message is not a WARNING.
PATTERNS = {
    "violation": r"kpkeys: violation:",
    "open-section": r"kpkeys: section left open|kpkeys: .*left open on return",
    "unkeyed": r"kpkeys: .*\bunkeyed page",
    "bug": r"\bBUG: |\bkernel BUG at ",
    "warning": r"\bWARNING: ",
    "oops": r"\bOops: |\bOops\[|general protection fault|double fault|stack segment|invalid opcode: ",
    "panic": r"Kernel panic - not syncing",
    "kasan": r"\bKASAN: ",
    "lockdep": r"possible circular locking|possible recursive locking|inconsistent lock state|"
    r"suspicious RCU usage|possible irq lock inversion|Invalid wait context",
    "stall": r"soft lockup|hard LOCKUP|rcu: INFO: .*stall|blocked for more than \d+ seconds",
    "bad-page": r"Bad page (?:state|map)|Bad rss-counter|bad pmd|bad pud|bad p4d|bad pgd",
    "poison": r"pagealloc: memory corruption|pagealloc: single bit error",
    "list": r"list_(?:add|del) corruption",
    "wx": r"Found insecure W\+X mapping|Checked W\+X mappings: FAILED",
    "trace": r"\bCall [Tt]race:",
    "unstable-entry": r"Spurious .*(?:#PF|fault)|unhandled page fault",
}
# Reports with a trace that tests provoke on purpose, and how many lines below their head the trace may begin.
_PROVOKED = re.compile(
    r"invoked oom-killer|FAULT_INJECTION: forcing a failure|page allocation failure: |vmalloc error: "
)
_PROVOKED_REACH = 12
# An address of the kernel's half, as %px prints it. Who reads the console must not learn where tables are.
_ADDRESS = re.compile(r"kpkeys: .*(?<![0-9a-f])ff[0-9a-f]{14}(?![0-9a-f])")
_ADDRESSES_WANTED = "no_hash_pointers"  # on the command line, which the console repeats
_WARNING_REACH = 40  # registers come between a warning and its trace
_COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}


@dataclass(frozen=True)
class Splat:
    """One complaint: its kind, the line number from 1, the line without its time stamp."""

    kind: str
    number: int
    line: str


def scan_console(text: str, allowed: tuple[str, ...] = (), warned: str = "") -> tuple[Splat, ...]:
    """Complaints in a console log, and addresses that it gives away.

    `allowed` names kinds that are expected, or is ("all",); an address never is. `warned` is what a WARNING looks like
    that is provoked on purpose: neither it nor its trace is a complaint. Raises ValueError for an unknown kind.
    """
    unknown = set(allowed) - set(PATTERNS) - {"all"}
    if unknown:
        raise ValueError(f"unknown kind of console complaint: {sorted(unknown)[0]}")
    found = list(_addresses(text))
    if "all" in allowed:
        return tuple(found)
    traces_until = 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = strip_printk(raw.rstrip())
        expected = bool(warned) and bool(re.search(warned, line))
        if expected or _PROVOKED.search(line):
            traces_until = number + (_WARNING_REACH if expected else _PROVOKED_REACH)
        kind = next((kind for kind, pattern in _COMPILED.items() if pattern.search(line)), None)
        if (kind == "trace" and number <= traces_until) or (kind == "warning" and expected):
            continue
        if kind and kind not in allowed:
            found.append(Splat(kind, number, line))
    return tuple(found)


def _addresses(text: str) -> Iterator[Splat]:
    if _ADDRESSES_WANTED in text:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if _ADDRESS.search(line):
            yield Splat("address", number, strip_printk(line.rstrip()))


def last_lines(text: str, count: int = 15) -> str:
    """The end of a log, indented for a message."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-count:])


_INT3_CODE = re.compile(r"Oops: int3.*?\bCode: [0-9a-f ]*?([0-9a-f]{2}) <", re.DOTALL)


def is_stale_int3(text: str) -> bool:
    """Did the kernel die of a breakpoint that was not there any more?

    QEMU's multi-threaded TCG may execute a byte that the kernel patched away, on stock kernels as well. The oops shows
    what is in memory: a breakpoint that is really there, right before the address, is the kernel's own fault.
    """
    found = _INT3_CODE.search(text)
    return bool(found) and found.group(1) != "cc"
