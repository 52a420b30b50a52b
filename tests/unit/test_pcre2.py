# SPDX-License-Identifier: GPL-2.0-only
"""PCRE2: where sljit is found, how each allocator is chosen, and what its tests must say."""

import pytest

from portcullis.core import pcre2 as core
from portcullis.core.counts import CpuRound
from portcullis.errors import ToolError
from portcullis.host import pcre2 as module
from portcullis.host import pcre2_tests, sourcepackage
from portcullis.host.process import Commands, Finished
from portcullis.host.workspace import Workspace
from portcullis.lab import pcre2_counts as counting

VERSION = "10.42-1"


def with_file(tree, name):
    (tree / name).parent.mkdir(parents=True)
    (tree / name).write_text("")
    return tree


def test_layouts_are_told_apart_by_where_the_allocators_are(tmp_path):
    old = with_file(tmp_path / "old", "src/sljit/sljitExecAllocator.c")
    new = with_file(tmp_path / "new", "deps/sljit/sljit_src/allocator_src/sljitExecAllocatorCore.c")
    assert core.layout_of(old) is core.LAYOUTS["10.42"]
    assert core.layout_of(new) is core.LAYOUTS["10.46"]
    assert core.layout_of(tmp_path) is None


def test_only_jitgate_is_asked_for_jitgate(tmp_path):
    words = {
        variant: core.cmake_words(variant, "x86", "x86_64", tmp_path, tmp_path / "libjitgate.a")
        for variant in core.VARIANTS
    }
    asked = [variant for variant in words if "jitgate" in " ".join(words[variant]).lower()]
    assert asked == ["jitgate", "views"]
    assert "-DPCRE2_SUPPORT_JIT_JITGATE=ON" in words["jitgate"]
    assert f"-DJITGATE_LIBRARY={tmp_path}/libjitgate.a" in words["jitgate"]
    assert "-DPCRE2_SUPPORT_JIT_SEALLOC=ON" in words["sealloc"]
    assert not any(word.startswith("-DCMAKE_C_COMPILER=") for word in words["stock"])


def test_a_shared_library_is_not_static_and_has_eight_bits_only():
    words = core.cmake_words("stock", "x86", "x86_64", shared=True)
    assert {"-DBUILD_SHARED_LIBS=ON", "-DBUILD_STATIC_LIBS=OFF", "-DPCRE2_BUILD_PCRE2_16=OFF"} <= set(words)
    assert "-DCMAKE_EXE_LINKER_FLAGS=-static" not in words


def test_wide_characters_are_built_where_they_are_tested():
    wide = "-DPCRE2_BUILD_PCRE2_16=ON"
    assert wide in core.cmake_words("jitgate", "x86", "x86_64")
    assert wide not in core.cmake_words("stock", "x86", "x86_64")
    assert wide not in core.cmake_words("jitgate", "arm64", "x86_64")


def test_another_architecture_has_its_compiler(tmp_path):
    assert "-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc" in core.cmake_words("stock", "arm64", "x86_64")
    words = core.test_words("wx", "arm64", "x86_64", core.LAYOUTS["10.46"], tmp_path, tmp_path)
    assert words[0] == "aarch64-linux-gnu-gcc"
    assert {"-DSLJIT_WX_EXECUTABLE_ALLOCATOR=1", "-DSLJIT_NEW_CALLS", '-DBACKEND="wx"'} <= set(words)


def test_library_and_tests_choose_two_views_alike(tmp_path):
    choice = "-DSLJIT_GATE_USE=JITGATE_TWICE"
    assert f"-DCMAKE_C_FLAGS={choice}" in core.cmake_words("views", "x86", "x86_64")
    words = core.test_words("views", "x86", "x86_64", core.LAYOUTS["10.42"], tmp_path, tmp_path)
    assert {choice, "-DUSE_JITGATE", '-DBACKEND="views"'} <= set(words)


def test_the_library_that_was_loaded_is_read_from_the_loader():
    text = "  7:\tcalling init: /lib/libc.so.6\n  7:\tcalling init: /tmp/o/libpcre2-8.so.0\n"
    assert core.loaded_library(text, "libpcre2-8.so") == "/tmp/o/libpcre2-8.so.0"
    assert core.loaded_library("calling fini: /tmp/o/libpcre2-8.so.0\n", "libpcre2-8.so") == ""


