# SPDX-License-Identifier: GPL-2.0-only
"""Linux' own tests in a distribution's user land: what is read of them, and when a run is wrong."""

import tarfile
from argparse import Namespace
from pathlib import Path

import pytest

from portcullis.commands import vm
from portcullis.core.kselftests import (
    COLLECTIONS,
    SelftestRun,
    collections_of,
    differences,
    read_verdicts,
    table_of,
)
from portcullis.core.splats import scan_console
from portcullis.errors import ToolError
from portcullis.host import kselftests
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]
SENT = """KTAP version 1
#test mm:run_vmtests.sh # ok 1 hugepage-mmap
#test mm:run_vmtests.sh # not ok 2 map at 0x7f0000000000 # exit=1
#test mm:run_vmtests.sh # ok 3 ksm # SKIP no numa
#test mm:run_vmtests.sh # ok 4 ksm
#test mm:run_vmtests.sh not ok 1 selftests: mm: run_vmtests.sh # exit=1
#test x86:ldt_gdt_64 ok 1 selftests: x86: ldt_gdt_64
# x86:ldt_gdt_64 took 1 s
ok 1 - mm
"""
VERDICTS = {
    "mm:run_vmtests.sh: hugepage-mmap": "pass",
    "mm:run_vmtests.sh: map at N": "fail",
    "mm:run_vmtests.sh: ksm": "skip",
    "mm:run_vmtests.sh: ksm (2)": "pass",
    "mm:run_vmtests.sh": "fail",
    "x86:ldt_gdt_64": "pass",
}


def run(label="off", console="", **changed):
    return SelftestRun(label, {**VERDICTS, **changed.pop("verdicts", {})}, scan_console(console), **changed)


def test_verdicts_of_tests_and_of_their_parts():
    assert read_verdicts(SENT) == VERDICTS


def test_the_table_counts_by_collection():
    rows = table_of((run(), run("enforce")), ("mm", "x86"))
    assert rows == [("mm", "2/2/1", "2/2/1"), ("x86", "1/0/0", "1/0/0"), ("reports", "0", "0")]


def test_what_fails_in_each_run_is_not_the_protections():
    assert differences((run(), run("enforce"))) == []
    warned = "WARNING: at mm/gup.c\n"
    assert differences((run(console=warned), run("enforce", console=warned))) == []


@pytest.mark.parametrize(
    ("control", "other", "said"),
    [
        (run(), run("enforce", verdicts={"x86:ldt_gdt_64": "fail"}), "x86:ldt_gdt_64: off pass, enforce fail"),
        (run(), run("enforce", verdicts={"x86:new": "pass"}), "x86:new: off -, enforce pass"),
        (run(), run("enforce", console="WARNING: here\n"), "enforce: console line 1: WARNING: here"),
        (run(), run("audit", console="kpkeys: violation: x\n"), "audit: console line 1: kpkeys: violation: x"),
        (run(console="kpkeys: violation: x\n"), run("audit"), "off: console line 1: kpkeys: violation: x"),
        (run(), run("enforce", trouble="the guest died"), "enforce: the guest died"),
        (
            run(console="kpkeys: violation: x\n"),
            run("audit", console="kpkeys: violation: y\n"),
            "audit: console line 1: kpkeys: violation: y",
        ),
    ],
)
def test_what_is_wrong_with_a_run(control, other, said):
    assert said in differences((control, other))


def test_collections_by_name():
    assert collections_of("mm,x86") == ("mm", "x86")
    for wrong in ("mm,nothing", ","):
        with pytest.raises(ValueError, match="no tests"):
            collections_of(wrong)


def test_what_a_user_may_ask_for():
    given = {"tests": None, "work": None, "arch": "x86"}
    assert vm._chosen_tests(Namespace(**given)) == ()
    assert vm._chosen_tests(Namespace(**{**given, "tests": "all"})) == COLLECTIONS
    for wrong in ({"tests": "mm", "work": "gcc"}, {"tests": "mm", "arch": "arm64"}, {"tests": "nothing"}):
        with pytest.raises(ToolError):
            vm._chosen_tests(Namespace(**{**given, **wrong}))


def test_tests_that_cannot_be_built_are_named(tmp_path):
    installed = tmp_path / "installed"
    installed.mkdir()
    with pytest.raises(ToolError, match="breakpoints, capabilities, cgroup"):
        kselftests._pack(installed, tmp_path / "tests.tar")
    (installed / kselftests.LIST).write_text("".join(f"{name}:one\n" for name in COLLECTIONS))
    kselftests._pack(installed, tmp_path / "tests.tar")
    with tarfile.open(tmp_path / "tests.tar") as tar:
        assert f"./{kselftests.LIST}" in tar.getnames()


def test_tests_are_made_once(tmp_path, monkeypatch):
    workspace = Workspace(ROOT, tmp_path)
    source = Namespace(path=tmp_path / "6.12.1")
    monkeypatch.setattr(kselftests, "fetch", lambda *_: source)
    made = []

    def run_step(_, __, command, *___):
        made.append(command)
        folder = workspace.folder("kselftests") / "6.12.1"
        for name in ("installed", "output"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "installed" / kselftests.LIST).write_text("".join(f"{name}:one\n" for name in COLLECTIONS))

    monkeypatch.setattr(kselftests, "run_step", run_step)
    commands = Namespace(dry_run=False)
    first = kselftests.make_kselftests(workspace, commands, 2)
    assert kselftests.make_kselftests(workspace, commands, 2) == first and len(made) == 3
    monkeypatch.setattr(kselftests, "COLLECTIONS", COLLECTIONS[1:])
    assert kselftests.make_kselftests(workspace, commands, 2) != first and len(made) == 6
