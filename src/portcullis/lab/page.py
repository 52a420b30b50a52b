# SPDX-License-Identifier: GPL-2.0-only
"""What the report holds: tables and plots with an example of how to read each."""

from collections.abc import Iterable
from dataclasses import dataclass

from portcullis.lab.credentials import credentials_part
from portcullis.lab.grids import Grid, Part, Plot
from portcullis.lab.head import HEAD, head_part
from portcullis.lab.jobs import REGIONS, TLB_BLOCKS, TLB_PAGES, has_stock
from portcullis.lab.plots import Bar, Span, curves, ranges, stacked
from portcullis.lab.profile import Cost, Profile
from portcullis.lab.published import (
    PROFILE_OF,
    Row,
    misses_per_thousand,
)
from portcullis.lab.published_parts import published_parts
from portcullis.lab.results import BASES, DESIGNS, Result
from portcullis.lab.tables import (
    GATE,
    UNEVEN,
    Cell,
    Line,
    Table,
    base_takes,
    make_table,
    overhead_said,
)
from portcullis.lab.text import STAR, STAR_SAYS, event_name, nanoseconds, time_range

MOST_SERIES = 7  # events that a plot tells apart
UNEVEN_NOTE = "Rounds of one run"
FEW = 0.01  # of an event in a switch that has been repeated 10,000 times, and is only what came in between
PRICED = (
    "Events counted by an emulator, priced for real CPUs. No time here was measured: each figure is a number of "
    "events, times what one costs according to a source that is named below."
)


@dataclass(frozen=True)
class Page:
    """The whole report; `lead` says what it is, `environment` has names and values, `commands` made the results."""

    title: str
    environment: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    parts: tuple[Part, ...]
    lead: str = PRICED

    @property
    def head(self) -> tuple[Part, ...]:
        """What a reader is to see first, on the page and in Markdown; nothing where these CPUs were not counted."""
        return tuple(part for part in self.parts if part.id in HEAD)

    @property
    def appendix(self) -> tuple[Part, ...]:
        """All other parts."""
        return tuple(part for part in self.parts if part.id not in HEAD)


def make_page(results: Iterable[Result], profiles: Iterable[Profile], rows: Iterable[Row], counts: str = "") -> Page:
    """The report of all results at hand; raises ValueError when there is nothing to report.

    `counts` says where they are from.
    """
    results, rows = tuple(results), tuple(rows)
    parts: list[Part] = []
    found: dict[tuple[str, str], Table] = {}
    for profile in sorted(profiles, key=_with_figures_first):
        own = [result for result in results if result.arch == profile.arch]
        variants = sorted({result.variant for result in own})
        tables = [make_table(profile, rows, own, variant) for variant in variants]
        found |= {(profile.name, table.variant): table for table in tables}
        parts += [part for table in tables if (part := _overheads(table))]
        parts += published_parts(profile, rows, own, tables)
        if any(table.lines for table in tables):
            parts.append(_prices(tables[0].profiles, profile))
    if not parts:
        raise ValueError("no result can be shown: run ./portcullis bench first")
    parts += [part for part in (credentials_part(results), _misses(results)) if part]
    parts.append(_counts(results))
    commands = tuple(dict.fromkeys(result.command for result in results))
    environment = (*_environment(results), *([("counts", counts)] if counts else []))
    return Page("What protection costs", environment, commands, (*head_part(found, rows, results), *parts))


def _with_figures_first(profile: Profile) -> tuple[int, str]:
    """CPUs that published figures are of come first."""
    names = list(PROFILE_OF.values())
    return (names.index(profile.name) if profile.name in names else len(names)), profile.name


def _environment(results: Iterable[Result]) -> tuple[tuple[str, str], ...]:
    """Everything that results may differ by, with all values that occur."""
    found: dict[str, dict[str, None]] = {}
    for result in results:
        for name, value in {**result.versions, "counted": result.when, "variant": result.variant or "plain"}.items():
            found.setdefault(name, {})[str(value)] = None
        for name in ("cpu", "cpus", "memory"):
            if name in result.machine:
                found.setdefault(f"machine: {name}", {})[str(result.machine[name])] = None
    return tuple((name, ", ".join(sorted(value for value in values if value))) for name, values in found.items())


def _key(table: Table) -> str:
    return f"{table.profile.name}{'-' + table.variant if table.variant else ''}"


