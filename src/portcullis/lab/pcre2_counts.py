# SPDX-License-Identifier: GPL-2.0-only
"""What PCRE2's own speed tests take: times of this machine, counts of a guest, and whether those are as claimed."""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from portcullis.core.counts import CpuRound

STOCK, KEYED, BY_CALLS = "stock", "jitgate", "wx"
BENCHED = ("stock", "sealloc", "wx", "jitgate")
TIMED = (*BENCHED, "views")  # in a guest with keys nobody chooses the last one
START = "start"  # the program, without a pattern
WORKS = ("match", "compile")
# Patterns that no chunk has room for take an area each, as they take a mapping of stock. What opening and closing
# would take is what mprotect() does, so jitgate may make this part of that.
CALLS_FOR_AREAS = 1 / 20
TOTALS = {"compile": r"^Total compile time\s+(\S+) (\w+)", "jit": r"^Total JIT compile\s+(\S+) (\w+)"}
TOTALS["match"] = r"^Total match time\s+(\S+) (\w+)"
UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6}
COLUMNS = ("system calls", "TLB invalidations", "register writes", "user instructions", "kernel instructions")


def totals_in(text: str) -> dict[str, float]:
    """What pcre2test -T says at its end, in seconds; raises ValueError when it does not."""
    found = {}
    for name, line in TOTALS.items():
        match = re.search(line, text, re.MULTILINE)
        if not match or match[2] not in UNITS:
            raise ValueError(f"pcre2test told no total of {name}")
        found[name] = float(match[1]) * UNITS[match[2]]
    return found


@dataclass(frozen=True)
class Times:
    """One quantity of one variant, in seconds."""

    middle: float
    least: float
    most: float


def summary(runs: Sequence[float]) -> Times:
    """Median and extremes."""
    return Times(statistics.median(runs), min(runs), max(runs))


@dataclass(frozen=True)
class Counts:
    """One work on one variant, without the program's start."""

    calls: int
    flushes: int
    key_writes: int
    user: int
    kernel: int

    def cells(self) -> tuple[int, ...]:
        """In the order of COLUMNS."""
        return self.calls, self.flushes, self.key_writes, self.user, self.kernel


def _counts(region: CpuRound) -> Counts:
    return Counts(
        region.count("syscall"),
        region.flushes,
        region.user_key_writes,
        region.user.get("instructions", 0),
        region.kernel.get("instructions", 0),
    )


def counts_of(regions: Iterable[CpuRound]) -> dict[str, dict[str, Counts]]:
    """Work -> variant -> what it took beyond the start; raises ValueError when a start was not counted."""
    whole: dict[str, dict[str, Counts]] = {}
    for region in regions:
        work, _, variant = region.name.partition("/")
        whole.setdefault(work, {})[variant] = _counts(region)
    found: dict[str, dict[str, Counts]] = {}
    for work in WORKS:
        for variant, counts in whole.get(work, {}).items():
            start = whole.get(START, {}).get(variant)
            if not start:
                raise ValueError(f"the start of {variant} was not counted")
            rest = (one - other for one, other in zip(counts.cells(), start.cells(), strict=True))
            found.setdefault(work, {})[variant] = Counts(*rest)
    return found


def problems_of_counts(counts: Mapping[str, Mapping[str, Counts]], times: int) -> list[str]:
    """What contradicts the claims: with a key opening and closing take no system call, and a match none."""
    found = [
        f"{work} on {variant}: not counted"
        for work in WORKS
        for variant in (STOCK, KEYED, BY_CALLS)
        if variant not in counts.get(work, {})
    ]
    if found:
        return found
    for work in WORKS:
        stock, keyed = counts[work][STOCK], counts[work][KEYED]
        more, by_calls = keyed.calls - stock.calls, counts[work][BY_CALLS].calls - stock.calls
        if more > CALLS_FOR_AREAS * by_calls:
            found.append(f"{work}: jitgate made {more} system calls more than stock, mprotect() {by_calls}")
        if stock.key_writes:
            found.append(f"{work}: stock wrote the user's pkey register")
    more = counts["compile"][KEYED].key_writes - counts["match"][KEYED].key_writes
    # Each of hundreds of patterns is compiled so often; opening and closing are two writes.
    if more < 200 * times:
        found.append(f"compile: jitgate wrote the user's pkey register {more} times only")
    return found
