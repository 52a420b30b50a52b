# SPDX-License-Identifier: GPL-2.0-only
"""How tests of JIT compilers are judged, on this machine and in guests."""

from collections.abc import Callable, Mapping
from pathlib import Path

from kit.case import STRESS_TIME, Case, hardened
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.jitgate import problems_of_guest
from portcullis.core.machine import Machine
from portcullis.host.guest import guest_init
from portcullis.host.jitgate import Outcome

NO_USER_KEYS = "max,-pku"


def guest(name: str, what: str, job: str, long: bool = False, **machine_fields: object) -> Case:
    """A boot that runs one job of tests."""
    machine = Machine(job=job, timeout=STRESS_TIME, **machine_fields)  # type: ignore[arg-type]
    return Case(name, what, machine=machine, console=hardened(machine), long=long)


def has_user_keys(machine: Machine) -> bool:
    """Whether programs of this machine can have keys."""
    return machine.cpu != NO_USER_KEYS and (machine.pks or machine.arch == "x86")


def assert_guest(case: Case, machinery: Machinery, row: Row, what: str, make: Callable[[str, Path], Path]) -> None:
    """Tests that come in two kinds, with a key and without; `make` puts them beside an init."""
    machinery.initramfs(case.arch)
    init = guest_init(machinery.workspace, case.arch)
    initramfs = machinery.once.make(f"{case.arch} guest with {what}", lambda: make(case.arch, init))
    keyed = has_user_keys(case.machine)
    machinery.assert_boots(case, row, initramfs, lambda boot: problems_of_guest(boot.results.tests, keyed))


def assert_passed(outcome: Outcome, row: Row) -> None:
    """What tests on this machine found."""
    row.assert_none(outcome.problems, outcome.detail, outcome.log)


def assert_all_passed(checks: Mapping[str, Callable[[], Outcome]], row: Row) -> None:
    """Several of them."""
    outcomes = {name: check() for name, check in checks.items()}
    problems = [f"{name}: {problem}" for name, outcome in outcomes.items() for problem in outcome.problems]
    logs = " ".join(str(outcome.log) for outcome in outcomes.values() if outcome.problems)
    row.assert_none(problems, "; ".join(f"{name}: {outcome.detail}" for name, outcome in outcomes.items()), logs)
