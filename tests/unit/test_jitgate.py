# SPDX-License-Identifier: GPL-2.0-only
"""How the library's tests are run and judged."""

from pathlib import Path

import pytest

from fakes import make_program
from kit.jit import has_user_keys
from portcullis.core.jitgate import guest_options, opening_rows, problems_of_guest, read_ctest, read_openings
from portcullis.core.ktap import parse_ktap
from portcullis.core.machine import Machine
from portcullis.host.jitgate import Jitgate
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]
CTEST = """\
      Start  1: mprotect-nesting
 1/4 Test  #1: mprotect-nesting .................   Passed    0.01 sec
 2/4 Test #22: pkey-nesting .....................***Skipped   0.00 sec
 3/4 Test #23: documents ........................***Failed    0.02 sec
 4/4 Test #24: search ...........................***Not Run   0.00 sec
"""


def test_the_library_carries_its_licence():
    texts = [(ROOT / name).read_text().split() for name in ("LICENSES/MIT.txt", "jit/LICENSE")]
    permissions = [text[text.index("Permission") :] for text in texts]
    assert permissions[0] == permissions[1]


def test_result_lines_of_ctest_are_counted():
    counted = read_ctest(CTEST)
    assert (counted.passed, counted.skipped) == (1, 1)
    assert counted.failed == ("documents: Failed", "search: Not Run")


def test_times_of_openings_are_held_against_plain_mprotect():
    found = read_openings(
        "plain mprotect(): 2000 ns, 1900 ns\njitgate, two views: 2100 ns, 1800 ns\njitgate, a key: not here\n"
    )
    assert [each.way for each in found] == ["plain mprotect()", "jitgate, two views"]
    assert opening_rows(found)[1] == ("jitgate, two views", "2100 ns", "1800 ns", "+5%")


def test_a_guest_with_keys_must_use_them():
    text = (
        "ok 1 - nesting-pkey # SKIP no protection keys here\n"
        "ok 2 - nesting-mprotect\n"
        "ok 3 - filter_that_kills-pkey # SKIP no seccomp filters here\n"
    )
    found = problems_of_guest(parse_ktap(text), keys=True)
    assert len(found) == 1 and "nesting-pkey" in found[0]
    assert problems_of_guest(parse_ktap(text.replace("no seccomp filters", "no protection keys")), keys=False) == []
    assert problems_of_guest(parse_ktap("ok 1 - nesting-pkey\n"), keys=False) == ["ran without keys: nesting-pkey"]


def test_only_foreign_guests_need_a_cross_compiler():
    assert not any("aarch64" in option for option in guest_options("x86", "x86_64"))
    assert "-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc" in guest_options("arm64", "x86_64")


def test_which_machines_have_keys_for_programs():
    assert has_user_keys(Machine()) and has_user_keys(Machine(pks=False)) and has_user_keys(Machine(arch="arm64"))
    assert not has_user_keys(Machine(cpu="max,-pku")) and not has_user_keys(Machine(arch="arm64", pks=False))


@pytest.mark.parametrize(("status", "problem"), [(0, ""), (1, "lintian found something")])
def test_what_the_packages_are_is_what_their_script_says(tmp_path, status, problem):
    script = tmp_path / "jit/tests/debian.sh"
    script.parent.mkdir(parents=True)
    script.write_text(f"echo built\necho lintian found something\nexit {status}\n")
    outcome = Jitgate(Workspace(tmp_path, tmp_path / "cache"), Commands(), 1).debian()
    assert bool(outcome.problems) == bool(problem) and problem in "".join(outcome.problems)


@pytest.mark.parametrize(
    ("said", "status", "problem"),
    [
        (" 1/1 Test  #1: nesting ....   Passed    0.01 sec", 0, ""),
        (" 1/1 Test  #1: nesting ....***Failed    0.01 sec", 8, "nesting: Failed"),
        ("No tests were found!!!", 0, "No tests were found!!!"),
        (" 1/1 Test  #1: nesting ....   Passed    0.01 sec\nErrors", 8, "Errors"),
    ],
)
def test_what_ctest_says_decides(tmp_path, monkeypatch, said, status, problem):
    programs = tmp_path / "bin"
    programs.mkdir()
    make_program(programs, "cmake", "#!/bin/sh\n")
    make_program(programs, "ctest", f"#!/bin/sh\necho '{said}'\nexit {status}\n")
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
    outcome = Jitgate(Workspace(tmp_path, tmp_path / "cache"), Commands(), 1).run("jit-host")
    assert bool(outcome.problems) == bool(problem) and problem in "".join(outcome.problems)
