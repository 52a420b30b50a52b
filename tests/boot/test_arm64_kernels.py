# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of arm64 kernels other than the default one. All are long."""

from kit.case import NO_WX, STRESS_TIME, Case, also_newest, boot, cases, kunit
from kit.machinery import Machinery
from kit.row import Row


def _boot(lane: str, job: str, what: str, **rest: object) -> Case:
    return boot(f"arm64-{lane}-{job}", what, job, arch="arm64", lane=lane, long=True, **rest)


def _paging(lane: str, what: str) -> tuple[Case, ...]:
    return (
        kunit(f"arm64-{lane}-kunit", lane=lane, long=True, arch="arm64"),
        _boot(lane, "stress", f"stress with {what}", timeout=STRESS_TIME),
    )


ARM64_KERNELS = (
    *_paging("64k", "64 KiB pages"),
    *_paging("va39", "39-bit addresses"),
    _boot("16k", "stress", "stress with 16 KiB pages", timeout=STRESS_TIME),
    _boot("debug", "check", "debug kernel boots clean", timeout=240.0, console=NO_WX),
    _boot("debug", "stress", "stress on the debug kernel", timeout=2 * STRESS_TIME),
    _boot("kasan", "check", "KASAN kernel boots clean", memory=2048, timeout=400.0),
    _boot("kasan", "stress", "stress on the KASAN kernel", memory=2048, timeout=1800.0),
)
NEWEST = ("64k-kunit", "64k-stress", "debug-check", "debug-stress", "kasan-check", "kasan-stress")


@cases(*also_newest(ARM64_KERNELS, *(f"arm64-{name}" for name in NEWEST)))
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)
