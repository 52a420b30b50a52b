# SPDX-License-Identifier: GPL-2.0-only
"""Examples in the documents are parts of the kernel code, which tests compile and run."""

import re
from functools import cache
from pathlib import Path

import pytest

from excerpts import BLOCK, excerpts_of, has, lines_of, patched

ROOT = Path(__file__).parents[2]
TOPICS = ROOT / "kernel/topics"
DOMAINS = ROOT / "docs/adding-a-domain.md"
NAME = re.compile(r"\b(?:__|DEFINE_|ARCH_)?(?:kpkeys|KPKEYS|PKRS|POR|PER_CPU_SECRET)_?\w*\b")


@cache
def pieces(path: str) -> tuple[tuple[str, ...], ...]:
    """All that is known of a file of the kernel tree: whole when it is ours, else what hooks make of it."""
    found = [file.read_text() for file in TOPICS.glob(f"*/files/{path}") if path and file.is_file()]
    for hook in sorted(TOPICS.glob("*/hooks/**/*.patch")):
        found += patched(hook.read_text(), path)
    return tuple(tuple(lines_of(text)) for text in found)


def excerpts() -> list[tuple[str, str]]:
    return excerpts_of(DOMAINS.read_text())


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


def prose(text: str) -> list[str]:
    """Lines that are neither code nor a table's row."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").glob("*.md") if "figures" not in path.name)],
    ids=lambda path: path.name,
)
def test_lines_of_prose_fit(path):
    assert [line for line in prose(path.read_text()) if len(line) > 120 and not line.startswith("|")] == []
