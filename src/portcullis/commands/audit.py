# SPDX-License-Identifier: GPL-2.0-only
"""Reads from a kernel's machine code what can run while the gate is open.

`sections` compares that with the list in src/portcullis/data/sections. It fails for a section that is not in the
list, for one that does more than its row says, and for a row without a section. --propose prints rows for what is not
in the list.

examples:
  ./portcullis audit sections vmlinux
  ./portcullis audit sections vmlinux --lane least --json
  ./portcullis audit sections vmlinux --propose
"""

import argparse
from pathlib import Path

from portcullis.commands.options import add_json
from portcullis.core.lanes import LANES
from portcullis.errors import ToolError
from portcullis.host.screen import print_json, print_line, table
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("what", choices=("sections",), help="what to look at")
    parser.add_argument("vmlinux", metavar="VMLINUX", type=Path, help="a hardened kernel with its symbols")
    parser.add_argument("--lane", choices=tuple(LANES), default="default", help="how it was built (default)")
    parser.add_argument("--propose", action="store_true", help="print rows for sections that are not in the list")
    add_json(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Prints the sections and what is wrong with them; 1 when the kernel is not as the list says."""
    try:
        from portcullis.core.elf import Image
        from portcullis.core.sections.audit import audit, list_of
        from portcullis.core.sections.report import as_json, proposal, rows
    except ImportError as error:
        raise ToolError(f"the Python package {error.name} is not there", "run it by ./portcullis audit") from error
    try:
        image = Image(options.vmlinux.read_bytes())
        listing = list_of(image.machine)
        found = audit(image, options.lane, listing)
    except (OSError, ValueError) as error:
        raise ToolError(f"{options.vmlinux}: {error}") from error
    if options.json:
        print_json(as_json(found))
    elif options.propose:
        print_line(proposal(listing, options.lane, found))
    else:
        table("", ("function", "open", "stores", "calls", "leads to", "known as"), rows(listing, options.lane, found))
        for line in (*found.problems, *(f"note: {line}" for line in found.slack), found.summary):
            print_line(line)
    return 1 if found.problems else 0
