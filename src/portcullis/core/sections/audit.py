# SPDX-License-Identifier: GPL-2.0-only
"""The audit of one kernel against the list of its architecture."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.elf import EM_AARCH64, EM_X86_64, Image
from portcullis.core.sections.arm64 import Arm64
from portcullis.core.sections.graph import CallGraph
from portcullis.core.sections.kernel import Kernel
from portcullis.core.sections.listing import Finding, Listing, compare, parse_listing, slack
from portcullis.core.sections.machine import Architecture
from portcullis.core.sections.proof import Proof, Scope
from portcullis.core.sections.x86 import X86

_FOLDER = Path(__file__).parents[2] / "data" / "sections"
_ARCHITECTURES: Mapping[str, tuple[str, Callable[[Kernel], Architecture]]] = {
    EM_X86_64: ("x86", X86),
    EM_AARCH64: ("arm64", Arm64),
}
_NEWER = ((7, 3),)  # versions whose sections the list tells apart, in order


@dataclass(frozen=True)
class Audit:
    """What was found in a kernel; `problems` is empty when all is as the list says, `slack` has bounds to lower.

    `lane` is the name that the list has for its lane.
    """

    findings: Mapping[str, Finding]
    helpers: Mapping[str, Finding]
    problems: tuple[str, ...]
    slack: tuple[str, ...]
    left_out: int  # functions of tests, attacks and the lab that write the register
    boot: int  # functions that do and that boot frees
    not_closed: int  # sections that are known not to be closed
    reached: frozenset[str]  # functions that calls of sections lead to
    lane: str

    @property
    def summary(self) -> str:
        """The audit in one line."""
        calling = sum(bool(finding.section.calls) for finding in self.findings.values())
        return (
            f"{len(self.findings)} functions have sections, {calling} of them call others, {self.not_closed} are not "
            f"closed; their calls lead to {len(self.reached)} functions"
        )


def list_of(machine: str, folder: Path = _FOLDER) -> Listing:
    """The list for an ELF machine; raises ValueError when there is none."""
    if machine not in _ARCHITECTURES:
        raise ValueError(f"there is no list for ELF machine {machine}")
    return parse_listing((folder / f"{_ARCHITECTURES[machine][0]}.toml").read_text())


def lane_of(image: Image, lane: str) -> str:
    """The name that the list has for a lane: with the kernel's version, where the list tells it from older ones."""
    banner = image.symbols({"linux_banner"}).get("linux_banner")
    found = re.match(rb"Linux version (\d+)\.(\d+)", image.read(banner, 32)) if banner else None
    version = tuple(int(number) for number in found.groups()) if found else (0, 0)
    told = [each for each in _NEWER if each <= version]
    return f"{lane}-{told[-1][0]}.{told[-1][1]}" if told else lane


def audit(image: Image, lane: str, listing: Listing | None = None) -> Audit:
    """Compares the sections of a vmlinux with the list; raises ValueError when one of them cannot be read."""
    listing = listing or list_of(image.machine)
    lane = lane_of(image, lane)
    kernel = Kernel(image)
    architecture = _ARCHITECTURES[image.machine][1](kernel)
    graph = CallGraph(kernel)
    proof = Proof(kernel, architecture, graph, Scope(listing.is_test, listing.unfollowed, listing.from_user))
    findings, helpers = (
        {
            name: Finding(each, graph.reach(set().union(*each.calls.values()), listing.boundaries))
            for name, each in found
        }
        for found in (proof.sections.items(), proof.helpers(listing.helper_names()).items())
    )
    unlike = [
        f"the register of another backend is not accessed alike at {place}"
        for place in proof.unlike
        if place.split("+")[0] not in listing.unreached
    ]
    problems = [*unlike, *_not_seen(proof, listing), *compare(listing, lane, findings, helpers)]
    open_rows = {name for row in listing.rows if row.not_closed for name in row.functions}
    return Audit(
        findings,
        helpers,
        tuple(problems),
        (*slack(listing.rows, lane, findings), *slack(listing.helpers, lane, helpers)),
        len(proof.left_out),
        len(proof.boot),
        len(open_rows & findings.keys()),
        frozenset().union(*(finding.reach.functions for finding in findings.values())),
        lane,
    )


def _not_seen(proof: Proof, listing: Listing) -> list[str]:
    """Writes of the register that no walk came to: what is behind them is not known to be as it should."""
    return [
        f"the register is written at {', '.join(places)}, which nothing reaches"
        for name, places in proof.unreached.items()
        if name not in listing.unreached
    ]
