# SPDX-License-Identifier: GPL-2.0-only
"""The audit of sources: a module that is wrong in every way, one that is right, and Linux with Portcullis."""

import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from kit.row import Row
from portcullis.core.topics import ALL, Selection
from portcullis.core.tree.findings import Finding
from portcullis.core.tree.rules import UNREAD
from portcullis.host.applying import apply, plan_apply
from portcullis.host.process import Commands
from portcullis.host.sources import fetch, work_copy
from portcullis.host.treeaudit import audit_tree, read_rules, sources_of
from portcullis.host.workspace import Workspace

_MARK = re.compile(r"/\* ((?:[a-z]+-[a-z]+|unread)(?:, (?:[a-z]+-[a-z]+|unread))*) \*/\s*$")


def expected_in(folder: Path) -> set[tuple[str, int, str]]:
    """Places that comments in the sources of a module name: path, line, rule."""
    places = set()
    for path in sources_of(folder, (), kernel=False):
        for number, line in enumerate((folder / path).read_text().splitlines(), 1):
            if found := _MARK.search(line):
                places |= {(path, number, rule) for rule in found[1].split(", ")}
    return places


def test_audit_modules(workspace: Workspace, row: Row) -> None:
    """The bad module is found completely, with no rule more than it names; and each rule is needed for that."""
    if not shutil.which("spatch"):
        row.fail("spatch is not installed: run portcullis doctor")
    base = workspace.root / "tests/tree"
    expected, rules = expected_in(base / "bad"), read_rules()
    problems = [f"nothing in the bad module is for {rule.name}" for rule in rules if not _of(expected, rule.name)]
    problems += _differences(expected, audit_tree(base / "bad").judged.unknown)
    problems += [f"in the good module: {finding}" for finding in audit_tree(base / "good").judged.unknown]
    for rule in rules:
        others = tuple(each for each in rules if each != rule)
        left = {(each.path, each.line, each.rule) for each in audit_tree(base / "bad", rules=others).judged.unknown}
        if _without_unread(left) != _without_unread(expected - _of(expected, rule.name)):
            problems.append(f"without {rule.name} other things are found than without its places")
    row.assert_none(problems, f"{len(expected)} places found by {len(rules)} rules")


def _of(places: Iterable[tuple[str, int, str]], rule: str) -> set[tuple[str, int, str]]:
    return {place for place in places if place[2] == rule}


def _without_unread(places: set[tuple[str, int, str]]) -> set[tuple[str, int, str]]:
    """Which of them matter depends on the words of all rules."""
    return places - _of(places, UNREAD)


def _differences(expected: set[tuple[str, int, str]], found: Iterable[Finding]) -> list[str]:
    places = {(each.path, each.line, each.rule) for each in found}
    return [f"{path}:{line}: {rule} is not found" for path, line, rule in sorted(expected - places)] + [
        f"{path}:{line}: {rule} is found" for path, line, rule in sorted(places - expected)
    ]


@pytest.mark.long
def test_audit_linux(workspace: Workspace, commands: Commands, row: Row) -> None:
    """The fetched source with all of the product: nothing that is not on the list, and nothing on it that is gone."""
    source = fetch(workspace, commands)
    with tempfile.TemporaryDirectory(prefix="audit-", dir=workspace.folder("trees")) as name:
        tree = Path(name) / "linux"
        work_copy(source, tree)
        apply(tree, plan_apply(workspace, tree, Selection(ALL)))
        found = audit_tree(tree)
    problems = [*found.judged.problems, *(str(finding) for finding in found.judged.unknown)]
    row.assert_none(problems, found.summary)


def test_each_rule_has_a_place_in_the_bad_module(workspace: Workspace) -> None:
    base = workspace.root / "tests/tree"
    named = {rule for _, _, rule in expected_in(base / "bad")}
    assert named == {rule.name for rule in read_rules()} | {UNREAD}
    assert expected_in(base / "good") == set()
