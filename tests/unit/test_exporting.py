# SPDX-License-Identifier: GPL-2.0-only
"""Commits of the exported series: their order, their texts, and which of them are compiled."""

import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from fakes import make_program, make_tree, make_workspace
from portcullis.core.foreign import added_lines
from portcullis.core.topics import KINDS, PRODUCT, Selection
from portcullis.core.versions import KernelVersion
from portcullis.errors import ToolError
from portcullis.host import sources
from portcullis.host.builder import BuildOptions
from portcullis.host.coverletter import cost_table, cover_letter, topic_list
from portcullis.host.exportbuild import SeriesBuild, concerns, outermost, sample, topic_ends
from portcullis.host.exporting import steps_of, wrapped
from portcullis.host.hardening import Plan, make_plan, read_from, read_topics
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path)


@pytest.fixture
def steps(workspace, tmp_path):
    tree = make_tree(tmp_path / "linux")
    return steps_of(make_plan(workspace, KernelVersion(6, 12), Selection("all", KINDS[1:2]), read_from(tree)))


def test_each_topic_has_its_files_and_then_its_hooks(steps):
    assert [(each.kind, each.name, each.arches) for each in steps] == [
        ("product", "common", ("x86", "arm64")),
        ("product", "common", ("x86", "arm64")),
        ("product", "common/0200-second", ("x86", "arm64")),
        ("product", "x86-part/0100-first", ("x86",)),
        ("tests", "tests", ("x86", "arm64")),
        ("tests", "tests/0300-third", ("x86", "arm64")),
    ]
    assert topic_ends(steps) == [2, 3, 5]


def test_a_sample_has_the_last_commits_of_topics_of_its_architecture(steps):
    assert sample(steps, "x86", 3) == {2, 3, 5} and sample(steps, "x86", 1) == {3}
    assert sample(steps, "arm64", 3) == {2, 5}


def test_what_an_architecture_compiles():
    assert concerns("mm/memory.c", "x86") and concerns("arch/x86/mm/init.c", "x86")
    assert not concerns("arch/arm64/mm/init.c", "x86") and not concerns("Documentation/mm/kpkeys.rst", "x86")


def test_a_paragraph_becomes_lines_of_a_commit_message():
    text = wrapped("word " * 40 + "\n\nSecond\nparagraph.\n")
    assert max(map(len, text.splitlines())) <= 72 and text.endswith("\n\nSecond paragraph.")


COUNTS = """
[toolchains]
x86 = "gcc"
[arm64-calls-portcullis.lseek]
user = { instructions = 9, syscall = 100 }
kernel = { instructions = 36500, isb = 300, pkey_writes = 400 }
[x86-fork-portcullis.fork-h0]
user = { syscall = 1 }
kernel = { instructions = 4388221, pkey_writes = 436 }
"""


def test_a_cover_letter_says_what_one_operation_costs():
    rows = [row.split() for row in cost_table(COUNTS)]
    assert rows[1] == ["lseek()", "arm64", "4", "3", "365"]
    assert rows[2][-4:] == ["x86", "436", "0", "4,388,221"]


def test_a_cover_letter_lists_the_product_with_its_patches(workspace, tmp_path):
    tree = make_tree(tmp_path / "linux")
    plan = make_plan(workspace, KernelVersion(6, 12, 7), Selection("all", ("tests",)), read_from(tree))
    subject, text = cover_letter(workspace, plan)
    assert subject == "A series" and "For 6.12.7." in text
    assert topic_list(plan.topics).splitlines() == [
        "    1 to   3  mm: the common part",
        "    4 to   4  x86: the part of one architecture",
    ]
    (workspace.root / "docs/cover-letter.md").write_text("# A\n\n{version} {topics}\n")
    with pytest.raises(ToolError, match="cover-letter.md has no {costs}"):
        cover_letter(workspace, plan)


def test_the_cover_letter_of_this_checkout_fits_a_mail():
    workspace = Workspace(ROOT, ROOT)
    topics = read_topics(workspace)
    plan = Plan(KernelVersion(6, 12), Selection("all"), topics, {}, {}, {})
    subject, text = cover_letter(workspace, plan)
    assert subject and max(map(len, text.splitlines())) <= 75 and "{" not in text


