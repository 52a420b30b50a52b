# SPDX-License-Identifier: GPL-2.0-only
"""Reads what a kernel, or a module for it, does to page tables: from machine code, or from sources.

`sections` reads from a kernel's machine code what can run while the gate is open, and compares that with the list in
src/portcullis/data/sections. It fails for a section that is not in the list, for one that does more than its row says,
and for a row without a section. --propose prints rows for what is not in the list.

`tree` looks in sources for stores to entries, tables that are not the pool's, and code that should not run in a
section, by rules for Coccinelle. Of a kernel tree it compares what it finds with the list in
src/portcullis/data/cocci/linux.toml; a module has no list. docs/static-audit.md has the rules.

examples:
  ./portcullis audit sections vmlinux
  ./portcullis audit sections vmlinux --lane least --json
  ./portcullis audit sections vmlinux --propose
  ./portcullis audit tree ~/src/my-module
  ./portcullis audit tree ~/src/linux-6.12 --dir mm --dir drivers/gpu
"""

import argparse
from pathlib import Path
from typing import Any

from portcullis.commands.options import add_json
from portcullis.core.lanes import LANES
from portcullis.errors import ToolError
from portcullis.host.screen import print_json, print_line, table
from portcullis.host.treeaudit import TreeAudit, audit_tree, read_rules
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    kinds = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    sections = kinds.add_parser(
        "sections",
        help="what can run while the gate is open, from a vmlinux",
        epilog="example: ./portcullis audit sections vmlinux --lane least",
    )
    sections.add_argument("vmlinux", metavar="VMLINUX", type=Path, help="a hardened kernel with its symbols")
    sections.add_argument("--lane", choices=tuple(LANES), default="default", help="how it was built (default)")
    sections.add_argument("--propose", action="store_true", help="print rows for sections that are not in the list")
    add_json(sections)
    tree = kinds.add_parser(
        "tree",
        help="what writes, makes or maps page tables, from a tree's or a module's sources",
        epilog="example: ./portcullis audit tree ~/src/my-module",
    )
    tree.add_argument("tree", metavar="DIR", type=Path, help="top folder of a kernel tree, or of a module's sources")
    tree.add_argument(
        "--dir", dest="folders", metavar="SUBDIR", action="append", default=[], help="look there only (may be repeated)"
    )
    tree.add_argument("--propose", action="store_true", help="print entries for what is not in the list")
    tree.add_argument("-j", dest="jobs", type=int, default=2, metavar="N", help="runs of spatch at once (2)")
    add_json(tree)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Prints what was found and what is wrong with it; 1 when something is."""
    return _sections(options) if options.what == "sections" else _tree(options)


def _sections(options: argparse.Namespace) -> int:
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
        print_line(proposal(listing, found.lane, found))
    else:
        table("", ("function", "open", "stores", "calls", "leads to", "known as"), rows(listing, found.lane, found))
        for line in (*found.problems, *(f"note: {line}" for line in found.slack), found.summary):
            print_line(line)
    return 1 if found.problems else 0


def _tree(options: argparse.Namespace) -> int:
    from portcullis.core.tree.allowed import proposal

    found = audit_tree(options.tree.expanduser().resolve(), options.folders, options.jobs)
    if options.json:
        print_json(_as_json(found))
    elif options.propose:
        print_line(proposal(found.judged.unknown))
    else:
        _print(found)
    return 0 if found.good else 1


def _print(found: TreeAudit) -> None:
    for finding in found.judged.unknown:
        print_line(str(finding))
    for line in (*found.judged.problems, *(f"note: {line}" for line in found.judged.slack)):
        print_line(line)
    if found.kernel and not found.hardened:
        print_line("note: this kernel is without Portcullis; the list is that of a hardened one")
    names = {finding.rule for finding in found.judged.unknown}
    for rule in read_rules():
        if rule.name in names:
            print_line(f"\n{rule.name} finds {rule.finds}\n  why: {rule.why}\n  instead: {rule.instead}")
    print_line(("\n" if names else "") + found.summary)


def _as_json(found: TreeAudit) -> dict[str, Any]:
    known = {each: entry.why or f"not covered: {entry.not_covered}" for each, entry in found.judged.known.items()}
    every = [*((each, "") for each in found.judged.unknown), *known.items()]
    return {
        "good": found.good,
        "findings": [
            {
                "path": each.path,
                "line": each.line,
                "rule": each.rule,
                "function": each.function,
                "text": each.text,
                "known": why,
            }
            for each, why in sorted(every)
        ],
        "problems": list(found.judged.problems),
        "slack": list(found.judged.slack),
        "unread": [{"path": place.path, "line": place.line} for place in found.unread],
        "files": found.files,
        "read": found.read,
        "hardened": found.hardened,
        "summary": found.summary,
    }
