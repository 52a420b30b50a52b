# SPDX-License-Identifier: GPL-2.0-only
"""Proves it: style, unit tests, hooks, builds, boots, attacks, counted costs.

One row per test with its time; the last line is `N passed, N failed`. --full adds the whole boot matrix and the KASAN
kernel. --mutate drops one hook or topic at a time and looks whether its test notices (long).

examples:
  ./portcullis test
  ./portcullis test -k 'attacks or boot-enforce'
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
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, seconds, table
from portcullis.host.workspace import Workspace, write_whole
from portcullis.suite.cases import CASES, choose_cases
from portcullis.suite.engine import Engine, Row
from portcullis.suite.mutate import Droppable, Mutation, droppable, markdown, mutations
from portcullis.suite.report import failures, print_row, summary_line, write_junit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
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
        help="words joined by ' or '; 'not WORD' excludes; with --mutate names of hooks or topics, or parts of them",
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write a JUnit file")
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
    try:
        cases = choose_cases(options.expression, options.full)
    except ValueError as error:
        raise ToolError(str(error), "see: portcullis test --list") from error
    if options.list:
        return _list(options)
    rows: list[Row] = []
    started = time.monotonic()
    try:
        for row in Engine(workspace, build_options(options)).run(cases):
            rows.append(row)
            if not options.json:
                print_row(row)
    finally:
        if options.junit:
            write_junit(rows, options.junit)
    if options.json:
        print_json({"tests": [asdict(row) for row in rows], "summary": summary_line(rows)})
    else:
        print_line(f"{len(rows)} tests in {seconds(time.monotonic() - started)}")
        for row in failures(rows):
            print_row(row)
        print_line(summary_line(rows))
    return 1 if any(row.state == "failed" for row in rows) else 0


def _list(options: argparse.Namespace) -> int:
    if options.json:
        print_json({"tests": [{"name": case.name, "what": case.what, "full": case.long} for case in CASES]})
    else:
        table("", ("test", "what", "runs"), [(c.name, c.what, "--full" if c.long else "") for c in CASES])
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
    for row in mutations(workspace, build, dropped):
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