def test_maintainers_names_every_new_file_of_the_product():
    topics = [topic for topic in read_topics(Workspace(ROOT, ROOT)) if topic.kind == PRODUCT]
    (hook,) = [hook for topic in topics for hook in topic.hooks if hook.name == "0602-maintainers"]
    patterns = [line.split()[1] for line in added_lines(hook.diff).splitlines() if line.startswith("F:")]
    files = [path for topic in topics for path in topic.files]
    whole = [f"{pattern}*" if pattern.endswith("/") else pattern for pattern in patterns]
    assert [path for path in files if not any(fnmatchcase(path, pattern) for pattern in whole)] == []
    assert [pattern for pattern in whole if not any(fnmatchcase(path, pattern) for path in files)] == []


FAKE_MAKE = """#!/bin/sh
for word in "$@"; do
	case $word in
	O=*) out=${word#O=} ;;
	esac
done
[ "$target" ] || for word in "$@"; do target=$word; done
echo "$(grep -c . "$2/mm/memory.c") $target" >>"$out/../made"
[ "$target" = tinyconfig ] && echo "# tiny" >"$out/.config"
[ "$target" = "$FAKE_FAILS" ] && exit 2
exit 0
"""


@pytest.fixture
def series(workspace, tmp_path, monkeypatch):
    tree = make_tree(tmp_path / "linux")
    make_program(tree / "scripts/kconfig", "merge_config.sh", "#!/bin/sh\n")
    make_program(tmp_path / "bin", "make", FAKE_MAKE)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    for name in ("lab", "designs"):
        (workspace.kernel / f"configs/{name}.config").write_text("")
    source = sources.Source(tree, KernelVersion(6, 12, 7), fetched=True)
    monkeypatch.setattr("portcullis.host.builder.fetch_kernel", lambda *_: source)
    return SeriesBuild(workspace, Commands(), BuildOptions())


def made(series):
    """Lines of mm/memory.c and the target, of each make that compiled."""
    lines = (series.folder.parent / "made").read_text().splitlines()
    return [line for line in lines if not line.endswith("config")]


def test_every_commit_compiles_and_each_topic_links(series):
    assert series.run(every=True) == 9
    assert made(series) == [*["20 mm/"] * 2, *["21 mm/"] * 4, *["21 bzImage"] * 3]
    patch = (series.tree / "mm/kpkeys/core.c").read_text()
    assert patch == "/* new */\n/* tested */\n"
    assert "line six" not in (series.source.path / "mm/memory.c").read_text()


def test_a_second_walk_begins_with_the_pristine_source(series):
    series.run(every=True)
    series.passed.lines.clear()
    assert series.run(every=False) == 1
    assert made(series)[9:] == ["21 mm/"]
    subprocess.run(["test", "-f", series.tree / "mm/kpkeys/core_test.c"], check=True)


def test_a_commit_that_does_not_compile_is_named(series, monkeypatch):
    monkeypatch.setenv("FAKE_FAILS", "bzImage")
    with pytest.raises(ToolError, match=r"commit 3 of 6 \(common: mm: build kpkeys\) does not build for x86") as caught:
        series.run(every=True)
    assert "log: " in caught.value.advice and Path(series.log).is_file()


def test_a_second_walk_compiles_what_did_not_compile(series, monkeypatch):
    monkeypatch.setenv("FAKE_FAILS", "mm/")
    with pytest.raises(ToolError):
        series.run(every=True)
    monkeypatch.setenv("FAKE_FAILS", "")
    again = SeriesBuild(series.workspace, Commands(), BuildOptions())
    assert again.run(every=True) == 9
    assert made(series)[6:] == [*["20 mm/"] * 2, *["21 mm/"] * 4, *["21 bzImage"] * 3]


def test_other_options_compile_again(series):
    series.run(every=True)
    (series.workspace.kernel / "configs/lab.config").write_text("CONFIG_MORE=y\n")
    SeriesBuild(series.workspace, Commands(), BuildOptions()).run(every=True)
    assert len(made(series)) == 18


def test_make_is_not_told_of_a_folder_inside_another() -> None:
    folders = ["mm/", "arch/x86/platform/efi/", "arch/x86/", "mm/kpkeys/", "kernel/"]
    assert outermost(folders) == ["arch/x86/", "kernel/", "mm/"]
