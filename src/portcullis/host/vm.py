# SPDX-License-Identifier: GPL-2.0-only
"""Runs a job in a virtual machine.

The guest can ask the host for things by writing lines to the results port:
    #host nmi COUNT                        inject COUNT NMIs into every CPU
    #host dimm-add NAME MIB [ADDRESS_GIB]  plug memory
    #host dimm-del NAME                    ask the guest to let go of it
    #host reboot                           let its next reset be one; any other ends QEMU
A guest that suspends to memory (S3) is woken after a second.
"""

import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.machine import NO_BACKEND, Files, Machine, backend_of, command_line_fault, qemu_command
from portcullis.core.results import DIED, GuestResults, backend_said, parse_results
from portcullis.core.splats import is_stale_int3, last_lines
from portcullis.core.verdicts import is_reported
from portcullis.errors import ToolError
from portcullis.host.process import Commands, shown, start, stop
from portcullis.host.qmp import Monitor
from portcullis.host.screen import say
from portcullis.host.workspace import Workspace

POWER_OFF_GRACE = 10.0  # seconds from #done to the end of QEMU
SLEEP_TIME = 1.0  # seconds in S3
RESET_TIME = 5.0  # seconds in which a guest that resets itself may do so more than once, as Linux does
TICK = 0.05  # seconds


@dataclass(frozen=True)
class Boot:
    """What came of a boot.

    `trouble` says why there is no `#done`, empty when there is one; `executed` is what a plugin counted.
    """

    results: GuestResults
    results_text: str
    console: str
    folder: Path
    seconds: float
    trouble: str
    executed: str | None = None