# --- overheads -------------------------------------------------------------------------------------------------
def _overheads(table: Table) -> Part | None:
    lines = [line for line in table.lines if not line.region.startswith(GATE) and line.cells]
    gates = [line for line in table.lines if line.region.startswith(GATE)]
    if not lines and not gates and not table.refused:
        return None
    notes = [table.profile.note] if table.profile.note else []
    notes += [f"{design} is not shown: {reason}." for design, reason in table.refused.items()]
    for fitted in table.fitted:
        if fitted.cycles is None:
            notes.append(f"No price of {event_name(fitted.event)}: {fitted.why}.")
        else:
            notes.append(f"Fitted to {fitted.row}: {event_name(fitted.event)}: {fitted.said} each.")
    uneven = [
        f"{line.region} {name} {100 * spread:.0f}%"
        for line in lines
        for name, spread in line.spreads()
        if spread > UNEVEN
    ]
    if uneven:
        notes.append(f"{UNEVEN_NOTE} differ in their instructions, so that these rows say little: {', '.join(uneven)}.")
    title = f"{table.profile.title}{', ' + table.variant if table.variant else ''}"
    compared = [line for line in lines if has_stock(line.region) or line.region not in REGIONS]
    others = [line for line in lines if line not in compared]
    grids = [_overhead_grid(table, compared)] if compared else []
    grids += [_overhead_grid(table, others, own=True)] if others else []
    even = _break_even_grid(table, lines)
    plots = [*_ingredient_plots(table, lines), *_size_plots(table, lines), *_gate_plots(table, gates)]
    switches = [_gate_grid(table, gates)] if gates else []
    return Part(f"cpu-{_key(table)}", title, tuple(notes), (*grids, *([even] if even else []), *switches), tuple(plots))


def _designs(lines: Iterable[Line]) -> list[str]:
    lines = list(lines)
    return [design for design in DESIGNS if any(design in line.cells for line in lines)]


def _overhead_grid(table: Table, lines: list[Line], own: bool = False) -> Grid:
    """`own`: of operations that the stock kernel cannot repeat, so that kpkeys=off is the base."""
    designs = _designs(lines)
    rows = tuple(
        (
            line.region,
            base_takes(table.profile, line),
            *(overhead_said(line.cells.get(design)) for design in designs),
        )
        for line in lines
    )
    number = _telling(lines)
    first = lines[number]
    design = designs[-1] if designs[-1] in first.cells else next(iter(first.cells))
    example = (
        f"One operation of {first.region} takes {rows[number][1]} on the kernel without protection "
        f"({first.base}); {design} adds {overhead_said(first.cells[design])}. The two ends are those of the prices, "
        "not of repeated measurements. “And more” says that something counted has no known price; a dash with a number "
        "of writes, that what opens the gate has none, so that there is no sum."
    )
    if any(line.fitted or cell.fitted for line in lines for cell in line.cells.values()):
        example += " “Fitted” cells agree by construction: a price was made from a published figure to give them."
    if own:
        example += (
            " The stock kernel has no command that repeats these. Barriers behind entries of the kernel are counted "
            "alike in all columns: one behind a run of them."
        )
    return Grid(
        f"overhead-{'own-' if own else ''}{_key(table)}",
        "Over kpkeys=off" if own else "Overhead over the stock kernel",
        ("benchmark", "without", *designs),
        rows,
        example,
    )


def _telling(lines: list[Line]) -> int:
    """The line that an example is best given with."""
    return next((number for number, line in enumerate(lines) if line.region == "fork-h0"), 0)


def _break_even_grid(table: Table, lines: list[Line]) -> Grid | None:
    rows = []
    for line in lines:
        for cell in line.cells.values():
            for even in cell.break_even:
                most = (
                    "at no price"
                    if even.cycles is None
                    else f"{even.cycles:.3g} cycles, {nanoseconds(table.profile.ns(even.cycles))}"
                )
                rows.append((line.region, cell.design, event_name(even.event), f"{100 * even.limit:.2f}%", most))
    if not rows:
        return None
    region, design, event, limit, most = rows[0]
    example = (
        f"Nobody publishes what {event} cost on this CPU. {design} stays within {limit} in {region} if one "
        "costs at most: "
        f"{most}. Other unknown prices are taken as nothing there. The limit is the published overhead of "
        "batching, or 5%."
    )
    return Grid(
        f"even-{_key(table)}",
        "What an event of unknown price may cost",
        ("benchmark", "design", "event", "limit", "at most"),
        tuple(rows),
        example,
    )


def _ingredient_plots(table: Table, lines: list[Line]) -> list[Plot]:
    """One plot for what costs little and one for what costs much, so that both can be read."""
    cells = [
        (line, cell)
        for line in lines
        for cell in line.cells.values()
        if cell.overhead and cell.design not in BASES and not cell.unpriced
    ]
    groups = (
        (
            "dear",
            "Ingredients of the overhead: guard for each write",
            [each for each in cells if each[1].design == "per-write"],
        ),
        (
            "batched",
            "Ingredients of the overhead: batched designs",
            [each for each in cells if each[1].design != "per-write"],
        ),
    )
    return [_ingredients(table, name, title, chosen) for name, title, chosen in groups if chosen]


