# SPDX-License-Identifier: GPL-2.0-only
"""From nothing to a table of attacks that win on the stock configuration and are stopped by Portcullis.

Fetches the kernel source, hardens it, builds it, boots it and runs the attack corpus twice on the same kernel image:
with the protection off and enforced.

examples:
  ./portcullis demo
  ./portcullis demo --backend wp
"""

import argparse
import time
from dataclasses import replace

from portcullis.commands.options import (
    add_backend,
    add_build,
    add_dry_run,
    add_json,
    backend_option,
    build_options,
    version_of,
)
from portcullis.core.machine import Machine
from portcullis.core.verdicts import ATTACKED_MACHINE, AttackResult, still_landing
from portcullis.host.attacker import choose_possible, known_attacks, run_attacks
from portcullis.host.builder import Builder
from portcullis.host.emulator import emulator_for
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, seconds, step, table
from portcullis.host.vm import Boot, run_job
from portcullis.host.workspace import Workspace

SHOWN_MODES = ("off", "enforce")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_backend(parser)
    add_build(parser)
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Shows it; 1 when an attack did something unexpected."""
    started = time.monotonic()
    attacked = replace(ATTACKED_MACHINE, arch=options.arch, backend=backend_option(options))
    attacks = known_attacks(workspace, attacked, version=version_of(options))
    commands = Commands(options.dry_run)
    built = Builder(workspace, commands, build_options(options)).run()
    initramfs = build_initramfs(workspace, commands, options.arch)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs)

    def boot(machine: Machine) -> Boot:
        label = f"demo-{machine.mode}"
        return run_job(workspace, commands, machine, built.image, initramfs, label=label, emulator=emulator)

    if options.dry_run:
        for mode in SHOWN_MODES:
            boot(replace(attacked, job="attack", mode=mode))
        return 0
    attacks, _ = choose_possible(attacks, attacked, built.image)
    outcomes: dict[str, tuple[AttackResult, ...]] = {}
    for mode in SHOWN_MODES:
        with step(f"booting and running {len(attacks)} attacks, kpkeys={mode}"):
            outcomes[mode], _ = run_attacks(attacks, mode, attacked, boot)
    both = [outcome for mode in SHOWN_MODES for outcome in outcomes[mode]]
    wrong = [outcome for outcome in both if not outcome.as_expected]
    if options.json:
        print_json({"attacks": [vars(outcome) for outcome in both], "seconds": round(time.monotonic() - started, 1)})
    else:
        rows = list(zip(outcomes["off"], outcomes["enforce"], strict=True))
        table(
            "",
            ("attack", "what", "stock", "Portcullis"),
            [(off.name, attack.what, _cell(off), _cell(on)) for attack, (off, on) in zip(attacks, rows, strict=True)],
        )
        for outcome in wrong:
            print_line(
                f"(!) {outcome.name}, kpkeys={outcome.mode}: expected {outcome.expected}, but {outcome.evidence}"
            )
        for line in summary(rows):
            print_line(line)
        print_line(f"done in {seconds(time.monotonic() - started)}")
    return 1 if wrong else 0


def _cell(outcome: AttackResult) -> str:
    if not outcome.as_expected:
        return f"{outcome.verdict} (!)"
    return outcome.verdict


def summary(rows: list[tuple[AttackResult, AttackResult]]) -> tuple[str, ...]:
    """Lines on what the table showed."""
    inside = [(off, on) for off, on in rows if off.scope == "in"]
    landed = sum(off.verdict == "LANDED" for off, _ in inside)
    blocked = sum(on.verdict == "BLOCKED" for _, on in inside)
    outside = [on for _, on in rows if on.scope == "out"]
    still = sum(on.verdict == "LANDED" for on in outside)
    return (
        f"Of {len(inside)} attacks in its scope {landed} land with the protection off; Portcullis blocks {blocked}.",
        f"Of {len(outside)} attacks outside it {still} still land: they concern data, and code before it is text.",
        *still_landing(on for _, on in rows),
    )
