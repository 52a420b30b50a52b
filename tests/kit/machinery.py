# SPDX-License-Identifier: GPL-2.0-only
"""What tests run on: kernels, file systems of guests and emulators, made when the first test needs them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kit.case import Case
from kit.checks import describe, problems_of_boot
from kit.lab import KERNBENCH, KERNBENCH_GCC
from kit.once import Once
from kit.row import Row
from portcullis.core.elf import Image
from portcullis.core.machine import Machine
from portcullis.host.bench_kit import bench_initramfs
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.compile_kit import gcc_initramfs, lab_initramfs
from portcullis.host.emulator import emulator_for
from portcullis.host.guest import build_initramfs
from portcullis.host.plugin import counting_plugin
from portcullis.host.process import Commands
from portcullis.host.vm import Boot, run_job
from portcullis.host.workspace import Workspace

MAKERS = {"bench": bench_initramfs, KERNBENCH: lab_initramfs, KERNBENCH_GCC: gcc_initramfs}


@dataclass(frozen=True)
class Machinery:
    """The fixture `machinery`; `options` are those of builds, whose lane, architecture and name each case sets.

    `most_seconds` shortens the time limit of boots where it is not 0.
    """

    workspace: Workspace
    commands: Commands
    options: BuildOptions
    once: Once
    most_seconds: float = 0

    @property
    def jobs(self) -> int:
        """Parallel jobs of a build."""
        return self.options.jobs

    def kernel(self, case: Case) -> Path:
        """The image that a case runs; those without a topic share one tree and one build folder."""
        options = replace(self.options, lane=case.lane, arch=case.arch, kernel=case.kernel or self.options.kernel)
        if case.left_out:
            options = replace(options, without=case.left_out, name="without")
        what = " without ".join((f"{case.arch} kernel {options.kernel} of lane {case.lane}", *case.left_out))
        return self.once.make(what, lambda: Builder(self.workspace, self.commands, options).run().image)

    def built(self, case: Case, name: str = "vmlinux") -> Path:
        """A file of the same build."""
        return self.kernel(case).parents[3] / name

    def image(self, case: Case, name: str = "vmlinux") -> Image:
        """The same, read; raises OSError or ValueError."""
        return Image(self.built(case, name).read_bytes())

    def initramfs(self, arch: str, job: str = "") -> Path:
        """The file system of a guest, with the compiler or shell that a job needs, if any."""
        needed = next((name for name in MAKERS if name in job.split(",")), "")
        make = partial(MAKERS.get(needed, build_initramfs), self.workspace, self.commands, arch)
        return self.once.make(f"{arch} guest {needed}".rstrip(), make)

    def emulator(self, arch: str, counts: bool = False) -> str:
        """The QEMU that runs an architecture; our own if a plugin is to count."""
        if arch == "x86" and not counts:
            return "qemu-system-x86_64"
        make = partial(emulator_for, self.workspace, self.commands, arch, self.jobs, counts)
        return str(self.once.make(f"{arch} emulator {'that counts' if counts else ''}".rstrip(), make))

    def plugin(self) -> Path:
        """The plugin that counts."""
        return counting_plugin(self.workspace, self.commands, self.jobs)

    def boot(
        self, case: Case, machine: Machine | None = None, plugin: Path | None = None, initramfs: Path | None = None
    ) -> Boot:
        """Boots a case's machine, or another one, and returns what it left."""
        machine = machine or case.machine
        if self.most_seconds:
            machine = replace(machine, timeout=min(machine.timeout, self.most_seconds))
        return run_job(
            self.workspace,
            self.commands,
            machine,
            self.kernel(case),
            initramfs or self.initramfs(case.arch, case.machine.job),
            nmi_rate=case.nmi_rate,
            label=case.name,
            emulator=self.emulator(case.arch, counts=plugin is not None),
            plugin=plugin,
        )

    def assert_boots(
        self,
        case: Case,
        row: Row,
        initramfs: Path | None = None,
        more: Callable[[Boot], list[str]] = lambda _: [],
    ) -> None:
        """Boots a case and fails where anything is wrong with that; `more` finds what else may be."""
        boot = self.boot(case, initramfs=initramfs)
        problems = problems_of_boot(case, boot.results, boot.console, boot.trouble) + more(boot)
        row.assert_none(problems, describe(case, boot.results, boot.console), boot.folder)
