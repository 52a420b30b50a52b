# SPDX-License-Identifier: GPL-2.0-only
"""Makes commits of a plan in a repository of its own, and patches of these.

The repository holds no more than the files that the plan touches.
"""

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from portcullis.core.topics import KINDS, PRODUCT, Hook
from portcullis.errors import ToolError
from portcullis.host.hardening import Plan, apply_hook, touched_by
from portcullis.host.process import Commands

_AUTHOR = re.compile(r"\s*(.*\S)\s*<([^<>\s]+)>\s*")
# A user's own settings must not change what is written.
ISOLATED = ("env", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "git", "-c", "core.abbrev=12")
COVER = "0000-cover-letter.patch"


@dataclass(frozen=True)
class Step:
    """What becomes one commit: new files, or a hook."""

    topic: str
    kind: str
    subject: str
    body: str
    arches: tuple[str, ...]
    files: tuple[str, ...] = ()
    hook: Hook | None = None

    @property
    def name(self) -> str:
        """The hook's name, or that of the topic whose files are new."""
        return self.hook.id if self.hook else self.topic


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """The commits of a plan: for each topic its new files, then its hooks."""
    steps: list[Step] = []
    for topic in plan.topics:
        for new in topic.commits:
            steps.append(Step(topic.name, topic.kind, new.subject, wrapped(new.message), topic.arches, new.files))
        for hook in topic.hooks:
            steps.append(Step(topic.name, topic.kind, hook.subject, hook.body, hook.arches, hook=hook))
    return tuple(steps)


def wrapped(text: str) -> str:
    """Paragraphs in lines of a commit message."""
    return "\n\n".join(textwrap.fill(" ".join(part.split()), 72) for part in text.split("\n\n"))


def split_author(author: str) -> tuple[str, str]:
    """Name and address of `Name <address>`; raises ToolError for anything else."""
    found = _AUTHOR.fullmatch(author)
    if not found:
        raise ToolError(f"not an author: {author!r}", "write 'Name <address>'")
    return found[1], found[2]


class Repository:
    """A git repository below `folder`; whoever makes it removes it."""

    def __init__(self, folder: Path, author: str) -> None:
        self.folder = folder
        name, address = split_author(author)
        self._identity = ("-c", f"user.name={name}", "-c", f"user.email={address}")

    def git(self, *words: str | Path, text_in: str | None = None) -> str:
        """Runs git; raises ToolError when it fails."""
        command = [*ISOLATED, *self._identity, "-C", self.folder, *words]
        finished = Commands().capture(command, text_in=text_in)
        if finished.status != 0:
            raise ToolError(f"git {words[0]} failed\n{finished.output.strip()}")
        return finished.output.strip()

    def base(self, plan: Plan, read: Callable[[str], bytes | None]) -> str:
        """The first commit: files as they are before the plan; returns its hash."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q")
        for path in dict.fromkeys(name for hook in plan.hooks for name in touched_by(hook.diff)):
            content = None if path in plan.new else read(path)
            if content is not None:
                self._put(path, content)
        return self._commit("base", "", signed=False)

    def commit(self, plan: Plan, step: Step) -> str:
        """One commit; returns its hash."""
        for path in step.files:
            self._put(path, plan.new[path])
        if step.hook:
            apply_hook(self.folder, step.hook)
        return self._commit(step.subject, step.body, signed=True)

    def _put(self, path: str, content: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(content)

    def _commit(self, subject: str, body: str, signed: bool) -> str:
        self.git("add", "-A")
        sign = ("-s",) if signed else ()
        self.git("commit", "-q", "--allow-empty", *sign, "-F", "-", text_in=f"{subject}\n\n{body}\n")
        return self.git("rev-parse", "HEAD")

    def patches(self, first: str, last: str, folder: Path, cover: tuple[str, str] | None) -> list[Path]:
        """Writes the commits after `first` up to `last` as mails; `cover` is subject and text of a cover letter."""
        words = ["--cover-letter"] if cover else ["--no-cover-letter"]
        self.git("format-patch", "-q", "--numbered", *words, "-o", folder, f"{first}..{last}")
        if cover:
            path = folder / COVER
            text = path.read_text().replace("*** SUBJECT HERE ***", cover[0], 1)
            path.write_text(text.replace("*** BLURB HERE ***", cover[1].strip(), 1))
        return sorted(folder.glob("*.patch"))


def write_series(
    repository: Repository,
    plan: Plan,
    read: Callable[[str], bytes | None],
    outdir: Path,
    cover: tuple[str, str],
) -> list[Path]:
    """Writes the product's series to a folder, and those of other kinds to folders below it; returns the patches."""
    start = repository.base(plan, read)
    steps = steps_of(plan)
    hashes = [(step.kind, repository.commit(plan, step)) for step in steps]
    ends = _ends(start, hashes)
    written: list[Path] = []
    for (_, first), (kind, last) in pairwise(ends):
        folder = outdir if kind == PRODUCT else outdir / kind
        written += repository.patches(first, last, folder, cover if kind == PRODUCT else None)
    return written


def _ends(start: str, hashes: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The base, then the last commit of each kind, in order."""
    last = dict(hashes)
    return [("", start), *((kind, last[kind]) for kind in KINDS if kind in last)]
