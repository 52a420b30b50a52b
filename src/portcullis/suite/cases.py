# SPDX-License-Identifier: GPL-2.0-only
"""The test cases, as data. The engine (engine.py) knows how to run each kind, case.py how to write them."""

from dataclasses import replace

from portcullis.core.emulator import PAC_SEEN, TEST_PREFIX, TESTS
from portcullis.core.machine import KERNEL_PROBES, Machine
from portcullis.core.needs import LOW_TEXT_MIB
from portcullis.host.newer import KERNELS
from portcullis.suite.arm64_blocks import ARM64_BLOCKS, ARM64_BLOCKS_LONG
from portcullis.suite.arm64_kernels import ARM64_KERNELS
from portcullis.suite.case import (
    CREDS_TESTED,
    DEBUGGED,
    GUARDED_TESTED,
    KERNEL_BREAKPOINTS,
    NMI_TESTED,
    NO_WX,
    STRESS_TIME,
    Case,
    attacks,
    bench,
    boot,
    hardened,
    kunit,
)
from portcullis.suite.jitgate import JITGATE
from portcullis.suite.lab import LAB
from portcullis.suite.luajit_counts import LUAJIT_COUNTS
from portcullis.suite.matrix import arm64_matrix, wp_matrix, x86_matrix
from portcullis.suite.studies import STUDIES
from portcullis.suite.treeaudit import TREE_AUDIT
from portcullis.suite.watch import WATCH
from portcullis.suite.write_protect import BOCHS, WP, WP_LANES

TRACED = {"timeout": STRESS_TIME, "append": KERNEL_PROBES}  # stress that has text patched as well

CHECKS = (
    Case("style-python", "style-python", "ruff on the tool and its tests"),
    Case("style-kernel", "style-kernel", "checkpatch.pl on the exported patches"),
    Case("unit", "unit", "unit tests of the tool"),
    Case("lab-dask", "cluster", "jobs of the lab on a local Dask cluster of two workers"),
    Case("report-browser", "browser", "the report in headless Chromium, at two widths", long=True),
    Case("hooks", "hooks", "every hook applies to the fetched source without fuzz"),
    Case("product", "product", "tests, attacks and the lab are not in the product, by name or symbol"),
    Case("export", "export", "git am takes the exported series"),
    Case("export-sample", "export-builds", "the exported series compiles at the end of a topic, both architectures"),
    Case("export-builds", "export-builds", "each commit of the exported series compiles", long=True),
)
# Each topic that the product works without, and what needs it; the architecture.
LEFT_OUT = (
    ("x86-wp", (), "x86"),
    ("secrets", ("random", "pointer-auth", "guarded", "creds"), "x86"),
    ("secrets", ("random", "pointer-auth", "guarded", "creds"), "arm64"),
    ("random", (), "x86"),
    ("arm64-live-split", (), "arm64"),
    ("pointer-auth", (), "arm64"),
    ("guarded", ("creds",), "x86"),
    ("creds", (), "x86"),
)


def _left_out(topic: str, needers: tuple[str, ...], arch: str) -> Case:
    name = f"build-{'arm64-' if arch == 'arm64' else ''}without-{topic.removeprefix('arm64-')}"
    what = f"without {', '.join((topic, *needers))}"
    return Case(name, "build", what, machine=Machine(arch=arch), left_out=(topic, *needers), long=True)


