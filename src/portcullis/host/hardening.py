# SPDX-License-Identifier: GPL-2.0-only
"""Puts Portcullis into a kernel tree: works out the final content of every file first, then writes it.

Nothing is written before every hook was applied to copies of the files it touches. So a tree is either
hardened completely or not touched.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from portcullis.core.arches import ARCHES
from portcullis.core.foreign import added_lines
from portcullis.core.topics import (
    ALL,
    FILE,
    Hook,
    Selection,
    Topic,
    TopicFiles,
    choose_topics,
    lacking,
    parse_topics,
    supported,
    supports,
)
from portcullis.core.versions import KernelVersion
from portcullis.errors import ToolError
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace

_TARGET = re.compile(r"^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_ORIGIN = re.compile(r"^--- (?:a/)?(\S+)", re.MULTILINE)
_OPTION = re.compile(r"^\+?config (\w+)$", re.MULTILINE)
PATCH = ["patch", "-p1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch", "--reject-file=-"]


@dataclass(frozen=True)
class Plan:
    """What a hardened tree looks like: path -> final content, and the topics that lead there.

    `new` has the content that files get from their topic; hooks of later topics may change it.
    """

    version: KernelVersion
    selection: Selection
    topics: tuple[Topic, ...]
    new: dict[str, bytes]
    added: dict[str, bytes]
    changed: dict[str, bytes]
    removed: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, bytes]:
        """Final content of every file that is added or changed."""
        return {**self.changed, **self.added}

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All hooks in order."""
        return tuple(hook for topic in self.topics for hook in topic.hooks)


def read_topics(workspace: Workspace) -> tuple[Topic, ...]:
    """Topics of this checkout; raises ToolError that names the file when one is missing or broken."""
    base = workspace.kernel / "topics"
    folders = sorted(path for path in base.glob("*") if path.is_dir())
    if not folders:
        raise ToolError(f"{base} has no topics", "the checkout is not complete")
    try:
        return parse_topics([_read_topic(folder) for folder in folders])
    except ValueError as error:
        raise ToolError(f"{base}: {error}") from error


def _read_topic(folder: Path) -> TopicFiles:
    path = folder / FILE
    if not path.is_file():
        raise ToolError(f"{path} does not exist", "the checkout is not complete")
    hooks = {
        _below(folder / "hooks", hook): hook.read_text() for hook in (folder / "hooks").rglob("*.*") if hook.is_file()
    }
    files = tuple(_below(folder / "files", new) for new in (folder / "files").rglob("*") if new.is_file())
    return TopicFiles(folder.name, path.read_text(), files, hooks)


def _below(base: Path, path: Path) -> str:
    return path.relative_to(base).as_posix()


def topics_for(workspace: Workspace, version: KernelVersion, selection: Selection) -> tuple[Topic, ...]:
    """Topics for one kernel; raises ToolError that says what is supported when there are none."""
    topics = read_topics(workspace)
    if not supports(topics, version, selection.arch):
        raise ToolError(f"kernel {version} on {selection.arch} is not supported", supported(topics))
    without = lacking(topics, version)
    if selection.arch == ALL and without:
        others = next(arch for arch in ARCHES if arch not in without)
        raise ToolError(f"kernel {version} on {without[0]} is not supported yet", f"leave it out: --arch {others}")
    try:
        return choose_topics(topics, version, selection)
    except ValueError as error:
        raise ToolError(str(error), "see: portcullis apply --list") from error


def options_of(workspace: Workspace, topics: Iterable[Topic]) -> frozenset[str]:
    """Names of the options that the Kconfig parts of topics define."""
    names: set[str] = set()
    for topic in topics:
        parts = [hook.diff for hook in topic.hooks if any(_is_kconfig(path) for path in touched_by(hook.diff))]
        parts += [new_file(workspace, topic, path).decode() for path in topic.files if _is_kconfig(path)]
        names.update(f"CONFIG_{name}" for part in parts for name in _OPTION.findall(part))
    return frozenset(names)


def _is_kconfig(path: str) -> bool:
    return Path(path).name.startswith("Kconfig")


def new_file(workspace: Workspace, topic: Topic, path: str) -> bytes:
    """Content of one new file of a topic."""
    return (workspace.kernel / "topics" / topic.folder / "files" / path).read_bytes()


def touched_by(patch: str) -> tuple[str, ...]:
    """Files that a patch reads or writes."""
    names = [*_TARGET.findall(patch), *_ORIGIN.findall(patch)]
    return tuple(dict.fromkeys(name for name in names if name != "/dev/null"))


