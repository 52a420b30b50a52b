# SPDX-License-Identifier: GPL-2.0-only
"""What the page on LuaJIT holds: times of this machine beside the published ones, and counts of guests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portcullis.core.counts import PRIVILEGES
from portcullis.lab.luajit_bench import (
    KEYED,
    LIMIT,
    SIGNIFICANCE,
    STOCK,
    Gain,
    Programs,
    geometric,
    mean_of,
    published_mean,
)
from portcullis.lab.luajit_counts import ONE_TRACE, Counted, by_program, first_area
from portcullis.lab.page import Grid, Page, Part, Plot
from portcullis.lab.plots import Bar, Span, ranges, stacked
from portcullis.lab.text import percent

LEAD = (
    "What changing protection by system calls costs LuaJIT. Times are of this machine, and of memory that is not "
    "protected at all; counts are of emulated CPUs with keys, and no time."
)
ARCH_TITLES = {"x86": "x86-64 (PKU)", "arm64": "arm64 (POE)"}
TIME_COLUMNS = (
    "program",
    "stock",
    "insecure",
    "less time",
    "interval",
    "p",
    "wall time",
    "published",
    "traces",
    "mprotect()",
)
COUNT_COLUMNS = (
    "program",
    "traces",
    "system calls",
    "mprotect()",
    "TLB invalidations",
    "key writes",
    "kernel instructions",
    "all instructions",
    "less",
)


SHOWN = (
    "This shows how much less time these programs take where no mprotect() is made; it does not show what a key costs "
    "or gains on a CPU that has keys, nor what other programs gain."
)


@dataclass(frozen=True)
class GuestCounts:
    """One measurement in a guest."""

    arch: str
    environment: Mapping[str, str]
    counted: tuple[Counted, ...]


def signed(part: float) -> str:
    """A part of one as a percentage with its sign."""
    text = percent(part)
    return f"{text}%" if text.startswith("-") or not float(text) else f"+{text}%"


# --- times -----------------------------------------------------------------------------------------------------
def time_rows(gains: Sequence[Gain], traced: Sequence[Counted]) -> tuple[tuple[str, ...], ...]:
    """One row for each program, as TIME_COLUMNS says."""
    seen = by_program(traced)
    rows = []
    for gain in gains:
        stock = seen.get(gain.program.name, {}).get(STOCK)
        published = gain.program.published
        rows.append(
            (
                gain.program.name,
                f"{1000 * gain.stock:.1f} ms",
                f"{1000 * gain.limit:.1f} ms",
                signed(gain.part) + (" (S)" if gain.significant else ""),
                f"{signed(gain.low)} to {signed(gain.high)}",
                f"{gain.p:.2g}",
                signed(gain.wall),
                "-" if published is None else signed(published / 100),
                str(stock.traces) if stock else "-",
                str(stock.watched["mprotect"]) if stock else "-",
            )
        )
    return tuple(rows)


def time_summary(gains: Sequence[Gain], programs: Programs) -> str:
    """The geometric mean with its interval beside the published ones, and what that shows."""
    mean, same = mean_of(gains), published_mean(gains)
    ours = f"{signed(mean.part)}, {signed(mean.low)} to {signed(mean.high)} at {100 * (1 - SIGNIFICANCE):.0f}%"
    published = f"published {programs.geomean:+}% of 46 programs"
    if same is not None:
        published += f" and {signed(same)} of those measured here"
    better = [gain.program.name for gain in gains if gain.significant and gain.part > 0]
    worse = [gain.program.name for gain in gains if gain.significant and gain.part < 0]
    words = f"geometric mean of {len(gains)} programs: {ours} ({published})"
    words += f"; significantly less: {', '.join(better) or 'none'}; significantly more: {', '.join(worse) or 'none'}"
    return f"{words}. {SHOWN}"


def _time_part(gains: Sequence[Gain], traced: Sequence[Counted], programs: Programs, runs: int, note: str) -> Part:
    first, summary = gains[0], time_summary(gains, programs)
    level = 100 * (1 - SIGNIFICANCE / len(gains))
    rows = time_rows(gains, traced)
    example = (
        f"{first.program.name}: with machine code in memory that stays writable and executable, it takes "
        f"{signed(first.part)} less user and system time than with mprotect(). The interval is that of {level:.2f}%, "
        f"which is 95% for all {len(gains)} tests together; (S): it excludes zero (Welch's t-test, Bonferroni)."
    )
    grid = Grid("luajit-times", "Less time, by program", TIME_COLUMNS, rows, example)
    spans = []
    for gain in gains:
        ends = {"ours": (100 * gain.low, 100 * gain.high)}
        if gain.program.published is not None:
            ends = {"published": (gain.program.published, gain.program.published), **ends}
        spans.append(Span(gain.program.name, ends))
    series = ("published", "ours")
    title = "Time that mprotect() takes"
    plot = Plot(
        "luajit-gains",
        title,
        ranges(title, spans, series, "%"),
        series,
        f"{first.program.name}: the upper dot is the published figure, without an interval, the lower one ours.",
    )
    notes = (
        f"Stock against insecure memory, {runs} runs of each. No key can save more than that: it still writes a "
        "register where stock makes a system call.",
        f"{summary[0].upper()}{summary[1:]}",
        f"Published: {programs.title}, {programs.url}. {programs.note}",
        note,
    )
    return Part("luajit-native", "On this machine, which has no keys", tuple(filter(None, notes)), (grid,), (plot,))


# --- counts ----------------------------------------------------------------------------------------------------
def less(before: float, after: float) -> float:
    """By which part a count gets smaller."""
    return (before - after) / before if before else 0.0


def count_rows(counted: Sequence[Counted]) -> tuple[tuple[str, ...], ...]:
    """One row for each program, as COUNT_COLUMNS says: stock, then jitgate."""
    rows = []
    for program, variants in by_program(counted).items():
        stock, keyed = variants[STOCK], variants[KEYED]
        kernel = [(each.region.kernel if each.region else {}).get("instructions", 0) for each in (stock, keyed)]
        rows.append(
            (
                program,
                str(stock.traces),
                f"{stock.calls} / {keyed.calls}",
                f"{stock.watched['mprotect']} / {keyed.watched['mprotect'] + keyed.watched['pkey_mprotect']}",
                f"{stock.flushes} / {keyed.flushes}",
                f"{stock.key_writes} / {keyed.key_writes}",
                f"{kernel[0]:,} / {kernel[1]:,}",
                f"{stock.instructions:,} / {keyed.instructions:,}",
                signed(less(stock.instructions, keyed.instructions)),
            )
        )
    return tuple(rows)


def count_summary(counted: Sequence[Counted]) -> str:
    """The geometric mean of all instructions, for jitgate and for insecure memory, and system calls for each trace."""
    rows = {name: variants for name, variants in by_program(counted).items() if name != ONE_TRACE}
    if not rows:
        return "no program was counted"
    gains = {
        variant: geometric(
            less(variants[STOCK].instructions, variants[variant].instructions) for variants in rows.values()
        )
        for variant in (KEYED, LIMIT)
    }
    traces = sum(variants[STOCK].traces for variants in rows.values())
    calls = sum(variants[STOCK].watched["mprotect"] for variants in rows.values())
    first = sum(first_area(variants) for name, variants in by_program(counted).items() if name == ONE_TRACE)
    beyond = max(first_area(variants) - first for variants in rows.values())
    return (
        f"geometric mean of {len(rows)} programs: {signed(gains[KEYED])} of all instructions less with jitgate, "
        f"{signed(gains[LIMIT])} with insecure memory; {traces} traces, {calls} mprotect() with stock; jitgate makes "
        f"{first} system calls more than insecure memory for the first area, and then at most {beyond}"
    )


def _guest_part(guest: GuestCounts) -> Part:
    rows = count_rows(guest.counted)
    variants = by_program(guest.counted)
    shown = [name for name in variants if name != ONE_TRACE] or list(variants)
    first = next(row for row in rows if row[0] == shown[0])
    example = (
        f"{first[0]} generates {first[1]} traces. Stock, then jitgate: {first[2]} system calls, {first[4]} TLB "
        f"invalidations, {first[5]} writes of the user's pkey register, {first[7]} instructions at both levels."
    )
    grid = Grid(f"luajit-counts-{guest.arch}", "Counts, stock / jitgate", COUNT_COLUMNS, rows, example)
    bars = []
    for name in shown:
        stock, keyed = variants[name][STOCK], variants[name][KEYED]
        parts = {
            level: 100 * (_level(stock, level) - _level(keyed, level)) / max(stock.instructions, 1)
            for level in PRIVILEGES
        }
        bars.append(Bar(name, parts))
    title = "Instructions that jitgate saves, of all that stock executes"
    series = PRIVILEGES
    plot = Plot(
        f"luajit-saved-{guest.arch}",
        title,
        stacked(f"{title}, {ARCH_TITLES[guest.arch]}", bars, series),
        series,
        f"{bars[0].name}: the pieces are what is saved at each level, in percent of all instructions. Left of zero are "
        "instructions more.",
    )
    notes = (
        f"{count_summary(guest.counted)}.".capitalize(),
        "The emulator counts, on one CPU and with the same random numbers for all; it knows no time. "
        + ", ".join(f"{name}: {value}" for name, value in guest.environment.items())
        + ".",
    )
    title = f"In a guest with keys: {ARCH_TITLES[guest.arch]}"
    return Part(f"luajit-guest-{guest.arch}", title, notes, (grid,), (plot,))


def _level(counted: Counted, level: str) -> int:
    return getattr(counted.region, level).get("instructions", 0) if counted.region else 0


def luajit_page(
    programs: Programs,
    gains: Sequence[Gain],
    traced: Sequence[Counted],
    runs: int,
    environment: Mapping[str, str],
    guests: Sequence[GuestCounts],
    commands: Sequence[str],
) -> Page:
    """The page of all that is there; raises ValueError when there is nothing."""
    parts = [_time_part(gains, traced, programs, runs, environment.get("load", ""))] if gains else []
    parts += [_guest_part(guest) for guest in guests]
    if not parts:
        raise ValueError("nothing was measured")
    title = "LuaJIT with keys instead of mprotect()"
    return Page(title, tuple(environment.items()), tuple(commands), tuple(parts), LEAD)
