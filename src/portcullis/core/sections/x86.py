# SPDX-License-Identifier: GPL-2.0-only
"""x86-64: what instructions do to the gate (IA32_PKRS) and to the values that decide about it.

What is not understood makes what it writes unknown.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from portcullis.core.sections import machine
from portcullis.core.sections.conditions import assume, possible
from portcullis.core.sections.kernel import Kernel
from portcullis.core.sections.machine import Instruction
from portcullis.core.sections.state import STACK, Gate, State, Tested
from portcullis.core.sections.values import Known, Place, Value, apply, known, low, put_low, signed
from portcullis.core.sections.x86_code import (
    NAMES,
    READ_ONLY,
    STRINGS,
    Decoded,
    Decoder,
    Memory,
    Number,
    Operand,
    Register,
    gate_code,
    levels_of,
    unlike_accesses,
)
from portcullis.core.sections.x86_flags import Outcomes, masked, outcomes

_LEVEL, _HELD, _COPY = 0, 3, 8  # offsets in struct kpkeys_cpu, and bytes of its first word
_PREEMPT_COUNT = 8  # offset in struct pcpu_hot of Linux 6.12
_STEPS = {"inc": 1, "dec": -1}  # of the preemption count
_RAX, _RCX, _RDX, _RSP, _RBP = 0, 1, 2, 4, 5
_LOST_IN_CALLS = frozenset((0, 1, 2, 6, 7, 8, 9, 10, 11))
_IMPLIED = frozenset(
    ["cmpxchg", "xadd", "cpuid", "rdtsc", "cmpxchg8b", "cmpxchg16b"]
)  # write RAX or RDX, besides their operands
_COPIES = frozenset(
    [
        "mov",
        "movzx",
        "movsx",
        "movsxd",
        "lea",
        "add",
        "sub",
        "and",
        "or",
        "xor",
        "adc",
        "sbb",
        "bt",
        "bts",
        "btr",
        "btc",
    ]
)  # keep the second operand
_KEEP_FLAGS = frozenset(
    [
        "mov",
        "movzx",
        "movsx",
        "movsxd",
        "movabs",
        "lea",
        "push",
        "pop",
        "nop",
        "xchg",
        "not",
        "bswap",
        "endbr64",
        "rdmsr",
        "wrmsr",
        "rdtsc",
        "pause",
        "cpuid",
        "lfence",
        "mfence",
        "sfence",
        "leave",
        "cdqe",
        "cqo",
        "cdq",
    ]
)


class X86:
    """The architecture, for one kernel; raises ValueError when the kernel has no gate."""

    returns: frozenset[int]
    lost_in_calls = _LOST_IN_CALLS
    keeps_registers = frozenset(("__fentry__", "preempt_schedule_thunk", "preempt_schedule_notrace_thunk"))
    counts_preemption: frozenset[str] = frozenset()
    nop_callbacks: frozenset[str] = frozenset()
    user_callbacks: frozenset[str] = frozenset()
    firmware_callbacks: frozenset[str] = frozenset()

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._decoder = Decoder(kernel)
        self._copy = self._decoder.state
        hot = kernel.addresses.get("pcpu_hot", -_PREEMPT_COUNT)
        self._preempt_count = kernel.addresses.get("__preempt_count", hot + _PREEMPT_COUNT)
        self.returns = frozenset(kernel.addresses[name] for name in ("__x86_return_thunk",) if name in kernel.addresses)
        self.gate_writes, self.gate_sites, written = gate_code(kernel)
        self.default, self.levels = levels_of(written)
        self.user: int | None = None
        self.unlike = unlike_accesses(kernel, self.gate_sites, self.default, self.levels[1])
        numbers = {0, 1, 2, 3, 0xFE, 0xFF, 0xFFFFFFFF, *written}
        self.marks = frozenset(numbers)

    def enter(self, gate: Gate) -> State:
        """Nothing is known but the stack pointer."""
        registers: list[Value] = [None] * len(NAMES)
        registers[_RSP] = Place(STACK, 0)
        return State(gate, tuple(registers), (_RSP, _RBP))

    def decode(self, address: int) -> Instruction | None:
        """The instruction at an address, None where there is none."""
        return self._decoder.decode(address)

    def written_by(self, instruction: Instruction) -> frozenset[int]:
        """As capstone has it, and all that are operands."""
        decoded: Decoded = instruction.raw
        operands = {
            each.number for each in decoded.operands[:2] if isinstance(each, Register) and each.number is not None
        }
        if decoded.name in ("cmp", "test"):
            return frozenset()
        if len(decoded.operands) == 2 and isinstance(decoded.operands[1], Register) and decoded.name in _COPIES:
            operands.discard(decoded.operands[1].number)
        implied = (_RAX, _RDX) if decoded.name in _IMPLIED else ()
        return decoded.written | operands | frozenset(implied)

    def after_call(self, state: State, changed: frozenset[int]) -> State:
        """Registers that the function changes are not known."""
        registers = tuple(None if number in changed else value for number, value in enumerate(state.registers))
        return replace(state, registers=registers, flags=None).after_strange_store()

    def after_fault(self, state: State) -> State:
        """A handler may change any register but the stack's."""
        registers = tuple(value if isinstance(value, Place) else None for value in state.registers)
        return replace(state, registers=registers, flags=None)

    def pointer_of(self, instruction: Instruction) -> int | None:
        """Calls go through pv_ops, which says where to on a machine that is no guest."""
        operand = instruction.raw.operands[0]
        if not isinstance(operand, Memory) or operand.absolute is None or operand.per_cpu:
            return None
        return operand.absolute if self._kernel.object_at(operand.absolute) == "pv_ops" else None

    def branch(self, instruction: Instruction, state: State) -> tuple[State | None, State | None]:
        """A comparison decides, and says more of what was compared."""
        condition = instruction.raw.name[1:]
        return assume(state, condition, True), assume(state, condition, False)

    def store_of(self, instruction: Instruction, state: State) -> str | None:
        """The kind of a store, which the instruction alone says, or of a load from the stack."""
        return machine.STACK if self._uses_stack(instruction.raw, state) else instruction.store

    def _uses_stack(self, decoded: Decoded, state: State) -> bool:
        if decoded.name.startswith(("push", "pop")):
            return True
        if decoded.name in ("lea", "nop"):
            return False
        places = [self._place(operand, state) for operand in decoded.operands if isinstance(operand, Memory)]
        return any(place is not None and place.base == STACK for place in places)

    def execute(self, instruction: Instruction, state: State) -> Iterable[State]:
        """States behind the instruction: more than one if the gate is written with more than one value."""
        decoded: Decoded = instruction.raw
        if instruction.address in self.gate_writes:
            return self._write_gate(state)
        if decoded.name in _STEPS and self._is_preempt_count(decoded.operands[0]):
            return (replace(state, gate=state.gate.pin(_STEPS[decoded.name]), flags=None),)
        handler = _HANDLERS.get(decoded.name)
        if decoded.name.startswith("set"):
            handler = X86._set
        elif decoded.name.startswith("cmov"):
            handler = X86._move_if
        return (handler or X86._unknown)(self, decoded, state)

    # --- reading and writing operands

    def _is_preempt_count(self, operand: Operand) -> bool:
        if not isinstance(operand, Memory) or not operand.per_cpu or operand.absolute is None:
            return False
        return self._decoder.per_cpu_address(operand) == self._preempt_count

    def _copy_offset(self, operand: Memory) -> int | None:
        """Where in the first word of struct kpkeys_cpu an operand lies."""
        if not operand.per_cpu or operand.absolute is None:
            return None
        offset = self._decoder.per_cpu_address(operand) - self._copy
        return offset if 0 <= offset < _COPY else None

    @staticmethod
    def _place(operand: Memory, state: State) -> Place | None:
        if operand.per_cpu or operand.index is not None or operand.base is None:
            return None
        base = state.registers[operand.base]
        return Place(base.base, base.offset + operand.displacement) if isinstance(base, Place) else None

    def _read(self, operand: Operand, state: State) -> Value:
        """The value of an operand, at its full width or None."""
        if isinstance(operand, Number):
            return known((operand.value,), operand.bits)
        if isinstance(operand, Register):
            if operand.number is None or operand.bits < 0:
                return None
            return low(state.registers[operand.number], operand.bits)
        offset = self._copy_offset(operand)
        if offset is not None:
            return self._read_copy(state.gate, offset) if operand.bits == 8 else None
        place = self._place(operand, state)
        return low(state.memory.get(place), operand.bits) if place else None

    @staticmethod
    def _read_copy(gate: Gate, offset: int) -> Value:
        field = {_LEVEL: gate.level, _HELD: gate.held}.get(offset)
        return None if field is None else known((field,), 8)

    def _write(self, operand: Operand, value: Value, state: State) -> Iterable[State]:
        if isinstance(operand, Register):
            return (self._write_register(operand, value, state),)
        if isinstance(operand, Memory):
            offset = self._copy_offset(operand)
            if offset is not None:
                return self._write_copy(state, offset, operand.bits // 8, value)
            place = self._place(operand, state)
            if place is not None:
                return (state.with_memory(place, operand.bits // 8, low(value, operand.bits)),)
            if not operand.per_cpu and operand.absolute is None:
                return (state.after_strange_store(),)
        return (state,)

    @staticmethod
    def _write_register(operand: Register, value: Value, state: State) -> State:
        if operand.number is None:
            return state
        if operand.bits == 32:
            value = known(value.numbers, 64) if isinstance(value, Known) and value.bits >= 32 else None
        elif operand.bits < 0:
            value = None
        elif operand.bits < 32:
            value = put_low(state.registers[operand.number], value, operand.bits)
        return state.with_register(operand.number, value)

    def _write_copy(self, state: State, offset: int, size: int, value: Value) -> Iterable[State]:
        """A store to the gate's own state; values that are not known are tried."""
        gate = state.gate
        if size == _COPY:  # the word: only zero is ever written
            return (state.with_gate(replace(gate, level=0, held=0, pushed=())),)
        numbers = sorted(value.numbers) if isinstance(value, Known) and value.bits >= 8 else None
        if offset == _LEVEL:
            return [state.with_gate(replace(gate, level=number)) for number in numbers or self.levels]
        if offset == _HELD:
            return [state.with_gate(replace(gate, held=number)) for number in numbers or (0, 1)]
        return (state,)

    def _write_gate(self, state: State) -> Iterable[State]:
        value = low(state.registers[_RAX], 32)
        if isinstance(value, Known):
            return [state.with_gate(replace(state.gate, register=number)) for number in sorted(value.numbers)]
        # Not known: it may shut the gate or leave it open.
        return [state.with_gate(replace(state.gate, register=number)) for number in (None, self.default)]

    # --- instructions

    def _unknown(self, decoded: Decoded, state: State) -> Iterable[State]:
        """What it writes is not known."""
        changed = set(decoded.written)
        changed |= {each.number for each in decoded.operands if isinstance(each, Register) and each.number is not None}
        if decoded.name in _IMPLIED:
            changed |= {_RAX, _RDX}
        registers = [None if number in changed else value for number, value in enumerate(state.registers)]
        if _RSP in changed:
            registers[_RSP] = self._stack_after(decoded, state)
        flags = state.flags if decoded.name in _KEEP_FLAGS else None
        after = replace(state, registers=tuple(registers), flags=flags)
        if decoded.name in STRINGS:
            return (after.after_strange_store(),)
        if decoded.operands and isinstance(decoded.operands[0], Memory) and decoded.name not in READ_ONLY:
            return self._write(decoded.operands[0], None, after)
        return (after,)

    @staticmethod
    def _stack_after(decoded: Decoded, state: State) -> Value:
        old = state.registers[_RSP]
        step = {"pushfq": -8, "popfq": 8}.get(decoded.name)
        return Place(old.base, old.offset + step) if isinstance(old, Place) and step else None

    def _move(self, decoded: Decoded, state: State) -> Iterable[State]:
        target, source = decoded.operands
        value = self._read(source, state)
        if isinstance(target, Memory) and isinstance(value, Place):
            value = None
        return self._write(target, value, state)

    def _extend(self, decoded: Decoded, state: State) -> Iterable[State]:
        target, source = decoded.operands
        value = self._read(source, state)
        if not isinstance(value, Known):
            value = None
        elif decoded.name == "movzx":
            value = known(value.numbers, 64)
        else:
            value = known((signed(number, source.bits) for number in value.numbers), 64)
        return self._write(target, value, state)

    def _address(self, decoded: Decoded, state: State) -> Iterable[State]:
        target, source = decoded.operands
        value: Value = None
        if isinstance(source, Memory) and source.index is None and source.base is not None:
            base = state.registers[source.base]
            if isinstance(base, Place):
                value = Place(base.base, base.offset + source.displacement)
            else:
                bits = base.bits if base else 64
                value = apply(lambda number: number + source.displacement, (base,), bits)
                if value is not None and target.bits > bits:
                    # Only the low bits are right; they are all that a wider register gets.
                    return (state.with_register(target.number, value),)  # type: ignore[union-attr, arg-type]
        return self._write(target, value, state)

    def _push(self, decoded: Decoded, state: State) -> Iterable[State]:
        stack = state.registers[_RSP]
        if not isinstance(stack, Place):
            return (state,)
        top = Place(stack.base, stack.offset - 8)
        source = decoded.operands[0]
        value = state.registers[source.number] if isinstance(source, Register) and source.number is not None else None
        stored = state.with_memory(top, 8, value if isinstance(value, Known) else None)
        return (stored.with_register(_RSP, top),)

    def _pop(self, decoded: Decoded, state: State) -> Iterable[State]:
        stack = state.registers[_RSP]
        if not isinstance(stack, Place):
            return self._write(decoded.operands[0], None, state)
        value = state.memory.get(stack)
        target = decoded.operands[0]
        after = state.with_register(_RSP, Place(stack.base, stack.offset + 8))
        if isinstance(target, Register) and target.number is not None:
            return (after.with_register(target.number, value),)
        return self._write(target, None, after)

    def _leave(self, decoded: Decoded, state: State) -> Iterable[State]:
        frame = state.registers[_RBP]
        stack = Place(frame.base, frame.offset + 8) if isinstance(frame, Place) else None
        return (state.with_register(_RSP, stack).with_register(_RBP, None),)

    def _exchange(self, decoded: Decoded, state: State) -> Iterable[State]:
        one, other = decoded.operands
        values = self._read(one, state), self._read(other, state)
        return [
            after for between in self._write(one, values[1], state) for after in self._write(other, values[0], between)
        ]

    def _read_msr(self, decoded: Decoded, state: State) -> Iterable[State]:
        number = low(state.registers[_RCX], 32)
        is_gate = isinstance(number, Known) and number.numbers == {0x6E1}
        value = known((state.gate.register,)) if is_gate and state.gate.register is not None else None
        return (state.with_register(_RAX, value).with_register(_RDX, None),)

    def _set(self, decoded: Decoded, state: State) -> Iterable[State]:
        ways = possible(state.flags, decoded.name[3:])
        return self._write(decoded.operands[0], known(map(int, ways), 8), state)

    def _move_if(self, decoded: Decoded, state: State) -> Iterable[State]:
        target, source = decoded.operands
        ways = possible(state.flags, decoded.name[4:])
        results: list[State] = []
        for way in ways:
            assumed = assume(state, decoded.name[4:], way)
            if assumed is not None:
                results += self._write(target, self._read(source if way else target, assumed), assumed)
        return results

    def _compute(self, decoded: Decoded, state: State) -> Iterable[State]:
        name, target = decoded.name, decoded.operands[0]
        bits = abs(target.bits)
        source = decoded.operands[1] if len(decoded.operands) > 1 else Number(1, bits)
        moved = self._moved_stack(name, target, source, state)
        if moved is not None:
            return (replace(moved, flags=None),)
        one, other = self._read(target, state), self._read(source, state)
        is_same = target == source and isinstance(target, Register)
        if name in ("xor", "sub") and is_same:
            one = other = known((0,), bits)
        if name in ("sbb", "adc"):
            return self._compute_with_carry(decoded, state, one, other)
        results = outcomes(name, one, other, bits, is_same)
        if name in ("cmp", "test"):
            return (replace(state, flags=self._tested(decoded, other, results, state)),)
        if results:
            result: Value = known((result for _, result, _ in results), bits)
            flags = Tested(tuple((number, flags) for number, _, flags in results), None, bits)
        else:
            result, flags = _low_result(name, target, source, state) or masked(name, one, other, bits), None
        if isinstance(target, Register) and isinstance(result, Known) and result.bits < bits:
            return (replace(state.with_register(target.number, result), flags=None),)  # type: ignore[arg-type]
        return [replace(after, flags=flags) for after in self._write(target, result, state)]

    @staticmethod
    def _moved_stack(name: str, target: Operand, source: Operand, state: State) -> State | None:
        """The stack pointer, or another address in the stack, plus or minus a constant."""
        if not (isinstance(target, Register) and isinstance(source, Number) and target.number is not None):
            return None
        old = state.registers[target.number]
        if not isinstance(old, Place) or name not in ("add", "sub") or target.bits != 64:
            return None
        step = signed(source.value & ((1 << 64) - 1), 64)
        return state.with_register(target.number, Place(old.base, old.offset + (step if name == "add" else -step)))

    def _tested(self, decoded: Decoded, other: Value, results: Outcomes, state: State) -> Tested | None:
        """What CMP or TEST says of the value in its first operand."""
        target = decoded.operands[0]
        where: int | Place | None = None
        if isinstance(target, Register) and target.bits > 0:
            where = target.number
        elif isinstance(target, Memory):
            where = self._place(target, state)
        if results:
            return Tested(tuple((number, flags) for number, _, flags in results), where, target.bits)
        if where is None:
            return None
        if decoded.name == "test":
            return Tested((), where, target.bits, 0) if target == decoded.operands[1] else None
        if isinstance(other, Known) and len(other.numbers) == 1:
            return Tested((), where, target.bits, min(other.numbers))
        return None

    def _compute_with_carry(self, decoded: Decoded, state: State, one: Value, other: Value) -> Iterable[State]:
        target, source = decoded.operands
        bits = abs(target.bits)
        said = {flags[1] for _, flags in state.flags.outcomes} if state.flags else {None}
        carries = {bool(carry) for carry in said} if said and None not in said else {False, True}
        if target == source and decoded.name == "sbb":
            one = other = known((0,), bits)
        sign = -1 if decoded.name == "sbb" else 1
        result = apply(lambda a, b, carry: a + sign * (b + carry), (one, other, known(map(int, carries))), bits)
        return [replace(after, flags=None) for after in self._write(target, result, state)]


def _low_result(name: str, target: Operand, source: Operand, state: State) -> Value:
    """The low bits of a result whose operand is known in its low bits only."""
    if not isinstance(target, Register) or target.number is None or name in ("shl", "sal", "shr"):
        return None
    one = state.registers[target.number]
    if not isinstance(one, Known) or one.bits >= target.bits or not isinstance(source, Number):
        return None
    found = outcomes(name, one, known((source.value,), one.bits), one.bits, False)
    return known((result for _, result, _ in found), one.bits)


def _nothing(architecture: X86, decoded: Decoded, state: State) -> Iterable[State]:
    return (state,)


_COMPUTED = [
    "add",
    "sub",
    "and",
    "or",
    "xor",
    "cmp",
    "test",
    "inc",
    "dec",
    "neg",
    "not",
    "shl",
    "sal",
    "shr",
    "sbb",
    "adc",
]
_HANDLERS: dict[str, Any] = {
    "mov": X86._move,
    "movabs": X86._move,
    "movzx": X86._extend,
    "movsx": X86._extend,
    "movsxd": X86._extend,
    "lea": X86._address,
    "push": X86._push,
    "pop": X86._pop,
    "leave": X86._leave,
    "xchg": X86._exchange,
    "rdmsr": X86._read_msr,
    "nop": _nothing,
    "endbr64": _nothing,
    "pause": _nothing,
    **dict.fromkeys(_COMPUTED, X86._compute),
}
