# SPDX-License-Identifier: GPL-2.0-only
"""Options that several commands share."""

import argparse
import os
import re
from pathlib import Path

from portcullis.core.arches import ARCHES, arch_name
from portcullis.core.lanes import FLAVOURS, LANES
from portcullis.core.machine import AUTO, BACKENDS, MODES
from portcullis.core.topics import ALL, KINDS, Selection
from portcullis.core.versions import KernelVersion, parse_version
from portcullis.errors import ToolError
from portcullis.host.builder import BuildOptions
from portcullis.host.newer import DEFAULT, KERNELS, fetch_kernel
from portcullis.host.process import Commands
from portcullis.host.sources import Source, user_source
from portcullis.host.workspace import Workspace

_VARIABLE = re.compile(r"([A-Z_][A-Z0-9_]*)=(.*)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """--dry-run."""
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, change nothing")


def add_tree(parser: argparse.ArgumentParser) -> None:
    """--tree and --kernel."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--tree", metavar="DIR", type=Path, help="your kernel source (never changed)")
    which.add_argument(
        "--kernel",
        choices=KERNELS,
        default=DEFAULT,
        help=f"the kernel source of a package of Debian's (default: {DEFAULT})",
    )


def source_of(workspace: Workspace, commands: Commands, options: argparse.Namespace) -> Source:
    """The kernel source that --tree or --kernel asks for."""
    return user_source(options.tree) if options.tree else fetch_kernel(workspace, commands, options.kernel)


def version_of(options: argparse.Namespace) -> KernelVersion:
    """The version that --tree or --kernel asks for; without a patch level for --kernel."""
    return user_source(options.tree).version if options.tree else parse_version(options.kernel)


def add_arch(parser: argparse.ArgumentParser) -> None:
    """--arch."""
    parser.add_argument(
        "--arch",
        type=arch_name,
        choices=list(ARCHES),
        default=arch_name(os.uname().machine),
        help="architecture (this machine's)",
    )


def add_every_arch(parser: argparse.ArgumentParser) -> None:
    """--arch of commands that serve all architectures at once."""
    parser.add_argument(
        "--arch", type=arch_name, choices=[ALL, *ARCHES], default=ALL, help="architecture (default: all of them)"
    )


def add_topics(parser: argparse.ArgumentParser) -> None:
    """--with and --without."""
    parser.add_argument(
        "--with",
        dest="kinds",
        metavar="KIND",
        choices=KINDS[1:],
        action="append",
        default=[],
        help=f"also topics that are not the product's: {', '.join(KINDS[1:])} (may be repeated)",
    )
    parser.add_argument(
        "--without",
        metavar="TOPIC",
        action="append",
        default=[],
        help="leave this topic out (may be repeated); portcullis apply --list names them",
    )


def selection_of(options: argparse.Namespace) -> Selection:
    """Which topics the arguments ask for."""
    return Selection(options.arch, tuple(options.kinds), tuple(options.without))


def add_build(parser: argparse.ArgumentParser) -> None:
    """--tree, --arch, --lane, -j and make variables."""
    add_tree(parser)
    add_arch(parser)
    parser.add_argument("--lane", choices=list(LANES), default="default", help="which build: " + _lanes())
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="parallel jobs")


def _lanes() -> str:
    return "; ".join(f"{lane.name}: {lane.what}" for lane in LANES.values())


def add_mode(parser: argparse.ArgumentParser, choices: tuple[str, ...] = MODES, default: str = "enforce") -> None:
    """--mode."""
    parser.add_argument("--mode", choices=choices, default=default, help=f"kpkeys= on the command line ({default})")


def add_backend(parser: argparse.ArgumentParser) -> None:
    """--backend."""
    known = [backend for backends in BACKENDS.values() for backend in backends]
    what = (
        "what the protection is built on: keys of the CPU (pks; poe on arm64) or write protection (wp); default: auto"
    )
    parser.add_argument("--backend", choices=(AUTO, *known), default=AUTO, help=what)


def backend_option(options: argparse.Namespace) -> str | None:
    """The backend asked for, None for the kernel's choice; raises ToolError when the architecture has no such one."""
    known = BACKENDS[options.arch]
    if options.backend == AUTO:
        return None
    if options.backend not in known:
        raise ToolError(
            f"{options.arch} has no backend {options.backend}", f"choose one of: {', '.join((AUTO, *known))}"
        )
    return options.backend


def make_variables(words: list[str]) -> dict[str, str]:
    """Make variables from `NAME=value` words; raises ToolError for any other word."""
    variables = {}
    for word in words:
        found = _VARIABLE.fullmatch(word)
        if not found:
            raise ToolError(f"not a make variable: {word!r}", "write NAME=value, like LLVM=1")
        variables[found[1]] = found[2]
    return variables


def build_options(options: argparse.Namespace) -> BuildOptions:
    """Build options from parsed arguments."""
    variables = make_variables(getattr(options, "variables", []))
    output = variables.pop("O", None)
    arch = arch_name(variables.pop("ARCH", options.arch))
    if arch not in ARCHES:
        raise ToolError(f"building for {arch} is not supported", f"known are: {', '.join(ARCHES)}")
    base_config = getattr(options, "base_config", None)
    configs = getattr(options, "config", [])
    flavours = [str(path) for path in configs if str(path) in FLAVOURS]
    if flavours and (base_config or flavours[1:] or options.lane != "default"):
        raise ToolError(f"--config {flavours[0]} is a whole configuration", "leave out the other, and --lane")
    return BuildOptions(
        lane=flavours[0] if flavours else options.lane,
        tree=options.tree,
        kernel=options.kernel,
        fragments=tuple(path for path in configs if str(path) not in FLAVOURS),
        base_config=base_config and base_config.expanduser().resolve(),
        variables=variables,
        output=Path(output).expanduser().resolve() if output else None,
        jobs=options.jobs,
        deb=getattr(options, "deb", False),
        arch=arch,
    )
