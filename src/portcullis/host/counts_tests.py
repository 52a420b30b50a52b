# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the plugin that counts: programs that execute known numbers of everything, and its decoders alone."""

import os
from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.core.counts import differences, parse_counts, tlb_differences, where_differences
from portcullis.core.ktap import parse_ktap
from portcullis.core.splats import last_lines
from portcullis.errors import ToolError
from portcullis.host.building import run_step
from portcullis.host.emulator import emulator_for
from portcullis.host.plugin import counting_plugin
from portcullis.host.process import Commands, shown
from portcullis.host.workspace import Workspace, locked

TIMEOUT = "60"  # seconds; a run takes one
MACHINES = {
    "arm64": ("-machine", "virt,gic-version=3"),
    "x86": ("-device", "isa-debug-exit,iobase=0xf4"),
}
ENDED_WELL = {"arm64": 0, "x86": 1}  # isa-debug-exit makes 1 of 0
ICOUNT = ("-icount", "shift=0,sleep=off")
TLB = ",tlb=test,l1=16:16,l2=64:64,pages=12+21"  # what the expectations are for
WHERE = ",where=on"
RUNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("plain", (), ""),
    ("icount", ICOUNT, WHERE),
    ("tlb", ICOUNT, TLB),
)


def _sources(workspace: Workspace) -> Path:
    return workspace.root / "emulator" / "tests" / "counts"


def _built(workspace: Workspace, commands: Commands, name: str) -> Path:
    output = workspace.folder("emulator-tests", "counts")
    words: list[str | Path] = ["make", "-C", _sources(workspace), f"O={output}"]
    words += [f"CC_{arch}={cross_prefix(ARCHES[arch], os.uname().machine)}gcc" for arch in MACHINES]
    with locked(output.with_suffix(".lock")):
        log = workspace.cache / "emulator-tests.log"
        run_step(workspace, commands, [*words, output / name], log, f"building the counted program {name}")
    return output / name


def problems_of_counts(workspace: Workspace, commands: Commands, arch: str, jobs: int) -> tuple[list[str], Path]:
    """What was counted otherwise than it must, and where the logs are; with instruction counting as well as without."""
    program = _built(workspace, commands, arch)
    emulator = emulator_for(workspace, commands, arch, jobs, counts=True)
    plugin = counting_plugin(workspace, commands, jobs)
    folder = workspace.log_folder(f"counts-{arch}")
    expected = parse_counts((_sources(workspace) / f"{arch}.jsonl").read_text())
    found = []
    for name, more, model in RUNS:
        out = folder / f"{name}.jsonl"
        command = [emulator, *MACHINES[arch], *more, "-cpu", "max", "-m", "256M", "-nodefaults", "-no-reboot"]
        command += ["-display", "none", "-kernel", program, "-plugin", f"{plugin},out={out}{model}"]
        finished = commands.capture(["timeout", TIMEOUT, *command])
        if finished.status != ENDED_WELL[arch]:
            said = last_lines(finished.output, 3).strip()
            raise ToolError(f"the program ended with {finished.status}: {said}", f"again: {shown(command)}")
        counted = parse_counts(out.read_text())
        found += [f"{name}: {line}" for line in differences(expected, counted)]
        if model == WHERE:
            found += [f"{name}: {line}" for line in where_differences(counted)]
        if model == TLB:
            found += [f"{name}: {line}" for line in tlb_differences(expected, counted)]
    return found, folder


def problems_alone(workspace: Workspace, commands: Commands, part: str) -> tuple[list[str], int]:
    """What a part of the plugin gets wrong without an emulator, and how much was tried."""
    finished = commands.capture([_built(workspace, commands, part)])
    results = parse_ktap(finished.output)
    found = [f"{result.name}: {result.reason}" for result in results if not result.passed]
    if not found and (finished.status or not results):
        found.append(f"it ended with {finished.status}")
    return found, len(results)
