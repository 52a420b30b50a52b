# SPDX-License-Identifier: GPL-2.0-only
"""Drops one hook at a time and looks whether the tests that series.toml names notice."""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from portcullis.core.series import Hook
from portcullis.errors import ToolError
from portcullis.host.builder import BuildOptions
from portcullis.host.workspace import Workspace
from portcullis.suite.cases import CASES
from portcullis.suite.engine import Engine

HEADER = re.compile(r"^\+\+\+ b/(?:.*/)?include/", re.MULTILINE)
MOST_SECONDS = 150.0  # of a boot: without a hook some hang; the evidence then says so


@dataclass(frozen=True)
class Mutation:
    """What happened without a hook: `noticed` is how, empty when every named test still passed."""

    hook: str
    noticed: str
    evidence: str
    seconds: float


def mutations(workspace: Workspace, options: BuildOptions, hooks: Iterable[Hook]) -> Iterable[Mutation]:
    """Yields one mutation per hook. All share one work tree and one build folder per lane.

    Headers go last: without one, nearly everything is compiled again, twice.
    """
    for hook in sorted(hooks, key=lambda hook: _changes_header(workspace, hook)):
        started = time.monotonic()
        noticed, evidence = _without(workspace, replace(options, leave_out=hook.name, name="mutate"), hook)
        yield Mutation(hook.file, noticed, shown(evidence), time.monotonic() - started)


def shown(evidence: str) -> str:
    """Evidence as one line of a table, without the folders of this machine."""
    return re.sub(r"\S*/trees/[^/\s]+/", "", " ".join(evidence.split()))[:180]


def _changes_header(workspace: Workspace, hook: Hook) -> bool:
    return bool(HEADER.search((workspace.kernel / "hooks" / hook.file).read_text()))


def _without(workspace: Workspace, options: BuildOptions, hook: Hook) -> tuple[str, str]:
    engine = Engine(workspace, options)
    cases = [case for case in CASES if case.name in hook.tests]
    if not cases:
        return "", f"no test named {', '.join(hook.tests) or '(none)'} exists"
    for case in cases:
        try:
            engine.kernel(case.lane, case.arch)
        except ToolError as error:
            return "does not build", str(error)
        timeout = min(case.machine.timeout, MOST_SECONDS)
        row = engine.run_case(replace(case, machine=replace(case.machine, timeout=timeout)))
        if row.state == "failed":
            return f"{case.name} fails", row.detail
    return "", f"{', '.join(hook.tests)} still passed"


def markdown(rows: Iterable[Mutation], kernel: str) -> str:
    """The table for the documentation."""
    lines = [
        "# What each hook is needed for",
        "",
        f"`portcullis test --mutate` on Linux {kernel}: each hook is dropped alone, the kernel is built again and the",
        "tests that kernel/series.toml names for it run. A hook that nobody misses would be a hook without a test.",
        "",
        "| hook | without it | evidence |",
        "| --- | --- | --- |",
    ]
    for row in rows:
        evidence = row.evidence.replace("|", "\\|")
        lines.append(f"| {row.hook} | {row.noticed or '**nothing noticed**'} | {evidence} |")
    return "\n".join(lines) + "\n"
