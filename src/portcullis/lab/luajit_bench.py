# SPDX-License-Identifier: GPL-2.0-only
"""Times of LuaJIT with mprotect() against insecure memory, which is the limit of what a key can reach: statistics."""

import math
import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SIGNIFICANCE = 0.05  # of all tests together, and of the mean's interval
STOCK, LIMIT, KEYED = "stock", "rwx", "jitgate"
SEEDED = (STOCK, LIMIT)  # what is measured natively


@dataclass(frozen=True)
class Program:
    """A benchmark: `published` is by how many percent less time the one it is named after took with keys."""

    name: str
    published: float | None = None


@dataclass(frozen=True)
class Programs:
    """All benchmarks, and where the published figures are from."""

    programs: tuple[Program, ...]
    title: str
    url: str
    note: str
    geomean: float

    def choose(self, names: Iterable[str]) -> tuple[Program, ...]:
        """The ones of these names, all of them without names; raises ValueError for a name that is none."""
        names = tuple(names)
        known = [each.name for each in self.programs]
        for name in names:
            if name not in known:
                raise ValueError(f"there is no program {name!r}; there are: {', '.join(known)}")
        return tuple(each for each in self.programs if not names or each.name in names)


def parse_programs(text: str) -> Programs:
    """Reads data/luajit-bench.toml."""
    data = tomllib.loads(text)
    source = data["source"]
    programs = (Program(each["name"], each.get("published")) for each in data["program"])
    return Programs(tuple(programs), source["title"], source["url"], source["note"], source["geomean"])


@dataclass(frozen=True)
class Sample:
    """One run of a program, in seconds."""

    user: float
    system: float
    wall: float

    @property
    def cpu(self) -> float:
        """User and system time."""
        return self.user + self.system


@dataclass(frozen=True)
class Gain:
    """By which part of its time stock gets faster: the means of two sets of runs, and what chance allows.

    `low` and `high` are the ends of the confidence interval at the level of the test: it is significant if zero is
    without. `p` is that of Welch's t-test.
    """

    program: Program
    stock: float
    limit: float
    part: float
    low: float
    high: float
    p: float
    significant: bool
    system: float  # part of stock's time that is system time
    wall: float  # part of the wall time, for comparison
    error: float  # standard error of the logarithm of limit / stock
    freedom: float  # degrees of freedom of that


@dataclass(frozen=True)
class Mean:
    """Geometric mean of gains, with the ends of its confidence interval: what other runs of the same programs say."""

    part: float
    low: float
    high: float


def compare(program: Program, stock: Sequence[Sample], limit: Sequence[Sample], tests: int) -> Gain:
    """Holds two sets of runs against each other, as one of `tests`; raises ValueError when they are too few.

    The interval is that of the difference of the means, as part of stock's mean.
    """
    if min(len(stock), len(limit)) < 2:
        raise ValueError(f"{program.name}: two runs of each are the least")
    from scipy.stats import ttest_ind

    before, after = [each.cpu for each in stock], [each.cpu for each in limit]
    level = SIGNIFICANCE / tests
    outcome = ttest_ind(before, after, equal_var=False)
    interval = outcome.confidence_interval(1 - level)
    mean = _mean(before)
    return Gain(
        program,
        mean,
        _mean(after),
        (mean - _mean(after)) / mean,
        float(interval.low) / mean,
        float(interval.high) / mean,
        float(outcome.pvalue),
        bool(outcome.pvalue < level),
        _mean([each.system for each in stock]) / mean,
        1 - _mean([each.wall for each in limit]) / _mean([each.wall for each in stock]),
        math.hypot(_relative_error(before), _relative_error(after)),
        float(outcome.df),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _relative_error(values: Sequence[float]) -> float:
    """Standard error of the mean, as part of it."""
    return statistics.stdev(values) / math.sqrt(len(values)) / _mean(values)


def mean_of(gains: Sequence[Gain]) -> Mean:
    """The mean of all programs; its error is made of theirs, with the degrees of freedom of Welch and Satterthwaite."""
    from scipy.stats import t

    part = geometric(gain.part for gain in gains)
    variances = [gain.error**2 for gain in gains]
    whole = sum(variances)
    if not whole:
        return Mean(part, part, part)
    freedom = whole**2 / sum(each**2 / gain.freedom for each, gain in zip(variances, gains, strict=True))
    reach = float(t.ppf(1 - SIGNIFICANCE / 2, freedom)) * math.sqrt(whole) / len(gains)
    return Mean(part, 1 - (1 - part) * math.exp(reach), 1 - (1 - part) * math.exp(-reach))


def published_mean(gains: Iterable[Gain]) -> float | None:
    """The published figures' mean, of the programs that were measured; None when none has one."""
    figures = [gain.program.published / 100 for gain in gains if gain.program.published is not None]
    return geometric(figures) if figures else None


def geometric(gains: Iterable[float]) -> float:
    """Geometric mean of parts by which programs get faster."""
    logarithms = [math.log(1 - gain) for gain in gains]
    return 1 - math.exp(_mean(logarithms))


def samples_of(rows: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> dict[str, dict[str, list[Sample]]]:
    """Program -> variant -> runs, from what was stored; raises ValueError when that is broken."""
    try:
        return {
            name: {variant: [Sample(*map(float, row)) for row in runs] for variant, runs in variants.items()}
            for name, variants in rows.items()
        }
    except (TypeError, AttributeError) as error:
        raise ValueError(f"the stored runs are broken: {error}") from error
