# SPDX-License-Identifier: GPL-2.0-only
"""apply, undo, export and the update of work trees, on small fake trees."""

import errno
import os
import subprocess

import pytest

from fakes import make_tree, make_workspace, snapshot, write
from portcullis.cli import main
from portcullis.core.manifest import MANIFEST_NAME
from portcullis.core.topics import ALL, Selection
from portcullis.core.versions import KernelVersion
from portcullis.errors import ToolError
from portcullis.host import applying
from portcullis.host.applying import apply, plan_apply, read_manifest, undo, update_work_tree
from portcullis.host.hardening import topics_for
from portcullis.host.sources import Source, kernel_version, user_source, work_copy

X86 = Selection("x86")
TESTED = Selection("all", ("tests",))


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path)


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "linux")


def test_apply_then_undo_restores_every_byte(workspace, tree):
    (tree / "mm/memory.c").chmod(0o640)
    before = snapshot(tree)
    apply(tree, plan_apply(workspace, tree, X86))
    text = (tree / "mm/memory.c").read_text()
    assert "line six" in text and "fifteen and a half" in text
    assert (tree / "mm/kpkeys/core.c").is_file() and (tree / MANIFEST_NAME).is_file()
    undo(tree, read_manifest(tree))
    assert snapshot(tree) == before
    assert not (tree / "mm/kpkeys").exists()


def test_apply_twice_is_refused(workspace, tree):
    apply(tree, plan_apply(workspace, tree, X86))
    before = snapshot(tree)
    with pytest.raises(ToolError, match="already applied"):
        plan_apply(workspace, tree, X86)
    assert snapshot(tree) == before


def test_a_conflict_in_the_last_hook_changes_nothing(workspace, tree):
    write(tree / "mm/Makefile", "obj-y += other.o\n")
    before = snapshot(tree)
    with pytest.raises(ToolError, match="common/0200-second does not apply; nothing was changed"):
        plan_apply(workspace, tree, X86)
    assert snapshot(tree) == before


def test_what_is_not_product_stays_out_unless_it_is_wanted(workspace, tree):
    plan = plan_apply(workspace, tree, Selection("all"))
    assert [topic.name for topic in plan.topics] == ["common", "x86-part"]
    assert "mm/kpkeys/core_test.c" not in plan.files
    assert plan.added["mm/kpkeys/core.c"] == b"/* new */\n"
    tested = plan_apply(workspace, tree, TESTED)
    assert tested.added["mm/kpkeys/core.c"] == b"/* new */\n/* tested */\n" and "mm/kpkeys/core_test.c" in tested.added
    apply(tree, tested)
    assert read_manifest(tree).topics == ("common", "x86-part", "tests")


def test_a_topic_is_left_out_with_its_hooks_and_files(workspace, tree):
    apply(tree, plan_apply(workspace, tree, Selection("all", (), ("x86-part",))))
    assert "line six" not in (tree / "mm/memory.c").read_text()
    assert "fifteen and a half" in (tree / "mm/memory.c").read_text()


def test_a_topic_that_is_needed_cannot_be_left_out(workspace, tree):
    with pytest.raises(ToolError, match="x86-part needs common.* leave out as well: --without x86-part"):
        plan_apply(workspace, tree, Selection("all", (), ("common",)))


