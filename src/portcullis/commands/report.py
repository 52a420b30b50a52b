# SPDX-License-Identifier: GPL-2.0-only
"""Writes what bench counted as one HTML page, with tables, plots and sources.

Takes the newest result of each job. The page loads nothing from elsewhere.

examples:
  ./portcullis report
  ./portcullis report --out costs.html
  ./portcullis report --json
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from portcullis.commands.options import add_json
from portcullis.errors import ToolError
from portcullis.host.labdata import published_rows, read_profiles
from portcullis.host.labjobs import Store
from portcullis.host.screen import print_json, print_line
from portcullis.host.workspace import Workspace, write_whole
from portcullis.lab.page import Page, make_page

TEMPLATE = Path(__file__).parents[1] / "data" / "report.html.j2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--out", metavar="FILE", type=Path, default=Path("report.html"), help="the page (report.html)")
    add_json(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Writes the page; raises ToolError when there is nothing to show."""
    try:
        page = make_page(Store(workspace).newest(), read_profiles(), published_rows())
    except ValueError as error:
        raise ToolError(f"no report is written: {error}") from error
    if options.json:
        print_json(page_json(page))
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


def page_json(page: Page) -> dict[str, object]:
    """The page for programs: everything but the drawings."""
    data = asdict(page)
    for part in data["parts"]:
        for plot in part["plots"]:
            del plot["svg"]
    return data
