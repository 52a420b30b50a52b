# SPDX-License-Identifier: GPL-2.0-only
"""Runs LuaJIT's benchmarks: natively, timed and again traced, and in a guest under the plugin that counts."""

import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from portcullis.core.counts import parse_counts
from portcullis.core.cpio import Entry, regular
from portcullis.core.machine import Machine
from portcullis.core.results import parse_results
from portcullis.errors import ToolError
from portcullis.host.building import run_step
from portcullis.host.compile_kit import pack_onto
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.vm import Boot, explain
from portcullis.host.workspace import Workspace, locked, write_whole
from portcullis.lab.luajit_bench import SEEDED, Programs, parse_programs
from portcullis.lab.luajit_counts import Counted, counted_of

DATA = Path(__file__).parents[1] / "data" / "luajit-bench.toml"
GUEST_PROGRAM = "luabench"
IN_GUEST = "luajit"  # folder of interpreters and programs
RUN = "run.lua"

Interpreters = Mapping[str, Path]


def programs() -> Programs:
    """The benchmarks and what was published of them."""
    return parse_programs(DATA.read_text())


def program_folder(workspace: Workspace) -> Path:
    """Where the sources of the benchmarks are."""
    return workspace.root / "jit" / "luajit" / "bench"


# --- natively ----------------------------------------------------------------------------------------------------
@dataclass
class Native:
    """Runs of this machine so far: program -> variant -> [user, system, wall] of each, in seconds.

    `said` holds what each program printed, `loads` the load averages before each round.
    """

    environment: dict[str, str]
    iterations: int
    size: str
    rows: dict[str, dict[str, list[list[float]]]] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    loads: list[float] = field(default_factory=list)

    def lacks(self, program: str, variant: str, runs: int) -> bool:
        """Whether there are fewer than so many runs."""
        return len(self.rows.get(program, {}).get(variant, [])) < runs


def environment_of(interpreters: Interpreters) -> dict[str, str]:
    """What times depend on."""
    words = re.findall(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE)
    version = Commands().capture([next(iter(interpreters.values())), "-v"]).output
    return {
        "LuaJIT": version.split(" -- ")[0].removeprefix("LuaJIT ").strip(),
        "machine": f"{os.cpu_count()} CPUs, {words[0] if words else platform.machine()}",
        "kernel": platform.release(),
        "started": time.strftime("%Y-%m-%d %H:%M"),
    }


class NativeStore:
    """Keeps runs in the cache folder, so that an interrupted measurement goes on where it was."""

    def __init__(self, workspace: Workspace, interpreters: Interpreters, iterations: int, size: str) -> None:
        folder = program_folder(workspace)
        files = [*interpreters.values(), *sorted(folder.glob("*.lua"))]
        digest = hashlib.sha256(b"\0".join([f"{iterations} {size}".encode(), *(path.read_bytes() for path in files)]))
        self.path = workspace.folder("luajit-bench") / f"native-{digest.hexdigest()[:16]}.json"
        self.fresh = Native(environment_of(interpreters), iterations, size)

    def load(self) -> Native:
        """What is there already; nothing when it is damaged."""
        try:
            return Native(**json.loads(self.path.read_text()))
        except (OSError, ValueError, TypeError):
            return self.fresh

    def save(self, native: Native) -> None:
        """Replaces what is there."""
        write_whole(self.path, json.dumps(vars(native)).encode())


def measure(
    store: NativeStore, native: Native, interpreters: Interpreters, folder: Path, names: Sequence[str], runs: int
) -> None:
    """Runs what is missing, variants and programs in turns, the other variant first in each second round."""
    order = list(SEEDED)
    with step(f"measuring {len(names)} programs, {runs} runs of each variant") as progress:
        for number in range(runs):
            missing = [
                (name, variant)
                for name in names
                for variant in (order if number % 2 else order[::-1])
                if native.lacks(name, variant, number + 1)
            ]
            if missing:
                native.loads.append(os.getloadavg()[0])
            for name, variant in missing:
                progress.update(f"run {number + 1} of {runs}, {name}")
                row, said = timed(interpreters[variant], folder, name, native.iterations, native.size)
                if native.said.setdefault(name, said) != said:
                    raise ToolError(f"{name}: {variant} printed {said!r}, before it was {native.said[name]!r}")
                native.rows.setdefault(name, {}).setdefault(variant, []).append(row)
            if missing:
                store.save(native)


