# SPDX-License-Identifier: GPL-2.0-only
"""Boots a kernel under Bochs. There is no port for results: what there is to see is on the console."""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.bochs import ENTER, ISO, SERIAL, configuration, grub_menu
from portcullis.core.machine import Machine
from portcullis.errors import ToolError
from portcullis.host.process import Commands, start, stop
from portcullis.host.workspace import Workspace


@dataclass(frozen=True)
class BochsBoot:
    """The console, and where it is; `trouble` says why there was no end, empty when there was one."""

    console: str
    folder: Path
    trouble: str


def boot_on_bochs(
    workspace: Workspace, commands: Commands, machine: Machine, kernel: Path, initramfs: Path, label: str
) -> BochsBoot:
    """Boots until the guest powers off, `machine.timeout` seconds at most; raises ToolError when it cannot start."""
    folder = workspace.log_folder(label)
    _make_iso(commands, machine, kernel, initramfs, folder / ISO)
    (folder / "bochsrc").write_text(configuration(machine))
    (folder / "enter").write_text(ENTER)
    trouble = ""
    with (folder / "enter").open("rb") as enter, (folder / "bochs.out").open("wb") as sink:
        process = start(["bochs", "-q", "-f", "bochsrc"], cwd=folder, stdin=enter, stdout=sink, stderr=sink)
        try:
            process.wait(machine.timeout)
        except subprocess.TimeoutExpired:
            trouble = f"no end after {machine.timeout:.0f} s"
        finally:
            stop(process)
    (folder / ISO).unlink()
    serial = folder / SERIAL
    if not serial.exists():
        raise ToolError("Bochs did not start", f"log: {folder}/bochs.out")
    return BochsBoot(serial.read_text(errors="replace"), folder, trouble)


def _make_iso(commands: Commands, machine: Machine, kernel: Path, initramfs: Path, iso: Path) -> None:
    """A CD with a boot loader, kernel and initramfs: Bochs takes no kernel."""
    with tempfile.TemporaryDirectory(prefix="portcullis-iso-") as name:
        boot = Path(name) / "boot"
        (boot / "grub").mkdir(parents=True)
        (boot / "grub/grub.cfg").write_text(grub_menu(machine))
        shutil.copyfile(kernel, boot / "kernel")
        shutil.copyfile(initramfs, boot / "initramfs")
        finished = commands.capture(["grub-mkrescue", "-d", "/usr/lib/grub/i386-pc", "-o", iso, name])
    if finished.status != 0 or not iso.exists():
        raise ToolError(f"grub-mkrescue failed: {finished.output.strip()[-300:]}", "run: portcullis doctor")
