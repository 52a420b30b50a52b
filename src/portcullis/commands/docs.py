# SPDX-License-Identifier: GPL-2.0-only
"""Builds the documents as one site with a search.

A link that leads nowhere, in the documents or in the checkout, is an error. The site loads nothing from elsewhere: open
its index.html.

example:
  ./portcullis docs /tmp/portcullis-docs
"""

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from portcullis.errors import ToolError
from portcullis.host.process import Commands
from portcullis.host.screen import print_line, step
from portcullis.host.workspace import Workspace, whole_folder

MADE = ".buildinfo"  # what Sphinx leaves in each site


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "outdir", metavar="OUTDIR", type=Path, help="folder for the site: new, empty, or with an older site"
    )


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Builds the site; raises ToolError when a document has an error, and then OUTDIR stays as it was."""
    outdir = options.outdir.expanduser().resolve()
    _check(workspace, outdir)
    try:
        with (
            step("building the site"),
            whole_folder(outdir) as partial,
            tempfile.TemporaryDirectory(prefix="portcullis-docs-") as kept,
        ):
            _build(workspace.root, partial, Path(kept))
    except PermissionError as error:
        raise ToolError(f"{error.filename}: {error.strerror}", "choose another OUTDIR") from error
    print_line(f"{outdir / 'index.html'}")
    return 0


def _check(workspace: Workspace, outdir: Path) -> None:
    if find_spec("sphinx") is None:
        raise ToolError("the Python package sphinx is not there", "run it by ./portcullis docs")
    if not (workspace.root / "docs/conf.py").is_file():
        raise ToolError(f"{workspace.root} has no docs/conf.py", "run it from a checkout of Portcullis")
    if not outdir.parent.is_dir():
        raise ToolError(f"{outdir.parent} is no folder", "make it first, or choose another OUTDIR")
    if outdir.exists() and not _may_replace(outdir):
        raise ToolError(f"{outdir} exists, and is neither empty nor a site", "choose another OUTDIR")


def _may_replace(outdir: Path) -> bool:
    return outdir.is_dir() and ((outdir / MADE).is_file() or not any(outdir.iterdir()))


def _build(root: Path, outdir: Path, kept: Path) -> None:
    """Has Sphinx read all documents anew: it complains of a document only when it reads it."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html"]
    done = Commands().capture([*command, "-d", kept, "-c", root / "docs", root, outdir])
    if done.status:
        said = done.output.strip().replace(f"{root}/", "")
        raise ToolError(f"no site is written:\n{said}", "correct what is named above, and run this again")
