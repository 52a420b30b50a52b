# SPDX-License-Identifier: GPL-2.0-only
"""The part of bench that runs jobs of the lab (not a command of its own)."""

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from portcullis.commands.options import build_options
from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.errors import ToolError
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.codesize import text_growth
from portcullis.host.compile_kit import gcc_initramfs, lab_initramfs
from portcullis.host.emulator import emulator_for
from portcullis.host.executors import EXECUTORS, dask, local
from portcullis.host.labdata import counted_last, published_rows, read_profiles
from portcullis.host.labjobs import Executor, Files, FinishedJob, digest_of, run_jobs
from portcullis.host.plugin import counting_plugin
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, say, table
from portcullis.host.workspace import Workspace, write_whole
from portcullis.lab.credentials import credentials_part
from portcullis.lab.expected import DESIGN, QUICK, Expected, differences, dump_expected, parse_expected, updated
from portcullis.lab.grids import Part
from portcullis.lab.jobs import LANE, VARIANTS, Job, choose_jobs, with_tlb
from portcullis.lab.profile import Profile
from portcullis.lab.results import DESIGNS, dump_result
from portcullis.lab.tables import UNEVEN, Line, Table, base_takes, make_table, overhead_said
from portcullis.lab.text import event_name

EXPECTED = Path(__file__).parents[1] / "data" / "expected-counts.toml"


def add_lab_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    variants = sorted({variant.name for each in VARIANTS.values() for variant in each if variant.name})
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks, or regions of them (all)")
    parser.add_argument("--design", action="append", choices=DESIGNS, help="only this design; may be repeated (all)")
    parser.add_argument(
        "--variant", action="append", choices=["plain", *variants], help="only this variant; may be repeated (plain)"
    )
    parser.add_argument("--all-variants", action="store_true", help="every variant of the architecture")
    parser.add_argument("--profile", metavar="CPU", help="price for this CPU (see docs/lab.md)")
    parser.add_argument("--again", action="store_true", help="run jobs even if their results are there")
    parser.add_argument("--executor", choices=EXECUTORS, default="local", help="where jobs run (local)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster, as tcp://HOST:PORT")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="jobs at a time with --executor local (1)")
    parser.add_argument(
        "--update-expected", action="store_true", help="with --quick: write the counts that counts-expected compares"
    )


def check_lab_arguments(options: argparse.Namespace) -> None:
    """Raises ToolError for options that do not go together."""
    if options.quick and (options.names or options.design or options.variant or options.all_variants):
        raise ToolError("--quick has a set of its own", "leave out either --quick or the names, designs and variants")
    if options.update_expected and not options.quick:
        raise ToolError("--update-expected is of the quick set", "write --quick --update-expected")
    if options.where and not options.quick:
        raise ToolError("--where is of the quick set", "write --quick --where")
    if (options.executor == "dask") != (options.scheduler is not None):
        raise ToolError("--executor dask and --scheduler ADDRESS go together")
    if options.workers < 1:
        raise ToolError("--workers is a number above zero")


def run_lab(workspace: Workspace, options: argparse.Namespace) -> int:
    """Runs what is missing, then prints overheads; 1 when a job failed."""
    variants = None if options.all_variants else [name.replace("plain", "") for name in options.variant or ["plain"]]
    try:
        jobs = with_tlb(choose_jobs(options.arch, options.names, options.design or (), variants), tlb_options())
    except ValueError as error:
        raise ToolError(str(error)) from error
    if options.dry_run:
        for job in jobs:
            print_line(job.id)
        return 0
    files = files_of(workspace, options, jobs)
    finished = finish_jobs(workspace, options, jobs, files)
    results = [each.result for each in finished if each.result]
    failed = [each for each in finished if not each.result]
    if options.json:
        print_json(lab_json(finished))
    else:
        known = counted_last(workspace).results
        for profile in chosen_profiles(options.arch, options.profile):
            for variant in dict.fromkeys(result.variant for result in results):
                print_table(make_table(profile, published_rows(), results, variant, known))
        print_credentials(credentials_part(results))
        growth = text_growth(files[LANE].kernel) if LANE in files else None
        if growth is not None:
            print_line(f"code: {growth:+} bytes over lane lab-stock, without what only measures")
    for each in failed:
        say(f"{each.job.id}: {each.trouble}")
    return 1 if failed else 0


