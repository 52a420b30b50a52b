# SPDX-License-Identifier: GPL-2.0-only
"""The architectures: what each is called where, and what builds it on another machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    """`name` is that of the kernel's folder, `make` that of ARCH=; `cross` is the prefix of Debian's cross compiler."""

    name: str
    make: str
    machine: str  # what uname calls it
    debian: str  # what Debian calls it
    cross: str
    target: str  # of make
    image: str  # below the build folder
    fragment: str  # below kernel/configs


ARCHES = {
    arch.name: arch
    for arch in (
        Arch("x86", "x86_64", "x86_64", "amd64", "x86_64-linux-gnu-", "bzImage", "arch/x86/boot/bzImage", "x86_64"),
        Arch("arm64", "arm64", "aarch64", "arm64", "aarch64-linux-gnu-", "Image", "arch/arm64/boot/Image", "arm64"),
    )
}
_ALIASES = {"x86_64": "x86", "amd64": "x86", "i386": "x86", "aarch64": "arm64"}


def arch_name(word: str) -> str:
    """Kernel name of an architecture: `x86_64` -> `x86`, `aarch64` -> `arm64`; others stay as they are."""
    return _ALIASES.get(word, word)


def cross_prefix(arch: Arch, machine: str) -> str:
    """Prefix of the compiler for `arch` on `machine` (from uname), empty when it is the machine's own."""
    return "" if arch_name(machine) == arch.name else arch.cross
