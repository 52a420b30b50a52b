# SPDX-License-Identifier: GPL-2.0-only
"""The library jitgate: on this machine, and with keys in guests."""

import pytest

from kit.case import Case, cases
from kit.jit import NO_USER_KEYS, assert_guest, assert_passed, guest
from kit.machinery import Machinery
from kit.row import Row
from portcullis.host.jitgate import VARIANTS, Jitgate

JOB = "jitgate-tests"


def _guest(name: str, what: str, **rest: object) -> Case:
    return guest(f"jit-guest-{name}", f"jitgate: {what}", JOB, **rest)


@pytest.fixture
def jitgate(machinery: Machinery) -> Jitgate:
    return Jitgate(machinery.workspace, machinery.commands, machinery.jobs)


HERE = (
    Case("jit-host", "its tests, examples and documents on this machine"),
    Case("jit-asan", "address and undefined behaviour sanitizers"),
    Case("jit-tsan", "thread sanitizer"),
    Case("jit-valgrind", "memcheck"),
    Case("jit-fuzz", "fuzzed search for addresses, areas, and pieces"),
)


@cases(*HERE)
def test_here(case: Case, jitgate: Jitgate, row: Row) -> None:
    assert_passed(jitgate.run(case.name), row)


@cases(Case("jit-debian", "its Debian packages, by lintian and by who builds with them", long=True))
def test_packages(case: Case, jitgate: Jitgate, row: Row) -> None:
    assert_passed(jitgate.debian(), row)


@cases(
    _guest("x86", "protection keys (PKU)"),
    _guest("x86-nokeys", "a CPU without PKU", long=True, cpu=NO_USER_KEYS),
    _guest("arm64", "protection keys (POE)", arch="arm64"),
    _guest("arm64-lazy", "a missing ISB would be seen", long=True, arch="arm64", cpu="max,x-poe-lazy-write=on"),
)
def test_guest(case: Case, machinery: Machinery, jitgate: Jitgate, row: Row) -> None:
    """The same tests, linked statically, in a guest."""
    assert_guest(case, machinery, row, "jitgate", jitgate.initramfs)


def test_every_build_is_tested() -> None:
    assert {case.name for case in HERE} == set(VARIANTS)
