# SPDX-License-Identifier: GPL-2.0-only
"""What LuaJIT's benchmarks count in a guest, by variant, and whether that is what it should be.

The guest's program (guest/luabench.c) starts all variants with the same random numbers. Stock uses some to look for
memory, and others to decide when to try a trace again; so traces differ by some where the places of memory do. Several
seeds even that out: all figures of a program are sums over them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from portcullis.core.counts import LEVELS, CpuRound
from portcullis.lab.luajit_bench import KEYED, LIMIT, STOCK

# A key for its pages, and two calls each time its record is written: when it is made and when it is freed.
CALLS_FOR_AREA = 5
ONE_TRACE = "one_trace"  # the program that has no other
# System calls more or less between variants, for memory: traces that differ leave different garbage.
MEMORY = 3


@dataclass(frozen=True)
class Counted:
    """One program on one variant: the sums of `runs` runs.

    `calls` are all system calls after the interpreter's start, `watched` those of some by name, both seen by a tracer;
    the rest is from the emulator's plugin, empty where there is none.
    """

    program: str
    variant: str
    said: str
    traces: int
    calls: int
    watched: Mapping[str, int]
    region: CpuRound | None = None
    runs: int = 1

    @property
    def instructions(self) -> int:
        """Executed at both levels."""
        return self.region.count("instructions") if self.region else 0

    @property
    def flushes(self) -> int:
        """TLB invalidations."""
        return self.region.flushes if self.region else 0

    @property
    def key_writes(self) -> int:
        """Writes of the user's pkey register by the program: the kernel's are of task switches."""
        return self.region.user_key_writes if self.region else 0

    def count(self, counter: str) -> int:
        """A counter at both levels."""
        return self.region.count(counter) if self.region else 0


def counted_of(records: Iterable[Mapping[str, object]], regions: Iterable[CpuRound] = ()) -> tuple[Counted, ...]:
    """What the guest told, with what the plugin counted, in the same order; raises ValueError when it is broken."""
    waiting: dict[str, list[CpuRound]] = {}
    for region in regions:
        waiting.setdefault(region.name, []).append(region)
    found: dict[tuple[str, str], Counted] = {}
    for record in records:
        if "luabench" not in record:
            continue
        one = _one(record)
        mine = waiting.get(f"{one.program}/{one.variant}", [])
        one = replace(one, region=mine.pop(0) if mine else None)
        key = one.program, one.variant
        found[key] = _sum(found[key], one) if key in found else one
    left = [name for name, rest in waiting.items() if rest]
    if left:
        raise ValueError(f"the plugin counted more often than the guest ran: {', '.join(left)}")
    return tuple(found.values())


def _one(record: Mapping[str, object]) -> Counted:
    rest = dict(record)
    try:
        program, variant, said = (str(rest.pop(key)) for key in ("luabench", "variant", "said"))
        traces, calls = int(str(rest.pop("traces"))), int(str(rest.pop("calls")))
        watched = {name: int(str(value)) for name, value in rest.items()}
    except (KeyError, ValueError) as error:
        raise ValueError(f"a record of the guest is broken: {error}: {record}") from error
    return Counted(program, variant, said.partition(" traces ")[0], traces, calls, watched)


def _sum(one: Counted, other: Counted) -> Counted:
    if one.said != other.said:
        raise ValueError(f"{one.program} on {one.variant} said {one.said!r} and {other.said!r}")
    region = None
    if one.region and other.region:
        levels = {level: _added(getattr(one.region, level), getattr(other.region, level)) for level in LEVELS}
        region = replace(one.region, **levels)
    watched = _added(one.watched, other.watched)
    traces, calls = one.traces + other.traces, one.calls + other.calls
    return replace(one, traces=traces, calls=calls, watched=watched, region=region, runs=one.runs + other.runs)


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def by_program(counted: Iterable[Counted]) -> dict[str, dict[str, Counted]]:
    """Program -> variant -> what was counted."""
    found: dict[str, dict[str, Counted]] = {}
    for each in counted:
        found.setdefault(each.program, {})[each.variant] = each
    return found


def problems_of_counted(counted: Iterable[Counted], programs: Iterable[str]) -> list[str]:
    """What contradicts the claims: no system call for a trace with a key, two and more without."""
    rows = by_program(counted)
    found = [
        f"{program} on {variant}: not counted"
        for program in programs
        for variant in (STOCK, LIMIT, KEYED)
        if variant not in rows.get(program, {})
    ]
    if found:
        return found
    first = first_area(rows[ONE_TRACE])
    return [f"{program}: {problem}" for program in programs for problem in _problems(first, **rows[program])]


def first_area(variants: Mapping[str, Counted]) -> int:
    """System calls of jitgate beyond those of insecure memory; of a program with one trace, for the first area."""
    return variants[KEYED].calls - variants[LIMIT].calls


def _problems(first: int, stock: Counted, rwx: Counted, jitgate: Counted) -> list[str]:
    found = _different(stock, rwx, jitgate)
    # A reservation is used up after a megabyte of code; benchmarks stay below.
    beyond = jitgate.calls - rwx.calls - first
    if beyond > MEMORY * jitgate.runs:
        found.append(f"jitgate made {beyond} system calls after the first area, for {jitgate.traces} traces")
    return found if found or not stock.traces else _contradictions(stock, jitgate)


def _different(*variants: Counted) -> list[str]:
    found = []
    for each in variants:
        if " known" not in each.said:
            found.append(f"{each.variant} made no known sum: {each.said}")
        if each.said != variants[0].said:
            found.append(f"{each.variant} said {each.said!r}, {variants[0].variant} {variants[0].said!r}")
        if not each.region:
            found.append(f"{each.variant} has no region of the plugin")
    return found


def least_switches(counted: Counted) -> int:
    """How often protection changes at least: twice for each trace, but the first area comes open."""
    return 2 * counted.traces - counted.runs


def _contradictions(stock: Counted, jitgate: Counted) -> list[str]:
    found = []
    called = jitgate.watched["mprotect"] + jitgate.watched["pkey_mprotect"]
    if called > CALLS_FOR_AREA * jitgate.runs:
        found.append(f"jitgate changed protection {called} times by system calls")
    if stock.watched["mprotect"] < least_switches(stock):
        found.append(f"stock made {stock.watched['mprotect']} mprotect() for {stock.traces} traces")
    if jitgate.key_writes < least_switches(jitgate):
        found.append(f"jitgate wrote the user's pkey register {jitgate.key_writes} times for {jitgate.traces} traces")
    if stock.key_writes:
        found.append("stock wrote the user's pkey register")
    if stock.flushes - jitgate.flushes < stock.traces:
        found.append(f"jitgate invalidated {jitgate.flushes} times, stock {stock.flushes}")
    return found
