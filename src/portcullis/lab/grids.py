# SPDX-License-Identifier: GPL-2.0-only
"""What a report is made of: tables, plots, and parts that hold them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table: `example` reads one of its rows to the reader."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    example: str
    links: tuple[str, ...] = ()  # for the last column, one for each row


@dataclass(frozen=True)
class Plot:
    """A plot: `series` names its colours, in order unless `colours` has their numbers."""

    id: str
    title: str
    svg: str
    series: tuple[str, ...]
    example: str
    colours: tuple[int, ...] = ()


@dataclass(frozen=True)
class Part:
    """A section of the page."""

    id: str
    title: str
    notes: tuple[str, ...]
    grids: tuple[Grid, ...] = ()
    plots: tuple[Plot, ...] = ()
