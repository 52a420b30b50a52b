# SPDX-License-Identifier: GPL-2.0-only
"""arm64: instructions, read bit by bit, and the accesses to POR_EL1.

What is not known here is no instruction: vectors with a length of their own, tags of memory, indirect branches that
may be tables of a switch.
"""

import re
from dataclasses import dataclass, replace

from portcullis.core.sections.arm64_memory import (
    LINK,
    ZERO,
    Access,
    Kind,
    access,
    field,
    general,
    is_memory,
    prefetches,
    signed_field,
)
from portcullis.core.sections.kernel import Kernel
from portcullis.core.sections.machine import Flow, Instruction

_MASK = (1 << 64) - 1
_BUG = 0x800  # number in the BRK of BUG() and WARN()
_TAIL_CALLS = (16, 17, 29, 30)  # registers; the entry code has no frame
_CONDITIONS = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "al")
_LINKED_HINTS = frozenset((7, *range(24, 32)))  # sign, check or strip the return address
_SIGNING_HINTS = frozenset((8, 10, 12, 14))  # the same for X17

# System registers, as MRS and MSR have them behind the direction.
GATE = 0x18A280
MY_CPU = (0x18D080, 0x1CD040)  # TPIDR_EL1, TPIDR_EL2
MY_TASK = 0x184100  # SP_EL0


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction: operands as far as `name` has them.

    `shift` is what the second operand is shifted by: its kind and how far. `number` is an immediate, and `system` a
    system register. `written` are all registers that it may change.
    """

    name: str
    bits: int = 64
    target: int = ZERO
    one: int = ZERO
    two: int | None = None
    number: int = 0
    shift: tuple[str, int] = ("lsl", 0)
    sets_flags: bool = False
    condition: str = ""
    access: Access | None = None
    written: frozenset[int] = frozenset()


_Found = tuple[Decoded, Flow, int | None] | None


class Decoder:
    """Decodes the code of one kernel; each address once."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._decoded: dict[int, Instruction | None] = {}

    def decode(self, address: int) -> Instruction | None:
        """The instruction at an address, None where there is none that is known."""
        if address not in self._decoded:
            code = self._kernel.code(address, 4)
            self._decoded[address] = decode(int.from_bytes(code, "little"), address) if len(code) == 4 else None
        return self._decoded[address]


def decode(word: int, address: int) -> Instruction | None:
    """What an instruction does, None if it is not known."""
    if is_memory(word):
        found = _memory(word)
    elif field(word, 28, 26) == 0b100:
        found = _with_immediate(word, address)
    elif field(word, 28, 26) == 0b101:
        found = _control(word, address)
    elif field(word, 27, 25) == 0b101:
        found = _with_registers(word)
    elif field(word, 27, 25) == 0b111:
        found = _next(Decoded("vector", target=general(field(word, 4, 0))))
    else:
        found = None
    if found is None:
        return None
    decoded, flow, target = found
    written = decoded.written | ({decoded.target} - {ZERO})
    return Instruction(address, 4, flow, target, None, replace(decoded, written=written))


def _next(decoded: Decoded) -> _Found:
    return decoded, Flow.NEXT, None


def _memory(word: int) -> _Found:
    if prefetches(word):
        return _next(Decoded("nop"))
    found = access(word)
    return _next(Decoded("memory", access=found, written=found.written)) if found else None


# --- with an immediate


def _with_immediate(word: int, address: int) -> _Found:
    bits = 64 if field(word, 31, 31) else 32
    target, one = field(word, 4, 0), field(word, 9, 5)
    kind = field(word, 25, 23)
    if kind in (0, 1):
        return _next(_relative(word, address))
    if kind == 2:
        return _next(_add_immediate(word, bits, target, one))
    if kind == 4:
        return _logical_immediate(word, bits, target, one)
    if kind == 5:
        return _wide(word, bits, target)
    if kind == 6:
        name = {0: "sbfm", 1: "bfm", 2: "ubfm"}.get(field(word, 30, 29))
        number = field(word, 21, 16) << 8 | field(word, 15, 10)
        return _next(Decoded(name, bits, general(target), general(one), number=number)) if name else None
    return _next(Decoded("unknown", bits, target)) if kind == 7 else None


