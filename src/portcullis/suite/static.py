# SPDX-License-Identifier: GPL-2.0-only
"""Checks that need no kernel: style, unit tests, hooks, export."""

import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from portcullis.commands.export import AUTHOR, series_of
from portcullis.core.arches import ARCHES
from portcullis.core.mail import file_name, mail
from portcullis.errors import ToolError
from portcullis.host.hardening import Plan, make_plan, read_from, read_series
from portcullis.host.process import Commands, Finished
from portcullis.host.sources import Source, fetch
from portcullis.host.workspace import Workspace
from portcullis.suite.cases import CASES
from portcullis.suite.checks import shorten

Outcome = tuple[str, str, str]  # state, detail, log
# Said of a whole tree or of mails, not of the files here.
CHECKPATCH_IGNORE = (
    "FILE_PATH_CHANGES,COMMIT_MESSAGE,MISSING_SIGN_OFF,NO_AUTHOR_SIGN_OFF,CONFIG_DESCRIPTION,"
    # The table of levels is a list macro: its entries are terms, and use only the arguments they need.
    "COMPLEX_MACRO,MACRO_ARG_UNUSED,"
    # A page table's address is what a violation report is about; oopses print it, too.
    "VSPRINTF_SPECIFIER_PX,"
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
    """The kernel's own style checker, from the fetched source, on the new files and on the hooks."""
    script = fetch(workspace, commands).path / "scripts/checkpatch.pl"
    base = ["perl", script, "--no-tree", "--terse", "--no-summary", f"--ignore={CHECKPATCH_IGNORE}"]
    files = [path for path in (workspace.kernel / "files").rglob("*") if path.suffix in (".c", ".h", ".S")]
    hooks = sorted((workspace.kernel / "hooks").rglob("*.patch"))
    found: list[str] = []
    if files:
        found += _findings(commands.capture([*base, "-f", *sorted(files)], cwd=workspace.root), workspace)
    if hooks:
        found += _findings(commands.capture([*base, "--no-signoff", *hooks], cwd=workspace.root), workspace)
    if not found:
        return "passed", f"{len(files)} files, {len(hooks)} hooks", ""
    log = workspace.log_folder("checkpatch") / "findings.txt"
    log.write_text("\n".join(found) + "\n")
    return "failed", shorten(found), str(log)


def _findings(finished: Finished, workspace: Workspace) -> list[str]:
    lines = [line for line in finished.output.splitlines() if re.search(r": (ERROR|WARNING|CHECK):", line)]
    if finished.status not in (0, 1) or (finished.status and not lines):
        lines = lines or finished.output.strip().splitlines()[-3:]
    return [line.replace(f"{workspace.root}/", "") for line in lines]


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
    """Every hook applies without fuzz and names a test that exists."""
    plans = [_plan(workspace, fetch(workspace, commands), arch) for arch in ARCHES]
    known = {case.name for case in CASES}
    problems = []
    for hook in read_series(workspace):
        problems += [f"{hook.file}: there is no test {name!r}" for name in hook.tests if name not in known]
        if not hook.tests and not hook.untested:
            problems.append(f"{hook.file}: no test is named")
    listed = {hook.file for hook in read_series(workspace)}
    base = workspace.kernel / "hooks"
    for path in sorted(base.rglob("*.patch")):
        if path.relative_to(base).as_posix() not in listed:
            problems.append(f"{path.relative_to(base)} is not in series.toml")
    return (
        ("failed" if problems else "passed"),
        shorten(problems) or ", ".join(f"{len(plan.hooks)} hooks for {plan.arch}" for plan in plans),
        "",
    )


def _plan(workspace: Workspace, source: Source, arch: str) -> Plan:
    return make_plan(workspace, source.version, arch, read_from(source.path))


def export(workspace: Workspace, commands: Commands) -> Outcome:
    """`git am` takes the series on a repository that holds the touched files, and gives the same content."""
    source = fetch(workspace, commands)
    counts = []
    for arch in ARCHES:
        plan = _plan(workspace, source, arch)
        different = _exported(workspace, commands, source, plan)
        if different:
            return "failed", shorten([f"{arch}: {path} differs after git am" for path in different]), ""
        counts.append(f"{len(plan.hooks) + 1} patches for {arch}")
    return "passed", ", ".join(counts), ""


def _exported(workspace: Workspace, commands: Commands, source: Source, plan: Plan) -> list[str]:
    commits = series_of(workspace, plan)
    with tempfile.TemporaryDirectory(prefix="portcullis-export-") as name:
        repository = Path(name) / "tree"
        patches = Path(name) / "patches"
        patches.mkdir()
        for number, commit in enumerate(commits, 1):
            text = mail(commit, number, len(commits), AUTHOR, "Thu, 01 Jan 2026 00:00:00 +0000")
            (patches / file_name(commit, number)).write_text(text)
        for path in (*plan.changed, *plan.removed):
            if (source.path / path).is_file():
                (repository / path).parent.mkdir(parents=True, exist_ok=True)
                (repository / path).write_bytes((source.path / path).read_bytes())
        repository.mkdir(exist_ok=True)
        (repository / ".base").write_text("base\n")
        _git(commands, repository, ["init", "-q"])
        _git(commands, repository, ["add", "-A"])
        _git(commands, repository, ["commit", "-q", "-m", "base"])
        _git(commands, repository, ["am", "-q", *sorted(str(path) for path in patches.iterdir())])
        return _differences(repository, plan)


def _git(commands: Commands, repository: Path, words: Iterable[str]) -> None:
    identity = [
        "-c",
        "user.name=Portcullis",
        "-c",
        "user.email=portcullis@localhost",
        "-c",
        "commit.gpgsign=false",
    ]
    finished = commands.capture(["git", *identity, "-C", repository, *words])
    if finished.status != 0:
        raise ToolError(f"git {next(iter(words))} failed\n{finished.output.strip()}")


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
    "export": export,
}
