# SPDX-License-Identifier: GPL-2.0-only
"""The emulator: what is asked of apt, what its tests are, and what their output means."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.ktap import parse_ktap
from portcullis.core.machine import RESULTS_PORT

PACKAGE = "qemu"
UPSTREAM = "10.0"
# Where Debian has QEMU 10.0: its own release (13), or what is made from that for Debian 12.
SUITES = ("trixie", "bookworm-backports")
MIRROR_FORMAT = "$(ORIGIN)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)"


def debian_suites(targets: str, codename: str) -> tuple[tuple[str, str], ...]:
    """Mirrors and suites of the release this machine runs that apt is configured with, from lines in MIRROR_FORMAT.

    apt leaves the name of the origin as it stands in the format when its lists were never fetched.
    """
    found = []
    for line in targets.splitlines():
        origin, component, release, address = (line.split("|", 3) + [""] * 4)[:4]
        ours = release in (codename, "stable", "oldstable") or release.startswith(f"{codename}-")
        if ours and component == "main" and origin in ("Debian", "$(ORIGIN)") and not address.startswith("cdrom:"):
            found.append((address, release))
    return tuple(dict.fromkeys(found))


def debian_mirrors(targets: str, codename: str) -> tuple[str, ...]:
    """The mirrors among them that serve the release itself."""
    found = debian_suites(targets, codename)
    return tuple(dict.fromkeys(address for address, release in found if not release.startswith(f"{codename}-")))


def source_list(address: str, suite: str, keyring: Path | None, kind: str = "deb-src") -> str:
    """The one line of a private sources.list; `kind` is deb-src or deb."""
    signed = f"[signed-by={keyring}] " if keyring else ""
    return f"{kind} {signed}{address} {suite} main\n"


def source_version(records: str) -> str:
    """The version of QEMU 10.0 in the output of `apt-cache showsrc`, empty when there is none."""
    found = re.search(rf"^Version: ((?:\d+:)?{re.escape(UPSTREAM)}\.\S+)$", records, re.MULTILINE)
    return found[1] if found else ""


def apt_complaint(output: str) -> str:
    """What went wrong, in the words of apt."""
    lines = [line for line in output.splitlines() if line.startswith(("E:", "W:", "Err:"))]
    return lines[0] if lines else (output.strip().splitlines() or ["no output"])[-1]


def series_names(text: str) -> tuple[str, ...]:
    """Names in emulator/series, in order."""
    return tuple(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def ninja_progress(piece: str) -> tuple[int, int]:
    """The last `[done/total]` in a piece of ninja's output, zeros when there is none."""
    found = re.findall(r"^\[(\d+)/(\d+)\]", piece, re.MULTILINE)
    return (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)


@dataclass(frozen=True)
class EmulatorTest:
    """One test: a bare-metal program, or programs of Linux' kselftest.

    `wanted` are patterns that the output must contain (some of the kselftests also pass on a CPU without POE).
    """

    name: str
    what: str
    program: str
    machine: str = "virt"
    cpu: str = "max"
    cpus: int = 1  # of a bare-metal program
    linux: bool = False
    wanted: tuple[str, ...] = ()
    timeout: float = 60.0


