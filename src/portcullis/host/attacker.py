# SPDX-License-Identifier: GPL-2.0-only
"""Runs the attack corpus: several attacks in one boot, a fresh boot after one that killed the guest."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from portcullis.core.kconfig import parse_config
from portcullis.core.machine import Machine, backend_of
from portcullis.core.verdicts import (
    DIED,
    ERROR,
    MISSING,
    OLDEST,
    Attack,
    AttackResult,
    judge,
    parse_attacks,
    possible_attacks,
    read_verdicts,
    verdict_of_dead_guest,
)
from portcullis.core.versions import KernelVersion
from portcullis.errors import ToolError
from portcullis.host.screen import say
from portcullis.host.vm import Boot, explain, look_at_backend
from portcullis.host.workspace import Workspace

Booter = Callable[[Machine], Boot]
ATTACKS_PER_BOOT = 30  # a boot has a time limit; what a job may have at most is in core/machine.py
KILLED = 128  # a status above it is that of a job that a signal ended
MORE_TRIES = 9  # alone, of an attack that others may have been in the way of
SILENCE = 30.0  # seconds; who was stopped in the middle may hold a lock that all others wait for
TIME_FOR_MORE = 300.0  # seconds, in which the last of them begins


def known_attacks(
    workspace: Workspace, machine: Machine, lane: str = "", version: KernelVersion = OLDEST
) -> tuple[Attack, ...]:
    """The corpus and its verdicts on a machine with a lane's kernel; raises ToolError when its file is bad."""
    path = workspace.guest / "attacks.toml"
    try:
        return parse_attacks(path.read_text(), machine.arch, backend_of(machine), lane, version)
    except FileNotFoundError as error:
        raise ToolError(f"{path} does not exist", "the checkout is not complete") from error
    except ValueError as error:
        raise ToolError(str(error)) from error


def choose_possible(
    attacks: tuple[Attack, ...], machine: Machine, image: Path
) -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """Attacks that a machine with this kernel has the objects for, and what to say of the others."""
    config = image.parents[3] / ".config"
    try:
        possible, left_out = possible_attacks(attacks, machine, parse_config(config.read_text()))
    except FileNotFoundError as error:
        raise ToolError(f"{config} does not exist", "the build is not complete") from error
    for attack in left_out:
        say(f"  left out: {attack}")
    if not possible:
        raise ToolError("nothing is left to attack", "see: portcullis attack --list")
    return possible, left_out


def run_attacks(
    attacks: tuple[Attack, ...], mode: str, machine: Machine, boot: Booter
) -> tuple[tuple[AttackResult, ...], tuple[Boot, ...]]:
    """The result of every attack in one mode, and the boots. Each boot settles at least one attack.

    An attack by way of the kernel itself depends on which page the kernel takes next, and on what earlier attacks left
    behind. One that could not be tried, or that should have got through and did not, gets up to nine more tries, alone,
    while there is time; one that is to be stopped has to be stopped at once.
    """
    outcomes: dict[str, AttackResult] = {}
    boots = []

    def attempt(batch: list[Attack]) -> None:
        job = ",".join(("attack", *(attack.name for attack in batch)))
        attacked = replace(machine, job=job, mode=mode, silence=SILENCE if mode == "enforce" else 0.0)
        boots.append(boot(attacked))
        look_at_backend(attacked, boots[-1])
        look_at_start(boots[-1])
        outcomes.update({outcome.name: outcome for outcome in settle(batch, mode, boots[-1])})

    while waiting := [attack for attack in attacks if attack.name not in outcomes]:
        together = [attack for attack in waiting if not attack.alone]
        attempt(together[:ATTACKS_PER_BOOT] or waiting[:1])
    end = time.monotonic() + TIME_FOR_MORE
    for attack in attacks * MORE_TRIES:
        outcome = outcomes[attack.name]
        if time.monotonic() > end:
            break
        if outcome.verdict == ERROR or (not outcome.as_expected and is_missed(attack, mode, outcome)):
            attempt([attack])
    return tuple(outcomes[attack.name] for attack in attacks), tuple(boots)


def is_missed(attack: Attack, mode: str, outcome: AttackResult) -> bool:
    """True if an attack may have had bad luck; where attacks are stopped, a guest that died has no second life."""
    return attack.scope == "gap" or outcome.verdict == "BLOCKED" or (outcome.verdict == DIED and mode != "enforce")


def is_damaged(booted: Boot, attacks: tuple[Attack, ...]) -> bool:
    """True if a kernel may complain of what it was made to do itself."""
    damaging = tuple(f"portcullis: attack {attack.name}" for attack in attacks if attack.damages)
    return bool(damaging) and any(line.rstrip().endswith(damaging) for line in booted.console.splitlines())


def before_death(booted: Boot, mode: str) -> str:
    """The console, in a mode that stops nothing without what followed the begin of an attack that killed the guest.

    That attack is tried again, and its last try decides; `enforce` has to keep the guest alive.
    """
    if mode == "enforce" or not has_died(booted):
        return booted.console
    return booted.console.rpartition("portcullis: attack ")[0] or booted.console


def has_died(booted: Boot) -> bool:
    """True if the guest ended during an attack, or its kernel killed the program that runs them all."""
    status = booted.results.status
    return status is None or status > KILLED


def look_at_start(booted: Boot) -> None:
    """Raises ToolError when no attack began: the kernel does not boot, and no boot after this one would settle any."""
    if not booted.results.records and "portcullis: attack " not in booted.console:
        raise ToolError("the guest died before any attack began", explain(booted))


def settle(waiting: list[Attack], mode: str, booted: Boot) -> list[AttackResult]:
    """Verdicts of one boot. Where it died, the first attack without a verdict is why."""
    verdicts = read_verdicts(booted.results.records)
    settled = [judge(attack, mode, *verdicts[attack.name]) for attack in waiting if attack.name in verdicts]
    silent = [attack for attack in waiting if attack.name not in verdicts]
    if not has_died(booted):
        return settled + [judge(attack, mode, MISSING, "the guest gave no verdict") for attack in silent]
    if silent:
        verdict, evidence = verdict_of_dead_guest(booted.console, silent[0].name)
        if booted.trouble.startswith("no end") and verdict != "BLOCKED":
            evidence = f"{booted.trouble}: {evidence}"
        elif verdict != "BLOCKED" and booted.results.status is not None:
            evidence = f"the program that runs the attacks ended with {booted.results.status}: {evidence}"
        settled.append(judge(silent[0], mode, verdict, evidence))
    return settled
