# SPDX-License-Identifier: GPL-2.0-only
"""Judges boots: pure functions from what a boot left to a list of problems."""

import re

from kit.case import Case
from portcullis.core.ktap import leaves, parse_ktap
from portcullis.core.results import DIED, GuestResults
from portcullis.core.splats import scan_console

MOST_SHOWN = 8
PANICKED = ("violation", "panic", "trace")  # complaints of a kernel that panics over a violation


def problems_of_boot(case: Case, results: GuestResults, console: str, trouble: str) -> list[str]:
    """Everything that is wrong with a boot, empty when it is good."""
    problems = [trouble] if trouble else []
    for result in (*results.failed, *(_kunit_failures(console) if case.machine.kunit else ())):
        problems.append(f"not ok: {result.name}" + (f" ({result.reason})" if result.reason else ""))
    if not problems and results.status not in (0, None):
        problems.append(f"the job ended with status {results.status}")
    if not trouble and not results.tests:
        problems.append("the job reported no test")
    problems += [f"malformed: {line}" for line in results.malformed]
    problems += [
        f"console line {splat.number}: {splat.line}" for splat in scan_console(console, case.allowed, case.warned)
    ]
    return problems + not_said(case, console)


def problems_of_panic(case: Case, results: GuestResults, text: str, console: str, trouble: str) -> list[str]:
    """What is wrong with a boot that a panic must end; `text` is what the results port said until then."""
    problems = [] if results.status is None else ["the guest came to its end: nothing stopped it"]
    if trouble and trouble != DIED:
        problems.append(trouble)
    problems += [f"the results do not say {pattern!r}" for pattern in case.results if not re.search(pattern, text)]
    splats = scan_console(console, (*PANICKED, *case.allowed), case.warned)
    problems += [f"console line {splat.number}: {splat.line}" for splat in splats]
    return problems + not_said(case, console)


def not_said(case: Case, console: str) -> list[str]:
    """What the console of a boot should say and does not."""
    return [f"the console does not say {pattern!r}" for pattern in case.console if not re.search(pattern, console)]


def problems_of_kselftest(case: Case, results: GuestResults, text: str) -> list[str]:
    """What is wrong with Linux' own tests in `text`; a skipped one is one that did not test."""
    found = [f"skipped: {result.name} ({result.reason})" for result in results.tests if result.skipped]
    return found + [f"the results do not say {pattern!r}" for pattern in case.results if not re.search(pattern, text)]


def _kunit_failures(console: str) -> tuple:
    return tuple(result for result in parse_ktap(console) if not result.passed and not result.skipped)


def describe(case: Case, results: GuestResults, console: str) -> str:
    """Short description of a good boot."""
    tests = leaves(parse_ktap(console)) if case.machine.kunit else results.tests
    skipped = sum(test.skipped for test in tests)
    text = f"{len(tests) - skipped} checks"
    return text + (f", {skipped} skipped" if skipped else "")


def shorten(problems: list[str]) -> str:
    """The first problems, and how many more there are."""
    more = len(problems) - MOST_SHOWN
    return "\n".join(problems[:MOST_SHOWN]) + (f"\nand {more} more" if more > 0 else "")
