# SPDX-License-Identifier: GPL-2.0-only
"""Boots of arm64 with POE, and without."""

from kit.case import (
    CREDS_TESTED,
    DEBUGGED,
    GUARDED_TESTED,
    NMI_TESTED,
    PSEUDO_NMI,
    STRESS_TIME,
    TRACED,
    Case,
    also_newest,
    boot,
    cases,
    hardened,
    kunit,
)
from kit.checks import problems_of_kselftest
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.emulator import PAC_SEEN
from portcullis.core.machine import Machine
from portcullis.host.emulator_tests import TestPrograms

PAUTH_JOBS = "pauth-masks,pauth-reset,pauth-inherit,pauth-disabled,pauth-switching,pauth-traced-keys,pauth-core"
LATE_LOWER = "kpkeys=late-lower"
LATE = "kpkeys=late-lower kpkeys_late_raise=on"
IN_TIME = r"kpkeys: \d of 1000 raises of the gate come late: sections begin without a barrier"
TOO_LATE = r"kpkeys: \d{3,4} of 1000 raises of the gate come late: sections wait for theirs"
LAZY_CPU = "max,x-poe-lazy-write=on"  # puts writes of POR_EL1 off as long as it may
PIE_SEEN = r"CPU features: detected: Stage-1 Permission Indirection Extension"
NO_PIE = r"(?s)\A(?!.*Permission Indirection Extension)"


def _arm64(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    return boot(f"arm64-{name}", what, job, mode, arch="arm64", **rest)


ARM64 = (
    _arm64("boot-enforce", "boots hardened, every page table keyed", "check", console=(PIE_SEEN, IN_TIME)),
    kunit(
        "arm64-kunit", arch="arm64", console=(r"\bok \d+ kpkeys-pauth\b", GUARDED_TESTED, CREDS_TESTED), append=DEBUGGED
    ),
    _arm64("stress-enforce", "stress of memory management, enforced", "stress", **TRACED),
    _arm64("stress-audit", "stress finds no writer that was missed", "stress", "audit", **TRACED),
    _arm64("stress-4cpu", "stress on 4 CPUs, isolated page tables", "stress", cpus=4, pti=True, timeout=STRESS_TIME),
    _arm64("boot-off", "kpkeys=off", "check", "off"),
    _arm64("boot-1cpu-audit", "one CPU, audit", "check", "audit", cpus=1),
    _arm64("boot-nopoe", "a CPU without POE", "check", pks=False),
    _arm64("boot-efi", "boots hardened from EFI firmware, with its runtime tables", "check", efi=True, timeout=240.0),
    _arm64(
        "memory-hotplug",
        "memory comes near and far, and goes",
        "stress,memhotplug,memhotplug-far",
        efi=True,
        max_memory=131072,
        append="page_poison=1",
        timeout=300.0,
    ),
    _arm64("boot-nopie", "no permission indirection", "check", cpu="max,s1pie=off", console=(NO_PIE,)),
    _arm64("stress-nopie", "the same under stress", "stress", cpu="max,s1pie=off", timeout=STRESS_TIME),
    _arm64("s3", "suspend to memory and resume", "stress,s3", timeout=240.0),
    _arm64("boot-el2", "a kernel that starts at EL2", "check", board="virtualization=on"),
    _arm64(
        "boot-nvhe",
        "a kernel that starts at EL2 and drops to EL1",
        "check",
        board="virtualization=on",
        append="kvm-arm.mode=nvhe",
    ),
    _arm64(
        "lazy-write",
        "a CPU that is late has its barriers, and a missing one would be seen",
        "stress",
        cpu=LAZY_CPU,
        console=(TOO_LATE,),
        timeout=STRESS_TIME,
    ),
    kunit("arm64-late-lower-kunit", arch="arm64", append=LATE_LOWER),
    kunit("arm64-late-raise-kunit", arch="arm64", append="kpkeys_late_raise=on", cpu=LAZY_CPU),
    _arm64(
        "late-lower",
        "no barrier behind lowering, on a CPU that puts the write off as long as it may",
        "stress",
        cpu=LAZY_CPU,
        append=LATE_LOWER,
        timeout=STRESS_TIME,
    ),
    *(
        _arm64(
            f"late-{mode}",
            "no barriers: on that CPU each section begins with an access that is repeated",
            "stress",
            mode,
            cpu=LAZY_CPU,
            append=LATE,
            timeout=STRESS_TIME,
            long=mode == "audit",
        )
        for mode in ("enforce", "audit")
    ),
    _arm64("fault-injection", "the page allocator fails while tables are made", "stress,faultinject", timeout=240.0),
    _arm64(
        "pauth-in-task",
        "keys of pointer authentication that are no secrets still work",
        f"stress,{PAUTH_JOBS}",
        append="kpkeys_pauth=off",
    ),
    _arm64(
        "pauth-all",
        "keys of pointer authentication that are all secrets work",
        f"stress,{PAUTH_JOBS}",
        append="kpkeys_pauth=all",
    ),
    kunit("arm64-pauth-all-kunit", arch="arm64", append="kpkeys_pauth=all"),
    _arm64("least-check", "the product without its optional topics", "check", lane="least", long=True),
)
HAS_PSEUDO_NMI = "GICv3: Pseudo-NMIs enabled"
ARM64_NMIS = (
    kunit("arm64-pseudo-nmi-kunit", arch="arm64", append=PSEUDO_NMI, console=(HAS_PSEUDO_NMI, NMI_TESTED)),
    _arm64(
        "pseudo-nmi",
        "page tables change under samples and backtraces by NMI",
        "stress,perf,backtraces",
        append=PSEUDO_NMI,
        allowed=("trace",),
        console=(HAS_PSEUDO_NMI, "hw perfevents: .*using NMIs", r"NMI backtrace for cpu \d+\s*\n"),
        timeout=STRESS_TIME,
    ),
)
ALSO_NEWEST = (
    "boot-enforce",
    "kunit",
    "stress-enforce",
    "stress-audit",
    "stress-4cpu",
    "boot-off",
    "boot-nopoe",
    "boot-efi",
    "pauth-in-task",
    "pauth-all",
    "pauth-all-kunit",
)


@cases(*also_newest(ARM64, *(f"arm64-{name}" for name in ALSO_NEWEST)), *ARM64_NMIS)
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)


def _kselftest(mode: str) -> Case:
    machine = Machine(job="run,pac", mode=mode, arch="arm64")
    return Case(
        f"arm64-kselftest-{mode}",
        f"Linux' own tests of pointer authentication on the hardened kernel, kpkeys={mode}",
        machine=machine,
        console=hardened(machine),
        results=(PAC_SEEN,),
    )


@cases(_kselftest("enforce"), _kselftest("off"))
def test_kselftest(case: Case, machinery: Machinery, row: Row) -> None:
    """Linux' own tests, from their own initramfs, on a kernel of ours."""
    programs = TestPrograms(machinery.workspace, machinery.commands, machinery.jobs)
    initramfs = machinery.once.make("guest with Linux' own tests", programs.initramfs)
    machinery.assert_boots(
        case, row, initramfs, lambda boot: problems_of_kselftest(case, boot.results, boot.results_text)
    )
