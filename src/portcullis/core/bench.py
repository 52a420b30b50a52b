# SPDX-License-Identifier: GPL-2.0-only
"""Benchmarks that count: bounds and the comparison with them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portcullis.core.counts import COUNTERS, OPENING, parse_counts


@dataclass(frozen=True)
class Bound:
    """Upper limit of one counter in one benchmark; the unit is a number of events."""

    bench: str
    counter: str
    limit: int
    what: str
    per: str = ""  # then the limit holds for every `share` events of this counter, rounded up
    share: int = 1
    more: int = 0  # events beyond these
    arch: str = ""  # only there
    backends: tuple[str, ...] = ()  # only with these, all when there is none


@dataclass(frozen=True)
class Measured:
    """A bound and what was counted; `value` is None when the benchmark did not report the counter."""

    bound: Bound
    value: int | None
    limit: int
    applies: bool = True  # with the backend at hand

    @property
    def good(self) -> bool:
        """True when the counter was reported and is within its bound, or the bound says nothing of this backend."""
        return not self.applies or (self.value is not None and self.value <= self.limit)


def parse_bounds(text: str, arch: str) -> tuple[Bound, ...]:
    """Bounds of a bench.toml for an architecture; raises ValueError or KeyError for a broken one."""
    bounds = (
        Bound(
            entry["bench"],
            entry["counter"],
            int(entry["limit"]),
            entry["what"],
            entry.get("per", ""),
            int(entry.get("share", 1)),
            int(entry.get("more", 0)),
            entry.get("arch", ""),
            tuple(entry.get("backends", ())),
        )
        for entry in tomllib.loads(text)["bound"]
    )
    return tuple(bound for bound in bounds if bound.arch in ("", arch))


def parse_executed(text: str) -> dict[str, dict[str, int]]:
    """By region, the least of each counter that emulator/plugins counted; raises ValueError for a broken line."""
    least: dict[str, dict[str, int]] = {}
    for region in parse_counts(text):
        counts = {counter: region.count(counter) for counter in COUNTERS}
        kept = least.setdefault(region.name, counts)
        kept.update({name: min(kept[name], value) for name, value in counts.items()})
    return least


def with_executed(
    records: Iterable[Mapping[str, object]],
    executed: Mapping[str, Mapping[str, int]],
    plain: Mapping[str, Mapping[str, int]],
    off: Mapping[str, Mapping[str, int]],
) -> tuple[dict[str, object], ...]:
    """Records with what the CPU executed in each.

    A name alone is from the run `plain`, in which keys of pointer authentication are no secrets. `..._added` is how
    much of that is not there with kpkeys=off, `..._pauth` how much more it is when they are secrets (`executed`).
    """
    rows = []
    for record in records:
        region = str(record.get("bench"))
        added: dict[str, int] = {}
        if all(region in run for run in (executed, plain, off)):
            # What opens the gate is shown even when there was none.
            seen = {name for run in (executed, plain, off) for name, value in run[region].items() if value}
            for name in (counter for counter in COUNTERS if counter in seen or counter in OPENING):
                value = plain[region][name]
                added[name] = value
                added[f"{name}_added"] = max(0, value - off[region][name])
                if executed is not plain:
                    added[f"{name}_pauth"] = max(0, executed[region][name] - value)
        rows.append({**record, **added})
    return tuple(rows)


def compare(
    bounds: Iterable[Bound], records: Iterable[Mapping[str, object]], backend: str = ""
) -> tuple[Measured, ...]:
    """Every bound with its counted value."""
    counted = {str(record["bench"]): record for record in records if "bench" in record}
    rows = []
    for bound in bounds:
        record = counted.get(bound.bench, {})
        value = record.get(bound.counter)
        times = -(-_count(record, bound.per) // bound.share) if bound.per else 1
        limit = bound.limit * times + bound.more
        applies = not bound.backends or backend in bound.backends
        rows.append(Measured(bound, value if isinstance(value, int) else None, limit, applies))
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
