# SPDX-License-Identifier: GPL-2.0-only
"""The list of places in the kernel that are known, and why they are harmless or how the protection covers them.

An entry names files, rules and functions, says how many places they are, and why they are harmless or that they are not
covered. More of them are a problem, and so is an entry of which nothing is left; fewer are a bound to lower.
docs/static-audit.md says how to add one.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from portcullis.core.tree.findings import Finding

_WORDS = frozenset(("file", "rules", "functions", "places", "why", "not-covered"))


@dataclass(frozen=True)
class Entry:
    """Places that are known: `file` is a pattern of paths, `functions` names, or nothing for all of the file.

    `why` says what makes them harmless, `not_covered` what is wrong with them; there is one of the two.
    """

    file: str
    rules: tuple[str, ...]
    functions: tuple[str, ...]
    places: int
    why: str = ""
    not_covered: str = ""

    def has(self, finding: Finding) -> bool:
        """Whether a finding is one of these."""
        return (
            finding.rule in self.rules
            and fnmatchcase(finding.path, self.file)
            and (not self.functions or finding.function in self.functions)
        )

    def __str__(self) -> str:
        functions = f" in {', '.join(self.functions)}" if self.functions else ""
        return f"{self.file}: {', '.join(self.rules)}{functions}"


@dataclass(frozen=True)
class Listing:
    """The list; `tests` are patterns of files that are no product and are not looked at."""

    entries: tuple[Entry, ...] = ()
    tests: tuple[str, ...] = ()

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to tests, attacks or the lab."""
        return any(fnmatchcase(path, pattern) for pattern in self.tests)


@dataclass(frozen=True)
class Judged:
    """Findings, those that the list explains with their entry; problems of the list, and bounds to lower."""

    known: Mapping[Finding, Entry]
    unknown: tuple[Finding, ...]
    problems: tuple[str, ...]
    slack: tuple[str, ...]


def parse_listing(text: str, rules: Iterable[str]) -> Listing:
    """The list from TOML; raises ValueError when an entry says too little, too much, or names a rule there is not."""
    data = tomllib.loads(text)
    known = frozenset(rules)
    entries = tuple(_entry(each, known) for each in data.get("allowed", ()))
    return Listing(entries, tuple(data.get("scope", {}).get("test-files", ())))


def _entry(data: Mapping[str, Any], known: frozenset[str]) -> Entry:
    where = f"the entry of {data.get('file', 'no file')}"
    unknown = set(data) - _WORDS
    if unknown:
        raise ValueError(f"{where} has {', '.join(sorted(unknown))}")
    lacking = [word for word in ("file", "rules", "places") if not data.get(word)]
    if lacking:
        raise ValueError(f"{where} has no {lacking[0]}")
    if bool(data.get("why")) == bool(data.get("not-covered")):
        raise ValueError(f"{where} must have either why or not-covered")
    strange = sorted(set(data["rules"]) - known)
    if strange:
        raise ValueError(f"{where}: there is no rule {strange[0]}")
    return Entry(
        data["file"],
        tuple(data["rules"]),
        tuple(data.get("functions", ())),
        int(data["places"]),
        data.get("why", ""),
        data.get("not-covered", ""),
    )


def judge(listing: Listing, findings: Iterable[Finding], files: Iterable[str]) -> Judged:
    """Compares findings with the list. `files` are those that were looked at: entries of others are not judged."""
    known: dict[Finding, Entry] = {}
    unknown = []
    for finding in sorted(findings):
        entry = next((each for each in listing.entries if each.has(finding)), None)
        if entry is None:
            unknown.append(finding)
        else:
            known[finding] = entry
    problems, slack = _compared(listing, known.values(), list(files))
    return Judged(known, tuple(unknown), tuple(problems), tuple(slack))


def _compared(listing: Listing, used: Iterable[Entry], files: list[str]) -> tuple[list[str], list[str]]:
    counted: dict[int, int] = defaultdict(int)
    for entry in used:
        counted[id(entry)] += 1
    problems, slack = [], []
    for entry in listing.entries:
        number = counted[id(entry)]
        if number > entry.places:
            problems.append(f"{entry}: {number} places, {entry.places} are allowed")
        elif not number and any(fnmatchcase(path, entry.file) for path in files):
            problems.append(f"{entry}: is in the list and was not found")
        elif 0 < number < entry.places:
            slack.append(f"{entry}: places may go down from {entry.places} to {number}")
    return problems, slack


def proposal(unknown: Iterable[Finding]) -> str:
    """Entries in TOML for findings that have none, by file and rule; the reasons are left to be written."""
    grouped: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in unknown:
        grouped[finding.path, finding.rule].append(finding)
    parts = []
    for (path, rule), found in sorted(grouped.items()):
        functions = ", ".join(f'"{name}"' for name in sorted({each.function for each in found} - {""}))
        named = f"functions = [{functions}]\n" if functions else ""
        lines = "".join(f"# {each.line}: {each.text}\n" for each in found)
        parts.append(
            f'[[allowed]]\nfile = "{path}"\nrules = ["{rule}"]\n{named}places = {len(found)}\nwhy = ""\n{lines}'
        )
    return "\n".join(parts)
