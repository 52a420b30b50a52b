# SPDX-License-Identifier: GPL-2.0-only
"""KTAP: the test output of kernels and of the guest programs.

The kernel's kunit_parser.py reads one report only, and that of 6.12 never ends when a plan comes last.
"""

import re
from dataclasses import dataclass

_PRINTK = re.compile(r"^\[\s*\d+\.\d+\](?:\[[^\]]*\])? ?")
_VERSION = re.compile(r"^(?P<indent>\s*)K?TAP version \d+$")
_PLAN = re.compile(r"^(?P<indent>\s*)1\.\.(?P<count>\d+)(?:\s*#.*)?$")
_RESULT = re.compile(r"^(?P<indent>\s*)(?P<not>not )?ok (?P<number>\d+)(?: -)?\s*(?P<rest>.*)$")
DEEPEST_PLANNED = 1  # KUnit does not know beforehand how many parameters a test has


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


@dataclass
class _Block:
    """The results of one depth, between a version line or a plan and the sum of them."""

    depth: int
    planned: int | None = None
    seen: int = 0

    def fault(self) -> str:
        """What is wrong with its plan, empty when nothing is."""
        if self.planned is None:
            return "" if self.depth > DEEPEST_PLANNED else "no plan: it did not finish"
        return "" if self.planned == self.seen else f"{self.planned} tests planned, {self.seen} seen"


class _Reader:
    """Collects results; a plan that is missing or not kept becomes a failed result named `plan`."""

    def __init__(self) -> None:
        self.results: list[TestResult] = []
        self.blocks: list[_Block] = []  # those that are open, outermost first

    def end(self, depth: int) -> None:
        """Ends the blocks of this depth and those within."""
        while self.blocks and self.blocks[-1].depth >= depth:
            block = self.blocks.pop()
            if fault := block.fault():
                self.results.append(TestResult("plan", False, False, fault, block.depth))

    def begin(self, depth: int) -> None:
        """Begins a block."""
        self.end(depth)
        self.blocks.append(_Block(depth))

    def plan(self, depth: int, count: int) -> None:
        """Notes how many results there will be, or were."""
        block = self._block(depth)
        if block.planned is not None:
            self.begin(depth)
            block = self.blocks[-1]
        block.planned = count

    def result(self, result: TestResult) -> None:
        """Takes one result."""
        self._block(result.depth).seen += 1
        self.results.append(result)

    def _block(self, depth: int) -> _Block:
        self.end(depth + 1)
        if not self.blocks or self.blocks[-1].depth < depth:
            self.blocks.append(_Block(depth))
        return self.blocks[-1]


def parse_ktap(text: str) -> tuple[TestResult, ...]:
    """All result lines in a text, printk time stamps or not.

    Where a plan is not kept, or there is none and every producer prints one, a failed result follows.
    """
    reader = _Reader()
    for raw in text.splitlines():
        line = strip_printk(raw.rstrip())
        if found := _VERSION.match(line):
            reader.begin(_depth(found))
        elif found := _PLAN.match(line):
            reader.plan(_depth(found), int(found["count"]))
        elif found := _RESULT.match(line):
            reader.result(_result(found))
    reader.end(0)
    return tuple(reader.results)


def _depth(found: re.Match[str]) -> int:
    return len(found["indent"].expandtabs(8)) // 4


def _result(found: re.Match[str]) -> TestResult:
    name, _, reason = found["rest"].partition("#")
    reason = reason.strip()
    skipped = reason.upper().startswith("SKIP")
    return TestResult(name.strip(), not found["not"], skipped, reason, _depth(found))


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
