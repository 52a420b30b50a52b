# SPDX-License-Identifier: GPL-2.0-only
"""Figures that others published, prices fitted to them, and ours held against them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from portcullis.core.counts import PRIVILEGES
from portcullis.lab.pricing import Counts, Range, overhead, price, solve_overhead, solve_time
from portcullis.lab.profile import ADDED, FULL_FLUSHES, Profile
from portcullis.lab.results import BASES, Region, Result, Round

PROFILE_OF = {
    "kpkeys": "graviton3",
    "bulkhead": "xeon-pks",
    "sctlr": "cortex-a76",
    "kaiser": "intel-pcid",
    "blocks": "graviton2",
}
ROW_LEVELS = ("", *PRIVILEGES)
KINDS = ("percent", "ns", "per_second", "misses_percent")
OWN_DESIGN = "portcullis"
BATCHED = "rfc"
HALVED_ABOVE = 3.0  # percent; of a published overhead above it design portcullis may have half
EXCEPTIONS = ("page_fault", "syscall", "interrupt", "nmi", "other_exception")
RESTORING = ("per-write", BATCHED)  # designs that stand for one that restores the register on every return
# How counts are made like those of the source; see as_in_source().
LIKE = {
    "runs": "one barrier behind a run of entries of the kernel, as since Linux 6.16",
    "pcid": "writes of CR3 flush nothing, as with PCIDs",
}
MOST_ROUNDS = 200  # of solving for prices that depend on each other


@dataclass(frozen=True)
class Published:
    """Where figures are from."""

    id: str
    title: str
    cpu: str
    url: str
    note: str = ""
    unchecked: str = ""  # why its figures could not be looked at again


@dataclass(frozen=True)
class Row:
    """One published figure.

    Exactly one of these: `percent` of slow-down against the base, `ns` for one operation, `misses_percent` by which
    kernel TLB misses per instruction differ from those of the variant `base_variant`.
    """

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
    like: tuple[str, ...] = ()  # what is done to our counts, of LIKE
    executes: Counts = field(default_factory=dict)  # a sequence so short that it need not be counted
    misses_percent: float | None = None
    base_variant: str = ""
    prices: Mapping[str, float] = field(default_factory=dict)  # cycles that the source itself has for events

    @property
    def value(self) -> float:
        """The figure in its own unit."""
        known = (self.percent, self.ns, self.misses_percent)
        return next((value for value in known if value is not None), 0.0)


def parse_published(text: str) -> tuple[Row, ...]:
    """Rows of published.toml; raises ValueError for a broken one."""
    try:
        data = tomllib.loads(text)
        sources = {
            entry["id"]: Published(
                entry["id"],
                entry["title"],
                entry["cpu"],
                entry["url"],
                *(entry.get(word, "") for word in ("note", "unchecked")),
            )
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
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise ValueError(f"published figure {name} needs one of {', '.join(KINDS)}")
    kind, value = kinds[0], float(entry[kinds[0]])  # type: ignore[arg-type]
    level, like = str(entry.get("level", "")), tuple(entry.get("like", ()))  # type: ignore[arg-type]
    if level not in ROW_LEVELS:
        raise ValueError(f"published figure {name}: level {level!r}")
    if set(like) - set(LIKE):
        raise ValueError(f"published figure {name}: like {list(like)}, known are {', '.join(LIKE)}")
    said = {"ns": f"{value:g} ns", "per_second": f"{value / 1e6:g} million a second"}
    return Row(
        name,
        sources[name.split("/")[0]],
        str(entry["region"]),
        str(entry["design"]),
        str(entry.get("variant", "")),
        level,
        value if kind == "percent" else None,
        value if kind == "ns" else 1e9 / value if kind == "per_second" else None,
        str(entry.get("mark", "")),
        str(entry["why"]),
        said.get(kind, f"{value:.2f}%"),
        bool(entry.get("used", False)),
        like,
        dict(entry.get("executes", {})),  # type: ignore[call-overload]
        value if kind == "misses_percent" else None,
        str(entry.get("base_variant", "")),
        dict(entry.get("prices", {})),  # type: ignore[call-overload]
    )


class ResultIndex:
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
    """A price that was made to reproduce a published row; `cycles` is None when it could not be, and `why` says why.

    `high` is more when it depends on what the instructions cost that the design adds: it is the price if they are free.
    """

    event: str
    row: str
    cycles: float | None
    why: str = ""
    high: float | None = None
    when: str = ""  # of counts that are not there any more

    @property
    def said(self) -> str:
        """The price in words."""
        low, high = (f"{end:.3g}" for end in (self.cycles or 0.0, self.cycles if self.high is None else self.high))
        words = f"{low if low == high else f'{low} to {high}'} cycles"
        return f"{words} (from counts of {self.when}, which are not kept; {self.why})" if self.when else words


def as_in_source(row: Row, counted: ResultIndex, arch: str) -> tuple[Counts | None, Counts | None]:
    """Counters of a row's design and of its base, made like those of the source by what the row names.

    runs: Linux 6.12 has a DSB and an ISB behind each entry of the kernel, with protection and without; from 6.16 on
    there is one of each behind a run of entries. Design portcullis has that, too, so the DSBs that it has fewer than
    the base are the surplus, and so many ISBs.
    """
    design = row.executes or counted.counters(arch, row.region, row.design, row.variant, row.level)
    base = counted.base(arch, row.region, row.variant, row.level)
    if "runs" in row.like and base:
        own = counted.counters(arch, row.region, OWN_DESIGN, row.variant, row.level)
        design, base = (each and without_surplus(each, base, own) for each in (design, base))
    if "pcid" in row.like and design:
        design = {name: value for name, value in design.items() if name not in FULL_FLUSHES}
    return design, base


def without_surplus(counters: Counts, base: Counts, own: Counts | None) -> Counts:
    """Counters without the barriers that Linux 6.12 has more than one behind a run of entries of the kernel."""
    surplus = max(0.0, base.get("dsb", 0.0) - own.get("dsb", 0.0)) if own else 0.0
    return _less(counters, {"dsb": surplus, "isb": surplus})


def _less(counters: Counts, surplus: Counts) -> dict[str, float]:
    return {name: max(0.0, value - surplus.get(name, 0.0)) for name, value in counters.items()}


def settle(profile: Profile, rows: Iterable[Row], counted: ResultIndex) -> tuple[Profile, tuple[Fitted, ...]]:
    """Solves for all prices that a profile fits to published rows, again and again until they agree."""
    rows = tuple(rows)
    by_name = {row.id: row for row in rows}
    wanted = {event: by_name[cost.fit] for event, cost in profile.costs.items() if cost.fit}
    fitted: dict[str, Fitted] = {}
    for _ in range(MOST_ROUNDS):
        before = dict(fitted)
        for event, row in wanted.items():
            fitted[event] = _or_last(_solve(profile, event, row, counted), profile)
            profile = profile.with_cost(event, fitted[event].cycles, fitted[event].high)
        profile = _by_region(profile, rows, counted)
        if before and all(_same(fitted[event].cycles, before[event].cycles) for event in wanted):
            break
    return profile, tuple(fitted.values())


def _by_region(profile: Profile, rows: Iterable[Row], counted: ResultIndex) -> Profile:
    """The price of an instruction in each region that has a significant row of the design that settles it."""
    cost = profile.costs["instructions"]
    if not cost.fit_each:
        return profile
    found = {where: cycles * profile.scale for where, cycles in cost.last_each.items()}
    for row in rows:
        if row.source.id == cost.fit.split("/")[0] and row.design == cost.fit_each and row.mark:
            price_here = _solve(profile, "instructions", row, counted).cycles
            if price_here is not None:
                found[row.region, row.level] = price_here
    return replace(profile, by_region=found)


def _or_last(found: Fitted, profile: Profile) -> Fitted:
    """What the fit gave when its row was counted last, if it cannot be solved now."""
    cost = profile.costs[found.event]
    if found.cycles is not None or cost.last is None:
        return found
    low, high = (end * profile.scale for end in cost.last)
    return replace(found, cycles=low, high=high, when=cost.last_when)


def settle_ends(
    profile: Profile, rows: Iterable[Row], counted: ResultIndex
) -> tuple[tuple[Profile, tuple[Fitted, ...]], ...]:
    """settle() at each end of the price that the fitted ones hang on."""
    rows = tuple(rows)
    return tuple(settle(end, rows, counted) for end in profile.ends())


def _same(one: float | None, other: float | None) -> bool:
    return one is other or (one is not None and other is not None and abs(one - other) <= 1e-9 * max(one, 1.0))


def _solve(profile: Profile, event: str, row: Row, counted: ResultIndex) -> Fitted:
    counters, base = as_in_source(row, counted, profile.arch)
    if counters is None:
        missing = f"{row.region} was not counted with {row.design}{' ' + row.variant if row.variant else ''}"
        return Fitted(event, row.id, None, missing)
    if row.ns is not None:
        cycles = high = solve_time(counters, profile, event, row.ns)
    elif base is None:
        return Fitted(event, row.id, None, f"{row.region} was not counted without protection")
    else:
        cycles, high = _solve_percent(profile, event, row, counters, base)
    return Fitted(event, row.id, cycles, "" if cycles is not None else f"no price of {event} reproduces {row.id}", high)


def _solve_percent(
    profile: Profile, event: str, row: Row, counters: Counts, base: Counts
) -> tuple[float | None, float | None]:
    """The price, or nothing where there is none, and the one if instructions that the design adds are free."""
    here = profile if event == "instructions" else profile.at(row.region, row.level)
    part = (row.percent or 0.0) / 100
    cycles = solve_overhead(counters, base, here, event, part)
    if event == "instructions" or not profile.tells_added:
        return cycles, cycles
    high = solve_overhead(counters, base, here.with_cost(ADDED, 0.0), event, part)
    return (cycles or 0.0, high) if high is not None else (None, None)


@dataclass(frozen=True)
class Comparison:
    """A published figure and ours, in the same unit; `factor` is ours over theirs, None when it says nothing.

    `fitted` rows settled a price and prove nothing. Of percentages there is more: `uncorrected` is ours before it was
    made like the source, `own_base` is ours where an instruction has the price that the region's row without batching
    settles, `instructions` is what instructions added are of that, `ours_here` is what design portcullis costs at the
    same prices, over the same base, and `rfc_here` our design rfc. `cycles` is that price.
    `restores` is what it would add at most, in points, if each exception wrote the register with a barrier, as the
    source does.
    """

    row: Row
    ours: Range | None
    factor: float | None
    points: float | None
    fitted: bool
    uncorrected: Range | None = None
    own_base: Range | None = None
    instructions: Range | None = None
    ours_here: Range | None = None
    rfc_here: Range | None = None
    cycles: float | None = None
    restores: float = 0.0

    def against(self, found: Range) -> tuple[float | None, float]:
        """Factor and distance of a figure of ours."""
        return _against(self.row, found)


def compare(profile: Profile, rows: Iterable[Row], counted: ResultIndex) -> tuple[Comparison, ...]:
    """Every row of the source that belongs to a profile (settled before), held against what was counted."""
    own = [row for row in rows if PROFILE_OF.get(row.source.id) == profile.name]
    fits = {cost.fit for cost in profile.costs.values() if cost.fit and cost.known}
    return tuple(_compare(row, profile, counted, row.used or row.id in fits) for row in own)


def _against(row: Row, found: Range) -> tuple[float | None, float]:
    # Of percentages near zero, and beyond it, a ratio says nothing.
    comparable = row.ns is not None or (abs(row.value) > 1 and row.value * found.middle > 0)
    return found.middle / row.value if comparable else None, found.middle - row.value


def _compare(row: Row, profile: Profile, counted: ResultIndex, fitted: bool) -> Comparison:
    for event, cycles in row.prices.items():
        profile = profile.with_cost(event, cycles)
    if row.misses_percent is not None:
        return _compare_misses(row, counted, profile.arch)
    counters, base = as_in_source(row, counted, profile.arch)
    instruction = profile.costs["instructions"]
    if counters is None or (instruction.fit and not instruction.known):
        return Comparison(row, None, None, None, fitted)
    if row.ns is not None:
        cycles = price(counters, profile).cycles
        ours = Range(profile.ns(cycles.low), profile.ns(cycles.high))
        return Comparison(row, ours, *_against(row, ours), fitted)
    ours_or_none = _percent(counters, base, profile)
    if ours_or_none is None or base is None:
        return Comparison(row, None, None, None, fitted)
    return _with_own_base(Comparison(row, ours_or_none, *_against(row, ours_or_none), fitted), profile, counted)


def compare_ends(profiles: Iterable[Profile], rows: Iterable[Row], counted: ResultIndex) -> tuple[Comparison, ...]:
    """compare() with each of the profiles; figures span what all of them give."""
    rows = tuple(rows)
    found = [compare(profile, rows, counted) for profile in profiles]
    return tuple(_spanned(each) for each in zip(*found, strict=True))


def _spanned(found: tuple[Comparison, ...]) -> Comparison:
    first = found[0]
    ranges = {
        name: span([getattr(each, name) for each in found])
        for name in ("ours", "uncorrected", "own_base", "instructions", "ours_here", "rfc_here")
    }
    factor, points = _against(first.row, ranges["ours"]) if ranges["ours"] else (None, None)
    restores = max(each.restores for each in found)
    return replace(first, **ranges, factor=factor, points=points, restores=restores)


def span(ranges: Iterable[Range | None]) -> Range | None:
    """From the least to the greatest end, with the centre of the first; None when there is none of all."""
    known = [each for each in ranges if each is not None]
    if not known:
        return None
    return Range(min(each.low for each in known), max(each.high for each in known), known[0].centre)


def _percent(design: Counts | None, base: Counts | None, profile: Profile) -> Range | None:
    found = overhead(design, base, profile) if design is not None and base is not None else None
    return Range(100 * found.range.low, 100 * found.range.high, 100 * found.range.middle) if found else None


def _with_own_base(found: Comparison, profile: Profile, counted: ResultIndex) -> Comparison:
    row, here = found.row, profile.at(found.row.region, found.row.level)
    counters, base = as_in_source(row, counted, profile.arch)
    bare = as_in_source(replace(row, like=()), counted, profile.arch)
    portcullis = counted.counters(profile.arch, row.region, OWN_DESIGN, row.variant, row.level)
    whole = counted.counters(profile.arch, row.region, row.design, row.variant) or {}
    exceptions = sum(
        whole.get(name, 0.0) for name in EXCEPTIONS
    )  # of a figure of the kernel alone, those from user space, too
    restored = _percent({**base, "isb": base.get("isb", 0.0) + exceptions}, base, here)  # type: ignore[dict-item,union-attr]
    only = _percent({**base, "instructions": counters.get("instructions", 0.0)}, base, here)  # type: ignore[dict-item,union-attr]
    return replace(
        found,
        uncorrected=_percent(*bare, profile) if row.like else None,
        own_base=_percent(counters, base, here) if here is not profile else None,
        instructions=only if here is not profile else None,
        ours_here=_percent(portcullis, base, here),
        rfc_here=_percent(
            as_in_source(replace(row, design=BATCHED, executes={}), counted, profile.arch)[0], base, here
        ),
        cycles=here.costs["instructions"].range[0],
        restores=restored.high if restored and row.design in RESTORING and row.level != "user" else 0.0,
    )


@dataclass(frozen=True)
class Target:
    """What design portcullis may cost at most, in percent, and what it does in each variant that was counted.

    At the prices and over the base of its benchmark; the base is that of the variant without a name.
    """

    row: Row
    most: float
    found: Mapping[str, Range]
    rfc: Range | None = None  # our own design of that name


def targets(profile: Profile, rows: Iterable[Row], counted: ResultIndex, variants: Iterable[str]) -> tuple[Target, ...]:
    """Each published figure of batching that is an overhead, and ours beside it; none without a settled price."""
    if not profile.costs["instructions"].known:
        return ()
    own = [row for row in rows if PROFILE_OF.get(row.source.id) == profile.name and row.design == BATCHED]
    made = (_target(row, profile, counted, tuple(variants)) for row in own if (row.percent or 0.0) > 0)
    return tuple(target for target in made if target.found)


def _target(row: Row, profile: Profile, counted: ResultIndex, variants: tuple[str, ...]) -> Target:
    base = as_in_source(row, counted, profile.arch)[1]
    here = profile.at(row.region, row.level)
    found = {}
    for variant in variants:
        own = _percent(counted.counters(profile.arch, row.region, OWN_DESIGN, variant, row.level), base, here)
        if own:
            found[variant] = own
    rfc = _percent(as_in_source(row, counted, profile.arch)[0], base, here)
    return Target(row, row.value / 2 if row.value > HALVED_ABOVE else row.value, found, rfc)


def targets_ends(
    profiles: Iterable[Profile], rows: Iterable[Row], counted: ResultIndex, variants: Iterable[str]
) -> tuple[Target, ...]:
    """targets() with each of the profiles; figures span what all of them give."""
    rows, variants = tuple(rows), tuple(variants)
    found: dict[str, list[Target]] = {}
    for profile in profiles:
        for target in targets(profile, rows, counted, variants):
            found.setdefault(target.row.id, []).append(target)
    return tuple(
        replace(
            each[0],
            found={name: span([target.found[name] for target in each]) for name in each[0].found},  # type: ignore[misc]
            rfc=span([target.rfc for target in each]),
        )
        for each in found.values()
    )


def misses_per_thousand(region: Region) -> float | None:
    """Walks of the tables for accesses of the kernel, per 1000 of its instructions; None without the model of a TLB."""
    found = [
        (each.tlb["kernel_misses"], each.kernel.get("instructions", 0))
        for each in region.rounds
        if isinstance(each.tlb.get("kernel_misses"), int)
    ]
    instructions = sum(count for _, count in found)
    return 1000 * sum(misses for misses, _ in found) / instructions if instructions else None  # type: ignore[misc]


def _compare_misses(row: Row, counted: ResultIndex, arch: str) -> Comparison:
    regions = [counted.regions.get((arch, row.region, row.design, name)) for name in (row.variant, row.base_variant)]
    rates = [misses_per_thousand(region) if region else None for region in regions]
    if rates[0] is None or not rates[1]:
        return Comparison(row, None, None, None, False)
    ours = Range(*[100 * (rates[0] / rates[1] - 1)] * 2)
    return Comparison(row, ours, *_against(row, ours), False)
