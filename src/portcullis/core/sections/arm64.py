# SPDX-License-Identifier: GPL-2.0-only
"""arm64: what instructions do to the gate (POR_EL1) and to the values that decide about it.

Addresses are values here: code makes them of several instructions. A number that is one address of the image names an
object, and a `Place` one relative to the stack, to this CPU's memory or to the running task. The count of preemption
is a `Place`, too: what was read plus what was added since.

What is not understood makes what it writes unknown.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from portcullis.core.sections import machine
from portcullis.core.sections.arm64_code import (
    GATE,
    MY_CPU,
    MY_TASK,
    Decoded,
    Decoder,
    constants,
    gate_writes,
    levels_of,
    user_of,
)
from portcullis.core.sections.arm64_memory import LINK, STACK_POINTER, ZERO, Access, Kind, Writeback
from portcullis.core.sections.conditions import Flags, assume, possible
from portcullis.core.sections.kernel import Kernel
from portcullis.core.sections.machine import Instruction
from portcullis.core.sections.state import DEEPEST, STACK, Gate, State, Tested
from portcullis.core.sections.values import Known, Place, Value, apply, known, low, signed

_LEVEL, _HELD = 0, 3  # offsets in struct kpkeys_cpu
_PREEMPT = 8  # offset in struct thread_info
_FRAME = 29
_CPU, _TASK, _COUNT = "cpu", "task", "count"  # bases of places
_MASK = (1 << 64) - 1
# How conditions are called where borrow, not its opposite, is what is known.
_NAMES = {"cs": "ae", "cc": "b", "mi": "s", "pl": "ns", "hi": "a", "ls": "be", "eq": "e", "lt": "l", "gt": "g"}
Outcomes = list[tuple[int, int, Flags]]  # a number, the result, its flags
_NUMBERS = (0, 1, 2, 3, 0xFE, 0xFF, 0xFFFFFFFF)


class Arm64:
    """The architecture, for one kernel; raises ValueError when the kernel has no gate."""

    returns: frozenset[int] = frozenset()
    lost_in_calls = frozenset((*range(19), LINK))
    keeps_registers: frozenset[str] = frozenset()
    gate_sites: frozenset[int] = frozenset()
    unlike: frozenset[int] = frozenset()
    nop_callbacks = frozenset(
        (
            "alt_cb_patch_nops",
            "kpkeys_pauth_patch",
            "kpkeys_pauth_patch_all",
            "kpkeys_pauth_patch_kernel",
            "spectre_v4_patch_fw_mitigation_enable",
        )
    )
    user_callbacks = frozenset(("kpkeys_pauth_patch",))
    firmware_callbacks = frozenset(("smccc_patch_fw_mitigation_conduit",))
    counts_preemption = frozenset(
        ("__preempt_count_add", "__preempt_count_sub", "__preempt_count_dec_and_test", "preempt_count_add")
    )

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._decoder = Decoder(kernel)
        for name in ("kpkeys_cpu", "__kpkeys_push"):
            if name not in kernel.addresses:
                raise ValueError(f"there is no symbol {name}: not a hardened kernel, or not with its symbols")
        self._copy = kernel.addresses["kpkeys_cpu"]
        self._check_layout()
        self.gate_writes = gate_writes(kernel)
        written = constants(kernel, self.gate_writes)
        self.default, self.levels = levels_of(written)
        self.user = user_of(written)
        self.marks = frozenset((*_NUMBERS, *written))

    def _check_layout(self) -> None:
        """The preemption count is where the last test ahead of a preemption reads it, if there is any."""
        start = self._kernel.addresses.get("preempt_schedule_notrace")
        if start is None:
            return
        function = self._kernel.function_at(start)
        task: set[int] = set()
        for address in range(start, function.end if function else start, 4):
            instruction = self.decode(address)
            raw: Decoded | None = instruction.raw if instruction else None
            if raw and raw.access and raw.access.base in task and raw.access.offset == _PREEMPT:
                return
            if raw and raw.name == "mrs" and raw.number == MY_TASK:
                task.add(raw.target)
        raise ValueError(f"struct thread_info has no count of preemption at {_PREEMPT}")

    def enter(self, gate: Gate) -> State:
        """Nothing is known but the stack pointer."""
        registers: list[Value] = [None] * ZERO
        registers[STACK_POINTER] = Place(STACK, 0)
        return State(gate, tuple(registers), (STACK_POINTER, _FRAME))

    def decode(self, address: int) -> Instruction | None:
        """The instruction at an address, None where there is none."""
        return self._decoder.decode(address)

    def written_by(self, instruction: Instruction) -> frozenset[int]:
        """Registers that it may change."""
        return instruction.raw.written

    def after_call(self, state: State, changed: frozenset[int]) -> State:
        """Registers that the function changes are not known, nor which CPU it came back on."""
        moves = not state.gate.pinned
        registers = tuple(
            None if number in changed or moves and isinstance(value, Place) and value.base == _CPU else value
            for number, value in enumerate(state.registers)
        )
        return replace(state, registers=registers, flags=None).after_strange_store()

    def after_fault(self, state: State) -> State:
        """A handler may change any register but the stack's."""
        registers = [None] * ZERO
        registers[STACK_POINTER] = state.registers[STACK_POINTER]
        return replace(state, registers=tuple(registers), flags=None)

    def pointer_of(self, instruction: Instruction) -> int | None:
        """Calls through pointers are not followed."""
        return None

    def branch(self, instruction: Instruction, state: State) -> tuple[State | None, State | None]:
        """A comparison decides, or a register, and what was compared is known better."""
        decoded: Decoded = instruction.raw
        if decoded.name == "b.cond":
            return self._assume(state, decoded.condition, True), self._assume(state, decoded.condition, False)
        if decoded.name in ("cbz", "cbnz"):
            zero, other = self._split(state, decoded, lambda number: not number)
            if zero is not None and zero is state and decoded.one != ZERO:
                old = state.registers[decoded.one]
                zero = state.with_register(decoded.one, known((0,), decoded.bits)) if old is None else state
            return (zero, other) if decoded.name == "cbz" else (other, zero)
        clear, full = self._split(state, decoded, lambda number: not number >> decoded.number & 1)
        return (clear, full) if decoded.name == "tbz" else (full, clear)

    @staticmethod
    def _split(state: State, decoded: Decoded, rule: Any) -> tuple[State | None, State | None]:
        """States in which a register's number follows a rule, and in which not."""
        value = low(_get(state, decoded.one), decoded.bits)
        if decoded.name.startswith("tb"):
            value = _get(state, decoded.one)
            value = value if isinstance(value, Known) and value.bits > decoded.number else None
        if not isinstance(value, Known):
            return state, state
        found = []
        for way in (True, False):
            kept = Known(frozenset(number for number in value.numbers if bool(rule(number)) is way), value.bits)
            after = state if decoded.one == ZERO else state.with_register(decoded.one, kept)
            found.append(after if kept.numbers else None)
        return found[0], found[1]

    @staticmethod
    def _assume(state: State, condition: str, way: bool) -> State | None:
        if condition == "al":
            return state if way else None
        return assume(state, _NAMES.get(condition, condition), way)

    def store_of(self, instruction: Instruction, state: State) -> str | None:
        """The kind of a store, by what its address is, or of a load from the stack."""
        found: Access | None = instruction.raw.access
        if found is None:
            return None
        address = self._address(found, state)
        if found.kind is Kind.LOAD:
            is_stack = isinstance(address, Place) and address.base == STACK
            return machine.STACK if is_stack else None
        if isinstance(address, Place):
            return self._kind_of_place(address)
        if found.kind is Kind.REPEATED:
            return machine.STRING
        if isinstance(address, Known) and address.bits == 64 and len(address.numbers) == 1:
            return f"{machine.GLOBAL} {self._kernel.object_at(min(address.numbers)) or '?'}"
        return machine.ATOMIC if found.kind is Kind.ATOMIC else machine.REGISTER

    def _kind_of_place(self, place: Place) -> str:
        if place.base == STACK:
            return machine.STACK
        if place.base == _TASK:
            return f"{machine.TASK} {'preempt_count' if place.offset == _PREEMPT else '?'}"
        name = self._kernel.object_at(place.offset & _MASK) or "?"
        return machine.STATE if name == "kpkeys_cpu" else f"{machine.PER_CPU} {name}"

    def execute(self, instruction: Instruction, state: State) -> Iterable[State]:
        """States behind the instruction: more than one if the gate is written with more than one value."""
        decoded: Decoded = instruction.raw
        if instruction.address in self.gate_writes:
            return self._write_gate(state, decoded)
        handler = _HANDLERS.get(decoded.name, Arm64._unknown)
        return handler(self, decoded, state)

    def _write_gate(self, state: State, decoded: Decoded) -> Iterable[State]:
        value = low(_get(state, decoded.one), 64)
        if isinstance(value, Known):
            return [state.with_gate(replace(state.gate, register=number)) for number in sorted(value.numbers)]
        # Not known: it may shut the gate or leave it open.
        return [state.with_gate(replace(state.gate, register=number)) for number in (None, self.default)]

    # --- memory

    @staticmethod
    def _address(found: Access, state: State) -> Value:
        base = _get(state, found.base)
        offset = 0 if found.writeback is Writeback.BEHIND else found.offset
        if found.index is None:
            return add(base, known((offset & _MASK,)), 64)
        index = _get(state, found.index)
        if found.extends or found.shift and isinstance(index, Place):
            return None
        return add(base, apply(lambda number: number << found.shift, (index,), 64) if found.shift else index, 64)

    def _access(self, decoded: Decoded, state: State) -> Iterable[State]:
        found = decoded.access
        assert found is not None
        address = self._address(found, state)
        if found.kind is Kind.LOAD:
            values = [
                self._load(found, _moved(address, number * found.size), state) for number in range(len(found.registers))
            ]
            after = _forget(state, found.changed)
            for register, value in zip(found.registers, values, strict=True):
                after = _put(after, register, value, 64)
            return (self._write_back(found, after, state),)
        after = self._write_back(found, _forget(state, found.changed), state)
        if found.kind is Kind.STORE and found.registers:
            states = [after]
            for number, register in enumerate(found.registers):
                place = _moved(address, number * found.size)
                states = [one for each in states for one in self._store(found, place, _get(state, register), each)]
            return states
        return self._store(found, address, None, after)

    @staticmethod
    def _write_back(found: Access, state: State, before: State) -> State:
        if found.writeback is Writeback.NONE:
            return state
        base = add(_get(before, found.base), known((found.offset & _MASK,)), 64)
        return state.with_register(found.base, base)

    def _load(self, found: Access, address: Value, state: State) -> Value:
        bits = found.size * 8
        value: Value = None
        if isinstance(address, Place):
            value = self._load_from(address, bits, state)
        if isinstance(value, Known):
            if found.is_signed:
                return known(known((signed(number, bits) for number in value.numbers), found.bits).numbers, 64)
            return known(value.numbers, 64)
        return value

    def _load_from(self, place: Place, bits: int, state: State) -> Value:
        gate = state.gate
        if place.base == STACK:
            return low(state.memory.get(place), bits)
        if place.base == _TASK:
            return Place(_COUNT, gate.pinned) if place.offset == _PREEMPT else None
        if place.base != _CPU or bits != 8:
            return None
        field = {_LEVEL: gate.level, _HELD: gate.held}.get((place.offset & _MASK) - self._copy)
        return None if field is None else known((field,), 8)

    def _store(self, found: Access, address: Value, value: Value, state: State) -> Iterable[State]:
        if not isinstance(address, Place):
            is_global = isinstance(address, Known) and address.bits == 64
            return (state if is_global else state.after_strange_store(),)
        if found.kind is Kind.REPEATED:
            state = state.after_strange_store()
        if address.base == STACK:
            size = max(found.size, 8) if found.kind is not Kind.STORE else found.size
            is_kept = isinstance(value, Known) or isinstance(value, Place) and value.base in (STACK, _TASK)
            kept = low(value, found.size * 8) if is_kept else None
            return (state.with_memory(address, size, kept),)
        if address.base == _TASK:
            return self._store_in_task(address.offset, found.size, value, state)
        if address.base == _CPU:
            return self._store_in_copy((address.offset & _MASK) - self._copy, found.size, value, state)
        return (state,)

    @staticmethod
    def _store_in_task(offset: int, size: int, value: Value, state: State) -> Iterable[State]:
        gate = state.gate
        if offset <= _PREEMPT < offset + size:
            count = value.offset if isinstance(value, Place) and value.base == _COUNT and offset == _PREEMPT else 0
            state = state.with_gate(replace(gate, pinned=min(max(count, 0), DEEPEST)))
        return (state,)

    def _store_in_copy(self, offset: int, size: int, value: Value, state: State) -> Iterable[State]:
        """A store to the gate's own state; values that are not known are tried."""
        gate = state.gate
        if offset == 0 and size == 8:  # the word: only zero is ever written
            return (state.with_gate(replace(gate, level=0, held=0, pushed=())),)
        if offset <= _HELD < offset + size:
            held = {int(bool(number)) for number in value.numbers} if isinstance(value, Known) and size == 1 else {0, 1}
            return [state.with_gate(replace(gate, held=number)) for number in sorted(held)]
        if offset > _LEVEL or offset + size <= _LEVEL:
            return (state,)
        numbers = sorted(known(value.numbers, 8).numbers) if isinstance(value, Known) and size == 1 else None
        return [state.with_gate(replace(gate, level=level)) for level in numbers or self.levels]

    # --- instructions

    def _unknown(self, decoded: Decoded, state: State) -> Iterable[State]:
        """What it writes is not known."""
        after = _forget(state, decoded.written)
        return (replace(after, flags=None) if decoded.sets_flags else after,)

    def _constant(self, decoded: Decoded, state: State) -> Iterable[State]:
        return (_put(state, decoded.target, known((decoded.number,)), decoded.bits),)

    def _keep(self, decoded: Decoded, state: State) -> Iterable[State]:
        """MOVK: the other bits stay."""
        shift = decoded.shift[1]
        value = apply(
            lambda number: number & ~(0xFFFF << shift) | decoded.number << shift,
            (low(_get(state, decoded.target), decoded.bits),),
            decoded.bits,
        )
        return (_put(state, decoded.target, value, decoded.bits),)

    def _system(self, decoded: Decoded, state: State) -> Iterable[State]:
        value: Value = None
        if decoded.number in MY_CPU:
            value = Place(_CPU, 0)
        elif decoded.number == MY_TASK:
            value = Place(_TASK, 0)
        elif decoded.number == GATE and state.gate.register is not None:
            value = known((state.gate.register,))
        return (_put(state, decoded.target, value, 64),)

    def _second(self, decoded: Decoded, state: State) -> Value:
        """The second operand, shifted or extended."""
        if decoded.two is None:
            return known((decoded.number,), decoded.bits)
        kind, amount = decoded.shift
        value = _get(state, decoded.two)
        if kind == "lsl" and not amount:
            is_count = isinstance(value, Place) and value.base == _COUNT
            return value if decoded.bits == 64 or is_count else low(value, 32)
        if kind[:3] in ("uxt", "sxt"):
            bits = {"b": 8, "h": 16, "w": 32}[kind[3]]
            value = low(value, bits) if isinstance(value, Known) else None
            sign = kind[0] == "s"
            return apply(lambda number: (signed(number, bits) if sign else number) << amount, (value,), decoded.bits)
        shift = {"lsl": lambda number: number << amount, "lsr": lambda number: number >> amount}.get(kind)
        return apply(shift, (low(value, decoded.bits),), decoded.bits) if shift and isinstance(value, Known) else None

    def _compute(self, decoded: Decoded, state: State) -> Iterable[State]:
        bits, name = decoded.bits, decoded.name
        one, other = _get(state, decoded.one), self._second(decoded, state)
        if name in ("add", "sub") and not decoded.sets_flags:
            value = add(one, other if name == "add" else negative(other), bits)
            return (_put(state, decoded.target, value, bits),)
        if name == "or" and decoded.one == ZERO:  # a move
            return (_put(state, decoded.target, other, bits),)
        is_same = decoded.one == decoded.two and decoded.shift == ("lsl", 0)
        results = outcomes(name, low(one, bits), other, bits, is_same)
        value = known((result for _, result, _ in results), bits) if results else _masked(name, one, other, bits)
        after = state if decoded.target == ZERO else _put(state, decoded.target, value, bits)
        return (self._with_flags(decoded, results, other, after) if decoded.sets_flags else after,)

    @staticmethod
    def _with_flags(decoded: Decoded, results: Outcomes, other: Value, state: State) -> State:
        where = decoded.one if decoded.one not in (decoded.target, ZERO) else None
        tested: Tested | None = None
        if results:
            tested = Tested(tuple((number, flags) for number, _, flags in results), where, decoded.bits)
        elif where is not None and decoded.name == "sub" and isinstance(other, Known) and len(other.numbers) == 1:
            tested = Tested((), where, decoded.bits, min(other.numbers))
        return replace(state, flags=tested)

    def _compare_if(self, decoded: Decoded, state: State) -> Iterable[State]:
        """CCMP: a comparison if a condition holds, else flags that it says."""
        found = []
        for way in possible(state.flags, _NAMES.get(decoded.condition, decoded.condition)):
            assumed = self._assume(state, decoded.condition, way)
            if assumed is None:
                continue
            one = low(_get(assumed, decoded.one), decoded.bits)
            other = self._second(decoded, assumed)
            results = outcomes("sub" if decoded.name == "ccmp" else "add", one, other, decoded.bits, False)
            if not way:
                flags = _flags_of(decoded.shift[1])
                results = [(number, 0, flags) for number in one.numbers] if isinstance(one, Known) else [(0, 0, flags)]
            where = decoded.one if isinstance(one, Known) and decoded.one != ZERO else None
            tested = Tested(tuple((number, flags) for number, _, flags in results), where, decoded.bits)
            found.append(replace(assumed, flags=tested if results else None))
        return found

    def _select(self, decoded: Decoded, state: State) -> Iterable[State]:
        """CSEL and its like: the first register, or the second one with a change."""
        change = {
            "csinc": lambda number: number + 1,
            "csinv": lambda number: ~number,
            "csneg": lambda number: -number,
        }.get(decoded.name)
        results = []
        for way in (True, False):
            if way not in possible(state.flags, _NAMES.get(decoded.condition, decoded.condition)):
                continue
            assumed = self._assume(state, decoded.condition, way)
            if assumed is None:
                continue
            value = _get(assumed, decoded.one if way else decoded.two)
            if not way and change:
                value = apply(change, (low(value, decoded.bits),), decoded.bits)
            results.append(_put(assumed, decoded.target, value, decoded.bits))
        return results

    def _field(self, decoded: Decoded, state: State) -> Iterable[State]:
        """UBFM, SBFM and BFM: shifts by a constant, and parts of a register."""
        first, last = decoded.number >> 8, decoded.number & 0xFF
        value = _get(state, decoded.one)
        bits = last - first + 1
        if decoded.name == "bfm" or last < first and decoded.name == "sbfm":
            return self._unknown(decoded, state)
        if last < first:  # to the left
            mask, shift = (1 << (last + 1)) - 1, decoded.bits - first
            result = apply(lambda number: (number & mask) << shift, (low(value, last + 1),), decoded.bits)
            return (_put(state, decoded.target, result, decoded.bits),)
        part = low(value, last + 1) if isinstance(value, Known) else None
        result = apply(lambda number: number >> first, (part,), bits)
        if isinstance(result, Known):
            numbers = result.numbers
            if decoded.name == "sbfm":
                numbers = frozenset(signed(number, bits) for number in numbers)
            result = known(numbers, decoded.bits)
        return (_put(state, decoded.target, result, decoded.bits),)


