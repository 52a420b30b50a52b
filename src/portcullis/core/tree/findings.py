# SPDX-License-Identifier: GPL-2.0-only
"""What the rules find: lines of Coccinelle, what it could not parse, and assembly."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from portcullis.core.tree.rules import UNREAD, Rule

_FOUND = re.compile(r"(?P<path>.+?):(?P<line>\d+):\d+-\d+: (?P<rule>[a-z]+-[a-z]+) in (?P<function>.*)")
_ERROR = re.compile(r' = File "(?P<path>[^"]+)", line (?P<line>\d+)')
_GIVEN_UP = re.compile(r"EXN: *(?P<what>.+) in (?P<path>\S.*)")
_BAD = re.compile(r"(?:bad|BAD:!!!!!)[: ] ?(.*)")
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_HASH = re.compile(r"^[ \t]*#(?![ \t]*define\b)[^\n]*", re.MULTILINE)
_ASM = re.compile(r"\b(?:asm|__asm__|__asm|asm_inline)\b(?:\s*(?:__)?(?:volatile|goto|inline)(?:__)?\b)*\s*\(")
_FUNCTION = re.compile(r"^(?![ \t#}]|typedef|struct \w+ \{)[^;{}=]*?\b(\w+)\s*\([^;]*$")
_LABEL = re.compile(r"^(?:SYM_\w+\((\w+)|([A-Za-z_]\w*):)")


@dataclass(frozen=True, order=True)
class Finding:
    """A place; `function` is what it is in, empty where that is not known, and `text` is the line of the source."""

    path: str
    line: int
    rule: str
    function: str = ""
    text: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


@dataclass(frozen=True, order=True)
class Unread:
    """A place that could not be parsed; `region` is all that was skipped for it."""

    path: str
    line: int
    region: str = ""


def parse_found(output: str) -> list[Finding]:
    """Findings from what Coccinelle prints; each place once."""
    found = (_FOUND.fullmatch(line) for line in output.splitlines())
    return sorted({Finding(each["path"], int(each["line"]), each["rule"], each["function"]) for each in found if each})


def parse_unread(errors: str) -> list[Unread]:
    """Places that could not be parsed from what Coccinelle says of them; those of files that it gave up have line 1."""
    places: list[Unread] = []
    at: tuple[str, int] | None = None
    for line in errors.splitlines():
        if found := _ERROR.match(line):
            at = (found["path"], int(found["line"]))
            places.append(Unread(*at))
        elif at and (found := _BAD.match(line)):
            last = places[-1]
            places[-1] = Unread(last.path, last.line, f"{last.region}{found[1]}\n")
        elif found := _GIVEN_UP.fullmatch(line):
            places.append(Unread(found["path"], 1, f"given up: {found['what']}"))
    return places


def matter(places: Iterable[Unread], rules: Iterable[Rule]) -> list[Unread]:
    """Those of the places that have a word which a rule looks for: something in them may have been missed."""
    words = re.compile("|".join(rule.words.pattern for rule in rules))
    return [place for place in places if not place.region.count("\n") or words.search(place.region)]


def in_assembly(path: str, text: str, rules: Iterable[Rule]) -> list[Finding]:
    """What rules find in the assembly of a source: all of a .S file, what is in asm() of others."""
    wanted = [rule for rule in rules if rule.assembly and rule.assembly.search(text)]
    if not wanted:
        return []
    code = _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
    if path.endswith(".S"):
        code = _HASH.sub("", code)
        pieces: Iterable[tuple[int, str]] = [(0, code)]
    else:
        pieces = list(_statements(code))
    lines = text.splitlines()
    found = []
    for start, piece in pieces:
        for rule in wanted:
            assert rule.assembly is not None
            for match in rule.assembly.finditer(piece):
                number = code.count("\n", 0, start + match.start()) + 1
                found.append(Finding(path, number, rule.name, _around(lines, number, path.endswith(".S"))))
    return sorted(set(found))


def _statements(code: str) -> Iterator[tuple[int, str]]:
    """Each asm() of C code and where it begins."""
    for found in _ASM.finditer(code):
        depth, at, quoted = 1, found.end(), False
        while depth and at < len(code):
            letter = code[at]
            if quoted:
                at += letter == "\\"
                quoted = letter != '"'
            else:
                quoted = letter == '"'
                depth += (letter == "(") - (letter == ")")
            at += 1
        yield found.start(), code[found.start() : at]


def _around(lines: list[str], number: int, labels: bool) -> str:
    """The function, or the label, that a line is in, as its first line looks."""
    for line in reversed(lines[:number]):
        if found := (_LABEL if labels else _FUNCTION).match(line):
            return next(name for name in found.groups() if name)
    return ""


def with_text(findings: Iterable[Finding], lines: list[str]) -> list[Finding]:
    """Findings of one file with the lines of its source."""
    return [
        Finding(each.path, each.line, each.rule, each.function, _line(lines, each.line, each.text)) for each in findings
    ]


def _line(lines: list[str], number: int, otherwise: str) -> str:
    return " ".join(lines[number - 1].split()) if 0 < number <= len(lines) else otherwise


def as_finding(place: Unread) -> Finding:
    """A place that could not be parsed, as something that has to be explained."""
    return Finding(place.path, place.line, UNREAD, "", place.region.partition("\n")[0])
