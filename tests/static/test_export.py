# SPDX-License-Identifier: GPL-2.0-only
"""The product and its series: nothing of tests in it, `git am` takes it, and its commits compile."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from kit.machinery import Machinery
from kit.plans import every_plan, write
from kit.row import Row
from portcullis.commands.export import AUTHOR
from portcullis.core.arches import ARCHES
from portcullis.core.foreign import added_lines, leaks, names_in
from portcullis.core.topics import ALL, PRODUCT
from portcullis.host.exportbuild import POINTS, SeriesBuild
from portcullis.host.exporting import Repository
from portcullis.host.hardening import Plan, read_from, read_topics, texts_of
from portcullis.host.process import Commands
from portcullis.host.sources import fetch
from portcullis.host.workspace import Workspace


def test_product(workspace: Workspace, commands: Commands, row: Row) -> None:
    """Plain apply and export bring nothing of tests, attacks and the lab: no file of theirs, no option, no function."""
    source = fetch(workspace, commands)
    plan = every_plan(workspace, source, ALL, ())
    others = [topic for topic in read_topics(workspace) if topic.kind != PRODUCT]
    theirs = texts_of(workspace, others)
    problems = [f"{path} is there" for topic in others for path in topic.files if path in plan.files]
    applied = {path: content.decode() for path, content in plan.added.items()}
    applied |= {hook.path: added_lines(hook.diff) for hook in plan.hooks}
    problems += leaks(applied, theirs)
    with tempfile.TemporaryDirectory(prefix="portcullis-product-") as name:
        patches = write(workspace, source, plan, Path(name))
        exported = {path.name: added_lines(path.read_text()) for path in patches}
    problems += leaks(exported, theirs)
    counted = f"{len(names_in(theirs))} names looked for in {len(applied)} files and hooks, {len(exported)} patches"
    row.assert_none(problems, counted)


def test_export(workspace: Workspace, commands: Commands, row: Row) -> None:
    """`git am` takes all series on a repository that holds the touched files, and gives the same content."""
    source = fetch(workspace, commands)
    plan = every_plan(workspace, source, ALL)
    with tempfile.TemporaryDirectory(prefix="portcullis-export-") as name:
        folder = Path(name)
        patches = write(workspace, source, plan, folder)
        taken = Repository(folder / "tree", AUTHOR)
        taken.base(plan, read_from(source.path))
        taken.git("am", "-q", "--empty=drop", *patches)
        different = _differences(taken.folder, plan)
    row.assert_none([f"{path} differs after git am" for path in different], f"{len(patches)} patches")


def _differences(repository: Path, plan: Plan) -> list[str]:
    read = read_from(repository)
    return [path for path, content in plan.files.items() if read(path) != content]


def _compiled(machinery: Machinery, every: bool, row: Row) -> list[int]:
    """How often each architecture was compiled; one that does not compile raises ToolError."""
    options = machinery.options
    made = [
        SeriesBuild(machinery.workspace, machinery.commands, replace(options, arch=arch)).run(every=every)
        for arch in ARCHES
    ]
    row.note(", ".join(f"{count} times for {arch}" for arch, count in zip(ARCHES, made, strict=True)))
    return made


def test_export_sample(machinery: Machinery, row: Row) -> None:
    """The exported series compiles at the end of a topic, for both architectures."""
    assert _compiled(machinery, False, row) == [POINTS] * len(ARCHES)


@pytest.mark.long
def test_export_builds(machinery: Machinery, row: Row) -> None:
    """Each commit of the exported series compiles."""
    assert min(_compiled(machinery, True, row)) > POINTS
