# SPDX-License-Identifier: GPL-2.0-only
"""Runs pytest on the tests of this checkout, and prints a row for each."""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field

from portcullis.errors import ToolError
from portcullis.host.screen import print_line, seconds
from portcullis.host.workspace import Workspace

MOST_AT_ONCE = 4  # tests: guests have up to 2 GiB of memory
UNIT = "unit/"  # these tests share a row


@dataclass(frozen=True)
class Row:
    """Result of a test: state is passed, failed or skipped; `log` is where to look, `built` is whether it could run."""

    name: str
    state: str
    seconds: float
    detail: str
    log: str = ""
    built: bool = True


@dataclass(eq=False)
class Rows:
    """A plugin of pytest: `rows` has what ended, `shown` is called with each row."""

    shown: Callable[[Row], None]
    rows: list[Row] = field(default_factory=list)

    def pytest_report_teststatus(self, report: object) -> tuple[str, str, str]:
        """Pytest counts, and prints nothing of its own."""
        if report.when == "call" or report.outcome != "passed":  # type: ignore[attr-defined]
            return report.outcome, "", ""  # type: ignore[attr-defined]
        return "", "", ""

    def pytest_runtest_logreport(self, report: object) -> None:
        """One of the three phases of a test has ended; only the first that does not pass, or the second, counts."""
        if report.when == "call" or report.outcome != "passed":  # type: ignore[attr-defined]
            row = row_of(report)
            self.rows.append(row)
            self.shown(row)


def row_of(report: object) -> Row:
    """What a report of pytest says."""
    said = dict(report.user_properties)  # type: ignore[attr-defined]
    detail = said.get("detail", "")
    if report.outcome == "failed":  # type: ignore[attr-defined]
        detail = str(report.longrepr)  # type: ignore[attr-defined]
    elif report.outcome == "skipped":  # type: ignore[attr-defined]
        detail = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)  # type: ignore[attr-defined]
        detail = detail.removeprefix("Skipped: ")
    name = said.get("name", report.nodeid)  # type: ignore[attr-defined]
    log, built = said.get("log", ""), "built" not in said
    return Row(name, report.outcome, report.duration, detail, log, built)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Test:
    """A test that could run; `long` ones do with --full, or where they are named."""

    name: str
    what: str
    long: bool


@dataclass(eq=False)
class Found:
    """A plugin of pytest that keeps what it would run."""

    tests: list[Test] = field(default_factory=list)

    def pytest_collection_finish(self, session: object) -> None:
        """All that is left after selection."""
        for item in session.items:  # type: ignore[attr-defined]
            said = {"name": item.nodeid, "what": "", **dict(item.user_properties)}
            self.tests.append(Test(said["name"], said["what"], bool(item.get_closest_marker("long"))))


def find_tests(workspace: Workspace, words: Sequence[str]) -> list[Test]:
    """The tests that words for pytest choose; raises ToolError when pytest cannot collect them."""
    found = Found()
    _pytest(workspace, ["--collect-only", "-p", "no:xdist", *words], found)
    return found.tests


def run_tests(workspace: Workspace, words: Sequence[str], at_once: int, shown: Callable[[Row], None]) -> list[Row]:
    """Runs the tests that words for pytest choose; `shown` gets each row. Raises ToolError when pytest itself fails."""
    stdout = sys.stdout

    def show(row: Row) -> None:
        with redirect_stdout(stdout):
            shown(row)

    plugin = Rows(show)
    many = ["-n", str(at_once), "--dist", "load", "--maxschedchunk", "1"] if at_once > 1 else ["-n", "0"]
    _pytest(workspace, ["--capture=sys", *many, *words], plugin)
    return plugin.rows


def not_run(tests: Iterable[Test], rows: Iterable[Row]) -> list[Row]:
    """Failures for tests that were found and have no row: pytest says little of processes that find other tests."""
    ran = {row.name for row in rows}
    return [Row(test.name, "failed", 0.0, "it did not run") for test in tests if test.name not in ran]


def _pytest(workspace: Workspace, words: Sequence[str], plugin: object) -> None:
    """Runs pytest; what it prints itself is for its own errors only."""
    import pytest

    os.environ["PORTCULLIS_CACHE"] = str(workspace.cache)  # what other processes of pytest read
    root = workspace.root
    own = ["-c", str(root / "pyproject.toml"), f"--rootdir={root}", "-o", f"cache_dir={workspace.cache / 'pytest'}"]
    with redirect_stdout(io.StringIO()) as said:
        status = pytest.main([*own, "--tb=short", str(root / "tests"), *words], plugins=[plugin])
    if status == pytest.ExitCode.INTERRUPTED and "KeyboardInterrupt" in said.getvalue():
        raise KeyboardInterrupt
    if status == pytest.ExitCode.USAGE_ERROR:
        raise ToolError("pytest does not understand this: the line above says why")
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise ToolError("\n".join(["pytest failed:", *said.getvalue().strip().splitlines()[-30:]]))


def workers(tests: int, jobs: int) -> int:
    """How many tests run at once."""
    return max(1, min(tests, jobs, MOST_AT_ONCE))


class Printer:
    """Prints rows; unit tests share one, which is printed when the last of them has ended."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.started = time.monotonic()
        self.seen: list[Row] = []

    def show(self, row: Row) -> None:
        """Takes a row."""
        if row.name.startswith(UNIT):
            self.seen.append(row)
            if row.state != "failed" and len(self.seen) == self.units:
                states = [each.state for each in self.seen]
                counted = f"{states.count('passed')} tests" + (
                    f", {states.count('skipped')} skipped" if "skipped" in states else ""
                )
                state = "failed" if "failed" in states else "passed"
                print_row(Row("unit", state, time.monotonic() - self.started, counted))
        if not row.name.startswith(UNIT) or row.state == "failed":
            print_row(row)


def print_row(row: Row) -> None:
    """One row; for a failure also what went wrong and where the log is."""
    first, *rest = row.detail.splitlines() or [""]
    if row.state == "passed":
        print_line(f"{row.state:8}{row.name:34}{seconds(row.seconds):>12}  {first}".rstrip())
        return
    print_line(f"{row.state:8}{row.name:34}{seconds(row.seconds):>12}")
    for line in (first, *rest):
        print_line(f"          {line}")
    if row.log:
        print_line(f"          log: {row.log}")


def failures(rows: Iterable[Row]) -> list[Row]:
    """What is printed again ahead of the summary: of a long log, many keep the end only."""
    return [row for row in rows if row.state == "failed"]


def summary_line(rows: Iterable[Row]) -> str:
    """`N passed, N failed`, with `, N skipped` when there are any."""
    states = [row.state for row in rows]
    line = f"{states.count('passed')} passed, {states.count('failed')} failed"
    return line + (f", {states.count('skipped')} skipped" if "skipped" in states else "")
