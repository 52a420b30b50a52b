# SPDX-License-Identifier: GPL-2.0-only
"""Builds and tests the emulator for arm64: QEMU 10.0 with permission overlays (POE).

`build` takes Debian's source of QEMU through this machine's apt (its configuration is not changed), applies the
patches in emulator/ and builds two programs: one for the virt board of arm64, one for the PC. `test` runs bare-metal
programs and Linux' own tests on the first one; with --emulator on another one.

examples:
  ./portcullis emulator build
  ./portcullis emulator test
  ./portcullis emulator test -k 'delay or el1' --emulator ~/qemu/build/qemu-system-aarch64
"""

import argparse
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from portcullis.commands.options import add_dry_run, add_json
from portcullis.core.emulator import TESTS, EmulatorTest, first_lines
from portcullis.errors import ToolError
from portcullis.host.emulator import EmulatorBuilder
from portcullis.host.emulator_tests import TestPrograms, run_test
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, seconds
from portcullis.host.workspace import Workspace


@dataclass(frozen=True)
class TestRow:
    """One line of the table of tests."""

    __test__ = False

    name: str
    state: str
    seconds: float
    detail: str
    log: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("action", choices=("build", "test"), help="what to do")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="parallel jobs")
    parser.add_argument("-k", dest="words", default="", metavar="WORDS", help="only tests with one of these words")
    parser.add_argument("--emulator", metavar="FILE", type=Path, help="test this qemu-system-aarch64 instead")
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Builds, then tests if asked to."""
    commands = Commands(options.dry_run)
    if options.action == "build":
        return _build(workspace, commands, options)
    return _test(workspace, commands, options)


def _build(workspace: Workspace, commands: Commands, options: argparse.Namespace) -> int:
    built = EmulatorBuilder(workspace, commands, options.jobs).run()
    result = {
        "emulator": str(built.binary("arm64")),
        "x86": str(built.binary("x86")),
        "header": str(built.header),
        "source": f"QEMU {built.source}",
    }
    if options.json:
        print_json({**result, "fresh": built.fresh})
        return 0
    for name, value in result.items():
        print_line(f"{name:10} {value}")
    return 0


def chosen_tests(words: str) -> list[EmulatorTest]:
    """Tests with one of the words (joined by `or`) in their name; all without words."""
    parts = [word.strip() for word in words.split(" or ") if word.strip()]
    tests = [test for test in TESTS if not parts or any(part in test.name for part in parts)]
    if not tests:
        raise ToolError(f"no test matches {words!r}", f"there are: {', '.join(test.name for test in TESTS)}")
    return tests


def _test(workspace: Workspace, commands: Commands, options: argparse.Namespace) -> int:
    tests = chosen_tests(options.words)
    if options.dry_run:
        for test in tests:
            print_line(f"{test.name:18} -machine {test.machine} -cpu {test.cpu}  {test.what}")
        return 0
    binary = options.emulator or EmulatorBuilder(workspace, commands, options.jobs).run().binary("arm64")
    if not binary.is_file():
        raise ToolError(f"{binary} does not exist")
    programs = TestPrograms(workspace, commands, options.jobs)
    rows = []
    for test in tests:
        outcome = run_test(workspace, test, binary.resolve(), programs)
        state = "failed" if outcome.problems else "passed"
        rows.append(TestRow(test.name, state, outcome.seconds, first_lines(outcome.problems), str(outcome.folder)))
        if not options.json:
            _print_row(rows[-1], test.what)
    failed = sum(row.state == "failed" for row in rows)
    if options.json:
        print_json({"tests": [asdict(row) for row in rows], "passed": len(rows) - failed, "failed": failed})
    else:
        print_line(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _print_row(row: TestRow, what: str) -> None:
    print_line(f"{row.state:8}{row.name:18}{seconds(row.seconds):>10}  {what}")
    if row.state == "failed":
        for line in [*row.detail.splitlines(), f"log: {row.log}"]:
            print_line(f"          {line}")
