# SPDX-License-Identifier: GPL-2.0-only
"""Benchmarks that count: bounds and the comparison with them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """Upper limit of one counter in one benchmark; the unit is a number of events."""

    bench: str
    counter: str
    limit: int
    what: str
    per: str = ""  # then the limit holds for every `share` events of this counter, rounded up
    share: int = 1


@dataclass(frozen=True)
class Measured:
    """A bound and what was counted; `value` is None when the benchmark did not report the counter."""

    bound: Bound
    value: int | None
    limit: int

    @property
    def good(self) -> bool:
        """True when the counter was reported and is within its bound."""
        return self.value is not None and self.value <= self.limit


def parse_bounds(text: str) -> tuple[Bound, ...]:
    """Bounds of a bench.toml; raises ValueError or KeyError for a broken one."""
    return tuple(
        Bound(
            entry["bench"],
            entry["counter"],
            int(entry["limit"]),
            entry["what"],
            entry.get("per", ""),
            int(entry.get("share", 1)),
        )
        for entry in tomllib.loads(text)["bound"]
    )


def compare(bounds: Iterable[Bound], records: Iterable[Mapping[str, object]]) -> tuple[Measured, ...]:
    """Every bound with its counted value."""
    counted = {str(record["bench"]): record for record in records if "bench" in record}
    rows = []
    for bound in bounds:
        record = counted.get(bound.bench, {})
        value = record.get(bound.counter)
        times = -(-_count(record, bound.per) // bound.share) if bound.per else 1
        rows.append(Measured(bound, value if isinstance(value, int) else None, bound.limit * times))
    return tuple(rows)


def why_not_to_print(records: Iterable[Mapping[str, object]]) -> str:
    """Reason to refuse a table, empty when there is none.

    A run that saw no raise of the gate or no keyed page measured an unprotected kernel.
    """
    rows = [record for record in records if "bench" in record]
    if not rows:
        return "the guest reported no benchmark"
    if not any(_count(record, "pkey_reg_writes") for record in rows):
        return "no write to the pkey register was counted: the gate was never raised"
    if not any(_count(record, "pages_keyed") or _count(record, "keyed_pages") for record in rows):
        return "no keyed page was seen: the page tables were not protected"
    return ""


def _count(record: Mapping[str, object], name: str) -> int:
    value = record.get(name, 0)
    return value if isinstance(value, int) else 0
