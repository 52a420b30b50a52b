# SPDX-License-Identifier: GPL-2.0-only
"""Gets Debian packages from the mirror this machine uses, without touching the machine's apt configuration.

apt runs with a list, a state folder and a cache of its own, below the cache folder. It verifies the release with the
system's keyrings, and the files of the package with the release.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from portcullis.core.emulator import (
    MIRROR_FORMAT,
    PACKAGE,
    SUITES,
    UPSTREAM,
    apt_complaint,
    debian_mirrors,
    debian_suites,
    source_list,
    source_version,
)
from portcullis.errors import ToolError
from portcullis.host.process import Commands, Finished, shown
from portcullis.host.screen import step
from portcullis.host.workspace import disk_full, remove_folder, whole_folder

KEYRINGS = tuple(Path(f"/usr/share/keyrings/debian-archive-keyring.{kind}") for kind in ("pgp", "gpg"))
OS_RELEASE = Path("/etc/os-release")
ARCHIVE = "*.orig.tar.xz"


def codename() -> str:
    """The Debian release of this machine, empty when it is none."""
    lines = OS_RELEASE.read_text().splitlines() if OS_RELEASE.is_file() else []
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("VERSION_CODENAME", "").strip('"')


def _targets() -> str:
    finished = Commands().capture(["apt-get", "indextargets", "--format", MIRROR_FORMAT])
    return finished.output if finished.status == 0 else ""


def suites() -> tuple[tuple[str, str], ...]:
    """Mirrors and suites of this release in apt's configuration, those of updates and of security among them."""
    return debian_suites(_targets(), codename())


def mirrors() -> tuple[str, ...]:
    """The Debian mirrors in apt's configuration; raises ToolError when there is none."""
    found = debian_mirrors(_targets(), codename())
    if not found:
        raise ToolError(
            f"apt is not configured with a mirror of Debian {codename()}",
            "what arm64 needs comes from there: Debian 12 or 13",
        )
    return found


