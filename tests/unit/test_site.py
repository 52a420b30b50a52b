# SPDX-License-Identifier: GPL-2.0-only
"""The site of the documents: each page has a place, each link leads somewhere, and nothing comes from elsewhere."""

import html
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from fakes import write
from portcullis.cli import main
from portcullis.commands import docs

ROOT = Path(__file__).parents[2]
INDEX = "# Documents\n\n## Integrator\nText.\n\n- [A page](page.md) is the one.\n"
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
ITEM = re.compile(r"^- \[[^\]]*\]\(([^)#]+\.md)\)(.*(?:\n  .*)*)", re.MULTILINE)
LOADED = re.compile(r'<(?:script|img|iframe)\b[^>]*src="(?:https?:)?//|<link\b[^>]*href="(?:https?:)?//')

needs_sphinx = pytest.mark.skipif(not find_spec("sphinx"), reason="Sphinx is in the environment of `test`")


def items_of_the_index() -> list[tuple[str, str]]:
    return ITEM.findall((ROOT / "docs/index.md").read_text())


def test_the_index_sorts_pages_by_who_reads_them():
    assert HEADING.findall((ROOT / "docs/index.md").read_text()) == ["Integrator", "Researcher", "Maintainer"]


def test_each_document_has_one_place_in_the_index():
    folders = (ROOT, ROOT / "docs", ROOT / "jit/examples")
    wanted = {path.resolve() for folder in folders for path in folder.glob("*.md")} - {ROOT / "docs/index.md"}
    named = [(ROOT / "docs" / link).resolve() for link, _ in items_of_the_index()]
    assert sorted(named) == sorted(wanted)


@pytest.mark.parametrize(("link", "rest"), items_of_the_index(), ids=lambda text: text if text.endswith(".md") else "")
def test_the_index_has_a_sentence_for_each(link, rest):
    assert rest.startswith(" ") and rest.endswith(".") and len(rest.split()) >= 5


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with a page of its own, whose text is given; returns a function that builds it."""
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "docs/site", root / "docs/site")
    shutil.copy(ROOT / "docs/conf.py", root / "docs/conf.py")
    write(root / "pyproject.toml", '[project]\nversion = "7.8.9"\n')
    write(root / "docs/index.md", INDEX)
    write(root / "src/code.c", "int x;\n")
    monkeypatch.setenv("PORTCULLIS_ROOT", str(root))

    def build(text: str) -> int:
        write(root / "docs/page.md", f"# A page\n\n{text}\n")
        return main(["docs", str(tmp_path / "site")])

    return build


@needs_sphinx
def test_good_links_make_a_site_with_a_search(checkout, tmp_path):
    assert checkout("[a](index.md#integrator) [b](../src/code.c) [c](../src) [d](#a-page)") == 0
    site = tmp_path / "site"
    assert 'url=docs/index.html"' in (site / "index.html").read_text()
    assert "7.8.9" in (site / "docs/index.html").read_text()
    assert "page" in (site / "searchindex.js").read_text() and (site / "search.html").is_file()
    assert checkout("A site may be replaced.") == 0


@needs_sphinx
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a](nowhere.md)", "nowhere"),
        ("[a](index.md#nowhere)", "nowhere"),
        ("[a](#nowhere)", "nowhere"),
        ("[a](../src/nowhere.c)", "nowhere.c"),
        ("[a](../nowhere)", "nowhere"),
        ("![a](nowhere.svg)", "nowhere.svg"),
        ("##### Too deep", "header"),
    ],
)
def test_a_dead_link_is_an_error_and_the_old_site_stays(text, message, checkout, tmp_path, capsys):
    write(tmp_path / "site/.buildinfo", "")
    assert checkout(text) == 2
    error = capsys.readouterr().err
    assert "docs/page.md:3" in error and message in error and "correct what is named above" in error
    assert [path.name for path in (tmp_path / "site").iterdir()] == [".buildinfo"]


@needs_sphinx
def test_a_page_without_a_place_is_an_error(checkout, tmp_path, capsys):
    write(tmp_path / "checkout/docs/other.md", "# Other\n")
    assert checkout("Text.") == 2
    assert "docs/other.md" in capsys.readouterr().err


@needs_sphinx
def test_the_documents_make_a_site_that_loads_nothing_from_elsewhere(tmp_path):
    site = tmp_path / "site"
    assert main(["docs", str(site)]) == 0
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(items_of_the_index())
    assert [page.name for page in pages if LOADED.search(page.read_text())] == []
    assert LOADED.search('<link rel="stylesheet" href="https://example.org/a.css">')


def test_what_is_no_site_is_not_replaced(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(docs, "find_spec", lambda _: True)
    write(tmp_path / "mine/file", "x")
    assert main(["docs", str(tmp_path / "mine")]) == 2
    assert "choose another OUTDIR" in capsys.readouterr().err and (tmp_path / "mine/file").read_text() == "x"
    assert main(["docs", str(tmp_path / "none/site")]) == 2
    assert "make it first" in capsys.readouterr().err


def test_without_sphinx_it_says_how_to_run_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(docs, "find_spec", lambda _: None)
    assert main(["docs", str(tmp_path / "site")]) == 2
    assert "run it by ./portcullis docs" in capsys.readouterr().err


def without_space(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("session", sorted((ROOT / "docs/images").glob("*.ansi")), ids=lambda path: path.stem)
def test_a_picture_has_the_text_of_its_session_and_loads_nothing(session):
    picture = session.with_suffix(".svg").read_text()
    rows: dict[float, str] = {}
    for place, text in re.findall(r'<text class="session-r\d+"[^>]* y="([\d.]+)"[^>]*>(.*?)</text>', picture):
        rows[float(place)] = rows.get(float(place), "") + without_space(html.unescape(text))
    said = [without_space(re.sub(r"\x1b\[\d+m", "", line)) for line in session.read_text().splitlines()]
    assert [rows[place] for place in sorted(rows)] == [line for line in said if line]
    assert not re.search(r"url\([\"']?http|href|<image", picture)
