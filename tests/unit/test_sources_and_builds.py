# SPDX-License-Identifier: GPL-2.0-only
"""Fetching, work folders and builds, with small tarballs and a fake kernel build."""

import errno
import os
import subprocess
from types import SimpleNamespace

import pytest

from fakes import make_program, make_tree, make_workspace, write
from portcullis.core.lanes import OPTIONAL, set_name
from portcullis.errors import ToolError
from portcullis.host import sources
from portcullis.host import workspace as workspaces
from portcullis.host.builder import Builder, BuildOptions, forget_real_mode
from portcullis.host.building import environment
from portcullis.host.process import Commands
from portcullis.host.sources import fetch
from portcullis.host.workspace import disk_full_explained, whole_folder


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path)


@pytest.fixture
def tarball(tmp_path):
    make_tree(tmp_path / "pack/linux-source-6.12")
    path = tmp_path / "linux.tar.xz"
    subprocess.run(["tar", "-C", tmp_path / "pack", "-cJf", path, "linux-source-6.12"], check=True)
    return path


def left_overs(workspace):
    return [path.name for path in (workspace.cache / "sources").iterdir() if path.is_dir()]


def test_fetch_unpacks_once(workspace, tarball):
    first = fetch(workspace, Commands(), tarball)
    stamp = (first.path / "Makefile").stat().st_ctime_ns
    assert str(first.version) == "6.12.7"
    assert fetch(workspace, Commands(), tarball) == first
    assert (first.path / "Makefile").stat().st_ctime_ns == stamp


def test_no_source_package(workspace, tmp_path):
    with pytest.raises(ToolError, match="does not exist") as caught:
        fetch(workspace, Commands(), tmp_path / "nothing.tar.xz")
    assert "apt-get install" in caught.value.advice and "--tree" in caught.value.advice


def test_a_broken_tarball_leaves_nothing(workspace, tarball):
    tarball.write_bytes(tarball.read_bytes()[:200])
    with pytest.raises(ToolError, match="unpacking .* failed"):
        fetch(workspace, Commands(), tarball)
    assert left_overs(workspace) == []


def test_a_disk_that_fills_up_while_unpacking(workspace, tarball, tmp_path, monkeypatch):
    fake = 'echo "tar: x: Cannot write: No space left on device" >&2; mkdir -p "$7/half"; exit 2\n'
    make_program(tmp_path / "bin", "tar", "#!/bin/sh\n" + fake)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with pytest.raises(ToolError, match="the disk is full") as caught:
        fetch(workspace, Commands(), tarball)
    assert "--cache" in caught.value.advice and left_overs(workspace) == []


def test_too_little_space_is_said_before_unpacking(workspace, tarball, monkeypatch):
    monkeypatch.setattr(sources, "free_mib", lambda _: 10)
    with pytest.raises(ToolError, match="unpacking needs 2500 MiB, 10 MiB are free"):
        fetch(workspace, Commands(), tarball)