def test_memory_that_is_writable_and_executable_is_found():
    maps = "1000-2000 r-xp 0 0:0 0 /bin/grep\n3000-4000 rwxp 0 0:0 0\n5000-6000 rw-p 0 0:0 0 [heap]\n"
    assert core.writable_and_executable(maps) == ["3000-4000 rwxp 0 0:0 0"]


class PlayedApt:
    """A suite that brings an archive, and the description of the package when it is `whole`."""

    whole = True

    def __init__(self, commands, folder, log):
        pass

    def source_records(self, address, suite, package):
        return f"Package: pcre2\nVersion: {VERSION}\n" if suite == "bookworm" else ""

    def download_source(self, package, target):
        assert package == f"pcre2={VERSION}"
        (target / "pcre2.orig.tar.gz").write_text("x")
        if not PlayedApt.whole:
            raise ToolError("404")
        (target / "pcre2.dsc").write_text("x")


class PlayedCommands(Commands):
    """Unpacks a source; everything else succeeds."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def logged(self, command, log, cwd=None, env=None, watch=None):
        self.ran.append(str(command[0]))
        if command[0] in ("dpkg-source", "tar"):
            with_file(command[-1], "src/sljit/sljitExecAllocator.c")
        return Finished(0, "")


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setattr(sourcepackage, "PrivateApt", PlayedApt)
    monkeypatch.setattr(sourcepackage, "mirrors", lambda: ("http://one.example/",))
    PlayedApt.whole = True
    own = tmp_path / "jit/pcre2/10.42"
    own.mkdir(parents=True)
    (tmp_path / "jit/include").mkdir()
    for path in (own / "0001.patch", own.parent / module.ALLOCATOR, tmp_path / "jit/include/jitgate.h"):
        path.write_text("one")
    monkeypatch.setattr(module.Jitgate, "library", lambda self, arch: tmp_path / "jit/include/jitgate.h")
    return Workspace(tmp_path, tmp_path / "cache")


def test_the_source_is_fetched_once(workspace):
    commands = PlayedCommands()
    source = module.Pcre2(workspace, commands).source()
    assert source.version == VERSION and source.layout.name == "10.42"
    assert module.Pcre2(workspace, commands).source() == source
    assert commands.ran == ["dpkg-source"]


def test_without_debian_s_patches_it_says_so(workspace, capsys):
    PlayedApt.whole = False
    assert module.Pcre2(workspace, PlayedCommands()).source().version == f"{VERSION}, upstream archive only"
    assert "patches cannot be had" in capsys.readouterr().err


def test_a_release_without_the_package_is_an_error(workspace):
    with pytest.raises(ToolError, match=r"(?s)no source package of pcre2 from sid.*sid: has no pcre2"):
        module.Pcre2(workspace, PlayedCommands(), release="sid").source()


def test_sources_that_are_not_known_are_an_error(workspace, monkeypatch):
    monkeypatch.setattr(module, "layout_of", lambda tree: None)
    with pytest.raises(ToolError, match="has its sljit elsewhere"):
        module.Pcre2(workspace, PlayedCommands()).source()


def test_bad_names_are_errors(workspace):
    pcre2 = module.Pcre2(workspace, PlayedCommands())
    with pytest.raises(ToolError, match="no variant"):
        pcre2.build("fast", "x86")
    with pytest.raises(ToolError, match="not built for"):
        pcre2.build("stock", "sparc")


def test_a_changed_allocator_builds_jitgate_again_and_nothing_else(workspace):
    def compiled(variant):
        commands = PlayedCommands()
        pcre2 = module.Pcre2(workspace, commands)
        # What cmake would have made.
        monkey = pcre2._compile
        pcre2._compile = lambda tree, target, *rest: (monkey(tree, target, *rest), target.mkdir())
        pcre2.build(variant, "x86")
        return commands.ran.count("cmake")

    assert [compiled("stock"), compiled("jitgate")] == [2, 2]
    assert [compiled("stock"), compiled("jitgate")] == [0, 0]
    (workspace.root / "jit/pcre2" / module.ALLOCATOR).write_text("two")
    assert [compiled("stock"), compiled("jitgate")] == [0, 2]


@pytest.mark.parametrize(
    ("said", "status", "problem"),
    [
        ("ok 1 - a-mprotect\nok 2 - a-pkey # SKIP no protection keys here\n1..2\n", 0, ""),
        ("ok 1 - a-mprotect\nok 2 - a-pkey # SKIP tired\n1..2\n", 0, "ran without keys: a-pkey"),
        ("not ok 1 - a-mprotect # wait status 0xb \n1..1\n", 1, "not ok: a-mprotect (wait status 0xb)"),
        ("killed", 137, "killed"),
        ("", 0, "no results"),
    ],
)
def test_what_our_program_says_is_judged(workspace, monkeypatch, tmp_path, said, status, problem):
    class Said(Commands):
        def logged(self, command, log, cwd=None, env=None, watch=None):
            return Finished(status, said)

    monkeypatch.setattr(pcre2_tests, "has_keys", lambda: False)
    monkeypatch.setattr(module.Pcre2, "tests", lambda self, variant, arch: tmp_path)
    outcome = pcre2_tests.Pcre2Tests(module.Pcre2(workspace, Said())).program("jitgate")
    assert outcome.problems == ([problem] if problem else [])


def test_shared_memory_must_fail_its_tests(workspace, monkeypatch, tmp_path):
    class Ended(Commands):
        def logged(self, command, log, cwd=None, env=None, watch=None):
            return Finished(0 if command[-1] == "freed_by_both" else 1, "")

    monkeypatch.setattr(module.Pcre2, "tests", lambda self, variant, arch: tmp_path)
    outcome = pcre2_tests.Pcre2Tests(module.Pcre2(workspace, Ended())).sealloc()
    assert outcome.problems == ["freed_by_both passed: it tests nothing"]


SPEED = "Total compile time 1.5 milliseconds\nTotal JIT compile  20 microseconds\nTotal match time   0.25 seconds\n"


def test_totals_of_the_speed_test_are_read_in_seconds():
    assert counting.totals_in(SPEED) == pytest.approx({"compile": 1.5e-3, "jit": 20e-6, "match": 0.25})
    with pytest.raises(ValueError, match="no total of jit"):
        counting.totals_in(SPEED.replace("JIT", "jit"))


def region(name, **counters):
    user = {"instructions": 1000, "user_pkey_writes": counters.pop("key_writes", 0)}
    return CpuRound(name, 0, 1, user=user, kernel={"syscall": 10, "instructions": 500, **counters})


def regions(**changed):
    """Counts that are as claimed: 300 patterns, twice each."""
    counters = {
        "match/jitgate": {"key_writes": 600},
        "compile/jitgate": {"key_writes": 1800, "syscall": 20},
        "compile/stock": {"tlbi_local": 4},
        "match/wx": {"syscall": 610},
        "compile/wx": {"syscall": 1810},
        **changed,
    }
    names = [f"{work}/{variant}" for work in ("start", "match", "compile") for variant in ("stock", "wx", "jitgate")]
    return [region(name, **counters.get(name, {})) for name in names]


def test_counts_are_those_beyond_the_start():
    counts = counting.counts_of(regions())
    assert counts["compile"]["jitgate"] == counting.Counts(calls=10, flushes=0, key_writes=1800, user=0, kernel=0)
    assert counts["compile"]["stock"].flushes == 4
    assert counting.problems_of_counts(counts, 2) == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"compile/jitgate": {"key_writes": 1800, "syscall": 101}}, "jitgate made 91 system calls more than stock"),
        ({"compile/jitgate": {"key_writes": 800}}, "wrote the user's pkey register 200 times only"),
        ({"match/stock": {"key_writes": 1}}, "match: stock wrote the user's pkey register"),
    ],
)
def test_counts_that_contradict_the_claims_are_told(changed, problem):
    problems = counting.problems_of_counts(counting.counts_of(regions(**changed)), 2)
    assert any(problem in one for one in problems)


def test_counts_that_are_not_there_are_told():
    assert "compile on jitgate: not counted" in counting.problems_of_counts(counting.counts_of([]), 2)
    with pytest.raises(ValueError, match="the start of stock was not counted"):
        counting.counts_of([region("match/stock")])