def _relative(word: int, address: int) -> Decoded:
    number = signed_field(word, 23, 5) << 2 | field(word, 30, 29)
    if field(word, 31, 31):
        return Decoded("constant", 64, general(field(word, 4, 0)), number=((address & ~0xFFF) + (number << 12)) & _MASK)
    return Decoded("constant", 64, general(field(word, 4, 0)), number=(address + number) & _MASK)


def _add_immediate(word: int, bits: int, target: int, one: int) -> Decoded:
    sets_flags = bool(field(word, 29, 29))
    number = field(word, 21, 10) << (12 if field(word, 22, 22) else 0)
    name = "sub" if field(word, 30, 30) else "add"
    return Decoded(name, bits, general(target) if sets_flags else target, one, number=number, sets_flags=sets_flags)


def _logical_immediate(word: int, bits: int, target: int, one: int) -> _Found:
    number = mask_of(field(word, 22, 22), field(word, 15, 10), field(word, 21, 16), bits)
    if number is None:
        return None
    opc = field(word, 30, 29)
    name = ("and", "or", "xor", "and")[opc]
    return _next(
        Decoded(name, bits, general(target) if opc == 3 else target, general(one), number=number, sets_flags=opc == 3)
    )


def mask_of(n: int, ones: int, rotation: int, bits: int) -> int | None:
    """The number that a logical immediate stands for."""
    length = (n << 6 | (~ones & 0x3F)).bit_length() - 1
    if length < 1 or (1 << length) > bits:
        return None
    size = 1 << length
    count, turn = (ones & (size - 1)) + 1, rotation & (size - 1)
    if count == size:
        return None
    element = (1 << count) - 1
    element = (element >> turn | element << (size - turn)) & ((1 << size) - 1)
    found = 0
    for place in range(0, bits, size):
        found |= element << place
    return found


def _wide(word: int, bits: int, target: int) -> _Found:
    number, shift = field(word, 20, 5), 16 * field(word, 22, 21)
    mask = (1 << bits) - 1
    opc = field(word, 30, 29)
    if opc == 3:
        return _next(Decoded("movk", bits, general(target), number=number, shift=("lsl", shift)))
    if opc == 1:
        return None
    constant = (number << shift) & mask
    return _next(Decoded("constant", bits, general(target), number=constant if opc == 2 else ~constant & mask))


# --- with registers


def _with_registers(word: int) -> _Found:
    bits = 64 if field(word, 31, 31) else 32
    target, one, two = (general(field(word, high, low)) for high, low in ((4, 0), (9, 5), (20, 16)))
    group = field(word, 24, 21)
    if not field(word, 28, 28):
        return _next(_shifted(word, bits, target, one, two))
    if group == 0b0010:
        return _conditional_compare(word, bits, one, two)
    if group == 0b0100:
        name = ("csel", "csinc", "csinv", "csneg")[field(word, 30, 30) << 1 | field(word, 10, 10)]
        return _next(Decoded(name, bits, target, one, two, condition=_CONDITIONS[field(word, 15, 12)]))
    if group == 0b0110 and field(word, 30, 30) == 0 and field(word, 15, 12) == 0b0010:
        name = ("shl", "shr", "unknown", "unknown")[field(word, 11, 10)]
        return _next(Decoded(name, bits, target, one, two))
    if group in (0b0000, 0b0110):
        return _next(Decoded("unknown", bits, target, sets_flags=True))
    return _next(Decoded("unknown", bits, target)) if group & 8 else None