def outcomes(name: str, one: Value, other: Value, bits: int, is_same: bool) -> Outcomes:
    """For each pair of numbers the first one, the result and the flags: zero, borrow, sign, overflow."""
    if is_same and name in ("sub", "xor"):
        one = other = known((0,), bits)
    if not isinstance(one, Known) or not isinstance(other, Known) or min(one.bits, other.bits) < bits:
        return []
    one, other = known(one.numbers, bits), known(other.numbers, bits)
    pairs = ((a, a) for a in one.numbers) if is_same else product(sorted(one.numbers), sorted(other.numbers))
    return [(a, *_result(name, a, b, bits)) for a, b in pairs]


def _result(name: str, one: int, other: int, bits: int) -> tuple[int, Flags]:
    mask, top = (1 << bits) - 1, 1 << (bits - 1)
    borrow: bool | None = True
    overflow: bool | None = False
    if name == "sub":
        result = (one - other) & mask
        borrow, overflow = one < other, bool((one ^ other) & (one ^ result) & top)
    elif name == "add":
        result = (one + other) & mask
        borrow, overflow = one + other <= mask, bool(~(one ^ other) & (one ^ result) & top)
    elif name in ("shl", "shr"):
        count = other & (bits - 1)
        result = (one << count if name == "shl" else one >> count) & mask
    else:
        other = ~other & mask if name in ("bic", "orn", "eon") else other
        name = {"bic": "and", "orn": "or", "eon": "xor"}.get(name, name)
        result = {"and": one & other, "or": one | other, "xor": one ^ other}[name]
    return result, (result == 0, borrow, bool(result & top), overflow)


