# SPDX-License-Identifier: GPL-2.0-only
"""The committed expectations: counts of a few jobs that must not change without a word."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portcullis.core.counts import PRIVILEGES
from portcullis.lab.results import Region, Result

QUICK = ("fork", "calls")  # benchmarks; vmalloc counts otherwise when anything else takes memory before it
DESIGN = "portcullis"
OF_COMPILER = ("instructions", "atomic")  # what another compiler or C library makes other numbers of
HOW_TO_UPDATE = "./portcullis bench --quick --update-expected, and the reason in the same commit"
_HEADER = f"""# Counts of quick benchmarks, compared exactly by the test counts-expected. Made, not written, by
# {HOW_TO_UPDATE}.
"""
Numbers = Mapping[str, int]


@dataclass(frozen=True)
class Expected:
    """Counters by job, region and level; `toolchains` made what was counted, by architecture."""

    toolchains: Mapping[str, str]
    counts: Mapping[str, Mapping[str, Mapping[str, Numbers]]]


def counts_of(results: Iterable[Result]) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """What a file of expectations has of results: by job, region and level the least of each counter."""
    return {
        result.job: {
            name: {level: _least(region, level) for level in PRIVILEGES}
            for name, region in sorted(result.regions.items())
        }
        for result in results
    }


def _least(region: Region, level: str) -> dict[str, int]:
    rounds = [getattr(each, level) for each in region.rounds]
    names = sorted({name for counters in rounds for name in counters})
    found = {name: min(counters.get(name, 0) for counters in rounds) for name in names}
    return {name: value for name, value in found.items() if value}


def dump_expected(expected: Expected) -> str:
    """The file; the same counts always give the same text."""
    lines = [_HEADER, "[toolchains]"]
    lines += [f"{arch} = {_quoted(toolchain)}" for arch, toolchain in sorted(expected.toolchains.items())]
    for job, regions in sorted(expected.counts.items()):
        for region, levels in sorted(regions.items()):
            lines += ["", f"[{job}.{region}]"]
            for level, counters in levels.items():
                inside = ", ".join(f"{name} = {value}" for name, value in sorted(counters.items()))
                lines.append(f"{level} = {{ {inside} }}" if inside else f"{level} = {{}}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_expected(text: str) -> Expected:
    """Reads a file of expectations; raises ValueError for a broken one."""
    data = tomllib.loads(text)
    toolchains = data.pop("toolchains", None)
    if not isinstance(toolchains, dict) or not all(isinstance(regions, dict) for regions in data.values()):
        raise ValueError("expected counts: no toolchains, or a job without regions")
    return Expected(toolchains, data)


def of_arch(expected: Expected, arch: str) -> dict[str, Mapping[str, Mapping[str, Numbers]]]:
    """The jobs of one architecture."""
    return {job: counts for job, counts in expected.counts.items() if job.startswith(f"{arch}-")}


def updated(expected: Expected, arch: str, toolchain: str, results: Iterable[Result]) -> Expected:
    """With the jobs of one architecture counted anew; those of others stay."""
    others = {job: counts for job, counts in expected.counts.items() if not job.startswith(f"{arch}-")}
    return Expected({**expected.toolchains, arch: toolchain}, {**others, **counts_of(results)})


def differences(expected: Expected, arch: str, results: Iterable[Result], toolchain: str) -> list[str]:
    """Every counter of an architecture that is not as expected.

    With another compiler or C library those that depend on it are not compared. A job or region that is missing on
    either side is a difference as well.
    """
    counted, jobs = counts_of(results), of_arch(expected, arch)
    skipped = () if toolchain == expected.toolchains.get(arch) else OF_COMPILER
    found = []
    for job in sorted({*jobs, *counted}):
        before, now = jobs.get(job), counted.get(job)
        if before is None or now is None:
            found.append(f"{job}: {'not expected' if before is None else 'not counted'}")
            continue
        for region in sorted({*before, *now}):
            if region not in before or region not in now:
                found.append(f"{job} {region}: {'not expected' if region not in before else 'not counted'}")
                continue
            found += [f"{job} {region} {line}" for line in _changes(before[region], now[region], skipped)]
    return found


def _changes(before: Mapping[str, Numbers], now: Mapping[str, Numbers], skipped: tuple[str, ...]) -> list[str]:
    lines = []
    for level in PRIVILEGES:
        was, is_now = before.get(level, {}), now.get(level, {})
        for name in sorted({*was, *is_now}):
            one, other = was.get(name, 0), is_now.get(name, 0)
            if one != other and name not in skipped:
                lines.append(f"{level} {name}: {other}, expected {one} ({other - one:+})")
    return lines
