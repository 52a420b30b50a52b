# SPDX-License-Identifier: GPL-2.0-only
"""What the user sees: messages on stderr, tables and JSON on stdout, a line of progress for long steps."""

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text


def _console(stream: TextIO | None = None) -> Console:
    return Console(
        file=stream,  # type: ignore[arg-type]
        stderr=True,
        force_terminal=False if stream else None,
        highlight=False,
        soft_wrap=True,
    )


_err = _console()
QUIET_INTERVAL = 15.0  # seconds between progress lines when stderr is not a terminal, or has a live line already
_live = threading.Lock()  # held by the step that has the live line


def show_on(stream: TextIO | None) -> None:
    """Messages and progress go to this stream from now on, without a live line; None is stderr, as it is then."""
    global _err
    _err = _console(stream)


def say(text: str) -> None:
    """One line for the user."""
    _err.print(Text(text))


def seconds(duration: float) -> str:
    """A duration in seconds for people: `7.2 s` or `3 min 05 s`."""
    if duration < 60:
        return f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), 60)
    return f"{minutes} min {rest:02d} s"


class Progress:
    """A long step: a live line on a terminal, a line now and then elsewhere."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()
        self._last = self.started
        self._status: Status | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self.started

    def update(self, detail: str = "") -> None:
        """Shows that the step is alive; `detail` is what it is doing."""
        line = f"{self.title} ({seconds(self.elapsed)}{', ' + detail if detail else ''})"
        if self._status is not None:
            self._status.update(Text(line))
        elif time.monotonic() - self._last >= QUIET_INTERVAL:
            self._last = time.monotonic()
            say(f"  ... {line}")

    def start(self) -> None:
        """Shows the first line, where it can stay."""
        if _err.is_terminal and _live.acquire(blocking=False):
            self._status = _err.status(Text(self.title))
            self._status.start()

    def stop(self) -> None:
        """Removes the live line."""
        if self._status is not None:
            self._status.stop()
            self._status = None
            _live.release()


@contextmanager
def step(title: str, done: str = "") -> Iterator[Progress]:
    """Runs a long step and says how long it took; nothing is said when it fails."""
    progress = Progress(title)
    progress.start()
    try:
        yield progress
    finally:
        progress.stop()
    say(f"{done or title}: {seconds(progress.elapsed)}")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], styles: bool = True) -> None:
    """A table on stdout; verdict words get a colour on a terminal."""
    grid = Table(title=title or None, title_justify="left", title_style="bold")
    for column in columns:
        grid.add_column(column, overflow="fold", min_width=min(len(column), 12))
    for row in rows:
        grid.add_row(*(Text(cell, style=_style(cell) if styles else "") for cell in row))
    width = None if sys.stdout.isatty() else 140
    Console(highlight=False, width=width).print(grid)


def _style(cell: str) -> str:
    word = cell.split(" ")[0] if cell else ""
    good = {"BLOCKED", "passed", "ok"}
    bad = {"LANDED", "failed", "DIED", "MISSING", "missing"}
    return "green" if word in good else "red" if word in bad else ""


def print_json(data: object) -> None:
    """Machine-readable output on stdout."""
    print(json.dumps(data, indent=2), flush=True)


def print_line(text: str = "") -> None:
    """A plain line on stdout."""
    print(text, flush=True)
