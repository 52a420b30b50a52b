# SPDX-License-Identifier: GPL-2.0-only
"""The attack corpus: each verdict is the one that guest/attacks.toml expects."""

from dataclasses import replace

from kit.case import (
    AMD_MACHINE,
    FORCED,
    KERNEL_BREAKPOINTS,
    PSEUDO_NMI,
    RAM,
    REPAINTED,
    Case,
    also_newest,
    attacks,
    cases,
)
from kit.checks import not_said
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.needs import LOW_TEXT_MIB
from portcullis.core.splats import scan_console
from portcullis.core.verdicts import Attack
from portcullis.core.versions import parse_version
from portcullis.host.attacker import before_death, choose_possible, is_damaged, known_attacks, run_attacks

EL2_NMI = {"board": "virtualization=on", "append": PSEUDO_NMI}


def _arm64(prefix: str, modes: tuple[str, ...] = ("enforce",), **rest: object) -> tuple[Case, ...]:
    return attacks(f"arm64-{prefix}-", modes, arch="arm64", long=True, **rest)


ATTACKS = attacks("")
X86 = (
    *attacks("all-", ("off", "audit"), long=True),
    *attacks("breakpoints-", ("enforce",), append=KERNEL_BREAKPOINTS, only="CONFIG_HAVE_HW_BREAKPOINT"),
    *attacks("cpus-", ("enforce",), cpus=4, only="four-cpus"),
    *attacks("efi-", ("off", "enforce"), efi=True, only="efi", timeout=240.0),
    *attacks("low-", ("off", "enforce"), memory=LOW_TEXT_MIB, append="nokaslr", only="low-text"),
    *attacks("nopti-", ("off",), only="nopti", pti=False, la57=False),
    *attacks("nopti-", ("enforce",), pti=False, la57=False, shared=True),
    *attacks("nopti-all-", ("off", "enforce"), pti=False, la57=False, long=True),
    *attacks("page-cache-", lane="page-cache", append=RAM, long=True),
)
WP = (
    *attacks("wp-", ("audit",), backend="wp", shared=True),
    *attacks("wp-", ("enforce",), backend="wp"),
    *attacks("wp-all-", ("audit",), backend="wp", long=True),
    *attacks("wp-amd-", ("enforce",), long=True, **AMD_MACHINE),
    *attacks("wp-nopks-", ("audit", "enforce"), pks=False, long=True),
    *attacks("wp-nopti-", ("enforce",), only="nopti", backend="wp", pti=False),
    *attacks("wp-nopti-all-", ("enforce",), backend="wp", pti=False, long=True),
)
ARM64 = (
    *attacks("arm64-", arch="arm64"),
    *_arm64("all", ("off", "audit")),
    *attacks("arm64-pauth-all-", arch="arm64", append="kpkeys_pauth=all", only="pauth-all"),
    *attacks("arm64-el2-", arch="arm64", only="el2-nmi", **EL2_NMI),
    *_arm64("64k", ("off", "enforce"), lane="64k"),
    *_arm64("va39", ("off", "enforce"), lane="va39"),
    *_arm64("blocks", ("off", "audit", "enforce"), append=FORCED),
    *_arm64("repainted", ("off", "enforce"), append=REPAINTED),
    *_arm64("64k-blocks", append=FORCED, lane="64k"),
    *_arm64("va39-blocks", append=FORCED, lane="va39"),
)


def is_of(attack: Attack, case: Case) -> bool:
    """Whether a case has an attack. What has a boot of its own takes half of the time: one mode shows that it works."""
    if case.only:
        return case.only in attack.needs
    if not attack.alone or case.long:
        return not (case.shared and attack.alone)
    shown_in = "audit" if attack.expected["audit"] in ("REPORTED", "LANDED") else "off"
    return not case.shared and case.machine.mode in ("enforce", shown_in)


@cases(
    *also_newest(ATTACKS, "attacks-enforce"),
    *X86,
    *WP,
    *also_newest(ARM64, "arm64-attacks-enforce", "arm64-el2-attacks-enforce"),
)
def test_attacks(case: Case, machinery: Machinery, row: Row) -> None:
    version = parse_version(case.kernel or machinery.options.kernel)
    known = known_attacks(machinery.workspace, case.machine, case.lane, version)
    known = tuple(attack for attack in known if is_of(attack, case))
    chosen, left_out = choose_possible(known, case.machine, machinery.kernel(case))
    mode = case.machine.mode or ""
    outcomes, boots = run_attacks(chosen, mode, case.machine, lambda machine: machinery.boot(case, machine))
    wrong = [
        f"{outcome.name}: {outcome.verdict}, expected {outcome.expected} ({outcome.evidence})"
        for outcome in outcomes
        if not outcome.as_expected
    ]
    for boot in boots:
        allowed = ("all",) if is_damaged(boot, chosen) else case.allowed
        splats = scan_console(before_death(boot, mode), allowed, case.warned)
        wrong += [f"console line {splat.number}: {splat.line}" for splat in splats]
        wrong += not_said(case, boot.console)
    log = boots[0].folder if boots else ""
    others = f"; left out: {', '.join(left_out)}" if left_out else ""
    detail = f"{len(outcomes)} attacks as expected in {len(boots)} boot(s){others}"
    row.assert_none(wrong if outcomes else [*wrong, "no attacks"], detail, log)


def test_write_protection_is_attacked_as_keys_are() -> None:
    names = {case.name for case in WP}
    assert {f"wp-{case.name}" for case in ATTACKS if case.machine.mode != "off"} <= names


def test_what_has_a_boot_of_its_own_runs_in_two_modes() -> None:
    modes = [case.machine.mode for case in ATTACKS]
    attack = Attack("one", "in", {}, "", alone=True)
    for audit, wanted in (("REPORTED", "audit"), ("REPORTED or BLOCKED", "off"), ("BLOCKED", "off")):
        one = replace(attack, expected={"audit": audit})
        assert [mode for mode, case in zip(modes, ATTACKS, strict=True) if is_of(one, case)] == sorted(
            [wanted, "enforce"], key=modes.index
        )
