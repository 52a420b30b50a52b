# SPDX-License-Identifier: GPL-2.0-only
"""PCRE2 with jitgate: where its sources have sljit, and how a variant and the tests of it are built."""

import re
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix

PACKAGE = "pcre2"
DEFAULT_RELEASE = "bookworm"


@dataclass(frozen=True)
class Layout:
    """Where a range of versions has sljit; named after the first version that was looked at."""

    name: str
    sljit: str  # folder of sljitLir.c
    allocators: str  # and of its allocators
    defines: tuple[str, ...] = ()  # for tests that call sljit


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("10.42", "src/sljit", "src/sljit"),
        Layout(
            "10.46",
            "deps/sljit/sljit_src",
            "deps/sljit/sljit_src/allocator_src",
            ("-DSLJIT_NEW_CALLS",),
        ),
    )
}


@dataclass(frozen=True)
class Variant:
    """An allocator of sljit: options for CMake, and the macro that chooses it."""

    what: str
    options: tuple[str, ...] = ()
    macro: str = ""
    on_jitgate: bool = False


_JITGATE, _GATE = "-DPCRE2_SUPPORT_JIT_JITGATE=ON", "SLJIT_GATE_EXECUTABLE_ALLOCATOR"
VARIANTS = {
    "stock": Variant("as Debian has it: memory that is always writable and executable"),
    "sealloc": Variant(
        "its allocator for SELinux: shared memory, mapped twice",
        ("-DPCRE2_SUPPORT_JIT_SEALLOC=ON",),
        "SLJIT_PROT_EXECUTABLE_ALLOCATOR",
    ),
    "wx": Variant(
        "sljit's allocator with mprotect()",
        ("-DCMAKE_C_FLAGS=-DSLJIT_WX_EXECUTABLE_ALLOCATOR=1",),
        "SLJIT_WX_EXECUTABLE_ALLOCATOR",
    ),
    "jitgate": Variant("on jitgate", (_JITGATE,), _GATE, on_jitgate=True),
    "views": Variant(
        "on jitgate, with two views of each area",
        (_JITGATE, "-DCMAKE_C_FLAGS=-DSLJIT_GATE_USE=JITGATE_TWICE"),
        _GATE,
        on_jitgate=True,
    ),
}
# What of testdata is compared in guests: RunTest runs these with JIT and 8 bits, without more options.
GUEST_INPUTS = (1, 4, 5, 9, 10, 20, 21)
# PCRE2's issue 162: what one process frees or makes is the other's as well, in memory that they share.
BROKEN_BY_SHARED_MEMORY = ("freed_by_both", "child_compiles_another")


def layout_of(tree: Path) -> Layout | None:
    """The layout of an unpacked source, None when it is none that is known."""
    for layout in LAYOUTS.values():
        if (tree / layout.allocators / "sljitExecAllocator.c").is_file():
            return layout
        if (tree / layout.allocators / "sljitExecAllocatorCore.c").is_file():
            return layout
    return None


def cmake_words(
    variant: str,
    arch: str,
    machine: str,
    include: Path | None = None,
    library: Path | None = None,
    shared: bool = False,
) -> list[str]:
    """Options of CMake: as Debian configures it, without libraries that only its programs use.

    Programs are static. Characters of 16 and 32 bits are for PCRE2's own tests, so they are only built where those
    run: on jitgate, on `machine`, which is this one, from uname.
    """
    prefix = cross_prefix(ARCHES[arch], machine)
    wide = variant == "jitgate" and not shared and not prefix
    words = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DPCRE2_SUPPORT_JIT=ON"]
    words += [f"-DPCRE2_BUILD_PCRE2_{width}={_switch(wide)}" for width in ("16", "32")]
    words += [f"-DPCRE2_SUPPORT_{name}=OFF" for name in ("LIBREADLINE", "LIBEDIT", "LIBZ", "LIBBZ2")]
    words.append("-DPCRE2GREP_SUPPORT_CALLOUT=OFF")
    words += [f"-DBUILD_SHARED_LIBS={_switch(shared)}", f"-DBUILD_STATIC_LIBS={_switch(not shared)}"]
    words += [] if shared else ["-DCMAKE_EXE_LINKER_FLAGS=-static"]
    words += VARIANTS[variant].options
    if VARIANTS[variant].on_jitgate:
        words += [f"-DJITGATE_INCLUDE_DIR={include}", f"-DJITGATE_LIBRARY={library}"]
    if prefix:
        words += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={ARCHES[arch].machine}"]
        words.append(f"-DCMAKE_C_COMPILER={prefix}gcc")
    return words


def _switch(on: bool) -> str:
    return "ON" if on else "OFF"


def test_words(variant: str, arch: str, machine: str, layout: Layout, build: Path, tree: Path) -> list[str]:
    """The compiler for our tests of a static library, up to their sources."""
    words = [f"{cross_prefix(ARCHES[arch], machine)}gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    words += ["-static", f"-I{build}", f"-I{tree / layout.sljit}", *layout.defines]
    macro = VARIANTS[variant].macro
    words += [f"-D{macro}=1"] if macro else []
    words += ["-DUSE_JITGATE"] if VARIANTS[variant].on_jitgate else []
    words += [] if variant == "jitgate" else [f'-DBACKEND="{variant}"']
    words += ["-DSLJIT_GATE_USE=JITGATE_TWICE"] if variant == "views" else []
    return words


def link_words(variant: str, build: Path, library: Path | None) -> list[str | Path]:
    """What follows the sources of our tests."""
    words: list[str | Path] = [build / "libpcre2-8.a"]
    if VARIANTS[variant].on_jitgate and library:
        words += [library, "-Wl,--wrap=jitgate_area_new"]
    return [*words, "-lpthread"]


def loaded_library(text: str, name: str) -> str:
    """Where the dynamic loader found a library, in what LD_DEBUG=libs printed; empty when it did not load it."""
    found = re.findall(r"calling init: (\S+)", text)
    return next((path for path in found if Path(path).name.startswith(name)), "")


def writable_and_executable(maps: str) -> list[str]:
    """Lines of a /proc/PID/maps that are both."""
    return [line for line in maps.splitlines() if re.match(r"\S+ rwx", line)]
