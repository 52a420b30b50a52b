# SPDX-License-Identifier: GPL-2.0-only
"""How Sphinx makes the site of these documents: `./portcullis docs OUTDIR`.

The sources are plain Markdown. Sphinx begins at the top of the checkout, so that links between the documents lead to
the same places on the site and in the checkout. What a link names must exist: with -W each that does not is an error.
"""

import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
PAGE = re.compile(r"^- \[[^\]]*\]\(([^)#:]+)\.md\)", re.MULTILINE)  # what an item of a list begins with
TREE = """
```{{toctree}}
:hidden:
:caption: {caption}

{pages}
```
"""

project = "Portcullis"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "jit/examples/*.md"]
extensions = ["myst_parser"]
myst_heading_anchors = 6  # links to a heading work as on a forge, at every depth
nitpicky = True
smartquotes = False  # commands are quoted in these texts
highlight_language = "none"  # but where a block names its language
html_theme = "furo"
html_title = f"{project} {release}"
html_extra_path = ["site"]  # the first page, which leads to the index
html_copy_source = False
html_show_copyright = False


def trees_of(index: str) -> str:
    """The site's table of contents, from the sections of the index and the pages that their lists begin with."""
    parts = SECTION.split(index)[1:]
    return "".join(
        TREE.format(caption=caption, pages="\n".join(f"/docs/{page}" for page in PAGE.findall(text)))
        for caption, text in zip(parts[::2], parts[1::2], strict=True)
    )


def add_trees(app: Sphinx, name: str, source: list[str]) -> None:
    """Appends to the index what only Sphinx needs, so that the file is plain Markdown."""
    if name == root_doc:
        source[0] += trees_of(source[0])


def resolve_folders(app: Sphinx, document: nodes.document) -> None:
    """Makes text of links to folders of the checkout, of which the site has no page."""
    here = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(document.findall(pending_xref)):
        if link["reftype"] == "myst" and (here / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def setup(app: Sphinx) -> None:
    """Connects both."""
    app.connect("source-read", add_trees)
    app.connect("doctree-read", resolve_folders)
