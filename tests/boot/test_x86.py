# SPDX-License-Identifier: GPL-2.0-only
"""Boots of x86-64 with protection keys."""

from kit.case import (
    CREDS_TESTED,
    DEBUGGED,
    GUARDED_TESTED,
    NMI_TESTED,
    NO_WX,
    STRESS_TIME,
    TRACED,
    Case,
    also_newest,
    boot,
    cases,
    kunit,
)
from kit.machinery import Machinery
from kit.row import Row

BOOTS = (
    boot("boot-enforce", "boots hardened, every page table keyed", "check"),
    kunit("kunit", console=(NMI_TESTED, GUARDED_TESTED, CREDS_TESTED), append=DEBUGGED),
    boot("stress-enforce", "stress of memory management, enforced", "stress", **TRACED),
    boot("stress-audit", "stress finds no writer that was missed", "stress", "audit", **TRACED),
    boot(
        "stress-4cpu-pti",
        "stress on 4 CPUs, isolated page tables",
        "stress",
        cpus=4,
        pti=True,
        timeout=STRESS_TIME,
    ),
    boot("boot-pti", "boots hardened with isolated page tables", "check", pti=True),
    boot("boot-efi", "boots hardened from EFI firmware, with its runtime tables", "check", efi=True, timeout=180.0),
    boot("numa", "stress on two nodes", "stress", nodes=2, timeout=STRESS_TIME),
    boot("s3", "suspend to memory and resume", "stress,s3"),
    boot("nmi-storm", "NMIs on every CPU during stress", "stress", timeout=STRESS_TIME, nmi_rate=200),
    boot("cpu-hotplug", "CPUs go offline and come back", "stress,cpu-hotplug", cpus=4, timeout=240.0),
    boot(
        "memory-hotplug",
        "memory comes near and far, and goes",
        "stress,memhotplug,memhotplug-far",
        nodes=2,  # the first one's memory is then on both sides of the other's
        max_memory=720896,
        la57=False,  # for a new top-level entry
        append="page_poison=1",  # freeing a keyed page writes to it
        timeout=240.0,
    ),
    boot("fault-injection", "the page allocator fails while tables are made", "stress,faultinject", timeout=240.0),
)
OFF = (
    boot(
        "off-kunit",
        "page tables follow memory policies where nothing is protected",
        "kunit",
        "off",
        kunit=True,
        nodes=2,
    ),
)
LEAST = (boot("least-check", "the product without its optional topics boots hardened", "check", lane="least"),)
LANES = (
    boot(
        "debug-xen-check",
        "debug kernel boots clean",
        "check",
        lane="debug-xen",
        timeout=240.0,
        console=NO_WX,
        long=True,
    ),
    kunit("debug-xen-kunit", lane="debug-xen", long=True),
    boot(
        "debug-xen-stress",
        "stress on the debug kernel",
        "stress",
        lane="debug-xen",
        timeout=2 * STRESS_TIME,
        long=True,
    ),
    boot("xen-check", "PARAVIRT_XXL kernel boots clean", "check", lane="xen"),
    boot("xen-stress", "stress on the PARAVIRT_XXL kernel", "stress", lane="xen", timeout=STRESS_TIME, long=True),
    boot(
        "kasan-check",
        "KASAN kernel boots clean",
        "check",
        lane="kasan",
        memory=2048,
        timeout=400.0,
        long=True,
    ),
    boot(
        "kasan-stress",
        "stress on the KASAN kernel",
        "stress",
        lane="kasan",
        memory=2048,
        timeout=1800.0,
        long=True,
    ),
)
NEWEST = ("boot-enforce", "kunit", "stress-enforce", "stress-audit", "boot-pti", "boot-efi", "off-kunit")
NEWEST_LANES = ("debug-xen-check", "debug-xen-kunit", "debug-xen-stress", "kasan-check", "kasan-stress")


@cases(*also_newest((*BOOTS, *OFF), *NEWEST), *LEAST, *also_newest(LANES, *NEWEST_LANES))
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)
