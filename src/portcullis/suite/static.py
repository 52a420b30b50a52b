# SPDX-License-Identifier: GPL-2.0-only
"""Checks that need no kernel: style, unit tests, hooks, export."""

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from portcullis.commands.export import AUTHOR
from portcullis.core.arches import ARCHES
from portcullis.core.foreign import added_lines, leaks, names_in
from portcullis.core.lanes import OPTIONAL, TESTED
from portcullis.core.topics import ALL, KINDS, PRODUCT, Selection
from portcullis.errors import ToolError
from portcullis.host.coverletter import cover_letter
from portcullis.host.exporting import COVER, Repository, steps_of, write_series
from portcullis.host.hardening import Plan, make_plan, read_from, read_topics, texts_of
from portcullis.host.newer import KERNELS, fetch_kernel
from portcullis.host.process import Commands, Finished
from portcullis.host.sources import Source, fetch
from portcullis.host.workspace import Workspace
from portcullis.suite.cases import CASES, LEFT_OUT
from portcullis.suite.checks import shorten
from portcullis.suite.treeaudit import audit_linux, audit_modules

Outcome = tuple[str, str, str]  # state, detail, log
# MAINTAINERS changes once, in the documentation's topic; help texts are as short as they can be.
CHECKPATCH_IGNORE = (
    "FILE_PATH_CHANGES,CONFIG_DESCRIPTION,"
    # Two headers have what differs between versions.
    "LINUX_VERSION_CODE,CONSTANT_COMPARISON,"
    # A saved register that cannot be right is worth a stop.
    "AVOID_BUG,"
    # The table of levels is a list macro: its entries are terms, and use only the arguments they need.
    "COMPLEX_MACRO,MACRO_ARG_UNUSED,"
    # printk_deferred() has no level of its own; DEFINE_STATIC_KEY_FALSE_RO() is not recognised as a definition.
    "UNNECESSARY_KERN_LEVEL,EXPORT_SYMBOL"
)


def style_python(workspace: Workspace, commands: Commands) -> Outcome:
    """Ruff: rules and layout."""
    base = [sys.executable, "-m", "ruff"]
    for what in (
        ["check", "--no-cache", "src", "tests"],
        ["format", "--no-cache", "--check", "src", "tests"],
    ):
        finished = commands.capture([*base, *what], cwd=workspace.root)
        if finished.status != 0:
            return "failed", shorten(finished.output.strip().splitlines()), ""
    return "passed", "", ""


def style_kernel(workspace: Workspace, commands: Commands) -> Outcome:
    """The kernel's own style checker, from the fetched source, on the exported patches."""
    source = fetch(workspace, commands)
    plan = _plan(workspace, source, ALL)
    words = ["--no-tree", "--terse", "--showfile", "--no-summary", f"--ignore={CHECKPATCH_IGNORE}"]
    found: list[str] = []
    # checkpatch.pl leaves files where it runs.
    with tempfile.TemporaryDirectory(prefix="portcullis-style-") as name:
        written = _write(workspace, source, plan, Path(name))
        patches = [path for path in written if path.name != COVER]
        for each, patch in zip(steps_of(plan), patches, strict=True):
            finished = commands.capture(["perl", source.path / "scripts/checkpatch.pl", *words, patch], cwd=Path(name))
            found += [f"{each.name}: {line}" for line in _findings(finished)]
    if not found:
        return "passed", f"{len(patches)} patches", ""
    log = workspace.log_folder("checkpatch") / "findings.txt"
    log.write_text("\n".join(found) + "\n")
    return "failed", shorten(found), str(log)


def _findings(finished: Finished) -> list[str]:
    lines = [line for line in finished.output.splitlines() if re.search(r": (ERROR|WARNING|CHECK):", line)]
    if finished.status not in (0, 1) or (finished.status and not lines):
        lines = lines or finished.output.strip().splitlines()[-3:]
    return lines


def unit(workspace: Workspace, commands: Commands) -> Outcome:
    """Pytest on tests/unit."""
    finished = commands.capture([sys.executable, "-m", "pytest", "tests/unit"], cwd=workspace.root)
    lines = finished.output.strip().splitlines()
    if finished.status != 0:
        return "failed", "\n".join(lines[-12:]), ""
    return "passed", lines[-1].strip("= ") if lines else "", ""


def pytest_in(folder: str) -> Callable[[Workspace, Commands], Outcome]:
    """Pytest on a folder of tests that need more than the unit tests do; a skipped one is one that did not test."""

    def check(workspace: Workspace, commands: Commands) -> Outcome:
        finished = commands.capture([sys.executable, "-m", "pytest", "-rs", f"tests/{folder}"], cwd=workspace.root)
        lines = finished.output.strip().splitlines()
        if finished.status != 0 or any(line.startswith("SKIPPED") for line in lines):
            return "failed", "\n".join(lines[-12:]), ""
        return "passed", lines[-1].strip("= ") if lines else "", ""

    return check


