# SPDX-License-Identifier: GPL-2.0-only
"""PCRE2 on jitgate: on this machine, and with keys in guests."""

import pytest

from kit.case import Case, cases
from kit.jit import NO_USER_KEYS, assert_all_passed, assert_guest, guest
from kit.machinery import Machinery
from kit.row import Row
from portcullis.host.pcre2 import Pcre2
from portcullis.host.pcre2_tests import JOB, Pcre2Tests


@pytest.fixture
def pcre2(machinery: Machinery) -> Pcre2Tests:
    return Pcre2Tests(Pcre2(machinery.workspace, machinery.commands, machinery.jobs))


@cases(Case("jit-pcre2", "PCRE2 of Debian 12: ours, its own tests, grep and git on this machine"))
def test_here(case: Case, pcre2: Pcre2Tests, row: Row) -> None:
    assert_all_passed(pcre2.checks(), row)


@cases(
    guest("jit-pcre2-guest-x86", "protection keys (PKU)", JOB),
    guest("jit-pcre2-guest-arm64", "protection keys (POE)", JOB, long=True, arch="arm64"),
    guest("jit-pcre2-guest-x86-nokeys", "a CPU without PKU", JOB, long=True, cpu=NO_USER_KEYS),
)
def test_guest(case: Case, machinery: Machinery, pcre2: Pcre2Tests, row: Row) -> None:
    """Our tests and its own in a guest."""
    assert_guest(case, machinery, row, "PCRE2", pcre2.initramfs)
