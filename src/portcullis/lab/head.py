# SPDX-License-Identifier: GPL-2.0-only
"""What a reader sees first: six workloads with each backend beside what others published, in one table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portcullis.lab.grids import Grid, Part
from portcullis.lab.published import BATCHED, OWN_DESIGN, Row
from portcullis.lab.results import Result
from portcullis.lab.tables import LEVELS_OF, Cell, Line, Table, overhead_said
from portcullis.lab.text import percent

HEAD = ("first", "doubts")  # ids of the parts that stand before all others
NOT_COUNTED = "not counted"
SMALLEST = 1.0  # percent: a published figure that is compared at all


@dataclass(frozen=True)
class Workload:
    """A line of the first table; `others` are the published rows beside it, by their column."""

    region: str
    what: str
    kpkeys: str = ""
    bulkhead: str = ""


WORKLOADS = (
    Workload("fork-h0", "fork of 128 MiB in pages of 4 KiB", "kpkeys/fork-h0/rfc", "bulkhead/fork-exit"),
    Workload("munmap-h0", "munmap of it", "kpkeys/munmap-h0/rfc"),
    Workload("touch", "first touch of a page", "", "bulkhead/page-fault"),
    Workload("exec", "fork, exec and exit of a small program", "", "bulkhead/fork-exec"),
    Workload("syscall-invalid", "a system call that does not exist"),
    Workload("kernbench-system", "a compile job, its time in the kernel", "kpkeys/kernbench-system/rfc"),
)
# Titles of columns, their profiles and variants.
COLUMNS = (
    ("x86-64 with PKS (default; a Xeon)", "xeon-pks", ""),
    ("x86-64 with write protection (a Xeon)", "xeon-pks", "wp"),
    ("arm64 with POE (default; Graviton3)", "graviton3", ""),
)
PUBLISHED = ("kpkeys with batching, Graviton3", "BULKHEAD, Core i7-12700H")
# What would make these tables say something else.
DOUBTS = (
    "A write of IA32_PKRS is priced after one measurement on one laptop. Were it twice as dear, the part of the x86-64 "
    "column that comes from writes would double.",
    "Nobody has timed POE. What is priced is the ISB behind a write, after another core. A slower write of POR_EL1 "
    "raises each figure of arm64 that has writes.",
    "The price of an instruction on Graviton3 is fitted to rows that were measured with another register in its place.",
    "A page fault and other exceptions have no price on the Xeon. The base of the first touch and of exec is too short "
    "by them, so that these overheads are too high.",
    "An instruction of the kernel takes 0.5 to 1.5 cycles on the Xeon. A kernel that misses its caches more often has "
    "a longer base and smaller overheads.",
    "A write of CR0 has no published price on bare metal. In a guest whose host traps it, it takes an exit.",
    "Counts do not see caches, contention, or TLB misses that the protection causes.",
)


def head_part(tables: Mapping[tuple[str, str], Table], rows: Iterable[Row], results: Iterable[Result]) -> list[Part]:
    """The first table with three sentences and what would change them; nothing without a table of these CPUs."""
    shown = [tables.get((profile, variant)) for _, profile, variant in COLUMNS]
    if not any(table and _line(table, workload.region) for table in shown for workload in WORKLOADS):
        return []
    by_name = {row.id: row for row in rows}
    lines = tuple(
        (
            workload.what,
            *(_said(table, workload.region) for table in shown),
            *(_published(by_name.get(name)) for name in (workload.kpkeys, workload.bulkhead)),
        )
        for workload in WORKLOADS
    )
    grid = Grid(
        "first-table",
        "What protection adds to the time of the stock kernel",
        ("workload", *(title for title, *_ in COLUMNS), *(f"published: {title}" for title in PUBLISHED)),
        lines,
        " ".join(_sentences(shown, by_name)),
    )
    how = "Each figure is that of prices in the middle of their ranges; the range, in brackets, is that of all prices."
    return [Part("first", "At first sight", (how, *_sources(shown, tuple(results))), (grid,)), _doubts()]


def _doubts() -> Part:
    rows = tuple((str(number), text) for number, text in enumerate(DOUBTS, 1))
    example = "Each of these is an event or a price, not an error of counting: the same boot gives the same counts."
    grid = Grid("doubts-table", "What would change this", ("", "because"), rows, example)
    return Part("doubts", "What would change this", (), (grid,))


def _line(table: Table, region: str) -> Line | None:
    return next((line for line in table.lines if line.region == region), None)


def _cell(table: Table | None, region: str) -> Cell | None:
    line = _line(table, region) if table else None
    return line.cells.get(OWN_DESIGN) if line else None


def _said(table: Table | None, region: str) -> str:
    cell = _cell(table, region)
    return _at_middle(cell) if cell else NOT_COUNTED


def _at_middle(cell: Cell) -> str:
    """The overhead with each price at its middle, and its range."""
    if cell.unpriced or cell.overhead is None:
        return overhead_said(cell)
    return f"{percent(cell.overhead.range.middle)}% ({overhead_said(cell)})"


def _published(row: Row | None) -> str:
    """A figure of others; BULKHEAD's are of the load of that name, which is not quite the one of the line."""
    if not row:
        return "–"
    mark = f" ({row.mark})" if row.mark else ""
    return row.said + mark + (f", {row.id.split('/')[1]}" if row.source.id == "bulkhead" else "")


