# SPDX-License-Identifier: GPL-2.0-only
"""What the lines mean that a hardened kernel writes when something breaks its rules."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# Documentation/mm/kpkeys.rst of the product describes these lines. Unit tests hold it and this to the kernel's sources.
VIOLATION = re.compile(
    r"kpkeys: violation: (?P<what>write to|read of) (?P<of>page table|gate state|secret) at (?P<at>\S+), "
    r"entry (?P<entry>\d+), by (?P<symbol>\S+?)(?: \[(?P<module>[^\]]+)\])? in (?P<task>.*\[\d+\]) "
    r"\((?P<mode>\w+)\), context (?P<context>\w+), report (?P<number>\d+)$"
)
OWNER = re.compile(r"kpkeys:   report (?P<number>\d+): level (?P<level>.+), owner (?P<owner>.+), entry (?P<entry>\d+)$")
REFUSAL = re.compile(
    r"kpkeys: violation: (?P<what>.+?) of (?P<of>.+) at (?P<at>\S+) by (?P<task>.*\[\d+\]) \((?P<mode>\w+)\)$"
)
LATE = re.compile(r"kpkeys: violation: CPU (?P<cpu>\d+) keeps mappings of before pages were keyed \((?P<mode>\w+)\)$")
OPEN = re.compile(
    r"kpkeys: section left open by (?P<task>.*\[\d+\]) (?P<where>at a task switch|on return to user space)$"
)
POOL = re.compile(r"kpkeys: corrupted pool: (?P<what>.+) at (?P<at>\S+); not used$")
POINTER = re.compile(r"kpkeys: corrupted pointer to a page table: not written to$")
KEYS = re.compile(r"kpkeys: corrupt: the keys that (?P<task>.*\[\d+\]) names are not its own$")
PANIC = re.compile(r"kpkeys: a violation, and kpkeys_panic=1$")
OFF = re.compile(r"kpkeys: off: (?P<reason>.+)$")
START = re.compile(r"kpkeys: page tables hardened: mode (?P<mode>\w+), backend (?P<backend>\w+)")

# What the kernel was made to do, by the first words of its line.
REFUSED = {
    "call": "The firmware was to start a CPU by a number from ordinary memory, where that may say at what address.",
    "change": "What an interrupt saved of an open section was changed while it ran. No bug of a driver does that.",
    "change of a mapping": "An entry that maps protected memory was to be changed.",
    "change of type": "Memory was to become page tables while something still maps it.",
    "copy": "Entries were to be copied to or from a page that is no such table.",
    "free": "What is in use was to be freed: a page, a task's credentials or groups, a user namespace.",
    "growth": "A task was to get credentials that its old ones do not allow, or a namespace such IDs.",
    "installation": "A breakpoint of a process was to be installed at an address of the kernel.",
    "loading": "A segment of the kernel was among those of a process.",
    "mapping": "An entry was to map what it may not: a page table, state, writable text, a page for others.",
    "new key": "A page was to get a key that is not its own.",
    "patching": "Text was to be patched by what ordinary memory says, or something else than text was.",
    "redirection": "A task's pointers to its credentials were turned elsewhere. Nobody believes them.",
    "release": "Memory was to be released that is still a page table, or text.",
    "share": "A page with a key was to be shared with the host, or made private anew.",
    "test": "A test of the kernel itself.",
    "use": "A CPU was to run on a root table that is not the process's.",
    "use as credentials": "A task was to have credentials that are not its own.",
    "use as a page table": "A page was to be linked as a page table that is none, or is linked elsewhere.",
    "use as a root": "A page was to become a root table that is none, or of another process.",
    "use as text": "A page was to become text that can be written.",
    "walk": "The kernel was to write tables of one process in the name of another.",
    "write": "A register of the protection was to be written by its number.",
}
# Functions that store where somebody else says: the line names them, and not who chose the address.
COPIES = re.compile(r"^(__)?(arch_)?(raw_)?(memcpy|memmove|memset|copy_|clear_|strcpy|strscpy|rep_)")

CONTEXTS = {
    "task": "",
    "softirq": "a softirq: the task was only interrupted",
    "hardirq": "an interrupt handler: the task was only interrupted",
    "nmi": "an NMI: the task was only interrupted",
}
OBJECTS = {"page table": "a page table", "gate state": "the protection's state", "secret": "a secret"}
INSIDE = "Nothing but the kernel's own code, or somebody who changed what it relies on, leads here."
READ = "Few lines of the kernel read a secret by right: this was a tool that dumps memory, a bug, or an attack."
COPY = "{function}() stores where its caller says. Take it for an attack until you know the caller."
MODULE = "Module {module} writes entries by itself, which is a bug of it, or a pointer of its went astray."
KERNEL = "If this function means to write page tables, it lacks a guard. If not, a pointer went astray or was chosen."
LED = "The kernel's code was led here by wrong data. Drivers that map or free what is not theirs do it, and attacks."
ASK_READER = "Find out what the task is, and whether it should read kernel memory at all."
ASK_MODULE = "Have the module use set_pte() and its like; with kpkeys=audit it runs until then, without protection."
ASK_TRACE = "Get the call trace, from the oops behind this line or the trace event kpkeys_violation, and report it."
ASK_TASK = "Find out what the task is and did last. On many machines with the same driver it is a bug of that."


@dataclass
class Event:
    """One kind of thing that happened: lines that say the same, with `count` of them.

    `what` says it in words, `where` has function and module, `advice` what to do.
    """

    kind: str
    what: str
    task: str
    mode: str
    where: str = ""
    table: str = ""
    context: str = ""
    judgement: str = ""
    advice: str = ""
    count: int = 1
    tasks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Explanation:
    """What a log says; `started` is the mode and backend of the boot, empty where the log has not that line.

    `panicked` is whether kpkeys_panic=1 made an end.
    """

    events: tuple[Event, ...]
    started: str
    unknown: tuple[str, ...]
    panicked: bool = False


def explain(lines: Iterable[str]) -> Explanation:
    """Reads console text, dmesg or a journal; what stands before `kpkeys:` on a line does not matter."""
    events: dict[tuple[str, ...], Event] = {}
    owners: dict[str, str] = {}
    numbers: dict[str, Event] = {}
    unknown, started, panicked = [], "", False
    for line in lines:
        text = line[line.find("kpkeys: ") :].rstrip() if "kpkeys: " in line else ""
        if start := _start(text):
            started = start
        elif PANIC.match(text):
            panicked = True
        elif found := OWNER.match(text):
            owners[found["number"]] = f"level {found['level']}, of {found['owner']}, entry {found['entry']}"
        elif event := _event(text):
            key = (event.kind, event.what, event.where, event.mode, event.context)
            kept = events.setdefault(key, event)
            kept.count += kept is not event
            if event.task and event.task not in kept.tasks:
                kept.tasks.append(event.task)
            if found := VIOLATION.match(text):
                numbers[found["number"]] = kept
        elif "violation" in text or "corrupt" in text:
            unknown.append(text)
    for number, event in numbers.items():
        event.table = event.table or owners.get(number, "")
    return Explanation(tuple(events.values()), started, tuple(unknown), panicked)


def _start(text: str) -> str:
    if found := START.match(text):
        return f"mode {found['mode']}, backend {found['backend']}"
    found = OFF.match(text)
    return f"mode off ({found['reason']})" if found else ""


def _event(text: str) -> Event | None:
    if found := VIOLATION.match(text):
        return _access(found)
    if found := LATE.match(text):
        what = f"CPU {found['cpu']} did not say that it has flushed its TLB."
        return Event("late CPU", what, "", found["mode"], judgement=INSIDE, advice="Look for a CPU that is stuck.")
    if found := REFUSAL.match(text):
        return _refusal(found)
    if found := OPEN.match(text):
        what = f"The gate was open {found['where']}, and was shut."
        advice = "Something returned or slept inside a section. Report it."
        return Event("open section", what, found["task"], "", judgement=INSIDE, advice=advice)
    if found := POOL.match(text):
        what = f"The pool found a {found['what']}, and uses it no more."
        judgement = "A table was freed twice, or something changed a list in ordinary memory."
        return Event("corrupted pool", what, "", "", judgement=judgement, advice="Look at what freed tables before.")
    if POINTER.match(text):
        what = "A pointer to a page table led to none."
        judgement = "Something changed a pointer in ordinary memory, or the memory that it leads to was freed."
        return Event(
            "corrupted pointer", what, "", "", judgement=judgement, advice=f"It was not written to. {ASK_TRACE}"
        )
    if found := KEYS.match(text):
        what = "A CPU was to use the keys of pointer authentication of another task."
        advice = f"The kernel stopped over it. {ASK_TASK}"
        return Event("forged keys", what, found["task"], "", judgement=INSIDE, advice=advice)
    return None


def _access(found: re.Match[str]) -> Event:
    reads, module = found["what"] == "read of", found["module"]
    function = found["symbol"].split("+")[0]
    if reads:
        judgement, advice = READ, ASK_READER
    elif COPIES.match(function):
        judgement, advice = COPY.format(function=function), ASK_TRACE
    elif module:
        judgement, advice = MODULE.format(module=module), ASK_MODULE
    else:
        judgement, advice = KERNEL, ASK_TRACE
    done = "It was let through." if found["mode"] == "audit" else "It did not happen: the task got an error, or died."
    return Event(
        "access",
        f"{'A load from' if reads else 'A store to'} {OBJECTS[found['of']]}.",
        found["task"],
        found["mode"],
        found["symbol"] + (f" of module {module}" if module else ""),
        context=CONTEXTS.get(found["context"], found["context"]),
        judgement=judgement,
        advice=f"{done} {advice}",
    )


def _refusal(found: re.Match[str]) -> Event:
    done = (
        "It was let through."
        if found["mode"] == "audit"
        else "It was not done: the operation failed, or the task died."
    )
    return Event(
        "refusal",
        REFUSED.get(found["what"], "The kernel was to do what its rules forbid."),
        found["task"],
        found["mode"],
        f"{found['what']} of {found['of']}",
        judgement=LED,
        advice=f"{done} {ASK_TASK}",
    )
