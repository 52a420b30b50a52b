# SPDX-License-Identifier: GPL-2.0-only
"""What the walk asks of an architecture: instructions, and what they do to a state."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from portcullis.core.sections.state import Gate, State

# Kinds of stores. Those to a named object have its name behind the kind.
REGISTER = "register"  # through a pointer in a register
STACK = "stack"
STRING = "string"  # a repeated store: memset(), memcpy()
ATOMIC = "atomic"  # read, change and write in one, through a pointer
PER_CPU = "percpu"
GLOBAL = "global"
TASK = "task"  # of struct thread_info
STATE = "state"  # of the gate itself, keyed
POINTER_KINDS = (REGISTER, STRING, ATOMIC)


class Flow(Enum):
    """Where an instruction leads."""

    NEXT = auto()
    BRANCH = auto()  # to the target or on
    JUMP = auto()
    CALL = auto()
    INDIRECT_CALL = auto()
    INDIRECT_JUMP = auto()
    RETURN = auto()
    TRAP = auto()


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, `size` bytes; `target` of a branch, jump or call; the decoder's `raw`.

    `store` is the kind of a store where the instruction alone says it.
    """

    address: int
    size: int
    flow: Flow
    target: int | None = None
    store: str | None = None
    raw: Any = None

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size


class Architecture(Protocol):
    """An instruction set, for one kernel."""

    default: int  # the register's value when the gate is shut
    levels: dict[int, int]  # level -> value of the register
    user: int | None  # the register's value while user space runs, where that is another one
    user_callbacks: frozenset[str]  # what they patch is there where user space runs so
    marks: frozenset[int]  # numbers that decide about the gate
    gate_writes: frozenset[int]  # addresses of instructions that write the register
    gate_sites: frozenset[int]  # where code that is an alternative for another backend begins
    unlike: frozenset[int]  # those of them where that code does something else
    returns: frozenset[int]  # functions to which a jump is a return
    lost_in_calls: frozenset[int]  # registers that a function need not preserve
    keeps_registers: frozenset[str]  # functions that change no register of their caller
    counts_preemption: frozenset[str]  # functions out of line that disable or enable it for their caller
    nop_callbacks: frozenset[str]  # functions that may write NOPs over the alternatives they are for
    firmware_callbacks: frozenset[str]  # functions that may write a call of the firmware there

    def decode(self, address: int) -> Instruction | None:
        """The instruction at an address, None where there is none."""
        ...

    def enter(self, gate: Gate) -> State:
        """What is known where a function begins."""
        ...

    def execute(self, instruction: Instruction, state: State) -> Iterable[State]:
        """States behind an instruction that leads to the next one."""
        ...

    def branch(self, instruction: Instruction, state: State) -> tuple[State | None, State | None]:
        """States where a branch is taken and where it is not; None where that cannot be."""
        ...

    def store_of(self, instruction: Instruction, state: State) -> str | None:
        """The kind of a store, or of a load from the stack; None if it is neither."""
        ...

    def pointer_of(self, instruction: Instruction) -> int | None:
        """The address of the pointer that a call goes through, if the image says where it leads to."""
        ...

    def written_by(self, instruction: Instruction) -> frozenset[int]:
        """Registers that an instruction may change."""
        ...

    def after_call(self, state: State, changed: frozenset[int]) -> State:
        """What is known behind a call that changes some registers."""
        ...

    def after_fault(self, state: State) -> State:
        """What is known where the exception table leads to."""
        ...
