# SPDX-License-Identifier: GPL-2.0-only
"""LuaJIT on jitgate: builds, tests and measures it.

`build` takes Debian's source of LuaJIT through this machine's apt (its configuration is not changed) and builds it as
it is (stock), with memory that is always writable and executable (rwx), and on jitgate. `test` runs our tests of all
three, the checks that the package has, and the test programs of Lua 5.1. `bench` compares the three.

examples:
  ./portcullis luajit build
  ./portcullis luajit build --layout 2026 --variant jitgate --arch arm64
  ./portcullis luajit build --release trixie
  ./portcullis luajit test
"""

import argparse
import importlib
import importlib.util
import os
import time
from collections.abc import Callable

from portcullis.commands.options import add_arch, add_json
from portcullis.core.luajit import DEFAULT_LAYOUT, LAYOUTS, VARIANTS
from portcullis.errors import ToolError
from portcullis.host.jitgate import Outcome
from portcullis.host.luajit import LuaJit
from portcullis.host.luajit_tests import LuaJitTests
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, seconds
from portcullis.host.workspace import Workspace

BENCH = "portcullis.commands.luajit_bench"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="build the variants and say where they are")
    build.add_argument("--variant", choices=VARIANTS, action="append", help="only this one; may be repeated")
    add_arch(build)
    test = actions.add_parser("test", help="test them on this machine")
    test.add_argument("-k", dest="words", default="", metavar="WORDS", help="only checks with one of these words")
    for child in (build, test):
        _add_source(child)
        add_json(child)
        add_common(child)
    if importlib.util.find_spec(BENCH):
        bench = actions.add_parser("bench", help="measure them")
        importlib.import_module(BENCH).add_arguments(bench)
        add_common(bench)


def _add_source(parser: argparse.ArgumentParser) -> None:
    known = "; ".join(f"{layout.name}: {layout.what}" for layout in LAYOUTS.values())
    parser.add_argument("--layout", choices=list(LAYOUTS), help=f"of LuaJIT's sources ({DEFAULT_LAYOUT}): {known}")
    parser.add_argument("--release", metavar="NAME", help="of Debian to take the source from, as bookworm or sid")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="parallel jobs")


def add_common(parser: argparse.ArgumentParser) -> None:
    """What every command takes, behind the action, too."""
    parser.add_argument("--cache", metavar="DIR", default=argparse.SUPPRESS, help="folder for everything that is made")
    parser.add_argument(
        "--no-install", action="store_true", default=argparse.SUPPRESS, help="never install packages (see the launcher)"
    )


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Does what was asked for."""
    if options.action == "bench":
        return importlib.import_module(BENCH).run(workspace, options)
    luajit = LuaJit(workspace, Commands(), options.jobs, options.layout, options.release)
    return _build(luajit, options) if options.action == "build" else run_checks(LuaJitTests(luajit).checks(), options)


def _build(luajit: LuaJit, options: argparse.Namespace) -> int:
    variants = options.variant or VARIANTS
    built = {variant: luajit.build(variant, options.arch) for variant in variants}
    source = next(iter(built.values())).source
    result = {variant: str(one.interpreter) for variant, one in built.items()}
    result |= {"source": f"LuaJIT {source.version}", "layout": source.layout.name}
    print_build(result, options.json)
    return 0


def print_build(result: dict[str, str], as_json: bool) -> None:
    """Says where what was built is."""
    if as_json:
        print_json(result)
        return
    for name, value in result.items():
        print_line(f"{name:10} {value}")


def run_checks(every: dict[str, Callable[[], Outcome]], options: argparse.Namespace) -> int:
    """Runs the checks that were asked for, prints a row for each, and returns the exit status."""
    rows = []
    for name, check in chosen_checks(every, options.words).items():
        started = time.monotonic()
        outcome = check()
        state = "failed" if outcome.problems else "passed"
        took = time.monotonic() - started
        text = "\n".join(outcome.problems) or outcome.detail
        rows.append({"name": name, "state": state, "seconds": took, "detail": text, "log": str(outcome.log)})
        if not options.json:
            _print_row(rows[-1])
    failed = sum(row["state"] == "failed" for row in rows)
    if options.json:
        print_json({"tests": rows, "passed": len(rows) - failed, "failed": failed})
    else:
        print_line(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


def chosen_checks(every: dict[str, Callable[[], Outcome]], words: str) -> dict[str, Callable[[], Outcome]]:
    """Checks with one of the words (joined by `or`) in their name; all without words."""
    parts = [word.strip() for word in words.split(" or ") if word.strip()]
    chosen = {name: check for name, check in every.items() if not parts or any(part in name for part in parts)}
    if not chosen:
        raise ToolError(f"no check matches {words!r}", f"there are: {', '.join(every)}")
    return chosen


def _print_row(row: dict[str, object]) -> None:
    print_line(f"{row['state']:8}{row['name']:11}{seconds(float(str(row['seconds']))):>10}  {row['detail']}")
    if row["state"] == "failed":
        print_line(f"          log: {row['log']}")
