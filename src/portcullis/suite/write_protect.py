# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of the backend that needs no keys: page tables mapped read-only, CR0.WP cleared by the guards."""

from portcullis.core.machine import KERNEL_PROBES, Machine
from portcullis.suite.case import (
    AMD_MACHINE,
    DEBUGGED,
    NMI_TESTED,
    NO_WX,
    STRESS_TIME,
    Case,
    attacks,
    bench,
    boot,
    kunit,
)


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
    kunit("wp-nopks-kunit", pks=False, pti=False),
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
    *attacks("wp-", ("audit", "enforce"), backend="wp"),
    *attacks("wp-amd-", ("enforce",), long=True, **AMD_MACHINE),
    *attacks("wp-nopks-", ("audit", "enforce"), pks=False, long=True),
    *attacks("wp-nopti-", ("enforce",), only="nopti", backend="wp", pti=False),
    *attacks("wp-nopti-all-", ("enforce",), backend="wp", pti=False, long=True),
    bench("wp-bench", backend="wp"),
    bench("wp-amd-bench", **AMD_MACHINE, long=True),
)
WP_LANES = (
    bench("wp-xen-bench", lane="xen", backend="wp", long=True),
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
        "bochs",
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
