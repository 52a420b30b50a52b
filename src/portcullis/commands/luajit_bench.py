# SPDX-License-Identifier: GPL-2.0-only
"""Measures what mprotect() costs LuaJIT: times of this machine, or with --guest counts in a guest with keys.

Natively, stock is timed against insecure memory, which stays writable and executable: the limit that a key can
reach. Below that is what opening and closing an area takes by each backend of jitgate. Runs are kept, and only what is
missing runs; an interrupted measurement goes on where it was. In a guest stock, insecure memory and jitgate are
counted by the emulator's plugin.

examples:
  nice -n -10 ./portcullis luajit bench --out luajit.html
  ./portcullis luajit bench fasta life --runs 8
  ./portcullis luajit bench --guest --arch arm64 --json counts.json
"""

import argparse
import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

from portcullis.commands.options import add_arch, add_mode
from portcullis.commands.report import render
from portcullis.core.arches import ARCHES, arch_name
from portcullis.core.counts import CpuRound
from portcullis.core.jitgate import OPENING_COLUMNS, opening_rows
from portcullis.errors import ToolError
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.emulator import emulator_for
from portcullis.host.jitgate import Jitgate
from portcullis.host.luajit import build
from portcullis.host.luajit_bench import (
    Native,
    NativeStore,
    finished_counts,
    guest_initramfs,
    guest_machine,
    measure,
    program_folder,
    programs,
    trace_natively,
)
from portcullis.host.plugin import counting_plugin
from portcullis.host.process import Commands
from portcullis.host.screen import print_line, step, table
from portcullis.host.vm import run_job
from portcullis.host.workspace import Workspace, write_whole
from portcullis.lab.luajit_bench import KEYED, LIMIT, SEEDED, STOCK, Gain, Program, compare, samples_of
from portcullis.lab.luajit_counts import ONE_TRACE, Counted, counted_of
from portcullis.lab.luajit_page import (
    COUNT_COLUMNS,
    TIME_COLUMNS,
    GuestCounts,
    count_rows,
    count_summary,
    luajit_page,
    time_rows,
    time_summary,
)

