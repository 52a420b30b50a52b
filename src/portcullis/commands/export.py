# SPDX-License-Identifier: GPL-2.0-only
"""Writes Portcullis as a series of patches for `git am`.

One patch adds the new files, then there is one per hook with its reason as the commit message.

examples:
  ./portcullis export /tmp/series
  git -C ~/src/linux am /tmp/series/*.patch
"""

import argparse
import os
from email.utils import formatdate
from pathlib import Path

from portcullis.commands.options import add_arch, add_dry_run, add_tree
from portcullis.core.mail import Commit, file_name, mail, new_files_diff, strip_preamble
from portcullis.errors import ToolError
from portcullis.host.hardening import Plan, make_plan, read_from
from portcullis.host.process import Commands
from portcullis.host.screen import print_line
from portcullis.host.sources import fetch, user_source
from portcullis.host.workspace import Workspace, write_whole

AUTHOR = "Portcullis <portcullis@localhost>"
NEW_FILES_BODY = """The framework, the pool of page-table pages, the checker and the tests.
Nothing calls them yet: the following patches connect them, one concern each."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("outdir", metavar="OUTDIR", type=Path, help="new or empty folder for the patches")
    add_arch(parser)
    parser.add_argument("--author", default="", help="From: of the patches (default: git's user.name and user.email)")
    add_tree(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Writes the series after every hook was tried on the source."""
    source = user_source(options.tree) if options.tree else fetch(workspace, Commands())
    plan = make_plan(workspace, source.version, options.arch, read_from(source.path))
    commits = series_of(workspace, plan)
    outdir = options.outdir.expanduser().resolve()
    if outdir.exists() and (not outdir.is_dir() or any(outdir.iterdir())):
        raise ToolError(f"{outdir} exists and is not an empty folder", "choose another OUTDIR")
    author = options.author or git_identity() or AUTHOR
    if not options.dry_run:
        outdir.mkdir(parents=True, exist_ok=True)
    for number, commit in enumerate(commits, 1):
        text = mail(commit, number, len(commits), author, formatdate())
        path = outdir / file_name(commit, number)
        print_line(str(path))
        if not options.dry_run:
            write_whole(path, text.encode())
    print_line(f"for Linux {source.version}: git am {outdir}/*.patch")
    return 0


def series_of(workspace: Workspace, plan: Plan) -> list[Commit]:
    """The commits of a plan, new files first."""
    base = workspace.kernel / "files"
    files = {path: (data, os.access(base / path, os.X_OK)) for path, data in plan.added.items()}
    commits = [
        Commit(
            "mm/kpkeys: add kernel page tables hardened with protection keys",
            NEW_FILES_BODY,
            new_files_diff(files),
        )
    ]
    for hook in plan.hooks:
        text, diff = strip_preamble((workspace.kernel / "hooks" / hook.file).read_text())
        body = f"{hook.why}\n\n{text}" if text and text not in hook.why else hook.why
        commits.append(Commit(hook.subject, body, diff))
    return commits


def git_identity() -> str:
    """`Name <address>` from git's configuration, empty when there is none."""
    try:
        name, address = (Commands().capture(["git", "config", key]) for key in ("user.name", "user.email"))
    except ToolError:
        return ""
    if name.status or address.status:
        return ""
    return f"{name.output.strip()} <{address.output.strip()}>"
