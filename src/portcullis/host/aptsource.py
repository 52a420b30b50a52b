# SPDX-License-Identifier: GPL-2.0-only
"""Gets a Debian source package from the mirror this machine uses, without touching the machine's apt configuration.

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
    source_list,
    source_version,
)
from portcullis.errors import ToolError
from portcullis.host.process import Commands, Finished, shown
from portcullis.host.screen import step
from portcullis.host.workspace import disk_full, whole_folder

KEYRINGS = tuple(Path(f"/usr/share/keyrings/debian-archive-keyring.{kind}") for kind in ("pgp", "gpg"))
OS_RELEASE = Path("/etc/os-release")
ARCHIVE = "*.orig.tar.xz"


def codename() -> str:
    """The Debian release of this machine, empty when it is none."""
    lines = OS_RELEASE.read_text().splitlines() if OS_RELEASE.is_file() else []
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("VERSION_CODENAME", "").strip('"')


def mirrors() -> tuple[str, ...]:
    """The Debian mirrors in apt's configuration; raises ToolError when there is none."""
    finished = Commands().capture(["apt-get", "indextargets", "--format", MIRROR_FORMAT])
    found = debian_mirrors(finished.output, codename()) if finished.status == 0 else ()
    if not found:
        raise ToolError(
            f"apt is not configured with a mirror of Debian {codename()}",
            "the emulator is built from Debian's source package of QEMU; it needs Debian 12 or 13",
        )
    return found


class PrivateApt:
    """apt with a configuration of its own in `folder`."""

    def __init__(self, commands: Commands, folder: Path, log: Path) -> None:
        self.commands = commands
        self.folder = folder
        self.log = log

    def _options(self) -> list[str]:
        settings = {
            "Dir::Etc::SourceList": self.folder / "sources.list",
            "Dir::Etc::SourceParts": self.folder / "parts",
            "Dir::State::Lists": self.folder / "lists",
            "Dir::Cache": self.folder / "cache",
            "APT::Update::Error-Mode": "any",
        }
        if os.geteuid() == 0:
            # apt's own user cannot write below the cache folder; what comes is verified in any case
            settings["APT::Sandbox::User"] = "root"
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def _run(self, command: Sequence[str | Path], cwd: Path | None = None) -> Finished:
        return self.commands.logged(command, self.log, cwd=cwd, env={**os.environ, "LC_ALL": "C"})

    def version(self, address: str, suite: str) -> str:
        """The version of QEMU that a suite has; raises ToolError when it cannot be had."""
        keyring = next((path for path in KEYRINGS if path.is_file()), None)
        if not self.commands.dry_run:
            for name in ("parts", "lists/partial", "cache/archives/partial"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            (self.folder / "sources.list").write_text(source_list(address, suite, keyring))
        update = ["apt-get", *self._options(), "update", "-q"]
        finished = self._run(update)
        if finished.status != 0:
            raise ToolError(apt_complaint(finished.output), f"log: {self.log}\n  again: {shown(update)}")
        finished = self._run(["apt-cache", *self._options(), "showsrc", "--only-source", PACKAGE])
        if self.commands.dry_run:
            return UPSTREAM
        version = source_version(finished.output)
        if not version:
            raise ToolError(f"{suite} has no {PACKAGE} {UPSTREAM}")
        return version

    def download(self, version: str, target: Path) -> None:
        """The files of the package, verified by apt, into a folder."""
        command = ["apt-get", *self._options(), "source", "-q", "--download-only", f"{PACKAGE}={version}"]
        finished = self._run(command, cwd=target)
        if "No space left on device" in finished.output:
            raise disk_full(target)
        if finished.status != 0:
            raise ToolError(apt_complaint(finished.output), f"log: {self.log}\n  again: {shown(command)}")


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