def test_apply_lists_topics_without_a_tree(workspace, monkeypatch, capsys):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    assert main(["apply", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "common" in shown and "x86-part" in shown and "mm: tests" in shown
    assert main(["apply"]) == 2


def test_fuzz_is_not_accepted(workspace, tree):
    text = (tree / "mm/memory.c").read_text().replace("line 3\n", "line three\n")
    write(tree / "mm/memory.c", text)
    with pytest.raises(ToolError, match="x86-part/0100-first does not apply"):
        plan_apply(workspace, tree, X86)


def test_an_offset_is_accepted(workspace, tree):
    write(tree / "mm/memory.c", "new first line\n" + (tree / "mm/memory.c").read_text())
    assert b"line six" in plan_apply(workspace, tree, X86).changed["mm/memory.c"]


def test_a_new_file_that_is_already_there_is_a_conflict(workspace, tree):
    write(tree / "mm/kpkeys/core.c", "mine\n")
    with pytest.raises(ToolError, match=r"already has mm/kpkeys/core\.c"):
        plan_apply(workspace, tree, X86)
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
        plan_apply(workspace, tree, X86)
    assert "6.12 up to, not including, 6.13" in caught.value.advice and "x86" in caught.value.advice


def test_undo_refuses_when_a_file_was_edited_and_says_which(workspace, tree):
    apply(tree, plan_apply(workspace, tree, X86))
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
@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
def test_interrupted_or_disk_full_apply_leaves_the_tree_as_it_was(workspace, tree, monkeypatch, fault, after):
    before = snapshot(tree)
    plan = plan_apply(workspace, tree, X86)
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
    apply(tree, plan_apply(workspace, tree, X86))
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
    assert update_work_tree(workspace, source, copy, X86)
    stamps = {path: path.stat().st_mtime_ns for path in copy.rglob("*.[ch]")}
    assert not update_work_tree(workspace, source, copy, X86)
    write(workspace.kernel / "topics/10-common/files/mm/kpkeys/core.c", "/* edited */\n")
    assert update_work_tree(workspace, source, copy, X86)
    changed = {path.name for path in stamps if path.stat().st_mtime_ns != stamps[path]}
    assert changed == {"core.c"}
    assert "line six" not in (tree / "mm/memory.c").read_text()


def test_work_tree_drops_a_hook_again(workspace, tree, tmp_path):
    source = Source(tree, kernel_version(tree), fetched=True)
    copy = tmp_path / "cache/trees/t"
    work_copy(source, copy)
    update_work_tree(workspace, source, copy, X86)
    assert update_work_tree(workspace, source, copy, X86, leave_out="common/0200-second")
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
    update_work_tree(workspace, source, copy, X86)
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
    assert main(["export", "--tree", str(tree), "--with", "tests", "--author", "A B <a@b>", str(out)]) == 0
    patches = sorted(str(path) for path in out.glob("*.patch"))
    tests = sorted(str(path) for path in out.glob("tests/*.patch"))
    assert [len(patches), len(tests)] == [5, 2]
    plan = plan_apply(workspace, tree, TESTED)
    subprocess.run([*git, "am", "-q", "--empty=drop", *patches, *tests], check=True)
    for path, content in plan.files.items():
        assert (tree / path).read_bytes() == content
    log = subprocess.run([*git, "log", "--format=%s|%b"], check=True, capture_output=True, text=True).stdout
    subjects = [line.partition("|")[0] for line in log.splitlines() if "|" in line]
    assert subjects == [
        "kpkeys: test core",
        "mm: tests",
        "mm: say six",
        "mm: build kpkeys",
        "mm/kpkeys: add the header",
        "mm/kpkeys: add the core",
        "base",
    ]
    assert "mm: build kpkeys|Second reason.\n\nSigned-off-by: A B <a@b>\n" in log


def test_a_series_is_as_git_writes_it_whatever_the_user_set(workspace, tree, tmp_path, monkeypatch):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".gitconfig", "[format]\n\tsubjectPrefix = HIS\n\tnumbered = false\n")
    out = tmp_path / "series"
    assert main(["export", "--tree", str(tree), "--author", "A B <a@b>", str(out)]) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names[0] == "0000-cover-letter.patch" and names[4] == "0004-mm-say-six.patch"
    text = (out / names[4]).read_text()
    assert "From: A B <a@b>\n" in text and "Subject: [PATCH 4/4] mm: say six\n" in text
    assert "Signed-off-by: A B <a@b>\n---\n mm/memory.c | 2 +-\n" in text
    cover = (out / names[0]).read_text()
    assert "Subject: [PATCH 0/4] " in cover and "***" not in cover
    assert "mm: build kpkeys" in cover and "5 files changed" in cover


@pytest.mark.parametrize("author", ["nobody", "A <b", "<a@b>"])
def test_an_author_without_a_name_or_an_address_is_refused(workspace, tree, tmp_path, monkeypatch, capsys, author):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    assert main(["export", "--tree", str(tree), "--author", author, str(tmp_path / "out")]) == 2
    assert "not an author" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_export_refuses_a_full_folder(workspace, tree, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    write(tmp_path / "out/file", "x")
    assert main(["export", "--arch", "x86", "--tree", str(tree), str(tmp_path / "out")]) == 2
    assert "not an empty folder" in capsys.readouterr().err


def test_a_version_that_some_architecture_has_not(workspace):
    text = (workspace.kernel / "topics/20-x86-part/topic.toml").read_text().partition("[tests]")[0]
    text = text.replace("x86", "arm64").replace("6.12", "6.11").replace("6.13", "6.12")
    write(workspace.kernel / "topics/30-arm64-part/topic.toml", text)
    with pytest.raises(ToolError, match=r"kernel 6\.12\.0 on arm64 is not supported yet") as caught:
        topics_for(workspace, KernelVersion(6, 12), Selection(ALL))
    assert "--arch x86" in caught.value.advice
    assert topics_for(workspace, KernelVersion(6, 12), X86)


def test_all_hooks_that_do_not_apply_are_named(workspace, tree):
    write(tree / "mm/memory.c", "something else\n")
    before = snapshot(tree)
    with pytest.raises(ToolError, match="common/0200-second does not apply") as caught:
        plan_apply(workspace, tree, X86)
    assert "nor do: x86-part/0100-first" in caught.value.message and snapshot(tree) == before
