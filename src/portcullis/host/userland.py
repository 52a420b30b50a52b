# SPDX-License-Identifier: GPL-2.0-only
"""Makes the disk of a virtual machine with a distribution's user land, by mmdebstrap, and keeps it."""

import hashlib
import os
import platform
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from portcullis.core.arches import ARCHES, arch_name
from portcullis.core.packages import listed_names
from portcullis.errors import ToolError
from portcullis.host.builder import Built
from portcullis.host.building import run_step
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.workspace import Workspace, disk_full_explained, free_mib, locked, write_whole

PACKAGES = Path(__file__).parents[1] / "data/userland-packages.txt"
SIZE_MIB = 4096  # of the disk, most of it a hole
SPARE_MIB = 1024  # of an empty disk, a hole: hibernation writes at most two fifths of the memory
NEEDED_MIB = 4000  # root as an archive, as a folder, and on the disk
MAKE_DISK = PACKAGES.with_name("make-disk.sh")


class UserLand:
    """The disk of one release."""

    def __init__(self, workspace: Workspace, commands: Commands, release: str, arch: str) -> None:
        self.workspace = workspace
        self.commands = commands
        self.release = release
        self.arch = ARCHES[arch]
        self.folder = workspace.folder("machines") / f"{release}-{self.arch.debian}"
        self.log = self.folder.with_name(self.folder.name + ".log")

    @property
    def disk(self) -> Path:
        """The disk as it was made, and as a user left it."""
        return self.folder / "root.img"

    def make(self, fresh: bool = False) -> Path:
        """The disk; it is made anew when the packages or our part of it changed, or with `fresh`."""
        own = self.workspace.guest / "userland"
        names = listed_names(PACKAGES.read_text())
        lock = self.folder.with_name(self.folder.name + ".lock")
        with disk_full_explained(self.workspace.cache), locked(lock):
            if self.commands.dry_run:
                self._debootstrap(names)
                return self.disk
            self.folder.mkdir(exist_ok=True)
            if self._changed("packages", " ".join(names)):
                self._debootstrap(names)
                self._note("packages", " ".join(names))
                fresh = True
            content = _digest(own) + MAKE_DISK.read_text() + str(SIZE_MIB)
            if fresh or self._changed("disk", content):
                self._make_disk(own)
                self._note("disk", content)
        return self.disk

    def _changed(self, what: str, content: str) -> bool:
        stamp = self.folder / f"{what}.stamp"
        return not stamp.is_file() or stamp.read_text() != hashlib.sha256(content.encode()).hexdigest()

    def _note(self, what: str, content: str) -> None:
        write_whole(self.folder / f"{what}.stamp", hashlib.sha256(content.encode()).hexdigest().encode())

    def _debootstrap(self, names: tuple[str, ...]) -> None:
        if not self.commands.dry_run and free_mib(self.folder) < NEEDED_MIB:
            raise ToolError(
                f"a machine needs {NEEDED_MIB} MiB, {free_mib(self.folder)} MiB are free under {self.folder}",
                "free some space or choose another place with --cache DIR",
            )
        self._look_at_arch()
        partial = self.folder / "partial.tar"
        words = ["mmdebstrap", "--variant=minbase", f"--architectures={self.arch.debian}", "--include", ",".join(names)]
        self.log.unlink(missing_ok=True)
        with step(f"making a root of Debian {self.release} ({self.arch.debian})"):
            self._run([*words, self.release, partial], f"making a root of Debian {self.release}")
        if not self.commands.dry_run:
            partial.replace(self.folder / "root.tar")

    def _look_at_arch(self) -> None:
        """Packages of another architecture run programs of their own while they are installed."""
        if self.commands.dry_run or arch_name(platform.machine()) == self.arch.name:
            return
        if self.commands.capture(["arch-test", self.arch.debian]).status:
            raise ToolError(
                f"this machine does not run programs of {self.arch.debian}, as making the root needs",
                "as root: mount -t binfmt_misc none /proc/sys/fs/binfmt_misc; /usr/lib/systemd/systemd-binfmt",
            )

    def _make_disk(self, own: Path) -> None:
        root, partial = self.folder / "root", self.folder / "partial.img"
        shutil.rmtree(root, ignore_errors=True)
        partial.unlink(missing_ok=True)
        command = ["sh", MAKE_DISK, self.folder / "root.tar", root, own, partial, f"{SIZE_MIB}M"]
        prefix = [] if os.geteuid() == 0 else ["fakeroot", "--"]  # the disk's files belong to root
        try:
            with step("making its disk"):
                self._run([*prefix, *command], "making the disk")
        finally:
            shutil.rmtree(root, ignore_errors=True)
        partial.replace(self.disk)

    def _run(self, command: list[str | Path], what: str) -> None:
        path = ":".join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))  # mke2fs
        run_step(self.workspace, self.commands, command, self.log, what, env={**os.environ, "PATH": path})


@contextmanager
def further_disks(built: Built) -> Iterator[tuple[Path, Path]]:
    """An empty disk, and an archive of the kernel and its modules. Both are thrown away."""
    modules = {f"modules/{module.name}": module for module in _modules(built.folder)}
    with archive_of({"image": built.image, **modules}) as archive:
        spare = archive.with_name("spare.img")
        make_empty(spare, SPARE_MIB)
        yield spare, archive


def make_empty(disk: Path, mib: int) -> None:
    """An empty disk, all of it a hole."""
    disk.unlink(missing_ok=True)
    disk.touch()
    os.truncate(disk, mib << 20)


@contextmanager
def archive_of(files: Mapping[str, Path]) -> Iterator[Path]:
    """A disk that is an archive of files, by their names in it, and is thrown away."""
    with TemporaryDirectory(prefix="portcullis-disks-") as name:
        archive = Path(name) / "files.tar"
        with tarfile.open(archive, "w") as tar:
            for path, file in files.items():
                tar.add(file, path)
        yield archive


def _modules(folder: Path) -> list[Path]:
    """What make calls modules, in the order in which they can be loaded."""
    order = folder / "modules.order"
    names = order.read_text().split() if order.is_file() else []
    return [(folder / name).with_suffix(".ko") for name in names]


def _digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = hashlib.sha256()
    for path in files:
        found.update(f"{path.relative_to(folder)} {path.stat().st_mode & 0o111}\n".encode() + path.read_bytes())
    return found.hexdigest()
