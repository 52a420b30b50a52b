# SPDX-License-Identifier: GPL-2.0-only
"""Runs the emulator's tests: bare-metal programs, and Linux' own tests on an unmodified kernel."""

import gzip
import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.buildlog import compiled_files, first_error
from portcullis.core.cpio import Entry, character_device, directory, newc, regular
from portcullis.core.emulator import EmulatorTest, bare_command, linux_command, problems
from portcullis.core.kconfig import parse_config, parse_fragment, unmet
from portcullis.core.splats import last_lines
from portcullis.errors import ToolError
from portcullis.host.guest import FOLDERS
from portcullis.host.process import Commands, shown, start, stop
from portcullis.host.screen import step
from portcullis.host.sources import Source, fetch
from portcullis.host.workspace import Workspace, locked, write_whole

CROSS = "aarch64-linux-gnu-"
FRAGMENT = "arm64-emulator.config"
TICK = 0.05  # seconds


@dataclass(frozen=True)
class Outcome:
    """What came of a test: empty `problems` is good."""

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
        with locked(self.folder / "kernel.lock"):
            return self._kernel(fetch(self.workspace, self.commands))

    def initramfs(self) -> Path:
        """Linux' own tests, and what runs them."""
        source = fetch(self.workspace, self.commands)
        output, target = self.folder / "kselftests", self.folder / "initramfs.cpio.gz"
        with locked(self.folder / "initramfs.lock"):
            here = self.workspace.root / "emulator" / "kselftests"
            words = [f"LINUX={source.path}", f"HEADERS={self.folder}/kernel/usr/include", f"CROSS_COMPILE={CROSS}"]
            self._make(["-C", here, f"O={output}", *words], "building Linux' own tests")
            entries: list[Entry] = [directory(name, 0o1777 if name == "tmp" else 0o755) for name in FOLDERS]
            entries.append(character_device("dev/console", 5, 1))
            entries.append(regular("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644))  # protection_keys reads it
            for path in sorted(output.iterdir()):
                name = "init" if path.name == "init" else f"bin/{path.name}"
                entries.append(regular(name, path.read_bytes(), 0o755))
            write_whole(target, gzip.compress(newc(entries), 6, mtime=0))
        return target

    def _kernel(self, source: Source) -> Path:
        folder = self.folder / "kernel"
        image = folder / "arch/arm64/boot/Image"
        fragment = self.workspace.kernel / "configs" / FRAGMENT
        key = hashlib.sha256(f"{source.path}\0{fragment.read_text()}".encode()).hexdigest()
        stamp = folder / "portcullis-built.txt"
        if image.is_file() and stamp.is_file() and stamp.read_text() == key:
            return image
        stamp.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        make = ["-C", source.path, f"O={folder}", "ARCH=arm64", f"CROSS_COMPILE={CROSS}", f"CC=ccache {CROSS}gcc"]
        with step("configuring the kernel (arm64)"):
            self._make([*make, "tinyconfig"], "configuring")
            merge = [source.path / "scripts/kconfig/merge_config.sh", "-m", "-O", folder, folder / ".config", fragment]
            self._checked(merge, "merging the configuration", cwd=source.path)
            self._make([*make, "olddefconfig"], "configuring")
        missing = unmet(parse_fragment(fragment.read_text()), parse_config((folder / ".config").read_text()))
        if missing:
            raise ToolError(f"the kernel did not take {', '.join(item.name for item in missing)}")
        count = 0
        with step("building the kernel (arm64)", "kernel (arm64) built") as progress:

            def watch(piece: str) -> None:
                nonlocal count
                count += compiled_files(piece)
                progress.update(f"{count} files")

            self._make([*make, "headers", "Image"], "the build", watch=watch)
        write_whole(stamp, key.encode())
        return image

    def _make(self, words: list[str | Path], what: str, watch: Callable[[str], None] | None = None) -> None:
        self._checked(["make", f"-j{self.jobs}", *words], what, watch=watch)

    def _checked(
        self,
        command: list[str | Path],
        what: str,
        cwd: Path | None = None,
        watch: Callable[[str], None] | None = None,
    ) -> None:
        environment = {**os.environ, "KBUILD_BUILD_USER": "portcullis", "KBUILD_BUILD_HOST": "localhost"}
        environment.setdefault("CCACHE_DIR", str(self.workspace.cache / "ccache"))
        for name in ("MAKEFLAGS", "MFLAGS", "KBUILD_OUTPUT"):
            environment.pop(name, None)
        finished = self.commands.logged(command, self.log, cwd=cwd, env=environment, watch=watch)
        if finished.status != 0:
            raise ToolError(
                f"{what} failed: {first_error(finished.output)}\n{last_lines(finished.output)}",
                f"log: {self.log}\n  again: {shown(command)}",
            )


def run_test(workspace: Workspace, test: EmulatorTest, binary: Path, programs: TestPrograms) -> Outcome:
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
    return Outcome(found, folder, seconds)


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
