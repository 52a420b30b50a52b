# SPDX-License-Identifier: GPL-2.0-only
"""Kernel versions and half-open version ranges."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class KernelVersion:
    """A kernel version, ordered; `-rc` and vendor suffixes are not kept."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def parse_version(text: str) -> KernelVersion:
    """Read `6.12` or `6.12.117`; raises ValueError for anything else."""
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?", text.strip())
    if not found:
        raise ValueError(f"not a kernel version: {text!r}")
    return KernelVersion(int(found[1]), int(found[2]), int(found[3] or 0))


def version_from_makefile(makefile: str) -> KernelVersion | None:
    """Version in the text of a kernel's top Makefile, None when this is not one."""
    values = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL)\s*=\s*(\d+)\s*$", makefile, re.MULTILINE))
    if set(values) != {"VERSION", "PATCHLEVEL", "SUBLEVEL"}:
        return None
    return KernelVersion(int(values["VERSION"]), int(values["PATCHLEVEL"]), int(values["SUBLEVEL"]))


@dataclass(frozen=True, order=True)
class VersionRange:
    """Versions from `first` up to but not including `end`."""

    first: KernelVersion
    end: KernelVersion

    def __contains__(self, version: KernelVersion) -> bool:
        return self.first <= version < self.end

    def __str__(self) -> str:
        return f"{_short(self.first)} up to, not including, {_short(self.end)}"


def _short(version: KernelVersion) -> str:
    return f"{version.major}.{version.minor}" if version.patch == 0 else str(version)
