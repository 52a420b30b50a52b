# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's lines mean: every format and every refusal of the sources has an explanation."""

import json
import re
from pathlib import Path

import pytest

from portcullis import cli
from portcullis.core.explain import LATE, OPEN, POOL, REFUSAL, REFUSED, START, VIOLATION, explain

ROOT = Path(__file__).parents[2]
PRODUCT = [path for path in (ROOT / "kernel/topics").glob("[1-5]*/files/**/*.c")]
STORE = (
    "kpkeys: violation: write to page table at 000000003e4e8e0e, entry 1, "
    "by {by} in {task} ({mode}), context {in_}, report {n}"
)
OWNER = "kpkeys:   report {n}: level PTE, owner {owner}, entry 1"


def store(by="f+0x1/0x2", task="sh[7]", mode="enforce", in_="task", n=1):
    return STORE.format(by=by, task=task, mode=mode, in_=in_, n=n)


def formats():
    """What the product prints of broken rules, with its placeholders filled in."""
    values = {"%d": "3", "%u": "4", "%p": "00000000abcdef01", "%pS": "memcpy+0x1/0x20 [vkms]", "%s": "task", "%lu": "5"}
    for path in PRODUCT:
        for text in re.findall(
            r'pr_\w+\("((?:violation|section left|corrupted pool|page tables hard)[^"]*)\\n"', path.read_text()
        ):
            yield path.name, "kpkeys: " + re.sub(r"%(?:pS|[a-z]+)", lambda found: values.get(found[0], "1"), text)


def test_every_format_of_the_product_is_known():
    known = list(formats())
    assert {"report.c", "frames.c", "force.c", "entry.c", "depot.c", "start.c"} <= {name for name, _ in known}
    for _, text in known:
        # a store names what was accessed, and where a section was left open, by words of its own
        text = text.replace("task task at", "write to page table at").replace(
            "by task[3] task", "by task[3] at a task switch"
        )
        assert any(each.match(text) for each in (VIOLATION, REFUSAL, LATE, OPEN, POOL, START)), text


def test_every_refusal_of_the_product_has_an_explanation():
    text = "\n".join(path.read_text() for path in PRODUCT)
    said = set(re.findall(r'kpkeys_refuse(?:_quietly)?\("([^"]+)"', text)) | set(
        re.findall(r'\brefuse\("([^"]+)"', text)
    )
    assert said and said <= set(REFUSED)
    assert set(REFUSED) - said <= {"test"}


def test_lines_of_one_cause_are_counted_together():
    lines = [f"[    1.0] {store(n=n, task=f'sh[{n}]')}" for n in (1, 2, 3)]
    lines += [OWNER.format(n=2, owner="sh[2]"), "Nov 24 21:00 host kernel: " + store(by="g+0x1/0x2", n=4)]
    first, second = explain(lines).events
    assert (first.count, first.tasks, second.count) == (3, ["sh[1]", "sh[2]", "sh[3]"], 1)
    assert first.table == "level PTE, of sh[2], entry 1"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (store(by="__memcpy+0x44/0x240"), "Take it for an attack"),
        (store(by="map_it+0x4/0x24 [my_driver]"), "Module my_driver writes entries"),
        (store(mode="audit"), "let through"),
        (store(in_="hardirq"), "only interrupted"),
        (
            "kpkeys: violation: use as a page table of an ordinary page at 0000 by a b[3][4] (enforce)",
            "linked as a page table",
        ),
        ("kpkeys: violation: CPU 3 keeps mappings of before pages were keyed (enforce)", "CPU 3"),
        ("kpkeys: section left open by sh[5] at a task switch", "open at a task switch"),
        ("kpkeys: corrupted pool: page freed twice at 00000000efc69a75; not used", "page freed twice"),
    ],
)
def test_a_line_is_explained(line, words):
    (event,) = explain([line]).events
    assert words in " ".join(map(str, vars(event).values()))


def test_what_is_not_understood_is_shown():
    found = explain(["kpkeys: violation: of a kind that nobody wrote down", "kpkeys: one section takes 3 ns"])
    assert found.unknown == ("kpkeys: violation: of a kind that nobody wrote down",) and not found.events


def test_the_command(tmp_path, capsys):
    log = tmp_path / "log"
    log.write_text(
        "kpkeys: page tables hardened: mode audit, backend poe, 1 boot tables\n" + store(mode="audit") + "\n"
    )
    assert cli.main(["explain", str(log)]) == 1
    assert "mode audit, backend poe" in (text := capsys.readouterr().out) and "A store to a page table." in text
    assert cli.main(["explain", str(log), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["events"][0]["where"] == "f+0x1/0x2"
    log.write_text("nothing\n")
    assert cli.main(["explain", str(log)]) == 0
    assert cli.main(["explain", str(tmp_path / "none")]) == 2
    assert "name a file" in capsys.readouterr().err
