# SPDX-License-Identifier: GPL-2.0-only
"""LuaJIT: which package and layout is taken, how it is built, and what its tests must say."""

import pytest

from portcullis.commands.luajit import chosen_checks
from portcullis.core import luajit as core
from portcullis.errors import ToolError
from portcullis.host import luajit as module
from portcullis.host import luajit_tests, sourcepackage
from portcullis.host.process import Commands, Finished
from portcullis.host.workspace import Workspace

OLD, NEW = "2.1.0~beta3+git20220320+dfsg-4.1+deb12u1", "2.1.0+openresty20260824-1~exp1"
RECORDS = f"Package: luajit\nVersion: {OLD}\n\nPackage: luajit\nVersion: {NEW}\n"
RULES = "DEB_CFLAGS_MAINT_APPEND := -DLUAJIT_ENABLE_LUA52COMPAT -g\nexport DEB_CFLAGS_MAINT_APPEND\n"


def test_the_newest_version_of_a_layout_is_taken():
    versions = core.source_versions(RECORDS)
    assert versions == (NEW, OLD)
    assert core.fitting(versions, core.LAYOUTS["2022"]) == OLD
    assert core.fitting(versions, core.LAYOUTS["2026"]) == NEW
    assert core.fitting(versions, None) == NEW
    assert core.fitting(("2.0.4",), core.LAYOUTS["2022"]) == ""


def test_layouts_are_told_apart_by_what_is_in_the_source():
    assert core.layout_of("static void *mcode_alloc(jit_State *J, size_t sz)").name == "2022"
    assert core.layout_of("static void mcode_setrange(jit_State *J, uintptr_t addr)").name == "2026"


def test_only_jitgate_is_asked_for_jitgate(tmp_path):
    words = {
        variant: core.make_words(variant, "x86", "x86_64", ("-g",), tmp_path, tmp_path / "libjitgate.a")
        for variant in core.VARIANTS
    }
    assert "XCFLAGS=-g" in words["stock"]
    assert "XCFLAGS=-DLUAJIT_SECURITY_MCODE=0 -g" in words["rwx"]
    assert f"XCFLAGS=-DLUAJIT_USE_JITGATE -g -I{tmp_path}" in words["jitgate"]
    assert [variant for variant in words if "jitgate" in " ".join(words[variant])] == ["jitgate"]
    assert not any(word.startswith("CROSS=") for word in words["jitgate"])


def test_another_architecture_has_its_compiler_and_ours_for_what_runs_here():
    words = core.make_words("stock", "arm64", "x86_64")
    assert "CROSS=aarch64-linux-gnu-" in words and "HOST_CC=gcc" in words
    assert core.test_words("stock", "arm64", "x86_64", core.Path("h"), core.Path("i"))[0] == "aarch64-linux-gnu-gcc"


def test_what_the_package_adds_and_runs_is_read_from_it():
    assert core.package_flags(RULES) == ("-DLUAJIT_ENABLE_LUA52COMPAT", "-g")
    control = "Test-Command: luajit -v\nFeatures: test-name=x\n\nTest-Command: luajit -lmoses\nDepends: luajit\n"
    assert core.test_commands(control) == ("luajit -v", "luajit -lmoses")


class PlayedApt:
    """Two suites: one brings a package without its description, the other what `whole` says."""

    whole = True
    asked: tuple[str, ...] = ()

    def __init__(self, commands, folder, log):
        pass

    def source_records(self, address, suite, package):
        assert package == "luajit"
        PlayedApt.asked += (suite,)
        return RECORDS if suite in ("bookworm", "trixie") else ""

    def download_source(self, package, target):
        assert package == f"luajit={OLD}"
        (target / "luajit.orig.tar.xz").write_text("x")
        if target.name == "bookworm" or not PlayedApt.whole:
            raise ToolError("404")
        (target / "luajit.dsc").write_text("x")


