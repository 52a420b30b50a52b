# SPDX-License-Identifier: GPL-2.0-only
"""The emulator: where its source comes from, how it is built, and what its tests say. No network, no compiler."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakes import make_program, write
from portcullis.cli import main
from portcullis.core import emulator as core
from portcullis.errors import ToolError
from portcullis.host import aptsource
from portcullis.host.emulator import EmulatorBuilder, binary_name
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]
TARGETS = """Debian|main|bookworm-security|http://three.example/
Debian|main|bookworm|http://one.example/
Debian|contrib|bookworm|http://four.example/
Other|main|bookworm|http://five.example/
Debian|main|bookworm|cdrom:[disc]/
Debian|main|trixie|http://two.example/
Debian|main|bookworm|http://one.example/
"""
BAREMETAL = "TAP version 14\nok 1 - first\nok 2 - second\n1..2\n"
PATCH_TEXT = "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n"


def test_only_mirrors_of_this_release_count():
    assert core.debian_mirrors(TARGETS, "bookworm") == ("http://one.example/",)
    assert core.debian_mirrors(TARGETS, "trixie") == ("http://two.example/",)
    assert core.debian_mirrors("garbage\n", "bookworm") == ()


def test_a_mirror_whose_lists_were_never_fetched_counts():
    assert core.debian_mirrors("$(ORIGIN)|main|stable|http://one.example/\n", "trixie") == ("http://one.example/",)


def test_source_list_names_the_keyring():
    line = core.source_list("http://one.example/", "trixie", Path("/keys.gpg"))
    assert line == "deb-src [signed-by=/keys.gpg] http://one.example/ trixie main\n"
    assert core.source_list("http://one.example/", "trixie", None) == "deb-src http://one.example/ trixie main\n"


@pytest.mark.parametrize(
    ("records", "version"),
    [
        ("Package: qemu\nVersion: 1:10.0.13+ds-0+deb13u1\n", "1:10.0.13+ds-0+deb13u1"),
        ("Version: 1:7.2+dfsg-7\nVersion: 1:10.0.2+ds-2~bpo12+1\n", "1:10.0.2+ds-2~bpo12+1"),
        ("Version: 1:10.1.0-1\n", ""),
        ("Standards-Version: 10.0.1\n", ""),
    ],
)
def test_only_qemu_10_0_will_do(records, version):
    assert core.source_version(records) == version


def test_ninja_progress_is_the_last_line():
    assert core.ninja_progress("[1/90] Compiling\n[2/90] Compiling\n") == (2, 90)
    assert core.ninja_progress("nothing\n") == (0, 0)


# --- what a test's output means ---------------------------------------------------------------------------
BARE = core.EmulatorTest("x", "what", "x")
LINUX = core.EmulatorTest("y", "what", "y", linux=True, wanted=("seen it",))


@pytest.mark.parametrize(
    ("status", "output", "problem"),
    [
        (0, BAREMETAL, ""),
        (0, BAREMETAL.replace("ok 2", "not ok 2"), "not ok: second"),
        (0, BAREMETAL.replace("1..2", "1..3"), "3 tests planned, 2 seen"),
        (0, BAREMETAL.replace("1..2\n", ""), "did not finish"),
        (0, "1..0\n", "no test"),
        (2, "ok 1 - first\nBail out! unexpected\n", "Bail out!"),
        (1, BAREMETAL, "status 1"),
        (0, BAREMETAL.replace("second", "second # SKIP no POE"), "skipped: second"),
    ],
)
def test_a_run_is_good_only_when_all_of_it_ran(status, output, problem):
    found = core.problems(BARE, status, output)
    assert (not found) if not problem else any(problem in text for text in found)


def test_kselftests_must_have_seen_poe():
    assert core.problems(LINUX, 0, BAREMETAL) == ["nothing says 'seen it'"]
    assert core.problems(LINUX, 0, BAREMETAL, console="[0.1] seen it") == []


def test_the_program_of_every_test_is_built():
    makefile = (ROOT / "emulator/tests/Makefile").read_text()
    built = next(line for line in makefile.splitlines() if line.startswith("PROGRAMS")).split(":=")[1].split()
    assert sorted(test.program for test in core.TESTS if not test.linux) == sorted(built)
    assert [core.test_by_case(core.TEST_PREFIX + test.name) for test in core.TESTS] == list(core.TESTS)


def test_command_lines_run_the_chosen_cpu():
    test = next(test for test in core.TESTS if test.name == "delay")
    words = core.bare_command(Path("/q"), test, Path("/delay"), Path("/out"))
    assert words[0] == "/q" and "max,x-poe-lazy-write=on" in words and "enable=on,target=native" in words
    linux = next(test for test in core.TESTS if test.name == "kselftest-vhe")
    words = core.linux_command(Path("/q"), linux, Path("/k"), Path("/i"), Path("/c"), Path("/r"))
    assert "virt,virtualization=on" in words
    job = "portcullis.job=run,protection_keys,hwcap,poe_siginfo,pkey_sighandler_tests,pac"
    assert any(word.endswith(job) for word in words)


# --- the real series --------------------------------------------------------------------------------------
def test_series_names_every_patch_and_nothing_else():
    names = core.series_names((ROOT / "emulator/series").read_text())
    assert sorted(names) == sorted(path.name for path in (ROOT / "emulator/patches").glob("*"))
    for name in names:
        head = (ROOT / "emulator/patches" / name).read_text().split("---\n")[0]
        assert "\nFrom: Portcullis <portcullis@localhost>\n" in head and "Signed-off-by" not in head


# --- fetching ---------------------------------------------------------------------------------------------
@pytest.fixture
def apt(tmp_path, monkeypatch):
    """A fake apt: FAKE_SUITES says which suites have QEMU, FAKE_NET whether there is a network."""
    folder = tmp_path / "bin"
    make_program(
        folder,
        "apt-get",
        f"""#!/bin/sh
