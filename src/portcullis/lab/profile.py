# SPDX-License-Identifier: GPL-2.0-only
"""Cost profiles: what each counted event costs on a real CPU, with the source of every figure."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

# Instructions that a design has beyond its base: a guard's, which are few, straight-line, and in the caches.
ADDED = "added_instructions"
# Writes of the pkey register (arm64) that no ISB can have followed, because there are fewer ISBs than writes.
LONE = "lone_writes"
# What has a price, by architecture. Returns from exceptions are in the price of the exception, and the serialising
# instructions of x86 are counted once more under a name of their own.
_BOTH = (
    "instructions",
    "added_instructions",
    "pkey_writes",
    "user_pkey_writes",
    "page_fault",
    "syscall",
    "interrupt",
    "nmi",
    "other_exception",
    "ipi_sent",
    "hypercall",
    "atomic",
    "tlb_misses",
)
PRICED = {
    "x86": (*_BOTH, "cr0_writes", "cr3_writes", "wrmsr", "tlbi_page", "full_flush"),
    "arm64": (*_BOTH, LONE, "ttbr_writes", "sctlr_writes", "isb", "dsb", "tlbi_local", "tlbi_broadcast"),
}
FULL_FLUSHES = ("tlbi_asid", "tlbi_all", "tlbi_range")  # of x86: CR3 and INVPCID
UNITS = ("cycles", "ns")
SMALLEST_PAGE = 12  # as a power of two


@dataclass(frozen=True)
class Source:
    """Where a figure is from; `estimate` when the source does not say it of this very CPU and event."""

    text: str
    url: str = ""
    estimate: bool = False
    note: str = ""


@dataclass(frozen=True)
class Cost:
    """Price of one event, in cycles beyond those of one instruction.

    Exactly one of these: `low` and `high`; a floor, of which `low` and `high` are both ends and `open` says that it may
    be more; `unknown`; `within`, another event whose price includes this one; `fit`, the published row that it is made
    to reproduce. `last` is what a fit gave when its row was counted last, on `last_when`, for when it is not.
    """

    source: Source
    low: float | None = None
    high: float | None = None
    within: str = ""
    fit: str = ""
    fit_each: str = ""  # regions with a significant published row of this design have a price of their own, from it
    given: str = ""  # low and high as the source has them, with their unit
    open: bool = False
    anchor: bool = False  # fitted prices are solved at both ends of this one: only its ratio to them matters
    last: tuple[float, float] | None = None
    last_each: Mapping[tuple[str, str], float] = field(default_factory=dict)  # by region and level
    last_when: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a price, if only a zero one because another event includes it."""
        return self.low is not None or bool(self.within)

    @property
    def full(self) -> bool:
        """Whether the price is known to its upper end."""
        return self.known and not self.open

    @property
    def unknown(self) -> bool:
        """Whether nobody says what it costs."""
        return not self.known and not self.fit

    @property
    def range(self) -> tuple[float, float]:
        """Low and high in cycles; zero when another event includes it."""
        return (self.low or 0.0, self.high or 0.0)


@dataclass(frozen=True)
class Tlb:
    """Entries of a data TLB, as ENTRIES:WAYS, and the sizes of pages that it holds, as powers of two."""

    l1: str
    l2: str
    pages: tuple[int, ...]
    source: Source

    def option(self, name: str) -> str:
        """What the plugin wants; pages of the kernel are global, so not for kernels with page-table isolation."""
        return f"tlb={name},l1={self.l1},l2={self.l2},pages={'+'.join(map(str, self.pages))},global=on"


@dataclass(frozen=True)
class Profile:
    """One real CPU."""

    name: str
    title: str
    arch: str
    mhz: float
    clock: Source
    costs: Mapping[str, Cost]
    tlb: Tlb | None
    note: str = ""
    by_region: Mapping[tuple[str, str], float] = field(default_factory=dict)  # an instruction, by region and level
    scale: float = 1.0  # of the anchor above its low end, and so of prices that were fitted before

    def ns(self, cycles: float) -> float:
        """Cycles as nanoseconds."""
        return cycles * 1000 / self.mhz

    def with_cost(self, event: str, cycles: float | None, high: float | None = None) -> "Profile":
        """The same CPU with one price settled, or taken back."""
        settled = replace(self.costs[event], low=cycles, high=cycles if high is None else high)
        return replace(self, costs={**self.costs, event: settled})

    def at(self, region: str, level: str = "") -> "Profile":
        """The same CPU in one region, which may have a price of its own for an instruction."""
        own = self.by_region.get((region, level))
        return self if own is None else self.with_cost("instructions", own)

    def ends(self) -> "tuple[Profile, ...]":
        """The same CPU with its anchor at the low and at the high end; itself when it has none."""
        for event, cost in self.costs.items():
            if cost.anchor and cost.low and cost.high and cost.low < cost.high:
                scales = (1.0, cost.high / cost.low)
                return tuple(
                    replace(self.with_cost(event, end), scale=scale)
                    for end, scale in zip((cost.low, cost.high), scales, strict=True)
                )
        return (self,)

    @property
    def straight(self) -> "Profile":
        """The same CPU where every instruction is one of a short loop."""
        return self.with_cost("instructions", *self.costs[ADDED].range) if self.tells_added else self

    @property
    def tells_added(self) -> bool:
        """Whether instructions that a design adds have a price of their own."""
        return self.costs[ADDED].low is not None


