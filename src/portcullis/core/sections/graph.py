# SPDX-License-Identifier: GPL-2.0-only
"""Which functions the code of others may lead to, by direct calls and jumps, whatever the gate."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from capstone import CS_ARCH_ARM64, CS_ARCH_X86, CS_MODE_64, CS_MODE_LITTLE_ENDIAN, Cs

from portcullis.core.elf import EM_AARCH64, EM_X86_64
from portcullis.core.sections.kernel import Function, Kernel
from portcullis.core.sections.walk import IGNORED

_MODES = {EM_X86_64: (CS_ARCH_X86, CS_MODE_64), EM_AARCH64: (CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN)}
_MOST_LOOSE = 4096  # bytes of it that have no jump
_ADDRESS = re.compile(r"(?:^|[ #])(0x[0-9a-f]+)$")
_LEADS = {EM_X86_64: ("call", "j"), EM_AARCH64: ("b", "cb", "tb")}  # how the names of calls and jumps begin
_CALLS = ("call", "bl")
_ENDS = ("jmp", "ret", "iret", "b", "br", "ret", "eret", "brk", "ud2", ".byte")  # what nothing follows


@dataclass(frozen=True)
class Reach:
    """What a set of calls leads to: names in the source, and names of the boundaries that were met."""

    functions: frozenset[str]
    boundaries: frozenset[str]


class CallGraph:
    """The calls of a whole kernel, in all code that may stand in a function: alternatives and cold parts, too.

    `loose` has addresses of code that belongs to no function by itself, by the functions that jump there.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        architecture, mode = _MODES[kernel.machine]
        self._decoder = Cs(architecture, mode)
        self._decoder.skipdata = True
        self._prefixes = _LEADS[kernel.machine]
        self.callees: dict[int, set[int]] = {}
        self.loose: dict[int, set[int]] = defaultdict(set)
        for function in kernel.functions():
            self.callees[function.start] = self._targets(function, function.start, function.end)
        for site, alternatives in kernel.alternatives.items():
            patched = kernel.function_at(site)
            if patched:
                for each in alternatives:
                    self.callees[patched.start] |= self._targets(patched, each.start, each.start + each.size)

    def callers(self) -> Mapping[int, set[int]]:
        """For each function the ones that may call it or jump to it."""
        found: dict[int, set[int]] = defaultdict(set)
        for caller, callees in self.callees.items():
            for callee in callees:
                found[callee].add(caller)
        return found

    def reach(self, starts: Iterable[int], boundaries: Mapping[str, Iterable[str]]) -> Reach:
        """What calls of these addresses lead to; functions whose name matches a boundary's pattern are not entered."""
        todo, seen, names, met = list(starts), set(), set(), set()
        while todo:
            address = todo.pop()
            if address in seen:
                continue
            seen.add(address)
            function = self._kernel.function_at(address)
            if function is None or function.source in IGNORED:
                continue
            boundary = boundary_of(function.source, boundaries)
            if boundary:
                met.add(boundary)
            else:
                names.add(function.source)
                todo += self.callees.get(function.start, ())
        return Reach(frozenset(names), frozenset(met))

    def _targets(self, function: Function, start: int, end: int) -> set[int]:
        """Starts of the other functions that code from `start` to before `end` leads to."""
        found, todo = set(), []
        for _, _, name, operands in self._decoder.disasm_lite(self._kernel.code(start, end - start), start):
            found |= self._target(function, name, operands, todo)
        while todo:
            found |= self._follow(function, todo.pop(), todo)
        return found

    def _target(self, function: Function, name: str, operands: str, todo: list[int]) -> set[int]:
        """The start of the function that an instruction leads to; notes where loose code goes on."""
        target = _address(operands) if name.startswith(self._prefixes) else None
        if target is None or function.start <= target < function.end:
            return set()
        if name not in _CALLS and self._kernel.is_loose(target):
            todo.append(target)
            return set()
        callee = self._kernel.function_at(target)
        return {callee.start} if callee else set()

    def _follow(self, function: Function, address: int, todo: list[int]) -> set[int]:
        """Functions that loose code leads to, up to where nothing follows."""
        found: set[int] = set()
        code = self._kernel.code(address, _MOST_LOOSE)
        for place, _, name, operands in self._decoder.disasm_lite(code, address):
            if place in self.loose[function.start] or not self._kernel.is_loose(place):
                break
            self.loose[function.start].add(place)
            found |= self._target(function, name, operands, todo)
            for each in self._kernel.alternatives.get(place, ()):
                found |= self._targets(function, each.start, each.start + each.size)
            if name in _ENDS:
                break
        return found


def boundary_of(name: str, boundaries: Mapping[str, Iterable[str]]) -> str | None:
    """The boundary that a function is part of."""
    for boundary, patterns in boundaries.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return boundary
    return None


def _address(operands: str) -> int | None:
    found = _ADDRESS.search(operands)
    return int(found[1], 16) if found else None
