# SPDX-License-Identifier: GPL-2.0-only
"""Makes a virtual machine with a distribution's user land on the hardened kernel, keeps it, and boots it.

The kernel is built with the distribution's own configuration (see build --config), the disk is made by mmdebstrap. The
serial console is your terminal, where root is logged in; `poweroff` or Ctrl-A X ends it, `reboot` begins again. What
you change on the disk stays until --fresh. With --work the machine does what a server does, on a copy of the disk that
is thrown away, once for each mode: status 1 when a part fails, the modes differ, or the kernel complains.

examples:
  ./portcullis vm
  ./portcullis vm --release trixie --memory 4096
  ./portcullis vm --work all
  ./portcullis vm --work postgresql,swap --mode enforce --backend wp
"""

import argparse
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

from portcullis.commands.boot import add_machine, machine_of
from portcullis.commands.options import add_build, add_dry_run, add_json, add_mode, build_options
from portcullis.core.lanes import LANES
from portcullis.core.machine import FRAME_BUFFER, MODES, Machine, interactive_command
from portcullis.core.splats import scan_console
from portcullis.core.userland import (
    ALL,
    QUIET,
    RELEASES,
    ROOT,
    SKIPPED,
    WORK,
    Run,
    differences,
    part_name,
    read_results,
    rows,
)
from portcullis.errors import ToolError
from portcullis.host.builder import Builder
from portcullis.host.emulator import emulator_for
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, say, step, table
from portcullis.host.userland import UserLand
from portcullis.host.vm import run_job
from portcullis.host.workspace import Workspace

LANE = "debian-cloud-thin"  # all that it needs is built in
STAY = "panic=0"  # whoever sits there wants to read what the kernel died of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_build(parser)
    add_mode(parser, (*MODES, ALL), ALL)
    add_machine(parser)
    parser.set_defaults(memory=2048, lane=LANE)
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[0], help=f"of Debian ({RELEASES[0]})")
    parser.add_argument("--fresh", action="store_true", help="forget what was changed on the disk")
    parser.add_argument("--work", metavar="NAMES", help=f"work to do, {ALL} or names separated by commas")
    parser.add_argument("--list", action="store_true", help="list the work")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="S", help="seconds a boot may take (3600)")
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Makes what is not there yet; then works, or hands the terminal to QEMU."""
    parts = [part_name(path.name) for path in sorted((workspace.guest / "userland/work.d").iterdir())]
    if options.list:
        print_line("\n".join(parts))
        return 0
    _look_at_work(options.work, parts)
    if not LANES[options.lane].thin:
        raise ToolError(f"a kernel of lane {options.lane} does not find the disk", f"leave out --lane: it is {LANE}")
    machine = replace(machine_of(options), timeout=options.timeout)
    commands = Commands(options.dry_run)
    built = Builder(workspace, commands, build_options(options)).run()
    disk = UserLand(workspace, commands, options.release, options.arch).make(options.fresh)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs)
    if not options.work:
        return _interactive(commands, machine, built.image, disk, emulator)
    runs = []
    for mode in MODES if options.mode == ALL else (options.mode,):
        chosen = working(machine, mode, options.work)
        with step(f"work with kpkeys={mode}"):
            boot = run_job(
                workspace, commands, chosen, built.image, None, label=f"vm-{mode}", emulator=emulator, disk=disk
            )
        if not options.dry_run:
            say(f"  log: {boot.folder}")
        complaints = tuple(f"console line {splat.number}: {splat.line}" for splat in scan_console(boot.console))
        runs.append(Run(mode, machine.backend or "", read_results(boot.results.tests), complaints, boot.trouble))
    return 0 if options.dry_run else report(tuple(runs), options.json)


def working(machine: Machine, mode: str, work: str) -> Machine:
    """The machine of one run: where it can be, of two nodes, and with devices whose memory programs map."""
    devices = machine.arch == "x86"
    words = (ROOT, QUIET, FRAME_BUFFER if devices else "", f"{WORK}={work}", machine.append)
    nodes = 1 if machine.cpus % 2 else 2
    append = " ".join(filter(None, words))
    return replace(machine, mode=mode, append=append, nodes=nodes, mapped_devices=devices)


def report(runs: tuple[Run, ...], as_json: bool) -> int:
    """Prints what came of the work; 1 when something is wrong."""
    wrong = differences(runs)
    if as_json:
        print_json({"runs": [asdict(run) for run in runs], "wrong": wrong})
        return 1 if wrong else 0
    table("", ("work", *(run.label for run in runs)), rows(runs))
    for line in wrong:
        print_line(line)
    skipped = any(result.startswith(SKIPPED) for run in runs for result in run.results.values())
    good = "every part that was not skipped passed" if skipped else "every part passed"
    print_line(f"{len(wrong)} wrong" if wrong else f"{good} in every run, and nothing was reported")
    return 1 if wrong else 0


def _look_at_work(work: str | None, parts: list[str]) -> None:
    unknown = sorted(set((work or ALL).split(",")) - {*parts, ALL})
    if unknown:
        raise ToolError(f"there is no work {unknown[0]!r}", f"known are: {', '.join((ALL, *parts))}")


def _interactive(commands: Commands, machine: Machine, kernel: Path, disk: Path, emulator: str) -> int:
    mode = "enforce" if machine.mode == ALL else machine.mode
    asked = replace(machine, mode=mode, append=" ".join(filter(None, (ROOT, STAY, machine.append))))
    command = interactive_command(asked, kernel, None, emulator, disk)
    if commands.dry_run:
        commands.capture(command)
        return 0
    try:
        return 0 if subprocess.run(command, check=False).returncode == 0 else 2
    except FileNotFoundError as error:
        raise ToolError(f"{Path(emulator).name} is not installed", "run: portcullis doctor") from error
