# SPDX-License-Identifier: GPL-2.0-only
"""Makes a virtual machine with a distribution's user land on the hardened kernel, keeps it, and boots it.

The kernel is built with the distribution's own configuration (see build --config), the disk is made by mmdebstrap. The
serial console is your terminal, where root is logged in; `poweroff` or Ctrl-A X ends it, `reboot` begins again. What
you change on the disk stays until --fresh. With --work the machine does what a server does, on a copy of the disk that
is thrown away, once for each mode: status 1 when a part fails, the modes differ, or the kernel complains. With --tests
it runs Linux' own tests (kselftest) in the same way: status 1 when a test's verdict is not that of kpkeys=off.

examples:
  ./portcullis vm
  ./portcullis vm --release trixie --memory 4096
  ./portcullis vm --work all
  ./portcullis vm --work postgresql,swap --mode enforce --backend wp
  ./portcullis vm --tests mm,x86
  ./portcullis vm --installed --work packages,reboot,check-again
"""

import argparse
import os
import subprocess
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from portcullis.commands.boot import add_machine, machine_of
from portcullis.commands.options import add_build, add_dry_run, add_json, add_mode, build_options
from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.core.kselftests import COLLECTIONS, TESTS, SelftestRun, collections_of, read_verdicts, table_of
from portcullis.core.kselftests import differences as test_differences
from portcullis.core.lanes import LANES
from portcullis.core.machine import AUTO, FRAME_BUFFER, KERNEL_PROBES, MODES, Machine, interactive_command
from portcullis.core.splats import scan_console
from portcullis.core.userland import (
    ALL,
    CRASH_MEMORY,
    QUIET,
    RELEASES,
    RESUME,
    ROOT,
    SKIPPED,
    WORK,
    Run,
    differences,
    part_name,
    read_results,
    rows,
    without_asked_death,
)
from portcullis.errors import ToolError
from portcullis.host.builder import Builder, Built
from portcullis.host.emulator import emulator_for
from portcullis.host.installing import Installation
from portcullis.host.kselftests import make_kselftests
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, say, step, table
from portcullis.host.userland import UserLand, further_disks
from portcullis.host.vm import Boot, run_job
from portcullis.host.workspace import Workspace

LANE = "debian-cloud-thin"  # all that it needs is built in
INSTALLED_MODE = "enforce"  # the kernel's own choice
STAY = "panic=0"  # whoever sits there wants to read what the kernel died of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_build(parser)
    add_mode(parser, (*MODES, ALL), ALL)
    add_machine(parser)
    parser.set_defaults(memory=2048, lane=LANE)
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[0], help=f"of Debian ({RELEASES[0]})")
    parser.add_argument("--fresh", action="store_true", help="forget what was changed on the disk")
    parser.add_argument(
        "--installed",
        action="store_true",
        help="a disk with the kernel's package, which EFI firmware and GRUB boot",
    )
    parser.add_argument("--work", metavar="NAMES", help=f"work to do, {ALL} or names separated by commas")
    parser.add_argument("--tests", metavar="NAMES", help=f"Linux' own tests to run, {ALL} or collections")
    parser.add_argument("--list", action="store_true", help="list the work and the tests")
    parser.add_argument("--timeout", type=float, default=7200.0, metavar="S", help="seconds a boot may take (7200)")
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Makes what is not there yet; then works, or hands the terminal to QEMU."""
    parts = [name for folder in ("work.d", "trial.d") for name in _parts(workspace.guest / "userland" / folder)]
    if options.list:
        print_line("\n".join((*parts, "", *COLLECTIONS)))
        return 0
    _look_at_work(options.work, parts)
    collections = _chosen_tests(options)
    if not LANES[options.lane].thin:
        raise ToolError(f"a kernel of lane {options.lane} does not find the disk", f"leave out --lane: it is {LANE}")
    machine = replace(machine_of(options), timeout=options.timeout)
    commands = Commands(options.dry_run)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs)
    land = UserLand(workspace, commands, options.release, options.arch)
    modes = MODES if options.mode == ALL else (options.mode,)
    built = Builder(workspace, commands, build_options(options)).run()
    kernel: Path | None = built.image
    if options.installed:
        _look_at_mode(options)
        disk = Installation(workspace, commands, land, build_options(options)).make(
            built, machine, emulator, options.fresh
        )
        kernel, machine, modes = None, replace(machine, efi=True), (INSTALLED_MODE,)
    else:
        disk = land.make(options.fresh)
    if not options.work and not collections:
        return _interactive(commands, machine, kernel, disk, emulator)
    asked = f"{TESTS}={','.join(collections)}" if collections else f"{WORK}={options.work}"
    tests = (make_kselftests(workspace, commands, options.jobs),) if collections else ()
    runner = Runner(workspace, commands, built, kernel, (disk, *tests), emulator)
    boots = [(each, runner.run(each)) for each in (working(machine, mode, asked) for mode in modes)]
    if options.dry_run:
        return 0
    if collections:
        return report_tests(tuple(_test_run(*each) for each in boots), collections, options.json)
    return report(tuple(_work_run(*each) for each in boots), options.json)


@dataclass(frozen=True)
class Runner:
    """Boots the machine to do what its command line says; `disks` begins with the root's, which may have the kernel."""

    workspace: Workspace
    commands: Commands
    built: Built
    kernel: Path | None
    disks: tuple[Path, ...]
    emulator: str

    def run(self, machine: Machine) -> Boot:
        """One boot, with an empty disk and one with the kernel behind the root's."""
        root, *others = self.disks
        made = nullcontext((Path("EMPTY"), Path("KERNEL"))) if self.commands.dry_run else further_disks(self.built)
        with step(f"work with kpkeys={machine.mode}"), made as more:
            boot = run_job(
                self.workspace,
                self.commands,
                machine,
                self.kernel,
                None,
                label=f"vm-{machine.mode}",
                emulator=self.emulator,
                disks=(root, *more, *others),
            )
        if not self.commands.dry_run:
            say(f"  log: {boot.folder}")
        return boot


