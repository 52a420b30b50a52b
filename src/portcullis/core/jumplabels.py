# SPDX-License-Identifier: GPL-2.0-only
"""Looks into a vmlinux: what stands at the places that a static key switches?

A key that starts as false costs nothing when every place that tests it is a NOP; the kernel turns them into jumps only
when the key is enabled.
"""

import struct
from dataclasses import dataclass

from portcullis.core.elf import Image

NOPS = (b"\x0f\x1f\x44\x00\x00", b"\x66\x90")  # the five-byte and the two-byte one
_ENTRY = struct.Struct("<iiq")  # struct jump_entry: code, target, key, each relative to its own place
_FLAGS = 3  # low bits of the key: branch type and "in init code"


@dataclass(frozen=True)
class Site:
    """One place in the code that tests a key: its address and the bytes there."""

    address: int
    code: bytes

    @property
    def is_nop(self) -> bool:
        """True when the place falls through without a jump."""
        return self.code.startswith(NOPS)


def sites_of_key(image: Image, key: str) -> tuple[Site, ...]:
    """Every place that tests a static key; raises ValueError when the key or the table is missing."""
    table = ("__start___jump_table", "__stop___jump_table")
    symbols = image.symbols({key, *table})
    missing = {key, *table} - set(symbols)
    if missing:
        raise ValueError(f"there is no symbol {sorted(missing)[0]}")
    start, stop = (symbols[name] for name in table)
    sites = []
    for address in range(start, stop, _ENTRY.size):
        code, _, relative = _ENTRY.unpack(image.read(address, _ENTRY.size))
        if (address + 8 + relative) & ~_FLAGS == symbols[key]:
            sites.append(Site(address + code, image.read(address + code, 5)))
    return tuple(sites)
