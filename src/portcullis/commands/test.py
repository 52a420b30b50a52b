# SPDX-License-Identifier: GPL-2.0-only
"""Proves it: style, unit tests, hooks, builds, boots, attacks, counted costs.

One row per test with its time; the last line is `N passed, N failed`. Tests are pytest's. --full adds the long ones:
the whole boot matrix, the debug kernels. --mutate drops one hook or topic at a time and looks whether its test notices
(long).

examples:
  ./portcullis test
  ./portcullis test boot-enforce kunit
  ./portcullis test -k 'attacks and not arm64'
  ./portcullis test --last-failed
  ./portcullis test --full --junit results.xml
"""

import argparse
import os
import time
from dataclasses import asdict
from pathlib import Path

from portcullis.commands.options import add_arch, add_json, add_tree, build_options
from portcullis.core.topics import KINDS, Selection
from portcullis.errors import ToolError
from portcullis.host.builder import Builder
from portcullis.host.hardening import topics_for
from portcullis.host.mutation import Droppable, Mutation, droppable, markdown, mutations
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, seconds, table
from portcullis.host.testing import (
    UNIT,
    Printer,
    Row,
    failures,
    find_tests,
    not_run,
    print_row,
    run_tests,
    summary_line,
    workers,
)
from portcullis.host.workspace import Workspace, write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a test, or a file or folder below tests/, by its name (all)"
    )
    parser.add_argument("--full", action="store_true", help="the whole matrix and the long lanes too")
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="drop hooks and topics one at a time instead (very long)",
    )
    parser.add_argument(
        "-k",
        dest="expression",
        default="",
        metavar="EXPR",
        help="parts of names, with and, or, not; with --mutate (parts of) names of hooks or topics, joined by ' or '",
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write a JUnit file")
    parser.add_argument("--last-failed", action="store_true", help="only what failed when it last ran")
    parser.add_argument("--durations", type=int, metavar="N", help="also list the N slowest tests")
    parser.add_argument("--list", action="store_true", help="list the tests, or with --mutate the hooks and topics")
    parser.add_argument(
        "-j",
        dest="jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="parallel build jobs, and tests at once",
    )
    add_tree(parser)
    add_arch(parser)
    add_json(parser)
    parser.set_defaults(lane="default", variables=[])


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Runs the tests; 1 when one failed."""
    if options.mutate:
        return _mutate(workspace, options)
    words = _words(options)
    tests = find_tests(workspace, words)
    if options.list:
        return _list(workspace, options, words)
    if not tests:
        raise ToolError("no test matches", "see: portcullis test --list; long ones run with --full or by their names")
    printer = Printer(sum(test.name.startswith(UNIT) for test in tests))
    started = time.monotonic()
    more = [f"--junitxml={options.junit.resolve()}"] if options.junit else []
    shown = (lambda _: None) if options.json else printer.show
    rows = run_tests(workspace, [*words, *more], workers(len(tests), options.jobs), shown)
    rows += not_run(tests, rows)
    if options.json:
        print_json({"tests": [asdict(row) for row in rows], "summary": summary_line(rows)})
    else:
        _print_end(rows, time.monotonic() - started, options.durations or 0)
    return 1 if any(row.state == "failed" for row in rows) else 0


def _print_end(rows: list[Row], took: float, durations: int) -> None:
    for row in sorted(rows, key=lambda row: -row.seconds)[:durations]:
        print_line(f"slow    {row.name:34}{seconds(row.seconds):>12}")
    print_line(f"{len(rows)} tests in {seconds(took)}")
    for row in failures(rows):
        print_row(row)
    print_line(summary_line(rows))


def _words(options: argparse.Namespace) -> list[str]:
    """For pytest."""
    words = [f"--name={name}" for name in options.names]
    words += ["-k", options.expression] if options.expression and not options.mutate else []
    words += ["--full"] if options.full else []
    words += ["--last-failed", "--last-failed-no-failures=none"] if options.last_failed else []
    words += [f"--tree={options.tree.resolve()}"] if options.tree else []
    return [*words, f"--kernel={options.kernel}", f"--build-jobs={options.jobs}"]


def _list(workspace: Workspace, options: argparse.Namespace, words: list[str]) -> int:
    """The tests that words choose, long ones too."""
    tests = [test for test in find_tests(workspace, [*words, "--full"]) if not test.name.startswith(UNIT)]
    if options.json:
        print_json({"tests": [{"name": test.name, "what": test.what, "full": test.long} for test in tests]})
    else:
        table("", ("test", "what", "runs"), [(each.name, each.what, "--full" if each.long else "") for each in tests])
    return 0


def _list_droppable(dropped: list[Droppable], options: argparse.Namespace) -> int:
    if options.json:
        print_json({"mutations": [{"name": each.name, "tests": each.tests} for each in dropped]})
    else:
        table("", ("hook or topic", "tests that notice"), [(each.name, ", ".join(each.tests)) for each in dropped])
    return 0


def _mutate(workspace: Workspace, options: argparse.Namespace) -> int:
    build = build_options(options)
    source = Builder(workspace, Commands(), build).source()
    everything = Selection(build.arch, KINDS[1:])
    try:
        dropped = droppable(topics_for(workspace, source.version, everything), options.expression)
    except ValueError as error:
        raise ToolError(str(error), "see: portcullis test --mutate --list") from error
    if options.list:
        return _list_droppable(dropped, options)
    rows: list[Mutation] = []
    folder = workspace.log_folder("mutate")
    words = _words(options)
    for row in mutations(dropped, lambda more: run_tests(workspace, [*words, *more], 1, lambda _: None)):
        rows.append(row)
        if not options.json:
            state = "passed" if row.noticed else "failed"
            print_line(f"{state:8}{row.dropped:50}{seconds(row.seconds):>12}  {row.noticed or row.evidence}")
        write_whole(folder / "mutation.md", markdown(rows, str(source.version)).encode())
    missed = sum(not row.noticed for row in rows)
    if options.json:
        print_json({"mutations": [asdict(row) for row in rows]})
    else:
        print_line(f"table: {folder / 'mutation.md'}")
        print_line(f"{len(rows) - missed} passed, {missed} failed")
    return 1 if missed else 0
