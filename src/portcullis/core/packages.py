# SPDX-License-Identifier: GPL-2.0-only
"""The list of Debian packages, and the line that installs them."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """One line of data/debian-packages.txt; `check` is cmd:NAME, file:PATTERN or pymod:NAME."""

    group: str
    check: str
    name: str
    why: str


def parse_packages(text: str) -> tuple[Package, ...]:
    """Lines of the list; raises ValueError for a short line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    packages = []
    for line in lines:
        words = line.split(maxsplit=3)
        if len(words) != 4 or ":" not in words[1]:
            raise ValueError(f"debian-packages.txt: bad line {line!r}")
        packages.append(Package(*words))
    return tuple(packages)


def listed_names(text: str) -> tuple[str, ...]:
    """Names of other lists: one a line, `#` begins a comment."""
    names = (line.split("#")[0].strip() for line in text.splitlines())
    return tuple(name for name in names if name)


def apt_line(packages: Iterable[Package]) -> str:
    """The command that installs packages by hand."""
    names = list(dict.fromkeys(package.name for package in packages))
    return "apt-get install --no-install-recommends " + " ".join(names)
