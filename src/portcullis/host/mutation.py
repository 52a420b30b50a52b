# SPDX-License-Identifier: GPL-2.0-only
"""Drops one hook or topic at a time and looks whether the tests that its topic.toml names notice."""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from portcullis.core.topics import Hook, Topic, with_needers
from portcullis.host.hardening import touched_by
from portcullis.host.testing import Row

HEADER = re.compile(r"(?:^|/)include/")
MOST_SECONDS = 150.0  # of a boot: without a hook some hang; the evidence then says so


@dataclass(frozen=True)
class Mutation:
    """What happened without a hook or topic: `noticed` is how, empty when every named test still passed."""

    dropped: str
    noticed: str
    evidence: str
    seconds: float


@dataclass(frozen=True)
class Droppable:
    """A hook, or a topic with those that need it: `without` are the topics, `tests` the cases that must notice."""

    name: str
    tests: tuple[str, ...]
    leave_out: str
    without: tuple[str, ...]
    changes_header: bool


def droppable(topics: tuple[Topic, ...], expression: str) -> list[Droppable]:
    """Hooks, and topics that name a test of their own, whose names have one of the words joined by ` or `.

    A word that is a whole name stands for that alone: `secrets` for the topic, `secrets/` for its hooks. Raises
    ValueError when there is none.
    """
    parts = [part.strip() for part in expression.split(" or ") if part.strip()] or [""]
    found = [_hook(hook) for topic in topics for hook in topic.hooks if not hook.untested]
    found += [_topic(topic, topics) for topic in topics if topic.tests]
    names = {each.name for each in found}
    chosen = [
        each for each in found if any(part == each.name or (part not in names and part in each.name) for part in parts)
    ]
    if not chosen:
        raise ValueError(f"no hook or topic has this in its name: {expression}")
    return chosen


def _hook(hook: Hook) -> Droppable:
    header = any(HEADER.search(path) for path in touched_by(hook.diff))
    return Droppable(hook.id, hook.tests, hook.id, (), header)


def _topic(topic: Topic, topics: tuple[Topic, ...]) -> Droppable:
    return Droppable(topic.name, topic.tests, "", with_needers(topics, [topic.name]), True)


def mutations(dropped: Iterable[Droppable], run: Callable[[list[str]], list[Row]]) -> Iterable[Mutation]:
    """Yields one mutation for each; `run` runs tests that words for pytest name, up to the first that fails.

    All share one work tree and one build folder per lane. Headers go last: without one, nearly everything is compiled
    again, twice.
    """
    for each in sorted(dropped, key=lambda each: each.changes_header):
        started = time.monotonic()
        noticed, evidence = _judged(run(_words(each)), each.tests)
        yield Mutation(each.name, noticed, shown(evidence), time.monotonic() - started)


def _words(dropped: Droppable) -> list[str]:
    words = [f"--leave-out={dropped.leave_out}", *(f"--left-out={topic}" for topic in dropped.without)]
    words += ["--build-name=mutate", f"--boot-seconds={MOST_SECONDS}", "--exitfirst"]
    return [*words, *(f"--name={name}" for name in dropped.tests)]


def _judged(rows: list[Row], tests: tuple[str, ...]) -> tuple[str, str]:
    failed = next((row for row in rows if row.state == "failed"), None)
    if failed:
        return f"{failed.name} fails" if failed.built else "does not build", failed.detail
    if {row.name for row in rows if row.state == "passed"} < set(tests):
        return "", f"not all of {', '.join(tests) or '(none)'} ran"
    return "", f"{', '.join(tests)} still passed"


def shown(evidence: str) -> str:
    """Evidence as one line of a table, without the folders of this machine."""
    return re.sub(r"\S*/trees/[^/\s]+/", "", " ".join(evidence.split()))[:180]


def markdown(rows: Iterable[Mutation], kernel: str) -> str:
    """The table for the documentation."""
    lines = [
        "# What each hook is needed for",
        "",
        f"`portcullis test --mutate` on Linux {kernel}: each hook is dropped alone, the kernel is built again and the",
        "tests that its topic.toml names for it run. A hook that nobody misses would be a hook without a test.",
        "",
        "| hook | without it | evidence |",
        "| --- | --- | --- |",
    ]
    for row in rows:
        evidence = row.evidence.replace("|", "\\|")
        lines.append(f"| {row.dropped} | {row.noticed or '**nothing noticed**'} | {evidence} |")
    return "\n".join(lines) + "\n"
