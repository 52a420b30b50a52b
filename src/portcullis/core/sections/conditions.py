# SPDX-License-Identifier: GPL-2.0-only
"""What flags decide, and what that says of the numbers that were compared.

Conditions have the names of x86. Carry is borrow behind a subtraction, as it is there; arm64 has the opposite.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from portcullis.core.sections.state import State, Tested
from portcullis.core.sections.values import Place, known, put_low

Flags = tuple[bool, bool | None, bool, bool | None]  # zero, carry, sign, overflow; None: not known


# Flag conditions: each a function of zero, carry, sign, overflow that is None where one of them is not known.
def _carry_or_zero(zero: bool, carry: bool | None) -> bool | None:
    return None if carry is None else carry or zero


def _less(sign: bool, overflow: bool | None) -> bool | None:
    return None if overflow is None else sign != overflow


def _less_or_zero(flags: Flags) -> bool | None:
    less = _less(flags[2], flags[3])
    return None if less is None else less or flags[0]


_CONDITIONS: dict[str, Any] = {
    "e": lambda flags: flags[0],
    "b": lambda flags: flags[1],
    "be": lambda flags: _carry_or_zero(flags[0], flags[1]),
    "s": lambda flags: flags[2],
    "l": lambda flags: _less(flags[2], flags[3]),
    "le": lambda flags: _less_or_zero(flags),
}
_SAME = {"z": "e", "c": "b", "nae": "b", "na": "be", "nge": "l", "ng": "le"}
_OPPOSITE = {
    **{"ne": "e", "nz": "e", "ae": "b", "nb": "b", "nc": "b", "a": "be", "nbe": "be"},
    **{"ns": "s", "ge": "l", "nl": "l", "g": "le", "nle": "le"},
}


def _holds(condition: str, flags: Flags) -> bool | None:
    """Whether a condition is true of flags; None if that is not known."""
    if condition in _OPPOSITE:
        found = _CONDITIONS[_OPPOSITE[condition]](flags)
        return None if found is None else not found
    rule = _CONDITIONS.get(_SAME.get(condition, condition))
    return rule(flags) if rule else None


def possible(tested: Tested | None, condition: str) -> set[bool]:
    """What a condition may turn out to be."""
    if tested is None or not tested.outcomes:
        return {False, True}
    found = {_holds(condition, flags) for _, flags in tested.outcomes}
    return {False, True} if None in found else {bool(way) for way in found}


def assume(state: State, condition: str, way: bool) -> State | None:
    """The state in which a condition is true or false; None if it cannot be."""
    tested = state.flags
    if tested is None:
        return state
    if not tested.outcomes:
        equal = condition in ("e", "z") and way or condition in ("ne", "nz") and not way
        return _narrowed(state, tested, (tested.equal,)) if equal and tested.equal is not None else state
    kept = [(number, flags) for number, flags in tested.outcomes if _holds(condition, flags) in (way, None)]
    if not kept:
        return None
    narrowed = _narrowed(state, tested, {number for number, _ in kept})
    return replace(narrowed, flags=replace(tested, outcomes=tuple(kept)))


def _narrowed(state: State, tested: Tested, numbers: Iterable[int]) -> State:
    """What was compared is one of these numbers."""
    value = known(numbers, tested.bits)
    if isinstance(tested.where, Place):
        if tested.where in state.memory or tested.bits <= 64:
            return replace(state, memory={**state.memory, tested.where: value})
    elif tested.where is not None:
        old = state.registers[tested.where]
        if isinstance(old, Place):
            return state
        return state.with_register(tested.where, put_low(old, value, tested.bits) if tested.bits < 32 else value)
    return state
