# SPDX-License-Identifier: GPL-2.0-only
"""What one job counted, as the runner keeps it: a JSON file for each."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from portcullis.core.counts import PRIVILEGES, RAISES, CpuRound, parse_counts

FORMAT = 1
BASES = ("stock", "off")  # designs that protect nothing
DESIGNS = (*BASES, "per-write", "rfc", "portcullis")
KEYED = ("pages_keyed", "pool_used")  # of kpkeys/stats: since the region began, and now
SILENT = ("syscall", "lseek", "gate-", "getuid", "open-file", "access-as", "setresuid")  # they change no page table
ALLOCATING = ("fork", "touch", "exec", "kernbench", "lm-")  # regions that take new page tables

Counters = Mapping[str, int]


@dataclass(frozen=True)
class Round:
    """Counters of one opening of a region: at the user's level, at the kernel's, and of the model of a TLB."""

    user: Counters = field(default_factory=dict)
    kernel: Counters = field(default_factory=dict)
    tlb: Mapping[str, object] = field(default_factory=dict)

    @property
    def total(self) -> dict[str, int]:
        """Counters of both levels; TLB misses are among them when they were modelled."""
        names = {**self.user, **self.kernel}
        sums = {name: self.user.get(name, 0) + self.kernel.get(name, 0) for name in names}
        misses = self.tlb.get("misses")
        return sums | ({"tlb_misses": misses} if isinstance(misses, int) else {})


@dataclass(frozen=True)
class Region:
    """A named part of a benchmark: how many operations it holds, and its counters each time it was run."""

    times: int
    rounds: tuple[Round, ...]

    def typical(self) -> dict[str, float]:
        """Counters of one operation, from the round with the middle number of instructions.

        One round and not the least of each counter over all: what belongs together stays together.
        """
        totals = sorted((each.total for each in self.rounds), key=lambda total: total.get("instructions", 0))
        middle = totals[(len(totals) - 1) // 2]
        return {name: value / self.times for name, value in sorted(middle.items())}

    def spread(self) -> float:
        """By how much the instructions of the rounds differ, as a part of the least; 0 when all are the same."""
        counted = [each.total.get("instructions", 0) for each in self.rounds]
        return (max(counted) - min(counted)) / min(counted) if counted and min(counted) else 0.0


@dataclass(frozen=True)
class Result:
    """One job's counters and where they come from."""

    job: str
    arch: str
    design: str
    variant: str
    machine: Mapping[str, object]
    versions: Mapping[str, str]
    command: str
    regions: Mapping[str, Region]
    guest: Mapping[str, Mapping[str, object]]
    when: str = ""

    @property
    def protects(self) -> bool:
        """Whether the design is one that protects page tables."""
        return self.design not in BASES


def why_not_to_price(results: Iterable[Result]) -> str:
    """Reason to refuse the results of one design, empty when there is none.

    A protected run without a raise of the gate or without a keyed page measured an unprotected kernel. Every region
    that changes page tables must have raises of its own; keyed pages show where tables are allocated.
    """
    results = tuple(results)
    if not any(result.regions for result in results):
        return "no region was counted"
    protecting = [result for result in results if result.protects]
    for result in protecting:
        for name, region in result.regions.items():
            if not name.startswith(SILENT) and not _raises(region):
                return f"{name}: no write to the pkey register was counted: the gate was never raised"
    allocating = [result for result in protecting if any(name.startswith(ALLOCATING) for name in result.regions)]
    if allocating and not any(
        _number(stats.get(name)) for result in allocating for stats in result.guest.values() for name in KEYED
    ):
        return "no keyed page was seen: the page tables were not protected"
    return ""


def _raises(region: Region) -> int:
    return sum(each.kernel.get(name, 0) for each in region.rounds for name in RAISES)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def dump_result(result: Result) -> str:
    """The result as JSON text."""
    return json.dumps(
        {
            "format": FORMAT,
            "job": result.job,
            "arch": result.arch,
            "design": result.design,
            "variant": result.variant,
            "when": result.when,
            "machine": dict(result.machine),
            "versions": dict(result.versions),
            "command": result.command,
            "regions": {
                name: {
                    "times": region.times,
                    "rounds": [{"user": each.user, "kernel": each.kernel, "tlb": each.tlb} for each in region.rounds],
                }
                for name, region in result.regions.items()
            },
            "guest": dict(result.guest),
        },
        indent=1,
    )


def load_result(text: str) -> Result:
    """Reads a result; raises ValueError when it is damaged or of a later format."""
    try:
        data = json.loads(text)
        if data.get("format", FORMAT) != FORMAT:
            raise ValueError(f"format {data['format']} is not known to this version")
        return Result(
            data["job"],
            data["arch"],
            _design(data["design"]),
            data.get("variant", ""),
            data["machine"],
            data["versions"],
            data["command"],
            {name: _region(name, entry) for name, entry in data["regions"].items()},
            data.get("guest", {}),
            data.get("when", ""),
        )
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"damaged result ({type(error).__name__}: {error})") from error


def _design(name: str) -> str:
    if name not in DESIGNS:
        raise ValueError(f"design {name!r} is not known, known are: {', '.join(DESIGNS)}")
    return name


def _region(name: str, entry: Mapping[str, object]) -> Region:
    times, rounds = entry["times"], entry["rounds"]
    if not isinstance(times, int) or times < 1 or not isinstance(rounds, list) or not rounds:
        raise ValueError(f"region {name}: times and rounds must not be empty")
    return Region(times, tuple(_round(name, each) for each in rounds))


def _round(name: str, entry: Mapping[str, object]) -> Round:
    levels = [entry.get(level, {}) for level in PRIVILEGES]
    for counters in levels:
        for counter, value in counters.items():  # type: ignore[union-attr]
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"region {name}: {counter} is {value!r}, not a number of events")
    return Round(levels[0], levels[1], entry.get("tlb") or {})  # type: ignore[arg-type]


def rounds_of(text: str) -> dict[str, tuple[Round, ...]]:
    """What the plugin wrote, by region; rounds of all CPUs of a region are added up.

    Raises ValueError for a broken line.
    """
    found: dict[str, list[CpuRound]] = {}
    for each in parse_counts(text):
        found.setdefault(each.name, []).append(each)
    return {name: _by_round(entries) for name, entries in found.items()}


def _by_round(entries: Iterable[CpuRound]) -> tuple[Round, ...]:
    """The n-th entry of each CPU belongs to round n."""
    by_cpu: dict[int, list[CpuRound]] = {}
    for entry in entries:
        by_cpu.setdefault(entry.cpu, []).append(entry)
    rounds = []
    for number in range(max(len(each) for each in by_cpu.values())):
        parts = [each[number] for each in by_cpu.values() if number < len(each)]
        user, kernel = (_sum(getattr(part, level) for part in parts) for level in PRIVILEGES)
        rounds.append(Round(user, kernel, parts[0].tlb))
    return tuple(rounds)


def _sum(counters: Iterable[Counters]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counters:
        for name, value in each.items():
            total[name] = total.get(name, 0) + value
    return total
