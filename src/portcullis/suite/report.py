# SPDX-License-Identifier: GPL-2.0-only
"""Prints rows, the summary line and JUnit files."""

from collections.abc import Iterable
from pathlib import Path

from portcullis.host.screen import print_line, seconds
from portcullis.suite.engine import Row


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


def write_junit(rows: Iterable[Row], path: Path) -> None:
    """A JUnit file."""
    from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

    suite = TestSuite("portcullis")
    for row in rows:
        case = TestCase(row.name, classname="portcullis", time=round(row.seconds, 3))
        if row.state == "failed":
            case.result = [Failure(f"{row.detail}\nlog: {row.log}" if row.log else row.detail)]
        elif row.state == "skipped":
            case.result = [Skipped(row.detail)]
        suite.add_testcase(case)
    xml = JUnitXml()
    xml.add_testsuite(suite)
    xml.write(str(path), pretty=True)
