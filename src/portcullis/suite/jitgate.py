# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of the library jitgate: on this machine, and with keys in guests."""

from dataclasses import replace

from portcullis.core.machine import Machine
from portcullis.suite.case import STRESS_TIME, Case, hardened

JOB = "jitgate-tests"
LUAJIT_JOB = "luajit-tests"
PCRE2_JOB = "pcre2-tests"
NO_USER_KEYS = "max,-pku"


def _guest(name: str, what: str, long: bool = False, **machine_fields: object) -> Case:
    machine = Machine(job=JOB, timeout=STRESS_TIME, **machine_fields)  # type: ignore[arg-type]
    console = hardened(machine)
    return Case(f"jit-guest-{name}", "jit-guest", f"jitgate: {what}", machine=machine, console=console, long=long)


def _luajit(name: str, what: str, layout: str = "2022", long: bool = False, **machine_fields: object) -> Case:
    """In a guest; LuaJIT's layout is part of the name."""
    machine = Machine(job=LUAJIT_JOB, timeout=STRESS_TIME, **machine_fields)  # type: ignore[arg-type]
    case = Case(f"jit-luajit-{layout}-{name}", "luajit-guest", f"LuaJIT on jitgate: {what}", machine=machine, long=long)
    return replace(case, console=hardened(machine))


def _pcre2(name: str, what: str, long: bool = False, **machine_fields: object) -> Case:
    machine = Machine(job=PCRE2_JOB, timeout=STRESS_TIME, **machine_fields)  # type: ignore[arg-type]
    case = Case(f"jit-pcre2-{name}", "pcre2-guest", f"PCRE2 on jitgate: {what}", machine=machine, long=long)
    return replace(case, console=hardened(machine))


JITGATE = (
    Case("jit-host", "jit", "jitgate: its tests, examples and documents on this machine"),
    Case("jit-asan", "jit", "jitgate: address and undefined behaviour sanitizers"),
    Case("jit-tsan", "jit", "jitgate: thread sanitizer"),
    Case("jit-valgrind", "jit", "jitgate: memcheck"),
    Case("jit-fuzz", "jit", "jitgate: fuzzed search for addresses, areas, and pieces"),
    Case("jit-debian", "jit-debian", "jitgate: its Debian packages, by lintian and by who builds with them", long=True),
    _guest("x86", "protection keys (PKU)"),
    _guest("x86-nokeys", "a CPU without PKU", long=True, cpu=NO_USER_KEYS),
    _guest("arm64", "protection keys (POE)", arch="arm64"),
    _guest("arm64-lazy", "a missing ISB would be seen", long=True, arch="arm64", cpu="max,x-poe-lazy-write=on"),
    Case("jit-luajit-2022", "luajit", "LuaJIT of Debian 12 on jitgate: ours and its own tests on this machine"),
    _luajit("guest-x86", "protection keys (PKU)"),
    _luajit("guest-arm64", "protection keys (POE)", arch="arm64"),
    _luajit("guest-x86-nokeys", "a CPU without PKU", long=True, cpu=NO_USER_KEYS),
    Case("jit-luajit-2026", "luajit", "the same, with the newest layout of its sources", long=True),
    _luajit("guest-x86", "the newest layout, PKU", layout="2026", long=True),
    _luajit("guest-arm64", "the newest layout, POE", layout="2026", long=True, arch="arm64"),
    Case("jit-pcre2", "pcre2", "PCRE2 of Debian 12 on jitgate: ours, its own tests, grep and git on this machine"),
    _pcre2("guest-x86", "protection keys (PKU)"),
    _pcre2("guest-arm64", "protection keys (POE)", long=True, arch="arm64"),
    _pcre2("guest-x86-nokeys", "a CPU without PKU", long=True, cpu=NO_USER_KEYS),
)


def layout_of_case(name: str) -> str:
    """The layout of LuaJIT's sources that a case is about."""
    return name.removeprefix("jit-luajit-").split("-")[0]


def has_user_keys(machine: Machine) -> bool:
    """Whether programs of this machine can have keys."""
    return machine.cpu != NO_USER_KEYS and (machine.pks or machine.arch == "x86")
