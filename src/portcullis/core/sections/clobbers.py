# SPDX-License-Identifier: GPL-2.0-only
"""Which registers a call changes.

The compiler keeps values in registers that a callee may change if it sees that this callee does not.
"""

from collections.abc import Iterable
from typing import Protocol

from portcullis.core.sections.kernel import Function, Kernel
from portcullis.core.sections.machine import Architecture, Flow, Instruction

_MOST_INSTRUCTIONS = 200  # of a callee that is looked at
_DEEPEST = 3  # calls of callees that are followed


class Paths(Protocol):
    """Where code leads to: a part of the Walker."""

    kernel: Kernel
    architecture: Architecture

    def next_of(self, instruction: Instruction) -> int:
        """Where an instruction falls through to."""
        ...

    def patches(self, address: int) -> list[int]:
        """Where code begins that may stand at an address instead."""
        ...

    def is_inside(self, target: int, function: Function) -> bool:
        """Whether a jump stays in a function."""
        ...


class Clobbers:
    """Registers that functions change; those that are not looked at may change all."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._machine = paths.architecture
        self._known: dict[int, frozenset[int]] = {}

    def of(self, function: Function | None, depth: int = 0) -> frozenset[int]:
        """Those that a caller may lose."""
        if function is None or depth > _DEEPEST:
            return self._machine.lost_in_calls
        if function.name in self._machine.keeps_registers:
            return frozenset()
        if function.start in self._known:
            return self._known[function.start]
        self._known[function.start] = self._machine.lost_in_calls  # while it is looked at: it may call itself
        found = self._look(function, depth)
        if depth == 0 or found != self._machine.lost_in_calls:
            self._known[function.start] = found
        else:
            del self._known[function.start]  # perhaps it was only too deep
        return found

    def _look(self, function: Function, depth: int) -> frozenset[int]:
        everything = self._machine.lost_in_calls
        found: frozenset[int] = frozenset()
        todo, seen = [function.start], set()
        while todo:
            address = todo.pop()
            if address in seen:
                continue
            seen.add(address)
            instruction = self._machine.decode(address)
            if instruction is None or len(seen) > _MOST_INSTRUCTIONS:
                return everything
            found |= self._machine.written_by(instruction) & everything
            todo += self._paths.patches(address)
            todo += self._ways_on(instruction, function)
            found |= self._in_calls(instruction, function, depth)
            if found == everything:
                break
        return found

    def _ways_on(self, instruction: Instruction, function: Function) -> Iterable[int]:
        """What may run next in the function."""
        if instruction.flow in (Flow.NEXT, Flow.BRANCH, Flow.CALL, Flow.INDIRECT_CALL) or self._is_switched(
            instruction
        ):
            yield self._paths.next_of(instruction)
        if instruction.flow is Flow.TRAP and instruction.address in self._paths.kernel.warnings:
            yield instruction.end
        jump = self._paths.kernel.jumps.get(instruction.address)
        if jump:
            yield jump.target
        target = instruction.target
        if instruction.flow not in (Flow.BRANCH, Flow.JUMP) or target is None or target in self._machine.returns:
            return
        if self._paths.is_inside(target, function):
            yield target

    def _is_switched(self, instruction: Instruction) -> bool:
        kernel = self._paths.kernel
        return instruction.address in kernel.jumps or bool(self._paths.patches(instruction.address))

    def _in_calls(self, instruction: Instruction, function: Function, depth: int) -> frozenset[int]:
        """What functions change that an instruction calls or leaves for."""
        if instruction.flow in (Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP):
            return self._machine.lost_in_calls
        target = instruction.target
        if target is None or target in self._machine.returns:
            return frozenset()
        if instruction.flow is not Flow.CALL and self._paths.is_inside(target, function):
            return frozenset()
        callee = self._paths.kernel.function_at(target)
        is_start = callee is not None and callee.start == target
        return self.of(callee, depth + 1) if is_start else self._machine.lost_in_calls