def _shifted(word: int, bits: int, target: int, one: int, two: int) -> Decoded:
    opc = field(word, 30, 29)
    if not field(word, 24, 24):
        name = ("and", "or", "xor", "and")[opc]
        shift = (("lsl", "lsr", "asr", "ror")[field(word, 23, 22)], field(word, 15, 10))
        name = {"and": "bic", "or": "orn", "xor": "eon"}[name] if field(word, 21, 21) else name
        return Decoded(name, bits, target, one, two, shift=shift, sets_flags=opc == 3)
    name, sets_flags = "sub" if opc & 2 else "add", bool(opc & 1)
    if not field(word, 21, 21):
        shift = (("lsl", "lsr", "asr", "none")[field(word, 23, 22)], field(word, 15, 10))
        return Decoded(name, bits, target, one, two, shift=shift, sets_flags=sets_flags)
    extend = ("uxtb", "uxth", "uxtw", "lsl", "sxtb", "sxth", "sxtw", "lsl")[field(word, 15, 13)]
    target = target if sets_flags else field(word, 4, 0)
    amount = field(word, 12, 10)
    shift = (extend, amount)
    return Decoded(name, bits, target, field(word, 9, 5), two, shift=shift, sets_flags=sets_flags)


def _conditional_compare(word: int, bits: int, one: int, two: int) -> _Found:
    name = "ccmp" if field(word, 30, 30) else "ccmn"
    is_immediate = field(word, 11, 11)
    return _next(
        Decoded(
            name,
            bits,
            one=one,
            two=None if is_immediate else two,
            number=field(word, 20, 16),
            condition=_CONDITIONS[field(word, 15, 12)],
            shift=("flags", field(word, 3, 0)),
        )
    )


# --- branches, exceptions, system


def _control(word: int, address: int) -> _Found:
    if field(word, 30, 26) == 0b00101:
        target = (address + signed_field(word, 25, 0) * 4) & _MASK
        if field(word, 31, 31):
            return Decoded("bl", written=frozenset((LINK,))), Flow.CALL, target
        return Decoded("b"), Flow.JUMP, target
    if field(word, 30, 25) == 0b011010:
        return _compare_and_branch(word, address)
    if field(word, 30, 25) == 0b011011:
        bit = field(word, 31, 31) << 5 | field(word, 23, 19)
        name = "tbnz" if field(word, 24, 24) else "tbz"
        target = (address + signed_field(word, 18, 5) * 4) & _MASK
        return Decoded(name, one=general(field(word, 4, 0)), number=bit), Flow.BRANCH, target
    if field(word, 31, 24) == 0b01010100:
        target = (address + signed_field(word, 23, 5) * 4) & _MASK
        return Decoded("b.cond", condition=_CONDITIONS[field(word, 3, 0)]), Flow.BRANCH, target
    if field(word, 31, 24) == 0b11010100:
        return _exception(word)
    if field(word, 31, 22) == 0b1101010100:
        return _system(word)
    return _indirect(word) if field(word, 31, 25) == 0b1101011 else None


def _compare_and_branch(word: int, address: int) -> _Found:
    name, bits = "cbnz" if field(word, 24, 24) else "cbz", 64 if field(word, 31, 31) else 32
    target = (address + signed_field(word, 23, 5) * 4) & _MASK
    return Decoded(name, bits, one=general(field(word, 4, 0))), Flow.BRANCH, target


def _exception(word: int) -> _Found:
    """BRK of BUG() and WARN(); HVC and SMC call what is not in the kernel."""
    opc, level = field(word, 23, 21), field(word, 4, 0)
    if opc == 1 and not level and field(word, 20, 5) == _BUG:
        return Decoded("brk"), Flow.TRAP, None
    if opc == 0 and level in (2, 3):
        return Decoded("hvc", written=frozenset(range(18))), Flow.INDIRECT_CALL, None
    return None


def _indirect(word: int) -> _Found:
    """Calls and returns; a branch through few registers only, since through others it may be a table of a switch."""
    operation = field(word, 24, 21)
    if field(word, 20, 16) != 0b11111:
        return None
    if operation in (0b0001, 0b1001):
        return Decoded("blr", written=frozenset((LINK,))), Flow.INDIRECT_CALL, None
    if operation in (0b0010, 0b0100):
        return Decoded("ret"), Flow.RETURN, None
    if operation in (0b0000, 0b1000) and field(word, 9, 5) in _TAIL_CALLS:
        return Decoded("br"), Flow.INDIRECT_JUMP, None
    return None


