# SPDX-License-Identifier: GPL-2.0-only
"""apply, undo, export and the update of work trees, on small fake trees."""

import errno
import os
import subprocess

import pytest

from fakes import make_tree, make_workspace, snapshot, write
from portcullis.cli import main
from portcullis.core.manifest import MANIFEST_NAME
from portcullis.errors import ToolError
from portcullis.host import applying
from portcullis.host.applying import apply, plan_apply, read_manifest, undo, update_work_tree
from portcullis.host.sources import Source, kernel_version, user_source, work_copy


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path)


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "linux")


def test_apply_then_undo_restores_every_byte(workspace, tree):
    (tree / "mm/memory.c").chmod(0o640)
    before = snapshot(tree)
    apply(tree, plan_apply(workspace, tree, "x86"))
    text = (tree / "mm/memory.c").read_text()
    assert "line six" in text and "fifteen and a half" in text
    assert (tree / "mm/kpkeys/core.c").is_file() and (tree / MANIFEST_NAME).is_file()
    undo(tree, read_manifest(tree))
    assert snapshot(tree) == before
    assert not (tree / "mm/kpkeys").exists()


def test_apply_twice_is_refused(workspace, tree):
    apply(tree, plan_apply(workspace, tree, "x86"))
    before = snapshot(tree)
    with pytest.raises(ToolError, match="already applied"):
        plan_apply(workspace, tree, "x86")
    assert snapshot(tree) == before


def test_a_conflict_in_the_last_hook_changes_nothing(workspace, tree):
    write(tree / "mm/Makefile", "obj-y += other.o\n")
    before = snapshot(tree)
    with pytest.raises(ToolError, match="0200-second.patch does not apply; nothing was changed"):
        plan_apply(workspace, tree, "x86")
    assert snapshot(tree) == before


def test_fuzz_is_not_accepted(workspace, tree):
    text = (tree / "mm/memory.c").read_text().replace("line 3\n", "line three\n")
    write(tree / "mm/memory.c", text)
    with pytest.raises(ToolError, match="0100-first.patch does not apply"):
        plan_apply(workspace, tree, "x86")


def test_an_offset_is_accepted(workspace, tree):
    write(tree / "mm/memory.c", "new first line\n" + (tree / "mm/memory.c").read_text())
    assert b"line six" in plan_apply(workspace, tree, "x86").changed["mm/memory.c"]


def test_a_new_file_that_is_already_there_is_a_conflict(workspace, tree):
    write(tree / "mm/kpkeys/core.c", "mine\n")
    with pytest.raises(ToolError, match=r"already has mm/kpkeys/core\.c"):
        plan_apply(workspace, tree, "x86")
    assert (tree / "mm/kpkeys/core.c").read_text() == "mine\n"


@pytest.mark.parametrize("missing", ["Makefile", "Kbuild", "mm/memory.c"])
def test_not_a_kernel_tree(tree, missing):
    (tree / missing).unlink()
    with pytest.raises(ToolError, match="is not a kernel source tree"):
        kernel_version(tree)


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(ToolError, match="is not a folder"):
        kernel_version(tmp_path / "nowhere")


def test_a_wrong_version_says_what_is_supported(workspace, tmp_path):
    tree = make_tree(tmp_path / "old", minor=1)
    with pytest.raises(ToolError, match=r"kernel 6\.1\.7 on x86 is not supported") as caught:
        plan_apply(workspace, tree, "x86")
    assert "6.12 up to, not including, 6.13" in caught.value.advice


def test_undo_refuses_when_a_file_was_edited_and_says_which(workspace, tree):
    apply(tree, plan_apply(workspace, tree, "x86"))
    write(tree / "mm/memory.c", (tree / "mm/memory.c").read_text() + "my work\n")
    before = snapshot(tree)
    with pytest.raises(ToolError, match="edited since") as caught:
        undo(tree, read_manifest(tree))
    assert "mm/memory.c" in caught.value.message and "core.c" not in caught.value.message
    assert snapshot(tree) == before


def test_undo_without_apply(tree):
    with pytest.raises(ToolError, match="is not applied"):
        read_manifest(tree)


