# SPDX-License-Identifier: GPL-2.0-only
"""What is known of a register or of a place in memory: a few numbers, an address on the stack, or nothing (None)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

_MOST_VALUES = 8  # numbers that one place may have


@dataclass(frozen=True, slots=True)
class Known:
    """The low `bits` bits are one of `numbers` (unsigned); what is above them is not known."""

    numbers: frozenset[int]
    bits: int


@dataclass(frozen=True, slots=True)
class Place:
    """An address: `offset` bytes behind what `base` names, as the function was entered."""

    base: str
    offset: int


Value = Known | Place | None


def known(numbers: Iterable[int], bits: int = 64) -> Known:
    """Numbers that are reduced to their low bits."""
    mask = (1 << bits) - 1
    return Known(frozenset(number & mask for number in numbers), bits)


def low(value: Value, bits: int) -> Value:
    """The low bits of a value, all of them known, or None."""
    if isinstance(value, Known):
        return known(value.numbers, bits) if value.bits >= bits else None
    return value if bits == 64 else None


def put_low(old: Value, new: Value, bits: int) -> Value:
    """What a register has when its low bits are replaced and the others stay."""
    if not isinstance(new, Known):
        return None
    if not isinstance(old, Known) or old.bits <= bits:
        return new
    mask = (1 << bits) - 1
    return apply(lambda above, below: (above & ~mask) | (below & mask), (old, new), old.bits)


def signed(number: int, bits: int) -> int:
    """A number of so many bits, read as a signed one."""
    return number - (1 << bits) if number >> (bits - 1) & 1 else number


def apply(function: Callable[..., int], operands: Iterable[Value], bits: int) -> Value:
    """The results for all combinations of numbers, or None when they are unknown or too many."""
    sets = []
    for operand in operands:
        if not isinstance(operand, Known):
            return None
        sets.append(operand.numbers)
    results = {function(*numbers) for numbers in product(*sets)}
    return known(results, bits) if len(results) <= _MOST_VALUES else None


def join(one: Value, other: Value, marks: frozenset[int]) -> Value:
    """What is known where two ways meet; numbers that differ are kept together only if all are among `marks`."""
    if one == other or not (isinstance(one, Known) and isinstance(other, Known)):
        return one if one == other else None
    bits = min(one.bits, other.bits)
    both = known(one.numbers | other.numbers, bits)
    return both if len(both.numbers) == 1 or both.numbers <= marks else None
