# SPDX-License-Identifier: GPL-2.0-only
"""Builds the guest programs and packs the initramfs."""

import gzip
import os
from collections.abc import Mapping
from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.core.cpio import Entry, character_device, directory, newc, regular, symlink
from portcullis.errors import ToolError
from portcullis.host.building import run_step
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace, locked, write_whole

FOLDERS = ("bin", "dev", "etc", "mnt", "proc", "root", "run", "sys", "tmp")


def build_initramfs(workspace: Workspace, commands: Commands, arch: str = "x86", shell: Path | None = None) -> Path:
    """Compiles the guest programs and packs them; the file is replaced only when its content changed.

    `shell` is a static busybox for `arch`.
    """
    suffix = "" if arch == "x86" else f"-{arch}"
    output = _output(workspace, arch)
    target = workspace.cache / f"initramfs{suffix}{'-shell' if shell else ''}.cpio.gz"
    prefix = cross_prefix(ARCHES[arch], os.uname().machine)
    with locked(workspace.cache / "guest.lock"):
        command = ["make", "-C", workspace.guest, f"O={output}", f"-j{os.cpu_count() or 1}"]
        command += [f"CC={prefix}gcc"] if prefix else []
        log = workspace.cache / "guest.log"
        if not (workspace.guest / "Makefile").is_file():
            raise ToolError(f"{workspace.guest}/Makefile does not exist", "the checkout is not complete")
        log.unlink(missing_ok=True)
        run_step(workspace, commands, command, log, "building the guest programs")
        if commands.dry_run:
            return target
        archive = gzip.compress(newc(_entries(workspace, output, shell)), 6, mtime=0)
        if not target.is_file() or target.read_bytes() != archive:
            write_whole(target, archive)
    return target


def pack_programs(target: Path, init: Path, programs: Mapping[str, Path]) -> None:
    """An initramfs of `init` and static programs, by their names in /bin."""
    entries: list[Entry] = [directory(name, 0o1777 if name == "tmp" else 0o755) for name in FOLDERS]
    entries.append(character_device("dev/console", 5, 1))
    entries.append(regular("init", init.read_bytes(), 0o755))
    entries += [regular(f"bin/{name}", path.read_bytes(), 0o755) for name, path in programs.items()]
    write_whole(target, gzip.compress(newc(entries), 6, mtime=0))


def _output(workspace: Workspace, arch: str) -> Path:
    return workspace.folder("guest" if arch == "x86" else f"guest-{arch}")


def guest_init(workspace: Workspace, arch: str) -> Path:
    """The guest's first program, as build_initramfs() left it."""
    return _output(workspace, arch) / "init"


def _entries(workspace: Workspace, output: Path, shell: Path | None) -> list[Entry]:
    programs = sorted(path for path in output.iterdir() if path.is_file() and os.access(path, os.X_OK))
    if output / "init" not in programs:
        raise ToolError(f"{output}/init was not built", f"look at {workspace.guest}/Makefile")
    entries = [directory(name, 0o1777 if name == "tmp" else 0o755) for name in FOLDERS]
    entries.append(character_device("dev/console", 5, 1))
    entries.append(regular("init", (output / "init").read_bytes(), 0o755))
    for program in programs:
        if program.name != "init":
            entries.append(regular(f"bin/{program.name}", program.read_bytes(), 0o755))
    if shell:
        entries.append(regular("bin/busybox", shell.read_bytes(), 0o755))
        entries.append(symlink("bin/sh", "busybox"))
    return entries
