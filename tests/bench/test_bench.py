# SPDX-License-Identifier: GPL-2.0-only
"""Counted costs: register writes within their bounds, and the plugin that counts."""

from kit.case import AMD_MACHINE, Case, bench, cases
from kit.checks import not_said
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.counts import differences, parse_counts
from portcullis.core.machine import Machine, backend_of
from portcullis.host.counting import counted, measured
from portcullis.host.counts_tests import problems_alone, problems_of_counts

BENCH = bench("bench")


@cases(
    BENCH,
    bench("xen-bench", lane="xen", long=True),
    bench("wp-bench", backend="wp"),
    bench("wp-amd-bench", **AMD_MACHINE, long=True),
    bench("wp-xen-bench", lane="xen", backend="wp", long=True),
    bench("arm64-bench", arch="arm64"),
)
def test_bench(case: Case, machinery: Machinery, row: Row) -> None:
    plugin = machinery.plugin()
    boot = counted(case.machine, lambda machine: machinery.boot(case, machine, plugin))
    rows = measured(boot, case.machine)
    problems = [
        f"{each.bound.bench}: {each.bound.counter} is {each.value}, at most {each.limit}"
        for each in rows
        if not each.good
    ]
    others = sum(not each.applies for each in rows)
    detail = f"{len(rows) - others} bounds held"
    if others:
        detail += f", {others} do not apply with {backend_of(case.machine)}"
    row.assert_none(problems + not_said(case, boot.console), detail, boot.folder)


@cases(
    Case("counts-decode", "what each instruction counts as"),
    Case("counts-tlb", "the model of a TLB"),
)
def test_counts_alone(case: Case, machinery: Machinery, row: Row) -> None:
    problems, tried = problems_alone(machinery.workspace, machinery.commands, case.name.removeprefix("counts-"))
    row.assert_none(problems, f"{tried} checks")


@cases(
    Case("counts-x86", "the plugin counts what a known program executes"),
    Case("counts-arm64", "the same", machine=Machine(arch="arm64")),
)
def test_counts(case: Case, machinery: Machinery, row: Row) -> None:
    """The plugin counts exactly what a program executes that does nothing else."""
    problems, folder = problems_of_counts(machinery.workspace, machinery.commands, case.arch, machinery.jobs)
    row.assert_none(problems, log=folder)


def _repeated(name: str, arch: str, long: bool) -> Case:
    machine = Machine(job="bench", cpus=1, icount=0, arch=arch, timeout=300.0)
    return Case(name, "two boots of the benchmark on one CPU count the same", machine=machine, long=long)


@cases(_repeated("counts-repeatable", "x86", True), _repeated("arm64-counts-repeatable", "arm64", False))
def test_repeatable(case: Case, machinery: Machinery, row: Row) -> None:
    """Two boots count the same, and something."""
    plugin = machinery.plugin()
    boots = [machinery.boot(case, plugin=plugin) for _ in range(2)]
    problems = [boot.trouble for boot in boots if boot.trouble]
    runs = [parse_counts(boot.executed or "") for boot in boots]
    problems += differences(*runs)
    if not runs[0] or any(not region.count("instructions") for region in runs[0]):
        problems.append("a region without instructions, or none at all")
    log = " ".join(str(boot.folder) for boot in boots)
    row.assert_none(problems, f"{len(runs[0])} rounds of regions, all counters equal", log)
