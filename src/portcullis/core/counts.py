# SPDX-License-Identifier: GPL-2.0-only
"""What emulator/plugins writes: one JSON object a line, for each region that was closed."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

PRIVILEGES = ("user", "kernel")
LEVELS = (*PRIVILEGES, "irq")
# In the plugin's order; the unit of all is a number of events.
COUNTERS = (
    "instructions",
    "pkey_writes",
    "user_pkey_writes",
    "cr0_writes",
    "cr3_writes",
    "ttbr_writes",
    "sctlr_writes",
    "isb",
    "dsb",
    "serialising",
    "wrmsr",
    "tlbi_local",
    "tlbi_broadcast",
    "tlbi_page",
    "tlbi_range",
    "tlbi_asid",
    "tlbi_all",
    "page_fault",
    "syscall",
    "interrupt",
    "nmi",
    "other_exception",
    "eret",
    "ipi_sent",
    "hypercall",
    "atomic",
)
RAISES = ("pkey_writes", "cr0_writes")  # what opens the kernel's gate
OPENING = (*RAISES, "isb")  # and what makes that take effect


@dataclass(frozen=True)
class CpuRound:
    """What one CPU counted in one round of the region `name`: counters by level, absent ones are zero.

    `irq` has the interrupts that came in between, and all that ran until they returned.
    """

    name: str
    cpu: int
    cpus: int
    user: Mapping[str, int] = field(default_factory=dict)
    kernel: Mapping[str, int] = field(default_factory=dict)
    irq: Mapping[str, int] = field(default_factory=dict)
    tlb: Mapping[str, object] = field(default_factory=dict)
    where: Mapping[int, int] = field(default_factory=dict)  # how often each address wrote the register of the keys

    def count(self, counter: str, levels: Iterable[str] = PRIVILEGES) -> int:
        """A counter's sum over some levels."""
        return sum(getattr(self, level).get(counter, 0) for level in levels)

    @property
    def flushes(self) -> int:
        """TLB invalidations."""
        return self.count("tlbi_local") + self.count("tlbi_broadcast")

    @property
    def user_key_writes(self) -> int:
        """Writes of the user's pkey register by the program: the kernel's are of task switches."""
        return self.count("user_pkey_writes", ("user",))


def parse_counts(text: str) -> tuple[CpuRound, ...]:
    """Rounds in the order in which they were closed; raises ValueError that names a broken line."""
    return tuple(_round(number, line) for number, line in enumerate(text.splitlines(), 1))


def _round(number: int, line: str) -> CpuRound:
    try:
        made = json.loads(line)
        levels = {level: _counters(made.get(level, {})) for level in LEVELS}
        where = {int(address, 16): int(times) for address, times in made.get("where", {}).items()}
        named = {"tlb": made.get("tlb", {}), "where": where}
        return CpuRound(str(made["region"]), int(made["cpu"]), int(made["cpus"]), **levels, **named)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"line {number} of what the plugin counted is broken: {error}") from error


def _counters(made: Mapping[str, object]) -> dict[str, int]:
    unknown = set(made) - set(COUNTERS)
    if unknown:
        raise ValueError(f"no counter {min(unknown)!r}")
    return {name: int(value) for name, value in made.items()}  # type: ignore[call-overload]


def differences(expected: Iterable[CpuRound], counted: Iterable[CpuRound]) -> list[str]:
    """What was counted otherwise, one line for each region and level."""
    found = []
    for number, (want, have) in enumerate(zip_longest(expected, counted), 1):
        if want is None or have is None or want.name != have.name:
            names = [repr(region.name) if region else "none" for region in (have, want)]
            found.append(f"region {number} is {names[0]}, not {names[1]}")
            continue
        for level in LEVELS:
            pairs = {name: (getattr(have, level).get(name, 0), getattr(want, level).get(name, 0)) for name in COUNTERS}
            wrong = [f"{name} {is_} not {must}" for name, (is_, must) in pairs.items() if is_ != must]
            if wrong:
                found.append(f"{want.name}, {level}: {', '.join(wrong)}")
    return found


def tlb_differences(expected: Iterable[CpuRound], counted: Iterable[CpuRound]) -> list[str]:
    """What a model of the TLB says otherwise, in regions where something is expected of it."""
    have = {region.name: dict(region.tlb) for region in counted}
    return [
        f"{region.name}: TLB {have.get(region.name)} not {dict(region.tlb)}"
        for region in expected
        if region.tlb and have.get(region.name) != dict(region.tlb)
    ]


def where_differences(counted: Iterable[CpuRound]) -> list[str]:
    """Regions that wrote the register of the keys otherwise than at the addresses that were noted."""
    sums = [(region, sum(region.count(counter) for counter in RAISES)) for region in counted]
    return [
        f"{region.name}: {sum(region.where.values())} writes have an address, not {writes}"
        for region, writes in sums
        if sum(region.where.values()) != writes
    ]
