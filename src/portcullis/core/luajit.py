# SPDX-License-Identifier: GPL-2.0-only
"""LuaJIT with jitgate: which of Debian's packages has which layout, and how a variant is built."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix

PACKAGE = "luajit"


@dataclass(frozen=True)
class Layout:
    """How LuaJIT's lj_mcode.c looks from `first` on, until `end`: days as YYYYMMDD.

    `suites` are the releases of Debian to look for it, in order.
    """

    name: str
    what: str
    first: str
    end: str
    suites: tuple[str, ...]


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("2022", "as in Debian 12 and 13", "20200101", "20251101", ("bookworm", "trixie", "forky", "sid")),
        Layout("2026", "since November 2025", "20251101", "99999999", ("forky", "sid", "experimental")),
    )
}
DEFAULT_LAYOUT = "2022"
NEW_LAYOUT_HAS = "mcode_setrange"  # in lj_mcode.c

VARIANTS = ("stock", "rwx", "jitgate")
_XCFLAGS = {"stock": (), "rwx": ("-DLUAJIT_SECURITY_MCODE=0",), "jitgate": ("-DLUAJIT_USE_JITGATE",)}

# What keeps code shut in the variants that have no choice, for the tests.
BACKENDS = {"stock": "mprotect", "rwx": "rwx"}


def version_day(version: str) -> str:
    """The day of the snapshot in a package's version, as YYYYMMDD; empty when there is none."""
    found = re.search(r"20\d{6}", version)
    return found[0] if found else ""


def source_versions(records: str) -> tuple[str, ...]:
    """Versions in the output of `apt-cache showsrc`, the newest snapshot first."""
    found = dict.fromkeys(re.findall(r"^Version: (\S+)$", records, re.MULTILINE))
    return tuple(sorted(found, key=version_day, reverse=True))


def fitting(versions: Iterable[str], layout: Layout | None) -> str:
    """The first version that has a layout (any, for None); empty when there is none."""
    for version in versions:
        if layout is None or layout.first <= version_day(version) < layout.end:
            return version
    return ""


def layout_of(mcode: str) -> Layout:
    """The layout of a lj_mcode.c."""
    return LAYOUTS["2026" if NEW_LAYOUT_HAS in mcode else "2022"]


def package_flags(rules: str) -> tuple[str, ...]:
    """What the package's debian/rules adds for the compiler."""
    found = re.findall(r"^DEB_CFLAGS_MAINT_APPEND\s*:?=(.*)$", rules, re.MULTILINE)
    return tuple(word for line in found for word in line.split())


def test_commands(control: str) -> tuple[str, ...]:
    """The commands of a debian/tests/control."""
    return tuple(re.findall(r"^Test-Command: *(.+)$", control, re.MULTILINE))


def make_words(
    variant: str,
    arch: str,
    machine: str,
    flags: Sequence[str] = (),
    include: Path | None = None,
    library: Path | None = None,
) -> list[str]:
    """Arguments of make in LuaJIT's src folder, for a static interpreter; `machine` is this one, from uname."""
    own = [*_XCFLAGS[variant], *flags]
    words = ["amalg", "BUILDMODE=static", "Q=", "E=@:", "TARGET_LDFLAGS=-static"]
    if variant == "jitgate":
        own.append(f"-I{include}")
        words.append(f"TARGET_LIBS={library} -lpthread")
    prefix = cross_prefix(ARCHES[arch], machine)
    if prefix:
        words += [f"CROSS={prefix}", "HOST_CC=gcc", "TARGET_SYS=Linux"]
    return [*words, f"XCFLAGS={' '.join(own)}"]


def test_words(
    variant: str, arch: str, machine: str, headers: Path, include: Path, library: Path | None = None
) -> list[str]:
    """The compiler for a program that has LuaJIT in it, and what follows its sources."""
    words = [f"{cross_prefix(ARCHES[arch], machine)}gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    words += ["-static", f"-I{headers}", f"-I{include}", str(headers / "libluajit.a")]
    words += ["-DLUAJIT_USE_JITGATE", str(library)] if library else [f'-DBACKEND="{BACKENDS[variant]}"']
    return [*words, "-Wl,--wrap=mprotect", "-lm", "-ldl", "-lpthread"]


def this_machine() -> str:
    """What uname calls this machine."""
    return os.uname().machine
