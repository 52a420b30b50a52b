# SPDX-License-Identifier: GPL-2.0-only
"""What the lab shows: overheads of designs side by side, priced for a CPU, with what they come from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portcullis.lab.pricing import Overhead, Price, overhead, price, solve_overhead
from portcullis.lab.profile import Profile, priced_counts
from portcullis.lab.published import BATCHED, Counted, Fitted, Row, at_level, settle
from portcullis.lab.results import BASES, DESIGNS, Region, Result, why_not_to_price

DEFAULT_LIMIT = 0.05  # overhead of the break-even where nobody published one
GATE = "gate-"
UNEVEN = 0.05  # spread of the rounds from which a row is no longer to be trusted
LEVELS_OF = {"kernbench-system": ("kernbench", "kernel")}  # lines of one level of a region
PUBLISHED_DESIGN = BATCHED  # whose published overhead is the limit


@dataclass(frozen=True)
class BreakEven:
    """What an event of unknown price may cost at most (cycles) for the overhead to stay at `limit`."""

    event: str
    cycles: float | None  # None: at no price
    limit: float
    others: tuple[str, ...]  # unknown as well, taken as free


@dataclass(frozen=True)
class Cell:
    """One design in one region: counts of one operation, their price, and what they are above the base."""

    design: str
    counts: Mapping[str, float]
    price: Price
    overhead: Overhead | None
    break_even: tuple[BreakEven, ...]
    spread: float


@dataclass(frozen=True)
class Line:
    """One region: the unprotected base and the designs."""

    region: str
    base: str
    base_price: Price
    base_spread: float
    cells: Mapping[str, Cell]

    def spreads(self) -> tuple[tuple[str, float], ...]:
        """By how much the rounds of the base and of each design differ."""
        return ((self.base, self.base_spread), *((name, cell.spread) for name, cell in self.cells.items()))

    @property
    def lacks(self) -> tuple[str, ...]:
        """Events of the base that have no price; its time is too short, and every overhead too high, by them."""
        return tuple(self.base_price.unknown)


@dataclass(frozen=True)
class Table:
    """All regions of one variant on one CPU; `refused` says of designs why they are not shown."""

    arch: str
    variant: str
    profile: Profile
    fitted: tuple[Fitted, ...]
    lines: tuple[Line, ...]
    refused: Mapping[str, str]


def make_table(profile: Profile, rows: Iterable[Row], results: Iterable[Result], variant: str = "") -> Table:
    """Prices all results of the profile's architecture in one variant."""
    rows, own = tuple(rows), tuple(result for result in results if result.arch == profile.arch)
    accepted, refused = accept(own, variant)
    fit_on, _ = accept(own)  # prices are fitted to the plain boots and to variants that a published row names
    settled, fitted = settle(profile, rows, Counted([*fit_on, *own_variants(own, rows)]))
    counted = Counted(accepted)
    regions = {name for result in accepted for name in result.regions}
    names = sorted(regions | {name for name, (region, _) in LEVELS_OF.items() if region in regions}, key=_order)
    if not settled.costs["instructions"].known and names:
        names, refused = [], refused | {"every design": "the price of an instruction could not be settled"}
    lines = [line for name in names if (line := _line(name, settled, counted, rows, variant))]
    return Table(profile.arch, variant, settled, fitted, tuple(lines), refused)


def own_variants(results: Iterable[Result], rows: Iterable[Row]) -> list[Result]:
    """Results of variants that published figures are of."""
    named = {name for row in rows for name in (row.variant, row.base_variant) if name}
    return [result for result in results if result.variant in named]


def accept(results: Iterable[Result], variant: str = "") -> tuple[list[Result], dict[str, str]]:
    """Results that may be priced, and for each refused design the reason."""
    accepted: list[Result] = []
    refused: dict[str, str] = {}
    of_variant = [result for result in results if result.variant == variant]
    for design in DESIGNS:
        mine = [result for result in of_variant if result.design == design]
        reason = why_not_to_price(mine) if mine else ""
        if reason:
            refused[design] = reason
        else:
            accepted += mine
    return accepted, refused


def _line(name: str, profile: Profile, counted: Counted, rows: Iterable[Row], variant: str) -> Line | None:
    region, level = LEVELS_OF.get(name, (name, ""))
    found = {design: _counted(counted, (profile.arch, region, design, variant), level) for design in DESIGNS}
    profile = profile.straight if name.startswith(GATE) else profile.at(region, level)
    base = next((design for design in BASES if found[design]), "")
    if not base and name.startswith(GATE):  # a switch of protection is compared with nothing
        base = next((design for design in DESIGNS if found[design]), "")
    if not base:
        return None
    below = found[base].typical()  # type: ignore[union-attr]
    cells = {}
    for design, region in found.items():
        if region is None or design == base:
            continue
        counts = region.typical()
        above = overhead(counts, below, profile)
        evens = _break_evens(name, counts, below, profile, above, rows)
        priced = priced_counts(counts, profile.arch)
        cells[design] = Cell(design, priced, price(counts, profile), above, evens, region.spread())
    return Line(name, base, price(below, profile), found[base].spread(), cells)  # type: ignore[union-attr]


def _counted(counted: Counted, key: tuple[str, str, str, str], level: str) -> Region | None:
    found = counted.regions.get(key)
    return at_level(found, level) if found and level else found


def _break_evens(
    name: str,
    counts: Mapping[str, float],
    below: Mapping[str, float],
    profile: Profile,
    above: Overhead | None,
    rows: Iterable[Row],
) -> tuple[BreakEven, ...]:
    if above is None:
        return ()
    limit = limit_of(name, rows)
    more = [event for event, count in above.unknown.items() if count > 0]
    return tuple(
        BreakEven(
            event,
            solve_overhead(counts, below, profile, event, limit),
            limit,
            tuple(other for other in above.unknown if other != event),
        )
        for event in more
    )


def limit_of(region: str, rows: Iterable[Row]) -> float:
    """The overhead that a design has to stay below: the published one with batching, if it is any."""
    wanted = LEVELS_OF.get(region, (region, ""))
    for row in rows:
        if (row.region, row.level) == wanted and row.design == PUBLISHED_DESIGN and row.percent and row.percent > 1:
            return row.percent / 100
    return DEFAULT_LIMIT


def _order(name: str) -> tuple[int, str, int]:
    """Regions by kind, and vmalloc by its number of pages."""
    kinds = (
        "kernbench",
        "fork",
        "munmap",
        "touch",
        "mprotect",
        "exec",
        "lm-",
        "vmalloc",
        "vm-map",
        "syscall",
        "lseek",
        "gate",
    )
    kind = next((number for number, kind in enumerate(kinds) if name.startswith(kind)), len(kinds))
    pages = name.split("-")[1][1:] if name.startswith("vmalloc-p") else ""
    return kind, name[-2:] if pages else name, int(pages) if pages.isdigit() else 0