def test_an_interrupted_unpack_leaves_nothing_and_works_next_time(workspace, tarball, monkeypatch):
    real = sources.kernel_version

    def interrupted(tree):
        raise KeyboardInterrupt

    monkeypatch.setattr(sources, "kernel_version", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(workspace, Commands(), tarball)
    assert left_overs(workspace) == []
    monkeypatch.setattr(sources, "kernel_version", real)
    assert fetch(workspace, Commands(), tarball).path.is_dir()


def test_what_a_killed_run_left_is_removed(tmp_path):
    target = tmp_path / "target"
    write(tmp_path / ".partial-target~dead/file", "half")
    with whole_folder(target) as partial:
        write(partial / "file", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_folder_of_a_longer_name_in_the_making_is_left_alone(tmp_path):
    with whole_folder(tmp_path / "6.12-series") as other:
        write(other / "Makefile", "all:")
        with whole_folder(tmp_path / "6.12") as partial:
            write(partial / "file", "whole")
    assert (tmp_path / "6.12-series/Makefile").is_file()


def test_only_a_full_disk_is_explained_as_one(tmp_path):
    with pytest.raises(ToolError, match="disk is full"), disk_full_explained(tmp_path):
        raise OSError(errno.ENOSPC, "x")
    with pytest.raises(PermissionError), disk_full_explained(tmp_path):
        raise PermissionError(errno.EACCES, "x")


def test_a_file_is_replaced_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("old")
    link = tmp_path / "g"
    link.hardlink_to(path)
    workspaces.write_whole(path, b"new")
    assert (path.read_text(), link.read_text()) == ("new", "old")


# --- builds: a fake kernel whose make writes the configuration and the image ----------------------------------

FAKE_MAKE = """#!/bin/sh
for word in "$@"; do
	case $word in
	O=*) out=${word#O=} ;;
	esac
	target=$word
done
echo "$target" >>"$out/../targets"
case $target in
tinyconfig) echo "# tiny" >"$out/.config" ;;
olddefconfig) : ;;
bzImage)
	echo "  CC      mm/memory.o"
	[ -z "$FAKE_ERROR" ] || { echo "$FAKE_ERROR"; exit 2; }
	mkdir -p "$out/arch/x86/boot" && echo image >"$out/arch/x86/boot/bzImage" ;;
esac
"""
MERGE = """#!/bin/sh
shift 3; config=$1; shift
cat "$@" | grep -v "$FAKE_DROP" >>"$config"
"""


@pytest.fixture
def build(workspace, tmp_path, monkeypatch):
    tree = make_tree(tmp_path / "linux")
    make_program(tree / "scripts/kconfig", "merge_config.sh", MERGE)
    make_program(tmp_path / "bin", "make", FAKE_MAKE)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DROP", "^nothing")

    def runner(**options):
        return Builder(workspace, Commands(), BuildOptions(tree=tree, **options)).run()

    runner.tree = tree
    return runner


def targets(built):
    return (built.folder.parent / "targets").read_text().split()


def test_a_build_leaves_the_users_tree_alone_and_is_not_repeated(build):
    before = {path: path.read_bytes() for path in build.tree.rglob("*") if path.is_file()}
    built = build()
    assert built.fresh and built.image.is_file()
    assert "line six" in (built.tree / "mm/memory.c").read_text()
    assert {path: path.read_bytes() for path in build.tree.rglob("*") if path.is_file()} == before
    assert not build().fresh
    assert targets(built).count("bzImage") == 1


def test_an_edit_builds_again(build, workspace):
    build()
    write(workspace.kernel / "topics/10-common/files/include/linux/kpkeys.h", "/* edited */\n")
    assert build().fresh


def test_an_image_that_another_make_wrote_is_built_again(build):
    image = build().image
    os.utime(image, ns=(1, 1))
    assert build().fresh and not build().fresh
    image.unlink()
    assert build().fresh


def test_a_changed_fragment_builds_again(build, workspace):
    build()
    write(workspace.kernel / "configs/test.config", "CONFIG_TEST=y\nCONFIG_MORE=y\n")
    built = build()
    assert built.fresh and "CONFIG_MORE=y" in (built.folder / ".config").read_text()


def test_an_option_that_is_not_taken_is_an_error_that_names_it(build, monkeypatch):
    monkeypatch.setenv("FAKE_DROP", "CONFIG_PORTCULLIS")
    with pytest.raises(ToolError, match=r"CONFIG_PORTCULLIS=y \(is n\)"):
        build()


def test_a_failed_configuration_is_not_taken_for_the_one_before_it(build, workspace, monkeypatch):
    fragment = workspace.kernel / "configs/test.config"
    before = fragment.read_text()
    build()
    write(fragment, "CONFIG_TEST=y\nCONFIG_MORE=y\n")
    monkeypatch.setenv("FAKE_DROP", "CONFIG_PORTCULLIS")
    with pytest.raises(ToolError, match="CONFIG_PORTCULLIS"):
        build()
    write(fragment, before)
    monkeypatch.setenv("FAKE_DROP", "^nothing")
    assert "CONFIG_PORTCULLIS=y" in (build().folder / ".config").read_text()


def test_an_option_marked_optional_may_be_missing(build, workspace, monkeypatch):
    write(workspace.kernel / "configs/portcullis.config", "# optional\nCONFIG_PORTCULLIS=y\n")
    monkeypatch.setenv("FAKE_DROP", "CONFIG_PORTCULLIS")
    assert build().fresh


def test_a_failed_build_says_what_where_and_how_again(build, monkeypatch):
    monkeypatch.setenv("FAKE_ERROR", "mm/memory.c:6: error: expected ';'")
    with pytest.raises(ToolError, match=r"the build failed: mm/memory.c:6: error") as caught:
        build()
    assert "log: " in caught.value.advice and "again: make -C" in caught.value.advice
    monkeypatch.delenv("FAKE_ERROR")
    assert build().fresh


def test_a_disk_that_fills_up_while_building(build, monkeypatch):
    monkeypatch.setenv("FAKE_ERROR", "ld: final link failed: No space left on device")
    with pytest.raises(ToolError, match="the disk is full"):
        build()


def test_make_variables_pass_through(build, workspace):
    builder = Builder(workspace, Commands(), BuildOptions(tree=build.tree, variables={"LLVM": "1"}, jobs=3))
    words = builder.make_command(build.tree, workspace.cache, "bzImage")
    assert "LLVM=1" in words and "-j3" in words and not any(word.startswith("CC=") for word in words)


def test_another_architecture_has_its_own_folders_compiler_and_fragment(build, workspace, monkeypatch):
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="x86_64"))
    write(workspace.kernel / "configs/arm64.config", "CONFIG_ARM=y\n")
    builder = Builder(workspace, Commands(), BuildOptions(tree=build.tree, arch="arm64"))
    tree = builder.tree_folder(builder.source())
    words = builder.make_command(tree, workspace.cache, "Image")
    assert tree.name.endswith("-arm64") and {"ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"} <= set(words)
    assert builder.fragments()[0].name == "arm64.config"
    with pytest.raises(ToolError, match="no lane xen for arm64"):
        Builder(workspace, Commands(), BuildOptions(tree=build.tree, arch="arm64", lane="xen"))


