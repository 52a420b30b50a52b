# SPDX-License-Identifier: GPL-2.0-only
"""Boots the hardened kernel in QEMU and gives you a shell in it.

The serial console is your terminal; `poweroff -f` in the guest or Ctrl-A X ends it.

examples:
  ./portcullis boot
  ./portcullis boot --mode audit --smp 4 --no-la57 --append loglevel=8
  ./portcullis boot --backend wp --no-pks
  ./portcullis boot --arch arm64 --lane lab --design rfc
"""

import argparse
import os
import subprocess
from dataclasses import replace

from portcullis.commands.options import add_backend, add_build, add_dry_run, add_mode, backend_option, build_options
from portcullis.core.lanes import LANES
from portcullis.core.machine import DESIGNS, LINEAR_MAPS, Machine, command_line_fault, interactive_command
from portcullis.errors import ToolError
from portcullis.host.builder import Builder
from portcullis.host.busybox import busybox
from portcullis.host.emulator import emulator_for
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Options of the virtual machine."""
    add_backend(parser)
    parser.add_argument("--cpu", default="max", help="QEMU CPU model (max)")
    parser.add_argument("--smp", type=int, default=2, metavar="N", help="number of CPUs (2)")
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB", help="memory in MiB (1024)")
    parser.add_argument("--append", default="", metavar="WORDS", help="more kernel command line")
    parser.add_argument("--no-pks", action="store_true", help="a CPU without protection keys")
    parser.add_argument("--pti", choices=("on", "off"), help="page-table isolation (default: the kernel decides)")
    parser.add_argument("--la57", action=argparse.BooleanOptionalAction, default=True, help="5-level page tables")
    parser.add_argument("--efi", action="store_true", help="begin in EFI firmware")


def machine_of(options: argparse.Namespace) -> Machine:
    """The machine that the options describe."""
    return Machine(
        mode=options.mode,
        backend=backend_option(options),
        cpus=options.smp,
        memory=options.memory,
        cpu=options.cpu,
        pks=not options.no_pks,
        la57=options.la57,
        pti=None if options.pti is None else options.pti == "on",
        append=options.append,
        efi=options.efi,
        arch=options.arch,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_build(parser)
    add_mode(parser)
    add_machine(parser)
    lanes = ", ".join(lane.name for lane in LANES.values() if lane.has_designs)
    parser.add_argument("--design", choices=DESIGNS, help=f"design of the protection, to measure (lane {lanes})")
    parser.add_argument("--linear-map", choices=tuple(LINEAR_MAPS), help="what the linear map is made of (arm64)")
    add_dry_run(parser)


def designed(machine: Machine, options: argparse.Namespace) -> Machine:
    """The same with a design and a linear map; raises ToolError for what this kernel or architecture has not."""
    if options.design and not LANES[options.lane].has_designs:
        raise ToolError(f"kernels of lane {options.lane} have one design only", "add: --lane lab-designs")
    if options.linear_map and options.arch != "arm64":
        raise ToolError(f"the linear map of {options.arch} is what it is", "add: --arch arm64")
    return replace(machine, design=options.design, linear_map=options.linear_map)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Builds what is not built yet, then hands the terminal to QEMU."""
    machine = designed(machine_of(options), options)
    if fault := command_line_fault(machine):
        raise ToolError(fault, "shorten --append")
    commands = Commands(options.dry_run)
    shell = busybox(workspace, commands, options.arch, os.uname().machine)
    built = Builder(workspace, commands, build_options(options)).run()
    initramfs = build_initramfs(workspace, commands, options.arch, shell)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs)
    command = interactive_command(machine, built.image, initramfs, emulator)
    if options.dry_run:
        commands.capture(command)
        return 0
    try:
        status = subprocess.run(command, check=False).returncode
    except FileNotFoundError as error:
        raise ToolError(f"{emulator} is not installed", "run: portcullis doctor") from error
    return 0 if status == 0 else 2
