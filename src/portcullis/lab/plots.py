# SPDX-License-Identifier: GPL-2.0-only
"""Plots as inline SVG, drawn by hand.

A plotting library would bring fixed colours and text as outlines: neither a dark mode nor a phone's width. These are
360 units wide, so that their text can be read on a phone; colours are classes that the page's style sheet defines.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from portcullis.lab.text import nanoseconds

WIDTH = 360
LEFT = 108  # of the names of bars
RIGHT = 22
ROW = 16  # height of a bar and the space below it
BAR = 10
TOP = 8
AXIS = 30
NS = " ns"  # times are said in larger units where these are shorter


@dataclass(frozen=True)
class Bar:
    """One row: its name and the parts of its length by series; `group` starts a new group when it is not empty."""

    name: str
    parts: Mapping[str, float]
    group: str = ""


@dataclass(frozen=True)
class Span:
    """One row of ranges on one axis: series -> low and high."""

    name: str
    ends: Mapping[str, tuple[float, float]]


def _svg(height: float, label: str, body: Sequence[str]) -> str:
    inside = "\n".join(body)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">\n{inside}\n</svg>'
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _tick(x: float, y: float, text: str) -> str:
    """A number below an axis; the last one must not leave the picture."""
    return _text(min(x, WIDTH - 2), y, text, "tick", "end" if x > WIDTH - 16 else "middle")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _rect(x: float, y: float, width: float, kind: str, title: str) -> str:
    shown = max(width, 0.0)
    return (
        f'<rect x="{x:.2f}" y="{y:.1f}" width="{shown:.2f}" height="{BAR}" class="{kind}">'
        f"<title>{escape(title)}</title></rect>"
    )


def steps(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, at most about `most` of them."""
    span = max(high - low, 1e-12)
    size = 10 ** math.floor(math.log10(span / most))
    size *= next(factor for factor in (1, 2, 5, 10) if span / (size * factor) <= most)
    first = math.ceil(low / size - 1e-9)
    return [number * size for number in range(first, math.floor(high / size + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten around a range of positive numbers."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def stacked(label: str, bars: Sequence[Bar], series: Sequence[str], unit: str = "%") -> str:
    """Bars of which each is a stack; what is below zero goes to the left of it."""
    above = [sum(value for value in bar.parts.values() if value > 0) for bar in bars]
    below = [sum(value for value in bar.parts.values() if value < 0) for bar in bars]
    high, low = max([*above, 0.0]) or 1.0, min([*below, 0.0])
    marks = steps(low, high)
    high, low = max(high, marks[-1]), min(low, marks[0])

    def place(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    y = float(TOP)
    body: list[str] = []
    for bar in bars:
        if bar.group:
            y += 14
            body.append(_text(2, y - 2, bar.group, "group"))
        body.append(_text(LEFT - 5, y + BAR - 1.5, bar.name, "name", "end"))
        right = left = 0.0
        for event in series:
            value = bar.parts.get(event, 0.0)
            start = right if value > 0 else left + value
            kind, title = f"s{series.index(event) % 8}", f"{bar.name}: {event} {value:.2f}{unit}"
            if value:
                body.append(_rect(place(start), y, place(start + abs(value)) - place(start), kind, title))
            right, left = (right + value, left) if value > 0 else (right, left + value)
        y += ROW
    grid = [_line(place(mark), TOP, place(mark), y, "zero" if not mark else "grid") for mark in marks]
    ticks = [_tick(place(mark), y + 12, f"{mark:g}{unit}") for mark in marks]
    return _svg(y + AXIS - 10, label, [*grid, *body, *ticks])


def ranges(label: str, spans: Sequence[Span], series: Sequence[str], unit: str, logarithmic: bool = False) -> str:
    """Ranges on one axis, as bars with ends; a range without length is a dot."""
    values = [end for span in spans for ends in span.ends.values() for end in ends]
    positive = [value for value in values if value > 0]
    if logarithmic:
        marks = decades(min(positive, default=1.0), max(positive, default=10.0))
        low, high = math.log10(marks[0]), math.log10(marks[-1])
    else:
        marks = steps(min([*values, 0.0]), max([*values, 1e-9]))
        low, high = min([*values, marks[0]]), max([*values, marks[-1]])

    def place(value: float) -> float:
        at = math.log10(max(value, marks[0])) if logarithmic else value
        return LEFT + (at - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)

    row = ROW + 6 * (len(series) - 1)
    y = float(TOP)
    body: list[str] = []
    for span in spans:
        body.append(_text(LEFT - 5, y + row / 2 + 2, span.name, "name", "end"))
        for number, each in enumerate(series):
            if each not in span.ends:
                continue
            (first, last), middle = span.ends[each], y + 5 + 6 * number
            title = (
                f"{span.name}, {each}: {first:.3g} to {last:.3g}{unit}"
                if first != last
                else f"{span.name}, {each}: {first:.3g}{unit}"
            )
            body.append(_line(place(first), middle, place(last), middle, f"range l{number % 8}"))
            body.append(
                f'<circle cx="{place((first + last) / 2):.1f}" cy="{middle:.1f}" r="2.6" class="s{number % 8}">'
                f"<title>{escape(title)}</title></circle>"
            )
        y += row
    grid = [_line(place(mark), TOP, place(mark), y, "zero" if not mark else "grid") for mark in marks]
    said = [nanoseconds(mark) if unit == NS else f"{mark:g}{unit}" for mark in marks]
    ticks = [_tick(place(mark), y + 12, text) for mark, text in zip(marks, said, strict=True)]
    return _svg(y + AXIS - 10, label, [*grid, *body, *ticks])


def curves(
    label: str, lines: Mapping[str, Sequence[tuple[float, float]]], colours: Sequence[int], across: str, unit: str
) -> str:
    """Lines over a logarithmic horizontal axis (base two)."""
    height, left, bottom = 190, 44, 150
    xs = sorted({x for points in lines.values() for x, _ in points})
    ys = [y for points in lines.values() for _, y in points]
    marks = steps(min([*ys, 0.0]), max([*ys, 1e-9]))
    low, high = min([*ys, marks[0]]), max([*ys, marks[-1]])
    first, last = math.log2(xs[0]), math.log2(xs[-1])

    def at(x: float, y: float) -> tuple[float, float]:
        across_part = (math.log2(x) - first) / ((last - first) or 1.0)
        return left + across_part * (WIDTH - left - RIGHT), bottom - (y - low) / (high - low) * (bottom - TOP)

    body = [
        _line(left, at(xs[0], mark)[1], WIDTH - RIGHT, at(xs[0], mark)[1], "grid" if mark else "zero") for mark in marks
    ]
    body += [_text(left - 4, at(xs[0], mark)[1] + 3, f"{mark:g}{unit}", "tick", "end") for mark in marks]
    body += [_text(at(x, low)[0], bottom + 14, f"{x:g}", "tick", "middle") for x in xs]
    body.append(_text((left + WIDTH - RIGHT) / 2, bottom + 30, across, "tick", "middle"))
    for colour, (name, points) in zip(colours, lines.items(), strict=True):
        places = [at(x, y) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f'<polyline points="{path}" class="curve l{colour}"/>')
        for (x, y), (shown_x, shown_y) in zip(points, places, strict=True):
            title = f"{name}, {x:g}: {y:.3g}{unit}"
            body.append(
                f'<circle cx="{shown_x:.1f}" cy="{shown_y:.1f}" r="2.6" class="s{colour}">'
                f"<title>{escape(title)}</title></circle>"
            )
    return _svg(height, label, body)
