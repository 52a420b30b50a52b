# SPDX-License-Identifier: GPL-2.0-only
"""Builds the library jitgate below the cache folder, runs its tests here, and packs them for guests."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.jitgate import (
    VARIANTS,
    Opening,
    Variant,
    guest_options,
    problems_of_guest,
    read_ctest,
    read_openings,
)
from portcullis.core.ktap import parse_ktap
from portcullis.core.splats import last_lines
from portcullis.errors import ToolError
from portcullis.host.building import run_step
from portcullis.host.guest import pack_programs
from portcullis.host.process import Commands, Finished
from portcullis.host.workspace import Workspace, locked

# Sources that tests of engines share: each test is executed anew.
ANEW = ("tap.c", "anew.c")
PROGRAMS = ("tests/jitgate-tests", "examples/jitgate-calc")


@dataclass(frozen=True)
class Outcome:
    """What came of a variant: empty `problems` is good."""

    problems: list[str]
    detail: str
    log: Path


def judged(finished: Finished, log: Path, keys: bool | None) -> Outcome:
    """What came of a program of our tests; `keys`: does this machine have any? None where no test is about them."""
    tests = parse_ktap(finished.output)
    problems = [f"not ok: {test.name} ({test.reason})" for test in tests if not test.passed]
    if keys is None:
        problems += [f"skipped: {test.name}" for test in tests if test.skipped]
    else:
        problems += problems_of_guest(tests, keys)
    if not problems and (finished.status or not tests):
        problems.append(last_lines(finished.output, 5).strip() or "no results")
    skipped = sum(test.skipped for test in tests)
    return Outcome(problems, f"{len(tests) - skipped} tests" + (f", {skipped} need keys" if skipped else ""), log)


class Jitgate:
    """The library's builds, one folder each."""

    def __init__(self, workspace: Workspace, commands: Commands, jobs: int) -> None:
        self.workspace = workspace
        self.commands = commands
        self.jobs = jobs
        self.source = workspace.root / "jit"
        # cmake refuses a folder that was made from another checkout.
        checkout = hashlib.sha256(str(self.source).encode()).hexdigest()[:8]
        self.folder = workspace.folder("jitgate", checkout)

    def run(self, name: str) -> Outcome:
        """Builds a variant and runs its tests on this machine."""
        variant = VARIANTS[name]
        with locked(self.folder / f"{name}.lock"):
            build = self._build(name, variant.options, variant.targets)
            return self._valgrind(build) if variant.valgrind else self._ctest(build, variant)

    def debian(self) -> Outcome:
        """Makes the Debian packages, and a user's programs with what is in them."""
        log = self.workspace.log_folder("jit-debian") / "debian.log"
        finished = self.commands.logged(["sh", self.source / "tests" / "debian.sh", self.source], log)
        problems = [last_lines(finished.output, 5).strip()] if finished.status else []
        return Outcome(problems, "lintian finds nothing, pkg-config and CMake find the library", log)

    def initramfs(self, arch: str, init: Path) -> Path:
        """The static tests of an architecture, with `init` to start them."""
        name = f"guest-{arch}"
        target = self.folder / f"{name}.cpio.gz"
        with locked(self.folder / f"{name}.lock"):
            programs = [Path(program).name for program in PROGRAMS]
            build = self._build(name, tuple(guest_options(arch, os.uname().machine)), tuple(programs))
            pack_programs(target, init, {Path(program).name: build / program for program in PROGRAMS})
        return target

    def library(self, arch: str) -> Path:
        """The static library of an architecture."""
        name = f"library-{arch}"
        options = ("-DJITGATE_TESTS=OFF", *guest_options(arch, os.uname().machine))
        with locked(self.folder / f"{name}.lock"):
            return self._build(name, options, ("jitgate_static",)) / "libjitgate.a"

    def openings(self) -> tuple[Opening, ...]:
        """Times opening and closing on this machine, by plain mprotect() and by all backends that it has."""
        with locked(self.folder / "bench.lock"):
            build = self._build("bench", (), ("jitgate-bench",))
        log = self.workspace.log_folder("jitgate-bench") / "bench.log"
        finished = self.commands.logged([build / "tests" / "jitgate-bench"], log)
        openings = read_openings(finished.output)
        if finished.status or not openings:
            raise ToolError("jitgate-bench failed", f"see {log}")
        return openings

    def _build(self, name: str, options: tuple[str, ...], targets: tuple[str, ...]) -> Path:
        build, log = self.folder / name, self.folder / f"{name}.log"
        build.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        what = f"building jitgate ({name})"
        options = ("-DCMAKE_COMPILE_WARNING_AS_ERROR=ON", *options)
        run_step(self.workspace, self.commands, ["cmake", "-S", self.source, "-B", build, *options], log, what)
        chosen = ["--target", *targets] if targets else []
        run_step(self.workspace, self.commands, ["cmake", "--build", build, f"-j{self.jobs}", *chosen], log, what)
        return build

    def _ctest(self, build: Path, variant: Variant) -> Outcome:
        command = ["ctest", "--output-on-failure", f"-j{self.jobs}"]
        command += ["-R", variant.tests] if variant.tests else []
        log = self.workspace.log_folder(build.name) / "ctest.log"
        finished = self.commands.logged(command, log, cwd=build)
        counted = read_ctest(finished.output)
        problems = list(counted.failed)
        if not problems and (finished.status or not counted.passed):
            problems.append(last_lines(finished.output, 5).strip())
        detail = f"{counted.passed} tests"
        if counted.skipped:
            detail += f", {counted.skipped} skipped{_why_skipped()}"
        return Outcome(problems, detail, log)

    def _valgrind(self, build: Path) -> Outcome:
        log = self.workspace.log_folder(build.name) / "valgrind.log"
        script = self.source / "tests" / "valgrind.sh"
        finished = self.commands.logged(["sh", script, *PROGRAMS], log, cwd=build)
        passed = len(re.findall(r"^ok ", finished.output, re.MULTILINE))
        return Outcome(_complaints(finished), f"{passed} tests", log)


def _complaints(finished: Finished) -> list[str]:
    if not finished.status:
        return []
    lines = re.findall(r"^not ok .*", finished.output, re.MULTILINE)
    return lines or [last_lines(finished.output, 5).strip()]


def has_keys() -> bool:
    """Whether programs on this machine can have keys."""
    words = Path("/proc/cpuinfo").read_text(errors="replace").split()
    return "ospke" in words or "poe" in words


def _why_skipped() -> str:
    """Says aloud that this machine could not run the tests with keys."""
    return "" if has_keys() else ": this CPU has no protection keys"
