# SPDX-License-Identifier: GPL-2.0-only
"""Excerpts of code in documents, and whether the code has them."""

import re
from collections.abc import Iterable

# ```c PATH: an excerpt of that file; ... stands for lines left out. ```c wrong: not to be done.
BLOCK = re.compile(r"^```c ?(?P<of>.*)\n(?P<code>(?:.*\n)*?)```$", re.MULTILINE)


def lines_of(text: str) -> list[str]:
    """Lines without what only looks: indentation, empty ones, the backslashes of macros."""
    lines = (" ".join(line.rstrip("\\").split()) for line in text.splitlines())
    return [line for line in lines if line]


def excerpts_of(document: str) -> list[tuple[str, str]]:
    """The file and the code of each excerpt."""
    blocks = [(found["of"].strip(), found["code"]) for found in BLOCK.finditer(document)]
    return [(of, code) for of, code in blocks if of != "wrong"]


def hunks_of(part: str) -> str:
    """What a patch of one file leaves; @@ stands between hunks."""
    hunks = re.split(r"^@@ .*\n", part, flags=re.MULTILINE)[1:]
    kept = [[line[1:] for line in hunk.splitlines() if line[:1] != "-"] for hunk in hunks]
    return "\n@@\n".join("\n".join(lines) for lines in kept)


def patched(patch: str, path: str = "") -> Iterable[str]:
    """What a patch leaves of a file, or of each that it changes."""
    for part in re.split(r"^--- .*\n(?=\+\+\+ )", patch, flags=re.MULTILINE)[1:]:
        if not path or part.split("\n", 1)[0].split("\t")[0] == f"+++ b/{path}":
            yield hunks_of(part)


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
