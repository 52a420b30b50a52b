# SPDX-License-Identifier: GPL-2.0-only
"""Boots on Bochs, for CPUs that QEMU has not. All are long."""

from kit.case import Case, cases
from kit.checks import not_said
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.machine import Machine
from portcullis.core.splats import scan_console
from portcullis.host.bochs import boot_on_bochs

CET_SEEN = "CET detected: Indirect Branch Tracking enabled"
BACKEND_WP = r"kpkeys: page tables hardened: mode enforce, backend wp,"
# What Linux says of Bochs' processor, with or without Portcullis: cores that do not add up, sizes of XSAVE areas.
ODD_CPUID = r"WARNING: .*\b(parse_legacy|fpu__init_system_xstate)\b"
KUNIT_PASSED = tuple(
    rf"# kpkeys-{suite}: pass:\d+ fail:0 " for suite in ("backend", "levels", "pgtables", "pool", "secrets")
)


def _bochs(name: str, what: str, job: str, console: tuple[str, ...], cpus: int = 1, **rest: object) -> Case:
    """A processor with control-flow enforcement and no PKS, which only another emulator has."""
    machine_fields = {key: rest.pop(key) for key in list(rest) if key in Machine.__dataclass_fields__}
    machine = Machine(job=job, cpu="tigerlake", cpus=cpus, memory=512, timeout=600.0, **machine_fields)  # type: ignore[arg-type]
    return Case(
        f"bochs-{name}",
        what,
        machine=machine,
        warned=ODD_CPUID,
        console=console,
        long=True,
        **rest,  # type: ignore[arg-type]
    )


BOCHS = (
    _bochs("cet", "CET keeps CR0.WP set: off, and why", "check", (CET_SEEN, r"kpkeys: off: .*\(CR4\.CET\)")),
    _bochs("wp", "without CET write protection is taken", "check", (BACKEND_WP,), append="ibt=off"),
    _bochs(
        "wp-kunit",
        "the KUnit suites on a processor that is not QEMU's",
        "check",
        (BACKEND_WP, *KUNIT_PASSED),
        cpus=2,
        append="ibt=off",
        kunit=True,
        allowed=("violation", "trace", "warning", "open-section"),
    ),
)


@cases(*BOCHS)
def test_bochs(case: Case, machinery: Machinery, row: Row) -> None:
    """Its console is all there is to judge."""
    kernel, initramfs = machinery.kernel(case), machinery.initramfs(case.arch)
    boot = boot_on_bochs(machinery.workspace, machinery.commands, case.machine, kernel, initramfs, case.name)
    problems = [boot.trouble] if boot.trouble else []
    splats = scan_console(boot.console, case.allowed, case.warned)
    problems += [f"console line {splat.number}: {splat.line}" for splat in splats]
    row.assert_none(problems + not_said(case, boot.console), log=boot.folder)
