# SPDX-License-Identifier: GPL-2.0-only
"""x86-64: results of arithmetic for known numbers."""

from itertools import product

from portcullis.core.sections.conditions import Flags
from portcullis.core.sections.values import Known, Value, known, signed

Outcomes = list[tuple[int, int, Flags]]  # a number, the result, its flags


def masked(name: str, one: Value, other: Value, bits: int) -> Value:
    """What is known of AND with a constant that leaves no bit."""
    for value in (one, other):
        if name == "and" and isinstance(value, Known) and value.numbers == {0}:
            return known((0,), bits)
    return None


def outcomes(name: str, one: Value, other: Value, bits: int, is_same: bool) -> Outcomes:
    """For each pair of numbers the first one, the result and the flags; empty if they are not known.

    `is_same` says that both operands are one register.
    """
    if name in ("neg", "not"):
        other = known((0,), bits)
    if not isinstance(one, Known) or not isinstance(other, Known):
        return []
    numbers = known(other.numbers, bits).numbers if other.bits >= bits else _sign_extended(other, bits)
    pairs = ((a, a) for a in one.numbers) if is_same else product(sorted(one.numbers), sorted(numbers))
    return [(a, *_result(name, a, b, bits)) for a, b in pairs]


def _sign_extended(value: Known, bits: int) -> frozenset[int]:
    return known((signed(number, value.bits) for number in value.numbers), bits).numbers


def _result(name: str, one: int, other: int, bits: int) -> tuple[int, Flags]:
    mask, top = (1 << bits) - 1, 1 << (bits - 1)
    carry: bool | None = False
    overflow: bool | None = False
    if name in ("cmp", "sub", "dec"):
        result = (one - other) & mask
        carry, overflow = one < other, bool((one ^ other) & (one ^ result) & top)
    elif name in ("add", "inc"):
        result = (one + other) & mask
        carry, overflow = one + other > mask, bool(~(one ^ other) & (one ^ result) & top)
    elif name in ("shl", "sal", "shr"):
        count = other & 63
        result = (one << count if name != "shr" else one >> count) & mask
        carry = overflow = None
    elif name == "neg":
        result, carry, overflow = -one & mask, one != 0, None
    elif name == "not":
        result = ~one & mask
    else:
        result = {"and": one & other, "test": one & other, "or": one | other, "xor": one ^ other}[name]
    if name in ("inc", "dec"):
        carry = None
    return result, (result == 0, carry, bool(result & top), overflow)
