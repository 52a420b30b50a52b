# SPDX-License-Identifier: GPL-2.0-only
"""Writes Portcullis as series of patches for `git am`.

The product is one series, with a cover letter: topic by topic first the new files, split by concern, then one patch for
each hook. Tests, attacks, the lab and its designs are series of their own, in folders below, when --with asks for them.

examples:
  ./portcullis export --author 'A U Thor <author@example.org>' /tmp/series
  git -C ~/src/linux am --empty=drop /tmp/series/*.patch
  ./portcullis export --with tests /tmp/series
"""

import argparse
import tempfile
from pathlib import Path

from portcullis.commands.options import add_dry_run, add_every_arch, add_topics, add_tree, selection_of, source_of
from portcullis.errors import ToolError
from portcullis.host.coverletter import cover_letter
from portcullis.host.exporting import Repository, split_author, steps_of, write_series
from portcullis.host.hardening import make_plan, read_from
from portcullis.host.process import Commands
from portcullis.host.screen import print_line
from portcullis.host.workspace import Workspace

AUTHOR = "Portcullis <portcullis@localhost>"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("outdir", metavar="OUTDIR", type=Path, help="new or empty folder for the patches")
    add_every_arch(parser)
    add_topics(parser)
    parser.add_argument(
        "--author", default="", help="From: and Signed-off-by: (default: git's user.name and user.email)"
    )
    add_tree(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Writes the series after every hook was tried on the source."""
    source = source_of(workspace, Commands(), options)
    read = read_from(source.path)
    plan = make_plan(workspace, source.version, selection_of(options), read)
    outdir = options.outdir.expanduser().resolve()
    if outdir.exists() and (not outdir.is_dir() or any(outdir.iterdir())):
        raise ToolError(f"{outdir} exists and is not an empty folder", "choose another OUTDIR")
    author = options.author or git_identity() or AUTHOR
    split_author(author)
    if options.dry_run:
        for step in steps_of(plan):
            print_line(f"{step.kind:8} {step.topic}: {step.subject}")
        return 0
    with tempfile.TemporaryDirectory(prefix="portcullis-export-") as name:
        cover = cover_letter(workspace, plan)
        paths = write_series(Repository(Path(name) / "tree", author), plan, read, outdir, cover)
    for path in paths:
        print_line(str(path))
    folders = " ".join(f"{folder}/*.patch" for folder in dict.fromkeys(path.parent for path in paths))
    print_line(f"for Linux {source.version}: git am --empty=drop {folders}")
    return 0


def git_identity() -> str:
    """`Name <address>` from git's configuration, empty when there is none."""
    try:
        name, address = (Commands().capture(["git", "config", key]) for key in ("user.name", "user.email"))
    except ToolError:
        return ""
    if name.status or address.status:
        return ""
    return f"{name.output.strip()} <{address.output.strip()}>"