def _ingredients(table: Table, kind: str, title: str, cells: list[tuple[Line, Cell]]) -> Plot:
    weight: dict[str, float] = {}
    for _, cell in cells:
        for event, share in cell.overhead.share.items():  # type: ignore[union-attr]
            weight[event] = weight.get(event, 0.0) + abs(share)
    shown = sorted(weight, key=lambda event: -weight[event])[:MOST_SERIES]
    series = [event_name(event) for event in shown] + (["all others"] if len(weight) > len(shown) else [])
    bars, last = [], ""
    several = len({cell.design for _, cell in cells}) > 1
    for line, cell in cells:
        share = cell.overhead.share  # type: ignore[union-attr]
        parts = {event_name(event): 100 * share[event] for event in shown if event in share}
        rest = sum(value for event, value in share.items() if event not in shown)
        parts |= {"all others": 100 * rest} if rest else {}
        group = line.region if several and line.region != last else ""
        name = cell.design if several else line.region
        bars.append(Bar(name + (STAR if cell.fitted else ""), parts, group))
        last = line.region
    line, cell = max(cells, key=lambda each: each[1].overhead.range.middle)  # type: ignore[union-attr]
    top = max(cell.overhead.share, key=lambda event: cell.overhead.share[event], default="")  # type: ignore[union-attr]
    example = (
        f"The bar of {line.region} with {cell.design} is as long as its overhead at the middle of all prices; "
        "the piece of "
        f"{event_name(top)} is what these add to the time without protection. Pieces left of zero are savings."
        if top
        else f"The bar of {line.region} with {cell.design} has no length: nothing was counted beyond the base."
    )
    if any(cell.fitted for _, cell in cells):
        example += STAR_SAYS
    svg = stacked(f"{title}, {table.profile.title}", bars, series)
    return Plot(f"ingredients-{kind}-{_key(table)}", title, svg, tuple(series), example)


def _size_plots(table: Table, lines: list[Line]) -> list[Plot]:
    """Overhead of vmalloc against the number of pages: all designs, and those that batch by themselves."""
    found: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        words = line.region.split("-")
        if words[0] == "vmalloc" and words[1][1:].isdigit() and words[2] == "h0":
            for cell in line.cells.values():
                if cell.overhead and cell.design not in BASES and not cell.unpriced:
                    found.setdefault(cell.design, []).append((float(words[1][1:]), 100 * cell.overhead.range.middle))
    curves_of = {design: sorted(points) for design, points in found.items() if len(points) > 1}
    batched = {design: points for design, points in curves_of.items() if design != "per-write"}
    plots = [_size_plot(table, "all", "", curves_of)] if curves_of else []
    return (
        [*plots, _size_plot(table, "batched", ", batched designs", batched)]
        if batched != curves_of and batched
        else plots
    )


def _size_plot(table: Table, name: str, which: str, curves_of: dict[str, list[tuple[float, float]]]) -> Plot:
    design, points = next(iter(curves_of.items()))
    (least, most), title = (points[0], points[-1]), f"Overhead of vmalloc against the size of the mapping{which}"
    example = (
        f"With {design}, allocating and freeing {least[0]:g} page costs {least[1]:.1f}% more than without protection, "
        f"{most[0]:g} pages {most[1]:.1f}% more. A line that falls pays for each mapping; one that rises, for "
        "each page."
    )
    colours = tuple(DESIGNS.index(each) for each in curves_of)
    svg = curves(f"{title}, {table.profile.title}", curves_of, colours, "pages in one mapping", "%")
    return Plot(f"size-{name}-{_key(table)}", title, svg, tuple(curves_of), example, colours)


def _gate_grid(table: Table, gates: list[Line]) -> Grid:
    rows = tuple(
        (
            line.region.removeprefix(GATE),
            "–" if line.unpriced else time_range(table.profile, line.base_price.cycles),
            ", ".join(
                f"{count:.3g} {event_name(event)}" for event, count in line.base_price.unknown.items() if count >= FEW
            )
            or "–",
        )
        for line in gates
    )
    name, takes, lacks = rows[0]
    example = (
        f"{name}, there and back, takes {takes} and, beyond that, what has no known price: {lacks}. "
        "Instructions of a switch are priced as those of a short loop. A dash: the event that the switch is has no "
        "price."
    )
    columns = ("switch", "takes", "and what has no price")
    return Grid(f"gates-table-{_key(table)}", "One switch of protection and back", columns, rows, example)


