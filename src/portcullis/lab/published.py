# SPDX-License-Identifier: GPL-2.0-only
"""Figures that others published, prices fitted to them, and ours held against them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portcullis.lab.pricing import Range, overhead, price, solve_overhead, solve_time
from portcullis.lab.profile import Profile
from portcullis.lab.results import BASES, Region, Result, Round

PROFILE_OF = {"kpkeys": "graviton3", "sctlr": "cortex-a76", "kaiser": "intel-pcid"}
LEVELS = ("", "user", "kernel")
MOST_ROUNDS = 200  # of solving for prices that depend on each other


@dataclass(frozen=True)
class Published:
    """Where figures are from."""

    id: str
    title: str
    cpu: str
    url: str
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One published figure: `percent` of slow-down against the base, or `ns` for one operation."""

    id: str
    source: Published
    region: str
    design: str
    variant: str
    level: str  # user or kernel when the figure is of that alone
    percent: float | None
    ns: float | None
    mark: str
    why: str
    said: str  # the figure as it was published
    used: bool = False  # a price of the profile was taken from it

    @property
    def value(self) -> float:
        """The figure in its own unit."""
        return self.percent if self.percent is not None else self.ns or 0.0


def parse_published(text: str) -> tuple[Row, ...]:
    """Rows of published.toml; raises ValueError for a broken one."""
    try:
        data = tomllib.loads(text)
        sources = {
            entry["id"]: Published(entry["id"], entry["title"], entry["cpu"], entry["url"], entry.get("note", ""))
            for entry in data["source"]
        }
        rows = tuple(_row(entry, sources) for entry in data["row"])
    except KeyError as error:
        raise ValueError(f"published figures: {error.args[0]!r} is missing") from error
    names = [row.id for row in rows]
    if len(set(names)) != len(names):
        raise ValueError("published figures: two rows have the same id")
    return rows


def _row(entry: Mapping[str, object], sources: Mapping[str, Published]) -> Row:
    name = str(entry["id"])
    kinds = [kind for kind in ("percent", "ns", "per_second") if kind in entry]
    if len(kinds) != 1:
        raise ValueError(f"published figure {name} needs one of percent, ns, per_second")
    value = float(entry[kinds[0]])  # type: ignore[arg-type]
    level = str(entry.get("level", ""))
    if level not in LEVELS:
        raise ValueError(f"published figure {name}: level {level!r}")
    said = {"percent": f"{value:.2f}%", "ns": f"{value:g} ns", "per_second": f"{value / 1e6:g} million a second"}
    return Row(
        name,
        sources[name.split("/")[0]],
        str(entry["region"]),
        str(entry["design"]),
        str(entry.get("variant", "")),
        level,
        value if kinds == ["percent"] else None,
        value if kinds == ["ns"] else 1e9 / value if kinds == ["per_second"] else None,
        str(entry.get("mark", "")),
        str(entry["why"]),
        said[kinds[0]],
        bool(entry.get("used", False)),
    )


