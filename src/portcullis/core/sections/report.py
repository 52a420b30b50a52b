# SPDX-License-Identifier: GPL-2.0-only
"""An audit as a table, as JSON, and as rows that the list lacks."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from portcullis.core.sections.audit import Audit
from portcullis.core.sections.listing import Finding, Listing, beyond, rows_of

_MOST_SHOWN = 3  # calls in the table


def rows(listing: Listing, lane: str, audit: Audit) -> list[tuple[str, ...]]:
    """Cells of the table, the sections that lead to most functions first."""
    known = rows_of(listing.rows, lane)
    found = sorted(audit.findings.items(), key=lambda item: (-len(item[1].reach.functions), item[0]))
    return [
        (
            name,
            f"{finding.section.instructions} instructions",
            ", ".join(f"{number} {kind}" for kind, number in sorted(finding.section.stores.items())),
            _some(finding.section.calls),
            ", ".join((f"{len(finding.reach.functions)} functions", *sorted(finding.reach.boundaries))),
            (known[name].why or "not closed") if name in known else "",
        )
        for name, finding in found
    ]


def _some(names: Iterable[str]) -> str:
    shown = sorted(names)
    more = len(shown) - _MOST_SHOWN
    return ", ".join(shown[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def as_json(audit: Audit) -> dict[str, Any]:
    """Everything that was found."""
    return {
        "good": not audit.problems,
        "problems": list(audit.problems),
        "slack": list(audit.slack),
        "summary": audit.summary,
        "left_out": audit.left_out,
        "boot": audit.boot,
        "helpers": {name: _finding(finding) for name, finding in audit.helpers.items()},
        "sections": {name: _finding(finding) for name, finding in audit.findings.items()},
    }


def _finding(finding: Finding) -> dict[str, Any]:
    section = finding.section
    return {
        "copies": section.copies,
        "raises": section.raises,
        "instructions": section.instructions,
        "stores": dict(sorted(section.stores.items())),
        "calls": sorted(section.calls),
        "reach": sorted(finding.reach.functions),
        "leads": sorted(finding.reach.boundaries),
        "returns_open": section.returns_open,
        "loses": section.loses,
        "problems": section.problems,
    }


def proposal(listing: Listing, lane: str, audit: Audit) -> str:
    """Rows in TOML for sections that have none or exceed it; those that are the same share one.

    Reasons that are not there yet are left to be written.
    """
    known = rows_of(listing.rows, lane)
    alike: dict[str, list[str]] = defaultdict(list)
    for name, finding in audit.findings.items():
        row = known.get(name)
        if row is None or any(beyond(listing, row, lane, finding)):
            reason = f'why = "{row.why}"' if row and row.why else f'not-closed = "{row.not_closed if row else ""}"'
            alike["\n".join((reason, *_bounds(listing, finding)))].append(name)
    ordered = sorted(alike.items(), key=lambda item: (-len(item[1]), item[1]))
    return "\n\n".join(f"[[sections]]\nfunctions = {_array(names)}\n{bounds}" for bounds, names in ordered)


def _bounds(listing: Listing, finding: Finding) -> Iterable[str]:
    section = finding.section
    stores = sorted(section.stores.keys() - listing.everywhere)
    for name, values in (
        ("stores", stores),
        ("calls", sorted(section.calls)),
        ("leads", sorted(finding.reach.boundaries)),
    ):
        if values:
            yield f"{name} = {_array(values)}"
    for name, number in (("pointers", finding.pointers), ("reach", len(finding.reach.functions))):
        if number:
            yield f"{name} = {number}"
    for name, said in (
        ("calls-why", section.calls),
        ("returns-open", section.returns_open),
        ("loses", section.loses),
    ):
        if said:
            yield f'{name} = ""'


def _array(values: Iterable[str]) -> str:
    """An array of TOML, one value in a line if it is long."""
    quoted = [f'"{value}"' for value in values]
    line = f"[{', '.join(quoted)}]"
    return line if len(line) < 90 else "[\n" + "".join(f"    {value},\n" for value in quoted) + "]"