def _gate_plots(table: Table, gates: list[Line]) -> list[Plot]:
    """Time of one protection switch by each way there is."""
    profile, spans, lacking = table.profile, [], []
    for line in gates:
        name, cycles = line.region.removeprefix(GATE), line.base_price.cycles
        if cycles.high > 0 and not line.unpriced:
            spans.append(Span(name, {"time": (profile.ns(cycles.low), profile.ns(cycles.high))}))
        if line.lacks:
            lacking.append(f"{name} ({', '.join(event_name(event) for event in line.lacks)})")
    if not spans:
        return []
    first, title = spans[0], "One switch of protection, by each way there is"
    low, high = (nanoseconds(end) for end in first.ends["time"])
    takes = low if low == high else f"{low} to {high}"
    example = f"{first.name} takes {takes}; one step of the axis is ten times as long."
    if lacking:
        example += f" More than shown, by what has no known price: {', '.join(lacking)}."
    svg = ranges(f"{title}, {profile.title}", spans, ["time"], " ns", logarithmic=True)
    return [Plot(f"gates-{_key(table)}", title, svg, ("time",), example)]


# --- prices and counts -----------------------------------------------------------------------------------------
def _prices(settled: tuple[Profile, ...], profile: Profile) -> Part:
    rows, links = [], []
    for event, cost in profile.costs.items():
        source = cost.source
        words = [
            source.text,
            *(["an estimate: " + source.note] if source.estimate else [source.note] if source.note else []),
        ]
        rows.append((event_name(event), _price([each.costs[event] for each in settled], cost), ". ".join(words)))
        links.append(source.url)
    example = (
        f"One of {rows[0][0]} costs {rows[0][1]} on this CPU. An estimate is taken from another CPU or event, "
        "and says from "
        "which; a price that is unknown is not guessed: the table of break-even values has what it may be at most."
    )
    grid = Grid(
        f"prices-table-{profile.name}", "Prices", ("event", "price", "source"), tuple(rows), example, tuple(links)
    )
    note = f"; an estimate: {profile.clock.note}" if profile.clock.estimate else ""
    clock = f"{profile.mhz:g} MHz ({profile.clock.text}{note})."
    return Part(f"prices-{profile.name}", f"Prices: {profile.title}", (clock,), (grid,))


def _price(settled: list[Cost], cost: Cost) -> str:
    if cost.fit:
        if any(each.low is None for each in settled):
            return f"not settled ({cost.fit})"
        low = f"{min(each.range[0] for each in settled):.3g}"
        high = f"{max(each.range[1] for each in settled):.3g}"
        return f"{low if low == high else f'{low} to {high}'} cycles, fitted to {cost.fit}"
    if cost.within:
        return f"within {event_name(cost.within)}"
    return cost.given or "unknown"


def _misses(results: Iterable[Result]) -> Part | None:
    """Misses of a modelled TLB: the linear map made of pages, and of blocks."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for result in results:
        for name, region in result.regions.items():
            rate = misses_per_thousand(region)
            if rate is not None:
                found.setdefault((result.arch, name, result.design), {})[result.variant] = rate
    rows = tuple(
        (name, design, f"{rates[TLB_PAGES]:.3g}", f"{rates[TLB_BLOCKS]:.3g}", _change(rates))
        for (_, name, design), rates in sorted(found.items())
        if TLB_PAGES in rates and TLB_BLOCKS in rates
    )
    if not rows:
        return None
    name, design, pages, blocks, change = rows[0]
    example = (
        f"In {name} with {design} 1000 instructions of the kernel cause {pages} walks of the tables where the linear "
        f"map is made of pages, and {blocks} where it is made of blocks: {change}. Walks for data only; the model has "
        "no caches of walks and no prefetching."
    )
    columns = ("benchmark", "design", "pages", "blocks", "change")
    grid = Grid("misses-table", "Walks for 1000 instructions of the kernel", columns, rows, example)
    return Part("misses", "The linear map in a modelled TLB", (), (grid,))


def _change(rates: dict[str, float]) -> str:
    return f"{100 * (rates[TLB_BLOCKS] / rates[TLB_PAGES] - 1):+.1f}%" if rates[TLB_PAGES] else "–"


def _counts(results: Iterable[Result]) -> Part:
    rows = []
    for result in sorted(results, key=lambda each: each.job):
        for name, region in result.regions.items():
            counted = region.typical()
            shown = ", ".join(f"{event} {value:g}" for event, value in counted.items() if value)
            rows.append(
                (
                    name,
                    f"{result.design}{', ' + result.variant if result.variant else ''} ({result.arch})",
                    f"{100 * region.spread():.2g}%",
                    shown,
                )
            )
    name, design, spread, shown = rows[0]
    example = (
        f"One operation of {name} with {design} is: {shown}. Over the rounds of one run the number of "
        "instructions differs by "
        f"{spread}. The round in the middle is taken, counted at both privilege levels."
    )
    grid = Grid(
        "counts-table", "Counts of one operation", ("benchmark", "design", "spread", "counts"), tuple(rows), example
    )
    return Part("counts", "Counts", ("What was counted, before any price.",), (grid,))
