# SPDX-License-Identifier: GPL-2.0-only
"""The command line: `portcullis COMMAND ...`; exit status 0 good, 1 a verdict failed, 2 could not run."""

import argparse
import signal
import sys
from types import FrameType

from portcullis import __version__
from portcullis.commands import (
    apply,
    attack,
    audit,
    bench,
    boot,
    build,
    demo,
    docs,
    doctor,
    emulator,
    explain,
    export,
    fetch,
    luajit,
    metrics,
    pcre2,
    report,
    test,
    vm,
)
from portcullis.errors import ToolError
from portcullis.host.process import Commands
from portcullis.host.screen import print_line, say
from portcullis.host.workspace import default_workspace

COMMANDS = (
    doctor,
    fetch,
    apply,
    export,
    build,
    boot,
    vm,
    test,
    audit,
    attack,
    bench,
    report,
    demo,
    explain,
    metrics,
    emulator,
    luajit,
    pcre2,
    docs,
)


class ShowVersion(argparse.Action):
    """Prints the version, and in a checkout the commit, with `-dirty` behind it when files differ from that."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Prints it and exits."""
        print_line(f"portcullis {__version__}{_commit()}")
        parser.exit()


def _commit() -> str:
    """The commit in brackets; nothing outside of a checkout, which may lie in somebody else's, and without git."""
    root = default_workspace(None).root
    if not (root / ".git").exists():
        return ""
    try:
        found = Commands().capture(["git", "-C", root, "describe", "--always", "--dirty", "--exclude=*"])
    except ToolError:
        return ""
    return f" ({found.output.strip()})" if found.status == 0 else ""


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="portcullis",
        description="Hardens Linux page tables with memory protection keys; builds, boots, attacks and measures it.",
        epilog="start here: ./portcullis demo",
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="print the version and the commit, and exit")
    common = argparse.ArgumentParser(add_help=False)
    for place, default in ((parser, None), (common, argparse.SUPPRESS)):
        place.add_argument("--cache", metavar="DIR", default=default, help="folder for everything that is made")
        place.add_argument(
            "--no-install",
            action="store_true",
            default=default,
            help="never install packages (see the launcher)",
        )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        name = module.__name__.rsplit(".", 1)[1]
        summary, _, example = (module.__doc__ or "").partition("\n\n")
        child = commands.add_parser(
            name,
            parents=[common],
            help=summary.rstrip("."),
            description=summary,
            epilog=example.strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(child)
        child.set_defaults(run=module.run)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns the exit status."""
    signal.signal(signal.SIGTERM, _interrupt)
    options = make_parser().parse_args(arguments)
    try:
        return options.run(default_workspace(options.cache), options)
    except ToolError as error:
        say(f"portcullis {options.command}: {error}")
    except KeyboardInterrupt:
        say(f"portcullis {options.command}: interrupted; nothing half-made was kept, run it again to go on")
    except BrokenPipeError:
        sys.stderr.close()
    return 2


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
