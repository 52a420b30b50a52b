# SPDX-License-Identifier: GPL-2.0-only
"""Functions of a linked kernel, and its tables that change the code or lead out of it.

All addresses are those of the linked image.
"""

import re
import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from elftools.elf.constants import SH_FLAGS

from portcullis.core.elf import EM_AARCH64, EM_X86_64, Image, Symbol

_CODE = SH_FLAGS.SHF_EXECINSTR
_CODE_KINDS = ("STT_FUNC", "STT_NOTYPE")
_SUFFIX = re.compile(r"(\.(isra|constprop|part|cold|lto_priv|llvm))(\.\d+)*$")
_WARNING = 1  # BUGFLAG_WARNING: the trap comes back
_BRANCH = 1  # of a jump entry: it is a jump while its key is disabled
_KEY_FLAGS = 3


def source_name(name: str) -> str:
    """A function's name as its source has it, without what the compiler adds to its copies and parts."""
    while True:
        shorter = _SUFFIX.sub("", name)
        if shorter == name:
            return name
        name = shorter


@dataclass(frozen=True, slots=True)
class Function:
    """Code from `start` to before `end`; `file` is the source's base name, empty for global functions.

    `is_sized` if the file says where it ends; else it goes on up to what begins next.
    """

    name: str
    start: int
    end: int
    file: str = ""
    is_sized: bool = True

    @property
    def source(self) -> str:
        """The name in the source."""
        return source_name(self.name)

    @property
    def is_cold(self) -> bool:
        """Whether it is a part of another function that the compiler put elsewhere."""
        return ".cold" in self.name


@dataclass(frozen=True, slots=True)
class Jump:
    """A place that a static key switches: to fall through or to go to `target`."""

    target: int
    key: int
    when_enabled: bool  # it jumps when the key is enabled


@dataclass(frozen=True, slots=True)
class Alternative:
    """Code that may be written over `site` (`length` bytes): `size` bytes at `start`, or what `callback` decides."""

    site: int
    length: int
    start: int
    size: int
    callback: str = ""  # the name of a function
    always: bool = False  # it is what stands there wherever there is a gate


@dataclass
class _Tables:
    jumps: dict[int, Jump] = field(default_factory=dict)
    alternatives: dict[int, list[Alternative]] = field(default_factory=lambda: defaultdict(list))
    fixups: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    warnings: set[int] = field(default_factory=set)


