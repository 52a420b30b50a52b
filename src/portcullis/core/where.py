# SPDX-License-Identifier: GPL-2.0-only
"""Which functions wrote the register of the keys, from the addresses that emulator/plugins notes."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping

from portcullis.core.counts import CpuRound
from portcullis.core.elf import Symbol

_KINDS = ("STT_NOTYPE", "STT_FUNC")  # the first is what assembly has


class Functions:
    """The functions of a kernel, by address; code in line belongs to the function that it is in."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        # Of symbols at one address the last one counts: that with a size.
        found = sorted((symbol.address, symbol.size, symbol.name) for symbol in symbols if symbol.kind in _KINDS)
        self._names = {address: name for address, _, name in found}
        self._addresses = sorted(self._names)

    def at(self, address: int) -> str:
        """The function that an instruction is in, `?` if it is below all of them."""
        place = bisect_right(self._addresses, address)
        return self._names[self._addresses[place - 1]] if place else "?"


def writes_by_function(regions: Iterable[CpuRound], functions: Functions) -> dict[str, dict[str, int]]:
    """By region, how often each function wrote the register, most first, in the round with the least writes."""
    least: dict[str, Mapping[int, int]] = {}
    for region in regions:
        kept = least.setdefault(region.name, region.where)
        if sum(region.where.values()) < sum(kept.values()):
            least[region.name] = region.where
    tables = {}
    for name, where in least.items():
        counted: Counter[str] = Counter()
        for address, times in where.items():
            counted[functions.at(address)] += times
        tables[name] = dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))
    return tables
