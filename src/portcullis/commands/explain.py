# SPDX-License-Identifier: GPL-2.0-only
"""Says what the lines of a hardened kernel in a log mean: who did what, from where, and what to do.

LOG is a console's text, dmesg or a journal; - is standard input. Lines that say the same are counted together. Exit
status 1 when the log has a violation. --vmlinux (or a module's .ko) adds the line of the source, by the kernel's own
scripts/faddr2line.

examples:
  dmesg | ./portcullis explain -
  journalctl -k | ./portcullis explain -
  ./portcullis explain console.log --vmlinux vmlinux
"""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from portcullis.commands.options import add_json, add_tree, source_of
from portcullis.core.explain import Event, Explanation, explain
from portcullis.errors import ToolError
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("log", metavar="LOG", help="file, or - for standard input")
    parser.add_argument("--vmlinux", metavar="FILE", type=Path, help="with debug information: adds source lines")
    add_tree(parser)
    add_json(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Prints what happened; 1 when something did."""
    found = explain(_lines(options.log))
    source_lines = _source_lines(workspace, options, found)
    if options.json:
        print_json(asdict(found) | {"source": source_lines})
    else:
        _print(found, source_lines)
    return 1 if found.events or found.unknown else 0


def _lines(name: str) -> list[str]:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise ToolError(
            f"{name}: {error.strerror}", "name a file with console text, or - for standard input"
        ) from error
    return data.decode(errors="replace").splitlines()


def _source_lines(workspace: Workspace, options: argparse.Namespace, found: Explanation) -> dict[str, str]:
    """Places in the source by `function+offset/size`."""
    if not options.vmlinux:
        return {}
    if not options.vmlinux.is_file():
        raise ToolError(f"{options.vmlinux} is no file", "name the vmlinux of the kernel that wrote the log")
    tree = source_of(workspace, Commands(), options)
    script = tree.path / "scripts/faddr2line"
    places = {}
    for symbol in sorted({event.where.split(" ")[0] for event in found.events if event.kind == "access"}):
        finished = Commands().capture([script, options.vmlinux, symbol])
        lines = [line.strip() for line in finished.output.splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        # the first line repeats the symbol, the next one is where inlining ends
        places[symbol] = "; ".join(errors) or (lines[1] if len(lines) > 1 else "not in this file")
    return places


def _print(found: Explanation, source_lines: dict[str, str]) -> None:
    if found.started:
        print_line(f"The kernel started in {found.started}.")
    for event in found.events:
        _print_event(event, source_lines)
    if found.panicked:
        print_line("\nThe kernel panicked over the first of it, because its command line has kpkeys_panic=1.")
    for line in found.unknown:
        print_line(f"Not understood: {line}")
    if not found.events and not found.unknown:
        print_line("No line of this log says that the rules were broken.")


def _print_event(event: Event, source_lines: dict[str, str]) -> None:
    times = f" {event.count} times." if event.count > 1 else ""
    print_line(f"\n{event.what}{times}")
    source = source_lines.get(event.where.split(" ")[0], "")
    rows = (
        ("from", event.where + (f" ({source})" if source else "")),
        ("by", ", ".join(event.tasks[:5]) + (" and others" if len(event.tasks) > 5 else "")),
        ("in", event.context),
        ("table", event.table),
        ("mode", event.mode),
        ("judged", event.judgement),
        ("do", event.advice),
    )
    for name, value in rows:
        if value:
            print_line(f"  {name:7}{value}")
