# SPDX-License-Identifier: GPL-2.0-only
"""Kernel sources: the distribution's package, or a tree of the user's; and work copies of them."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.versions import KernelVersion, version_from_makefile
from portcullis.errors import ToolError
from portcullis.host.process import Commands, shown
from portcullis.host.screen import Progress, step
from portcullis.host.workspace import Workspace, disk_full, free_mib, locked, whole_folder

PACKAGE = "linux-source-6.12"
TARBALL = Path(f"/usr/src/{PACKAGE}.tar.xz")
NEEDED_MIB = 2500  # an unpacked tree and room to work
TREE_MARKS = ("Makefile", "Kbuild", "scripts/kconfig/merge_config.sh", "mm/memory.c")
# left by a build inside the tree; in a work copy they would stop a build with O=
BUILD_LEFTOVERS = {".git", ".config", ".config.old", ".tmp_versions"}
GENERATED = ("include/config", "include/generated")


@dataclass(frozen=True)
class Source:
    """A kernel source that is never written to; `fetched` ones belong to the cache and may be hard-linked."""

    path: Path
    version: KernelVersion
    fetched: bool


def kernel_version(tree: Path) -> KernelVersion:
    """Version of a kernel tree; raises ToolError when it is none."""
    if not tree.is_dir():
        raise ToolError(f"{tree} is not a folder", "give the folder that holds the kernel's Makefile")
    missing = [mark for mark in TREE_MARKS if not (tree / mark).is_file()]
    version = None
    if not missing:
        version = version_from_makefile((tree / "Makefile").read_text(errors="replace"))
    if version is None:
        detail = f"no {missing[0]}" if missing else "its Makefile has no version"
        raise ToolError(f"{tree} is not a kernel source tree ({detail})", "give the top folder of a Linux tree")
    return version


def user_source(tree: Path) -> Source:
    """A tree given with --tree."""
    path = tree.expanduser().resolve()
    return Source(path, kernel_version(path), fetched=False)


def package_version() -> str:
    """Version of the installed source package, empty when dpkg does not know it."""
    try:
        finished = Commands().capture(["dpkg-query", "-W", "-f", "${Version}", PACKAGE])
    except ToolError:
        return ""
    return finished.output.strip() if finished.status == 0 else ""


def fetched_folder(workspace: Workspace, tarball: Path = TARBALL) -> Path:
    """Where the package's source is unpacked; raises ToolError when the package is not installed."""
    if not tarball.is_file():
        raise ToolError(
            f"{tarball} does not exist",
            f"install it with: apt-get install --no-install-recommends {PACKAGE}   (or give --tree DIR)",
        )
    version = package_version() if tarball == TARBALL else ""
    name = version or f"{tarball.name}-{tarball.stat().st_size:x}-{int(tarball.stat().st_mtime):x}"
    safe = "".join(letter if letter.isalnum() or letter in ".-+" else "_" for letter in name)
    return workspace.folder("sources") / safe


def fetch(workspace: Workspace, commands: Commands, tarball: Path = TARBALL) -> Source:
    """The package's source, unpacked once; an interrupted unpack leaves nothing."""
    target = fetched_folder(workspace, tarball)
    with locked(target.with_name(target.name + ".lock")):
        if not target.is_dir():
            if commands.dry_run:
                commands.capture(["tar", "--extract", "--xz", "--strip-components=1", "-f", tarball, "-C", target])
                return Source(target, KernelVersion(6, 12), fetched=True)
            unpack_source(tarball, target)
    return Source(target, kernel_version(target), fetched=True)


def unpack_source(tarball: Path, target: Path) -> None:
    """The kernel source of a package; an interrupted unpack leaves nothing."""
    if free_mib(target.parent) < NEEDED_MIB:
        raise ToolError(
            f"unpacking needs {NEEDED_MIB} MiB, {free_mib(target.parent)} MiB are free under {target.parent}",
            "free some space or choose another place with --cache DIR",
        )
    with whole_folder(target) as partial, step(f"unpacking {tarball.name}") as progress:
        command = ["tar", "--extract", "--xz", "--strip-components=1", "-f", tarball, "-C", partial]
        log = target.with_name(target.name + ".log")
        log.unlink(missing_ok=True)
        finished = Commands().logged(command, log, watch=lambda _: progress.update())
        if "No space left on device" in finished.output:
            raise disk_full(target.parent)
        if finished.status != 0:
            raise ToolError(
                f"unpacking {tarball} failed: {finished.output.strip().splitlines()[-1]}",
                f"log: {log}\n  by hand: {shown(command)}",
            )
        kernel_version(partial)


def work_copy(source: Source, target: Path, skip: frozenset[str] = frozenset()) -> bool:
    """Brings a work copy up to date with its source; True when a file changed or the copy is new.

    A copy of a fetched source shares its files by hard links: whoever writes to the copy must replace
    files, never write into them. A user's tree is really copied, and files that changed there (size or
    time stamp) are copied again, but for those in `skip`, which the caller keeps up to date.
    """
    if not target.is_dir():
        with whole_folder(target) as partial, step(f"copying {source.path.name} to a work tree") as progress:
            _copy_all(source, partial, progress)
        return True
    if source.fetched:
        return False
    changed = False
    with step("comparing the work tree with the source") as progress:
        for relative, stat in _files(source.path):
            copy = target / relative
            if relative.as_posix() not in skip and not _same(copy, stat):
                copy.parent.mkdir(parents=True, exist_ok=True)
                _copy_file(source.path / relative, copy)
                changed = True
            progress.update()
    return changed


def _copy_all(source: Source, target: Path, progress: Progress) -> None:
    if source.fetched:
        finished = Commands().capture(["cp", "-al", f"{source.path}/.", target])
        if finished.status != 0:
            raise ToolError(f"copying failed: {finished.output.strip()}")
        return
    for count, (relative, _) in enumerate(_files(source.path)):
        copy = target / relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(source.path / relative, copy)
        if count % 500 == 0:
            progress.update(f"{count} files")


def _copy_file(origin: Path, copy: Path) -> None:
    temporary = copy.with_name(f".portcullis-{copy.name}")
    shutil.copy2(origin, temporary, follow_symlinks=False)
    temporary.replace(copy)


def _same(copy: Path, stat: os.stat_result) -> bool:
    try:
        have = copy.lstat()
    except FileNotFoundError:
        return False
    return have.st_size == stat.st_size and have.st_mtime_ns == stat.st_mtime_ns


def _files(tree: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Source files of a tree, without version control and the products of a build inside it."""
    for folder, names, files in os.walk(tree):
        here = Path(folder)
        relative = here.relative_to(tree)
        names[:] = sorted(name for name in names if not _left_over(relative / name))
        linked = [name for name in names if (here / name).is_symlink()]
        for name in [*files, *linked]:
            if not _left_over(relative / name):
                yield relative / name, (here / name).lstat()


def _left_over(relative: Path) -> bool:
    text = relative.as_posix()
    top = relative.parts[0] in BUILD_LEFTOVERS if len(relative.parts) == 1 else relative.name == ".git"
    generated = text in GENERATED or (text.startswith("arch/") and text.endswith(GENERATED))
    return top or generated or text.endswith((".o", ".cmd", ".ko", ".a")) or text in ("vmlinux", "System.map")
