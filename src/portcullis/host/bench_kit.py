# SPDX-License-Identifier: GPL-2.0-only
"""Debian's dash for the guest, with the loader and the library that it needs: what `bench` runs besides itself."""

import os
from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.core.cpio import regular
from portcullis.errors import ToolError
from portcullis.host.aptsource import fetch_unpacked_whole
from portcullis.host.compile_kit import libraries, pack_onto
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace, locked

OWN = Path("/")
PACKAGE = "dash"
PLACES = ("bin/dash", "usr/bin/dash")  # in the package, by release


def bench_initramfs(workspace: Workspace, commands: Commands, arch: str) -> Path:
    """The guest's file system with dash in it."""
    base = build_initramfs(workspace, commands, arch)
    target = base.with_name(base.name.replace("initramfs", "initramfs-bench"))
    if commands.dry_run:
        return target
    program, root = dash(workspace, commands, arch, os.uname().machine)
    entries = [regular("bin/dash", program.read_bytes(), 0o755)]
    needed = libraries(commands, root, arch, [str(program.relative_to(root))])
    entries += [regular(name, path.read_bytes(), 0o755) for name, path in needed]
    pack_onto(workspace, base, target, entries)
    return target


def dash(workspace: Workspace, commands: Commands, arch: str, machine: str) -> tuple[Path, Path]:
    """dash for `arch` on `machine` (from uname), and the root below which its libraries are.

    It is this machine's own, or for another architecture that of the same mirror. Raises ToolError when there is none.
    """
    if not cross_prefix(ARCHES[arch], machine):
        return _dash_below(OWN, f"install {PACKAGE}"), OWN
    root = workspace.cache / f"dash-{arch}"
    with locked(root.with_suffix(".lock")):
        if not root.is_dir():
            fetch_unpacked_whole(commands, (PACKAGE,), ARCHES[arch].debian, root, workspace.cache / "dash.log")
    return _dash_below(root, f"look into {root}"), root


def _dash_below(root: Path, hint: str) -> Path:
    found = next((root / place for place in PLACES if (root / place).is_file()), None)
    if found is None:
        raise ToolError("there is no dash for the benchmark in the guest", hint)
    return found
