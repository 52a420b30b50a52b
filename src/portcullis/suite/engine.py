# SPDX-License-Identifier: GPL-2.0-only
"""Runs test cases one after another; kernels are built when the first case needs them."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from portcullis.commands.bench import measured
from portcullis.core.elf import Image
from portcullis.core.emulator import test_by_case
from portcullis.core.jumplabels import sites_of_key
from portcullis.core.splats import scan_console
from portcullis.errors import ToolError
from portcullis.host.attacker import known_attacks, run_attacks
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.emulator import EmulatorBuilder
from portcullis.host.emulator_tests import TestPrograms, run_test
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.vm import Boot, run_job
from portcullis.host.workspace import Workspace
from portcullis.suite import static
from portcullis.suite.cases import Case
from portcullis.suite.checks import describe, problems_of_boot, shorten

STATIC_KEY = "kpkeys_pgtables_key"


@dataclass(frozen=True)
class Row:
    """Result of a case: state is passed, failed or skipped; `log` is where to look."""

    name: str
    state: str
    seconds: float
    detail: str
    log: str = ""


class Engine:
    """Runs cases against kernels built from `options` (lane and name are set per case)."""

    def __init__(self, workspace: Workspace, options: BuildOptions) -> None:
        self.workspace = workspace
        self.options = options
        self.commands = Commands()
        self._kernels: dict[str, Path | ToolError] = {}
        self._initramfs: Path | ToolError | None = None
        self._emulator_binary: Path | ToolError | None = None

    def run(self, cases: Iterable[Case]) -> Iterable[Row]:
        """Yields one row per case as it finishes."""
        for case in cases:
            yield self.run_case(case)

    def run_case(self, case: Case) -> Row:
        """Runs one case; an error of the tool is a failed row."""
        started = time.monotonic()
        try:
            state, detail, log = self._runner(case)(case)
        except ToolError as error:
            state, detail, log = "failed", str(error), ""
        return Row(case.name, state, time.monotonic() - started, detail, log)

    def _runner(self, case: Case) -> Callable[[Case], tuple[str, str, str]]:
        own = {
            "build": self._build,
            "boot": self._boot,
            "attacks": self._attacks,
            "bench": self._bench,
            "nops": self._nops,
            "espfix": self._espfix,
            "emulator": self._emulator,
        }
        if case.kind in own:
            return own[case.kind]
        check = static.CHECKS[case.kind]
        return lambda _: check(self.workspace, self.commands)

    def kernel(self, lane: str) -> Path:
        """Image of a lane, built once; a failed build is not tried again."""
        if lane not in self._kernels:
            try:
                self._kernels[lane] = (
                    Builder(self.workspace, self.commands, replace(self.options, lane=lane)).run().image
                )
            except ToolError as error:
                self._kernels[lane] = error
                raise
        kernel = self._kernels[lane]
        if isinstance(kernel, ToolError):
            raise ToolError(f"no kernel: the build of lane {lane} failed")
        return kernel

    def initramfs(self) -> Path:
        """The guest's file system, built once."""
        if self._initramfs is None:
            try:
                self._initramfs = build_initramfs(self.workspace, self.commands)
            except ToolError as error:
                self._initramfs = error
        if isinstance(self._initramfs, ToolError):
            raise self._initramfs
        return self._initramfs

    def _build(self, case: Case) -> tuple[str, str, str]:
        image = self.kernel(case.lane)
        return "passed", f"{image.stat().st_size // 1024} KiB", ""

    def _nops(self, case: Case) -> tuple[str, str, str]:
        """Every place that tests the static key is a NOP in the image, as it stays when the key is never enabled."""
        vmlinux = self.kernel(case.lane).parents[3] / "vmlinux"
        try:
            sites = sites_of_key(Image(vmlinux.read_bytes()), STATIC_KEY)
        except (OSError, ValueError) as error:
            return "failed", f"{vmlinux}: {error}", ""
        jumps = [f"{site.address:#x}: {site.code.hex(' ')}" for site in sites if not site.is_nop]
        if jumps or not sites:
            return "failed", shorten(jumps) or f"no place tests {STATIC_KEY}", ""
        return "passed", f"{len(sites)} places test {STATIC_KEY}, all are NOPs", ""

    def _espfix(self, case: Case) -> tuple[str, str, str]:
        """The code that makes espfix tables calls the pool."""
        module = self.kernel(case.lane).parents[3] / "arch/x86/kernel/espfix_64.o"
        try:
            calls = Image(module.read_bytes()).symbols({"kpkeys_ptp_alloc"})
        except (OSError, ValueError) as error:
            return "failed", f"{module}: {error}", ""
        return ("passed", "", "") if calls else ("failed", f"{module.name} does not call kpkeys_ptp_alloc()", "")

    def emulator(self) -> Path:
        """The emulator, built once; a failed build is not tried again."""
        if self._emulator_binary is None:
            try:
                self._emulator_binary = EmulatorBuilder(self.workspace, self.commands, self.options.jobs).run().binary
            except ToolError as error:
                self._emulator_binary = error
                raise
        if isinstance(self._emulator_binary, ToolError):
            raise ToolError("no emulator: its build failed")
        return self._emulator_binary

    def _emulator(self, case: Case) -> tuple[str, str, str]:
        programs = TestPrograms(self.workspace, self.commands, self.options.jobs)
        outcome = run_test(self.workspace, test_by_case(case.name), self.emulator(), programs)
        return ("failed" if outcome.problems else "passed"), shorten(outcome.problems), str(outcome.folder)

    def _run_job(self, case: Case, machine: object = None) -> Boot:
        kernel = self.kernel(case.lane)
        chosen = machine or case.machine
        return run_job(
            self.workspace,
            self.commands,
            chosen,
            kernel,
            self.initramfs(),
            nmi_rate=case.nmi_rate,
            label=case.name,
        )

    def _boot(self, case: Case) -> tuple[str, str, str]:
        boot = self._run_job(case)
        problems = problems_of_boot(case, boot.results, boot.console, boot.trouble)
        if problems:
            return "failed", shorten(problems), str(boot.folder)
        return "passed", describe(case, boot.results, boot.console), str(boot.folder)

    def _attacks(self, case: Case) -> tuple[str, str, str]:
        attacks = known_attacks(self.workspace)
        outcomes, boots = run_attacks(
            attacks, case.machine.mode or "", case.machine, lambda machine: self._run_job(case, machine)
        )
        wrong = [
            f"{outcome.name}: {outcome.verdict}, expected {outcome.expected} ({outcome.evidence})"
            for outcome in outcomes
            if not outcome.as_expected
        ]
        for boot in boots:
            splats = scan_console(boot.console, case.allowed)
            wrong += [f"console line {splat.number}: {splat.line}" for splat in splats]
        log = str(boots[0].folder) if boots else ""
        if wrong or not outcomes:
            return "failed", shorten(wrong) or "no attacks", log
        return "passed", f"{len(outcomes)} attacks as expected in {len(boots)} boot(s)", log

    def _bench(self, case: Case) -> tuple[str, str, str]:
        boot = self._run_job(case)
        bad = [
            f"{row.bound.bench}: {row.bound.counter} is {row.value}, at most {row.limit}"
            for row in measured(boot)
            if not row.good
        ]
        return ("failed" if bad else "passed"), shorten(bad), str(boot.folder)
