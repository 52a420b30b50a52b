# SPDX-License-Identifier: GPL-2.0-only
"""Writes what bench counted as one HTML page, with tables, plots and sources.

Takes the last counts of each job: those in the cache or, where these are older or missing, those that are committed.
The page loads nothing from elsewhere.

examples:
  ./portcullis report
  ./portcullis report --out costs.html
  ./portcullis report --json
  ./portcullis report --markdown
  ./portcullis report --keep-counts
"""

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from portcullis.commands.options import add_json
from portcullis.errors import ToolError
from portcullis.host.labdata import COUNTS, counted_last, published_rows, read_profiles
from portcullis.host.screen import print_json, print_line
from portcullis.host.workspace import Workspace, write_whole
from portcullis.lab.committed import dump_committed
from portcullis.lab.grids import Grid
from portcullis.lab.page import UNEVEN_NOTE, Page, make_page

# Tables that are printed as text: CPUs of published figures, and the one with keys for the kernel.
QUOTED = (
    "published-table-",
    "targets-",
    "misses-table",
    *(f"{kind}-{cpu}" for kind in ("overhead", "overhead-own", "gates-table") for cpu in ("graviton3", "xeon-pks")),
)
MODELLED = "-tlb-"  # in names of tables whose machine had the model of a TLB, which costs nothing there
MOST_VALUES = 4
QUOTED_ENVIRONMENT = ("counts", "tree", "kernel", "emulator", "compiler", "counted")
OLDER = (
    "What cannot be made again is in [the figures of 2026-11-22](figures-2026-11-22.md), which are of another kernel."
)
TEMPLATE = Path(__file__).parents[1] / "data" / "report.html.j2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--out", metavar="FILE", type=Path, default=Path("report.html"), help="the page (report.html)")
    parser.add_argument(
        "--markdown", action="store_true", help="print the tables of published figures, overheads and switches instead"
    )
    parser.add_argument(
        "--keep-counts",
        action="store_true",
        help="write the last counts of each job into the checkout, to be committed",
    )
    add_json(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Writes the page; raises ToolError when there is nothing to show."""
    try:
        counted = counted_last(workspace)
        page = make_page(counted.results, read_profiles(), published_rows(), counted.said)
    except ValueError as error:
        raise ToolError(f"no report is written: {error}") from error
    if options.keep_counts:
        write_whole(COUNTS, dump_committed(counted.results).encode())
        print_line(f"{COUNTS} is written ({counted.said}): commit it with the figures that are made from it")
        return 0
    if options.json:
        print_json(page_json(page))
        return 0
    if options.markdown:
        print_line("\n".join(markdown(page)))
        return 0
    out = options.out.expanduser().resolve()
    if not out.parent.is_dir():
        raise ToolError(f"{out.parent} is no folder", "choose another with --out FILE")
    write_whole(out, render(page).encode())
    grids, plots = sum(len(part.grids) for part in page.parts), sum(len(part.plots) for part in page.parts)
    print_line(f"{out}: {grids} tables, {plots} plots")
    return 0


def render(page: Page) -> str:
    """The page as HTML."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ToolError("the Python package jinja2 is not there", "run it by ./portcullis report") from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(TEMPLATE.read_text()).render(page=page)


def markdown(page: Page) -> list[str]:
    """Lines of the tables that documents quote: the first one, and all others in an appendix."""
    lines = ["# Figures", f"Made by `./portcullis report --markdown`. {OLDER}", "", page.lead, ""]
    lines += [f"- {name}: {_span(value)}" for name, value in page.environment if name in QUOTED_ENVIRONMENT]
    for part in page.head:
        lines += ["", f"## {part.title}", *_markdown_grids(part.grids, titles=False)]
        lines += ["", *(f"- {note}" for note in part.notes)] if part.notes else []
    lines += ["", "# Appendix"]
    for part in sorted(page.appendix, key=lambda part: not part.id.startswith(("published-", "misses"))):
        grids = [grid for grid in part.grids if grid.id.startswith(QUOTED) and MODELLED not in grid.id]
        if grids:
            shown = part.id.startswith("published-")
            notes = [note for note in part.notes if shown or note.startswith(UNEVEN_NOTE)]
            lines += ["", f"## {part.title}", *(f"{note}\n" for note in notes)]
        lines += _markdown_grids(grids, titles=len(grids) > 1)
    return lines


def _markdown_grids(grids: Iterable[Grid], titles: bool) -> list[str]:
    lines = []
    for grid in grids:
        lines += [*([f"### {grid.title}"] if titles else []), ""]
        lines += [_markdown_row(grid.columns), _markdown_row("---" for _ in grid.columns)]
        lines += [*(_markdown_row(row) for row in grid.rows), "", grid.example]
    return lines


def _span(value: str) -> str:
    """The first and the last of values that are many."""
    values = value.split(", ")
    return value if len(values) <= MOST_VALUES else f"{values[0]} to {values[-1]}"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def page_json(page: Page) -> dict[str, object]:
    """The page for programs: everything but the drawings."""
    data = asdict(page)
    for part in data["parts"]:
        for plot in part["plots"]:
            del plot["svg"]
    return data
