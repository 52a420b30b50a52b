# SPDX-License-Identifier: GPL-2.0-only
"""What sealed credentials cost: the same kernel with them and without, counted."""

from collections.abc import Iterable, Mapping

from portcullis.core.counts import RAISES
from portcullis.lab.grids import Grid, Part
from portcullis.lab.jobs import CREDENTIALS_OFF
from portcullis.lab.published import OWN_DESIGN
from portcullis.lab.results import Result
from portcullis.lab.tables import region_order

LITTLE = 0.05  # writes in an operation


def credentials_part(results: Iterable[Result]) -> Part | None:
    """Instructions and writes of the register in one operation; None when nothing was counted both ways."""
    found: dict[tuple[str, str], dict[str, Mapping[str, float]]] = {}
    for result in results:
        if result.design == OWN_DESIGN and result.variant in ("", CREDENTIALS_OFF.name):
            for name, region in result.regions.items():
                found.setdefault((result.arch, name), {})[result.variant] = region.typical()
    both = {key: ways for key, ways in found.items() if len(ways) == 2}
    rows = tuple(
        _row(arch, name, both[arch, name])
        for arch, name in sorted(both, key=lambda key: (key[0] != "x86", key[0], region_order(key[1])))
    )
    if not rows:
        return None
    name, arch, off, on, change, writes = rows[0]
    example = (
        f"One operation of {name} executes {off} instructions on {arch} with kpkeys_cred=off, and {on} otherwise: "
        f"{change}. The difference in writes of the register is {writes}."
    )
    columns = ("benchmark", "architecture", "instructions without", "with", "change", "writes of the register")
    note = "Instructions at both privilege levels. Neither column has a price."
    return Part(
        "credentials", "What sealed credentials cost", (note,), (Grid("credentials-table", "", columns, rows, example),)
    )


def _row(arch: str, name: str, ways: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    on, off = ways[""], ways[CREDENTIALS_OFF.name]
    before, after = off["instructions"], on["instructions"]
    writes = sum(on.get(event, 0) - off.get(event, 0) for event in RAISES)
    return (
        name,
        arch,
        f"{before:,.0f}",
        f"{after:,.0f}",
        f"{100 * (after / before - 1):+.1f}%",
        f"{writes:+.1f}" if abs(writes) >= LITTLE else "0",
    )
