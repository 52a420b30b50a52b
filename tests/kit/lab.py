# SPDX-License-Identifier: GPL-2.0-only
"""Jobs of the lab that tests run, and how barriers are judged."""

from collections.abc import Iterable, Iterator

from portcullis.lab.jobs import BENCHMARKS, ONLY, Job, choose_jobs
from portcullis.lab.results import Result

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