def _sources(shown: Iterable[Table | None], results: tuple[Result, ...]) -> tuple[str, ...]:
    """Of each column which kernel it was counted on, and when."""
    regions = {workload.region.removesuffix("-system") for workload in WORKLOADS}
    notes = []
    for (title, *_), table in zip(COLUMNS, shown, strict=True):
        if table is None:
            continue
        mine = [
            result
            for result in results
            if result.arch == table.arch
            and result.variant == table.variant
            and result.design == OWN_DESIGN
            and regions & set(result.regions)
        ]
        found = dict.fromkeys(_of(result) for result in mine)
        if found:
            notes.append(f"{title}: {'; '.join(found)}.")
    return tuple(notes)


def _of(result: Result) -> str:
    tree = result.versions.get("tree", "of an unknown commit")
    return f"counted {result.when[:10] or 'at an unknown time'}, kernel {tree}"


def _sentences(shown: list[Table | None], rows: Mapping[str, Row]) -> list[str]:
    default = [(title, table) for (title, _, variant), table in zip(COLUMNS, shown, strict=True) if not variant]
    dearest = [f"{_dearest(table)} on {title.split(' (')[0]}" for title, table in default if table and _dearest(table)]
    said = [f"By default the dearest of the six is {' and '.join(dearest)}."] if dearest else []
    return [*said, _against(shown, rows.values()), _unpriced(shown)]


def _dearest(table: Table) -> str:
    cells = [(workload, _cell(table, workload.region)) for workload in WORKLOADS]
    known = [(w, cell) for w, cell in cells if cell and cell.overhead and not cell.unpriced]
    if not known:
        return ""
    workload, cell = max(known, key=lambda each: each[1].overhead.range.high)  # type: ignore[union-attr]
    return f"{workload.what} ({percent(cell.overhead.range.middle)}%)"  # type: ignore[union-attr]


def _against(shown: list[Table | None], rows: Iterable[Row]) -> str:
    """How many of the figures that others published for the same load are above ours, and how many within its range."""
    rows, said = tuple(rows), []
    for title, table, source, design in (
        ("kpkeys published with batching", shown[2], "kpkeys", BATCHED),
        ("BULKHEAD published", shown[0], "bulkhead", OWN_DESIGN),
    ):
        mine = [row for row in rows if row.source.id == source and row.design == design]
        cells = [(row.percent or 0.0, _cell(table, _name_of(row))) for row in mine]
        known = [
            (theirs, 100 * cell.overhead.range.low, 100 * cell.overhead.range.high)
            for theirs, cell in cells
            if theirs > SMALLEST and cell and cell.overhead and not cell.unpriced
        ]
        below = sum(high <= theirs for theirs, _, high in known)
        within = sum(low <= theirs < high for theirs, low, high in known)
        if known:
            said.append(f"of the {len(known)} that {title} ours is below {below}, and its range spans {within}")
    if not said:
        return "Nothing of it has a published figure beside it."
    return f"Of published figures above {SMALLEST:g}% (all in the appendix): {'; '.join(said)}."


def _name_of(row: Row) -> str:
    """What a row's region is called in tables."""
    return next((name for name, where in LEVELS_OF.items() if where == (row.region, row.level)), row.region)


def _unpriced(shown: list[Table | None]) -> str:
    cell = _cell(shown[1], "fork-h0")
    counted = f": {cell.writes:.4g} for that fork" if cell else ""
    why = "since nobody publishes the price of a write of CR0"
    return f"Write protection has no totals, {why}, but its writes are counted{counted}."