def timed(interpreter: Path, folder: Path, name: str, iterations: int, size: str) -> tuple[list[float], str]:
    """One run: user, system and wall time in seconds, and what it printed; raises ToolError when it fails."""
    words = [str(interpreter), str(folder / RUN), str(folder), name, str(iterations), size]
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as output:
        started = time.perf_counter()
        pid = os.posix_spawn(
            words[0],
            words,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, writer, 1),
                (os.POSIX_SPAWN_DUP2, writer, 2),
                (os.POSIX_SPAWN_CLOSE, reader),
            ],
        )
        os.close(writer)
        said = output.read().decode(errors="replace").strip()
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - started
    if status or not said.startswith(f"{name} "):
        raise ToolError(f"{name} ended with {os.waitstatus_to_exitcode(status)}: {said}", f"again: {' '.join(words)}")
    return [usage.ru_utime, usage.ru_stime, wall], said


def trace_natively(
    workspace: Workspace,
    commands: Commands,
    interpreters: Interpreters,
    names: Sequence[str],
    iterations: int,
    size: str,
) -> tuple[Counted, ...]:
    """Traces and system calls of each program on this machine, seen by a tracer."""
    output = workspace.folder("guest-native")
    log = workspace.cache / "guest-native.log"
    target = output / GUEST_PROGRAM
    with locked(output.with_suffix(".lock")):
        log.unlink(missing_ok=True)
        command: list[str | Path] = ["make", "-C", workspace.guest, f"O={output}", target]
        run_step(workspace, commands, command, log, "building the tracer")
        folder = workspace.folder("luajit-bench", "traced")
        for name, data in _files(workspace, interpreters):
            write_whole(folder / name, data, 0o755)
        words = ["regions=0", f"iterations={iterations}", f"size={size}", *interpreters, *names]
        with step(f"counting traces and system calls of {len(names)} programs"):
            finished = commands.capture([target, folder, *words])
    results = parse_results(finished.output)
    bad = [f"{test.name} ({test.reason})" for test in results.failed]
    if bad or finished.status or not results.tests:
        raise ToolError(f"the tracer ended with {finished.status}: {', '.join(bad)}", f"log: {log}")
    return _counted(results.records, "")


def _files(workspace: Workspace, interpreters: Interpreters) -> list[tuple[str, bytes]]:
    found = [(f"luajit-{variant}", path.read_bytes()) for variant, path in interpreters.items()]
    return found + [(path.name, path.read_bytes()) for path in sorted(program_folder(workspace).glob("*.lua"))]


# --- in a guest --------------------------------------------------------------------------------------------------
def guest_machine(arch: str, names: Iterable[str], options: Mapping[str, object], **rest: object) -> Machine:
    """The machine that counts, the same every time: without the kernel's own protection unless `rest` says so.

    `names` are variants and programs, `options` the guest program's: iterations, size and seeds.
    """
    words = [f"/{IN_GUEST}", *(f"{name}={value}" for name, value in options.items()), *names]
    fields = {"mode": "off", "cpus": 1, "icount": 0, **rest}
    return Machine(job=",".join((GUEST_PROGRAM, *words)), arch=arch, **fields)  # type: ignore[arg-type]


def guest_initramfs(workspace: Workspace, commands: Commands, arch: str, interpreters: Interpreters) -> Path:
    """The guest's file system with interpreters and benchmarks in it."""
    base = build_initramfs(workspace, commands, arch)
    target = base.with_name(base.name.replace("initramfs", "initramfs-luajit"))
    entries: list[Entry] = [
        regular(f"{IN_GUEST}/{name}", data, 0o755) for name, data in _files(workspace, interpreters)
    ]
    pack_onto(workspace, base, target, entries)
    return target


def finished_counts(boot: Boot) -> tuple[Counted, ...]:
    """What a boot of guest_machine() counted; raises ToolError when a program failed in it."""
    if boot.trouble:
        raise ToolError(f"the benchmarks did not finish: {explain(boot)}")
    bad = [f"{test.name} ({test.reason})" for test in boot.results.failed]
    if bad:
        raise ToolError(f"failed in the guest: {', '.join(bad)}", f"log: {boot.folder}")
    return counted_in(boot)


def counted_in(boot: Boot) -> tuple[Counted, ...]:
    """What a boot of guest_machine() counted so far."""
    return _counted(boot.results.records, boot.executed or "")


def _counted(records: Iterable[Mapping[str, object]], executed: str) -> tuple[Counted, ...]:
    try:
        return counted_of(records, parse_counts(executed))
    except ValueError as error:
        raise ToolError(str(error)) from error