_HYP = "virt,virtualization=on"
_KSELFTESTS = "run,protection_keys,hwcap,poe_siginfo,pkey_sighandler_tests,pac"
PAC_SEEN = r"pac: # Totals: pass:7 fail:0 xfail:0 xpass:0 skip:0 error:0"
_SEEN = (
    r"CPU features: detected: Stage-1 Permission Overlay Extension",
    r"protection_keys: done \(all tests OK\)",
    r"hwcap: # POE present",
    r"hwcap: ok \d+ sigill_POE",
    r"poe_siginfo: POR_EL0 sigframe present on system with POE",
    r"pkey_sighandler_tests: # Totals: pass:5 fail:0 xfail:0 xpass:0 skip:0 error:0",
    PAC_SEEN,
)
_PIE_SEEN = r"CPU features: detected: Stage-1 Permission Indirection Extension"
TESTS = (
    EmulatorTest("el1-4k", "EL1, 4K granule", "el1-4k"),
    EmulatorTest("el1-16k", "EL1, 16K granule", "el1-16k"),
    EmulatorTest("el1-64k", "EL1, 64K granule", "el1-64k"),
    EmulatorTest("vhe-4k", "EL2 with VHE, 4K granule", "vhe-4k", _HYP),
    EmulatorTest("vhe-16k", "EL2 with VHE, 16K granule", "vhe-16k", _HYP),
    EmulatorTest("vhe-64k", "EL2 with VHE, 64K granule", "vhe-64k", _HYP),
    EmulatorTest("el2-4k", "EL2 without VHE, and its traps", "el2-4k", _HYP),
    EmulatorTest("el3-4k", "EL3, and its traps", "el3-4k", "virt,secure=on"),
    EmulatorTest("delay", "register writes delayed to the next ISB", "delay", cpu="max,x-poe-lazy-write=on"),
    EmulatorTest("absent", "poe=off", "absent", cpu="max,poe=off"),
    EmulatorTest("direct", "s1pie=off", "direct", cpu="max,s1pie=off"),
    EmulatorTest("psci", "SYSTEM_SUSPEND", "psci", cpus=2),
    EmulatorTest(
        "kselftest",
        "Linux' own tests of POE and pointer authentication",
        _KSELFTESTS,
        linux=True,
        wanted=(*_SEEN, _PIE_SEEN),
        timeout=600.0,
    ),
    EmulatorTest(
        "kselftest-direct",
        "the same without permission indirection",
        _KSELFTESTS,
        cpu="max,s1pie=off",
        linux=True,
        wanted=_SEEN,
        timeout=600.0,
    ),
    EmulatorTest(
        "kselftest-vhe",
        "the same at EL2",
        _KSELFTESTS,
        _HYP,
        linux=True,
        wanted=(*_SEEN, r"CPU: All CPU\(s\) started at EL2"),
        timeout=600.0,
    ),
    EmulatorTest(
        "kselftest-delay",
        "the same with delayed register writes",
        _KSELFTESTS,
        cpu="max,x-poe-lazy-write=on",
        linux=True,
        wanted=_SEEN,
        timeout=600.0,
    ),
)
TEST_PREFIX = "emulator-"


def test_by_case(case: str) -> EmulatorTest:
    """The test that a case of the suite runs."""
    return next(test for test in TESTS if TEST_PREFIX + test.name == case)


def bare_command(binary: Path, test: EmulatorTest, program: Path, output: Path) -> list[str]:
    """Command line for a bare-metal program; the exit status is the program's."""
    return [
        *_common(binary, test, program, output),
        "-smp",
        str(test.cpus),
        "-semihosting-config",
        "enable=on,target=native",
    ]


def linux_command(
    binary: Path, test: EmulatorTest, kernel: Path, initramfs: Path, console: Path, results: Path
) -> list[str]:
    """Command line for Linux with a job of the guest."""
    return [
        *_common(binary, test, kernel, console),
        "-smp",
        "2",
        "-m",
        "1024M",
        "-initrd",
        str(initramfs),
        "-append",
        f"console=ttyAMA0 panic=-1 portcullis.job={test.program}",
        "-device",
        "virtio-serial-pci",
        "-chardev",
        f"file,id=results,path={results}",
        "-device",
        f"virtserialport,chardev=results,name={RESULTS_PORT}",
    ]


def _common(binary: Path, test: EmulatorTest, kernel: Path, serial: Path) -> list[str]:
    return [
        str(binary),
        "-machine",
        test.machine,
        "-cpu",
        test.cpu,
        "-nodefaults",
        "-no-reboot",
        "-display",
        "none",
        "-serial",
        f"file:{serial}",
        "-kernel",
        str(kernel),
    ]


def problems(test: EmulatorTest, status: int, output: str, console: str = "") -> list[str]:
    """Everything that is wrong with a run; a skipped test is one that did not test."""
    results = parse_ktap(output)
    found = [f"not ok: {result.name} ({result.reason})" for result in results if not result.passed]
    found += [f"skipped: {result.name} ({result.reason})" for result in results if result.skipped]
    found += [line for line in output.splitlines() if line.startswith("Bail out!")]
    if not results:
        found.append("it ran no test")
    if status != 0 and not found:
        found.append(f"the emulator ended with status {status}")
    text = output + console
    found += [f"nothing says {pattern!r}" for pattern in test.wanted if not re.search(pattern, text)]
    return found


def first_lines(problem_list: Iterable[str], most: int = 8) -> str:
    """The first problems, one a line."""
    return "\n".join(list(problem_list)[:most])