def test_an_interrupted_tree_update_is_repaired(build, workspace, monkeypatch):
    build()
    write(workspace.kernel / "topics/10-common/files/include/linux/kpkeys.h", "/* edited */\n")
    import portcullis.host.builder as module

    real = module.update_work_tree

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "update_work_tree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build()
    monkeypatch.setattr(module, "update_work_tree", real)
    assert build().fresh  # although every file already has its new content


def test_images_do_not_tell_when_or_how_often_they_were_built(tmp_path):
    variables = environment(make_workspace(tmp_path))
    assert variables["KBUILD_BUILD_TIMESTAMP"].endswith("1970") and variables["KBUILD_BUILD_VERSION"] == "1"


def test_each_set_of_topics_has_a_tree_of_its_own(build, workspace):
    write(workspace.kernel / "configs/lab.config", "CONFIG_LAB=y\n")
    tested, product = build(), build(kinds=())
    assert (tested.tree / "mm/kpkeys/core_test.c").is_file() and not (product.tree / "mm/kpkeys/core_test.c").exists()
    assert product.tree.name == f"{tested.tree.name}-product"
    assert product.folder.name == f"{tested.tree.name}-product-default"
    assert build(lane="lab", kinds=("tests", "attacks")).tree == tested.tree
    left_out = build(kinds=(), without=("x86-part",))
    assert left_out.tree.name.endswith("-without-x86-part")
    assert "line six" not in (left_out.tree / "mm/memory.c").read_text()


def test_builds_with_a_name_share_a_tree_whatever_they_leave_out(build):
    one, other = build(name="mutate", without=("x86-part",)), build(name="mutate", leave_out="common/0200-second")
    assert one.tree == other.tree and one.folder == other.folder
    text = (other.tree / "mm/memory.c").read_text()
    assert "line six" in text and "fifteen and a half" not in text


def test_options_of_topics_that_are_left_out_are_not_missed(build, workspace, monkeypatch):
    write(workspace.kernel / "configs/test.config", "CONFIG_TEST=y\nCONFIG_KPKEYS_TESTED=y\n")
    monkeypatch.setenv("FAKE_DROP", "CONFIG_KPKEYS_TESTED")
    assert build(kinds=()).fresh
    with pytest.raises(ToolError, match=r"CONFIG_KPKEYS_TESTED=y \(is n\)"):
        build()


def test_a_lane_that_leaves_topics_out_gives_its_set_the_name():
    assert set_name(("tests", "attacks"), ()) == "" and set_name(("attacks", "tests"), ()) == ""
    assert set_name((), OPTIONAL) == "least" and set_name(("lab",), ()) == "lab" and set_name((), ()) == "product"
    assert set_name(("tests",), ("random",)) == "tests-without-random"


@pytest.mark.parametrize("changed", [True, False])
def test_code_that_cpus_start_with_is_made_anew_when_it_changed(tmp_path, changed):
    header, linked = (
        tmp_path / "tree/arch/x86/include/asm/realmode.h",
        tmp_path / "made/arch/x86/realmode/rm/realmode.elf",
    )
    built_in = linked.parent.parent / "rmpiggy.o"
    for path in (header, linked, built_in):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    os.utime(header, (0, built_in.stat().st_mtime + (1 if changed else -1)))
    forget_real_mode(tmp_path / "tree", tmp_path / "made")
    assert built_in.exists() == linked.exists() == (not changed)