BUILDS = (
    Case("build-default", "build", "the small guest kernel"),
    Case("build-debug-xen", "build", "lockdep, DEBUG_VM_PGTABLE, DEBUG_WX, PARAVIRT_XXL", lane="debug-xen", long=True),
    Case("build-xen", "build", "PARAVIRT_XXL", lane="xen"),
    Case("build-stock", "build", "without Portcullis", lane="stock", long=True),
    Case("build-kasan", "build", "KASAN", lane="kasan", long=True),
    Case("build-least", "build", "the product without its optional topics", lane="least"),
    Case("build-arm64-least", "build", "the same", lane="least", machine=Machine(arch="arm64"), long=True),
    Case("build-nokeys", "build", "with the hooks, and CONFIG_KPKEYS off", lane="nokeys"),
    Case("build-arm64-nokeys", "build", "the same", lane="nokeys", machine=Machine(arch="arm64"), long=True),
    *(_left_out(*row) for row in LEFT_OUT),
)
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
LEAST = (
    boot("least-check", "the product without its optional topics boots hardened", "check", lane="least"),
    boot("arm64-least-check", "the same", "check", lane="least", arch="arm64", long=True),
)
LANES = (
    bench("xen-bench", lane="xen", long=True),
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
ATTACKS = attacks("")
SECTIONS = "what can run while the gate is open is on the list (disassembly)"
NOPS = (
    Case("off-is-nop", "nops", "switched off, every guard is a NOP (disassembly)"),
    Case("sections", "sections", SECTIONS),
    Case("least-sections", "sections", SECTIONS, lane="least"),
    Case("xen-sections", "sections", SECTIONS, lane="xen"),
    Case("espfix", "symbols", "espfix takes its tables from the pool (symbols: a boot takes over 1024 CPUs)"),
)

BENCH = (bench("bench"),)
COUNTS = (
    Case("counts-decode", "counts-part", "what each instruction counts as"),
    Case("counts-tlb", "counts-part", "the model of a TLB"),
    Case("counts-x86", "counts", "the plugin counts what a known program executes, x86-64"),
    Case(
        "counts-arm64",
        "counts",
        "the plugin counts what a known program executes, arm64",
        machine=Machine(arch="arm64"),
    ),
    *(
        Case(
            f"{prefix}counts-repeatable",
            "repeatable",
            "two boots of the benchmark on one CPU count the same",
            machine=Machine(job="bench", cpus=1, icount=0, arch=arch, timeout=300.0),
            long=arch == "x86",
        )
        for prefix, arch in (("", "x86"), ("arm64-", "arm64"))
    ),
)
EMULATOR = tuple(
    Case(TEST_PREFIX + test.name, "emulator", f"emulated POE: {test.what}", long=test.linux) for test in TESTS
)


PAUTH_JOBS = "pauth-masks,pauth-reset,pauth-inherit,pauth-disabled,pauth-switching,pauth-traced-keys,pauth-core"


def _arm64(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    return boot(f"arm64-{name}", what, job, mode, arch="arm64", **rest)


def _kselftest(mode: str) -> Case:
    machine = Machine(job="run,pac", mode=mode, arch="arm64")
    return Case(
        f"arm64-kselftest-{mode}",
        "kselftest",
        f"Linux' own tests of pointer authentication on the hardened kernel, kpkeys={mode}",
        machine=machine,
        console=hardened(machine),
        results=(PAC_SEEN,),
    )


LATE_LOWER = "kpkeys=late-lower"
LATE = "kpkeys=late-lower kpkeys_late_raise=on"
IN_TIME = r"kpkeys: \d of 1000 raises of the gate come late: sections begin without a barrier"
TOO_LATE = r"kpkeys: \d{3,4} of 1000 raises of the gate come late: sections wait for theirs"
LAZY_CPU = "max,x-poe-lazy-write=on"  # puts writes of POR_EL1 off as long as it may
PIE_SEEN = r"CPU features: detected: Stage-1 Permission Indirection Extension"
NO_PIE = r"(?s)\A(?!.*Permission Indirection Extension)"


ARM64 = (
    Case("build-arm64", "build", "the small arm64 guest kernel", machine=Machine(arch="arm64")),
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
    *(_kselftest(mode) for mode in ("enforce", "off")),
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
    *attacks("arm64-", arch="arm64"),
    *attacks("arm64-pauth-all-", arch="arm64", append="kpkeys_pauth=all", only="pauth-all"),
    bench("arm64-bench", arch="arm64"),
)

ARM64_NOPS = (
    Case("arm64-off-is-nop", "nops", "switched off, every guard is a NOP (disassembly)", machine=Machine(arch="arm64")),
    Case("arm64-sections", "sections", SECTIONS, machine=Machine(arch="arm64")),
    Case("arm64-least-sections", "sections", SECTIONS, lane="least", machine=Machine(arch="arm64"), long=True),
    Case("arm64-no-calls", "symbols", "a guard finds its CPU's data without a call", machine=Machine(arch="arm64")),
)
PSEUDO_NMI = "irqchip.gicv3_pseudo_nmi=1"
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

NEWEST_KERNEL = KERNELS[-1]
ALSO_NEWEST = (
    "boot-enforce",
    "kunit",
    "stress-enforce",
    "stress-audit",
    "boot-pti",
    "boot-efi",
    "off-kunit",
    "wp-boot-enforce",
    "wp-kunit",
    "wp-stress-enforce",
    "arm64-boot-enforce",
    "arm64-stress-enforce",
    "arm64-stress-audit",
    "arm64-stress-4cpu",
    "arm64-boot-off",
    "arm64-boot-nopoe",
    "arm64-boot-efi",
)
# Pointer authentication is not for the newest kernel yet.
ARM64_KUNIT = kunit("arm64-kunit", arch="arm64", append=DEBUGGED)
NEWEST = (
    Case("newest-hooks", "newest-hooks", "every hook applies to the newest kernel's source without fuzz"),
    *(
        replace(case, name=f"newest-{case.name}", what=f"{NEWEST_KERNEL}: {case.what}", kernel=NEWEST_KERNEL, long=True)
        for case in (*(case for case in (*BOOTS, *OFF, *WP, *ARM64) if case.name in ALSO_NEWEST), ARM64_KUNIT)
    ),
)

CASES = (
    *CHECKS,
    *NEWEST,
    *TREE_AUDIT,
    *BUILDS,
    *BOOTS,
    *OFF,
    *WATCH,
    *LEAST,
    *ATTACKS,
    *attacks("breakpoints-", ("enforce",), append=KERNEL_BREAKPOINTS, only="CONFIG_HAVE_HW_BREAKPOINT"),
    *attacks("cpus-", ("enforce",), cpus=4, only="four-cpus"),
    *attacks("efi-", ("off", "enforce"), efi=True, only="efi", timeout=240.0),
    *attacks("low-", ("off", "enforce"), memory=LOW_TEXT_MIB, append="nokaslr", only="low-text"),
    *attacks("nopti-", ("off",), only="nopti", pti=False, la57=False),
    *attacks("nopti-", ("enforce",), pti=False, la57=False),
    *attacks("nopti-all-", ("off",), pti=False, la57=False, long=True),
    *NOPS,
    *BENCH,
    *x86_matrix(),
    *LANES,
    *WP,
    *wp_matrix(),
    *WP_LANES,
    *BOCHS,
    *ARM64,
    *ARM64_NOPS,
    *ARM64_NMIS,
    *ARM64_BLOCKS,
    *LAB,
    *ARM64_KERNELS,
    *ARM64_BLOCKS_LONG,
    *arm64_matrix(),
    *EMULATOR,
    *COUNTS,
    Case(
        "arm64-counts-expected",
        "expected",
        "benchmarks of the lab count exactly what is committed",
        machine=Machine(arch="arm64"),
        long=True,
    ),
    Case("counts-expected", "expected", "the same on x86-64", long=True),
    *JITGATE,
    *LUAJIT_COUNTS,
    *STUDIES,
)


def choose_cases(expression: str = "", full: bool = False) -> tuple[Case, ...]:
    """Cases to run, in order.

    `expression` is words joined by `or`, each a name or a part of names, `not WORD` excluding. A case that is named
    exactly runs even when it is long. Raises ValueError when nothing matches, or a word could be part of no name.
    """
    words = [word.strip() for word in expression.split(" or ") if word.strip()]
    wanted = [word for word in words if not word.startswith("not ")]
    unwanted = [word.removeprefix("not ").strip() for word in words if word.startswith("not ")]
    for word in (*wanted, *unwanted):
        if set(word) & set(" ()"):
            raise ValueError(f"no name has {word!r} in it: join words by ' or ', and exclude some by ' or not WORD'")
    parts = [word for word in wanted if all(word != case.name for case in CASES)]
    chosen = []
    for case in CASES:
        named = case.name in wanted
        matches = not wanted or named or any(word in case.name for word in parts)
        excluded = any(word in case.name for word in unwanted)
        if (full or named or not case.long) and matches and not excluded:
            chosen.append(case)
    if not chosen:
        raise ValueError(f"no test matches {expression!r}")
    return tuple(chosen)
