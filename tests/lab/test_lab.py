# SPDX-License-Identifier: GPL-2.0-only
"""The lab: each benchmark in a quick version, in each design, and what it counts.

All are long: they need kernels of their own.
"""

from dataclasses import replace

from kit.case import AMD_MACHINE, Case, boot, cases
from kit.lab import KERNBENCH_GCC, barriers_kept, benchmarks, lab_job, late_jobs
from kit.machinery import Machinery
from kit.row import Row
from portcullis.commands.labbench import EXPECTED, expected_jobs, lab_files, toolchain_of
from portcullis.core.machine import DESIGNS, Machine
from portcullis.host.executors import local
from portcullis.host.labjobs import run_jobs
from portcullis.lab.expected import HOW_TO_UPDATE, differences, parse_expected
from portcullis.lab.jobs import LANE, LANES, Job
from portcullis.lab.results import Result

ARM64 = Machine(arch="arm64")


def _quick(name: str, what: str, design: str = "portcullis", mode: str = "enforce", **rest: object) -> Case:
    arch = str(rest.get("arch", "x86"))
    # Time is what was executed: a host that gives little of itself is no stall of RCU.
    fields = {"lane": LANES.get(design, LANE), "cpus": 1, "icount": 0, "timeout": 600.0, "long": True, **rest}
    if design in LANES:
        fields["design"] = design
        fields["console"] = (rf"this kernel is for measuring only: design {design}", *fields.pop("console", ()))  # type: ignore[misc]
    quick = tuple(name for name in benchmarks(arch) if name != KERNBENCH_GCC)
    job = lab_job(quick, size=32, rounds=1, times=100)
    return boot(name, f"the benchmarks of the lab, {what}", job, mode, **fields)


GCC_BOOT = {"lane": LANE, "cpus": 1, "memory": 2048, "icount": 0, "timeout": 1800.0}

LAB = (
    *(_quick(f"arm64-lab-{design}", f"design {design}", design, arch="arm64") for design in DESIGNS),
    _quick("arm64-lab-off", "kpkeys=off", mode="off", arch="arm64"),
    *(
        _quick(f"arm64-lab-{design}-blocks", f"{design}, blocks", design, arch="arm64", linear_map="blocks")
        for design in DESIGNS
    ),
    _quick("arm64-lab-pti", "isolation", arch="arm64", pti=True),
    *(_quick(f"lab-{design}", f"design {design}", design) for design in DESIGNS),
    *(_quick(f"lab-{design}-wp", f"{design}, write protection", design, backend="wp") for design in DESIGNS),
    *(_quick(f"lab-{design}-pti", f"{design}, isolation", design, pti=True) for design in DESIGNS),
    _quick("lab-off", "kpkeys=off", mode="off"),
    *(
        boot(f"{prefix}lab-gcc", "make with gcc", lab_job((KERNBENCH_GCC,), rounds=1), arch=arch, long=True, **GCC_BOOT)
        for arch, prefix in (("x86", ""), ("arm64", "arm64-"))
    ),
    _quick("lab-amd", "a processor without keys", long=True, **AMD_MACHINE),
)


@cases(*LAB)
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)


def _counted(machinery: Machinery, arch: str, jobs: tuple[Job, ...]) -> tuple[list[Result], list[str]]:
    """What jobs of the lab count, and what is wrong with those that failed."""
    options = replace(machinery.options, arch=arch)
    files = {lane: lab_files(machinery.workspace, options, lane) for lane in {job.lane for job in jobs}}
    outcomes = list(run_jobs(machinery.workspace, [(job, files[job.lane]) for job in jobs], local()))
    troubles = [f"{each.job.id}: {each.trouble}" for each in outcomes if not each.result]
    return [each.result for each in outcomes if each.result], troubles


@cases(Case("arm64-late-barriers", "late-raise and late-lower drop barriers", machine=ARM64, long=True))
def test_late(case: Case, machinery: Machinery, row: Row) -> None:
    """With late-raise, late-lower or both a section has fewer barriers, and as many writes."""
    results, troubles = _counted(machinery, case.arch, late_jobs(case.arch))
    row.assert_none(troubles or barriers_kept(results), "fork, with each switch and without")


@cases(
    Case("arm64-counts-expected", "benchmarks of the lab count exactly what is committed", machine=ARM64, long=True),
    Case("counts-expected", "the same on x86-64", long=True),
)
def test_expected(case: Case, machinery: Machinery, row: Row) -> None:
    """The quick jobs of the lab count exactly what is committed."""
    if not EXPECTED.is_file():
        row.fail(f"{EXPECTED} is not there: {HOW_TO_UPDATE}")
    results, troubles = _counted(machinery, case.arch, expected_jobs(case.arch))
    expected = parse_expected(EXPECTED.read_text())
    toolchain = toolchain_of(machinery.commands, case.arch)
    found = troubles or differences(expected, case.arch, results, toolchain)
    same = expected.toolchains.get(case.arch) == toolchain
    detail = f"{len(results)} jobs" + ("" if same else ", without instructions: other compiler or C library")
    row.assert_none([*found, f"if that is meant: {HOW_TO_UPDATE}"] if found else [], detail)


def test_each_design_is_run_and_must_say_so() -> None:
    for design in DESIGNS:
        case = next(case for case in LAB if case.name == f"arm64-lab-{design}")
        if design == "portcullis":  # it needs no kernel that knows others
            assert case.lane == "lab" and case.machine.design is None
        else:
            assert case.lane == "lab-designs" and case.machine.design == design
            assert any(pattern.endswith(f"design {design}") for pattern in case.console)


def test_only_the_job_with_gcc_needs_its_guest() -> None:
    quick = [case for case in LAB if case.machine.job.startswith("lab,size=")]
    assert quick and not any(KERNBENCH_GCC in case.machine.job.split(",") for case in quick)
