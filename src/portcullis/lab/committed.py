# SPDX-License-Identifier: GPL-2.0-only
"""Counts that are kept in the repository, so that the tables that rest on them can be made again without a run."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from portcullis.lab.results import Result, dump_result, load_result

FORMAT = 1
INDENT = " "


def dump_committed(results: Iterable[Result]) -> str:
    """The file: a line for each region, so that a change of counts is a change of few lines."""
    jobs = []
    for result in sorted(results, key=lambda each: each.job):
        data = json.loads(dump_result(result))
        head = [f"{INDENT}{json.dumps(name)}: {json.dumps(value)}" for name, value in data.items() if name != "regions"]
        regions = [
            f"{INDENT * 2}{json.dumps(name)}: {json.dumps(region)}" for name, region in sorted(data["regions"].items())
        ]
        inside = ",\n".join([*head, f'{INDENT}"regions": {{\n' + ",\n".join(regions) + f"\n{INDENT}}}"])
        jobs.append(f"{{\n{inside}\n}}")
    return f'{{"format": {FORMAT}, "results": [\n' + ",\n".join(jobs) + "\n]}\n"


def parse_committed(text: str) -> tuple[Result, ...]:
    """Reads such a file; raises ValueError when it is damaged or of a later format."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']} is not known to this version")
        return tuple(load_result(json.dumps(each)) for each in data["results"])
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"damaged counts ({type(error).__name__}: {error})") from error


@dataclass(frozen=True)
class Merged:
    """The later result of each job, and how many of them are the committed ones."""

    results: tuple[Result, ...]
    committed: int

    @property
    def said(self) -> str:
        """Where the counts are from."""
        fresh, file = len(self.results) - self.committed, "src/portcullis/data/counts.json"
        if not self.committed:
            return f"{fresh} jobs, all counted on this machine"
        if not fresh:
            return f"{self.committed} jobs, all as they are committed ({file}): nothing newer is in the cache"
        return f"{fresh} jobs counted on this machine, {self.committed} as they are committed ({file})"


def merge(committed: Iterable[Result], cached: Iterable[Result]) -> Merged:
    """Of each job the result that was counted later; of two of the same time the cached one."""
    kept = {result.job: result for result in committed}
    found = dict(kept)
    for result in cached:
        if result.job not in found or result.when >= found[result.job].when:
            found[result.job] = result
    same = sum(found[job] is result for job, result in kept.items())
    return Merged(tuple(found[job] for job in sorted(found)), same)
