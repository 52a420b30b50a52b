# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmark that counts, and holds what it counted against the bounds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from portcullis.core.bench import Measured, compare, parse_bounds, parse_executed, why_not_to_print, with_executed
from portcullis.core.counts import parse_counts
from portcullis.core.elf import Image
from portcullis.core.machine import Machine, backend_of
from portcullis.core.where import Functions, writes_by_function
from portcullis.errors import ToolError
from portcullis.host.vm import Boot, explain, look_at_backend

BOUNDS = Path(__file__).parents[1] / "data" / "bench.toml"


# The keys of pointer authentication stay in the tasks: they cost at each entry, and are counted apart.
PLAIN = "kpkeys_pauth=off"
# Sections wait for their raise: that the emulator's CPU is never late says nothing of others.
WAITS = "kpkeys_late_raise=off"


def counted(machine: Machine, boot_it: Callable[[Machine], Boot]) -> Boot:
    """Runs the benchmark; where a plugin counts, again with less protection, and adds what was executed."""
    if machine.arch == "arm64":
        machine = replace(machine, append=f"{machine.append} {WAITS}".strip())
    boot = boot_it(machine)
    if boot.executed is None or boot.trouble:
        return boot
    plain = whole = executed(boot, "all protection")
    if machine.arch == "arm64":
        plain = executed(boot_it(replace(machine, append=f"{machine.append} {PLAIN}".strip())), PLAIN)
    off = executed(boot_it(replace(machine, mode="off")), "kpkeys=off")
    records = with_executed(boot.results.records, whole, plain, off)
    return replace(boot, results=replace(boot.results, records=records))


def written_where(machine: Machine, boot_it: Callable[[Machine], Boot], kernel: Path) -> dict[str, dict[str, int]]:
    """By region of the benchmark, how often each function wrote the register; `kernel` is the vmlinux that boots."""
    append = f"{PLAIN} {WAITS}" if machine.arch == "arm64" else ""
    boot = boot_it(replace(machine, where=True, append=f"{machine.append} {append}".strip()))
    executed(boot, "addresses noted")
    return writes_by_function(parse_counts(boot.executed or ""), Functions(Image(kernel.read_bytes()).symbol_table()))


def executed(boot: Boot, how: str) -> dict[str, dict[str, int]]:
    """What a plugin counted in each region; raises ToolError when the run did not finish."""
    if boot.trouble or boot.executed is None:
        raise ToolError(f"the benchmark did not finish with {how}: {explain(boot)}")
    try:
        return parse_executed(boot.executed)
    except ValueError as error:
        raise ToolError(str(error), f"log: {boot.folder}") from error


def measured(boot: Boot, machine: Machine) -> tuple[Measured, ...]:
    """Counts beside bounds; raises ToolError when the run measured nothing."""
    if boot.trouble:
        raise ToolError(f"the benchmark did not finish: {explain(boot)}")
    look_at_backend(machine, boot)
    reason = why_not_to_print(boot.results.records)
    if reason:
        raise ToolError(f"no table is printed: {reason}", f"log: {boot.folder}")
    bounds = parse_bounds(BOUNDS.read_text(), machine.arch)
    return compare(bounds, boot.results.records, backend_of(machine))