def files_of(workspace: Workspace, options: argparse.Namespace, jobs: tuple[Job, ...]) -> dict[str, Files]:
    """Builds what the jobs need, by lane."""
    built = build_options(options)
    return {lane: lab_files(workspace, built, lane) for lane in dict.fromkeys(job.lane for job in jobs)}


def files_for(workspace: Workspace, job: Job, files: Files) -> Files:
    """What one job boots: some need another compiler in the guest."""
    if job.benchmark.compiler != "gcc":
        return files
    return replace(files, initramfs=gcc_initramfs(workspace, Commands(), job.arch))


def finish_jobs(
    workspace: Workspace, options: argparse.Namespace, jobs: tuple[Job, ...], files: dict[str, Files]
) -> list[FinishedJob]:
    """Runs the jobs whose results are missing."""
    executor = _executor(options)
    finished = []
    pairs = [(job, files_for(workspace, job, files[job.lane])) for job in jobs]
    for each in run_jobs(workspace, pairs, executor, options.again):
        state = "ok" if each.result else "failed"
        say(f"  {len(finished) + 1}/{len(jobs)} {each.job.id}: {state if each.fresh else 'there already'}")
        finished.append(each)
    return finished


def _executor(options: argparse.Namespace) -> Executor:
    return dask(options.scheduler) if options.executor == "dask" else local(options.workers)


def lab_files(workspace: Workspace, options: BuildOptions, lane: str) -> Files:
    """Builds the kernel of a lane and everything else that its jobs boot."""
    commands = Commands()
    plugin = counting_plugin(workspace, commands, options.jobs)
    built = Builder(workspace, commands, replace(options, lane=lane)).run()
    initramfs = lab_initramfs(workspace, commands, options.arch)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs, counts=True)
    versions = {
        "kernel": f"Linux {built.folder.name}",
        "tree": _tree(commands, workspace),
        "emulator": _first_line(commands, [emulator, "--version"]),
        "compiler": compiler_of(commands, options.arch),
    }
    return Files(built.image, initramfs, plugin, emulator, versions)


def _tree(commands: Commands, workspace: Workspace) -> str:
    """The last commit that changed the kernel part, and its date."""
    git = ["git", "-C", workspace.root, "log", "-1", "--format=%h of %cs", "--", "kernel"]
    return _first_line(commands, git) if (workspace.root / ".git").exists() else ""


def compiler_of(commands: Commands, arch: str) -> str:
    """The compiler that kernels of an architecture are built with."""
    return _first_line(commands, [f"{cross_prefix(ARCHES[arch], os.uname().machine)}gcc", "--version"])


def toolchain_of(commands: Commands, arch: str) -> str:
    """What decides the instructions of kernel and guest beside the sources: the compiler, and the C library's code."""
    compiler = f"{cross_prefix(ARCHES[arch], os.uname().machine)}gcc"
    library = Path(_first_line(commands, [compiler, "-print-file-name=libc.a"]))
    digest = digest_of(library)[:12] if library.is_file() else "unknown"
    return f"{compiler_of(commands, arch)}, libc.a {digest}"


def _first_line(commands: Commands, command: list[str | Path]) -> str:
    return commands.capture(command).output.split("\n")[0].strip()


def chosen_profiles(arch: str, name: str | None) -> list[Profile]:
    """Profiles of an architecture, or the one named; raises ToolError when there is no such one."""
    profiles = {profile.name: profile for profile in read_profiles()}
    if name is None:
        return [profile for profile in profiles.values() if profile.arch == arch]
    if name not in profiles:
        raise ToolError(f"there is no profile {name}", f"known are: {', '.join(profiles)}")
    if profiles[name].arch != arch:
        raise ToolError(f"{name} is a CPU of {profiles[name].arch}, not of {arch}")
    return [profiles[name]]


