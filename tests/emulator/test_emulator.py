# SPDX-License-Identifier: GPL-2.0-only
"""POE in the emulator that the project patches."""

from pathlib import Path

from kit.case import Case, cases
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core import emulator
from portcullis.host.emulator_tests import TestPrograms, run_test

CASES = [
    Case(emulator.TEST_PREFIX + test.name, f"emulated POE: {test.what}", long=test.linux) for test in emulator.TESTS
]


@cases(*CASES)
def test_emulator(case: Case, machinery: Machinery, row: Row) -> None:
    programs = TestPrograms(machinery.workspace, machinery.commands, machinery.jobs)
    qemu = Path(machinery.emulator("arm64"))
    outcome = run_test(machinery.workspace, emulator.test_by_case(case.name), qemu, programs)
    row.assert_none(outcome.problems, log=outcome.folder)
