# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's lines mean: every format and every refusal of the sources has an explanation."""

import json
import re
from pathlib import Path

import pytest

from portcullis import cli
from portcullis.core.explain import (
    CONTEXTS,
    KEYS,
    LATE,
    OBJECTS,
    OFF,
    OPEN,
    OWNER,
    PANIC,
    POINTER,
    POOL,
    REFUSAL,
    REFUSED,
    START,
    VIOLATION,
    explain,
)

ROOT = Path(__file__).parents[2]
PRODUCT = [path for path in (ROOT / "kernel/topics").glob("[1-5]*/files/**/*.c")]
STORE = (
    "kpkeys: violation: write to page table at 000000003e4e8e0e, entry 1, "
    "by {by} in {task} ({mode}), context {in_}, report {n}"
)
OWNER_LINE = "kpkeys:   report {n}: level PTE, owner {owner}, entry 1"


def store(by="f+0x1/0x2", task="sh[7]", mode="enforce", in_="task", n=1):
    return STORE.format(by=by, task=task, mode=mode, in_=in_, n=n)


# Of all that the product prints: what is about broken rules, and how it starts.
SAID = re.compile(
    r'(?:\bpr_\w+\(|KERN_ERR |\bpanic\()"(?:kpkeys: )?'
    r'((?:violation: |a violation|section left|corrupt(?:ed p|: )|page tables hard|  report|off: )[^"]*?)(?:\\n)?"'
)
MANUAL = ROOT / "kernel/topics/60-documentation/files/Documentation/mm/kpkeys.rst"
KNOWN = (VIOLATION, OWNER, REFUSAL, LATE, OPEN, POOL, POINTER, KEYS, PANIC, START, OFF)
# Examples of the fields; every line of the manual with these in it must be understood.
FIELDS = {
    "access": "write to",
    "object": "page table",
    "id": "00000000abcdef01",
    "number": "4",
    "symbol": "memcpy+0x1/0x20 [vkms]",
    "task": "a b]",
    "pid": "7",
    "mode": "audit",
    "context": "task",
    "level": "PTE",
    "owner": "kernel",
    "what": "free",
    "cpu": "3",
    "backend": "pks",
    "reason": "kpkeys=off",
}


def printed():
    """The formats of the product, as the kernel's sources have them."""
    return {f"kpkeys: {text}" for path in PRODUCT for text in SAID.findall(path.read_text())}


def documented():
    """The lines of the manual, as it has them."""
    return re.findall(r"^    (kpkeys: .*)$", MANUAL.read_text().split("Lines in the log\n=")[1], re.MULTILINE)


def test_the_manual_has_every_line_that_the_product_prints_and_no_other():
    lines = documented()
    assert sorted(re.sub(r"<[a-z]+>", "<>", line) for line in lines) == sorted(
        re.sub(r"%(?:pS|[a-z]+)", "<>", text) for text in printed()
    )
    fields = set(re.findall(r"<([a-z]+)>", "\n".join(lines)))
    assert fields == set(FIELDS)
    undescribed = {"number", "cpu", "backend", "reason"}
    assert [field for field in fields - undescribed if f"``{field}``" not in MANUAL.read_text()] == []


def test_every_documented_line_is_understood_as_what_it_is():
    lines = [re.sub(r"<([a-z]+)>", lambda found: FIELDS[found[1]], line) for line in documented()]
    kinds = [[each for each in KNOWN if each.match(line)] for line in lines]
    assert [line for line, found in zip(lines, kinds, strict=True) if len(found) != 1] == []
    assert {found[0] for found in kinds} == set(KNOWN)
    access = VIOLATION.match(next(line for line in lines if "context" in line))
    assert access.groupdict() == {
        "what": "write to",
        "of": "page table",
        "at": FIELDS["id"],
        "entry": "4",
        "symbol": "memcpy+0x1/0x20",
        "module": "vkms",
        "task": "a b][7]",
        "mode": "audit",
        "context": "task",
        "number": "4",
    }


def test_the_words_of_the_manual_are_those_of_the_kernel():
    reports = next(path for path in PRODUCT if path.name == "report.c").read_text()
    contexts = reports.split("*context_name(void)")[1].split("\n}\n")[0]
    assert sorted(re.findall(r'"(\w+)"', contexts)) == sorted(CONTEXTS)
    for word in (*CONTEXTS, *OBJECTS):
        assert f"``{word}``" in MANUAL.read_text(), word


def test_every_refusal_of_the_product_has_an_explanation():
    text = "\n".join(path.read_text() for path in PRODUCT)
    said = set(re.findall(r'kpkeys_refuse(?:_quietly)?\("([^"]+)"', text)) | set(
        re.findall(r'\brefuse\("([^"]+)"', text)
    )
    assert said and said <= set(REFUSED)
    assert set(REFUSED) - said <= {"test"}


def test_lines_of_one_cause_are_counted_together():
    lines = [f"[    1.0] {store(n=n, task=f'sh[{n}]')}" for n in (1, 2, 3)]
    lines += [OWNER_LINE.format(n=2, owner="sh[2]"), "Nov 24 21:00 host kernel: " + store(by="g+0x1/0x2", n=4)]
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
        ("kpkeys: corrupted pointer to a page table: not written to", "led to none"),
        ("Kernel panic: kpkeys: corrupt: the keys that sh[7] names are not its own", "of another task"),
        ("kpkeys: corrupted pool: page freed twice at 00000000efc69a75; not used", "page freed twice"),
    ],
)
def test_a_line_is_explained(line, words):
    (event,) = explain([line]).events
    assert words in " ".join(map(str, vars(event).values()))


def test_what_is_not_understood_is_shown():
    found = explain(["kpkeys: violation: of a kind that nobody wrote down", "kpkeys: one section takes 3 ns"])
    assert found.unknown == ("kpkeys: violation: of a kind that nobody wrote down",) and not found.events


def test_a_panic_and_a_kernel_without_protection_are_told():
    lines = [store(), "Kernel panic - not syncing: kpkeys: a violation, and kpkeys_panic=1"]
    assert explain(lines).panicked and not explain(lines).unknown and len(explain(lines).events) == 1
    assert explain(["kpkeys: off: kpkeys=off"]).started == "mode off (kpkeys=off)"


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
