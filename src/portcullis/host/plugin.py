# SPDX-License-Identifier: GPL-2.0-only
"""Compiles the emulator's counting plugin, once for each version of it."""

import hashlib
from pathlib import Path

from portcullis.core.splats import last_lines
from portcullis.errors import ToolError
from portcullis.host.emulator import EmulatorBuilder
from portcullis.host.process import Commands, shown
from portcullis.host.workspace import Workspace, locked


def counting_plugin(workspace: Workspace, commands: Commands, jobs: int) -> Path:
    """The plugin, for the emulator of either architecture; the distribution's QEMU may be too old for it."""
    folder = workspace.root / "emulator" / "plugins"
    sources = sorted(folder.glob("*.c"))
    emulator = EmulatorBuilder(workspace, commands, jobs).run()
    if commands.dry_run:
        commands.capture(_command(sources, emulator.header.parent, "", workspace.cache / "count.so"))
        return workspace.cache / "count.so"
    if not sources:
        raise ToolError(f"{folder} has no plugin", "the checkout is not complete")
    parts = [path.read_bytes() for path in (*sources, *sorted(folder.glob("*.h")), emulator.header)]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    target = workspace.folder("emulator", "plugins") / f"count-{key}.so"
    with locked(target.with_suffix(".lock")):
        if not target.is_file():
            _compile(commands, sources, emulator.header.parent, target)
    return target


def _compile(commands: Commands, sources: list[Path], headers: Path, target: Path) -> None:
    flags = commands.capture(["pkg-config", "--cflags", "glib-2.0"])
    partial = target.with_suffix(".partial")
    command = _command(sources, headers, flags.output, partial)
    finished = commands.capture(command)
    if flags.status or finished.status:
        detail = last_lines(flags.output if flags.status else finished.output)
        raise ToolError(f"the counting plugin does not compile:\n{detail}", f"again: {shown(command)}")
    partial.rename(target)


def _command(sources: list[Path], headers: Path, glib: str, target: Path) -> list[str | Path]:
    return ["gcc", "-O2", "-shared", "-fPIC", *glib.split(), "-I", headers, "-o", target, *sources]
