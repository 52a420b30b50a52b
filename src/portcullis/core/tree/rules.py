# SPDX-License-Identifier: GPL-2.0-only
"""Rules of the audit of sources: files for Coccinelle with a header that says what they find and why.

A field of the header begins with its name and a colon, and goes on in lines that are indented further. `Words` is a
pattern of which a file must have a match to be worth reading; `Assembly`, if a rule has it, is one of what is looked
for in asm() and in files of assembly, which Coccinelle does not read.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

UNREAD = "unread"  # a place that Coccinelle could not parse
_FIELD = re.compile(r"// (\w[\w ]*):\s+(.*)")
_NEEDED = ("Finds", "Why", "Instead", "Words")
_KNOWN = {*_NEEDED, "Not found", "Assembly"}


@dataclass(frozen=True)
class Rule:
    """One rule; `text` is the whole file, `assembly` is None where there is nothing to look for."""

    name: str
    finds: str
    why: str
    instead: str
    words: re.Pattern[str]
    text: str
    assembly: re.Pattern[str] | None = None


def parse_rule(name: str, text: str) -> Rule:
    """A rule from its file; raises ValueError when the header lacks a field or has an unknown one."""
    fields = _fields(text)
    lacking = [field for field in _NEEDED if not fields.get(field)]
    unknown = sorted(fields.keys() - _KNOWN)
    if lacking or unknown:
        raise ValueError(f"{name}: {'no ' + lacking[0] if lacking else 'unknown field ' + unknown[0]} in the header")
    try:
        words = re.compile(fields["Words"])
        assembly = re.compile(fields["Assembly"]) if "Assembly" in fields else None
    except re.error as error:
        raise ValueError(f"{name}: {error}") from error
    return Rule(name, fields["Finds"], fields["Why"], fields["Instead"], words, text, assembly)


def _fields(text: str) -> Mapping[str, str]:
    fields: dict[str, list[str]] = {}
    last: list[str] = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if found := _FIELD.fullmatch(line):
            last = fields.setdefault(found[1], [])
            last.append(found[2].strip())
        elif line.startswith("//   "):
            last.append(line.removeprefix("//").strip())
    return {name: " ".join(lines) for name, lines in fields.items()}


def words_of(rules: Iterable[Rule]) -> str:
    """One pattern of what makes a file worth reading for any of the rules."""
    parts = dict.fromkeys(rule.words.pattern for rule in rules)
    parts |= dict.fromkeys(rule.assembly.pattern for rule in rules if rule.assembly)
    return "|".join(parts)


def joined(guards: str, rules: Iterable[Rule]) -> str:
    """All rules as one file for Coccinelle, which parses each source once then."""
    return "\n".join((guards, *(rule.text for rule in rules)))
