# SPDX-License-Identifier: GPL-2.0-only
"""arm64: loads and stores, read bit by bit as the Arm Architecture Reference Manual lays them out (C4.1, "Loads and
stores").

All instructions that access memory have one form in bits 25 and 27, so what is not known here is told apart from what
stores nothing.
"""

from dataclasses import dataclass
from enum import Enum, auto

STACK_POINTER, ZERO = 31, 32  # numbers of registers; the encoding has 31 for both
LINK = 30


class Kind(Enum):
    """What an access does."""

    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()  # a read, change and write in one, or a store that may fail
    REPEATED = auto()  # memset(), memcpy()


class Writeback(Enum):
    """Whether the base register changes, and whether the access is behind that."""

    NONE = auto()
    BEFORE = auto()
    BEHIND = auto()


@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store of `registers`, each `size` bytes.

    At base + offset, or base + (index << shift); `extends` says that only the low half of the index counts. A load
    widens a signed value to `bits`. `changed` are other registers that are not known behind it.
    """

    kind: Kind
    base: int
    registers: tuple[int, ...] = ()
    size: int = 8
    offset: int = 0
    index: int | None = None
    shift: int = 0
    extends: bool = False
    writeback: Writeback = Writeback.NONE
    is_signed: bool = False
    bits: int = 64
    changed: tuple[int, ...] = ()

    @property
    def written(self) -> frozenset[int]:
        """Registers that it changes."""
        loaded = self.registers if self.kind is Kind.LOAD else ()
        base = (self.base,) if self.writeback is not Writeback.NONE else ()
        return frozenset((*loaded, *base, *self.changed)) - {ZERO}


def field(word: int, high: int, low: int) -> int:
    """Bits `high` to `low`."""
    return (word >> low) & ((1 << (high - low + 1)) - 1)


def signed_field(word: int, high: int, low: int) -> int:
    """Bits `high` to `low`, a signed number."""
    value, bits = field(word, high, low), high - low + 1
    return value - (1 << bits) if value >> (bits - 1) else value


def general(number: int) -> int:
    """A register where 31 is the zero register."""
    return ZERO if number == 31 else number


def is_memory(word: int) -> bool:
    """Whether it belongs to the loads and stores."""
    return field(word, 27, 27) == 1 and field(word, 25, 25) == 0


def access(word: int) -> Access | None:
    """The load or store of an instruction; None if there is none that is known."""
    form, top = field(word, 29, 27), field(word, 25, 24)
    if form == 0b101:
        return _pair(word)
    if form == 0b111:
        return _single(word)
    if form == 0b001 and not field(word, 26, 26) and top == 0:
        return _exclusive(word)
    if form == 0b001 and field(word, 26, 26) and not field(word, 31, 31):
        return _vectors(word)
    if form == 0b011:
        return _literal(word) if top == 0 else _ordered(word) if top == 1 else None
    return None


def prefetches(word: int) -> bool:
    """Whether it only says what will be accessed."""
    size, opc = field(word, 31, 30), field(word, 23, 22)
    plain = field(word, 29, 27) == 0b111 and not field(word, 26, 26) and (size, opc) == (3, 2)
    if field(word, 25, 24) == 0:
        plain = plain and (field(word, 21, 21), field(word, 11, 10)) in ((0, 0), (1, 2))
    literal = field(word, 31, 24) == 0b11011000
    return plain and field(word, 25, 24) in (0, 1) or literal


def _exclusive(word: int) -> Access | None:
    """Exclusive and ordered accesses, and compare and swap."""
    size, base = 1 << field(word, 31, 30), field(word, 9, 5)
    status, one, two = (general(field(word, high, low)) for high, low in ((20, 16), (4, 0), (14, 10)))
    ordered, is_load, pairs = (field(word, bit, bit) for bit in (23, 22, 21))
    if ordered and pairs:
        return Access(Kind.ATOMIC, base, size=size, changed=(status,)) if two == ZERO else None
    if ordered:
        return Access(Kind.LOAD if is_load else Kind.STORE, base, (one,), size, bits=max(32, size * 8))
    if pairs and size < 4:
        number = field(word, 20, 16)  # an even one, and the next
        changed = (number, general(number + 1))
        return Access(Kind.ATOMIC, base, size=8 << (size - 1), changed=changed) if two == ZERO else None
    if not is_load:
        return Access(Kind.ATOMIC, base, size=size, changed=(status,))
    return Access(Kind.LOAD, base, (one, two) if pairs else (one,), size, bits=max(32, size * 8))


def _literal(word: int) -> Access | None:
    """A load relative to itself: where from does not matter."""
    if field(word, 26, 26):
        return Access(Kind.LOAD, ZERO)
    return Access(Kind.LOAD, ZERO, changed=(general(field(word, 4, 0)),))


def _ordered(word: int) -> Access | None:
    """LDAPUR and STLUR, and the instructions that copy and set memory; tags of memory are not known."""
    if field(word, 21, 21):
        return None
    base, target = field(word, 9, 5), general(field(word, 4, 0))
    if field(word, 11, 10) == 1:
        return Access(Kind.REPEATED, field(word, 4, 0), changed=(target, general(base), general(field(word, 20, 16))))
    if field(word, 11, 10) or field(word, 26, 26):
        return None
    return _one(word, base, Writeback.NONE, signed_field(word, 20, 12))


def _pair(word: int) -> Access | None:
    opc, is_vector, is_load = field(word, 31, 30), field(word, 26, 26), field(word, 22, 22)
    if opc == 3 or (not is_vector and opc == 1 and not is_load):
        return None
    size = 4 << opc if is_vector else (4, 4, 8)[opc]
    writeback = {0: Writeback.NONE, 1: Writeback.BEHIND, 2: Writeback.NONE, 3: Writeback.BEFORE}[field(word, 25, 23)]
    registers = () if is_vector else (general(field(word, 4, 0)), general(field(word, 14, 10)))
    return Access(
        Kind.LOAD if is_load else Kind.STORE,
        field(word, 9, 5),
        registers,
        size,
        signed_field(word, 21, 15) * size,
        writeback=writeback,
        is_signed=not is_vector and opc == 1,
        bits=32 if opc == 0 else 64,
    )


def _single(word: int) -> Access | None:
    """One register, with an offset of one form or another; atomic operations."""
    base, form = field(word, 9, 5), field(word, 11, 10)
    if field(word, 24, 24):
        scale = _size(word)
        return _one(word, base, Writeback.NONE, field(word, 21, 10) * scale)
    if not field(word, 21, 21):
        writeback = {1: Writeback.BEHIND, 3: Writeback.BEFORE}.get(form, Writeback.NONE)
        return _one(word, base, writeback, signed_field(word, 20, 12))
    if form == 2:
        option = field(word, 15, 13)
        shift = _size(word).bit_length() - 1 if field(word, 12, 12) else 0
        return _one(word, base, Writeback.NONE, 0, (general(field(word, 20, 16)), shift, option in (2, 6)))
    if form == 0 and not field(word, 26, 26):
        return _atomic(word, base)
    return None  # loads of signed pointers


def _size(word: int) -> int:
    """Bytes of one register."""
    if field(word, 26, 26) and field(word, 23, 23):
        return 16
    return 1 << field(word, 31, 30)


def _one(
    word: int, base: int, writeback: Writeback, offset: int, index: tuple[int, int, bool] | None = None
) -> Access | None:
    size, opc = _size(word), field(word, 23, 22)
    is_vector = bool(field(word, 26, 26))
    is_load = bool(opc & 1) if is_vector else bool(opc)
    if not is_vector and (opc, size) in ((2, 8), (3, 8), (3, 4)):
        return None
    number, shift, extends = index or (None, 0, False)
    return Access(
        Kind.LOAD if is_load else Kind.STORE,
        base,
        () if is_vector else (general(field(word, 4, 0)),),
        size,
        offset,
        number,
        shift,
        extends,
        writeback,
        opc >= 2 and not is_vector,
        64 if opc == 2 or size == 8 else 32,
    )


def _atomic(word: int, base: int) -> Access | None:
    size, target = 1 << field(word, 31, 30), general(field(word, 4, 0))
    other, operation = field(word, 15, 15), field(word, 14, 12)
    if other and operation == 4:  # LDAPR
        return Access(Kind.LOAD, base, (target,), size, bits=max(32, size * 8))
    if other and operation:
        return None
    return Access(Kind.ATOMIC, base, size=size, changed=(target,))


def _vectors(word: int) -> Access | None:
    """Several registers that are not general."""
    if field(word, 25, 25) or (field(word, 23, 23) == 0 and field(word, 20, 16) and not field(word, 24, 24)):
        return None
    kind = Kind.LOAD if field(word, 22, 22) else Kind.STORE
    base = field(word, 9, 5)
    return Access(kind, base, size=16, changed=(base,) if field(word, 23, 23) else ())
