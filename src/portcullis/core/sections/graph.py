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
_ADDRESS = re.compile(r"(?:^|[ #])(0x[0-9a-f]+)$")
_CALLS = {EM_X86_64: ("call", "j"), EM_AARCH64: ("b", "cb", "tb")}  # how the names of calls and jumps begin


@dataclass(frozen=True)
class Reach:
    """What a set of calls leads to: names in the source, and names of the boundaries that were met."""

    functions: frozenset[str]
    boundaries: frozenset[str]


class CallGraph:
    """The calls of a whole kernel, in all code that may stand in a function: alternatives and cold parts, too."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        architecture, mode = _MODES[kernel.machine]
        self._decoder = Cs(architecture, mode)
        self._decoder.skipdata = True
        self._prefixes = _CALLS[kernel.machine]
        self.callees: dict[int, set[int]] = {}
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
        found = set()
        for _, _, name, operands in self._decoder.disasm_lite(self._kernel.code(start, end - start), start):
            if not name.startswith(self._prefixes):
                continue
            target = _address(operands)
            if target is not None and not function.start <= target < function.end:
                callee = self._kernel.function_at(target)
                if callee:
                    found.add(callee.start)
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
