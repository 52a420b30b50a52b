# SPDX-License-Identifier: GPL-2.0-only
"""Writes structure.md: what each file of the tool and of the kernel part is for, and which others it needs.

    python3 docs/structure.py

It needs the Python package grimp, which import-linter brings.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import grimp

from portcullis.core.arches import ARCHES

ROOT = Path(__file__).parents[1]
TOPICS = ROOT / "kernel/topics"
LAYERS = {
    "commands": "what the command line calls",
    "host": "what runs programs and touches files",
    "lab": "what is computed from counts",
    "core": "what only computes: parsers, tables, judgements",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.MULTILINE)
COMMENT = re.compile(r"[^\n]*\n/\*\s*(.*?)\*/", re.DOTALL)  # what a file begins with, behind its licence
HEAD = """# Structure
This page is made by `python3 docs/structure.py` from the code, and a test compares the two. It says of each file what
it is for, and which others of the project it needs. No two files need each other, neither at once nor by way of others.
"""


def own_files() -> dict[str, str]:
    """New files of all topics: path in the kernel tree -> content."""
    found = sorted(path for path in TOPICS.glob("*/files/**/*") if path.suffix in (".c", ".h", ".S"))
    return {path.as_posix().split("/files/", 1)[1]: path.read_text() for path in found}


def included(path: str, text: str, files: Mapping[str, str]) -> set[str]:
    """Own headers that a file includes; a header of <asm/> is that of its architecture, or of each."""
    folder = PurePosixPath(path).parent.as_posix()
    arches = [arch for arch in ARCHES if path.startswith(f"arch/{arch}/")] or ARCHES
    names: set[str] = set()
    for kind, name in INCLUDE.findall(text):
        places = [f"{folder}/{name}"] if kind == '"' else [f"include/{name}"]
        places += [f"arch/{arch}/include/{name}" for arch in arches]
        names |= {place for place in places if place in files}
    return names


def first_sentence(text: str) -> str:
    """The first sentence of a docstring or of the comment that a file begins with."""
    words = " ".join(line.strip(" *") for line in text.strip().splitlines()).split()
    return re.split(r"(?<=[.:])\s", " ".join(words), maxsplit=1)[0].rstrip(".:")


def table(rows: Iterable[tuple[str, str, Iterable[str]]]) -> str:
    """Markdown."""
    lines = ["| file | what | needs |", "| --- | --- | --- |"]
    for name, what, needed in rows:
        shown = ", ".join(f"`{each}`" for each in sorted(needed))
        lines.append(f"| `{name}` | {what.replace('|', chr(92) + '|')} | {shown} |")
    return "\n".join(lines) + "\n"


def tool() -> str:
    """The tool's files, layer by layer."""
    graph = grimp.build_graph("portcullis", cache_dir=None)
    parts = []
    for layer, what in LAYERS.items():
        rows = []
        for path in sorted((ROOT / "src/portcullis" / layer).rglob("*.py")):
            if path.name == "__init__.py":
                continue
            name = path.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".")
            needed = graph.find_modules_directly_imported_by(name)
            short = [each.removeprefix("portcullis.").replace(".", "/") for each in needed]
            said = first_sentence(ast.get_docstring(ast.parse(path.read_text())) or "")
            rows.append((path.relative_to(ROOT / "src/portcullis").with_suffix("").as_posix(), said, short))
        parts.append(f"### {layer}\nThis layer has {what}.\n\n{table(rows)}")
    return "\n".join(parts)


def kernel() -> str:
    """New files of the product's topics."""
    files = own_files()
    parts = []
    for topic in sorted(path for path in TOPICS.iterdir() if path.name < "60"):
        names = [path.as_posix().split("/files/", 1)[1] for path in sorted(topic.glob("files/**/*"))]
        rows = []
        for name in (name for name in names if name in files):
            comment = COMMENT.match(files[name])
            said = first_sentence(comment[1]) if comment else ""
            rows.append((name, said, included(name, files[name], files)))
        parts.append(f"### {topic.name}\n{table(rows)}" if rows else "")
    return "\n".join(part for part in parts if part)


def page() -> str:
    """The whole page."""
    layers = (
        "Files are in four layers below `src/portcullis`. Each layer needs only those below it. `cli` calls the\n"
        "commands, and `errors` is for all."
    )
    topics = "New files of the product are listed by topic, with the headers of the product that they include."
    return f"{HEAD}\n## The tool\n{layers}\n\n{tool()}\n## The kernel part\n{topics}\n\n{kernel()}"


if __name__ == "__main__":
    (ROOT / "docs/structure.md").write_text(page())
