# SPDX-License-Identifier: GPL-2.0-only
"""Looks into a vmlinux: what stands at the places that a static key switches?

A key that starts as false costs nothing when every place that tests it is a NOP; the kernel turns them into jumps only
when the key is enabled.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portcullis.core.elf import EM_AARCH64, EM_X86_64, Image

NOPS = {
    EM_X86_64: (b"\x0f\x1f\x44\x00\x00", b"\x66\x90"),  # the five-byte and the two-byte one
    EM_AARCH64: (b"\x1f\x20\x03\xd5",),
}
_ENTRY = struct.Struct("<iiq")  # struct jump_entry: code, target, key, each relative to its own place
_FLAGS = 3  # low bits of the key: branch type and "in init code"


@dataclass(frozen=True)
class Site:
    """One place in the code that tests a key: its address, the bytes there, whether it falls through."""

    address: int
    code: bytes
    is_nop: bool


def sites_of_key(image: Image, key: str) -> tuple[Site, ...]:
    """Every place that tests a static key; raises ValueError without key or table, or when no NOP is known."""
    if image.machine not in NOPS:
        raise ValueError(f"the NOPs of ELF machine {image.machine} are not known")
    nops = NOPS[image.machine]
    ends = ("__start___jump_table", "__stop___jump_table")
    symbols = image.symbols({key, *ends})
    missing = {key, *ends} - set(symbols)
    if missing:
        raise ValueError(f"there is no symbol {sorted(missing)[0]}")
    start, stop = (symbols[name] for name in ends)
    sites = []
    entries = _ENTRY.iter_unpack(image.read(start, stop - start))
    for address, (code, _, relative) in zip(range(start, stop, _ENTRY.size), entries, strict=True):
        if (address + 8 + relative) & ~_FLAGS == symbols[key]:
            found = image.read(address + code, len(nops[0]))
            sites.append(Site(address + code, found, found.startswith(nops)))
    return tuple(sites)


def problems_of_sites(by_key: Mapping[str, Sequence[Site]]) -> list[str]:
    """Places that are no NOP, and keys that nothing tests: then nothing was looked at."""
    problems = [f"no place tests {key}" for key, sites in by_key.items() if not sites]
    for key, sites in by_key.items():
        problems += [f"{key} at {site.address:#x}: {site.code.hex(' ')}" for site in sites if not site.is_nop]
    return problems