def tlb_options() -> dict[str, str]:
    """What the plugin is told of the TLB of each profile that has one."""
    return {profile.name: profile.tlb.option(profile.name) for profile in read_profiles() if profile.tlb}


def lab_json(finished: list[FinishedJob]) -> dict[str, object]:
    """Results, and the jobs that failed, for programs."""
    return {
        "results": [json.loads(dump_result(each.result)) for each in finished if each.result],
        "failed": [{"job": each.job.id, "trouble": each.trouble} for each in finished if not each.result],
    }


def print_credentials(part: Part | None) -> None:
    """What sealed credentials cost, if it was counted with them and without."""
    for grid in part.grids if part else ():
        table(f"{part.title}: one operation", grid.columns, grid.rows)  # type: ignore[union-attr]


def print_table(shown: Table) -> None:
    """Overheads of one variant on one CPU; what a design is not shown for is said below."""
    profile = shown.profile
    title = f"{profile.title}{', ' + shown.variant if shown.variant else ''}"
    designs = [design for design in DESIGNS if any(design in line.cells for line in shown.lines)]
    if shown.lines:
        table(
            f"{title}: overhead over the kernel without protection",
            ("region", "base", "takes", *designs),
            [
                (
                    line.region,
                    line.base,
                    base_takes(profile, line),
                    *(overhead_said(line.cells.get(design)) for design in designs),
                )
                for line in shown.lines
            ],
        )
    else:
        print_line(f"{title}: no table, for no region was counted with a design that can be shown and with its base")
    for line in _notes(shown):
        print_line(f"  {line}")


def _notes(shown: Table) -> Iterator[str]:
    """What the numbers of a table rest on, and which are missing."""
    if shown.borrowed:
        whens = sorted(result.when for result in shown.borrowed)
        yield f"prices and bases that were not counted now are of {len(whens)} results of {whens[0]} to {whens[-1]}"
    for design, reason in shown.refused.items():
        yield f"{design} is not shown: {reason}"
    for fitted in shown.fitted:
        if fitted.cycles is None:
            yield f"no price of {event_name(fitted.event)}: {fitted.why}"
        else:
            yield f"fitted to {fitted.row}: {event_name(fitted.event)} {fitted.said}"
    for line in shown.lines:
        yield from _notes_of(line)


def _notes_of(line: Line) -> Iterator[str]:
    for name, spread in line.spreads():
        if spread > UNEVEN:
            yield f"{line.region} {name}: rounds differ by {spread:.0%} in their instructions"
    for cell in line.cells.values():
        for even in cell.break_even:
            if even.cycles is not None:
                most = f"{event_name(even.event)} cost at most {even.cycles:.3g} cycles"
                yield f"{line.region} {cell.design} is below {even.limit:.2%} if {most}"


# --- the expectations ------------------------------------------------------------------------------------------
def expected_jobs(arch: str) -> tuple[Job, ...]:
    """The quick jobs whose counts are committed."""
    return choose_jobs(arch, QUICK, [DESIGN], [""])


def update_expected(workspace: Workspace, options: argparse.Namespace) -> int:
    """Counts the quick jobs of an architecture and writes them; those of others stay."""
    jobs = expected_jobs(options.arch)
    finished = finish_jobs(workspace, options, jobs, files_of(workspace, options, jobs))
    failed = [each for each in finished if not each.result]
    for each in failed:
        say(f"{each.job.id}: {each.trouble}")
    if failed:
        return 1
    results = [each.result for each in finished if each.result]
    toolchain, kept = toolchain_of(Commands(), options.arch), Expected({}, {})
    if EXPECTED.is_file():
        kept = parse_expected(EXPECTED.read_text())
        for line in differences(kept, options.arch, results, toolchain):
            print_line(f"  {line}")
    write_whole(EXPECTED, dump_expected(updated(kept, options.arch, toolchain, results)).encode())
    print_line(f"{EXPECTED} is written: commit it, and say why the counts changed")
    return 0
