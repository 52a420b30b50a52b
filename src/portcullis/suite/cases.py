# SPDX-License-Identifier: GPL-2.0-only
"""The test cases, as data. The engine (engine.py) knows how to run each kind."""

from dataclasses import dataclass, field, replace
from itertools import product

from portcullis.core.emulator import TEST_PREFIX, TESTS
from portcullis.core.machine import MODES, Machine
from portcullis.core.verdicts import ATTACKED_MACHINE


@dataclass(frozen=True)
class Case:
    """One row of the test table.

    `kind` selects how it runs. `long` cases run with --full only. `allowed` names console complaints that are
    expected (see core/splats.py); `console` holds patterns that the console must contain.
    """

    name: str
    kind: str
    what: str
    lane: str = "default"
    machine: Machine = field(default_factory=Machine)
    nmi_rate: int = 0  # per second
    allowed: tuple[str, ...] = ()
    console: tuple[str, ...] = ()
    long: bool = False

    @property
    def arch(self) -> str:
        """Architecture of the kernel."""
        return self.machine.arch


HARDENED = {
    "enforce": r"kpkeys: page tables hardened: mode enforce",
    "audit": r"kpkeys: page tables hardened: mode audit",
    "off": r"kpkeys: off",
}
STRESS_TIME = 420.0  # seconds; debug kernels are slow in an emulator
CHECKS = (
    Case("style-python", "style-python", "ruff on the tool and its tests"),
    Case("style-kernel", "style-kernel", "checkpatch.pl on the kernel files and hooks"),
    Case("unit", "unit", "unit tests of the tool"),
    Case("hooks", "hooks", "every hook applies to the fetched source without fuzz"),
    Case("export", "export", "git am takes the exported series"),
)
BUILDS = (
    Case("build-default", "build", "the small guest kernel"),
    Case("build-debug", "build", "lockdep, DEBUG_VM_PGTABLE, DEBUG_WX", lane="debug"),
    Case("build-xen", "build", "PARAVIRT_XXL", lane="xen"),
    Case("build-stock", "build", "without Portcullis", lane="stock", long=True),
    Case("build-kasan", "build", "KASAN", lane="kasan", long=True),
)


