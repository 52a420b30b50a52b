# SPDX-License-Identifier: GPL-2.0-only
"""Where things are: the Portcullis checkout and the cache folder; locks, safe writes, disk space."""

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from portcullis.errors import ToolError
from portcullis.host.screen import say


@dataclass(frozen=True)
class Workspace:
    """The checkout (`root`, read only) and the cache folder (everything that is made)."""

    root: Path
    cache: Path

    @property
    def kernel(self) -> Path:
        """Kernel files, hooks and configuration fragments."""
        return self.root / "kernel"

    @property
    def guest(self) -> Path:
        """Sources of the guest programs."""
        return self.root / "guest"

    def folder(self, *names: str) -> Path:
        """A folder below the cache, made when it does not exist."""
        path = self.cache.joinpath(*names)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ToolError(f"cannot make {path}: {error.strerror}", "choose another with --cache DIR") from error
        return path

    def log_folder(self, label: str) -> Path:
        """A new folder for the logs of one run, named after the time and the label."""
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in label)[:60]
        base = self.folder("logs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{safe}"
        for number in range(1000):
            path = base if number == 0 else base.with_name(f"{base.name}-{number}")
            with suppress(FileExistsError):
                path.mkdir()
                return path
        raise ToolError(f"cannot make a new log folder like {base}")


def default_workspace(cache: str | None) -> Workspace:
    """The checkout this program runs from, with the cache folder the user chose."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    chosen = cache or os.environ.get("PORTCULLIS_CACHE") or f"{home}/portcullis"
    root = Path(os.environ.get("PORTCULLIS_ROOT") or Path(__file__).parents[3])
    return Workspace(root.resolve(), Path(chosen).expanduser().resolve())


@contextmanager
def locked(path: Path, quietly: bool = False) -> Iterator[None]:
    """Holds a lock file; waits (and says so, if not quietly) while another portcullis holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not quietly:
                say(f"waiting for another portcullis that uses {path.with_suffix('')}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A temporary folder that becomes `target` when the block ends well and vanishes when it does not."""
    prefix = f".partial-{target.name}~"  # no name has a ~, so none of these is for a longer name
    target.parent.mkdir(parents=True, exist_ok=True)
    for left_over in target.parent.glob(f"{prefix}*"):
        remove_folder(left_over)  # of a run that was killed; the caller holds the lock
    partial = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    partial.chmod(0o755)
    try:
        yield partial
        if target.exists():
            remove_folder(target)
        partial.rename(target)
    except BaseException:
        remove_folder(partial)
        raise


def remove_folder(path: Path) -> None:
    """Removes a folder, even one with read-only folders in it."""
    shutil.rmtree(path, ignore_errors=True)


def write_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replaces a file in one step (a new inode: hard links to the old content keep it)."""
    handle, name = tempfile.mkstemp(prefix=".portcullis-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(0o644 if mode is None else mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def disk_full_explained(folder: Path) -> Iterator[None]:
    """Turns a full disk into a message that says how much is free where."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk_full(folder) from error


def disk_full(folder: Path) -> ToolError:
    """The error for a full disk."""
    free = free_mib(folder)
    return ToolError(
        f"the disk is full ({free} MiB free under {folder})",
        "nothing half-made was kept; free some space or choose another place with --cache DIR, then run this again",
    )


def free_mib(folder: Path) -> int:
    """Free space in MiB on the disk that holds a folder."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free // 2**20
