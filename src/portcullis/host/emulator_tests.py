# SPDX-License-Identifier: GPL-2.0-only
"""Runs the emulator's tests: bare-metal programs, and Linux' own tests on an unmodified kernel."""

import gzip
import os
import time
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.cpio import Entry, character_device, directory, newc, regular
from portcullis.core.emulator import EmulatorTest, bare_command, linux_command, problems
from portcullis.core.splats import last_lines
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.building import run_step
from portcullis.host.guest import FOLDERS
from portcullis.host.process import Commands, shown, start, stop
from portcullis.host.sources import fetch
from portcullis.host.workspace import Workspace, locked, write_whole

CROSS = "aarch64-linux-gnu-"
LANE = "kselftests"
TICK = 0.05  # seconds


@dataclass(frozen=True)
class EmulatorRun:
    """One run of a test: empty `problems` is good."""

    problems: list[str]
    folder: Path
    seconds: float


class TestPrograms:
    """Builds what the tests need below the cache folder, each part when it is first asked for."""

    __test__ = False  # not for pytest

    def __init__(self, workspace: Workspace, commands: Commands, jobs: int) -> None:
        self.workspace = workspace
        self.commands = commands
        self.jobs = jobs
        self.folder = workspace.folder("emulator-tests")
        self.log = workspace.cache / "emulator-tests.log"

    def bare(self, name: str) -> Path:
        """A bare-metal program."""
        output = self.folder / "bare"
        with locked(self.folder / "bare.lock"):
            sources = self.workspace.root / "emulator" / "tests"
            self._make(["-C", sources, f"O={output}", f"CROSS_COMPILE={CROSS}"], "building the bare-metal tests")
        return output / name

    def kernel(self) -> Path:
        """Image of the distribution's unmodified kernel for arm64."""
        options = BuildOptions(lane=LANE, arch="arm64", jobs=self.jobs)
        return Builder(self.workspace, self.commands, options).run().image

    def initramfs(self) -> Path:
        """Linux' own tests, and what runs them."""
        source = fetch(self.workspace, self.commands)
        output, target = self.folder / "kselftests", self.folder / "initramfs.cpio.gz"
        with locked(self.folder / "initramfs.lock"):
            here = self.workspace.root / "emulator" / "kselftests"
            headers = self.folder / "headers"
            self._make(["-C", source.path, f"O={headers}", "ARCH=arm64", "headers"], "making the kernel's headers")
            words = [f"LINUX={source.path}", f"HEADERS={headers}/usr/include", f"CROSS_COMPILE={CROSS}"]
            self._make(["-C", here, f"O={output}", *words], "building Linux' own tests")
            entries: list[Entry] = [directory(name, 0o1777 if name == "tmp" else 0o755) for name in FOLDERS]
            entries.append(character_device("dev/console", 5, 1))
            entries.append(regular("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644))  # protection_keys reads it
            for path in sorted(path for path in output.iterdir() if os.access(path, os.X_OK)):
                name = "init" if path.name == "init" else f"bin/{path.name}"
                entries.append(regular(name, path.read_bytes(), 0o755))
            write_whole(target, gzip.compress(newc(entries), 6, mtime=0))
        return target

    def _make(self, words: list[str | Path], what: str) -> None:
        run_step(self.workspace, self.commands, ["make", f"-j{self.jobs}", *words], self.log, what)


def run_test(workspace: Workspace, test: EmulatorTest, binary: Path, programs: TestPrograms) -> EmulatorRun:
    """Runs one test on an emulator."""
    if test.linux:
        kernel, initramfs = programs.kernel(), programs.initramfs()
    else:
        kernel, initramfs = programs.bare(test.program), None
    folder = workspace.log_folder(f"emulator-{test.name}")
    console, results = folder / "console.log", folder / "results.txt"
    if initramfs is None:
        command = bare_command(binary, test, kernel, console)
    else:
        command = linux_command(binary, test, kernel, initramfs, console, results)
    (folder / "qemu-command.txt").write_text(shown(command) + "\n")
    started = time.monotonic()
    status, timed_out = _run(command, test.timeout, folder / "qemu.log")
    seconds = time.monotonic() - started
    said = _read(console)
    found = problems(test, status, _read(results) if test.linux else said, said)
    if timed_out:
        found.insert(0, f"no end after {test.timeout:.0f} s")
    complaint = _read(folder / "qemu.log").strip()
    if found and complaint:
        found.append(f"QEMU: {last_lines(complaint, 3).strip()}")
    return EmulatorRun(found, folder, seconds)


def _run(command: list[str], timeout: float, log: Path) -> tuple[int, bool]:
    with log.open("wb") as sink:
        process = start(command, stdin=-3, stdout=sink, stderr=sink)
    deadline = time.monotonic() + timeout
    try:
        while process.poll() is None:
            if time.monotonic() > deadline:
                return -1, True
            time.sleep(TICK)
    finally:
        stop(process)
    return process.returncode, False


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""