def _flags_of(number: int) -> Flags:
    """Flags as CCMP has them: sign, zero, carry, overflow."""
    return bool(number & 4), not number & 2, bool(number & 8), bool(number & 1)


def _masked(name: str, one: Value, other: Value, bits: int) -> Value:
    """What is known of AND with a constant that leaves no bit."""
    zero = any(isinstance(value, Known) and value.numbers == {0} and value.bits >= bits for value in (one, other))
    return known((0,), bits) if name == "and" and zero else None


def negative(value: Value) -> Value:
    """The same number with the other sign."""
    return apply(lambda number: -number, (value,), value.bits) if isinstance(value, Known) else None


def add(one: Value, other: Value, bits: int) -> Value:
    """A sum: a place and one number is another place."""
    if isinstance(other, Place):
        one, other = other, one
    if not isinstance(one, Place):
        return apply(lambda a, b: a + b, (low(one, bits), low(other, bits)), bits)
    if not isinstance(other, Known) or len(other.numbers) != 1 or other.bits < bits:
        return None
    if bits != 64 and one.base != _COUNT:
        return None
    return Place(one.base, one.offset + signed(min(other.numbers), bits))


def _moved(address: Value, offset: int) -> Value:
    return add(address, known((offset,)), 64) if offset else address


def _get(state: State, number: int | None) -> Value:
    return known((0,)) if number == ZERO or number is None else state.registers[number]


