# SPDX-License-Identifier: GPL-2.0-only
"""What operators watch and choose: files in sysfs, how many violations are printed, and a panic over the first."""

from kit.case import Case, boot, cases, hardened
from kit.checks import problems_of_panic
from kit.machinery import Machinery
from kit.row import Row

REPORTED = ("violation",)
PANIC = "Kernel panic - not syncing: kpkeys: a violation, and kpkeys_panic=1"
PROVOKED = 60  # violations in a row; more than are printed by default
PRINTED = 40  # of them, by default: KPKEYS_MOST_PRINTED


def _watch(name: str, what: str, job: str = "watch", mode: str = "enforce", **rest: object) -> Case:
    return boot(name, what, job, mode, allowed=REPORTED, **rest)


def _panic(name: str, what: str, job: str, mode: str, said: str, **rest: object) -> Case:
    """`said` is what the console must have of the violation itself."""
    machine = boot(name, what, job, mode, append="kpkeys_panic=1", **rest).machine
    begun = (r"ok \d+ - about to store",) if job.startswith("watch") else ()
    return Case(name, what, machine=machine, console=(*hardened(machine), said, PANIC), results=begun)


FILES = "sysfs has what debugfs has, for everybody, and counts a violation"
STORE = r"kpkeys: violation: write to page table at [0-9a-f]+, entry \d+, by "
REFUSAL = r"kpkeys: violation: .+ of .+ at [0-9a-f]+ by .+\[\d+\] \(enforce\)"
WATCH = (
    _watch("watch-enforce", FILES),
    _watch("watch-audit", FILES, mode="audit"),
    _watch("watch-off", "sysfs says that nothing is protected", mode="off"),
    _watch("watch-wp", FILES, backend="wp"),
    _watch("arm64-watch", FILES, arch="arm64"),
    _watch("watch-reports", "kpkeys_reports=3", f"watch,flood,{PROVOKED},3", append="kpkeys_reports=3"),
    _watch("watch-reports-all", "kpkeys_reports=0", f"watch,flood,{PROVOKED},{PROVOKED}", append="kpkeys_reports=0"),
    _watch(
        "watch-words",
        "parameters that are no numbers are reported, and leave the default",
        f"watch,flood,{PROVOKED},{PRINTED}",
        append="kpkeys_reports=-1 kpkeys_panic=yes",
        console=("kpkeys: kpkeys_reports=-1: not a number; 40", "kpkeys: kpkeys_panic=yes: not 0 or 1; 0"),
    ),
    _watch("watch-parameters", "an attacker cannot change what the command line chose", "watch,parameters"),
    _watch("arm64-watch-parameters", "the same", "watch,parameters", arch="arm64"),
)
PANIC = (
    _panic("panic-enforce", "kpkeys_panic=1: a store to a page table", "watch,panic", "enforce", STORE),
    _panic("panic-audit", "the same in audit mode", "watch,panic", "audit", STORE),
    _panic("panic-refusal", "kpkeys_panic=1: what a helper refused", "attack,mm-pgd-pointer", "enforce", REFUSAL),
    _panic("arm64-panic", "kpkeys_panic=1: a store", "watch,panic", "enforce", STORE, arch="arm64"),
)


@cases(*WATCH)
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)


@cases(*PANIC)
def test_panic(case: Case, machinery: Machinery, row: Row) -> None:
    """A boot that the kernel ends itself."""
    boot = machinery.boot(case)
    row.assert_none(
        problems_of_panic(case, boot.results, boot.results_text, boot.console, boot.trouble), log=boot.folder
    )
