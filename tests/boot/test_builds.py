# SPDX-License-Identifier: GPL-2.0-only
"""Kernels compile: those that are booted, and those without a topic."""

from kit.case import Case, cases
from kit.machinery import Machinery
from kit.plans import LEFT_OUT
from kit.row import Row
from portcullis.core.arches import ARCHES
from portcullis.core.machine import Machine

ARM64 = Machine(arch="arm64")
ARM64_LANES = {
    "64k": "64 KiB pages",
    "16k": "16 KiB pages",
    "va39": "39-bit addresses",
    "debug": "lockdep, DEBUG_VM_PGTABLE, DEBUG_WX",
    "kasan": "KASAN",
    "kfence": "KFENCE",
}


def _left_out(topic: str, needers: tuple[str, ...], arch: str) -> Case:
    name = f"build-{'arm64-' if arch == 'arm64' else ''}without-{topic.removeprefix('arm64-')}"
    what = f"without {', '.join((topic, *needers))}"
    return Case(name, what, machine=Machine(arch=arch), left_out=(topic, *needers), long=True)


def _arm64(lane: str, what: str) -> Case:
    return Case(f"build-arm64-{lane}", what, lane=lane, machine=ARM64, long=True)


def _lab(lane: str, arch: str) -> Case:
    name = f"build-{'arm64-' if arch == 'arm64' else ''}{lane}"
    return Case(name, "for the lab", lane=lane, machine=Machine(arch=arch), long=True)


BUILDS = (
    Case("build-default", "the small guest kernel"),
    Case("build-debug-xen", "lockdep, DEBUG_VM_PGTABLE, DEBUG_WX, PARAVIRT_XXL", lane="debug-xen", long=True),
    Case("build-xen", "PARAVIRT_XXL", lane="xen"),
    Case("build-stock", "without Portcullis", lane="stock", long=True),
    Case("build-kasan", "KASAN", lane="kasan", long=True),
    Case("build-least", "the product without its optional topics", lane="least"),
    Case("build-arm64-least", "the same", lane="least", machine=Machine(arch="arm64"), long=True),
    Case("build-nokeys", "with the hooks, and CONFIG_KPKEYS off", lane="nokeys"),
    Case("build-arm64-nokeys", "the same", lane="nokeys", machine=Machine(arch="arm64"), long=True),
    *(_left_out(*row) for row in LEFT_OUT),
    Case("build-arm64", "the small arm64 guest kernel", machine=ARM64),
    *(_arm64(lane, what) for lane, what in ARM64_LANES.items()),
    *(_lab(lane, arch) for arch in ARCHES for lane in ("lab", "lab-designs", "lab-stock")),
    Case("build-page-cache", "a study: cached pages of programs sealed", lane="page-cache", long=True),
)


@cases(*BUILDS)
def test_build(case: Case, machinery: Machinery, row: Row) -> None:
    size = machinery.kernel(case).stat().st_size
    assert size
    row.note(f"{size // 1024} KiB")
