# SPDX-License-Identifier: GPL-2.0-only
"""Examples in the documents are parts of the kernel code, which tests compile and run."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPICS = ROOT / "kernel/topics"
DOMAINS = ROOT / "docs/adding-a-domain.md"
# ```c PATH: an excerpt of a file of the kernel tree; ... stands for lines left out. ```c wrong: not to be done.
BLOCK = re.compile(r"^```c ?(?P<of>.*)\n(?P<code>(?:.*\n)*?)```$", re.MULTILINE)
NAME = re.compile(r"\b(?:__|DEFINE_|ARCH_)?(?:kpkeys|KPKEYS|PKRS|POR|PER_CPU_SECRET)_?\w*\b")


def lines_of(text: str) -> list[str]:
    """Lines without what only looks: indentation, empty ones, the backslashes of macros."""
    lines = (" ".join(line.rstrip("\\").split()) for line in text.splitlines())
    return [line for line in lines if line]


def patched(patch: str, path: str) -> Iterable[str]:
    """What a patch leaves of a file; @@ stands between hunks."""
    for part in re.split(r"^--- .*\n(?=\+\+\+ )", patch, flags=re.MULTILINE)[1:]:
        if part.split("\n", 1)[0].split("\t")[0] == f"+++ b/{path}":
            hunks = re.split(r"^@@ .*\n", part, flags=re.MULTILINE)[1:]
            kept = [[line[1:] for line in hunk.splitlines() if line[:1] != "-"] for hunk in hunks]
            yield "\n@@\n".join("\n".join(lines) for lines in kept)


@cache
def pieces(path: str) -> tuple[tuple[str, ...], ...]:
    """All that is known of a file of the kernel tree: whole when it is ours, else what hooks make of it."""
    found = [file.read_text() for file in TOPICS.glob(f"*/files/{path}") if path and file.is_file()]
    for hook in sorted(TOPICS.glob("*/hooks/**/*.patch")):
        found += patched(hook.read_text(), path)
    return tuple(tuple(lines_of(text)) for text in found)


def has(piece: tuple[str, ...], excerpt: list[str]) -> bool:
    """Whether the lines are there one after another, `...` being any."""
    parts = [part.split("\n") for part in "\n".join(excerpt).split("\n...\n")]
    start = 0
    for part in parts:
        places = [at for at in range(start, len(piece)) if list(piece[at : at + len(part)]) == part]
        if not places:
            return False
        start = places[0] + len(part)
    return True


def excerpts() -> list[tuple[str, str]]:
    blocks = [(found["of"].strip(), found["code"]) for found in BLOCK.finditer(DOMAINS.read_text())]
    return [(of, code) for of, code in blocks if of != "wrong"]


def test_the_document_has_excerpts():
    assert len(excerpts()) >= 5
    assert DOMAINS.read_text().count("```") == 2 * len(BLOCK.findall(DOMAINS.read_text()))


@pytest.mark.parametrize(("path", "code"), excerpts())
def test_an_excerpt_is_what_the_kernel_part_has(path, code):
    assert any(has(piece, lines_of(code)) for piece in pieces(path)), f"{path} has no such lines"


def test_a_changed_line_would_be_seen():
    path, code = excerpts()[0]
    assert not any(has(piece, [*lines_of(code), "and another"]) for piece in pieces(path))


def test_every_name_in_it_exists():
    code = "\n".join(path.read_text() for path in TOPICS.rglob("*") if path.is_file())
    known = set(re.findall(r"\w+", code))
    assert sorted(set(NAME.findall(DOMAINS.read_text())) - known) == []


def test_the_costs_in_the_readme_are_those_of_the_figures():
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if re.match(r"\| (PKS|CR0|POE)", line)]
    costs = re.findall(r"-?[\d.]+ to -?[\d.]+%", "\n".join(rows))
    figures = "".join(path.read_text() for path in sorted((ROOT / "docs").glob("figures*.md")))
    assert len(costs) == 9
    assert [cost for cost in costs if f"| {cost}" not in figures] == []
