# SPDX-License-Identifier: GPL-2.0-only
"""What /sys/kernel/kpkeys has, as text that Prometheus reads.

Written by hand: each value is three lines with fixed names, and a server needs no package for that.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

WORDS = ("mode", "backend")
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Metric:
    """One file of the kernel's, by its name, and what it is called elsewhere."""

    file: str
    name: str
    kind: str
    help: str


def _counter(file: str, name: str, help: str) -> Metric:
    return Metric(file, f"kpkeys_{name}_total", "counter", help)


def _pages(file: str, name: str, help: str) -> Metric:
    return Metric(file, f"kpkeys_{name}_pages", "gauge", help)


METRICS = (
    _counter("violations", "violations", "Accesses that were stopped or let through, and refused operations."),
    _counter("refusals", "refusals", "Operations that were refused or let through; counted in protected memory."),
    _counter("left_open", "sections_left_open", "Sections that were found open and shut."),
    _counter("freelist_errors", "freelist_errors", "Pages freed twice, and lists of free ones found changed."),
    _counter("unkeyed_fallbacks", "unkeyed_tables", "Page tables without protection."),
    _counter("pool_refill_failures", "pool_refill_failures", "Times that there was no memory for the pool."),
    _counter("direct_map_splits", "direct_map_splits", "Large mappings split to key a part of them."),
    _pages("keyed_pages", "keyed", "Pages with the key of page tables."),
    _pages("state_pages", "state", "Pages with the state of the protection."),
    _pages("lost_pages", "lost", "Pages with a key that nobody uses, since something maps them."),
    _pages("pool_free", "pool_free", "Pages of the pool without a page table."),
    _pages("pool_used", "pool_used", "Pages of the pool with a page table."),
    _pages("pool_reserved", "pool_reserved", "Pages of the pool that it does not give back."),
)
FILES = (*WORDS, *(metric.file for metric in METRICS))


def exposition(values: Mapping[str, str]) -> str:
    """The text format of Prometheus, from the contents of `FILES`.

    Raises ValueError, with the name of the file, for what is neither a word nor a number.
    """
    for word in WORDS:
        if not _WORD.fullmatch(values[word].strip()):
            raise ValueError(f"{word} is {values[word].strip()!r}, and no word")
    labels = ",".join(f'{word}="{values[word].strip()}"' for word in WORDS)
    lines = _lines("kpkeys_info", "gauge", "Mode and backend of kernel protection keys.", f"{{{labels}}} 1")
    for metric in METRICS:
        value = values[metric.file].strip()
        if not (value.isascii() and value.isdigit()):
            raise ValueError(f"{metric.file} is {value!r}, and no number")
        lines += _lines(metric.name, metric.kind, metric.help, f" {value}")
    return "\n".join(lines) + "\n"


def _lines(name: str, kind: str, help: str, rest: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}", f"{name}{rest}"]
