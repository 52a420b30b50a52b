# SPDX-License-Identifier: GPL-2.0-only
"""What tests of hooks and of the exported series begin with."""

from pathlib import Path

from portcullis.commands.export import AUTHOR
from portcullis.core.topics import KINDS, Selection
from portcullis.host.coverletter import cover_letter
from portcullis.host.exporting import Repository, write_series
from portcullis.host.hardening import Plan, make_plan, read_from
from portcullis.host.sources import Source
from portcullis.host.workspace import Workspace

# Each topic that the product works without, and what needs it; the architecture.
LEFT_OUT = (
    ("x86-wp", (), "x86"),
    ("secrets", ("random", "pointer-auth", "guarded", "creds"), "x86"),
    ("secrets", ("random", "pointer-auth", "guarded", "creds"), "arm64"),
    ("random", (), "x86"),
    ("arm64-live-split", (), "arm64"),
    ("pointer-auth", (), "arm64"),
    ("guarded", ("creds",), "x86"),
    ("creds", (), "x86"),
)


def every_plan(workspace: Workspace, source: Source, arch: str, kinds: tuple[str, ...] = KINDS[1:]) -> Plan:
    """All topics of an architecture, and of some kinds beyond the product."""
    return make_plan(workspace, source.version, Selection(arch, kinds), read_from(source.path))


def write(workspace: Workspace, source: Source, plan: Plan, folder: Path) -> list[Path]:
    """The exported series of a plan; returns the patches."""
    cover = cover_letter(workspace, plan)
    return write_series(Repository(folder / "origin", AUTHOR), plan, read_from(source.path), folder / "patches", cover)