RUNS = 48
NATIVE = (30, "default")  # iterations and size
GUEST = (5, "quick")
SEEDS = 3
GUEST_TIMEOUT = 3600.0  # seconds
VARIANTS = (STOCK, LIMIT, KEYED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (all)")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"runs of each variant ({RUNS})")
    parser.add_argument(
        "--iterations", type=int, metavar="N", help=f"of a program in one run ({NATIVE[0]}, in a guest {GUEST[0]})"
    )
    parser.add_argument(
        "--size", metavar="SIZE", help=f"default, quick or a number ({NATIVE[1]}, in a guest {GUEST[1]})"
    )
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, metavar="N", help=f"in a guest: runs with other random numbers ({SEEDS})"
    )
    parser.add_argument("--guest", action="store_true", help="count in a guest with keys instead")
    parser.add_argument("--layout", metavar="NAME", help="of LuaJIT's source, as for build")
    parser.add_argument("--again", action="store_true", help="forget what was measured")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write a page, with what was measured before")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="parallel jobs")
    add_arch(parser)
    add_mode(parser, default="off")


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Measures, prints, and writes what was asked for."""
    chosen = _check(options)
    if options.guest:
        guest = _run_guest(workspace, options, chosen)
        table("", COUNT_COLUMNS, count_rows(guest.counted), styles=False)
        print_line(count_summary(guest.counted))
        data: dict[str, object] = {"guest": {**vars(guest), "counted": [_row(each) for each in guest.counted]}}
    else:
        native, gains, traced = _run_native(workspace, options, chosen)
        table("", TIME_COLUMNS, time_rows(gains, traced), styles=False)
        print_line(time_summary(gains, programs()))
        print_line(_load(native))
        openings = Jitgate(workspace, Commands(), options.jobs).openings()
        table("", OPENING_COLUMNS, opening_rows(openings), styles=False)
        data = {
            "native": vars(native),
            "gains": [asdict(gain) for gain in gains],
            "traced": [_row(each) for each in traced],
            "openings": [asdict(each) for each in openings],
        }
    if options.json:
        write_whole(_target(options.json), json.dumps(data, indent=1).encode())
    if options.out:
        _write_page(workspace, options)
    return 0


def _check(options: argparse.Namespace) -> tuple[Program, ...]:
    own = arch_name(os.uname().machine)
    defaults = GUEST if options.guest else NATIVE
    options.iterations = defaults[0] if options.iterations is None else options.iterations
    options.size = options.size or defaults[1]
    if not options.guest and options.arch != own:
        raise ToolError(f"this machine is {own}", "count in a guest with --guest")
    if options.runs < 2 or min(options.iterations, options.seeds) < 1:
        raise ToolError("there must be two runs, one iteration and one seed, or more")
    if options.size not in ("default", "quick") and not options.size.isdigit():
        raise ToolError(f"{options.size!r} is no size", "write default, quick or a number")
    for path in filter(None, (options.json, options.out)):
        _target(path)
    try:
        return programs().choose(options.names)
    except ValueError as error:
        raise ToolError(str(error)) from error


def _target(path: Path) -> Path:
    target = path.expanduser().resolve()
    if not target.parent.is_dir():
        raise ToolError(f"{target.parent} is no folder")
    return target


def _interpreters(workspace: Workspace, options: argparse.Namespace, variants: tuple[str, ...]) -> dict[str, Path]:
    machine = ARCHES[options.arch].machine
    return {variant: build(workspace, variant, machine, options.layout) for variant in variants}


# --- natively ----------------------------------------------------------------------------------------------------
def _run_native(
    workspace: Workspace, options: argparse.Namespace, chosen: tuple[Program, ...]
) -> tuple[Native, list[Gain], tuple[Counted, ...]]:
    interpreters = _interpreters(workspace, options, SEEDED)
    store = NativeStore(workspace, interpreters, options.iterations, options.size)
    native = store.fresh if options.again else store.load()
    names = [each.name for each in chosen]
    try:
        measure(store, native, interpreters, program_folder(workspace), names, options.runs)
        gains = gains_of(native, chosen)
    except ImportError as error:
        raise ToolError("the Python package scipy is not there", "run it by ./portcullis luajit bench") from error
    traced = trace_natively(workspace, Commands(), interpreters, names, options.iterations, options.size)
    _keep(workspace, "native", {"store": store.path.name, "names": names, "traced": [_row(each) for each in traced]})
    return native, gains, traced


def gains_of(native: Native, chosen: tuple[Program, ...]) -> list[Gain]:
    """All comparisons, each as one of that many tests."""
    samples = samples_of(native.rows)
    return [compare(each, *(samples[each.name][variant] for variant in SEEDED), tests=len(chosen)) for each in chosen]


def _load(native: Native) -> str:
    loads = native.loads or [0.0]
    runs = min(len(runs) for variants in native.rows.values() for runs in variants.values())
    said = native.environment
    return (
        f"LuaJIT {said['LuaJIT']}, {said['machine']}, kernel {said['kernel']}, {said['started']}: "
        f"{runs} runs of {native.iterations} iterations; load average before rounds "
        f"{min(loads):.1f} to {max(loads):.1f}"
    )


# --- in a guest --------------------------------------------------------------------------------------------------
def _run_guest(workspace: Workspace, options: argparse.Namespace, chosen: tuple[Program, ...]) -> GuestCounts:
    commands = Commands()
    interpreters = _interpreters(workspace, options, VARIANTS)
    names = [*VARIANTS, ONE_TRACE, *(each.name for each in chosen)]
    how = {name: getattr(options, name) for name in ("iterations", "size", "seeds")}
    machine = guest_machine(options.arch, names, how, mode=options.mode, timeout=GUEST_TIMEOUT)
    image = Builder(workspace, commands, BuildOptions(arch=options.arch, jobs=options.jobs)).run().image
    initramfs = guest_initramfs(workspace, commands, options.arch, interpreters)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs, counts=True)
    plugin = counting_plugin(workspace, commands, options.jobs)
    with step("counting"):
        boot = run_job(workspace, commands, machine, image, initramfs, emulator=emulator, plugin=plugin)
    counted = finished_counts(boot)
    environment = {
        **{name: str(value) for name, value in how.items()},
        "kernel": f"kpkeys={options.mode}",
        "counted": time.strftime("%Y-%m-%d %H:%M"),
    }
    guest = GuestCounts(options.arch, environment, counted)
    _keep(workspace, f"guest-{options.arch}", {**vars(guest), "counted": [_row(each) for each in counted]})
    return guest


# --- what is kept, and the page ------------------------------------------------------------------------------------
def _row(each: Counted) -> dict[str, object]:
    record = {
        "luabench": each.program,
        "variant": each.variant,
        "said": each.said,
        "traces": each.traces,
        "calls": each.calls,
        **each.watched,
    }
    return {"record": record, "runs": each.runs, "region": asdict(each.region) if each.region else None}


def _counted(rows: list[dict]) -> tuple[Counted, ...]:
    found = counted_of(row["record"] for row in rows)
    regions = [CpuRound(**row["region"]) if row["region"] else None for row in rows]
    runs = [row["runs"] for row in rows]
    return tuple(
        replace(each, region=region, runs=count) for each, region, count in zip(found, regions, runs, strict=True)
    )


def _keep(workspace: Workspace, name: str, data: dict[str, object]) -> None:
    write_whole(workspace.folder("luajit-bench") / f"last-{name}.json", json.dumps(data).encode())


def _kept(workspace: Workspace, name: str) -> dict | None:
    try:
        return json.loads((workspace.folder("luajit-bench") / f"last-{name}.json").read_text())
    except (OSError, ValueError):
        return None


def _write_page(workspace: Workspace, options: argparse.Namespace) -> None:
    guests = [
        GuestCounts(arch, kept["environment"], _counted(kept["counted"]))
        for arch in ARCHES
        if (kept := _kept(workspace, f"guest-{arch}"))
    ]
    gains: list[Gain] = []
    traced: tuple[Counted, ...] = ()
    environment: dict[str, str] = {}
    runs = 0
    kept = _kept(workspace, "native")
    if kept:
        native = Native(**json.loads((workspace.folder("luajit-bench") / kept["store"]).read_text()))
        gains = gains_of(native, programs().choose(kept["names"]))
        traced = _counted(kept["traced"])
        runs = min(len(native.rows[name][variant]) for name in kept["names"] for variant in SEEDED)
        environment = {**native.environment, "iterations": str(native.iterations), "load": _load(native)}
    commands = [
        "./portcullis luajit bench",
        *(f"./portcullis luajit bench --guest --arch {each.arch}" for each in guests),
    ]
    page = luajit_page(programs(), gains, traced, runs, environment, guests, commands if gains else commands[1:])
    target = _target(options.out)
    write_whole(target, render(page).encode())
    print_line(f"{target}: {sum(len(part.plots) for part in page.parts)} plots")
