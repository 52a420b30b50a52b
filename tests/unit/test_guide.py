# SPDX-License-Identifier: GPL-2.0-only
"""The guide to jitgate: its code is that of the engines, its figures are those of the other documents."""

import re
from pathlib import Path

import pytest

from excerpts import BLOCK, excerpts_of, has, lines_of, patched

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = (DOCS / "jitgate-afternoon.md").read_text()
LINK = re.compile(r"\]\((?P<file>[^)#:]*)(?:#(?P<place>[^)]*))?\)")


def pieces(path: str) -> list[tuple[str, ...]]:
    """The file, or what a patch leaves of each file that it changes."""
    text = (ROOT / path).read_text()
    return [tuple(lines_of(part)) for part in (patched(text) if path.endswith(".patch") else [text])]


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> set[str]:
    """Rows of tables with a figure in them."""
    return {line for line in text.splitlines() if line.startswith("|") and re.search(r"\d", line)}


def places(text: str) -> set[str]:
    """What a link can name in a document."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_it_has_excerpts_of_each_case():
    files = {path.split("/")[1] for path, _ in excerpts_of(GUIDE)}
    assert files == {"examples", "luajit", "pcre2"}
    assert GUIDE.count("```") == 2 * len(BLOCK.findall(GUIDE))


@pytest.mark.parametrize(("path", "code"), excerpts_of(GUIDE))
def test_an_excerpt_is_what_the_file_has(path, code):
    assert any(has(piece, lines_of(code)) for piece in pieces(path)), f"{path} has no such lines"


def test_a_removed_line_of_a_patch_is_none():
    assert list(patched("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n")) == ["new\nsame"]


def test_costs_are_those_that_were_measured():
    known = rows((DOCS / "jitgate.md").read_text()) | rows((DOCS / "pcre2.md").read_text())
    quoted = rows(section(GUIDE, "What it costs"))
    assert len(quoted) >= 14 and quoted - known == set()
    outside = GUIDE.replace(section(GUIDE, "What it costs"), "")
    assert re.findall(r"[\d.]+(?: ns|%| million)", outside) == []


def test_every_name_is_in_the_header():
    header = (ROOT / "jit/include/jitgate.h").read_text()
    prose = BLOCK.sub("", GUIDE)
    names = set(re.findall(r"\bjitgate_\w+(?=\()|\bJITGATE_\w+", prose))
    assert len(names) >= 15 and sorted(name for name in names if not re.search(rf"\b{name}\b", header)) == []


def test_every_link_leads_somewhere():
    links = [(found["file"], found["place"]) for found in LINK.finditer(BLOCK.sub("", GUIDE))]
    assert len(links) >= 15
    for file, place in links:
        target = DOCS / file if file else DOCS / "jitgate-afternoon.md"
        assert target.exists(), file
        assert not place or place in places(target.read_text()), f"{file}#{place}"
