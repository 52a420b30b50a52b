# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks the distribution's kernel source into the cache folder.

The source comes from the Debian package linux-source-6.12, installed through this machine's own apt. That of a newer
kernel is in the backports of a later release: it is fetched by an apt with a list of its own, and not installed. With
--tree nothing is copied: the tree is checked and its version printed.

examples:
  ./portcullis fetch
  ./portcullis fetch --kernel 7.3
  ./portcullis fetch --tree ~/src/linux
"""

import argparse

from portcullis.commands.options import add_dry_run, add_json, add_tree, source_of
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_tree(parser)
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Fetches; prints where the source is."""
    source = source_of(workspace, Commands(options.dry_run), options)
    if options.json:
        print_json({"path": str(source.path), "version": str(source.version)})
    else:
        print_line(f"Linux {source.version}: {source.path}")
    return 0