def test_undo_with_a_damaged_manifest(tree):
    write(tree / MANIFEST_NAME, "{")
    with pytest.raises(ToolError, match="cannot be read"):
        read_manifest(tree)


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])
@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_interrupted_or_disk_full_apply_leaves_the_tree_as_it_was(workspace, tree, monkeypatch, fault, after):
    before = snapshot(tree)
    plan = plan_apply(workspace, tree, "x86")
    real = applying.write_whole
    writes = []

    def failing(path, data, mode=None):
        writes.append(path)
        if len(writes) == after:
            raise fault
        real(path, data, mode)

    monkeypatch.setattr(applying, "write_whole", failing)
    with pytest.raises((KeyboardInterrupt, ToolError)) as caught:
        apply(tree, plan)
    assert snapshot(tree) == before
    if isinstance(fault, OSError):
        assert "disk is full" in str(caught.value)


def test_an_apply_that_was_killed_half_way_can_be_undone(workspace, tree):
    before = snapshot(tree)
    apply(tree, plan_apply(workspace, tree, "x86"))
    (tree / "mm/memory.c").write_bytes(before["mm/memory.c"][0])  # as if this one had not been written yet
    (tree / "mm/kpkeys/core.c").unlink()
    undo(tree, read_manifest(tree))
    assert snapshot(tree) == before


def test_dry_run_changes_nothing(workspace, tree, monkeypatch, capsys):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    before = snapshot(tree)
    assert main(["apply", "--arch", "x86", "--dry-run", str(tree)]) == 0
    assert snapshot(tree) == before
    assert "change  mm/memory.c" in capsys.readouterr().out


def test_work_tree_update_touches_only_what_changed(workspace, tree, tmp_path):
    source = Source(tree, kernel_version(tree), fetched=True)
    copy = tmp_path / "cache/trees/t"
    assert work_copy(source, copy)
    assert update_work_tree(workspace, source, copy, "x86")
    stamps = {path: path.stat().st_mtime_ns for path in copy.rglob("*.[ch]")}
    assert not update_work_tree(workspace, source, copy, "x86")
    write(workspace.kernel / "files/mm/kpkeys/core.c", "/* edited */\n")
    assert update_work_tree(workspace, source, copy, "x86")
    changed = {path.name for path in stamps if path.stat().st_mtime_ns != stamps[path]}
    assert changed == {"core.c"}
    assert "line six" not in (tree / "mm/memory.c").read_text()


def test_work_tree_drops_a_hook_again(workspace, tree, tmp_path):
    source = Source(tree, kernel_version(tree), fetched=True)
    copy = tmp_path / "cache/trees/t"
    work_copy(source, copy)
    update_work_tree(workspace, source, copy, "x86")
    assert update_work_tree(workspace, source, copy, "x86", leave_out="0200-second")
    assert (copy / "mm/Makefile").read_text() == "obj-y += memory.o\n"
    assert "line six" in (copy / "mm/memory.c").read_text()


def test_work_copy_of_a_user_tree_follows_edits_and_skips_build_products(workspace, tree, tmp_path):
    write(tree / ".config", "CONFIG_X=y\n")
    write(tree / "include/generated/x.h", "x\n")
    write(tree / "mm/memory.o", "object\n")
    source = user_source(tree)
    copy = tmp_path / "copy"
    assert work_copy(source, copy)
    assert not (copy / ".config").exists() and not (copy / "include/generated").exists()
    assert not (copy / "mm/memory.o").exists()
    update_work_tree(workspace, source, copy, "x86")
    kept = applying.kept_by_update(copy)
    assert not work_copy(source, copy, kept)
    write(tree / "Kbuild", "# edited, longer\n")
    assert work_copy(source, copy, kept)
    assert (copy / "Kbuild").read_text() == "# edited, longer\n"
    assert "line six" in (copy / "mm/memory.c").read_text()


def test_export_gives_what_apply_gives(workspace, tree, tmp_path, monkeypatch):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@t", "-C", str(tree)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run([*git, *words], check=True)
    out = tmp_path / "series"
    assert main(["export", "--arch", "x86", "--tree", str(tree), str(out)]) == 0
    patches = sorted(str(path) for path in out.iterdir())
    assert len(patches) == 3
    plan = plan_apply(workspace, tree, "x86")
    subprocess.run([*git, "am", "-q", *patches], check=True)
    for path, content in plan.files.items():
        assert (tree / path).read_bytes() == content
    log = subprocess.run([*git, "log", "--format=%s|%b"], check=True, capture_output=True, text=True).stdout
    assert "mm: build kpkeys|Second reason." in log and "First reason." in log


def test_export_refuses_a_full_folder(workspace, tree, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    write(tmp_path / "out/file", "x")
    assert main(["export", "--arch", "x86", "--tree", str(tree), str(tmp_path / "out")]) == 2
    assert "not an empty folder" in capsys.readouterr().err