def _system(word: int) -> _Found:
    register = general(field(word, 4, 0))
    if word & 0xFFFFF01F == 0xD503201F:
        return _next(_hint(field(word, 11, 5)))
    if field(word, 20, 20):
        name, number = ("mrs" if field(word, 21, 21) else "msr"), word & 0x1FFFE0
        if name == "mrs":
            return _next(Decoded(name, target=register, number=number))
        return _next(Decoded(name, one=register, number=number))
    if field(word, 20, 19) == 1:
        return _operation(word, register)
    is_barrier = word & 0xFFFFF01F in (0xD503301F, 0xD503101F)
    is_immediate = word & 0xFFF8F01F == 0xD500401F
    return _next(Decoded("nop")) if is_barrier or is_immediate else None


def _operation(word: int, register: int) -> _Found:
    """SYS: of caches and TLBs; DC ZVA clears memory."""
    if field(word, 21, 21):
        return _next(Decoded("unknown", target=register))
    if word & 0xFFFFFFE0 in (0xD50B7420, 0xD50B7460, 0xD50B7480):
        return _next(Decoded("memory", access=Access(Kind.REPEATED, field(word, 4, 0), size=64)))
    return _next(Decoded("nop"))


def _hint(number: int) -> Decoded:
    if number in _LINKED_HINTS:
        return Decoded("sign", written=frozenset((LINK,)))
    return Decoded("sign", written=frozenset((17,))) if number in _SIGNING_HINTS else Decoded("nop")


# --- POR_EL1

_WRITE = re.compile(rb"[\x80-\x9f]\xa2\x18\xd5", re.DOTALL)
_USER_KEYS = 0x7777  # indexes 0 to 3, which a level never restricts
_READS_SECRETS = 0x100000
_WRITES = 0x44400000


def gate_writes(kernel: Kernel) -> frozenset[int]:
    """Addresses of the instructions that write POR_EL1; raises ValueError if there are none."""
    found = set()
    for start, code in kernel.executable():
        for match in _WRITE.finditer(code):
            if (start + match.start()) % 4 == 0:
                found.add(start + match.start())
    if not found:
        raise ValueError("nothing writes POR_EL1")
    return frozenset(found)


def constants(kernel: Kernel, writes: frozenset[int]) -> set[int]:
    """Values that are made for the register in functions that write it."""
    found = set()
    functions = {kernel.function_at(address) for address in writes} - {None}
    for function in functions:
        registers: dict[int, int] = {}
        for address in range(function.start, function.end, 4):
            instruction = decode(int.from_bytes(kernel.code(address, 4), "little"), address)
            raw = instruction.raw if instruction else None
            if raw and raw.name == "constant":
                registers[raw.target] = raw.number
            elif raw and raw.name == "movk" and raw.target in registers:
                shift = raw.shift[1]
                registers[raw.target] = registers[raw.target] & ~(0xFFFF << shift) | raw.number << shift
                found.add(registers[raw.target])
    return {number for number in found if number & 0xFFFF == _USER_KEYS and number >> 32 == 0}


def levels_of(values: set[int]) -> tuple[int, dict[int, int]]:
    """The register's value when the gate is shut, and of each level.

    Four bits for each index; the default level grants what all others do and no more.
    """
    default = -1
    for value in values:
        default &= value
    state, tables, secrets, guarded = 0x4000000, 0x40000000, 0x500000, 0x40000
    levels = {0: default, 1: default | state | tables}
    if not values or not {default, levels[1]} <= values:
        raise ValueError(f"no write of POR_EL1 shuts or opens the gate: {', '.join(map(hex, sorted(values)))}")
    for level, granted in ((2, secrets), (3, guarded)):
        if default | state | granted in values:
            levels[level] = default | state | granted
    return default, levels


def user_of(values: set[int]) -> int | None:
    """The register's value while user space runs, if that is another one: it may read secrets, and write nothing."""
    return next((value for value in values if value | _READS_SECRETS == value and not value & _WRITES), None)
