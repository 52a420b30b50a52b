# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of the backend that needs no keys: page tables mapped read-only, CR0.WP cleared by the guards."""

from kit.case import AMD_MACHINE, DEBUGGED, NMI_TESTED, NO_WX, STRESS_TIME, Case, also_newest, boot, cases, kunit
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.machine import KERNEL_PROBES


def _wp(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    """Write protection forced on the CPU that has keys, too."""
    return boot(f"wp-{name}", f"{what}, write protection", job, mode, **{"backend": "wp", **rest})


def _stress(name: str, what: str, mode: str = "enforce", **rest: object) -> Case:
    return _wp(name, what, rest.pop("job", "stress"), mode, **{"timeout": STRESS_TIME, **rest})  # type: ignore[arg-type]


WP = (
    _wp("boot-enforce", "boots hardened, every page table keyed", "check"),
    boot("wp-auto", "a CPU without keys takes write protection by itself", "check", pks=False),
    boot("wp-amd", "so does a real processor that has none", "check", **AMD_MACHINE),
    boot("wp-not-chosen", "a CPU with keys takes them", "check", backend="auto"),
    boot("wp-not-pks", "kpkeys=enforce,pks without keys is off and says why", "check", pks=False, backend="pks"),
    kunit("wp-kunit", console=(NMI_TESTED, r"ok \d+ kpkeys-backend\s"), backend="wp", append=DEBUGGED),
    kunit("wp-nopks-kunit", pks=False, pti=False, append="nofsgsbase"),
    kunit("wp-amd-kunit", pti=True, **AMD_MACHINE),
    _stress("stress-enforce", "stress of memory management, enforced", append=KERNEL_PROBES),
    _stress("stress-audit", "stress finds no writer that was missed", "audit", append=KERNEL_PROBES),
    _stress("stress-4cpu-pti", "stress on 4 CPUs, isolated page tables", cpus=4, pti=True),
    boot(
        "wp-stress-amd",
        "stress on a real processor without keys",
        "stress",
        **AMD_MACHINE,
        timeout=STRESS_TIME,
        long=True,
    ),
    boot(
        "wp-stress-amd-pti",
        "the same with isolated page tables",
        "stress",
        **AMD_MACHINE,
        pti=True,
        timeout=STRESS_TIME,
    ),
    boot("wp-stress-nopks", "stress on a CPU without keys", "stress", pks=False, timeout=STRESS_TIME, long=True),
    _wp("boot-pti", "boots hardened with isolated page tables", "check", pti=True),
    _wp("boot-efi", "boots hardened from EFI firmware", "check", efi=True, timeout=180.0),
    _stress("numa", "stress on two nodes", nodes=2, long=True),
    _wp("s3", "suspend to memory and resume", "stress,s3"),
    _stress("nmi-storm", "NMIs on every CPU during stress", nmi_rate=200),
    _wp("cpu-hotplug", "CPUs go offline and come back", "stress,cpu-hotplug", cpus=4, timeout=240.0),
    _wp(
        "memory-hotplug",
        "memory comes near and far, and goes",
        "stress,memhotplug,memhotplug-far",
        max_memory=720896,
        append="page_poison=1",
        timeout=240.0,
    ),
    _wp("fault-injection", "the page allocator fails", "stress,faultinject", timeout=240.0),
)
WP_LANES = (
    _wp(
        "debug-xen-check",
        "debug kernel boots clean",
        "check",
        lane="debug-xen",
        timeout=240.0,
        console=NO_WX,
        long=True,
    ),
    kunit("wp-debug-xen-kunit", lane="debug-xen", backend="wp", long=True),
    _stress("debug-xen-stress", "stress on the debug kernel", lane="debug-xen", timeout=2 * STRESS_TIME, long=True),
    _wp("xen-check", "PARAVIRT_XXL kernel boots clean", "check", lane="xen", long=True),
    _stress("xen-stress", "stress on the PARAVIRT_XXL kernel", lane="xen", long=True),
    _wp("kasan-check", "KASAN kernel boots clean", "check", lane="kasan", memory=2048, timeout=400.0, long=True),
    _stress("kasan-stress", "stress on the KASAN kernel", lane="kasan", memory=2048, timeout=1800.0, long=True),
)
NEWEST = ("wp-boot-enforce", "wp-kunit", "wp-stress-enforce")
NEWEST_LANES = ("wp-debug-xen-check", "wp-debug-xen-stress", "wp-kasan-check")


@cases(*also_newest(WP, *NEWEST), *also_newest(WP_LANES, *NEWEST_LANES))
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)
