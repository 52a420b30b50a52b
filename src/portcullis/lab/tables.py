# SPDX-License-Identifier: GPL-2.0-only
"""What the lab shows: overheads of designs side by side, priced for a CPU, with what they come from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from portcullis.core.counts import OPENING, RAISES
from portcullis.lab.jobs import stock_variant
from portcullis.lab.pricing import Overhead, Price, overhead, price, solve_overhead
from portcullis.lab.profile import Profile, priced_counts
from portcullis.lab.published import (
    BATCHED,
    OWN_DESIGN,
    Fitted,
    ResultIndex,
    Row,
    at_level,
    settle_ends,
    span,
    without_surplus,
)
from portcullis.lab.results import BASES, DESIGNS, Region, Result, why_not_to_price
from portcullis.lab.text import percent_range, time_range

DEFAULT_LIMIT = 0.05  # overhead of the break-even where nobody published one
GATE = "gate-"
UNEVEN = 0.05  # spread of the rounds from which a row is no longer to be trusted
LEVELS_OF = {"kernbench-system": ("kernbench", "kernel")}  # lines of one level of a region
RUNS = ("vmalloc", "vm-map-ram")  # regions with a barrier behind each entry in 6.12, behind a run of them in ours
# The event that a switch is: without its price there is no time.
GATE_EVENTS = {
    **dict.fromkeys(("guard", "register"), OPENING),
    "cr0-wp": ("cr0_writes",),
    "cr3": ("cr3_writes", "full_flush"),
    "cr3-pcid": ("cr3_writes",),
    **dict.fromkeys(("sctlr", "sctlr-no-isb"), ("sctlr_writes",)),
    "ttbr0": ("ttbr_writes",),
    "hypercall": ("hypercall",),
    "set-memory": ("full_flush", "tlbi_broadcast"),
}
PUBLISHED_DESIGN = BATCHED  # whose published overhead is the limit


@dataclass(frozen=True)
class BreakEven:
    """What an event of unknown price may cost at most (cycles) for the overhead to stay at `limit`."""

    event: str
    cycles: float | None  # None: at no price
    limit: float


@dataclass(frozen=True)
class Cell:
    """One design in one region: counts of one operation, their price, and what they are above the base."""

    design: str
    counts: Mapping[str, float]
    price: Price
    overhead: Overhead | None
    break_even: tuple[BreakEven, ...]
    spread: float
    fitted: bool = False  # a price was made to give this

    @property
    def unpriced(self) -> bool:
        """Whether what opens the gate has no price, so that a sum without it says nothing."""
        return self.overhead is not None and any(self.overhead.unknown.get(event, 0) > 0 for event in OPENING)

    @property
    def writes(self) -> float:
        """How often one operation writes the register of the gate."""
        return sum(self.counts.get(event, 0) for event in RAISES)


@dataclass(frozen=True)
class Line:
    """One region: the unprotected base and the designs."""

    region: str
    base: str
    base_price: Price
    base_spread: float
    cells: Mapping[str, Cell]
    fitted: bool = False  # the price of an instruction was made to give published figures

    @property
    def unpriced(self) -> bool:
        """Whether a switch has no time, because what it is has no price."""
        return any(event in self.base_price.unknown for event in GATE_EVENTS.get(self.region.removeprefix(GATE), ()))

    def spreads(self) -> tuple[tuple[str, float], ...]:
        """By how much the rounds of the base and of each design differ."""
        return ((self.base, self.base_spread), *((name, cell.spread) for name, cell in self.cells.items()))

    @property
    def lacks(self) -> tuple[str, ...]:
        """Events of the base that have no price; its time is too short, and every overhead too high, by them."""
        return tuple(self.base_price.unknown)


@dataclass(frozen=True)
class Table:
    """All regions of one variant on one CPU; `refused` says of designs why they are not shown.

    `profiles` are that CPU at both ends of the price that fitted ones hang on, where there is such a one; `profile` is
    the first of them. `borrowed` are results that were not asked for and settle a price or are the base.
    """

    arch: str
    variant: str
    profile: Profile
    fitted: tuple[Fitted, ...]
    lines: tuple[Line, ...]
    refused: Mapping[str, str]
    profiles: tuple[Profile, ...] = ()
    borrowed: tuple[Result, ...] = ()


def make_table(
    profile: Profile,
    rows: Iterable[Row],
    results: Iterable[Result],
    variant: str = "",
    known: Iterable[Result] = (),
) -> Table:
    """Prices all results of the profile's architecture in one variant.

    `known` are others, of before: they settle prices and are the base where `results` have none.
    """
    rows, own = tuple(rows), tuple(result for result in results if result.arch == profile.arch)
    jobs = {result.job for result in own}
    older = tuple(result for result in known if result.arch == profile.arch and result.job not in jobs)
    accepted, refused = accept(own, variant)
    fit_on, _ = accept([*older, *own])  # prices are fitted to the plain boots and to variants that a row names
    settled = settle_ends(profile, rows, ResultIndex([*fit_on, *own_variants([*older, *own], rows)]))
    bases = [each for each in (*older, *own) if each.design in BASES]
    counted = ResultIndex([*bases, *[each for each in older if each.design == OWN_DESIGN], *accepted])
    regions = {name for result in accepted for name in result.regions}
    names = sorted(regions | {name for name, (region, _) in LEVELS_OF.items() if region in regions}, key=region_order)
    if not settled[0][0].costs["instructions"].known and names:
        names, refused = [], refused | {"every design": "the price of an instruction could not be settled"}
    asked = {result.design for result in accepted}
    lines = []
    for name in names:
        at_ends = [_line(name, each, counted, rows, variant, asked, fitted) for each, fitted in settled]
        if at_ends[0]:
            lines.append(_spanned(at_ends))  # type: ignore[arg-type]
    first, fitted = settled[0]
    return Table(profile.arch, variant, first, fitted, tuple(lines), refused, tuple(each for each, _ in settled), older)


def _spanned(lines: list[Line]) -> Line:
    """One line with the ranges of all."""
    first = lines[0]
    cells = {
        design: replace(
            cell,
            price=_price_spanned([line.cells[design].price for line in lines]),
            overhead=_overhead_spanned([line.cells[design].overhead for line in lines]),
        )
        for design, cell in first.cells.items()
    }
    return replace(first, base_price=_price_spanned([line.base_price for line in lines]), cells=cells)


def _price_spanned(prices: list[Price]) -> Price:
    return replace(prices[0], cycles=span(each.cycles for each in prices))  # type: ignore[arg-type]


def _overhead_spanned(found: list[Overhead | None]) -> Overhead | None:
    known = [each for each in found if each]
    return replace(known[0], range=span(each.range for each in known)) if known else None  # type: ignore[arg-type]


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


def _line(
    name: str,
    profile: Profile,
    counted: ResultIndex,
    rows: Iterable[Row],
    variant: str,
    asked: Iterable[str],
    fitted: Iterable[Fitted],
) -> Line | None:
    region, level = LEVELS_OF.get(name, (name, ""))
    found = {design: _counted(counted, (profile.arch, region, design, variant), level) for design in DESIGNS}
    own = found[OWN_DESIGN].typical() if found[OWN_DESIGN] else None  # type: ignore[union-attr]
    by_construction = _by_construction(profile, rows, fitted)
    profile = profile.straight if name.startswith(GATE) else profile.at(region, level)
    base, unprotected = _base(name, found, counted, (profile.arch, region, variant), level)
    if unprotected is None:
        return None
    plain = unprotected.typical()
    below = _like(name, plain, plain, own, base)
    cells = {}
    for design, each in found.items():
        if each is None or design == base or design not in asked:
            continue
        counts = _like(name, each.typical(), plain, own, design)
        above = overhead(counts, below, profile)
        evens = _break_evens(name, counts, below, profile, above, rows)
        priced = priced_counts(counts, profile.arch)
        is_fitted = (region, level, design) in by_construction
        cells[design] = Cell(design, priced, price(counts, profile), above, evens, each.spread(), is_fitted)
    is_fitted = bool(profile.costs["instructions"].fit) and not name.startswith(GATE)
    return Line(name, base, price(below, profile), unprotected.spread(), cells, is_fitted)


def _base(
    name: str, found: Mapping[str, Region | None], counted: ResultIndex, where: tuple[str, str, str], level: str
) -> tuple[str, Region | None]:
    """The stock kernel, the one without protection where nobody counted that, any design for a switch."""
    arch, region, variant = where
    stock = found["stock"] or _counted(counted, (arch, region, "stock", stock_variant(arch, variant)), level)
    if stock:
        return "stock", stock
    others = DESIGNS if name.startswith(GATE) else BASES  # a switch of protection is compared with nothing
    design = next((design for design in others if found[design]), "")
    return design, found.get(design)


def _like(
    name: str, counts: Mapping[str, float], base: Mapping[str, float], own: Mapping[str, float] | None, design: str
) -> Mapping[str, float]:
    """Counts with the barriers of design portcullis behind entries of the kernel, where 6.12 has more of them."""
    return without_surplus(counts, base, own) if name.startswith(RUNS) and design != OWN_DESIGN else counts


def _by_construction(profile: Profile, rows: Iterable[Row], fitted: Iterable[Fitted]) -> set[tuple[str, str, str]]:
    """Regions, levels and designs whose overhead settled a price, now or when it was counted last."""
    rows = tuple(rows)
    names = {each.row for each in fitted if each.cycles is not None}
    each = profile.costs["instructions"].fit_each
    source = profile.costs["instructions"].fit.split("/")[0]
    return {(row.region, row.level, row.design) for row in rows if row.id in names and row.percent is not None} | {
        (row.region, row.level, row.design)
        for row in rows
        if each and row.design == each and row.source.id == source and (row.region, row.level) in profile.by_region
    }


def _counted(counted: ResultIndex, key: tuple[str, str, str, str], level: str) -> Region | None:
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
        )
        for event in more
    )


def overhead_said(cell: Cell | None) -> str:
    """An overhead in words: a dash, and the number of writes, where what opens the gate has no price."""
    if cell is None or cell.overhead is None:
        return "–"
    if cell.unpriced:
        return f"– ({cell.writes:.4g} writes)"
    more = " and more" if cell.overhead.unknown else ""
    return percent_range(cell.overhead.range) + more + (" (fitted)" if cell.fitted else "")


def base_takes(profile: Profile, line: Line) -> str:
    """The time of a line's base in words."""
    more = " and more" if line.lacks else ""
    return time_range(profile, line.base_price.cycles) + more + (" (fitted)" if line.fitted else "")


def limit_of(region: str, rows: Iterable[Row]) -> float:
    """The overhead that a design has to stay below: the published one with batching, if it is any."""
    wanted = LEVELS_OF.get(region, (region, ""))
    for row in rows:
        if (row.region, row.level) == wanted and row.design == PUBLISHED_DESIGN and row.percent and row.percent > 1:
            return row.percent / 100
    return DEFAULT_LIMIT


def region_order(name: str) -> tuple[int, str, int]:
    """Regions by kind, and vmalloc by its number of pages."""
    kinds = (
        "kernbench",
        "fork",
        "munmap",
        "touch",
        "mprotect",
        "exec",
        "lm-",
        "messages",
        "set-id-program",
        "vmalloc",
        "vm-map",
        "syscall",
        "lseek",
        "getuid",
        "open-file",
        "access-as",
        "setresuid",
        "gate",
    )
    kind = next((number for number, kind in enumerate(kinds) if name.startswith(kind)), len(kinds))
    pages = name.split("-")[1][1:] if name.startswith("vmalloc-p") else ""
    return kind, name[-2:] if pages else name, int(pages) if pages.isdigit() else 0
