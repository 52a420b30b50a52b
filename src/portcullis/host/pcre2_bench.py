# SPDX-License-Identifier: GPL-2.0-only
"""Runs PCRE2's own speed tests: timed on this machine, and counted in a guest by the emulator's plugin."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from portcullis.core.counts import parse_counts
from portcullis.core.cpio import Entry, regular
from portcullis.core.machine import Machine
from portcullis.errors import ToolError
from portcullis.host.compile_kit import pack_onto
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.vm import Boot
from portcullis.host.workspace import Workspace
from portcullis.lab.pcre2_counts import Counts, counts_of, totals_in

GUEST_PROGRAM = "pcrebench"
IN_GUEST = "pcre2"  # folder of the programs and their input
INPUT = "testinput1"
CPU = "cpu"  # user and system time of the whole program, which frees patterns as well

Programs = Mapping[str, Path]
Runs = dict[str, dict[str, list[float]]]


def measure(programs: Programs, source: Path, runs: int, times: int) -> Runs:
    """Variant -> quantity -> seconds of each run; variants in turns, in the other order in each second round."""
    found: Runs = {variant: {} for variant in programs}
    order = list(programs)
    with step(f"measuring {runs} runs of each variant") as progress:
        for number in range(runs):
            for variant in order if number % 2 else order[::-1]:
                progress.update(f"run {number + 1} of {runs}")
                for name, value in timed(programs[variant], source, times).items():
                    found[variant].setdefault(name, []).append(value)
    return found


def timed(program: Path, source: Path, times: int) -> dict[str, float]:
    """One run of PCRE2's speed test: its own totals, and the time of the process."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out"
        words = [str(program), "-q", "-8", "-jit", "-T", str(times), str(source / "testdata" / INPUT), str(output)]
        pid = os.posix_spawn(words[0], words, os.environ)
        _, status, usage = os.wait4(pid, 0)
        if status:
            raise ToolError(f"pcre2test ended with {os.waitstatus_to_exitcode(status)}", f"again: {' '.join(words)}")
        try:
            totals = totals_in(output.read_text(errors="replace"))
        except ValueError as error:
            raise ToolError(str(error), f"again: {' '.join(words)}") from error
    return {**totals, CPU: usage.ru_utime + usage.ru_stime}


def guest_machine(arch: str, variants: tuple[str, ...], times: int, **rest: object) -> Machine:
    """The machine that counts, without the kernel's own protection."""
    words = (GUEST_PROGRAM, f"/{IN_GUEST}", str(times), INPUT, *variants)
    fields = {"mode": "off", "cpus": 1, "icount": 0, **rest}
    return Machine(job=",".join(words), arch=arch, **fields)  # type: ignore[arg-type]


def guest_initramfs(workspace: Workspace, commands: Commands, arch: str, programs: Programs, source: Path) -> Path:
    """The guest's file system with the variants' pcre2test and the input in it."""
    base = build_initramfs(workspace, commands, arch)
    target = base.with_name(base.name.replace("initramfs", "initramfs-pcre2"))
    entries: list[Entry] = [
        regular(f"{IN_GUEST}/pcre2test-{variant}", path.read_bytes(), 0o755) for variant, path in programs.items()
    ]
    entries.append(regular(f"{IN_GUEST}/{INPUT}", (source / "testdata" / INPUT).read_bytes(), 0o644))
    pack_onto(workspace, base, target, entries)
    return target


def counted_in(boot: Boot) -> dict[str, dict[str, Counts]]:
    """What a boot of guest_machine() counted; raises ToolError when that is broken."""
    try:
        return counts_of(parse_counts(boot.executed or ""))
    except ValueError as error:
        raise ToolError(str(error), f"log: {boot.folder}") from error
