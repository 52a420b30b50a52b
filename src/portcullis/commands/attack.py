# SPDX-License-Identifier: GPL-2.0-only
"""Boots the hardened kernel and attacks its page tables.

Each attack has a verdict (LANDED, REPORTED or BLOCKED) and the one that is expected in this mode. Exit status 1 when
one differs. Without names the whole corpus runs.

examples:
  ./portcullis attack --list
  ./portcullis attack user-pte --mode off
  ./portcullis attack --mode all --json
  ./portcullis attack --backend wp
"""

import argparse
from dataclasses import asdict, replace

from portcullis.commands.boot import add_machine, machine_of
from portcullis.commands.options import add_build, add_dry_run, add_json, add_mode, build_options, version_of
from portcullis.core.machine import MODES
from portcullis.core.verdicts import ATTACKED_MACHINE, Attack, AttackResult, choose_attacks, still_landing
from portcullis.errors import ToolError
from portcullis.host.attacker import choose_possible, known_attacks, run_attacks
from portcullis.host.builder import Builder
from portcullis.host.emulator import emulator_for
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, say, step, table
from portcullis.host.vm import run_job
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="attacks to run (all)")
    parser.add_argument("--list", action="store_true", help="list the attacks and what each does")
    add_mode(parser, (*MODES, "all"))
    add_build(parser)
    add_machine(parser)
    parser.add_argument(
        "--timeout", type=float, default=ATTACKED_MACHINE.timeout, metavar="S", help="seconds a boot may take (180)"
    )
    add_json(parser)
    add_dry_run(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Attacks; 1 when a verdict differs from what is expected."""
    machine = machine_of(options)
    try:
        attacks = choose_attacks(known_attacks(workspace, machine, options.lane, version_of(options)), options.names)
    except ValueError as error:
        raise ToolError(str(error), "see: portcullis attack --list") from error
    if options.list:
        return _list(attacks, options.json)
    commands = Commands(options.dry_run)
    built = Builder(workspace, commands, build_options(options)).run()
    initramfs = build_initramfs(workspace, commands, options.arch)
    emulator = emulator_for(workspace, commands, options.arch, options.jobs)
    modes = MODES if options.mode == "all" else (options.mode,)
    isolated = ATTACKED_MACHINE.pti if machine.pti is None else machine.pti
    machine = replace(machine, timeout=options.timeout, pti=isolated)
    if options.dry_run:
        run_job(workspace, commands, replace(machine, job="attack"), built.image, initramfs, emulator=emulator)
        return 0
    attacks, _ = choose_possible(attacks, machine, built.image)
    outcomes: list[AttackResult] = []
    for mode in modes:
        with step(f"{len(attacks)} attacks with kpkeys={mode}"):
            done, boots = run_attacks(
                attacks,
                mode,
                machine,
                lambda vm: run_job(
                    workspace, commands, vm, built.image, initramfs, label=f"attack-{vm.mode}", emulator=emulator
                ),
            )
        outcomes += done
        say(f"  {len(boots)} boot(s), logs: {boots[0].folder}" + (" and later" if len(boots) > 1 else ""))
    return report(outcomes, options.json)


def report(outcomes: list[AttackResult], as_json: bool) -> int:
    """Prints the outcomes; 1 when one is not as expected."""
    wrong = [outcome for outcome in outcomes if not outcome.as_expected]
    if as_json:
        print_json({"attacks": [asdict(outcome) for outcome in outcomes]})
        return 1 if wrong else 0
    table(
        "",
        ("attack", "scope", "mode", "verdict", "expected", "evidence"),
        [(o.name, o.scope, o.mode, o.verdict, "" if o.as_expected else o.expected, o.evidence) for o in outcomes],
    )
    for line in still_landing(outcomes):
        print_line(line)
    print_line(f"{len(outcomes) - len(wrong)} as expected, {len(wrong)} not")
    return 1 if wrong else 0


def _list(attacks: tuple[Attack, ...], as_json: bool) -> int:
    if as_json:
        print_json({"attacks": [_listed(attack) for attack in attacks]})
        return 0
    rows = [(a.name, a.scope, a.way, *(a.expected[mode] for mode in MODES), a.what) for a in attacks]
    table("", ("attack", "scope", "class", *MODES, "what it does"), rows)
    return 0


def _listed(attack: Attack) -> dict[str, object]:
    fields = {**asdict(attack), "expected": dict(attack.expected), "class": attack.way}
    del fields["way"]
    return fields
