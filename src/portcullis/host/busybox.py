# SPDX-License-Identifier: GPL-2.0-only
"""The shell of the guest: this machine's busybox-static, or for another architecture the one of the same mirror."""

from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.errors import ToolError
from portcullis.host.aptsource import fetch_unpacked
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace, locked

OWN = Path("/bin/busybox")
PACKAGE = "busybox-static"
PLACES = ("bin/busybox", "usr/bin/busybox")  # in the package, by release


def busybox(workspace: Workspace, commands: Commands, arch: str, machine: str) -> Path:
    """A static busybox for `arch` on `machine` (from uname); raises ToolError when there is none."""
    if not cross_prefix(ARCHES[arch], machine):
        if not OWN.is_file():
            raise ToolError("there is no busybox for the shell in the guest", f"install {PACKAGE}")
        return OWN
    folder = workspace.cache / f"busybox-{arch}"
    if commands.dry_run:
        return folder / PLACES[0]
    with locked(folder.with_suffix(".lock")):
        if _unpacked(folder) is None:
            fetch_unpacked(commands, PACKAGE, ARCHES[arch].debian, folder, workspace.cache / "busybox.log")
    found = _unpacked(folder)
    if found is None:
        raise ToolError(f"{PACKAGE} for {arch} brought no busybox", f"look into {folder}")
    return found


def _unpacked(folder: Path) -> Path | None:
    return next((folder / place for place in PLACES if (folder / place).is_file()), None)
