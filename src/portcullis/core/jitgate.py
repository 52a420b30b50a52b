# SPDX-License-Identifier: GPL-2.0-only
"""How the library jitgate is built and tested on this machine, and what its tests must have said in a guest."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.core.ktap import TestResult

NO_KEYS = "no protection keys here"
# What a guest may leave out: its kernel has no seccomp; an outcome that only keys have is not one of mprotect().
SKIPPED_IN_GUEST = ("no seccomp filters here", "no key is asked for", "about two views", "decided otherwise")


@dataclass(frozen=True)
class Variant:
    """A build of the library: `options` are CMake's, `targets` what is built, `tests` is what ctest selects (-R)."""

    options: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    tests: str = ""
    valgrind: bool = False


def _sanitized(what: str) -> Variant:
    return Variant((f"-DJITGATE_SANITIZE={what}", "-DJITGATE_CXX=OFF"))


VARIANTS = {
    "jit-host": Variant(),
    "jit-asan": _sanitized("address,undefined"),
    "jit-tsan": _sanitized("thread"),
    "jit-valgrind": Variant(("-DJITGATE_CXX=OFF",), ("jitgate-tests", "jitgate-calc"), valgrind=True),
    "jit-fuzz": Variant(
        (
            "-DCMAKE_C_COMPILER=clang",
            "-DJITGATE_FUZZ=ON",
            "-DJITGATE_CXX=OFF",
            "-DJITGATE_SANITIZE=fuzzer-no-link,address,undefined",
        ),
        ("fuzz-search", "fuzz-areas", "fuzz-pieces"),
        "^fuzz-",
    ),
}


def guest_options(arch: str, machine: str) -> list[str]:
    """CMake's options for static tests of an architecture, built on `machine` (from uname)."""
    options = ["-DJITGATE_STATIC_TESTS=ON", "-DJITGATE_CXX=OFF"]
    prefix = cross_prefix(ARCHES[arch], machine)
    if prefix:
        processor = ARCHES[arch].machine
        options += [
            "-DCMAKE_SYSTEM_NAME=Linux",
            f"-DCMAKE_SYSTEM_PROCESSOR={processor}",
            f"-DCMAKE_C_COMPILER={prefix}gcc",
        ]
    return options


@dataclass(frozen=True)
class CtestSummary:
    """What ctest said: numbers of tests, and the names of those that failed."""

    passed: int
    skipped: int
    failed: tuple[str, ...]


def read_ctest(text: str) -> CtestSummary:
    """Result lines of ctest: `12/93 Test #12: mprotect-nesting ....   Passed    0.01 sec`."""
    lines = re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*( *Passed|\*\*\*\w[\w ]*?) +[\d.]+ sec", text, re.MULTILINE)
    states = [(name, state.strip(" *")) for name, state in lines]
    return CtestSummary(
        sum(state == "Passed" for _, state in states),
        sum(state == "Skipped" for _, state in states),
        tuple(f"{name}: {state}" for name, state in states if state not in ("Passed", "Skipped")),
    )


@dataclass(frozen=True)
class Opening:
    """What opening an area and closing it takes by one way, in nanoseconds of CPU time."""

    way: str
    median: int
    least: int


OPENING_COLUMNS = ("open, write and close 64 KiB", "median", "least", "against the first")


def read_openings(text: str) -> tuple[Opening, ...]:
    """Lines of jitgate-bench: `plain mprotect(): 2240 ns, 2202 ns`; what the machine has not is left out."""
    lines = re.findall(r"^(.+): (\d+) ns, (\d+) ns$", text, re.MULTILINE)
    return tuple(Opening(way, int(median), int(least)) for way, median, least in lines)


def opening_rows(openings: Sequence[Opening]) -> tuple[tuple[str, ...], ...]:
    """One row for each way, as OPENING_COLUMNS says; the first one is plain mprotect()."""
    return tuple(
        (each.way, f"{each.median} ns", f"{each.least} ns", f"{100 * (each.median / openings[0].median - 1):+.0f}%")
        for each in openings
    )


def problems_of_guest(tests: Iterable[TestResult], keys: bool) -> list[str]:
    """Tests of a guest that were skipped and should not have been; without keys all of those that need one are."""
    found = []
    for test in tests:
        without_key = test.name.endswith("-pkey") and not keys
        if without_key and not (test.skipped and NO_KEYS in test.reason):
            found.append(f"ran without keys: {test.name}")
        elif not without_key and test.skipped and not any(reason in test.reason for reason in SKIPPED_IN_GUEST):
            found.append(f"skipped: {test.name} ({test.reason})")
    return found
