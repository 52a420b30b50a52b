# SPDX-License-Identifier: GPL-2.0-only
"""The cover letter of the product's series, made of docs/cover-letter.md."""

import tomllib
from collections.abc import Iterator

from portcullis.core.topics import PRODUCT, Topic
from portcullis.errors import ToolError
from portcullis.host.hardening import Plan
from portcullis.host.labdata import DATA
from portcullis.host.workspace import Workspace

# Benchmarks of expected-counts.toml, as a reader knows them.
OPERATIONS = {
    "fork-h0": "fork of 128 MiB, pages",
    "fork-h1": "fork of 128 MiB, huge pages",
    "lseek": "lseek()",
    "syscall-invalid": "a system call that does nothing",
}
ROW = "  {:<32} {:<6} {:>9} {:>9} {:>13}"


def cover_letter(workspace: Workspace, plan: Plan) -> tuple[str, str]:
    """Subject and text; raises ToolError when the template lacks a place to fill."""
    path = workspace.root / "docs/cover-letter.md"
    subject, _, text = path.read_text().partition("\n\n")
    for name, value in (
        ("{version}", str(plan.version)),
        ("{topics}", topic_list(plan.topics)),
        ("{costs}", "\n".join(cost_table((DATA / "expected-counts.toml").read_text()))),
    ):
        if name not in text:
            raise ToolError(f"{path} has no {name}")
        text = text.replace(name, value)
    return subject.removeprefix("# ").strip(), text


def topic_list(topics: tuple[Topic, ...]) -> str:
    """The topics of the product, each with the numbers of its patches."""
    lines, done = [], 0
    for topic in topics:
        first, done = done + 1, done + len(topic.commits) + len(topic.hooks)
        if topic.kind == PRODUCT:
            lines.append(f"  {first:>3} to {done:>3}  {topic.title}")
    return "\n".join(lines)


def cost_table(expected: str) -> Iterator[str]:
    """What one operation executes in the kernel, by architecture, from the committed counts."""
    counts = tomllib.loads(expected)
    yield ROW.format("one operation", "on", "writes", "barriers", "instructions")
    for name, regions in sorted(counts.items()):
        for region, levels in regions.items() if name != "toolchains" else ():
            times = levels["user"].get("syscall", 1)
            kernel = {key: value / times for key, value in levels["kernel"].items()}
            numbers = [f"{round(kernel.get(key, 0)):,}" for key in ("pkey_writes", "isb", "instructions")]
            yield ROW.format(OPERATIONS.get(region, region), name.partition("-")[0], *numbers)