def _boot(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    machine_fields = {key: rest.pop(key) for key in list(rest) if key in Machine.__dataclass_fields__}
    machine = Machine(job=job, mode=mode, **machine_fields)  # type: ignore[arg-type]
    expected = HARDENED["off" if not machine.pks else mode]
    return Case(name, "boot", what, machine=machine, console=(expected,), **rest)  # type: ignore[arg-type]


def _kunit(name: str, **machine_fields: object) -> Case:
    fields = {"append": "init_on_alloc=1 init_on_free=1", "nodes": 2, "timeout": 300.0, **machine_fields}
    return Case(
        name,
        "boot",
        "KUnit suites of the kernel part",
        machine=Machine(job="kunit", kunit=True, **fields),  # type: ignore[arg-type]
        allowed=("violation", "trace", "warning", "open-section"),
        console=(
            HARDENED["enforce"],
            r"section left open by kpkeys-test\[\d+\] at a task switch",
            r"section left open by kunit\[\d+\] on return to user space",
        ),
    )


def _bench(name: str, lane: str = "default", arch: str = "x86", long: bool = False) -> Case:
    machine = Machine(job="bench", timeout=300.0, arch=arch)
    what = "writes to the pkey register within their bounds"
    return Case(name, "bench", what, lane=lane, machine=machine, long=long)


BOOTS = (
    _boot("boot-enforce", "boots hardened, every page table keyed", "check"),
    _kunit("kunit"),
    _boot("stress-enforce", "stress of memory management, enforced", "stress", timeout=STRESS_TIME),
    _boot("stress-audit", "stress finds no writer that was missed", "stress", "audit", timeout=STRESS_TIME),
    _boot(
        "stress-4cpu-pti",
        "stress on 4 CPUs, isolated page tables",
        "stress",
        cpus=4,
        pti=True,
        timeout=STRESS_TIME,
    ),
    _boot("boot-pti", "boots hardened with isolated page tables", "check", pti=True),
    _boot("boot-efi", "boots hardened from EFI firmware, with its runtime tables", "check", efi=True, timeout=180.0),
    _boot("numa", "stress on two nodes", "stress", nodes=2, timeout=STRESS_TIME),
    _boot("s3", "suspend to memory and resume", "stress,s3"),
    _boot("nmi-storm", "NMIs on every CPU during stress", "stress", timeout=STRESS_TIME, nmi_rate=200),
    _boot("cpu-hotplug", "CPUs go offline and come back", "stress,cpu-hotplug", cpus=4, timeout=240.0),
    _boot(
        "memory-hotplug",
        "memory comes near and far, and goes",
        "stress,memhotplug,memhotplug-far",
        max_memory=131072,
        append="page_poison=1",  # freeing a keyed page writes to it
        timeout=240.0,
    ),
    _boot("fault-injection", "the page allocator fails while tables are made", "stress,faultinject", timeout=240.0),
)
LANES = (
    _bench("xen-bench", lane="xen"),
    _boot("debug-check", "debug kernel boots clean", "check", lane="debug", timeout=240.0),
    _boot("debug-stress", "stress on the debug kernel", "stress", lane="debug", timeout=2 * STRESS_TIME),
    _boot("xen-check", "PARAVIRT_XXL kernel boots clean", "check", lane="xen"),
    _boot("xen-stress", "stress on the PARAVIRT_XXL kernel", "stress", lane="xen", timeout=STRESS_TIME),
    _boot(
        "kasan-check",
        "KASAN kernel boots clean",
        "check",
        lane="kasan",
        memory=2048,
        timeout=400.0,
        long=True,
    ),
    _boot(
        "kasan-stress",
        "stress on the KASAN kernel",
        "stress",
        lane="kasan",
        memory=2048,
        timeout=1800.0,
        long=True,
    ),
)
# A store that audit lets through leaves its report and nothing else; other modes may kill the attacker.
AUDITED = ("violation", "open-section")


def _attacks(prefix: str, **machine_fields: object) -> tuple[Case, ...]:
    return tuple(
        Case(
            f"{prefix}attacks-{mode}",
            "attacks",
            f"the attack corpus, kpkeys={mode}",
            machine=replace(ATTACKED_MACHINE, mode=mode, **machine_fields),  # type: ignore[arg-type]
            allowed=AUDITED if mode == "audit" else ("all",),
        )
        for mode in MODES
    )


ATTACKS = _attacks("")
NOPS = (
    Case("off-is-nop", "nops", "switched off, every guard is a NOP (disassembly)"),
    Case("espfix", "espfix", "espfix takes its tables from the pool (symbols: a boot takes over 1024 CPUs)"),
)

BENCH = (_bench("bench"),)

PAGING = {
    "5level": {},
    "4level": {"la57": False},
    "1gleaf": {"memory": 3072},
    "nopks": {"pks": False},
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


def _matrix() -> tuple[Case, ...]:
    cases = []
    for mode, paging, pti, cpus in product(MODES, PAGING, (True, False), (1, 2, 4)):
        name = f"matrix-{mode}-{paging}-{'pti' if pti else 'nopti'}-{cpus}cpu"
        long = (mode, paging, pti, cpus) not in SPREAD
        what = f"kpkeys={mode}, {paging}, isolation {'on' if pti else 'off'}, {cpus} CPU(s)"
        case = _boot(name, what, "check", mode, pti=pti, cpus=cpus, long=long, **PAGING[paging])
        cases.append(case)
    return tuple(cases)


EMULATOR = tuple(
    Case(TEST_PREFIX + test.name, "emulator", f"emulated POE: {test.what}", long=test.linux) for test in TESTS
)


def _arm64(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    return _boot(f"arm64-{name}", what, job, mode, arch="arm64", **rest)


ARM64 = (
    Case("build-arm64", "build", "the small arm64 guest kernel", machine=Machine(arch="arm64")),
    _arm64("boot-enforce", "boots hardened, every page table keyed", "check"),
    _kunit("arm64-kunit", arch="arm64"),
    _arm64("stress-enforce", "stress of memory management, enforced", "stress", timeout=STRESS_TIME),
    _arm64("stress-audit", "stress finds no writer that was missed", "stress", "audit", timeout=STRESS_TIME),
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
    _arm64("boot-el2", "a kernel that starts at EL2", "check", board="virtualization=on"),
    _arm64("lazy-write", "a missing ISB would be seen", "stress", cpu="max,x-poe-lazy-write=on", timeout=STRESS_TIME),
    _arm64("fault-injection", "the page allocator fails while tables are made", "stress,faultinject", timeout=240.0),
    *_attacks("arm64-", arch="arm64"),
    _bench("arm64-bench", arch="arm64", long=True),  # mprotect is over its bound: docs/testing.md
)

CASES = (*CHECKS, *BUILDS, *BOOTS, *ATTACKS, *NOPS, *BENCH, *_matrix(), *LANES, *ARM64, *EMULATOR)


def choose_cases(expression: str = "", full: bool = False) -> tuple[Case, ...]:
    """Cases to run, in order.

    `expression` is words joined by `or`, each a name or a part of names, `not WORD` excluding. A case that is named
    exactly runs even when it is long. Raises ValueError when nothing matches.
    """
    words = [word.strip() for word in expression.split(" or ") if word.strip()]
    wanted = [word for word in words if not word.startswith("not ")]
    unwanted = [word.removeprefix("not ").strip() for word in words if word.startswith("not ")]
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
