# SPDX-License-Identifier: GPL-2.0-only
"""Puts Portcullis into a kernel tree: works out the final content of every file first, then writes it.

Nothing is written before every hook was applied to copies of the files it touches. So a tree is either
hardened completely or not touched.
"""

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.series import Hook, parse_series, select_hooks, supported_ranges
from portcullis.core.versions import KernelVersion
from portcullis.errors import ToolError
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace

_TARGET = re.compile(r"^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_ORIGIN = re.compile(r"^--- (?:a/)?(\S+)", re.MULTILINE)
PATCH = ["patch", "-p1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch", "--reject-file=-"]


@dataclass(frozen=True)
class Plan:
    """What a hardened tree looks like: path -> final content, and which hooks lead there."""

    version: KernelVersion
    arch: str
    hooks: tuple[Hook, ...]
    added: dict[str, bytes]
    changed: dict[str, bytes]
    removed: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, bytes]:
        """Final content of every file that is added or changed."""
        return {**self.changed, **self.added}


def read_series(workspace: Workspace) -> tuple[Hook, ...]:
    """Hooks of this checkout; raises ToolError when series.toml or a hook file is missing or broken."""
    path = workspace.kernel / "series.toml"
    try:
        hooks = parse_series(path.read_text())
    except FileNotFoundError as error:
        raise ToolError(f"{path} does not exist", "the checkout is not complete") from error
    except ValueError as error:
        raise ToolError(str(error)) from error
    for hook in hooks:
        if not (workspace.kernel / "hooks" / hook.file).is_file():
            raise ToolError(f"{path}: there is no hook file {hook.file}")
    return hooks


def hooks_for(workspace: Workspace, version: KernelVersion, arch: str) -> tuple[Hook, ...]:
    """Hooks for one kernel; raises ToolError that says what is supported when there are none."""
    hooks = read_series(workspace)
    chosen = select_hooks(hooks, version, arch)
    if any(hook.arch == arch for hook in chosen):
        return chosen
    ranges = "; ".join(str(item) for item in supported_ranges(hooks)) or "none yet"
    arches = ", ".join(sorted({hook.arch for hook in hooks} - {"any"})) or "none yet"
    raise ToolError(
        f"kernel {version} on {arch} is not supported",
        f"supported versions: {ranges}; architectures: {arches}",
    )


def new_files(workspace: Workspace) -> dict[str, bytes]:
    """Files that are copied verbatim: path in the kernel tree -> content."""
    base = workspace.kernel / "files"
    paths = sorted(path for path in base.rglob("*") if path.is_file())
    return {path.relative_to(base).as_posix(): path.read_bytes() for path in paths}


def touched_by(patch: str) -> tuple[str, ...]:
    """Files that a patch reads or writes."""
    names = [*_TARGET.findall(patch), *_ORIGIN.findall(patch)]
    return tuple(dict.fromkeys(name for name in names if name != "/dev/null"))


def make_plan(
    workspace: Workspace,
    version: KernelVersion,
    arch: str,
    read: Callable[[str], bytes | None],
    leave_out: str = "",
) -> Plan:
    """Works out the hardened state of the tree whose pristine files `read` returns.

    `leave_out` names one hook to drop (mutation). Raises ToolError naming the hook and the part that does not apply.
    """
    hooks = tuple(hook for hook in hooks_for(workspace, version, arch) if hook.name != leave_out)
    patches = {hook: (workspace.kernel / "hooks" / hook.file).read_text() for hook in hooks}
    touched = dict.fromkeys(name for patch in patches.values() for name in touched_by(patch))
    with tempfile.TemporaryDirectory(prefix="portcullis-stage-") as name:
        stage = Path(name)
        for path in touched:
            content = read(path)
            if content is not None:
                (stage / path).parent.mkdir(parents=True, exist_ok=True)
                (stage / path).write_bytes(content)
        for hook, patch in patches.items():
            _apply_hook(stage, hook, patch)
        changed, removed = _collect(stage, touched, read)
    added = new_files(workspace)
    both = sorted(set(added) & set(changed))
    if both:
        raise ToolError(f"{both[0]} is both in kernel/files and changed by a hook")
    return Plan(version, arch, hooks, added, changed, removed)


def _apply_hook(stage: Path, hook: Hook, patch: str) -> None:
    finished = Commands().capture([*PATCH, "-d", stage], text_in=patch)
    if finished.status == 0:
        return
    detail = "\n".join(f"    {line}" for line in finished.output.strip().splitlines()[:12])
    raise ToolError(
        f"hook {hook.file} does not apply; nothing was changed\n{detail}",
        "the tree has other changes in these places, or is not the version its Makefile says",
    )


def _collect(
    stage: Path, touched: dict[str, None], read: Callable[[str], bytes | None]
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