class Silence:
    """For how long a guest has said nothing, on its console and of its results."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.said = (0, 0)
        self.since = time.monotonic()

    def seconds(self, now: float) -> float:
        """What has passed since the last word that was seen."""
        said = (_size(self.files.console), _size(self.files.results))
        if said != self.said:
            self.said, self.since = said, now
        return now - self.since


class VirtualMachine:
    """One QEMU process and what it is asked to do while it runs."""

    def __init__(self, machine: Machine, files: Files, nmi_rate: int = 0) -> None:
        self.machine = machine
        self.files = files
        self.nmi_rate = nmi_rate
        self.handled = 0
        self.wake_at = 0.0
        self.reset_until = 0.0
        self.monitor: Monitor | None = None

    def run(self) -> str:
        """Runs to the end; returns what went wrong, empty when QEMU ended by itself in time."""
        command = qemu_command(self.machine, self.files)
        errors = self.files.console.with_name("qemu.log")
        (self.files.console.with_name("qemu-command.txt")).write_text(shown(command) + "\n")
        with errors.open("wb") as sink:
            process = start(command, stdin=-3, stdout=sink, stderr=sink)
        try:
            return self._supervise(process)
        finally:
            stop(process)
            if self.monitor:
                self.monitor.close()

    def _supervise(self, process) -> str:  # noqa: ANN001 (Popen of bytes)
        started = time.monotonic()
        done_at = 0.0
        silence = Silence(self.files)
        with suppress(OSError):
            self.monitor = Monitor(self.files.monitor, timeout=5.0)
        while process.poll() is None:
            now = time.monotonic()
            if now - started > self.machine.timeout:
                return f"no end after {self.machine.timeout:.0f} s"
            if self._hangs(silence.seconds(now)):
                return f"no end {self.machine.silence:.0f} s after the last word"
            text = _read(self.files.results)
            if "#done " in text and not done_at:
                done_at = now
            if done_at and now - done_at > POWER_OFF_GRACE:
                return ""
            with suppress(OSError):  # QEMU may end at any time
                self._serve(text, now, bool(done_at))
            time.sleep(TICK)
        if process.returncode != 0:
            detail = last_lines(_read(self.files.console.with_name("qemu.log")), 5).strip()
            return f"QEMU ended with status {process.returncode}: {detail}"
        return ""

    def _hangs(self, seconds: float) -> bool:
        limit = self.machine.silence
        return 0 < limit < seconds and is_reported(_read(self.files.console))

    def _serve(self, text: str, now: float, done: bool) -> None:
        if self.monitor is None:
            return
        self._heed_events(self.monitor, now)
        started = "Run /init as init process" in _read(self.files.console)
        if self.nmi_rate and started and not done and not self.wake_at:
            for _ in range(max(1, int(self.nmi_rate * TICK))):
                self.monitor.command("inject-nmi")
        requests = [line for line in text.split("\n")[:-1] if line.startswith("#host ")]
        for line in requests[self.handled :]:
            # A refused request stays the next one: an earlier device may still be on its way out.
            self._request(line.split()[1:])
            self.handled += 1

    def _heed_events(self, monitor: Monitor, now: float) -> None:
        for event, data in monitor.poll():
            if event == "SUSPEND":
                self.wake_at = now + SLEEP_TIME
            if event == "RESET":
                self.reset_until = now + RESET_TIME
            if event == "DEVICE_DELETED" and "device" in data:
                monitor.command("object-del", id=f"mem-{data['device']}")
        if self.wake_at and now >= self.wake_at:
            self.wake_at = 0.0
            monitor.command("system_wakeup")
        if self.reset_until and now >= self.reset_until:
            self.reset_until = 0.0
            monitor.command("set-action", reboot="shutdown")

    def _request(self, words: list[str]) -> None:
        assert self.monitor is not None
        match words:
            case ["nmi", count]:
                for _ in range(int(count)):
                    self.monitor.command("inject-nmi")
            case ["dimm-add", name, size, *rest]:
                self._plug(name, int(size), int(rest[0]) if rest else None)
            case ["dimm-del", name]:
                self.monitor.command("device_del", id=name)
            case ["reboot"]:
                self.monitor.command("set-action", reboot="reset")

    def _plug(self, name: str, size: int, address: int | None) -> None:
        """Plugs `size` MiB of memory, at `address` GiB when it is given."""
        assert self.monitor is not None
        memory = f"mem-{name}"
        self.monitor.command("object-add", qom_type="memory-backend-ram", id=memory, size=size << 20)
        place = {} if address is None else {"addr": address << 30}
        try:
            self.monitor.command("device_add", driver="pc-dimm", id=name, memdev=memory, **place)
        except OSError:
            self.monitor.command("object-del", id=memory)
            raise


def run_job(
    workspace: Workspace,
    commands: Commands,
    machine: Machine,
    kernel: Path | None,
    initramfs: Path | None,
    nmi_rate: int = 0,
    label: str = "",
    emulator: str = "qemu-system-x86_64",
    plugin: Path | None = None,
    disks: tuple[Path, ...] = (),
    kept: tuple[Path, ...] = (),
) -> Boot:
    """Boots a kernel with a job and collects its results; only a QEMU that cannot start raises ToolError.

    The first of `disks` has the root; those that are `kept` come behind it, and what is written to them stays. Without
    a kernel the firmware boots the root. A boot that the emulator spoilt is repeated once.
    """

    if fault := command_line_fault(machine):
        raise ToolError(fault, "shorten --append, or the list of names")

    def boot_it() -> Boot:
        name = label or machine.job
        return _boot(workspace, commands, machine, kernel, initramfs, nmi_rate, name, emulator, plugin, disks, kept)

    boot = boot_it()
    if is_stale_int3(boot.console):
        say(f"  booting again: the emulator executed a breakpoint that was gone, log: {boot.folder}")
        boot = boot_it()
    return boot


def _boot(
    workspace: Workspace,
    commands: Commands,
    machine: Machine,
    kernel: Path | None,
    initramfs: Path | None,
    nmi_rate: int,
    label: str,
    emulator: str,
    plugin: Path | None,
    disks: tuple[Path, ...],
    kept: tuple[Path, ...],
) -> Boot:
    with tempfile.TemporaryDirectory(prefix="portcullis-qmp-") as sockets:
        folder = Path("LOGS") if commands.dry_run else workspace.log_folder(label)
        console, results, monitor = folder / "console.log", folder / "results.txt", Path(sockets) / "qmp"
        root, more = (disks[0], disks[1:]) if disks else (None, ())
        files = Files(kernel, initramfs, console, results, monitor, emulator, plugin, root, kept, more)
        if commands.dry_run:
            commands.capture(qemu_command(machine, files))
            return Boot(parse_results(""), "", "", folder, 0.0, "")
        started = time.monotonic()
        trouble = VirtualMachine(machine, files, nmi_rate).run()
    text = _read(files.results)
    console = _read(files.console)
    results = parse_results(text)
    if not console and trouble.startswith("QEMU ended"):
        raise ToolError(f"QEMU did not start: {trouble}", f"command: {folder}/qemu-command.txt")
    if results.status is None and not trouble:
        trouble = DIED
    return Boot(
        results,
        text,
        console,
        folder,
        time.monotonic() - started,
        "" if results.status is not None else trouble,
        _read(files.counts) if plugin else None,
    )


def look_at_backend(machine: Machine, boot: Boot) -> None:
    """Raises ToolError when the guest says that its kernel took another backend than this machine is for."""
    said = backend_said(boot.results.records)
    expected = NO_BACKEND if machine.mode == "off" else backend_of(machine)
    if said and said != expected:
        raise ToolError(f"the kernel took backend {said}, not {expected}", f"log: {boot.folder}")


def explain(boot: Boot) -> str:
    """What a person needs to know about a boot that did not finish."""
    return f"{boot.trouble}; last console lines:\n{last_lines(boot.console)}\n    log: {boot.folder}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
