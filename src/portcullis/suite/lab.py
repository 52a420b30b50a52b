# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of the lab: each benchmark in a quick version, in each design, with what it says about itself.

All are long: they need kernels of their own.
"""

from collections.abc import Iterable, Iterator

from portcullis.core.machine import DESIGNS, Machine
from portcullis.lab.jobs import BENCHMARKS, LANE, LANES, ONLY, Job, choose_jobs
from portcullis.lab.results import Result
from portcullis.suite.case import AMD_MACHINE, Case, boot

KERNBENCH = "kernbench"  # needs a guest with a compiler
KERNBENCH_GCC = "kernbench-gcc"  # with another one, and takes minutes
# Variants that differ by the switches alone.
AT_ONCE, LATE_LOWER, LATE_RAISE, LATE = "pauth-off", "late-lower", "late-raise", "late"
CLOSE = 0.02  # of all sections, by which barriers may differ from what they should be


def benchmarks(arch: str) -> tuple[str, ...]:
    """Names of the benchmarks that an architecture has."""
    return tuple(name for each in BENCHMARKS.values() for name in each.regions if ONLY.get(name, arch) == arch)


def lab_job(names: tuple[str, ...], **options: int) -> str:
    """The job that runs benchmarks; `options` are size (MiB), rounds and times."""
    return ",".join(("lab", *(f"{name}={value}" for name, value in options.items()), *names))


def late_jobs(arch: str) -> tuple[Job, ...]:
    """The same benchmark with kpkeys=late-lower, late-raise, both, and without."""
    return choose_jobs(arch, ["fork"], ["portcullis"], [AT_ONCE, LATE_LOWER, LATE_RAISE, LATE])


def barriers_kept(results: Iterable[Result]) -> list[str]:
    """What is wrong with counts of late_jobs(): a section writes twice, and waits for the write that no switch names.

    One that publishes entries of the kernel waits for its end with every switch. Each of them has a DSB, and so
    has each side of a TLB invalidation.
    """
    by_variant = {result.variant: result for result in results}
    if set(by_variant) != {AT_ONCE, LATE_LOWER, LATE_RAISE, LATE}:
        return ["not counted with each switch and without"]
    base = by_variant.pop(AT_ONCE)
    return [
        problem
        for variant, result in by_variant.items()
        for name in base.regions
        for problem in _barriers_dropped(variant, name, base, result)
    ]


def _barriers_dropped(variant: str, name: str, base: Result, result: Result) -> Iterator[str]:
    before, now = base.regions[name].typical(), result.regions[name].typical()
    sections = before.get("pkey_writes", 0) / 2
    late = sections - (before.get("dsb", 0) - 2 * before.get("tlbi_broadcast", 0))
    without = {LATE_LOWER: late, LATE_RAISE: sections, LATE: sections + late}[variant]
    dropped = before.get("isb", 0) - now.get("isb", 0)
    if not sections or now.get("pkey_writes") != before.get("pkey_writes"):
        yield f"{name}, {variant}: {now.get('pkey_writes', 0):g} writes, not {before.get('pkey_writes', 0):g}"
    elif late <= 0 or abs(dropped - without) > CLOSE * sections:
        yield f"{name}, {variant}: {dropped:g} barriers fewer, where {without:g} are not needed"


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


def _build(name: str, lane: str, arch: str) -> Case:
    return Case(name, "build", "for the lab", lane=lane, machine=Machine(arch=arch), long=True)


GCC_BOOT = {"lane": LANE, "cpus": 1, "memory": 2048, "icount": 0, "timeout": 1800.0}

LAB = (
    _build("build-arm64-lab", "lab", "arm64"),
    _build("build-arm64-lab-designs", "lab-designs", "arm64"),
    *(_quick(f"arm64-lab-{design}", f"design {design}", design, arch="arm64") for design in DESIGNS),
    _quick("arm64-lab-off", "kpkeys=off", mode="off", arch="arm64"),
    *(
        _quick(f"arm64-lab-{design}-blocks", f"{design}, blocks", design, arch="arm64", linear_map="blocks")
        for design in DESIGNS
    ),
    Case(
        "arm64-late-barriers",
        "late",
        "late-raise and late-lower drop barriers",
        machine=Machine(arch="arm64"),
        long=True,
    ),
    _quick("arm64-lab-pti", "isolation", arch="arm64", pti=True),
    _build("build-lab", "lab", "x86"),
    _build("build-lab-designs", "lab-designs", "x86"),
    *(_quick(f"lab-{design}", f"design {design}", design) for design in DESIGNS),
    *(_quick(f"lab-{design}-wp", f"{design}, write protection", design, backend="wp") for design in DESIGNS),
    *(_quick(f"lab-{design}-pti", f"{design}, isolation", design, pti=True) for design in DESIGNS),
    _quick("lab-off", "kpkeys=off", mode="off"),
    *(
        boot(f"{prefix}lab-gcc", "make with gcc", lab_job((KERNBENCH_GCC,), rounds=1), arch=arch, long=True, **GCC_BOOT)
        for arch, prefix in (("x86", ""), ("arm64", "arm64-"))
    ),
    _quick("lab-amd", "a processor without keys", long=True, **AMD_MACHINE),
    _build("build-lab-stock", "lab-stock", "x86"),
    _build("build-arm64-lab-stock", "lab-stock", "arm64"),
)
