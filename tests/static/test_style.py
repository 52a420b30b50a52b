# SPDX-License-Identifier: GPL-2.0-only
"""Style: ruff on Python, who imports whom, and Linux' own checker on the exported patches."""

import re
import sys
import tempfile
from pathlib import Path

import pytest

from kit.plans import every_plan, write
from kit.row import Row
from portcullis.core.topics import ALL
from portcullis.host.exporting import COVER, steps_of
from portcullis.host.newer import KERNELS, fetch_kernel
from portcullis.host.process import Commands, Finished
from portcullis.host.sources import Source, fetch
from portcullis.host.workspace import Workspace

# MAINTAINERS changes once, in the documentation's topic; help texts are as short as they can be.
CHECKPATCH_IGNORE = (
    "FILE_PATH_CHANGES,CONFIG_DESCRIPTION,"
    # Two headers have what differs between versions.
    "LINUX_VERSION_CODE,CONSTANT_COMPARISON,"
    # A saved register that cannot be right is worth a stop.
    "AVOID_BUG,"
    # The table of levels is a list macro: its entries are terms, and use only the arguments they need.
    "COMPLEX_MACRO,MACRO_ARG_UNUSED,"
    # printk_deferred() has no level of its own; DEFINE_STATIC_KEY_FALSE_RO() is not recognised as a definition.
    "UNNECESSARY_KERN_LEVEL,EXPORT_SYMBOL"
)
# The newest checker asks for kzalloc_obj(), which 6.12 has not, and takes a table of sysctls that is filled in for one.
NEWEST_IGNORE = f"{CHECKPATCH_IGNORE},ALLOC_WITH_SIZEOF,CONST_STRUCT"


@pytest.mark.parametrize("words", [("check",), ("format", "--check")], ids=["rules", "layout"])
def test_style_python(words: tuple[str, ...], workspace: Workspace, commands: Commands, row: Row) -> None:
    ruff = [sys.executable, "-m", "ruff", *words, "--no-cache", "src", "tests", "docs"]
    finished = commands.capture(ruff, cwd=workspace.root)
    row.assert_none(finished.output.strip().splitlines() if finished.status else [])


def test_style_imports(workspace: Workspace, commands: Commands, row: Row) -> None:
    """Layers of the tool import only those below them, in no circle."""
    finished = commands.capture([Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=workspace.root)
    row.assert_none(finished.output.strip().splitlines() if finished.status else [])


def test_style_kernel(workspace: Workspace, commands: Commands, row: Row) -> None:
    """The kernel's own style checker, from the fetched source, on the exported patches."""
    _assert_style(workspace, commands, fetch(workspace, commands), row, CHECKPATCH_IGNORE)


@pytest.mark.long
def test_newest_style_kernel(workspace: Workspace, commands: Commands, row: Row) -> None:
    """The newest kernel's own style checker on the patches for it."""
    _assert_style(workspace, commands, fetch_kernel(workspace, commands, KERNELS[-1]), row, NEWEST_IGNORE)


def _assert_style(workspace: Workspace, commands: Commands, source: Source, row: Row, ignore: str) -> None:
    plan = every_plan(workspace, source, ALL)
    words = ["--no-tree", "--terse", "--showfile", "--no-summary", f"--ignore={ignore}"]
    found: list[str] = []
    # checkpatch.pl leaves files where it runs.
    with tempfile.TemporaryDirectory(prefix="portcullis-style-") as name:
        written = write(workspace, source, plan, Path(name))
        patches = [path for path in written if path.name != COVER]
        for each, patch in zip(steps_of(plan), patches, strict=True):
            finished = commands.capture(["perl", source.path / "scripts/checkpatch.pl", *words, patch], cwd=Path(name))
            found += [f"{each.name}: {line}" for line in _findings(finished)]
    row.assert_none(found, f"{len(patches)} patches")


def _findings(finished: Finished) -> list[str]:
    lines = [line for line in finished.output.splitlines() if re.search(r": (ERROR|WARNING|CHECK):", line)]
    if finished.status not in (0, 1) or (finished.status and not lines):
        lines = lines or finished.output.strip().splitlines()[-3:]
    return lines