class Kernel:
    """The code of a vmlinux; raises ValueError when it has no symbols or a table that is not understood."""

    def __init__(self, image: Image) -> None:
        if image.machine not in _TABLE_LAYOUTS:
            raise ValueError(f"the code of ELF machine {image.machine} is not understood")
        self.image = image
        self.machine = image.machine
        self._segments = sorted(
            (each["sh_addr"], each["sh_addr"] + each["sh_size"], each["sh_offset"], bool(each["sh_flags"] & _CODE))
            for each in image.sections
            if each["sh_flags"] & SH_FLAGS.SHF_ALLOC and each["sh_type"] != "SHT_NOBITS" and each["sh_size"]
        )
        self._segment_starts = [segment[0] for segment in self._segments]
        self.addresses: dict[str, int] = {}
        self._functions, objects = self._read_symbols()
        if not self._functions:
            raise ValueError("there are no symbols of functions")
        self._starts = sorted(self._functions)
        self._objects = sorted(objects)
        tables = self._read_tables()
        self.jumps, self.alternatives = tables.jumps, tables.alternatives
        self.fixups, self.warnings = tables.fixups, tables.warnings

    def functions(self) -> Iterator[Function]:
        """Every function, by address."""
        return (self._functions[start] for start in self._starts)

    def function_at(self, address: int) -> Function | None:
        """The function whose code holds an address."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        function = self._functions[self._starts[index]]
        return function if address < function.end else None

    def is_loose(self, address: int) -> bool:
        """Whether it belongs to no function by itself: assembly puts code out of line behind others."""
        function = self.function_at(address)
        return function is None or not function.is_sized and address != function.start

    def place(self, address: int) -> str:
        """An address as function+offset, in bytes."""
        function = self.function_at(address)
        return f"{function.name}+{address - function.start:#x}" if function else f"{address:#x}"

    def object_at(self, address: int) -> str:
        """The name of the object that an address of data, or an offset of per-CPU data, lies in; empty if none."""
        index = bisect_right(self._objects, (address, 1 << 64, "")) - 1
        while index >= 0 and self._objects[index][0] + 4096 > address:
            start, size, name = self._objects[index]
            if start <= address < start + max(size, 1):
                return name
            index -= 1
        return self._objects[index][2] if index >= 0 and address < sum(self._objects[index][:2]) else ""

    def code(self, address: int, size: int) -> bytes:
        """Bytes at an address, fewer where the section ends, none outside."""
        segment = self._segment(address)
        if segment is None:
            return b""
        start, end, offset, _ = segment
        place = offset + address - start
        return self.image.data[place : place + min(size, end - address)]

    def executable(self) -> Iterator[tuple[int, bytes]]:
        """Address and bytes of each section that holds code."""
        for start, end, offset, is_code in self._segments:
            if is_code:
                yield start, self.image.data[offset : offset + end - start]

    def pointer_at(self, address: int) -> int:
        """The eight-byte number at an address, 0 when the file has none."""
        found = self.code(address, 8)
        return struct.unpack("<Q", found)[0] if len(found) == 8 else 0

    def is_boot(self, address: int) -> bool:
        """Whether it is in code that boot frees."""
        start, end = (self.addresses.get(name, 0) for name in ("_sinittext", "_einittext"))
        return start <= address < end

    def _segment(self, address: int) -> tuple[int, int, int, bool] | None:
        index = bisect_right(self._segment_starts, address) - 1
        if index < 0 or address >= self._segments[index][1]:
            return None
        return self._segments[index]

    def _read_symbols(self) -> tuple[dict[int, Function], list[tuple[int, int, str]]]:
        functions: dict[int, tuple[Symbol, str]] = {}
        labels, objects, file = [], [], ""
        for symbol in self.image.symbol_table():
            if symbol.kind == "STT_FILE":
                file = symbol.name
                continue
            self.addresses.setdefault(symbol.name, symbol.address)
            if not isinstance(symbol.section, int) or symbol.section >= len(self.image.sections):
                continue
            is_code = self.image.sections[symbol.section]["sh_flags"] & _CODE
            if is_code and symbol.kind in _CODE_KINDS and not symbol.name.startswith(("__pfx_", ".L", "$")):
                if symbol.size and symbol.kind == "STT_FUNC":
                    if symbol.address not in functions or symbol.binding == "STB_GLOBAL":
                        functions[symbol.address] = (symbol, "" if symbol.binding == "STB_GLOBAL" else file)
                elif self._end_of(symbol) > symbol.address:
                    labels.append(symbol)
            elif not is_code and symbol.kind in ("STT_OBJECT", "STT_NOTYPE"):
                objects.append((symbol.address, symbol.size, symbol.name))
        found = {
            start: Function(symbol.name, start, start + symbol.size, file)
            for start, (symbol, file) in functions.items()
        }
        return found | self._labels_as_functions(labels, found), objects

    def _end_of(self, symbol: Symbol) -> int:
        """The end of the section that a symbol is in; for a mark behind a section that is no later address."""
        section = self.image.sections[symbol.section]
        return section["sh_addr"] + section["sh_size"]

    def _labels_as_functions(self, labels: list[Symbol], functions: dict[int, Function]) -> dict[int, Function]:
        """Code of assembly that has no size: from its label to the next one."""
        starts = sorted({*functions, *(label.address for label in labels)})
        spans = sorted((function.start, function.end) for function in functions.values())
        found: dict[int, Function] = {}
        for label in labels:
            before = bisect_right(spans, (label.address, 1 << 64)) - 1
            if label.address in functions or (before >= 0 and label.address < spans[before][1]):
                continue
            after = bisect_right(starts, label.address)
            end = min(starts[after] if after < len(starts) else self._end_of(label), self._end_of(label))
            end = min(end, label.address + label.size) if label.size else end
            if label.address not in found or label.binding == "STB_GLOBAL":
                found[label.address] = Function(label.name, label.address, end, is_sized=bool(label.size))
        return found

    def _read_tables(self) -> _Tables:
        layout = _TABLE_LAYOUTS[self.machine]
        tables = _Tables()
        for place, (code, target, key) in self._entries("__start___jump_table", "__stop___jump_table", "<iiq"):
            switched = place + 8 + (key & ~_KEY_FLAGS)
            tables.jumps[place + code] = Jump(place + 4 + target, switched, not key & _BRANCH)
        for place, found in self._entries("__alt_instructions", "__alt_instructions_end", layout.alternative):
            site, start, feature, length, size = found
            if feature & layout.calls_pointed or feature == layout.never:
                continue
            callback = self._callback(place + 4 + start) if feature & layout.calls_back else ""
            tables.alternatives[place + site].append(
                Alternative(
                    place + site,
                    length,
                    place + 4 + start,
                    0 if callback else size,
                    callback,
                    always=bool(layout.never) and feature == layout.never | layout.negated,
                )
            )
        for place, found in self._entries("__start___ex_table", "__stop___ex_table", layout.fixup):
            tables.fixups[place + found[0]].add(place + 4 + found[1])
        for place, found in self._entries("__start___bug_table", "__stop___bug_table", "<iiHH"):
            if found[3] & _WARNING:
                tables.warnings.add(place + found[0])
        return tables

    def _callback(self, address: int) -> str:
        function = self.function_at(address)
        return function.name if function else f"{address:#x}"

    def _entries(self, start: str, stop: str, layout: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Place and fields of each entry of a table; a kernel without the table has no entries."""
        if start not in self.addresses or stop not in self.addresses:
            return
        form = struct.Struct(layout)
        first, end = self.addresses[start], self.addresses[stop]
        if (end - first) % form.size:
            raise ValueError(f"the table at {start} has no entries of {form.size} bytes")
        data = self.code(first, end - first)
        for index, entry in enumerate(form.iter_unpack(data)):
            yield first + index * form.size, entry


@dataclass(frozen=True)
class _Layout:
    alternative: str
    fixup: str
    # Bits of an alternative's feature.
    calls_back: int  # a function decides
    calls_pointed: int  # a call of what the pointer has that the original calls through
    negated: int = 0  # where the CPU has not got it
    never: int = 0  # the feature of kernels that have no gate


_XENPV = 8 * 32 + 16  # X86_FEATURE_XENPV: a Xen PV guest, in which arch_kpkeys_unsupported() leaves all off

_TABLE_LAYOUTS = {
    EM_X86_64: _Layout(
        alternative="<iiIBB", fixup="<iii", calls_back=0, calls_pointed=0x20000, negated=0x10000, never=_XENPV
    ),
    EM_AARCH64: _Layout(alternative="<iiHBB", fixup="<iihh", calls_back=0x8000, calls_pointed=0),
}
