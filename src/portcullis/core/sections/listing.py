# SPDX-License-Identifier: GPL-2.0-only
"""The list of known sections, and what of a kernel is not on it.

A row names functions, says why their sections are harmless or that they are not closed, and bounds them: by the names
of what they call, by kinds of stores, by how many instructions store through a pointer, and by how many functions
their calls lead to. Bounds may be kept below, not exceeded. A section calls nothing: what a call saves on the stack
can be changed there. A row that names calls says why it cannot do without. What such a harmless section calls is a
helper: a function with a row of its own, of which all code is taken to run with the gate open. Nor does a harmless
section that uses the stack store through a pointer, which may have waited there. docs/testing.md says how to add a row.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from portcullis.core.sections.graph import Reach
from portcullis.core.sections.machine import POINTER_KINDS, STACK
from portcullis.core.sections.proof import Section

_NUMBERS = ("pointers", "reach")
_ROW_WORDS = frozenset(
    (
        *("functions", "why", "not-closed", "stores", "calls", "calls-why", "leads", "lanes", "returns-open", "loses"),
        *_NUMBERS,
    )
)


@dataclass(frozen=True)
class Row:
    """What is known of the sections of some functions.

    `why` says what makes them harmless, `not_closed` what is wrong with them; there is one of the two. `pointers`
    bounds instructions of one function that store through a pointer, `reach` the functions that its calls lead to,
    each by lane or under "" for all lanes. `leads` names boundaries. `calls_why` says why a section calls anything,
    `returns_open` and `loses` why the gate does not come back.
    """

    functions: tuple[str, ...]
    why: str = ""
    not_closed: str = ""
    stores: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    calls_why: str = ""
    leads: frozenset[str] = frozenset()
    lanes: frozenset[str] = frozenset()  # empty: all
    pointers: Mapping[str, int] = field(default_factory=dict)
    reach: Mapping[str, int] = field(default_factory=dict)
    returns_open: str = ""
    loses: str = ""

    def is_in(self, lane: str) -> bool:
        """Whether kernels of a lane have these sections."""
        return not self.lanes or lane in self.lanes


@dataclass(frozen=True)
class Listing:
    """The whole list for an architecture.

    `helpers` are rows of functions that sections call. `everywhere` are kinds of stores that any section may have,
    `boundaries` patterns of functions that are counted by the name of their group and not entered. `tests` are
    patterns of source files, `test_functions` names, that are no product, or that open the gate for good (`leaves`).
    `unfollowed` are functions whose callers are not walked, although they return with the gate open; `unreached` write
    the register where nothing reaches it; `from_user` are entered from user space, and with what the register has then.
    """

    rows: tuple[Row, ...]
    helpers: tuple[Row, ...] = ()
    everywhere: frozenset[str] = frozenset()
    boundaries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tests: tuple[str, ...] = ()
    test_functions: frozenset[str] = frozenset()
    unfollowed: frozenset[str] = frozenset()
    unreached: frozenset[str] = frozenset()
    from_user: frozenset[str] = frozenset()

    def helper_names(self) -> frozenset[str]:
        """Functions that have a row as helpers."""
        return frozenset(name for row in self.helpers for name in row.functions)

    def is_test(self, name: str, file: str) -> bool:
        """Whether a function belongs to tests, attacks or the lab."""
        return name in self.test_functions or any(fnmatchcase(file, pattern) for pattern in self.tests)


def parse_listing(text: str) -> Listing:
    """The list from TOML; raises ValueError when a row says too little, too much or something twice."""
    data = tomllib.loads(text)
    scope = data.get("scope", {})
    rows, helpers = (
        tuple(_with_like(_row(each, scope), scope.get("like", {})) for each in data.get(part, ()))
        for part in ("sections", "helpers")
    )
    for some in (rows, helpers):
        _each_once(some)
    harmless = {name for row in helpers if row.why for name in row.functions}
    for row in rows:
        if bool(row.calls) != bool(row.calls_why):
            what = "calls-why and no calls" if row.calls_why else "calls and no calls-why"
            raise ValueError(f"the row of {row.functions[0]} has {what}")
    for row in (*rows, *helpers):
        if row.why and row.calls - harmless:
            called = ", ".join(sorted(row.calls - harmless))
            raise ValueError(f"the row of {row.functions[0]} says why and has calls of no helper: {called}")
    return Listing(
        rows,
        helpers,
        frozenset(scope.get("everywhere", ())),
        {name: tuple(patterns) for name, patterns in data.get("boundaries", {}).items()},
        tuple(scope.get("test-files", ())),
        frozenset((*scope.get("test-functions", ()), *scope.get("leaves", ()))),
        frozenset(scope.get("unfollowed", ())),
        frozenset(scope.get("unreached", ())),
        frozenset(scope.get("from-user", ())),
    )


def _each_once(rows: Iterable[Row]) -> None:
    counted = Counter((name, lane) for row in rows for name in row.functions for lane in row.lanes or ("",))
    for (name, lane), number in counted.items():
        if number > 1 or (lane and (name, "") in counted):
            raise ValueError(f"{name} has more than one row")


def _row(data: Mapping[str, Any], scope: Mapping[str, Any]) -> Row:
    functions = tuple(data.get("functions", ()))
    where = f"the row of {functions[0]}" if functions else "a row without functions"
    unknown = set(data) - _ROW_WORDS
    if unknown or not functions:
        raise ValueError(f"{where} has {', '.join(sorted(unknown)) or 'nothing to say'}")
    if bool(data.get("why")) == bool(data.get("not-closed")):
        raise ValueError(f"{where} must have either why or not-closed")
    through = set(POINTER_KINDS).intersection(data.get("stores", ()))
    writes = data.get("why") and not set(functions) <= set(scope.get("from-user", ()))
    if STACK in data.get("stores", ()) and writes and (through or data.get("pointers")):
        raise ValueError(f"{where} has the stack and stores through pointers, which may have waited there")
    return Row(
        functions,
        why=data.get("why", ""),
        not_closed=data.get("not-closed", ""),
        stores=frozenset(data.get("stores", ())),
        calls=frozenset(data.get("calls", ())),
        calls_why=data.get("calls-why", ""),
        leads=frozenset(data.get("leads", ())),
        lanes=frozenset(data.get("lanes", ())),
        pointers=_by_lane(data.get("pointers", 0)),
        reach=_by_lane(data.get("reach", 0)),
        returns_open=data.get("returns-open", ""),
        loses=data.get("loses", ""),
    )


def _with_like(row: Row, like: Mapping[str, str]) -> Row:
    """What a row says of a lane it says of those that are like it as well, but for bounds of their own."""
    lanes = row.lanes | {lane for lane, other in like.items() if other in row.lanes}
    pointers, reach = (
        {**{lane: bounds[other] for lane, other in like.items() if other in bounds}, **bounds}
        for bounds in (row.pointers, row.reach)
    )
    return replace(row, lanes=lanes, pointers=pointers, reach=reach)


def _by_lane(value: int | Mapping[str, int]) -> Mapping[str, int]:
    return {"": value} if isinstance(value, int) else dict(value)


def bound_of(bounds: Mapping[str, int], lane: str) -> int:
    """The bound of a lane: its own, or that of all."""
    return bounds.get(lane, bounds.get("", 0))


@dataclass(frozen=True)
class Finding:
    """A section of a kernel, and what its calls lead to."""

    section: Section
    reach: Reach

    @property
    def pointers(self) -> int:
        """Instructions that store through a pointer."""
        return sum(number for kind, number in self.section.stores.items() if kind in POINTER_KINDS)


def compare(listing: Listing, lane: str, findings: Mapping[str, Finding], helpers: Mapping[str, Finding]) -> list[str]:
    """Everything in which a kernel is not as the list says; empty when it is.

    `helpers` has what was found of the list's helpers that the kernel has.
    """
    rows, helper_rows = rows_of(listing.rows, lane), rows_of(listing.helpers, lane)
    problems = []
    for name, finding in findings.items():
        if name in rows:
            problems += [f"{name} {what}" for what in beyond(listing, rows[name], lane, finding)]
        else:
            problems.append(f"{name} has a section that is not in the list: {describe(finding)}")
    for name, finding in helpers.items():
        if name in helper_rows:
            problems += [f"{name}, a helper, {what}" for what in beyond(listing, helper_rows[name], lane, finding)]
    called = {call for finding in (*findings.values(), *helpers.values()) for call in finding.section.calls}
    problems += [f"{name} is in the list and has no section" for name in rows if name not in findings]
    return problems + [f"{name} is in the list and no section calls it" for name in helper_rows if name not in called]


def rows_of(rows: Iterable[Row], lane: str) -> dict[str, Row]:
    """The rows of a lane by function."""
    return {name: row for row in rows if row.is_in(lane) for name in row.functions}


def beyond(listing: Listing, row: Row, lane: str, finding: Finding) -> Iterable[str]:
    """What a section does that its row does not allow."""
    section, reach = finding.section, finding.reach
    for problem in section.problems:
        yield f"is not decided: {problem}"
    if section.returns_open and not row.returns_open:
        yield "may return with the gate open"
    if section.loses and not row.loses:
        yield "may change the gate of its caller"
    for call in sorted(section.calls.keys() - row.calls):
        yield f"calls {call} with the gate open"
    for kind in sorted(section.stores.keys() - row.stores - listing.everywhere):
        yield f"has an access with the gate open that its row does not name: {kind}"
    for boundary in sorted(reach.boundaries - row.leads):
        yield f"may come to {boundary} with the gate open"
    for what, number, bounds in (
        ("stores through a pointer in {} places with the gate open, {} are allowed", finding.pointers, row.pointers),
        ("has calls that lead to {} functions with the gate open, {} are allowed", len(reach.functions), row.reach),
    ):
        if number > bound_of(bounds, lane):
            yield what.format(number, bound_of(bounds, lane))


def slack(rows: Iterable[Row], lane: str, findings: Mapping[str, Finding]) -> list[str]:
    """Bounds that could be lower."""
    found = []
    for row in rows:
        known = [findings[name] for name in row.functions if name in findings]
        if not known or not row.is_in(lane):
            continue
        for what, numbers, bounds in (
            ("pointers", [finding.pointers for finding in known], row.pointers),
            ("reach", [len(finding.reach.functions) for finding in known], row.reach),
        ):
            if lane in bounds and max(numbers) < bounds[lane] or not bounds.keys() - {""} and max(numbers) < bounds[""]:
                found.append(f"{row.functions[0]}: {what} may go down from {bound_of(bounds, lane)} to {max(numbers)}")
    return found


def describe(finding: Finding) -> str:
    """A section in one line."""
    section = finding.section
    parts = [f"{section.instructions} instructions"]
    stores = [f"{number} {kind}" for kind, number in sorted(section.stores.items())]
    parts += [f"stores: {', '.join(stores)}"] if stores else []
    parts += [f"calls: {', '.join(sorted(section.calls))}"] if section.calls else []
    return "; ".join(parts)
