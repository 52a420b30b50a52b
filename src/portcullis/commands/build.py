# SPDX-License-Identifier: GPL-2.0-only
"""Builds a hardened kernel and the guest's first file system.

The source is never changed: a work copy in the cache folder is hardened and built out of tree. Make variables pass
through (O=, CROSS_COMPILE=, LLVM=1, ...). --deb makes Debian packages instead of a bare image. A kernel from --tree
gets the product and what --with asks for; one without --tree also gets what its lane tests or measures.

examples:
  ./portcullis build
  ./portcullis build --lane debug -j4
  ./portcullis build --config debian-cloud --deb
  ./portcullis build --tree ~/src/linux --base-config /boot/config-$(uname -r) --deb
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

from portcullis.commands.options import add_build, add_dry_run, add_json, add_topics, build_options
from portcullis.core.lanes import FLAVOURS, LANES
from portcullis.host.builder import Builder
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_build(parser)
    add_topics(parser)
    parser.add_argument(
        "--config",
        metavar="FRAGMENT",
        type=Path,
        action="append",
        default=[],
        help=f"merge this fragment last; {', '.join(FLAVOURS)}: the distribution's own configuration",
    )
    parser.add_argument("--base-config", metavar="FILE", type=Path, help="a full .config instead of the small guest's")
    parser.add_argument("--deb", action="store_true", help="make Debian packages")
    parser.add_argument("variables", metavar="NAME=VALUE", nargs="*", help="make variables")
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Builds; prints where the image is."""
    commands = Commands(options.dry_run)
    started = time.time()
    asked = build_options(options)
    kinds = (*(() if options.tree else LANES[asked.lane].kinds), *options.kinds)
    chosen = replace(asked, kinds=tuple(dict.fromkeys(kinds)), without=tuple(options.without))
    built = Builder(workspace, commands, chosen).run()
    result = {"image": str(built.image), "folder": str(built.folder), "tree": str(built.tree)}
    if options.deb:
        result["packages"] = " ".join(str(path) for path in built.packages_since(started))
    elif options.base_config is None:
        result["initramfs"] = str(build_initramfs(workspace, commands, options.arch))
    if options.json:
        print_json(result)
        return 0
    for name, value in result.items():
        print_line(f"{name:10} {value}")
    return 0
