# SPDX-License-Identifier: GPL-2.0-only
"""Reads what the tool needs out of an ELF file: bytes at an address, symbols, the size of the code."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

EM_X86_64 = "EM_X86_64"
EM_AARCH64 = "EM_AARCH64"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol: `kind` and `binding` are names, STT_* and STB_*; `size` is in bytes, `section` an index or SHN_*."""

    name: str
    kind: str
    binding: str
    section: int | str
    address: int
    size: int


class Image:
    """A little-endian 64-bit ELF file in memory; raises ValueError when it is none. `machine` is a name, EM_*."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            self._file = ELFFile(BytesIO(data))
            self.sections = tuple(self._file.iter_sections())
        except ELFError as error:
            raise ValueError(f"not a 64-bit little-endian ELF file: {error}") from error
        if self._file.elfclass != 64 or not self._file.little_endian:
            raise ValueError("not a 64-bit little-endian ELF file")
        self.machine: str = self._file["e_machine"]

    def offset(self, address: int, size: int = 1) -> int:
        """Where the bytes at a virtual address are in the file; raises ValueError when it holds none."""
        for offset in self._file.address_offsets(address, size):
            return offset
        raise ValueError(f"address {address:#x} is not in the file")

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a virtual address; raises ValueError when the file holds none."""
        start = self.offset(address, size)
        return self.data[start : start + size]

    def symbol_table(self) -> Iterator[Symbol]:
        """Every symbol that has a name, in the order of the file: local ones follow the FILE symbol of their source."""
        for table in self.sections:
            if isinstance(table, SymbolTableSection) and table["sh_type"] == "SHT_SYMTAB":
                for symbol in table.iter_symbols():
                    if symbol.name:
                        entry = symbol.entry
                        kind, binding = entry["st_info"]["type"], entry["st_info"]["bind"]
                        section, address, size = entry["st_shndx"], entry["st_value"], entry["st_size"]
                        yield Symbol(symbol.name, kind, binding, section, address, size)

    def symbols(self, names: set[str]) -> dict[str, int]:
        """Addresses of symbols by name; unknown ones are absent."""
        return {symbol.name: symbol.address for symbol in self.symbol_table() if symbol.name in names}

    def code_size(self) -> int:
        """Bytes of machine code in the file."""
        both = SH_FLAGS.SHF_ALLOC | SH_FLAGS.SHF_EXECINSTR
        return sum(section["sh_size"] for section in self.sections if section["sh_flags"] & both == both)
