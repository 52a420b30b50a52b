# SPDX-License-Identifier: GPL-2.0-only
"""Attacks: what is expected of them and what a boot showed."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from portcullis.core.arches import ARCHES
from portcullis.core.ktap import strip_printk
from portcullis.core.lanes import LANES
from portcullis.core.machine import BACKENDS, MODES, Machine
from portcullis.core.needs import Config, lacking, unknown_needs
from portcullis.core.splats import scan_console
from portcullis.core.versions import KernelVersion, parse_version

VERDICTS = ("LANDED", "REPORTED", "BLOCKED")
EITHER = " or "  # audit reports a store before it lets it through: one that is in a race may come too late
DIED = "DIED"  # the guest ended during the attack and no violation was reported
ERROR = "ERROR"  # the attack could not be tried
MISSING = "MISSING"  # the guest ran on, but the attack gave no verdict

OLDEST = KernelVersion(6, 12)
_VERSION = re.compile(r"\d+\.\d+")  # name of a table
_KILLED = re.compile(r"\bsegfault at |\btraps: |Killed process |unhandled ")  # of what runs in user space

SCOPES = ("in", "out", "gap")  # "gap": to be stopped one day, and not stopped yet
# By way of the kernel itself: docs/threat-model.md says what each is.
CLASSES = (
    "sections",
    "roots",
    "destinations",
    "links",
    "leaves",
    "retyping",
    "interrupted state",
    "switches",
    "force",
)
FIELDS = {"name", "scope", "what", *MODES}
STUDIES = {lane.name for lane in LANES.values() if "studies" in lane.kinds}
TABLES = {*ARCHES, *(backend for backends in BACKENDS.values() for backend in backends), *STUDIES}
# Some attacks aim at the user half of the tables, which exists only with page-table isolation.
_REPORT = re.compile(r"kpkeys: (?:violation:|corrupt)")
_BEGIN = "portcullis: attack "
ATTACKED_MACHINE = Machine(pti=True, timeout=180.0)


@dataclass(frozen=True)
class Attack:
    """One entry of guest/attacks.toml.

    `expected` maps each mode to a verdict, audit perhaps to two joined by EITHER. `needs` has words of core/needs.py,
    `way` is one of CLASSES or empty. One that is `alone` spoils the boot for others, and has its own. One that
    `damages` is alone as well, and the kernel complains of what it did.
    """

    name: str
    scope: str
    expected: Mapping[str, str]
    what: str
    needs: tuple[str, ...] = ()
    way: str = ""
    alone: bool = False
    damages: bool = False


@dataclass(frozen=True)
class AttackResult:
    """What one attack did in one mode."""

    name: str
    scope: str
    mode: str
    verdict: str
    expected: str
    evidence: str

    @property
    def as_expected(self) -> bool:
        """True when the verdict is the expected one, or one of the two."""
        return self.verdict in self.expected.split(EITHER)


def parse_attacks(
    text: str, arch: str = "x86", backend: str = "", lane: str = "", version: KernelVersion = OLDEST
) -> tuple[Attack, ...]:
    """Entries of an attacks.toml that exist on `arch` in a version; raises ValueError that names the entry at fault.

    `arches` lists the architectures of an attack (all), `to` is the first version without what it attacks. A table
    named after an architecture, after a backend, after the lane of a study, or after the first version of those that it
    is for, has the scope and the verdicts that differ there, or says that it runs alone there.
    """
    try:
        entries = tomllib.loads(text).get("attack", [])
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"attacks.toml: {error}") from error
    attacks = tuple(
        _attack(entry, (arch, backend, lane), version)
        for entry in entries
        if arch in entry.get("arches", ARCHES) and version < _first_without(entry)
    )
    names = [attack.name for attack in attacks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"attacks.toml: {twice[0]} is listed twice")
    return attacks


def _first_without(entry: Mapping[str, Any]) -> KernelVersion:
    try:
        return parse_version(str(entry.get("to", "9999.0")))
    except ValueError as error:
        raise ValueError(f"attacks.toml: {entry.get('name', 'entry without a name')}: {error}") from error


def _attack(entry: Mapping[str, Any], where_it_runs: tuple[str, ...], version: KernelVersion) -> Attack:
    where = f"attacks.toml: {entry.get('name', 'entry without a name')}"
    _look_for_unknown(entry, where)
    versions = sorted(filter(_VERSION.fullmatch, entry), key=parse_version)
    for table in (*where_it_runs, *(name for name in versions if parse_version(name) <= version)):
        entry = {**entry, **entry.get(table, {})}
    missing = FIELDS - set(entry)
    if missing:
        raise ValueError(f"{where}: {sorted(missing)[0]!r} is missing")
    if entry["scope"] not in SCOPES:
        raise ValueError(f"{where}: scope must be one of {', '.join(SCOPES)}")
    for mode in MODES:
        if not set(str(entry[mode]).split(EITHER) if mode == "audit" else [entry[mode]]) <= set(VERDICTS):
            raise ValueError(f"{where}: {mode} must be one of {', '.join(VERDICTS)}")
    expected = {mode: entry[mode] for mode in MODES}
    return Attack(
        entry["name"],
        entry["scope"],
        expected,
        entry["what"],
        _needs(entry, where),
        _way(entry, where),
        _is_set("alone", entry, where) or _is_set("damages", entry, where),
        _is_set("damages", entry, where),
    )


def _way(entry: Mapping[str, Any], where: str) -> str:
    way = entry.get("class", "")
    if way not in (CLASSES if entry["scope"] == "gap" else ("", *CLASSES)):
        raise ValueError(f"{where}: class must be one of {', '.join(CLASSES)}")
    return str(way)


def _is_set(name: str, entry: Mapping[str, Any], where: str) -> bool:
    value = entry.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{where}: {name} must be true or false")
    return value


def _needs(entry: Mapping[str, Any], where: str) -> tuple[str, ...]:
    needs = entry.get("needs", [])
    if not isinstance(needs, list):
        raise ValueError(f"{where}: needs must be a list")
    for word in unknown_needs(needs):
        raise ValueError(f"{where}: unknown need {word!r}")
    return tuple(needs)


def _look_for_unknown(entry: Mapping[str, Any], where: str) -> None:
    """A word that is misspelled would leave a verdict as it is elsewhere."""
    tables = TABLES | set(filter(_VERSION.fullmatch, entry))
    unknown = set(entry) - FIELDS - tables - {"alone", "arches", "class", "damages", "helpers", "needs", "to"}
    for table in tables & set(entry):
        unknown |= {f"{table}.{name}" for name in set(entry[table]) - {"alone", "scope", *MODES}}
    if unknown:
        raise ValueError(f"{where}: unknown {sorted(unknown)[0]!r}")


def choose_attacks(attacks: tuple[Attack, ...], names: Iterable[str]) -> tuple[Attack, ...]:
    """Attacks by name, all when no name is given; raises ValueError for an unknown name."""
    wanted = list(names)
    known = {attack.name: attack for attack in attacks}
    for name in wanted:
        if name not in known:
            raise ValueError(f"unknown attack {name!r}; known are: {', '.join(known)}")
    return tuple(known[name] for name in wanted) if wanted else attacks


def possible_attacks(
    attacks: Iterable[Attack], machine: Machine, config: Config
) -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """Attacks that a machine with a kernel of this configuration has the objects for, and what to say of the others."""
    missing = [(attack, lacking(attack.needs, machine, config)) for attack in attacks]
    left_out = tuple(f"{attack.name} (needs {', '.join(words)})" for attack, words in missing if words)
    return tuple(attack for attack, words in missing if not words), left_out


def read_verdicts(records: Iterable[Mapping[str, object]]) -> dict[str, tuple[str, str]]:
    """Verdict and evidence by attack name, from `#json` records; the last one of an attack counts."""
    return {
        str(record["attack"]): (str(record["verdict"]), str(record.get("evidence", "")))
        for record in records
        if "attack" in record and "verdict" in record
    }


def verdict_of_dead_guest(console: str, attack: str) -> tuple[str, str]:
    """Verdict for the attack during which the guest died, from its console.

    BLOCKED needs a violation report of this attack as evidence: any other death proves nothing. The guest says where
    an attack begins.
    """
    lines = [strip_printk(line.rstrip()) for line in console.splitlines() if line.strip()]
    begin = f"{_BEGIN}{attack}"
    lines = lines[lines.index(begin) :] if begin in lines else lines[-1:]
    for line in reversed(lines):
        if _REPORT.search(line):
            return "BLOCKED", line
    complaints = [splat.line for splat in scan_console("\n".join(lines), ("trace",))]
    killed = [line for line in lines if _KILLED.search(line)]
    return DIED, (complaints or killed or lines or ["the console is empty"])[-1]


def is_reported(console: str) -> bool:
    """True if the attack that began last was stopped, and said so."""
    return bool(_REPORT.search(console.rpartition(_BEGIN)[2]))


def judge(attack: Attack, mode: str, verdict: str, evidence: str) -> AttackResult:
    """Puts a verdict beside what was expected."""
    return AttackResult(attack.name, attack.scope, mode, verdict, attack.expected[mode], evidence)


def still_landing(outcomes: Iterable[AttackResult]) -> tuple[str, ...]:
    """A line on the attacks that are not stopped yet, or none where enforce has not met any."""
    gaps = [outcome for outcome in outcomes if outcome.scope == "gap" and outcome.mode == "enforce"]
    land = sum(outcome.verdict in ("LANDED", "REPORTED") for outcome in gaps)
    text = f"Of {len(gaps)} attacks by way of the kernel itself {land} still land: docs/threat-model.md says why."
    return (text,) if gaps else ()
