# SPDX-License-Identifier: GPL-2.0-only
"""What is known when an instruction is about to run: the gate, registers, spilled values, flags."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from portcullis.core.sections.values import Known, Place, Value, join

_MOST_OUTCOMES = 16  # of a comparison
STACK = "stack"  # base of places in it, where the function was entered
DEEPEST = 3  # nested sections that are told apart


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate of this CPU: its register (None: open, value unknown), and the copy in keyed memory.

    `level` and `held` are as in struct kpkeys_cpu. `pinned` counts
    how often preemption was disabled, as far as the function itself does it. `pushed` has the gates that
    __kpkeys_push() saved in it.
    """

    register: int | None
    level: int = 0
    held: int = 0
    pinned: int = 0
    pushed: tuple["Gate", ...] = ()

    @property
    def remembered(self) -> "Gate":
        """What outlasts the function: the register and its copy."""
        return replace(self, pinned=0, pushed=())

    def pin(self, step: int) -> "Gate":
        """The same after preemption was disabled or enabled (a negative step) so many times."""
        return replace(self, pinned=min(max(self.pinned + step, 0), DEEPEST))


@dataclass(frozen=True, slots=True)
class Tested:
    """The last comparison: each value of `where` with the flags that it gave (zero, carry, sign, overflow).

    `equal` is what `where` holds if the zero flag is set, for a value that was not known.
    """

    outcomes: tuple[tuple[int, tuple[bool, bool | None, bool, bool | None]], ...] = ()
    where: int | Place | None = None
    bits: int = 64
    equal: int | None = None


@dataclass(frozen=True)
class State:
    """Everything that is known; `memory` has places of which something is known, `flags` None when nothing is.

    `frame` has the registers of the stack and the frame. `exposed` is the lowest offset in the stack of which the
    address was in another one: what is there or above may be written through pointers, and by callees.
    """

    gate: Gate
    registers: tuple[Value, ...]
    frame: tuple[int, int]
    memory: Mapping[Place, Value] = field(default_factory=dict)
    flags: Tested | None = None
    exposed: int | None = None

    def with_register(self, number: int, value: Value) -> "State":
        """The same with another value in a register."""
        registers = list(self.registers)
        registers[number] = value
        exposed = self.exposed
        if isinstance(value, Place) and value.base == STACK and self._exposes(number, value):
            exposed = lowest(exposed, value.offset)
        return replace(self, registers=tuple(registers), flags=self._flags_without(number), exposed=exposed)

    def _exposes(self, number: int, value: Place) -> bool:
        """Not the stack's own register, and not the address of the frame's record, where no object is."""
        stack, frame = self.frame
        is_record = value == self.registers[stack] and (number == frame or value == self.registers[frame])
        return number != stack and not is_record

    def after_strange_store(self) -> "State":
        """The same after a store through a pointer that may be one to the stack."""
        if self.exposed is None:
            return self
        kept = {place: value for place, value in self.memory.items() if place.offset < self.exposed}
        return replace(self, memory=kept)

    def with_memory(self, place: Place, size: int, value: Value) -> "State":
        """The same after a store of `size` bytes to a known place."""
        kept = {
            other: what
            for other, what in self.memory.items()
            if other.base != place.base
            or other.offset >= place.offset + size
            or other.offset + (what.bits // 8 if isinstance(what, Known) else 8) <= place.offset
        }
        if value is not None:
            kept[place] = value
        return replace(self, memory=kept, flags=self._flags_without(place))

    def _flags_without(self, where: int | Place) -> Tested | None:
        """The last comparison says nothing of what is in a place now that has been written since."""
        flags = self.flags
        if flags is None or flags.where is None:
            return flags
        same = flags.where == where or (isinstance(where, Place) and isinstance(flags.where, Place))
        return replace(flags, where=None) if same else flags

    def with_gate(self, gate: Gate) -> "State":
        """The same with another gate."""
        return replace(self, gate=gate)


def join_states(one: State, other: State, marks: frozenset[int]) -> State:
    """What is known where two ways with the same gate meet."""
    registers = tuple(join(a, b, marks) for a, b in zip(one.registers, other.registers, strict=True))
    memory = {}
    for place in one.memory.keys() & other.memory.keys():
        value = join(one.memory[place], other.memory[place], marks)
        if value is not None:
            memory[place] = value
    flags = _join_flags(one.flags, other.flags)
    return State(one.gate, registers, one.frame, memory, flags, lowest(one.exposed, other.exposed))


def lowest(one: int | None, other: int | None) -> int | None:
    """The lower of two offsets, if there is one."""
    return min((each for each in (one, other) if each is not None), default=None)


def _join_flags(one: Tested | None, other: Tested | None) -> Tested | None:
    """Either comparison; what was compared is known only if it was in the same place."""
    if one == other:
        return one
    if one is None or other is None or not one.outcomes or not other.outcomes:
        return None
    both = tuple(sorted({*one.outcomes, *other.outcomes}, key=str))
    is_same = one.where == other.where and one.bits == other.bits
    return Tested(both, one.where if is_same else None, one.bits) if len(both) <= _MOST_OUTCOMES else None