echo "apt-get $*" >>{tmp_path}/calls
case "$*" in
*indextargets*) echo 'Debian|main|bookworm|http://one.example/'; exit ;;
*update*) [ -z "$FAKE_NET" ] || {{ echo 'E: Could not resolve host'; exit 100; }} ;;
*source*) for word; do name=${{word#qemu=1:}}; done; : >"qemu_${{name%-*}}.orig.tar.xz" ;;
esac
""",
    )
    make_program(
        folder,
        "apt-cache",
        """#!/bin/sh
list=$(echo "$*" | sed 's/.*SourceList=\\([^ ]*\\).*/\\1/')
for suite in $FAKE_SUITES; do
	! grep -q " $suite " "$list" || echo 'Version: 1:10.0.13+ds-0'
done
""",
    )
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(aptsource, "codename", lambda: "bookworm")
    return lambda: (tmp_path / "calls").read_text()


def test_the_source_is_fetched_once_and_privately(apt, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_SUITES", "trixie")
    first = aptsource.fetch_archive(Commands(), tmp_path / "source", tmp_path / "log")
    assert first.name == "qemu_10.0.13+ds.orig.tar.xz" and first.parent.name == "1_10.0.13+ds-0"
    used = [line for line in apt().splitlines() if "indextargets" not in line]
    assert len(used) == 2 and all(f"Dir::State::Lists={tmp_path}/source/apt/lists" in line for line in used)
    assert aptsource.fetch_archive(Commands(), tmp_path / "source", tmp_path / "log") == first
    assert [line for line in apt().splitlines() if "indextargets" not in line] == used


def test_a_release_without_it_is_passed_over(apt, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_SUITES", "bookworm-backports")
    assert aptsource.fetch_archive(Commands(), tmp_path / "source", tmp_path / "log").is_file()


def test_without_a_network_every_suite_says_why(apt, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_NET", "down")
    with pytest.raises(ToolError) as error:
        aptsource.fetch_archive(Commands(), tmp_path / "source", tmp_path / "log")
    assert "trixie: E: Could not resolve host" in error.value.message
    assert "bookworm-backports: E: Could not resolve host" in error.value.message
    assert not list((tmp_path / "source").glob("*/*.orig.tar.xz"))


# --- building ---------------------------------------------------------------------------------------------
@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one patch, a source archive, and fakes of tar, configure, ninja and strip."""
    root, folder = tmp_path / "checkout", tmp_path / "bin"
    write(root / "emulator/series", "# comment\n0001-x.patch\n")
    write(root / "emulator/patches/0001-x.patch", PATCH_TEXT)
    write(root / "emulator/devices-aarch64.mak", "CONFIG_ARM_VIRT=y\n")
    write(root / "emulator/devices-x86_64.mak", "CONFIG_I440FX=y\n")
    write(tmp_path / "cache/emulator/source/1_10.0.13+ds-0/qemu_10.0.13.orig.tar.xz", "")
    make_program(
        folder,
        "tar",
        """#!/bin/sh
for word; do tree=$word; done
echo ${FAKE_FILE:-old} >$tree/file
mkdir -p $tree/configs/devices/aarch64-softmmu $tree/configs/devices/x86_64-softmmu $tree/include/qemu
echo header >$tree/include/qemu/qemu-plugin.h
printf '#!/bin/sh\\necho configured\\n' >$tree/configure
chmod +x $tree/configure
""",
    )
    make_program(
        folder,
        "ninja",
        """#!/bin/sh
[ -z "$FAKE_NINJA" ] || { echo "$FAKE_NINJA"; exit 1; }
for name in qemu-system-aarch64 qemu-system-x86_64; do cp $2/../tree/file $2/$name; done
""",
    )
    make_program(folder, "strip", '#!/bin/sh\ncp "$3" "$2"\n')
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return SimpleNamespace(root=root, workspace=Workspace(root, tmp_path / "cache"))


def build(checkout):
    return EmulatorBuilder(checkout.workspace, Commands(), 2).run()


def test_a_build_is_patched_and_done_once(checkout):
    built = build(checkout)
    assert built.fresh and built.source == "1:10.0.13+ds-0"
    assert [built.binary(arch).read_text() for arch in ("arm64", "x86")] == ["new\n", "new\n"]
    assert built.header.read_text() == "header\n"
    assert not build(checkout).fresh
    leftover = {path.name for path in (checkout.workspace.cache / "emulator").iterdir()}
    assert leftover == {"source", "installed"}


@pytest.mark.parametrize("name", ["patches/0001-x.patch", "devices-aarch64.mak", "devices-x86_64.mak"])
def test_a_change_builds_again(checkout, name):
    build(checkout)
    path = checkout.root / "emulator" / name
    path.write_text(path.read_text() + "\n")
    assert build(checkout).fresh


def test_a_patch_that_does_not_apply_is_named(checkout, monkeypatch):
    monkeypatch.setenv("FAKE_FILE", "other")
    with pytest.raises(ToolError, match=r"0001-x\.patch does not apply"):
        build(checkout)
    assert not (checkout.workspace.cache / "emulator/tree").exists()


def test_a_failed_build_keeps_the_old_result_out(checkout, monkeypatch):
    monkeypatch.setenv("FAKE_NINJA", "file.c:1: error: broken")
    with pytest.raises(ToolError, match=r"the build failed: file\.c:1: error: broken"):
        build(checkout)
    assert not (checkout.workspace.cache / "emulator/installed").exists()


def test_a_full_disk_is_said_so(checkout, monkeypatch):
    monkeypatch.setenv("FAKE_NINJA", "cc: No space left on device")
    with pytest.raises(ToolError, match="the disk is full"):
        build(checkout)
    monkeypatch.delenv("FAKE_NINJA")
    monkeypatch.setattr("portcullis.host.emulator.free_mib", lambda _: 10)
    with pytest.raises(ToolError, match="10 MiB are free"):
        build(checkout)


def test_a_checkout_without_its_patch_is_not_complete(checkout):
    (checkout.root / "emulator/patches/0001-x.patch").unlink()
    with pytest.raises(ToolError, match="does not exist"):
        build(checkout)


def test_dry_run_prints_and_changes_nothing(checkout, monkeypatch, capsys):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(checkout.root))
    before = sorted(checkout.workspace.cache.rglob("*"))
    assert main(["emulator", "build", "--dry-run", "--cache", str(checkout.workspace.cache)]) == 0
    printed = capsys.readouterr().out
    assert (
        "--fuzz=0" in printed
        and f" {binary_name('arm64')} {binary_name('x86')}\n" in printed
        and "--enable-plugins" in printed
    )
    made = {path.name for path in checkout.workspace.cache.rglob("*")} - {path.name for path in before}
    assert made <= {"emulator.lock"}


def test_json_says_where_it_is(checkout, monkeypatch, capsys):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(checkout.root))
    assert main(["emulator", "build", "--json", "--cache", str(checkout.workspace.cache)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (
        data["emulator"].endswith("installed/qemu-system-aarch64")
        and data["x86"].endswith("/qemu-system-x86_64")
        and data["fresh"] is True
    )


def test_unknown_tests_are_refused(checkout, monkeypatch, capsys):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(checkout.root))
    assert main(["emulator", "test", "-k", "nosuch", "--cache", str(checkout.workspace.cache)]) == 2
    assert "no test matches 'nosuch'" in capsys.readouterr().err