class PlayedCommands(Commands):
    """Unpacks a source."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def logged(self, command, log, cwd=None, env=None, watch=None):
        self.ran.append(str(command[0]))
        tree = command[-1]
        (tree / "src").mkdir(parents=True)
        (tree / module.MCODE).write_text("old")
        return Finished(0, "")


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setattr(sourcepackage, "PrivateApt", PlayedApt)
    monkeypatch.setattr(sourcepackage, "mirrors", lambda: ("http://one.example/",))
    PlayedApt.asked, PlayedApt.whole = (), True
    return Workspace(tmp_path, tmp_path / "cache")


def test_the_source_comes_from_the_first_suite_that_has_all_of_it_once(workspace):
    commands = PlayedCommands()
    luajit = module.LuaJit(workspace, commands)
    assert luajit.source().version == OLD and luajit.source().layout.name == "2022"
    assert commands.ran == ["dpkg-source"] and PlayedApt.asked == ("bookworm", "trixie")


def test_without_debian_s_patches_it_says_so(workspace, capsys):
    PlayedApt.whole = False
    commands = PlayedCommands()
    source = module.LuaJit(workspace, commands).source()
    assert source.version == f"{OLD}, upstream archive only" and commands.ran == ["tar"]
    assert "patches cannot be had" in capsys.readouterr().err


def test_a_release_without_the_package_is_an_error(workspace):
    with pytest.raises(ToolError, match=r"(?s)no source package of luajit from sid.*sid: has no luajit"):
        module.LuaJit(workspace, PlayedCommands(), release="sid").source()


def test_bad_names_are_errors(workspace):
    with pytest.raises(ToolError, match="no layout"):
        module.LuaJit(workspace, Commands(), layout="2021")
    luajit = module.LuaJit(workspace, Commands())
    with pytest.raises(ToolError, match="no variant"):
        luajit.build("fast", "x86")
    with pytest.raises(ToolError, match="not built for"):
        luajit.build("stock", "sparc")
    with pytest.raises(ToolError, match="no check matches"):
        chosen_checks(luajit_tests.LuaJitTests(luajit).checks(), "nothing")


def test_a_changed_patch_builds_jitgate_again_and_nothing_else(workspace, tmp_path):
    own = tmp_path / "jit/luajit/2022"
    own.mkdir(parents=True)
    (tmp_path / "jit/include").mkdir()
    for path in (own / "0001.patch", own.parent / "gate.h", tmp_path / "jit/include/jitgate.h", tmp_path / "lib.a"):
        path.write_text("one")
    luajit = module.LuaJit(workspace, Commands())
    source = module.Source(tmp_path, OLD, core.LAYOUTS["2022"])
    before = [luajit._key(source, variant, ["amalg"], tmp_path / "lib.a") for variant in ("stock", "jitgate")]
    (own / "0001.patch").write_text("two")
    after = [luajit._key(source, variant, ["amalg"], tmp_path / "lib.a") for variant in ("stock", "jitgate")]
    assert before[0] == after[0] and before[1] != after[1]


@pytest.mark.parametrize(
    ("said", "status", "problem"),
    [
        ("ok 1 - a-mprotect\nok 2 - a-pkey # SKIP no protection keys here\n1..2\n", 0, ""),
        ("ok 1 - a-mprotect\nok 2 - a-pkey # SKIP tired\n1..2\n", 0, "ran without keys: a-pkey"),
        ("ok 1 - a-mprotect # SKIP tired\n1..1\n", 0, "skipped: a-mprotect (SKIP tired)"),
        ("not ok 1 - a-mprotect # wait status 0xb \n1..1\n", 1, "not ok: a-mprotect (wait status 0xb)"),
        ("ok 1 - a-mprotect\n1..2\n", 0, "not ok: plan (2 tests planned, 1 seen)"),
        ("killed", 137, "killed"),
        ("", 0, "no results"),
    ],
)
def test_what_our_program_says_is_judged(workspace, monkeypatch, tmp_path, said, status, problem):
    class Said(Commands):
        def logged(self, command, log, cwd=None, env=None, watch=None):
            return Finished(status, said)

    monkeypatch.setattr(luajit_tests, "has_keys", lambda: False)
    monkeypatch.setattr(module.LuaJit, "tests", lambda self, variant, arch: tmp_path)
    outcome = luajit_tests.LuaJitTests(module.LuaJit(workspace, Said())).program("jitgate")
    assert outcome.problems == ([problem] if problem else [])
