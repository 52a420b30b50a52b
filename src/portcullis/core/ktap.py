# SPDX-License-Identifier: GPL-2.0-only
"""KTAP: the test output of kernels and of the guest programs."""

import re
from dataclasses import dataclass

_PRINTK = re.compile(r"^\[\s*\d+\.\d+\](?:\[[^\]]*\])? ?")
_RESULT = re.compile(r"^(?P<indent>\s*)(?P<not>not )?ok (?P<number>\d+)(?: -)?\s*(?P<rest>.*)$")


@dataclass(frozen=True)
class TestResult:
    """One result line; `depth` counts nesting (0 = outermost), `reason` is the text after #."""

    name: str
    passed: bool
    skipped: bool
    reason: str
    depth: int


def strip_printk(line: str) -> str:
    """A console line without the kernel's time stamp."""
    return _PRINTK.sub("", line)


def parse_ktap(text: str) -> tuple[TestResult, ...]:
    """All result lines in a text, printk time stamps or not."""
    results = []
    for line in text.splitlines():
        found = _RESULT.match(strip_printk(line.rstrip()))
        if not found:
            continue
        name, _, reason = found["rest"].partition("#")
        reason = reason.strip()
        skipped = reason.upper().startswith("SKIP")
        depth = len(found["indent"].expandtabs(8)) // 4
        results.append(TestResult(name.strip(), not found["not"], skipped, reason, depth))
    return tuple(results)


def leaves(results: tuple[TestResult, ...]) -> tuple[TestResult, ...]:
    """Results that are not the sum of nested results printed before them."""
    kept = []
    for index, result in enumerate(results):
        is_sum = index > 0 and results[index - 1].depth > result.depth
        if not is_sum:
            kept.append(result)
    return tuple(kept)


def failures(results: tuple[TestResult, ...]) -> tuple[TestResult, ...]:
    """Results that failed and were not skipped."""
    return tuple(result for result in results if not result.passed and not result.skipped)
