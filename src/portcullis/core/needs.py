# SPDX-License-Identifier: GPL-2.0-only
"""What an attack needs that not every machine or kernel has: the words of `needs` in guest/attacks.toml."""

import re
from collections.abc import Callable, Iterable, Mapping

from portcullis.core.machine import Machine

Config = Mapping[str, str]
LOW_TEXT_MIB = 3072
_OPTION = re.compile(r"CONFIG_[A-Z0-9_]+")


def _large_leaves(machine: Machine, config: Config) -> bool:
    """Whether an entry of the level above PMDs can map memory: 1 GiB with 4 KiB pages, nothing with larger ones."""
    return machine.gbpages if machine.arch == "x86" else config.get("CONFIG_ARM64_4K_PAGES") == "y"


def _text_pages(machine: Machine, _: Config) -> bool:
    """Whether a page of text's alias in the direct map can change: without keys arm64 maps it by blocks for good."""
    return machine.arch == "x86" or machine.mode != "off" or "live_split=" in machine.append


def _low_text(machine: Machine, _: Config) -> bool:
    """Whether memory is where the low half of the address of the kernel's text leads to, which KASLR moves."""
    return machine.arch == "x86" and machine.memory >= LOW_TEXT_MIB and "nokaslr" in machine.append.split()


def _hidden_user_keys(machine: Machine, _: Config) -> bool:
    """Whether the keys of pointer authentication that user space has are to be secrets, as the kernel's are."""
    return "kpkeys_pauth=all" in machine.append


def _nmis_at_el2(machine: Machine, _: Config) -> bool:
    """Whether the kernel runs at EL2, and interrupts of its counters are NMIs."""
    return "virtualization=on" in machine.board and "gicv3_pseudo_nmi=1" in machine.append


WORDS: Mapping[str, Callable[[Machine, Config], bool]] = {
    "pti": lambda machine, _: bool(machine.pti),
    "nopti": lambda machine, _: not machine.pti,
    "four-levels": lambda machine, _: machine.arch == "x86" and not machine.la57,
    "four-cpus": lambda machine, _: machine.cpus >= 4,
    "smp": lambda machine, config: machine.cpus > 1 and config.get("CONFIG_SMP") == "y",
    "efi": lambda machine, _: machine.efi,
    "gbpages": _large_leaves,
    "text-pages": _text_pages,
    "low-text": _low_text,
    "pauth-all": _hidden_user_keys,
    "el2-nmi": _nmis_at_el2,
}


def unknown_needs(needs: Iterable[str]) -> list[str]:
    """Words that are neither known nor the name of a kernel option."""
    return [word for word in needs if word not in WORDS and not _OPTION.fullmatch(word)]


def lacking(needs: Iterable[str], machine: Machine, config: Config) -> tuple[str, ...]:
    """Those of the words that a machine with a kernel of this configuration does not have."""
    return tuple(word for word in needs if not _has(word, machine, config))


def _has(word: str, machine: Machine, config: Config) -> bool:
    return WORDS[word](machine, config) if word in WORDS else config.get(word) in ("y", "m")
