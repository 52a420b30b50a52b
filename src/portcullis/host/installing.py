# SPDX-License-Identifier: GPL-2.0-only
"""Installs the kernel's packages in a virtual machine, as a user would, on a disk that EFI firmware boots."""

import time
from dataclasses import replace
from pathlib import Path

from portcullis.core.machine import Machine
from portcullis.core.userland import ROOT
from portcullis.errors import ToolError
from portcullis.host.builder import BUILT_STAMP, Builder, BuildOptions, Built
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.userland import SIZE_MIB, UserLand, archive_of, make_empty
from portcullis.host.vm import explain, run_job
from portcullis.host.workspace import Workspace, locked, write_whole

INSTALL = "portcullis.install=yes"
NAMES = ("linux-image-",)  # of the packages that go on the disk; the others are for who builds modules


class Installation:
    """A disk of a release with the packages of a kernel, and GRUB."""

    def __init__(self, workspace: Workspace, commands: Commands, land: UserLand, options: BuildOptions) -> None:
        self.workspace = workspace
        self.commands = commands
        self.land = land
        self.options = options
        self.disk = land.folder / f"installed-{options.lane}.img"

    def make(self, built: Built, machine: Machine, emulator: str, fresh: bool = False) -> Path:
        """The disk; it is made anew when the kernel or the user land changed, or with `fresh`."""
        root = self.land.make()
        if self.commands.dry_run:
            return self.disk
        stamp = self.disk.with_suffix(".stamp")
        content = (built.folder / BUILT_STAMP).read_text() + str(root.stat().st_mtime_ns)
        with locked(self.disk.with_suffix(".lock")):
            if fresh or not self.disk.is_file() or not stamp.is_file() or stamp.read_text() != content:
                stamp.unlink(missing_ok=True)
                self._install(machine, built.image, root, emulator, self._packages())
                write_whole(stamp, content.encode())
        return self.disk

    def _packages(self) -> tuple[Path, ...]:
        """Packages of the kernel, made now."""
        started = time.time()
        built = Builder(self.workspace, self.commands, replace(self.options, deb=True)).run()
        made = built.packages_since(started)
        return tuple(path for path in made if path.name.startswith(NAMES) and "-dbg" not in path.name)

    def _install(self, machine: Machine, kernel: Path, root: Path, emulator: str, packages: tuple[Path, ...]) -> None:
        partial = self.disk.with_suffix(".partial")
        make_empty(partial, 2 * SIZE_MIB)
        asked = replace(machine, mode="enforce", append=f"{ROOT} {INSTALL}")
        with step("installing the packages"), archive_of({path.name: path for path in packages}) as archive:
            boot = run_job(
                self.workspace,
                self.commands,
                asked,
                kernel,
                None,
                label="vm-install",
                emulator=emulator,
                disks=(root, archive),
                kept=(partial,),
            )
        if boot.trouble or boot.results.failed:
            partial.unlink()
            said = explain(boot) if boot.trouble else f"see {boot.folder}/results.txt"
            raise ToolError(f"the packages could not be installed: {said}", f"log: {boot.folder}")
        partial.replace(self.disk)
