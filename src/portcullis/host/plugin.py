# SPDX-License-Identifier: GPL-2.0-only
"""Compiles the emulator's counting plugin, once for each version of it."""

import hashlib
from pathlib import Path

from portcullis.core.splats import last_lines
from portcullis.errors import ToolError
from portcullis.host.emulator import EmulatorBuilder
from portcullis.host.process import Commands, shown
from portcullis.host.workspace import Workspace, locked


def counting_plugin(workspace: Workspace, commands: Commands, arch: str, jobs: int) -> Path | None:
    """The plugin, or None where the distribution's QEMU runs the guest: its plugin interface is too old to count."""
    if arch == "x86":
        return None
    source = workspace.root / "emulator" / "plugins" / "count.c"
    emulator = EmulatorBuilder(workspace, commands, jobs).run()
    if commands.dry_run:
        commands.capture(_command(source, emulator.header.parent, "", workspace.cache / "count.so"))
        return workspace.cache / "count.so"
    key = hashlib.sha256(source.read_bytes() + emulator.header.read_bytes()).hexdigest()[:16]
    target = workspace.folder("emulator", "plugins") / f"count-{key}.so"
    with locked(target.with_suffix(".lock")):
        if not target.is_file():
            _compile(commands, source, emulator.header.parent, target)
    return target


def _compile(commands: Commands, source: Path, headers: Path, target: Path) -> None:
    flags = commands.capture(["pkg-config", "--cflags", "glib-2.0"])
    partial = target.with_suffix(".partial")
    command = _command(source, headers, flags.output, partial)
    finished = commands.capture(command)
    if flags.status or finished.status:
        detail = last_lines(flags.output if flags.status else finished.output)
        raise ToolError(f"{source.name} does not compile:\n{detail}", f"again: {shown(command)}")
    partial.rename(target)


def _command(source: Path, headers: Path, glib: str, target: Path) -> list[str | Path]:
    return ["gcc", "-O2", "-shared", "-fPIC", *glib.split(), "-I", headers, "-o", target, source]
