# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's user land in a virtual machine, and what came of its work."""

from collections.abc import Mapping
from dataclasses import dataclass

from portcullis.core.ktap import TestResult

RELEASES = ("bookworm", "trixie")
ROOT = "root=/dev/vda rw"
RESUME = "resume=/dev/vdb"  # the empty disk, behind the root's
CRASH_MEMORY = "crashkernel=256M"  # for the kernel that saves what is left of another one
WORK = "portcullis.work"
QUIET = "systemd.show_status=0"
ALL = "all"
SKIPPED = "skipped: "
DIES = "portcullis: this kernel is made to die"  # trial.d/98-kdump writes it to the console
BEGINS = "Linux version "
OURS = "kpkeys:"


@dataclass(frozen=True)
class Run:
    """One boot's work. `results` is by part, `complaints` are lines of the console that no boot should have."""

    mode: str
    backend: str
    results: Mapping[str, str]
    complaints: tuple[str, ...]
    trouble: str = ""

    @property
    def label(self) -> str:
        """How a table calls it."""
        return f"{self.mode} {self.backend}" if self.backend and self.mode != "off" else self.mode


def part_name(file_name: str) -> str:
    """`20-postgresql` -> `postgresql`."""
    return file_name.split("-", 1)[1]


def read_results(tests: tuple[TestResult, ...]) -> dict[str, str]:
    """Verdict of each part; what cannot be done here is skipped, with the reason."""
    return {test.name: _verdict(test) for test in tests}


def without_asked_death(console: str) -> str:
    """The console without what a kernel says that work lets die, but for what the protection says of it."""
    kept, dying = [], False
    for line in console.splitlines():
        dying = (dying or DIES in line) and BEGINS not in line
        kept.append("" if dying and OURS not in line else line)
    return "\n".join(kept)


def _verdict(test: TestResult) -> str:
    if test.skipped:
        return SKIPPED + test.reason[len("SKIP") :].strip()
    return "passed" if test.passed else f"failed: {test.reason}"


def rows(runs: tuple[Run, ...]) -> list[tuple[str, ...]]:
    """A table: each part, and what came of it in each run; in the last row what the kernel complained of."""
    parts = dict.fromkeys(part for run in runs for part in run.results)
    table = [(part, *(run.results.get(part, "-") for run in runs)) for part in parts]
    return [*table, ("reports", *(run.trouble or str(len(run.complaints)) for run in runs))]


def differences(runs: tuple[Run, ...]) -> list[str]:
    """What is wrong: a run that did not end, a complaint, a failure, a part whose result is not that of the others."""
    found = []
    for run in runs:
        found += [f"{run.label}: {run.trouble}"] if run.trouble else []
        found += [f"{run.label}: {line}" for line in run.complaints]
        found += [
            f"{run.label}: {part} {result}" for part, result in run.results.items() if result.startswith("failed")
        ]
    for part, *results in rows(runs)[:-1]:
        if len({SKIPPED if result.startswith(SKIPPED) else result for result in results}) > 1:
            found.append(f"{part} differs: {', '.join(results)}")
    return found
