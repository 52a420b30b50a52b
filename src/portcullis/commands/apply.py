# SPDX-License-Identifier: GPL-2.0-only
"""Puts Portcullis into your kernel tree, or takes it out again.

This is the one command that changes a tree of yours. All hooks are tried on copies first: the tree is changed
completely or not at all. A manifest (.portcullis-applied.json) lets --undo restore every file exactly.

The tree gets the product, for all architectures. Tests, attacks and the lab stay out unless --with asks for them: the
attacks hand kernel memory to user space. --list shows the topics; --without leaves one out that no other one needs.

examples:
  ./portcullis apply ~/src/linux-6.12
  ./portcullis apply --without random ~/src/linux-6.12
  ./portcullis apply --list
  ./portcullis apply --undo ~/src/linux-6.12
"""

import argparse
from pathlib import Path

from portcullis.commands.options import add_dry_run, add_every_arch, add_topics, selection_of
from portcullis.core.topics import PRODUCT, Topic, behind
from portcullis.errors import ToolError
from portcullis.host.applying import apply, check_undo, plan_apply, read_manifest, undo
from portcullis.host.hardening import read_topics
from portcullis.host.screen import print_line, table
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("tree", metavar="DIR", type=Path, nargs="?", help="top folder of a kernel source tree")
    parser.add_argument("--undo", action="store_true", help="restore the tree as it was before")
    parser.add_argument("--list", action="store_true", help="show the topics and what needs which")
    add_every_arch(parser)
    add_topics(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Applies, undoes or lists."""
    if options.list:
        return _list(read_topics(workspace))
    if options.tree is None:
        raise ToolError("apply needs the folder of a kernel tree", "see: portcullis apply --help")
    tree = options.tree.expanduser().resolve()
    if options.undo:
        return _undo(tree, options.dry_run)
    plan = plan_apply(workspace, tree, selection_of(options))
    missing = behind(read_topics(workspace), plan.version, plan.selection)
    changed = f"{len(plan.changed)} changed by {len(plan.hooks)} hooks"
    counts = f"{len(plan.topics)} topics, {len(plan.added)} files added, {changed}"
    if missing:
        counts += f"; not for this version: {', '.join(missing)}"
    if options.dry_run:
        for path in plan.added:
            print_line(f"add     {path}")
        for path in plan.changed:
            print_line(f"change  {path}")
        print_line(f"would apply to Linux {plan.version}: {counts}")
        return 0
    apply(tree, plan)
    print_line(f"applied to Linux {plan.version}: {counts}")
    print_line(
        f"next: merge {workspace.kernel}/configs/portcullis.config over your configuration and boot with kpkeys=audit"
    )
    return 0


def _list(topics: tuple[Topic, ...]) -> int:
    def needed_by(topic: Topic) -> str:
        return ", ".join(each.name for each in topics if topic.name in each.needs and each.kind == PRODUCT)

    rows = [
        (topic.name, topic.kind, " ".join(topic.arches), ", ".join(topic.needs), needed_by(topic), topic.title)
        for topic in topics
    ]
    table("", ("topic", "kind", "for", "needs", "the product needs it for", "what"), rows)
    return 0


def _undo(tree: Path, dry_run: bool) -> int:
    manifest = read_manifest(tree)
    if dry_run:
        check_undo(tree, manifest)
        for path, change in manifest.changes.items():
            print_line(f"{'remove ' if change.before is None else 'restore'} {path}")
        return 0
    undo(tree, manifest)
    print_line(f"restored {len(manifest.changes)} files of {tree}")
    return 0