def _put(state: State, number: int, value: Value, bits: int) -> State:
    """A register with another value: its upper half is zero behind an instruction of 32 bits."""
    if number == ZERO:
        return state
    if bits == 32 and isinstance(value, Known):
        value = known(value.numbers, 64) if value.bits >= 32 else None
        value = known(known(value.numbers, 32).numbers, 64) if isinstance(value, Known) else None
    elif bits == 32 and isinstance(value, Place) and value.base != _COUNT:
        value = None
    return state.with_register(number, value)


def _forget(state: State, numbers: Iterable[int]) -> State:
    for number in numbers:
        if number != ZERO:
            state = state.with_register(number, None)
    return state


def _nothing(architecture: Arm64, decoded: Decoded, state: State) -> Iterable[State]:
    return (state,)


_HANDLERS: dict[str, Any] = {
    "memory": Arm64._access,
    "constant": Arm64._constant,
    "movk": Arm64._keep,
    "mrs": Arm64._system,
    "msr": _nothing,
    "nop": _nothing,
    **dict.fromkeys(("add", "sub", "and", "or", "xor", "bic", "orn", "eon", "shl", "shr"), Arm64._compute),
    **dict.fromkeys(("ccmp", "ccmn"), Arm64._compare_if),
    **dict.fromkeys(("csel", "csinc", "csinv", "csneg"), Arm64._select),
    **dict.fromkeys(("ubfm", "sbfm", "bfm"), Arm64._field),
}