def parse_profile(text: str, rows: Iterable[str] = ()) -> Profile:
    """Reads a profile; `rows` are the published rows that a price may be fitted to. Raises ValueError."""
    try:
        data = tomllib.loads(text)
        name, arch, clock = data["name"], data["arch"], data["clock"]
        if arch not in PRICED:
            raise ValueError(f"architecture {arch!r} is not known")
        mhz = float(clock["mhz"])
        costs = {event: _cost(event, entry, mhz, set(rows)) for event, entry in data["cost"].items()}
        _complete(costs, arch)
        return Profile(name, data["title"], arch, mhz, _source(clock), costs, _tlb(data), data.get("note", ""))
    except KeyError as error:
        raise ValueError(f"profile {data.get('name', '?')}: {error.args[0]} is missing") from error
    except ValueError as error:
        raise ValueError(f"profile: {error}") from error


def _complete(costs: Mapping[str, Cost], arch: str) -> None:
    lacking = [event for event in PRICED[arch] if event not in costs]
    strange = [event for event in costs if event not in PRICED[arch]]
    if lacking:
        raise ValueError(f"no word on {', '.join(lacking)}; name what is not known with unknown = true")
    if strange:
        raise ValueError(f"{', '.join(strange)} is nothing that is priced on {arch}")
    for event, cost in costs.items():
        if cost.within and cost.within not in costs:
            raise ValueError(f"{event} is said to be within {cost.within}, which has no price")


def _tlb(data: Mapping[str, Mapping[str, object]]) -> Tlb | None:
    """Entries of the TLB; None when the profile has none."""
    entry = data.get("tlb")
    if entry is None:
        return None
    levels = [str(entry[level]) for level in ("l1", "l2")]
    for level in levels:
        entries, _, ways = level.partition(":")
        if not (entries.isdigit() and ways.isdigit() and 0 < int(ways) <= int(entries)):
            raise ValueError(f"tlb: {level!r} is not ENTRIES:WAYS")
    pages = tuple(int(size) for size in entry["pages"])  # type: ignore[attr-defined]
    if not pages or min(pages) != SMALLEST_PAGE:
        raise ValueError(f"tlb: pages {list(pages)} do not begin with {SMALLEST_PAGE}")
    source = _source(entry)
    if not source.url:
        raise ValueError("tlb has no url of its source")
    return Tlb(*levels, pages, source)


def _source(entry: Mapping[str, object]) -> Source:
    text = str(entry["source"])
    estimate = bool(entry.get("estimate", False))
    note = str(entry.get("note", ""))
    if estimate and not note:
        raise ValueError(f"the estimate from {text!r} has no note that says how it was made")
    return Source(text, str(entry.get("url", "")), estimate, note)


def _cost(event: str, entry: Mapping[str, object], mhz: float, rows: set[str]) -> Cost:
    kinds = [
        kind for kind in ("low", "floor", "unknown", "within", "fit") if kind in entry and entry[kind] is not False
    ]
    if len(kinds) != 1:
        raise ValueError(f"{event} needs one of low and high, floor, unknown, within, fit; it has {kinds or 'none'}")
    if kinds == ["unknown"]:
        return Cost(Source("nobody says", note=str(entry.get("note", ""))))
    source = _source(entry)
    if kinds == ["within"]:
        return Cost(source, within=str(entry["within"]))
    if kinds == ["fit"]:
        row = str(entry["fit"])
        if row not in rows:
            raise ValueError(f"{event} is fitted to {row!r}, which is no published row")
        return replace(_last(event, entry, source), fit=row, fit_each=str(entry.get("fit_each", "")))
    if kinds == ["floor"]:
        found = _range(event, {**entry, "low": entry["floor"], "high": entry["floor"]}, mhz, source)
        return replace(found, open=True, given=f"{found.given} or more")
    return replace(_range(event, entry, mhz, source), anchor=bool(entry.get("anchor", False)))


def _last(event: str, entry: Mapping[str, object], source: Source) -> Cost:
    """What a fit gave when its row was counted last, in cycles."""
    if "last" not in entry:
        return Cost(source)
    if not entry.get("last_when"):
        raise ValueError(f"{event} has a last price and no last_when")
    low, high = (float(end) for end in entry["last"])  # type: ignore[attr-defined]
    each = {}
    for name, cycles in dict(entry.get("last_each", {})).items():  # type: ignore[call-overload]
        region, _, level = name.partition("/")
        each[region, level] = float(cycles)
    return Cost(source, last=(low, high), last_each=each, last_when=str(entry["last_when"]))


def _range(event: str, entry: Mapping[str, object], mhz: float, source: Source) -> Cost:
    low, high, unit = float(entry["low"]), float(entry["high"]), entry["unit"]  # type: ignore[arg-type]
    if unit not in UNITS:
        raise ValueError(f"{event}: unit {unit!r} is none of {', '.join(UNITS)}")
    if not 0 <= low <= high:
        raise ValueError(f"{event}: {low} to {high} is no range")
    if not source.url:
        raise ValueError(f"{event} has no url of its source")
    factor = 1.0 if unit == "cycles" else mhz / 1000
    given = f"{low:g} {unit}" if low == high else f"{low:g} to {high:g} {unit}"
    return Cost(source, low * factor, high * factor, given=given)


def priced_counts(counters: Mapping[str, float], arch: str) -> dict[str, float]:
    """Of all counters those that have a price, each event once."""
    counts = dict(counters)
    counts["full_flush"] = sum(counters.get(name, 0) for name in FULL_FLUSHES)
    counts[LONE] = max(0, counters.get("pkey_writes", 0) - counters.get("isb", 0))
    return {event: counts[event] for event in PRICED[arch] if counts.get(event)}