def _work_run(machine: Machine, boot: Boot) -> Run:
    complaints = scan_console(without_asked_death(boot.console))
    lines = tuple(f"console line {splat.number}: {splat.line}" for splat in complaints)
    return Run(machine.mode or "", machine.backend or "", read_results(boot.results.tests), lines, boot.trouble)


def _test_run(machine: Machine, boot: Boot) -> SelftestRun:
    label = " ".join(filter(None, (machine.mode, machine.backend if machine.mode != "off" else "")))
    return SelftestRun(label, read_verdicts(boot.results_text), scan_console(boot.console), boot.trouble)


def working(machine: Machine, mode: str, asked: str) -> Machine:
    """The machine of one run: where it can be, of two nodes, and with devices whose memory programs map."""
    devices = machine.arch == "x86"
    wanted = (RESUME if "hibernation" in asked else "", CRASH_MEMORY if "kdump" in asked else "")
    words = (ROOT, *wanted, QUIET, KERNEL_PROBES, FRAME_BUFFER if devices else "", asked, machine.append)
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


def report_tests(runs: tuple[SelftestRun, ...], collections: tuple[str, ...], as_json: bool) -> int:
    """Prints what came of the tests; 1 when the runs differ or something is wrong."""
    wrong = test_differences(runs)
    if as_json:
        print_json({"runs": [asdict(run) for run in runs], "wrong": wrong})
        return 1 if wrong else 0
    table("", ("passed/failed/skipped", *(run.label for run in runs)), table_of(runs, collections))
    for line in wrong:
        print_line(line)
    print_line(f"{len(wrong)} wrong" if wrong else "each test came to the same in every run, and nothing was reported")
    return 1 if wrong else 0


def _chosen_tests(options: argparse.Namespace) -> tuple[str, ...]:
    if not options.tests:
        return ()
    if options.work:
        raise ToolError("--work and --tests exclude each other", "give one of them")
    if cross_prefix(ARCHES[options.arch], os.uname().machine):
        raise ToolError("Linux' own tests are built for this machine's CPU", "leave out --arch")
    try:
        return COLLECTIONS if options.tests == ALL else collections_of(options.tests)
    except ValueError as error:
        raise ToolError(str(error), f"known are: {', '.join((ALL, *COLLECTIONS))}") from error


def _look_at_mode(options: argparse.Namespace) -> None:
    """An installed kernel's command line is the boot loader's, which says nothing of the protection."""
    if options.mode not in (ALL, INSTALLED_MODE) or options.backend != AUTO:
        raise ToolError(
            "an installed kernel runs with what it does by default: enforce, and the backend that it chooses",
            "leave out --mode and --backend; to change it edit /etc/default/grub in the machine",
        )


def _parts(folder: Path) -> list[str]:
    """Names of the parts in a folder, in their order."""
    return [part_name(path.name) for path in sorted(folder.iterdir())]


def _look_at_work(work: str | None, parts: list[str]) -> None:
    unknown = sorted(set((work or ALL).split(",")) - {*parts, ALL})
    if unknown:
        raise ToolError(f"there is no work {unknown[0]!r}", f"known are: {', '.join((ALL, *parts))}")


def _interactive(commands: Commands, machine: Machine, kernel: Path | None, disk: Path, emulator: str) -> int:
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