def hooks(workspace: Workspace, commands: Commands) -> Outcome:
    """Every hook applies without fuzz, with all topics and with fewer, and names a test that exists."""
    source = fetch(workspace, commands)
    plans = [_plan(workspace, source, arch) for arch in (*ARCHES, ALL)]
    # With any part of the optional topics, and with any part of what is not product, all that is left applies.
    chosen = [Selection(ALL, TESTED, (topic, *needers)) for topic, needers, _ in LEFT_OUT]
    chosen += [Selection(ALL, kinds, OPTIONAL) for kinds in ((), TESTED)]
    chosen += [Selection(ALL, kinds) for kinds in (("tests",), ("attacks",), ("lab",), ("lab", "designs"))]
    for selection in dict.fromkeys(chosen):
        make_plan(workspace, source.version, selection, read_from(source.path))
    known = {case.name for case in CASES}
    problems = []
    for topic in read_topics(workspace):
        problems += [f"{topic.name}: there is no test {name!r}" for name in topic.tests if name not in known]
        for hook in topic.hooks:
            problems += [f"{hook.id}: there is no test {name!r}" for name in hook.tests if name not in known]
    return (
        ("failed" if problems else "passed"),
        shorten(problems) or ", ".join(f"{len(plan.hooks)} hooks for {plan.selection.arch}" for plan in plans),
        "",
    )


def newest_hooks(workspace: Workspace, commands: Commands) -> Outcome:
    """The hooks for the newest kernel apply to it without fuzz.

    Backports change: where they have another kernel by now this is skipped.
    """
    try:
        source = fetch_kernel(workspace, commands, KERNELS[-1])
    except ToolError as error:
        return "skipped", str(error), ""
    plans = [_plan(workspace, source, arch) for arch in (*ARCHES, ALL)]
    counted = ", ".join(f"{len(plan.hooks)} hooks for {plan.selection.arch}" for plan in plans)
    return "passed", f"{counted}, Linux {source.version}", ""


def _plan(workspace: Workspace, source: Source, arch: str, kinds: tuple[str, ...] = KINDS[1:]) -> Plan:
    return make_plan(workspace, source.version, Selection(arch, kinds), read_from(source.path))


def export(workspace: Workspace, commands: Commands) -> Outcome:
    """`git am` takes all series on a repository that holds the touched files, and gives the same content."""
    source = fetch(workspace, commands)
    plan = _plan(workspace, source, ALL)
    with tempfile.TemporaryDirectory(prefix="portcullis-export-") as name:
        folder = Path(name)
        patches = _write(workspace, source, plan, folder)
        taken = Repository(folder / "tree", AUTHOR)
        taken.base(plan, read_from(source.path))
        taken.git("am", "-q", "--empty=drop", *patches)
        different = _differences(taken.folder, plan)
    if different:
        return "failed", shorten([f"{path} differs after git am" for path in different]), ""
    return "passed", f"{len(patches)} patches", ""


def _write(workspace: Workspace, source: Source, plan: Plan, folder: Path) -> list[Path]:
    cover = cover_letter(workspace, plan)
    return write_series(Repository(folder / "origin", AUTHOR), plan, read_from(source.path), folder / "patches", cover)


def product(workspace: Workspace, commands: Commands) -> Outcome:
    """Plain apply and export bring nothing of tests, attacks and the lab: no file of theirs, no option, no function."""
    source = fetch(workspace, commands)
    plan = _plan(workspace, source, ALL, ())
    others = [topic for topic in read_topics(workspace) if topic.kind != PRODUCT]
    theirs = texts_of(workspace, others)
    problems = [f"{path} is there" for topic in others for path in topic.files if path in plan.files]
    applied = {path: content.decode() for path, content in plan.added.items()}
    applied |= {hook.path: added_lines(hook.diff) for hook in plan.hooks}
    problems += leaks(applied, theirs)
    with tempfile.TemporaryDirectory(prefix="portcullis-product-") as name:
        patches = _write(workspace, source, plan, Path(name))
        exported = {path.name: added_lines(path.read_text()) for path in patches}
    problems += leaks(exported, theirs)
    counted = f"{len(names_in(theirs))} names looked for in {len(applied)} files and hooks, {len(exported)} patches"
    return ("failed", shorten(problems), "") if problems else ("passed", counted, "")


def _differences(repository: Path, plan: Plan) -> list[str]:
    read = read_from(repository)
    return [path for path, content in plan.files.items() if read(path) != content]


CHECKS: dict[str, Callable[[Workspace, Commands], Outcome]] = {
    "style-python": style_python,
    "style-kernel": style_kernel,
    "unit": unit,
    "cluster": pytest_in("cluster"),
    "browser": pytest_in("browser"),
    "hooks": hooks,
    "newest-hooks": newest_hooks,
    "product": product,
    "export": export,
    "audit-modules": audit_modules,
    "audit-linux": audit_linux,
}
