# SPDX-License-Identifier: GPL-2.0-only
"""Counts what hardening costs, design by design, and prices it for real CPUs.

Emulated time is no time, so nothing here is timed. Benchmarks run in boots of their own, for each design; results are
kept, and only what is missing runs. --quick, on one CPU, holds writes to the pkey register against fixed bounds
instead, and counts with kpkeys=off as well: names in _added are beyond that. Refuses to print when the gate was never
raised or no page was keyed, because then nothing was measured.

examples:
  ./portcullis bench fork vmalloc --arch arm64
  ./portcullis bench lseek --design stock --all-variants
  ./portcullis bench --executor dask --scheduler tcp://10.0.0.1:8786
  ./portcullis bench --quick
  ./portcullis bench --quick --json
  ./portcullis bench --quick --backend wp
  ./portcullis bench --quick --where
"""

import argparse
from dataclasses import asdict, replace

from portcullis.commands.boot import add_machine, machine_of
from portcullis.commands.labbench import add_lab_arguments, check_lab_arguments, run_lab, update_expected
from portcullis.commands.options import add_build, add_dry_run, add_json, add_mode, build_options
from portcullis.core.bench import Measured
from portcullis.core.machine import Machine, backend_of
from portcullis.errors import ToolError
from portcullis.host.bench_kit import bench_initramfs
from portcullis.host.builder import Builder
from portcullis.host.codesize import text_growth
from portcullis.host.counting import counted, measured, written_where
from portcullis.host.emulator import emulator_for
from portcullis.host.plugin import counting_plugin
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, step, table
from portcullis.host.vm import Boot, run_job
from portcullis.host.workspace import Workspace

TIMEOUT = 300.0  # seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_lab_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="a few operations beside fixed bounds")
    parser.add_argument("--where", action="store_true", help="with --quick: which functions write the register instead")
    add_mode(parser, ("audit", "enforce"))
    add_build(parser)
    add_machine(parser)
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Counts; 1 when a bound is exceeded or a job failed."""
    machine = machine_of(options)
    check_lab_arguments(options)
    if options.update_expected:
        return update_expected(workspace, options)
    if options.quick:
        return run_quick(workspace, options, replace(machine, job="bench", cpus=1, icount=0, timeout=TIMEOUT))
    if machine != Machine(arch=options.arch) or options.lane != "default":
        raise ToolError(
            "options of the machine, --mode and --lane are of --quick", "choose designs and variants instead"
        )
    return run_lab(workspace, options)


def run_quick(workspace: Workspace, options: argparse.Namespace, machine: Machine) -> int:
    """Counts the quick set; 1 when a bound is exceeded."""
    commands = Commands(options.dry_run)
    built = Builder(workspace, commands, build_options(options)).run()
    initramfs = bench_initramfs(workspace, commands, options.arch)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs, counts=True)
    plugin = counting_plugin(workspace, commands, options.jobs)

    def boot_it(chosen: Machine) -> Boot:
        return run_job(workspace, commands, chosen, built.image, initramfs, emulator=emulator, plugin=plugin)

    if options.dry_run:
        boot_it(machine)
        return 0
    if options.where:
        with step("counting"):
            tables = written_where(machine, boot_it, built.image.parents[3] / "vmlinux")
        print_where(tables, options.json)
        return 0
    with step("counting"):
        boot = counted(machine, boot_it)
    rows = measured(boot, machine)
    growth = text_growth(built.image)
    if options.json:
        bounds = [
            {**asdict(row.bound), "limit": row.limit, "value": row.value, "applies": row.applies, "good": row.good}
            for row in rows
        ]
        records = list(boot.results.records)
        print_json({"backend": backend_of(machine), "bounds": bounds, "records": records, "text_growth": growth})
    else:
        print_table(rows, boot, backend_of(machine))
        stock = "unknown, build the kernel to compare with: portcullis build --lane stock"
        print_line(f"  code: {f'{growth:+} bytes' if growth is not None else stock}")
    return 0 if all(row.good for row in rows) else 1


def print_table(rows: tuple[Measured, ...], boot: Boot, backend: str) -> None:
    """The bounds, then every other figure that the guest reported."""
    print_line(f"backend {backend}")
    table(
        "",
        ("operation", "counter", "counted", "at most", ""),
        [
            (
                row.bound.what,
                row.bound.counter,
                "missing" if row.value is None else str(row.value),
                str(row.limit),
                _judgement(row, backend),
            )
            for row in rows
        ],
    )
    for record in boot.results.records:
        if "bench" in record:
            figures = ", ".join(f"{key} {value}" for key, value in record.items() if key != "bench")
            print_line(f"  {record['bench']}: {figures}")


def print_where(tables: dict[str, dict[str, int]], as_json: bool) -> None:
    """How often each function wrote the register, by region."""
    if as_json:
        print_json({"where": tables})
        return
    for region, functions in tables.items():
        rows = [(name, str(times)) for name, times in functions.items()]
        if rows:
            table(f"{region}: {sum(functions.values())} writes", ("function", "writes"), rows)


def _judgement(row: Measured, backend: str) -> str:
    if not row.applies:
        return f"not with {backend}"
    return "ok" if row.good else "failed"
