# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of the lab: each benchmark in a quick version, in each design, with what it says about itself."""

from portcullis.core.machine import DESIGNS, Machine
from portcullis.lab.jobs import BENCHMARKS, LANE, LANES, ONLY
from portcullis.suite.case import AMD_MACHINE, Case, boot

KERNBENCH = "kernbench"  # needs a guest with a compiler


def benchmarks(arch: str) -> tuple[str, ...]:
    """Names of the benchmarks that an architecture has."""
    return tuple(name for each in BENCHMARKS.values() for name in each.regions if ONLY.get(name, arch) == arch)


def lab_job(names: tuple[str, ...], **options: int) -> str:
    """The job that runs benchmarks; `options` are size (MiB), rounds and times."""
    return ",".join(("lab", *(f"{name}={value}" for name, value in options.items()), *names))


def _quick(name: str, what: str, design: str = "portcullis", mode: str = "enforce", **rest: object) -> Case:
    arch = str(rest.get("arch", "x86"))
    fields = {"lane": LANES.get(design, LANE), "cpus": 1, "timeout": 600.0, **rest}
    if design in LANES:
        fields["design"] = design
        fields["console"] = (rf"this kernel is for measuring only: design {design}", *fields.pop("console", ()))  # type: ignore[misc]
    job = lab_job(benchmarks(arch), size=32, rounds=1, times=100)
    return boot(name, f"the benchmarks of the lab, {what}", job, mode, **fields)


def _build(name: str, lane: str, arch: str, long: bool) -> Case:
    return Case(name, "build", "for the lab", lane=lane, machine=Machine(arch=arch), long=long)


LAB = (
    _build("build-arm64-lab", "lab", "arm64", long=False),
    _build("build-arm64-lab-designs", "lab-designs", "arm64", long=True),
    *(
        _quick(f"arm64-lab-{design}", f"design {design}", design, arch="arm64", long=design in LANES)
        for design in DESIGNS
    ),
    _quick("arm64-lab-off", "kpkeys=off", mode="off", arch="arm64", long=True),
    *(
        _quick(f"arm64-lab-{design}-blocks", f"{design}, blocks", design, arch="arm64", linear_map="blocks", long=True)
        for design in DESIGNS
    ),
    _quick("arm64-lab-pti", "isolation", arch="arm64", pti=True, long=True),
    _build("build-lab", "lab", "x86", long=True),
    _build("build-lab-designs", "lab-designs", "x86", long=True),
    *(_quick(f"lab-{design}", f"design {design}", design, long=True) for design in DESIGNS),
    *(_quick(f"lab-{design}-wp", f"{design}, write protection", design, backend="wp", long=True) for design in DESIGNS),
    *(_quick(f"lab-{design}-pti", f"{design}, isolation", design, pti=True, long=True) for design in DESIGNS),
    _quick("lab-off", "kpkeys=off", mode="off", long=True),
    _quick("lab-amd", "a processor without keys", long=True, **AMD_MACHINE),
    _build("build-lab-stock", "lab-stock", "x86", long=True),
    _build("build-arm64-lab-stock", "lab-stock", "arm64", long=True),
)
