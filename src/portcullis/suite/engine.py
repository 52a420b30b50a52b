# SPDX-License-Identifier: GPL-2.0-only
"""Runs test cases; kernels are built when the first case needs them."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from portcullis.commands.labbench import EXPECTED, expected_jobs, lab_files, toolchain_of
from portcullis.core.arches import ARCHES
from portcullis.core.bench import Measured
from portcullis.core.counts import differences, parse_regions
from portcullis.core.elf import Image
from portcullis.core.emulator import test_by_case
from portcullis.core.jitgate import problems_of_guest
from portcullis.core.jumplabels import problems_of_sites, sites_of_key
from portcullis.core.kconfig import parse_config
from portcullis.core.machine import Machine, backend_of
from portcullis.core.splats import scan_console
from portcullis.errors import ToolError
from portcullis.host.attacker import before_death, choose_possible, is_damaged, known_attacks, run_attacks
from portcullis.host.bench_kit import bench_initramfs
from portcullis.host.bochs import boot_on_bochs
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.compile_kit import gcc_initramfs, lab_initramfs
from portcullis.host.counting import counted, measured
from portcullis.host.counts_tests import problems_alone, problems_of_counts
from portcullis.host.emulator import emulator_for
from portcullis.host.emulator_tests import TestPrograms, run_test
from portcullis.host.executors import local
from portcullis.host.exportbuild import SeriesBuild
from portcullis.host.guest import build_initramfs, guest_init
from portcullis.host.jitgate import Jitgate, Outcome
from portcullis.host.labjobs import run_jobs
from portcullis.host.luajit import LuaJit
from portcullis.host.luajit import build as build_luajit
from portcullis.host.luajit_bench import counted_in
from portcullis.host.luajit_bench import guest_initramfs as luajit_initramfs
from portcullis.host.luajit_tests import LuaJitTests
from portcullis.host.pcre2 import Pcre2
from portcullis.host.pcre2_tests import Pcre2Tests
from portcullis.host.plugin import counting_plugin
from portcullis.host.process import Commands
from portcullis.host.vm import Boot, run_job
from portcullis.host.workspace import Workspace
from portcullis.lab.expected import HOW_TO_UPDATE, parse_expected
from portcullis.lab.expected import differences as changed_counts
from portcullis.lab.jobs import Job
from portcullis.lab.luajit_counts import problems_of_counted
from portcullis.lab.luajit_page import count_summary
from portcullis.lab.results import Result
from portcullis.suite import static
from portcullis.suite.case import Case
from portcullis.suite.checks import (
    describe,
    not_said,
    problems_of_boot,
    problems_of_kselftest,
    problems_of_panic,
    shorten,
)
from portcullis.suite.jitgate import has_user_keys, layout_of_case
from portcullis.suite.lab import KERNBENCH, KERNBENCH_GCC, barriers_kept, late_jobs
from portcullis.suite.luajit_counts import COUNTED, VARIANTS
from portcullis.suite.side_by_side import side_by_side

STATIC_KEYS = ("kpkeys_pgtables_key", "kpkeys_secrets_key", "kpkeys_guarded_key", "kpkeys_creds_key")
MOST_AT_ONCE = 4  # cases: guests have up to 2 GiB of memory
LISTED_GCC = 12  # what the list of sections was made with: others put functions in line elsewhere
# By case: a file of the build, a function, and whether the file refers to it.
SYMBOLS = {
    "espfix": ("arch/x86/kernel/espfix_64.o", "kpkeys_ptp_alloc", True),
    "arm64-no-calls": ("vmlinux", "__kern_my_cpu_offset", False),
}


@dataclass(frozen=True)
class Row:
    """Result of a case: state is passed, failed or skipped; `log` is where to look."""

    name: str
    state: str
    seconds: float
    detail: str
    log: str = ""


def _row_of(outcome: Outcome) -> tuple[str, str, str]:
    """What a test of the library found, as a row."""
    if outcome.problems:
        return "failed", shorten(outcome.problems), str(outcome.log)
    return "passed", outcome.detail, str(outcome.log)


def _bounds_held(rows: Iterable[Measured], backend: str) -> str:
    applied = [row.applies for row in rows]
    others = applied.count(False)
    return f"{applied.count(True)} bounds held" + (f", {others} do not apply with {backend}" if others else "")


class Engine:
    """Runs cases against kernels built from `options` (lane and name are set per case)."""

    def __init__(self, workspace: Workspace, options: BuildOptions) -> None:
        self.workspace = workspace
        self.options = options
        self.commands = Commands()
        self._made: dict[str, Path | ToolError] = {}
        self._making: dict[str, threading.Lock] = {}

    def run(self, cases: Sequence[Case]) -> Iterable[Row]:
        """Yields one row per case, in order; as many cases run at once as there are build jobs."""
        return side_by_side(self.run_case, cases, min(self.options.jobs, MOST_AT_ONCE))

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
            "panic": self._panic,
            "bochs": self._bochs,
            "kselftest": self._kselftest,
            "attacks": self._attacks,
            "bench": self._bench,
            "expected": self._expected,
            "export-builds": self._export_builds,
            "late": self._late,
            "nops": self._nops,
            "symbols": self._symbols,
            "sections": self._sections,
            "emulator": self._emulator,
            "counts": self._counts,
            "counts-part": self._counts_part,
            "repeatable": self._repeatable,
            "jit": self._jit,
            "jit-debian": self._jit_debian,
            "jit-guest": self._jit_guest,
            "luajit": self._luajit,
            "luajit-guest": self._luajit_guest,
            "luajit-counts": self._luajit_counts,
            "pcre2": self._pcre2,
            "pcre2-guest": self._pcre2_guest,
        }
        if case.kind in own:
            return own[case.kind]
        check = static.CHECKS[case.kind]
        return lambda _: check(self.workspace, self.commands)

    def _once(self, what: str, make: Callable[[], str | Path]) -> Path:
        """What `make` returns; a failure is not tried again."""
        with self._making.setdefault(what, threading.Lock()):
            if what not in self._made:
                try:
                    self._made[what] = Path(make())
                except ToolError as error:
                    self._made[what] = error
                    raise
            made = self._made[what]
        if isinstance(made, ToolError):
            raise ToolError(f"no {what}: its build failed")
        return made

    def kernel(self, case: Case) -> Path:
        """The image that a case runs; those without a topic share one tree and one build folder."""
        options = replace(self.options, lane=case.lane, arch=case.arch, kernel=case.kernel or self.options.kernel)
        if case.left_out:
            options = replace(options, without=case.left_out, name="without")
        what = " without ".join((f"{case.arch} kernel {options.kernel} of lane {case.lane}", *case.left_out))
        return self._once(what, lambda: Builder(self.workspace, self.commands, options).run().image)

    def initramfs(self, arch: str) -> Path:
        """The guest's file system."""
        return self._once(f"{arch} guest", lambda: build_initramfs(self.workspace, self.commands, arch))

    def initramfs_for(self, arch: str, job: str) -> Path:
        """The same with the compiler or shell that a job needs, if any."""
        makers = {"bench": bench_initramfs, KERNBENCH: lab_initramfs, KERNBENCH_GCC: gcc_initramfs}
        needed = [name for name in makers if name in job.split(",")]
        if not needed:
            return self.initramfs(arch)
        maker = makers[needed[0]]
        return self._once(f"{arch} guest for {needed[0]}", lambda: maker(self.workspace, self.commands, arch))

    def emulator(self, arch: str, counts: bool = False) -> str:
        """The QEMU that runs an architecture; our own if a plugin is to count."""
        if arch == "x86" and not counts:
            return "qemu-system-x86_64"
        make = partial(emulator_for, self.workspace, self.commands, arch, self.options.jobs, counts)
        return str(self._once(f"{arch} emulator", make))

    def _build(self, case: Case) -> tuple[str, str, str]:
        image = self.kernel(case)
        return "passed", f"{image.stat().st_size // 1024} KiB", ""

    def _export_builds(self, case: Case) -> tuple[str, str, str]:
        """The exported series compiles, commit by commit or in a sample."""
        made = [
            SeriesBuild(self.workspace, self.commands, replace(self.options, arch=arch)).run(every=case.long)
            for arch in ARCHES
        ]
        return "passed", ", ".join(f"{count} times for {arch}" for arch, count in zip(ARCHES, made, strict=True)), ""

    def _nops(self, case: Case) -> tuple[str, str, str]:
        """Every place that tests a static key is a NOP in the image, as it stays when the key is never enabled."""
        vmlinux = self.kernel(case).parents[3] / "vmlinux"
        try:
            image = Image(vmlinux.read_bytes())
            sites = {key: sites_of_key(image, key) for key in STATIC_KEYS}
        except (OSError, ValueError) as error:
            return "failed", f"{vmlinux}: {error}", ""
        problems = problems_of_sites(sites)
        places = ", ".join(f"{len(found)} of {key}" for key, found in sites.items())
        return ("failed", shorten(problems), "") if problems else ("passed", f"all are NOPs: {places}", "")

    def _sections(self, case: Case) -> tuple[str, str, str]:
        """What can run while the gate is open is on the list, and what is on the list is there."""
        vmlinux = self.kernel(case).parents[3] / "vmlinux"
        config = parse_config(vmlinux.with_name(".config").read_text())
        compiler = int(config.get("CONFIG_GCC_VERSION", 0)) // 10000
        if compiler != LISTED_GCC:
            return "skipped", f"the list is of what gcc {LISTED_GCC} makes; this is gcc {compiler}", ""
        try:
            from portcullis.core.sections.audit import audit

            found = audit(Image(vmlinux.read_bytes()), case.lane)
        except (ImportError, OSError, ValueError) as error:
            return "failed", f"{vmlinux}: {error}", ""
        return ("failed", shorten(list(found.problems)), "") if found.problems else ("passed", found.summary, "")

    def _symbols(self, case: Case) -> tuple[str, str, str]:
        """A file of the build refers to a function, or does not."""
        name, symbol, wanted = SYMBOLS[case.name]
        file = self.kernel(case).parents[3] / name
        try:
            refers = bool(Image(file.read_bytes()).symbols({symbol}))
        except (OSError, ValueError) as error:
            return "failed", f"{file}: {error}", ""
        if refers == wanted:
            return "passed", "", ""
        return "failed", f"{name} {'refers' if refers else 'does not refer'} to {symbol}()", ""

    def _emulator(self, case: Case) -> tuple[str, str, str]:
        programs = TestPrograms(self.workspace, self.commands, self.options.jobs)
        outcome = run_test(self.workspace, test_by_case(case.name), Path(self.emulator("arm64")), programs)
        return ("failed" if outcome.problems else "passed"), shorten(outcome.problems), str(outcome.folder)

    def _counts(self, case: Case) -> tuple[str, str, str]:
        """The plugin counts exactly what a program executes that does nothing else."""
        problems, folder = problems_of_counts(self.workspace, self.commands, case.arch, self.options.jobs)
        return ("failed" if problems else "passed"), shorten(problems), str(folder)

    def _counts_part(self, case: Case) -> tuple[str, str, str]:
        problems, tried = problems_alone(self.workspace, self.commands, case.name.removeprefix("counts-"))
        return ("failed", shorten(problems), "") if problems else ("passed", f"{tried} checks", "")

    def _repeatable(self, case: Case) -> tuple[str, str, str]:
        """Two boots count the same, and something."""
        plugin = counting_plugin(self.workspace, self.commands, self.options.jobs)
        boots = [self._run_job(case, plugin=plugin) for _ in range(2)]
        problems = [boot.trouble for boot in boots if boot.trouble]
        runs = [parse_regions(boot.executed or "") for boot in boots]
        problems += differences(*runs)
        if not runs[0] or any(not region.count("instructions") for region in runs[0]):
            problems.append("a region without instructions, or none at all")
        log = " ".join(str(boot.folder) for boot in boots)
        if problems:
            return "failed", shorten(problems), log
        return "passed", f"{len(runs[0])} rounds of regions, all counters equal", log

    def _run_job(
        self, case: Case, machine: Machine | None = None, plugin: Path | None = None, initramfs: Path | None = None
    ) -> Boot:
        return run_job(
            self.workspace,
            self.commands,
            machine or case.machine,
            self.kernel(case),
            initramfs or self.initramfs_for(case.arch, case.machine.job),
            nmi_rate=case.nmi_rate,
            label=case.name,
            emulator=self.emulator(case.arch, counts=plugin is not None),
            plugin=plugin,
        )

    def _boot(self, case: Case) -> tuple[str, str, str]:
        boot = self._run_job(case)
        problems = problems_of_boot(case, boot.results, boot.console, boot.trouble)
        if problems:
            return "failed", shorten(problems), str(boot.folder)
        return "passed", describe(case, boot.results, boot.console), str(boot.folder)

    def _panic(self, case: Case) -> tuple[str, str, str]:
        """A boot that the kernel ends itself."""
        boot = self._run_job(case)
        problems = problems_of_panic(case, boot.results, boot.results_text, boot.console, boot.trouble)
        return ("failed" if problems else "passed"), shorten(problems), str(boot.folder)

    def _bochs(self, case: Case) -> tuple[str, str, str]:
        """Another emulator, for CPUs that QEMU has not; its console is all there is to judge."""
        kernel, initramfs = self.kernel(case), self.initramfs(case.arch)
        boot = boot_on_bochs(self.workspace, self.commands, case.machine, kernel, initramfs, case.name)
        problems = [boot.trouble] if boot.trouble else []
        splats = scan_console(boot.console, case.allowed, case.warned)
        problems += [f"console line {splat.number}: {splat.line}" for splat in splats]
        problems += not_said(case, boot.console)
        return ("failed" if problems else "passed"), shorten(problems), str(boot.folder)

    def _kselftest(self, case: Case) -> tuple[str, str, str]:
        """Linux' own tests, from their own initramfs, on a kernel of ours."""
        programs = TestPrograms(self.workspace, self.commands, self.options.jobs)
        initramfs = self._once("guest with Linux' own tests", programs.initramfs)
        boot = self._run_job(case, initramfs=initramfs)
        problems = problems_of_boot(case, boot.results, boot.console, boot.trouble)
        problems += problems_of_kselftest(case, boot.results, boot.results_text)
        return ("failed" if problems else "passed"), shorten(problems), str(boot.folder)

    def _jit(self, case: Case) -> tuple[str, str, str]:
        """The library's tests on this machine."""
        return _row_of(Jitgate(self.workspace, self.commands, self.options.jobs).run(case.name))

    def _jit_debian(self, _: Case) -> tuple[str, str, str]:
        """Its Debian packages."""
        return _row_of(Jitgate(self.workspace, self.commands, self.options.jobs).debian())

    def _jit_guest(self, case: Case) -> tuple[str, str, str]:
        """The same tests, linked statically, in a guest."""
        self.initramfs(case.arch)
        init = guest_init(self.workspace, case.arch)
        jitgate = Jitgate(self.workspace, self.commands, self.options.jobs)
        initramfs = self._once(f"{case.arch} guest with jitgate", lambda: jitgate.initramfs(case.arch, init))
        return self._keyed_guest(case, initramfs)

    def _luajit(self, case: Case) -> tuple[str, str, str]:
        """All tests of LuaJIT on this machine."""
        return self._checks(self._luajit_tests(case).checks())

    def _pcre2(self, case: Case) -> tuple[str, str, str]:
        """All tests of PCRE2 on this machine."""
        return self._checks(Pcre2Tests(Pcre2(self.workspace, self.commands, self.options.jobs)).checks())

    def _checks(self, checks: Mapping[str, Callable[[], Outcome]]) -> tuple[str, str, str]:
        """Each on this machine."""
        outcomes = {name: check() for name, check in checks.items()}
        problems = [f"{name}: {problem}" for name, outcome in outcomes.items() for problem in outcome.problems]
        logs = " ".join(str(outcome.log) for outcome in outcomes.values() if outcome.problems)
        details = "; ".join(f"{name}: {outcome.detail}" for name, outcome in outcomes.items())
        return ("failed", shorten(problems), logs) if problems else ("passed", details, logs)

    def _luajit_guest(self, case: Case) -> tuple[str, str, str]:
        """Our tests of LuaJIT in a guest."""
        self.initramfs(case.arch)
        init = guest_init(self.workspace, case.arch)
        tests = self._luajit_tests(case)
        layout = layout_of_case(case.name)
        what = f"{case.arch} guest with LuaJIT {layout}"
        return self._keyed_guest(case, self._once(what, lambda: tests.initramfs(case.arch, init)))

    def _pcre2_guest(self, case: Case) -> tuple[str, str, str]:
        """Our tests of PCRE2, and its own, in a guest."""
        self.initramfs(case.arch)
        init = guest_init(self.workspace, case.arch)
        tests = Pcre2Tests(Pcre2(self.workspace, self.commands, self.options.jobs))
        initramfs = self._once(f"{case.arch} guest with PCRE2", lambda: tests.initramfs(case.arch, init))
        return self._keyed_guest(case, initramfs)

    def _luajit_tests(self, case: Case) -> LuaJitTests:
        layout = layout_of_case(case.name)
        return LuaJitTests(LuaJit(self.workspace, self.commands, self.options.jobs, layout))

    def _keyed_guest(self, case: Case, initramfs: Path) -> tuple[str, str, str]:
        """Tests that come in two kinds, with a key and without."""
        boot = self._run_job(case, initramfs=initramfs)
        problems = problems_of_boot(case, boot.results, boot.console, boot.trouble)
        problems += problems_of_guest(boot.results.tests, has_user_keys(case.machine))
        if problems:
            return "failed", shorten(problems), str(boot.folder)
        return "passed", describe(case, boot.results, boot.console), str(boot.folder)

    def _luajit_counts(self, case: Case) -> tuple[str, str, str]:
        """What three variants of LuaJIT count in a guest, held against what is claimed of them."""
        machine = ARCHES[case.arch].machine
        built = {variant: build_luajit(self.workspace, variant, machine) for variant in VARIANTS}
        initramfs = self._once(
            f"{case.arch} guest with LuaJIT",
            lambda: luajit_initramfs(self.workspace, self.commands, case.arch, built),
        )
        plugin = counting_plugin(self.workspace, self.commands, self.options.jobs)
        boot = self._run_job(case, plugin=plugin, initramfs=initramfs)
        problems = problems_of_boot(case, boot.results, boot.console, boot.trouble)
        found = counted_in(boot)
        problems += problems_of_counted(found, COUNTED)
        if problems:
            return "failed", shorten(problems), str(boot.folder)
        return "passed", count_summary(found), str(boot.folder)

    def _attacks(self, case: Case) -> tuple[str, str, str]:
        known = known_attacks(self.workspace, case.machine, case.lane)
        known = tuple(attack for attack in known if not case.only or case.only in attack.needs)
        attacks, left_out = choose_possible(known, case.machine, self.kernel(case))
        outcomes, boots = run_attacks(
            attacks, case.machine.mode or "", case.machine, lambda machine: self._run_job(case, machine)
        )
        wrong = [
            f"{outcome.name}: {outcome.verdict}, expected {outcome.expected} ({outcome.evidence})"
            for outcome in outcomes
            if not outcome.as_expected
        ]
        for boot in boots:
            allowed = ("all",) if is_damaged(boot, attacks) else case.allowed
            console = before_death(boot, case.machine.mode or "")
            splats = scan_console(console, allowed, case.warned)
            wrong += [f"console line {splat.number}: {splat.line}" for splat in splats]
            wrong += not_said(case, boot.console)
        log = str(boots[0].folder) if boots else ""
        if wrong or not outcomes:
            return "failed", shorten(wrong) or "no attacks", log
        others = f"; left out: {', '.join(left_out)}" if left_out else ""
        return "passed", f"{len(outcomes)} attacks as expected in {len(boots)} boot(s){others}", log

    def _bench(self, case: Case) -> tuple[str, str, str]:
        plugin = counting_plugin(self.workspace, self.commands, self.options.jobs)
        boot = counted(case.machine, lambda machine: self._run_job(case, machine, plugin))
        rows = measured(boot, case.machine)
        bad = [
            f"{row.bound.bench}: {row.bound.counter} is {row.value}, at most {row.limit}"
            for row in rows
            if not row.good
        ]
        bad += not_said(case, boot.console)
        if bad:
            return "failed", shorten(bad), str(boot.folder)
        return "passed", _bounds_held(rows, backend_of(case.machine)), str(boot.folder)

    def _lab_results(self, arch: str, jobs: tuple[Job, ...]) -> tuple[list[Result], list[str]]:
        """What jobs of the lab count, and what is wrong with those that failed."""
        options = replace(self.options, arch=arch)
        files = {lane: lab_files(self.workspace, options, lane) for lane in {job.lane for job in jobs}}
        outcomes = list(run_jobs(self.workspace, [(job, files[job.lane]) for job in jobs], local()))
        troubles = [f"{each.job.id}: {each.trouble}" for each in outcomes if not each.result]
        return [each.result for each in outcomes if each.result], troubles

    def _late(self, case: Case) -> tuple[str, str, str]:
        """With late-raise, late-lower or both a section has fewer barriers, and as many writes."""
        results, troubles = self._lab_results(case.arch, late_jobs(case.arch))
        problems = troubles or barriers_kept(results)
        return ("failed", shorten(problems), "") if problems else ("passed", "fork, with each switch and without", "")

    def _expected(self, case: Case) -> tuple[str, str, str]:
        """The quick jobs of the lab count exactly what is committed."""
        if not EXPECTED.is_file():
            return "failed", f"{EXPECTED} is not there: {HOW_TO_UPDATE}", ""
        results, troubles = self._lab_results(case.arch, expected_jobs(case.arch))
        expected = parse_expected(EXPECTED.read_text())
        toolchain = toolchain_of(self.commands, case.arch)
        found = troubles or changed_counts(expected, case.arch, results, toolchain)
        if found:
            return "failed", shorten([*found, f"if that is meant: {HOW_TO_UPDATE}"]), ""
        same = expected.toolchains.get(case.arch) == toolchain
        return (
            "passed",
            f"{len(results)} jobs" + ("" if same else ", without instructions: other compiler or C library"),
            "",
        )