class Counted:
    """All results at hand, found by architecture, region, design and variant."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.regions: dict[tuple[str, str, str, str], Region] = {}
        for result in results:
            for name, region in result.regions.items():
                self.regions[result.arch, name, result.design, result.variant] = region

    def counters(self, arch: str, region: str, design: str, variant: str = "", level: str = "") -> dict | None:
        """Counters of one operation, None when that was not counted."""
        found = self.regions.get((arch, region, design, variant))
        if found is None:
            return None
        return at_level(found, level).typical() if level else found.typical()

    def base(self, arch: str, region: str, variant: str = "", level: str = "") -> dict | None:
        """Counters of the unprotected kernel: the stock build if it was counted, else the one switched off."""
        for design in BASES:
            counters = self.counters(arch, region, design, variant, level)
            if counters is not None:
                return counters
        return None


def at_level(region: Region, level: str) -> Region:
    """The region as if only one privilege level had been counted."""
    rounds = tuple(Round(**{level: getattr(each, level)}) for each in region.rounds)
    return Region(region.times, rounds)


@dataclass(frozen=True)
class Fitted:
    """A price that was made to reproduce a published row; `cycles` is None when it could not be, and `why` says why."""

    event: str
    row: str
    cycles: float | None
    why: str = ""


def settle(profile: Profile, rows: Iterable[Row], counted: Counted) -> tuple[Profile, tuple[Fitted, ...]]:
    """Solves for all prices that a profile fits to published rows, again and again until they agree."""
    by_name = {row.id: row for row in rows}
    wanted = {event: by_name[cost.fit] for event, cost in profile.costs.items() if cost.fit}
    fitted: dict[str, Fitted] = {}
    for _ in range(MOST_ROUNDS):
        before = dict(fitted)
        for event, row in wanted.items():
            cycles, why = _solve(profile, event, row, counted)
            fitted[event] = Fitted(event, row.id, cycles, why)
            profile = profile.with_cost(event, cycles)
        if before and all(_same(fitted[event].cycles, before[event].cycles) for event in wanted):
            break
    return profile, tuple(fitted.values())


def _same(one: float | None, other: float | None) -> bool:
    return one is other or (one is not None and other is not None and abs(one - other) <= 1e-9 * max(one, 1.0))


def _solve(profile: Profile, event: str, row: Row, counted: Counted) -> tuple[float | None, str]:
    counters = counted.counters(profile.arch, row.region, row.design, row.variant, row.level)
    if counters is None:
        return None, f"{row.region} was not counted with {row.design}{' ' + row.variant if row.variant else ''}"
    if row.ns is not None:
        cycles = solve_time(counters, profile, event, row.ns)
    else:
        base = counted.base(profile.arch, row.region, row.variant, row.level)
        if base is None:
            return None, f"{row.region} was not counted without protection"
        cycles = solve_overhead(counters, base, profile, event, (row.percent or 0.0) / 100)
    return cycles, "" if cycles is not None else f"no price of {event} reproduces {row.id}"


@dataclass(frozen=True)
class Comparison:
    """A published figure and ours, in the same unit; `factor` is ours over theirs, None when it says nothing.

    `fitted` rows settled a price and prove nothing.
    """

    row: Row
    ours: Range | None
    factor: float | None
    points: float | None
    fitted: bool
    missing: str = ""


def compare(profile: Profile, rows: Iterable[Row], counted: Counted) -> tuple[Comparison, ...]:
    """Every row of the source that belongs to a profile (settled before), held against what was counted."""
    own = [row for row in rows if PROFILE_OF.get(row.source.id) == profile.name]
    fits = {cost.fit for cost in profile.costs.values() if cost.fit and cost.known}
    return tuple(_compare(row, profile, counted, row.used or row.id in fits) for row in own)


def _compare(row: Row, profile: Profile, counted: Counted, fitted: bool) -> Comparison:
    counters = counted.counters(profile.arch, row.region, row.design, row.variant, row.level)
    if counters is None:
        return Comparison(row, None, None, None, fitted, "not counted")
    unsettled = [event for event, cost in profile.costs.items() if cost.fit and not cost.known]
    if "instructions" in unsettled:
        return Comparison(row, None, None, None, fitted, "the price of an instruction is not settled")
    if row.ns is not None:
        cycles = price(counters, profile).cycles
        ours = Range(profile.ns(cycles.low), profile.ns(cycles.high))
    else:
        base = counted.base(profile.arch, row.region, row.variant, row.level)
        found = overhead(counters, base, profile) if base is not None else None
        if found is None:
            return Comparison(row, None, None, None, fitted, "nothing to compare with was counted")
        ours = Range(100 * found.range.low, 100 * found.range.high)
    comparable = row.value > 1 and ours.middle > 0  # of values near zero and below the ratio says nothing
    factor = ours.middle / row.value if comparable else None
    return Comparison(row, ours, factor, ours.middle - row.value, fitted)
