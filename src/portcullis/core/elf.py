# SPDX-License-Identifier: GPL-2.0-only
"""Reads what the tool needs out of an ELF file: bytes at an address, symbols, the size of the code."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

EM_X86_64 = 62
EM_AARCH64 = 183
_SYMTAB = 2
_ALLOC = 2
_EXECUTABLE = 4
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol as the file has it: `kind` and `binding` are STT_* and STB_*, `size` is in bytes, `section` an index."""

    name: str
    kind: int
    binding: int
    section: int
    address: int
    size: int


class Image:
    """A little-endian 64-bit ELF file in memory; raises ValueError when it is none. `machine` is one of EM_*."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        self.machine: int = struct.unpack_from("<H", data, 18)[0]
        offset, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        # name, type, flags, address, offset, size, link
        self.sections = [struct.unpack_from("<IIQQQQI", data, offset + 64 * index) for index in range(count)]

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a virtual address; raises ValueError when the file holds none."""
        for _, kind, flags, start, offset, length, _ in self.sections:
            if flags & 2 and kind == 1 and start <= address and address + size <= start + length:
                place = offset + address - start
                return self.data[place : place + size]
        raise ValueError(f"address {address:#x} is in no section")

    def symbol_table(self) -> Iterator[Symbol]:
        """Every symbol that has a name, in the order of the file: local ones follow the FILE symbol of their source."""
        for _, kind, _, _, offset, size, link in self.sections:
            if kind != _SYMTAB:
                continue
            strings = self.sections[link][4]
            for name, info, _, section, address, length in _SYMBOL.iter_unpack(self.data[offset : offset + size]):
                if name:
                    end = self.data.index(b"\0", strings + name)
                    text = self.data[strings + name : end].decode()
                    yield Symbol(text, info & 15, info >> 4, section, address, length)

    def symbols(self, names: set[str]) -> dict[str, int]:
        """Addresses of symbols by name; unknown ones are absent."""
        return {symbol.name: symbol.address for symbol in self.symbol_table() if symbol.name in names}

    def code_size(self) -> int:
        """Bytes of machine code in the file."""
        both = _ALLOC | _EXECUTABLE
        return sum(size for _, _, flags, _, _, size, _ in self.sections if flags & both == both)
