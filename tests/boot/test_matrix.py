# SPDX-License-Identifier: GPL-2.0-only
"""The boots that combine mode, paging, isolation and number of CPUs, for both architectures."""

from itertools import combinations, product

from kit.case import AMD_MACHINE, NO_KEYS_THERE, Case, boot, cases
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.machine import MODES, backend_of

CPUS = (1, 2, 4)
ISOLATION = (True, False)
PAGING = {
    "5level": {},
    "4level": {"la57": False},
    "1gleaf": {"memory": 3072},
    "nopks": {"pks": False, "backend": "pks"},
}
# Spread so that every pair of (mode, paging), (mode, isolation), (paging, isolation) and each number of CPUs occurs.
SPREAD = {
    ("enforce", "5level", True, 1),
    ("enforce", "5level", False, 4),
    ("enforce", "4level", True, 4),
    ("enforce", "4level", False, 1),
    ("enforce", "1gleaf", True, 2),
    ("enforce", "1gleaf", False, 4),
    ("enforce", "nopks", True, 2),
    ("audit", "5level", True, 2),
    ("audit", "4level", False, 4),
    ("audit", "1gleaf", True, 1),
    ("audit", "nopks", False, 1),
    ("off", "5level", False, 2),
    ("off", "4level", True, 1),
    ("off", "1gleaf", False, 2),
    ("off", "nopks", True, 4),
}
# With write protection: forced where there are keys, and where there are none the kernel's own choice.
WP_PAGING = {
    "5level": {"backend": "wp"},
    "4level": {"backend": "wp", "la57": False},
    "1gleaf": {"backend": "wp", "memory": 3072},
    "nopks": {"pks": False},
    "amd": AMD_MACHINE,
}
WP_MODES = ("audit", "enforce")  # kpkeys=off is the same without keys
# The same pairs as above.
WP_SPREAD = {
    ("enforce", "5level", True, 1),
    ("audit", "5level", False, 4),
    ("audit", "4level", True, 2),
    ("enforce", "4level", False, 1),
    ("enforce", "1gleaf", True, 4),
    ("audit", "1gleaf", False, 1),
    ("audit", "nopks", True, 4),
    ("enforce", "nopks", False, 2),
    ("enforce", "amd", True, 2),
    ("audit", "amd", False, 1),
}
ARM64_PAGING = {"4k48": "default", "4k39": "va39", "16k": "16k", "64k": "64k"}  # to the lane
NO_POE = "nopoe"  # stands where the mode would: without POE all modes are the same


def _case(prefix: str, mode: str, paging: str, pti: bool, cpus: int, **rest: object) -> Case:
    name = f"{prefix}matrix-{mode}-{paging}-{'pti' if pti else 'nopti'}-{cpus}cpu"
    what = f"kpkeys={mode}, {paging}, isolation {'on' if pti else 'off'}, {cpus} CPU(s)"
    booted = "enforce" if mode == NO_POE else mode
    return boot(name, what, "check", booted, pti=pti, cpus=cpus, **rest)


def x86_matrix() -> tuple[Case, ...]:
    """All combinations; those that are not in SPREAD are long."""
    return tuple(
        _case("", *spot, long=spot not in SPREAD, **PAGING[spot[1]]) for spot in product(MODES, PAGING, ISOLATION, CPUS)
    )


def wp_matrix() -> tuple[Case, ...]:
    """The same with write protection; those that are not in WP_SPREAD are long."""
    return tuple(
        _case("wp-", *spot, long=spot not in WP_SPREAD, **WP_PAGING[spot[1]])
        for spot in product(WP_MODES, WP_PAGING, ISOLATION, CPUS)
    )


def arm64_spots() -> tuple[tuple[str, str, bool, int], ...]:
    """All combinations of mode, paging and number of CPUs; isolation is on in every other one."""
    axes = (*MODES, NO_POE), tuple(ARM64_PAGING), CPUS
    return tuple(
        (mode, paging, bool((axes[0].index(mode) + axes[1].index(paging) + CPUS.index(cpus)) % 2), cpus)
        for mode, paging, cpus in product(*axes)
    )


def arm64_matrix() -> tuple[Case, ...]:
    """All long: each page size is a kernel of its own."""
    return tuple(
        _case("arm64-", *spot, arch="arm64", lane=ARM64_PAGING[spot[1]], pks=spot[0] != NO_POE, long=True)
        for spot in arm64_spots()
    )


@cases(*x86_matrix(), *wp_matrix(), *arm64_matrix())
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)


def _pairs(values: list[tuple], spots: set[tuple]) -> None:
    """Every pair of two axes' values occurs."""
    for left, right in combinations(range(len(values)), 2):
        assert {(spot[left], spot[right]) for spot in spots} >= set(product(values[left], values[right]))


def test_the_default_matrix_covers_every_pair_that_matters() -> None:
    _pairs([("enforce", "audit", "off"), tuple(PAGING), ISOLATION], SPREAD)
    for mode in MODES:
        assert {spot[3] for spot in SPREAD if spot[0] == mode} == set(CPUS)


def test_the_default_matrix_of_write_protection_covers_every_pair_that_matters() -> None:
    _pairs([WP_MODES, tuple(WP_PAGING), ISOLATION], WP_SPREAD)
    for mode in WP_MODES:
        assert {spot[3] for spot in WP_SPREAD if spot[0] == mode} == set(CPUS)
    assert {backend_of(case.machine) for case in wp_matrix()} == {"wp"}
    assert sum(not case.long for case in wp_matrix()) == len(WP_SPREAD)


def test_the_arm64_matrix_has_each_kernel_mode_and_number_of_cpus_and_every_pair() -> None:
    spots = set(arm64_spots())
    modes = ("off", "audit", "enforce", "nopoe")
    assert {(spot[0], spot[1], spot[3]) for spot in spots} == set(product(modes, ARM64_PAGING, CPUS))
    _pairs([modes, tuple(ARM64_PAGING), ISOLATION, CPUS], spots)
    chosen = arm64_matrix()
    assert len(chosen) == len(spots) and all(case.long for case in chosen)
    assert {(case.lane, case.machine.pks) for case in chosen} == set(product(ARM64_PAGING.values(), (True, False)))
    assert {case.console for case in chosen if not case.machine.pks} == {(NO_KEYS_THERE,)}


def test_the_matrix_has_a_cpu_without_keys() -> None:
    chosen = [case for case in x86_matrix() if "nopks" in case.name]
    assert {case.console for case in chosen if case.machine.mode != "off"} == {(NO_KEYS_THERE,)}
    assert {backend_of(case.machine) for case in chosen} == {"none"}
