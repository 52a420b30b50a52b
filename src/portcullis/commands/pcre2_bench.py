# SPDX-License-Identifier: GPL-2.0-only
"""pcre2 bench: what each allocator costs PCRE2's own speed tests, in time here, or counted in a guest with keys."""

import argparse
from dataclasses import asdict

from portcullis.core.arches import arch_name
from portcullis.core.luajit import this_machine
from portcullis.errors import ToolError
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.emulator import emulator_for
from portcullis.host.pcre2 import Pcre2
from portcullis.host.pcre2_bench import CPU, counted_in, guest_initramfs, guest_machine, measure
from portcullis.host.plugin import counting_plugin
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, step, table
from portcullis.host.vm import explain, run_job
from portcullis.host.workspace import Workspace
from portcullis.lab.pcre2_counts import BENCHED, COLUMNS, STOCK, TIMED, Counts, problems_of_counts, summary

GUEST_TIMEOUT = 1200.0
QUANTITIES = {"jit": "compile to machine code", "match": "match", CPU: "whole program"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--guest", action="store_true", help="count in a guest with keys instead of timing here")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of each variant, when timed (10)")
    parser.add_argument(
        "--times", type=int, metavar="N", help="each pattern is compiled and matched (20; 3 in a guest)"
    )


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Measures, and prints tables."""
    times = options.times or (3 if options.guest else 20)
    if min(options.runs, times) < 1:
        raise ToolError("there must be one run and one time, or more")
    if not options.guest and options.arch != arch_name(this_machine()):
        raise ToolError(f"this machine is {arch_name(this_machine())}", "count in a guest with --guest")
    pcre2 = Pcre2(workspace, Commands(), options.jobs, options.release)
    programs = {
        name: pcre2.build(name, options.arch).folder / "pcre2test" for name in (BENCHED if options.guest else TIMED)
    }
    if options.guest:
        counts = _counted(workspace, options, programs, pcre2, times)
        return _print_counts(counts, options, times)
    runs = measure(programs, pcre2.source().tree, options.runs, times)
    middles = {name: {key: summary(values) for key, values in each.items()} for name, each in runs.items()}
    if options.json:
        print_json({"version": pcre2.source().version, "times": times, "runs": runs})
        return 0
    rows = [
        [name, *(_cell(middles[name][key].middle, middles[STOCK][key].middle) for key in QUANTITIES)] for name in runs
    ]
    table(f"PCRE2 {pcre2.source().version}: medians of {options.runs} runs", ["variant", *QUANTITIES.values()], rows)
    return 0


def _cell(value: float, of: float) -> str:
    return f"{1000 * value:.2f} ms ({value / of:.2f})"


def _counted(
    workspace: Workspace, options: argparse.Namespace, programs: dict, pcre2: Pcre2, times: int
) -> dict[str, dict[str, Counts]]:
    commands = Commands()
    machine = guest_machine(options.arch, BENCHED, times, timeout=GUEST_TIMEOUT)
    image = Builder(workspace, commands, BuildOptions(arch=options.arch, jobs=options.jobs)).run().image
    initramfs = guest_initramfs(workspace, commands, options.arch, programs, pcre2.source().tree)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs, counts=True)
    plugin = counting_plugin(workspace, commands, options.jobs)
    with step("counting"):
        boot = run_job(workspace, commands, machine, image, initramfs, emulator=emulator, plugin=plugin)
    if boot.trouble:
        raise ToolError(f"the speed tests did not finish: {explain(boot)}")
    bad = [f"{test.name} ({test.reason})" for test in boot.results.failed]
    if bad:
        raise ToolError(f"failed in the guest: {', '.join(bad)}", f"log: {boot.folder}")
    return counted_in(boot)


def _print_counts(counts: dict[str, dict[str, Counts]], options: argparse.Namespace, times: int) -> int:
    problems = problems_of_counts(counts, times)
    if options.json:
        data = {work: {name: asdict(each) for name, each in rows.items()} for work, rows in counts.items()}
        print_json({"counts": data, "problems": problems})
        return 1 if problems else 0
    for work, rows in counts.items():
        cells = [[name, *(f"{number:,}" for number in each.cells())] for name, each in rows.items()]
        table(f"{work}, {options.arch}, {times} times each", ["variant", *COLUMNS], cells)
    for problem in problems:
        print_line(problem)
    return 1 if problems else 0
