# SPDX-License-Identifier: GPL-2.0-only
"""Configuration fragments: reading them and proving that a .config has what they ask for."""

import re
from dataclasses import dataclass

_SET = re.compile(r"^(CONFIG_\w+)=(.*?)\s*(#.*)?$")
_UNSET = re.compile(r"^# (CONFIG_\w+) is not set\s*$")


@dataclass(frozen=True)
class Request:
    """One option that a fragment asks for; value `n` means off."""

    name: str
    value: str
    optional: bool


def parse_fragment(text: str) -> tuple[Request, ...]:
    """Options of a fragment.

    An option is optional when the line above it is the comment `# optional` or the line ends in it:
    kernels or compilers that lack such an option still build.
    """
    requests: list[Request] = []
    optional = False
    for line in text.splitlines():
        unset = _UNSET.match(line)
        found = _SET.match(line)
        if unset:
            requests.append(Request(unset[1], "n", optional))
        elif found:
            inline = (found[3] or "").lstrip("# ").startswith("optional")
            requests.append(Request(found[1], found[2], optional or inline))
        optional = line.strip().lower().startswith("# optional")
    return tuple(requests)


def parse_config(text: str) -> dict[str, str]:
    """Values of a kernel .config; options that are off are absent."""
    return {found[1]: found[2] for line in text.splitlines() if (found := _SET.match(line))}


def unmet(requests: tuple[Request, ...], config: dict[str, str]) -> tuple[Request, ...]:
    """Requests that the final configuration does not hold, later requests for an option winning."""
    last = {request.name: request for request in requests}
    return tuple(
        request
        for request in last.values()
        if not request.optional and not _met(request.value, config.get(request.name, "n"))
    )


def _met(wanted: str, got: str) -> bool:
    if wanted == "m":
        return got in ("m", "y")
    return wanted == got


def different_options(one: dict[str, str], other: dict[str, str]) -> tuple[str, ...]:
    """Names of options whose values differ, sorted."""
    return tuple(sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)))