def make_plan(
    workspace: Workspace,
    version: KernelVersion,
    selection: Selection,
    read: Callable[[str], bytes | None],
    leave_out: str = "",
) -> Plan:
    """Works out the hardened state of the tree whose pristine files `read` returns.

    `leave_out` names one hook, as topic/hook, to drop (mutation). Raises ToolError naming the hook and the part that
    does not apply.
    """
    topics = tuple(
        replace(topic, hooks=tuple(hook for hook in topic.hooks if hook.id != leave_out))
        for topic in topics_for(workspace, version, selection)
    )
    new = _new_files(workspace, topics, read)
    touched = dict.fromkeys(name for topic in topics for hook in topic.hooks for name in touched_by(hook.diff))
    with tempfile.TemporaryDirectory(prefix="portcullis-stage-") as name:
        stage = Path(name)
        for path in touched:
            content = read(path)
            if content is not None:
                _put(stage, path, content)
        refused = []
        for topic in topics:
            for path in topic.files:
                _put(stage, path, new[path])
            refused += _apply_hooks(stage, topic.hooks)
        if refused:
            raise _named(refused)
        changed, removed = _collect(stage, [path for path in touched if path not in new], read)
        added = {path: (stage / path).read_bytes() for path in new if (stage / path).is_file()}
    return Plan(version, selection, topics, new, added, changed, removed)


def _new_files(workspace: Workspace, topics: Iterable[Topic], read: Callable[[str], bytes | None]) -> dict[str, bytes]:
    new: dict[str, bytes] = {}
    for topic in topics:
        for path in topic.files:
            if path in new:
                raise ToolError(f"{path} is a new file of topic {topic.name} and of one before it")
            new[path] = new_file(workspace, topic, path)
    taken = [path for path in new if read(path) is not None]
    if taken:
        raise ToolError(
            f"the tree already has {taken[0]}" + (f" and {len(taken) - 1} more new files" if len(taken) > 1 else ""),
            "left by an earlier attempt or by another patch set: remove them or use a clean tree",
        )
    return new


def _put(stage: Path, path: str, content: bytes) -> None:
    (stage / path).parent.mkdir(parents=True, exist_ok=True)
    (stage / path).write_bytes(content)


def _apply_hooks(stage: Path, hooks: Iterable[Hook]) -> list[tuple[Hook, ToolError]]:
    """Those that do not fit."""
    refused = []
    for hook in hooks:
        try:
            apply_hook(stage, hook)
        except ToolError as error:
            refused.append((hook, error))
    return refused


def _named(refused: list[tuple[Hook, ToolError]]) -> ToolError:
    """The first in full, and the names of the others: some may fail only since that one did."""
    (_, first), *others = refused
    names = ", ".join(hook.id for hook, _ in others)
    more = f"\n  nor do: {names}" if others else ""
    return ToolError(first.message + more, first.advice)


def apply_hook(stage: Path, hook: Hook) -> None:
    """Applies one hook to a folder that holds what it touches; raises ToolError when it does not fit."""
    finished = Commands().capture([*PATCH, "-d", stage], text_in=hook.diff)
    if finished.status == 0:
        return
    detail = "\n".join(f"    {line}" for line in finished.output.strip().splitlines()[:12])
    raise ToolError(
        f"hook {hook.id} does not apply; nothing was changed\n{detail}",
        "the tree has other changes in these places, or is not the version its Makefile says",
    )


def _collect(
    stage: Path, touched: Iterable[str], read: Callable[[str], bytes | None]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    changed: dict[str, bytes] = {}
    removed: list[str] = []
    for path in touched:
        before = read(path)
        after = (stage / path).read_bytes() if (stage / path).is_file() else None
        if after is None and before is not None:
            removed.append(path)
        elif after is not None and after != before:
            changed[path] = after
    return changed, tuple(removed)


def read_from(tree: Path) -> Callable[[str], bytes | None]:
    """Reader of a tree's files for make_plan()."""

    def read(path: str) -> bytes | None:
        try:
            return (tree / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    return read


def copy_pristine(source: Path, tree: Path, path: str) -> None:
    """Puts the source's version of one file back into a work tree."""
    if (source / path).is_file():
        temporary = (tree / path).with_name(f".portcullis-{Path(path).name}")
        shutil.copyfile(source / path, temporary)
        temporary.chmod((source / path).stat().st_mode & 0o777)
        temporary.replace(tree / path)
    else:
        (tree / path).unlink(missing_ok=True)


def texts_of(workspace: Workspace, topics: Iterable[Topic]) -> dict[str, str]:
    """What topics bring: new files by their paths, and the lines that hooks add by theirs."""
    texts: dict[str, str] = {}
    for topic in topics:
        texts.update({path: new_file(workspace, topic, path).decode() for path in topic.files})
        texts.update({hook.path: added_lines(hook.diff) for hook in topic.hooks})
    return texts