class PrivateApt:
    """apt with a configuration of its own in `folder`; with `arch`, Debian's name of it, for binary packages."""

    def __init__(self, commands: Commands, folder: Path, log: Path, arch: str = "") -> None:
        self.commands = commands
        self.folder = folder
        self.log = log
        self.arch = arch

    def _options(self) -> list[str]:
        settings = {
            "Dir::Etc::SourceList": self.folder / "sources.list",
            "Dir::Etc::SourceParts": self.folder / "parts",
            "Dir::State::Lists": self.folder / "lists",
            "Dir::Cache": self.folder / "cache",
            "APT::Update::Error-Mode": "any",
        }
        if self.arch:
            settings |= {"APT::Architecture": self.arch, "APT::Architectures": self.arch}
        if os.geteuid() == 0:
            # apt's own user cannot write below the cache folder; what comes is verified in any case
            settings["APT::Sandbox::User"] = "root"
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def _run(self, command: Sequence[str | Path], cwd: Path | None = None) -> Finished:
        return self.commands.logged(command, self.log, cwd=cwd, env={**os.environ, "LC_ALL": "C"})

    def update(self, address: str, suite: str) -> None:
        """Fetches what a suite has; raises ToolError when it cannot be had."""
        keyring = next((path for path in KEYRINGS if path.is_file()), None)
        kind = "deb" if self.arch else "deb-src"
        if not self.commands.dry_run:
            for name in ("parts", "lists/partial", "cache/archives/partial"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            (self.folder / "sources.list").write_text(source_list(address, suite, keyring, kind))
        self._checked(["apt-get", *self._options(), "update", "-q"])

    def source_records(self, address: str, suite: str, package: str) -> str:
        """What a suite says of a source package; raises ToolError when the suite cannot be had."""
        self.update(address, suite)
        return self._run(["apt-cache", *self._options(), "showsrc", "--only-source", package]).output

    def version(self, address: str, suite: str) -> str:
        """The version of QEMU that a suite has; raises ToolError when it cannot be had."""
        records = self.source_records(address, suite, PACKAGE)
        if self.commands.dry_run:
            return UPSTREAM
        version = source_version(records)
        if not version:
            raise ToolError(f"{suite} has no {PACKAGE} {UPSTREAM}")
        return version

    def download(self, version: str, target: Path) -> None:
        """The files of QEMU's source package, verified by apt, into a folder."""
        self.download_source(f"{PACKAGE}={version}", target)

    def download_source(self, package: str, target: Path, archive_only: bool = False) -> None:
        """Files of a source package (NAME or NAME=VERSION), or its archive alone, verified by apt, into a folder."""
        only = ["--tar-only"] if archive_only else []
        self._checked(["apt-get", *self._options(), "source", "-q", "--download-only", *only, package], cwd=target)

    def download_binary(self, package: str, target: Path) -> None:
        """A binary package, verified by apt, into a folder."""
        self._checked(["apt-get", *self._options(), "download", "-q", package], cwd=target)

    def download_whole(self, packages: Sequence[str], target: Path) -> None:
        """Binary packages with all that they depend on, verified by apt, into a folder."""
        nothing = self.folder / "status"  # no package is installed
        (target / "partial").mkdir(parents=True, exist_ok=True)
        nothing.touch()
        where = [f"Dir::State::status={nothing}", f"Dir::Cache::archives={target}"]
        options = [word for setting in where for word in ("-o", setting)]
        words = ["install", "-q", "-y", "--download-only", "--no-install-recommends"]
        self._checked(["apt-get", *self._options(), *options, *words, *packages])

    def _checked(self, command: Sequence[str | Path], cwd: Path | None = None) -> None:
        finished = self._run(command, cwd)
        if cwd and "No space left on device" in finished.output:
            raise disk_full(cwd)
        if finished.status != 0:
            raise ToolError(apt_complaint(finished.output), f"log: {self.log}\n  again: {shown(command)}")


def fetch_unpacked(commands: Commands, package: str, arch: str, folder: Path, log: Path) -> None:
    """A package of a Debian architecture, unpacked into a folder that is whole or not there; raises ToolError."""
    with step(f"fetching {package} for {arch}"), whole_folder(folder) as partial:
        apt = PrivateApt(commands, partial / "apt", log, arch)
        apt.update(mirrors()[0], codename())
        apt.download_binary(f"{package}:{arch}", partial)
        remove_folder(partial / "apt")
        unpack(commands, partial, partial)


def fetch_unpacked_whole(commands: Commands, packages: Sequence[str], arch: str, folder: Path, log: Path) -> None:
    """The same of several packages and all that they depend on."""
    with step(f"fetching {', '.join(packages)} for {arch}"), whole_folder(folder) as partial:
        apt = PrivateApt(commands, partial / "apt", log, arch)
        apt.update(mirrors()[0], codename())
        apt.download_whole(packages, partial / "apt/packages")
        unpack(commands, partial / "apt/packages", partial)
        remove_folder(partial / "apt")


def unpack(commands: Commands, packages: Path, folder: Path) -> None:
    """Unpacks all packages that lie in a folder; raises ToolError for one that is broken."""
    for path in sorted(packages.glob("*.deb")):
        finished = commands.capture(["dpkg-deb", "-x", path, folder])
        if finished.status != 0:
            raise ToolError(f"{path.name} cannot be unpacked: {finished.output.strip()}")


def fetched_archive(folder: Path) -> Path | None:
    """The source archive that is there already."""
    return max(folder.glob(f"*/{ARCHIVE}"), default=None)


def fetch_archive(commands: Commands, folder: Path, log: Path) -> Path:
    """The source archive of QEMU, fetched once; raises ToolError with a reason for each suite that was tried."""
    have = fetched_archive(folder)
    if have is not None:
        return have
    if shutil.which("apt-get") is None:
        raise ToolError("there is no apt on this machine", "the emulator is built from Debian's source package of QEMU")
    reasons = []
    for address in mirrors():
        for suite in SUITES:
            try:
                return _fetch_from(commands, folder, log, address, suite)
            except ToolError as error:
                reasons.append(f"    {suite}: {error.message}")
    raise ToolError(
        f"the source of {PACKAGE} {UPSTREAM} cannot be had\n" + "\n".join(reasons),
        f"is there a network? Log: {log}",
    )


def _fetch_from(commands: Commands, folder: Path, log: Path, address: str, suite: str) -> Path:
    apt = PrivateApt(commands, folder / "apt", log)
    with step(f"looking for QEMU {UPSTREAM} in {suite}"):
        version = apt.version(address, suite)
    target = folder / version.replace(":", "_")
    if commands.dry_run:
        apt.download(version, target)
        return target / "ARCHIVE"
    with step(f"fetching the source of QEMU {version}"), whole_folder(target) as partial:
        apt.download(version, partial)
        if not list(partial.glob(ARCHIVE)):
            raise ToolError(f"{PACKAGE} {version} brought no {ARCHIVE}")
    return next(target.glob(ARCHIVE))
