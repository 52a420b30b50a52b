# SPDX-License-Identifier: GPL-2.0-only
"""Linux' own tests (kselftest) in a distribution's user land, and whether the protection changes what comes of them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portcullis.core.splats import Splat

TESTS = "portcullis.tests"
# Those that a machine without special devices runs, and that need no module.
COLLECTIONS = (
    *("mm", "x86", "vDSO", "memory-hotplug", "memfd", "mincore", "membarrier", "ptrace", "seccomp", "cgroup"),
    *("breakpoints", "clone3", "core", "exec", "futex", "ipc", "kcmp", "landlock", "mqueue", "openat2", "pidfd"),
    *("proc", "rseq", "sigaltstack", "splice", "syscall_user_dispatch", "timens", "user_events"),
    # Who may do what: IDs, capabilities, and user namespaces.
    *("acct", "capabilities", "mount", "mount_setattr", "nsfs", "pid_namespace", "rlimits"),
    *("safesetid", "tmpfs"),
)
PASS, FAIL, SKIP, NONE = "pass", "fail", "skip", "-"
# What the protection says is wrong in any run, whatever the tests provoke.
OURS = ("violation", "open-section", "unkeyed")
_RESULT = re.compile(
    r"^#test (?P<test>\S+) (?P<inner># )?(?P<not>not )?ok \d+ ?(?:- )?(?P<name>.*?)(?: # (?P<why>.*))?$", re.MULTILINE
)
_CHANGES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d{4,}")  # addresses and process IDs in a test's name


@dataclass(frozen=True)
class SelftestRun:
    """One boot's tests: verdicts by name, what the console complained of, and what was wrong with the run itself."""

    label: str
    verdicts: Mapping[str, str]
    complaints: tuple[Splat, ...]
    trouble: str = ""


def read_verdicts(text: str) -> dict[str, str]:
    """Verdicts of tests and of parts that they name, from what the guest sent; names that come again get a number."""
    verdicts: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for found in _RESULT.finditer(text):
        part = f": {_CHANGES.sub('N', found['name'])}" if found["inner"] else ""
        name = found["test"] + part
        seen[name] += 1
        skipped = (found["why"] or "").startswith("SKIP")
        verdict = SKIP if skipped else FAIL if found["not"] else PASS
        verdicts[name if seen[name] == 1 else f"{name} ({seen[name]})"] = verdict
    return verdicts


def collections_of(text: str) -> tuple[str, ...]:
    """Names that a user gives, separated by commas. Raises ValueError for one that is not known."""
    names = tuple(name for name in text.split(",") if name)
    unknown = [name for name in names if name not in COLLECTIONS]
    if unknown or not names:
        raise ValueError(f"there are no tests {unknown[0] if unknown else text!r}")
    return names


def counted(run: SelftestRun, collection: str) -> str:
    """How many of a collection's tests and parts passed, failed and were skipped."""
    of_it = Counter(verdict for name, verdict in run.verdicts.items() if name.startswith(f"{collection}:"))
    return "/".join(str(of_it[verdict]) for verdict in (PASS, FAIL, SKIP))


def table_of(runs: tuple[SelftestRun, ...], collections: Iterable[str]) -> list[tuple[str, ...]]:
    """Each collection: passed/failed/skipped in each run; in the last row what the protection reported."""
    rows = [(name, *(counted(run, name) for run in runs)) for name in collections]
    return [*rows, ("reports", *(run.trouble or str(len(_ours(run))) for run in runs))]


def differences(runs: tuple[SelftestRun, ...]) -> list[str]:
    """What is wrong: runs that did not end, complaints that the first has not, verdicts that are not the first's."""
    usual = {splat.kind for splat in runs[0].complaints} - set(OURS)
    found = [f"{run.label}: {run.trouble}" for run in runs if run.trouble]
    for run in runs:
        unusual = [splat for splat in run.complaints if splat.kind not in usual]
        found += [f"{run.label}: console line {splat.number}: {splat.line}" for splat in unusual]
    for name in dict.fromkeys(name for run in runs for name in run.verdicts):
        verdicts = {run.label: run.verdicts.get(name, NONE) for run in runs}
        if len(set(verdicts.values())) > 1:
            found.append(f"{name}: " + ", ".join(f"{label} {verdict}" for label, verdict in verdicts.items()))
    return found


def _ours(run: SelftestRun) -> tuple[Splat, ...]:
    return tuple(splat for splat in run.complaints if splat.kind in OURS)
