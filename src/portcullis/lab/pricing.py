# SPDX-License-Identifier: GPL-2.0-only
"""Turns counts into time, as ranges; solves for prices that nobody published."""

from collections.abc import Mapping
from dataclasses import dataclass

from portcullis.lab.profile import ADDED, Profile, priced_counts

Counts = Mapping[str, float]
# Events of unknown price are left unsaid when they would add less than this even if they were dear.
DEAR = 1000.0  # cycles
NEGLIGIBLE = 0.001


@dataclass(frozen=True)
class Range:
    """Two ends of what something may be; `centre` is what it is with each price in the middle of its own range."""

    low: float
    high: float
    centre: float | None = None

    @property
    def middle(self) -> float:
        """At the middle of all prices, half way where that is not known."""
        return (self.low + self.high) / 2 if self.centre is None else self.centre


@dataclass(frozen=True)
class Price:
    """Time of one operation in cycles; `unknown` has the events that it lacks, with how many, if they matter.

    An event with nothing but a floor is in both: the time has the floor, and may be more.
    """

    cycles: Range
    unknown: Mapping[str, float]


def price(counters: Counts, profile: Profile) -> Price:
    """What counted events cost on a CPU; those of unknown price are left out and named."""
    counts = priced_counts(counters, profile.arch)
    unknown = {event: count for event, count in counts.items() if not profile.costs[event].full}
    priced = [(count, profile.costs[event].range) for event, count in counts.items() if profile.costs[event].known]
    total = Range(sum(count * low for count, (low, _) in priced), sum(count * high for count, (_, high) in priced))
    return Price(total, _that_matter(unknown, total.middle))


def _that_matter(unknown: Counts, whole: float) -> dict[str, float]:
    return {event: count for event, count in unknown.items() if abs(count) * DEAR >= NEGLIGIBLE * whole}


@dataclass(frozen=True)
class Overhead:
    """How much slower a design is than its base, in parts of one; `share` says what that comes from."""

    range: Range
    share: Mapping[str, float]  # of the middle, by event
    unknown: Mapping[str, float]  # events without a price that the design has more or fewer of


def overhead(design: Counts, base: Counts, profile: Profile) -> Overhead | None:
    """The overhead of a design, None when the base costs nothing that is known.

    A price is the same in both runs, so the ends are those of the ratio and not the ratio of the ends.
    """
    of_design, of_base = _side_by_side(design, base, profile)
    events = [event for event in {**of_design, **of_base} if profile.costs[event].known]
    unknown = {
        event: of_design.get(event, 0) - of_base.get(event, 0)
        for event in {**of_design, **of_base}
        if not profile.costs[event].full and of_design.get(event, 0) != of_base.get(event, 0)
    }
    middle = {event: sum(profile.costs[event].range) / 2 for event in events}
    whole = sum(of_base.get(event, 0) * middle[event] for event in events)
    if whole <= 0:
        return None
    share = {
        event: (of_design.get(event, 0) - of_base.get(event, 0)) * middle[event] / whole
        for event in events
        if of_design.get(event, 0) != of_base.get(event, 0) and middle[event]
    }
    low, high = _ends_of_ratio(of_design, of_base, {event: profile.costs[event].range for event in events})
    return Overhead(Range(low - 1, high - 1, sum(share.values())), share, _that_matter(unknown, whole))


def _side_by_side(design: Counts, base: Counts, profile: Profile) -> tuple[dict[str, float], dict[str, float]]:
    """Priced counts of both; what the design has more of instructions is an event of its own, if that has a price."""
    of_design, of_base = priced_counts(design, profile.arch), priced_counts(base, profile.arch)
    if profile.tells_added:
        shared = of_base.get("instructions", 0.0)
        of_design[ADDED] = of_design.get("instructions", 0.0) - shared
        of_design["instructions"] = shared
    return of_design, of_base


def _ends_of_ratio(above: Counts, below: Counts, costs: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Least and greatest value of sum(above * cost) / sum(below * cost) for costs within their ranges.

    The greatest has the costs high of the events whose own ratio is above some threshold, and low of all others.
    """

    def own_ratio(event: str) -> float:
        if below.get(event):
            return above.get(event, 0) / below[event]
        return float("inf") if above.get(event, 0) >= 0 else float("-inf")

    order = sorted(costs, key=own_ratio)
    greatest, least = float("-inf"), float("inf")
    for split in range(len(order) + 1):
        first, last = order[:split], order[split:]
        for ends in ((0, 1), (1, 0)):
            chosen = {event: costs[event][ends[0]] for event in first} | {
                event: costs[event][ends[1]] for event in last
            }
            bottom = sum(below.get(event, 0) * value for event, value in chosen.items())
            if bottom > 0:
                ratio = sum(above.get(event, 0) * value for event, value in chosen.items()) / bottom
                greatest, least = max(greatest, ratio), min(least, ratio)
    return least, greatest


def solve_overhead(design: Counts, base: Counts, profile: Profile, event: str, wanted: float) -> float | None:
    """Price of `event` in cycles at which the overhead is `wanted`, None when there is no such price.

    Other prices are taken at their middle, unknown ones as nothing.
    """
    of_design, of_base = _side_by_side(design, base, profile)
    fixed, slope = _line(of_design, profile, event)
    fixed_base, slope_base = _line(of_base, profile, event)
    return _root(fixed - (1 + wanted) * fixed_base, slope - (1 + wanted) * slope_base)


def solve_time(counters: Counts, profile: Profile, event: str, ns: float) -> float | None:
    """Price of `event` in cycles at which one operation takes `ns`, None when there is no such price."""
    fixed, slope = _line(priced_counts(counters, profile.arch), profile, event)
    return _root(fixed - ns * profile.mhz / 1000, slope)


def _line(counts: Counts, profile: Profile, event: str) -> tuple[float, float]:
    """Cycles without `event`, and how many of it there are."""
    fixed = sum(
        count * sum(profile.costs[each].range) / 2
        for each, count in counts.items()
        if each != event and profile.costs[each].known
    )
    return fixed, counts.get(event, 0)


def _root(fixed: float, slope: float) -> float | None:
    if not slope:
        return None
    found = -fixed / slope
    return found if found >= 0 else None
