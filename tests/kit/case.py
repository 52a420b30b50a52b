# SPDX-License-Identifier: GPL-2.0-only
"""What a case of a boot is, and how the common kinds of them are made."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from portcullis.core.machine import KERNEL_PROBES, MODES, NO_BACKEND, Machine, backend_of
from portcullis.core.verdicts import ATTACKED_MACHINE
from portcullis.host.newer import KERNELS


@dataclass(frozen=True)
class Case:
    """A kernel, the machine that boots it if one does, and what that must leave.

    `long` cases run with --full only. `allowed` names console complaints that are expected, `warned` is the pattern of
    a WARNING that is (see core/splats.py); `console` and `results` hold patterns that the console and the results port
    must contain; `left_out` names topics that the kernel is built without.
    """

    name: str
    what: str
    lane: str = "default"
    machine: Machine = field(default_factory=Machine)
    nmi_rate: int = 0  # per second
    allowed: tuple[str, ...] = ()
    warned: str = ""
    console: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    kernel: str = ""  # another one than what is asked for
    only: str = ""  # attacks that need this word
    shared: bool = False  # attacks that share a boot with others
    long: bool = False

    @property
    def arch(self) -> str:
        """Architecture of the kernel."""
        return self.machine.arch


NEWEST = KERNELS[-1]


def cases(*chosen: Case) -> pytest.MarkDecorator:
    """Parametrises a test: one for each case, of its name."""
    parameters = [pytest.param(each, id=each.name, marks=[pytest.mark.long] if each.long else []) for each in chosen]
    return pytest.mark.parametrize("case", parameters)


def also_newest(chosen: Iterable[Case], *names: str) -> tuple[Case, ...]:
    """The same cases, and behind them those with one of the names on the newest kernel (long)."""
    chosen = tuple(chosen)
    found = {each.name: each for each in chosen}
    again = [
        replace(found[name], name=f"newest-{name}", what=f"{NEWEST}: {found[name].what}", kernel=NEWEST, long=True)
        for name in names
    ]
    return (*chosen, *again)


# A real processor without keys, less what the emulator does not have of it and would warn about.
AMD = (
    "EPYC-Rome,-rdseed,-sha-ni,-rdpid,-xsavec,-xsaves,-3dnowprefetch,-misalignsse,-osvw,-perfctr-core,-topoext,"
    "-fxsr-opt,-amd-stibp,-clzero,-ibpb,-wbnoinvd,-xsaveerptr,-nrip-save"
)
# The guest kernel is built without that mitigation, and warns on such a CPU.
AMD_MACHINE = {"cpu": AMD, "append": "spec_rstack_overflow=off"}
SWITCHED_OFF = r"kpkeys: off: kpkeys=off"
NO_KEYS_THERE = r"kpkeys: off: .*this CPU has no "  # and what it has none of
# Said by debug kernels: text and constants are as well protected as on a stock kernel.
NO_WX = (r"Checked W\+X mappings: passed, no W\+X pages found", r"rodata_test: all tests were successful")
OPEN_SECRET = r"section left open by kpkeys-secret\[\d+\] at a task switch"
STRESS_TIME = 420.0  # seconds; debug kernels are slow in an emulator
TRACED = {"timeout": STRESS_TIME, "append": KERNEL_PROBES}  # stress that has text patched as well
# Blocks of arm64's linear map: all CPUs split them, or one cannot, as if.
FORCED = "live_split=force"
PSEUDO_NMI = "irqchip.gicv3_pseudo_nmi=1"
REPAINTED = f"{FORCED} live_split_not_on=1"
RAM = "rootfstype=ramfs"  # by default the guest's files are in tmpfs, whose pages no study seals
KERNEL_BREAKPOINTS = "kpkeys_kernel_breakpoints=1"
DEBUGGED = f"{KERNEL_BREAKPOINTS} {KERNEL_PROBES}"  # what others do without
NMI_TESTED = r"ok \d+ test_nmi_runs_shut\s*\n"  # and not skipped
GUARDED_TESTED = r"ok \d+ kpkeys-guarded\s*\n"  # a suite that must be there
CREDS_TESTED = r"ok \d+ kpkeys-creds\s*\n"
PUT_BACK = r"WARNING: .*\bnative_write_cr0\b"  # that the kernel sets CR0.WP again
# A store that audit lets through leaves its report and nothing else; other modes may kill the attacker.
# A CPU of arm64 that is told to run with another task's keys stops, in every mode.
AUDITED = {"x86": ("violation", "open-section", "bad-page"), "arm64": ("violation", "open-section", "panic", "trace")}


def hardened(machine: Machine) -> tuple[str, ...]:
    """What the kernel says about its protection on a machine."""
    backend = backend_of(machine)
    if machine.mode == "off":
        return (SWITCHED_OFF,)
    if backend == NO_BACKEND:
        return (NO_KEYS_THERE,)
    readable = (r"kpkeys: secrets are not hidden: ", r"kpkeys: one section takes \d+ ns") if backend == "wp" else ()
    return rf"kpkeys: page tables hardened: mode {machine.mode}, backend {backend},", *readable


def boot(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    """A boot that runs one job; `rest` has fields of the case or of the machine."""
    machine_fields = {key: rest.pop(key) for key in list(rest) if key in Machine.__dataclass_fields__}
    machine = Machine(job=job, mode=mode, **machine_fields)  # type: ignore[arg-type]
    console = (*hardened(machine), *rest.pop("console", ()))  # type: ignore[misc]
    return Case(name, what, machine=machine, console=console, **rest)  # type: ignore[arg-type]


def kunit(
    name: str, lane: str = "default", long: bool = False, console: tuple[str, ...] = (), **machine_fields: object
) -> Case:
    """A boot that runs the KUnit suites; `console` holds patterns beyond those of every such boot."""
    append = f"init_on_alloc=1 init_on_free=1 {machine_fields.pop('append', '')}".rstrip()
    fields = {"nodes": 2, "timeout": 300.0, **machine_fields}
    machine = Machine(job="kunit", kunit=True, append=append, **fields)  # type: ignore[arg-type]
    return Case(
        name,
        "KUnit suites of the kernel part",
        lane=lane,
        machine=machine,
        allowed=("violation", "trace", "warning", "open-section"),
        console=(
            *hardened(machine),
            r"section left open by kpkeys-test\[\d+\] at a task switch",
            *((OPEN_SECRET,) if backend_of(machine) != "wp" else ()),
            r"section left open by kunit\[\d+\] on return to user space",
            *console,
        ),
        long=long,
    )


def bench(name: str, lane: str = "default", long: bool = False, **machine_fields: object) -> Case:
    """A boot that counts register writes, on one CPU whose time is its instructions: load changes nothing."""
    machine = Machine(job="bench", cpus=1, icount=0, timeout=300.0, **machine_fields)  # type: ignore[arg-type]
    what = f"writes to the {'control' if backend_of(machine) == 'wp' else 'pkey'} register within their bounds"
    return Case(name, what, lane=lane, machine=machine, console=hardened(machine), long=long)


def attacks(prefix: str, modes: tuple[str, ...] = MODES, **rest: object) -> tuple[Case, ...]:
    """The attack corpus, a case for each mode; `rest` has fields of the case or of the machine."""
    machine_fields = {key: rest.pop(key) for key in list(rest) if key in Machine.__dataclass_fields__}
    machines = [replace(ATTACKED_MACHINE, mode=mode, **machine_fields) for mode in modes]  # type: ignore[arg-type]
    return tuple(
        Case(
            f"{prefix}attacks-{machine.mode}",
            f"the attack corpus, kpkeys={machine.mode}",
            machine=machine,
            allowed=AUDITED[machine.arch] if machine.mode == "audit" else ("all",),
            warned=PUT_BACK,
            console=hardened(machine),
            **rest,  # type: ignore[arg-type]
        )
        for machine in machines
    )
