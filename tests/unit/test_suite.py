# SPDX-License-Identifier: GPL-2.0-only
"""How boots are judged, what is printed of tests, and mutation."""

import re
from pathlib import Path

import pytest

from fakes import TOPICS
from kit.case import Case, boot
from kit.checks import problems_of_boot, problems_of_kselftest, problems_of_panic, shorten
from portcullis.core.machine import Machine
from portcullis.core.results import DIED, parse_results
from portcullis.core.topics import Selection, choose_topics, parse_topics
from portcullis.core.versions import KernelVersion
from portcullis.host.hardening import read_topics
from portcullis.host.mutation import Droppable, Mutation, droppable, markdown, mutations, shown
from portcullis.host.testing import Row, failures, summary_line
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]

CASE = Case("c", "w", machine=Machine(job="check"), console=("hardened: mode enforce",))
CONSOLE = "kpkeys: page tables hardened: mode enforce, 9 pages\n"
GOOD = "KTAP version 1\nok 1 - checker\n1..1\n#done 0\n"


def problems(results=GOOD, console=CONSOLE, trouble="", case=CASE):
    return problems_of_boot(case, parse_results(results), console, trouble)


def test_a_good_boot_has_no_problem():
    assert problems() == []


PANIC = Case("p", "w", machine=Machine(job="watch,panic"), console=("syncing: oh",), results=("ok 1 - about",))
PANICKED = "kpkeys: violation: oh\nKernel panic - not syncing: oh\nCall Trace:\n"


def panic_problems(results="ok 1 - about to store\n", console=PANICKED, trouble=DIED):
    return problems_of_panic(PANIC, parse_results(results), results, console, trouble)


def test_a_boot_that_has_to_panic_does():
    assert panic_problems() == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"results": GOOD.replace("checker", "about to store"), "trouble": ""}, "came to its end"),
        ({"trouble": "no end after 120 s"}, "no end after"),
        ({"results": ""}, "do not say 'ok 1 - about'"),
        ({"console": PANICKED.replace("oh\nCall", "something else\nCall")}, "does not say 'syncing: oh'"),
        ({"console": PANICKED + "BUG: KASAN\n"}, "BUG: KASAN"),
    ],
)
def test_a_boot_that_has_to_panic_and_does_not_is_a_problem(arguments, expected):
    assert expected in "\n".join(panic_problems(**arguments))


def test_linux_own_tests_must_say_that_they_tested():
    case = Case("k", "w", machine=Machine(job="run,pac"), results=("pass:7 fail:0",))
    good = "KTAP version 1\n# pac: # Totals: pass:7 fail:0\nok 1 - pac\n1..1\n#done 0\n"
    assert problems_of_kselftest(case, parse_results(good), good) == []
    fewer = good.replace("pass:7", "pass:6")
    assert "pass:7" in problems_of_kselftest(case, parse_results(fewer), fewer)[0]
    skipped = good.replace("- pac", "- pac # SKIP no such CPU")
    assert problems_of_kselftest(case, parse_results(skipped), skipped) == ["skipped: pac (SKIP no such CPU)"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"results": GOOD.replace("ok 1", "not ok 1").replace("checker", "checker # 3 unkeyed")},
            "not ok: checker (3 unkeyed)",
        ),
        ({"results": GOOD.replace("#done 0", "#done 1")}, "status 1"),
        ({"results": "#done 0\n"}, "no test"),
        ({"results": GOOD.replace("1..1", "1..2")}, "not ok: plan (2 tests planned, 1 seen)"),
        ({"results": GOOD.replace("1..1\n", "")}, "not ok: plan (no plan: it did not finish)"),
        ({"results": GOOD + "#json {\n"}, "malformed"),
        ({"console": CONSOLE + "WARNING: CPU: 0 PID: 1\n"}, "WARNING: CPU"),
        ({"console": "Linux version 6.12\n"}, "does not say"),
        ({"trouble": "no end after 9 s"}, "no end after 9 s"),
    ],
)
def test_each_kind_of_problem_is_seen(arguments, expected):
    assert any(expected in problem for problem in problems(**arguments))


def test_kunit_failures_on_the_console_count():
    case = Case("k", "w", machine=Machine(job="kunit", kunit=True))
    assert any("restore" in problem for problem in problems(console="    not ok 2 restore\n", case=case))


def test_a_kunit_run_that_is_cut_short_counts():
    case = Case("k", "w", machine=Machine(job="kunit", kunit=True))
    whole = "KTAP version 1\n1..1\n    KTAP version 1\n    1..2\n    ok 1 a\n    ok 2 b\nok 1 s\n"
    assert problems(console=whole, case=case) == []
    assert any(
        "2 tests planned, 1 seen" in problem
        for problem in problems(console=whole.replace("    ok 2 b\n", ""), case=case)
    )


def test_many_problems_are_shortened():
    assert shorten([str(number) for number in range(20)]).endswith("and 12 more")


def test_the_wrong_backend_is_seen():
    case = boot("b", "w", "check", backend="wp")
    line = "kpkeys: page tables hardened: mode enforce, backend {}, 9 boot tables\n"
    extra = "kpkeys: secrets are not hidden: x\nkpkeys: one section takes 90 ns\n"
    assert problems(console=line.format("wp") + extra, case=case) == []
    assert len(problems(console=line.format("pks") + extra, case=case)) == 1
    assert len(problems(console=line.format("wp"), case=case)) == 2


ROWS = [Row("a", "passed", 1.0, ""), Row("b", "failed", 2.0, "why", "/log"), Row("c", "skipped", 0.0, "no")]


def test_failures_are_said_again():
    assert [row.name for row in failures(ROWS)] == [row.name for row in ROWS if row.state == "failed"] != []


def test_summary_line():
    assert summary_line(ROWS[:2]) == "1 passed, 1 failed"
    assert summary_line(ROWS) == "1 passed, 1 failed, 1 skipped"


def test_evidence_does_not_name_folders_of_the_machine():
    text = "the build failed:\n  ../../trees/6.12.117-1/mm/x.c:3: error\n /root/trees/a-b/mm/y.c: error"
    assert shown(text) == "the build failed: mm/x.c:3: error mm/y.c: error"


def test_a_hook_that_nobody_misses_stands_out():
    text = markdown(
        [Mutation("a.patch", "kunit fails", "x | y", 1.0), Mutation("b.patch", "", "kunit still passed", 1.0)], "6.12"
    )
    assert "| a.patch | kunit fails | x \\| y |" in text
    assert "| b.patch | **nothing noticed** |" in text


def test_a_mutation_is_what_its_tests_say():
    asked = []

    def run(words):
        asked.append(words)
        return [Row("boot-enforce", "passed", 1.0, ""), Row("kunit", "failed", 1.0, "not ok: a test")]

    dropped = Droppable("common/0100-first", ("boot-enforce", "kunit"), "common/0100-first", (), False)
    (found,) = mutations([dropped], run)
    assert (found.noticed, found.evidence) == ("kunit fails", "not ok: a test")
    assert {"--leave-out=common/0100-first", "--name=boot-enforce", "--name=kunit", "--exitfirst"} <= set(asked[0])


@pytest.mark.parametrize(
    ("rows", "noticed", "evidence"),
    [
        ([Row("kunit", "failed", 1.0, "no image", built=False)], "does not build", "no image"),
        ([Row("kunit", "passed", 1.0, "")], "", "kunit still passed"),
        ([Row("kunit", "skipped", 1.0, "")], "", "not all of kunit ran"),
        ([], "", "not all of kunit ran"),
    ],
)
def test_how_a_mutation_is_judged(rows, noticed, evidence):
    (found,) = mutations([Droppable("a-topic", ("kunit",), "", ("a-topic",), True)], lambda _: rows)
    assert (found.noticed, found.evidence) == (noticed, evidence)


def test_each_hook_has_a_row():
    topics = read_topics(Workspace(ROOT, ROOT))
    noted = (ROOT / "docs/mutation.md").read_text()
    hooks = [hook for topic in topics for hook in topic.hooks if not hook.untested]
    assert [hook.id for hook in hooks if f"| {hook.id} " not in noted] == []


@pytest.mark.parametrize("arch", ["x86", "arm64"])
def test_the_hooks_of_the_newest_kernel_are_counted(arch):
    topics = read_topics(Workspace(ROOT, ROOT))
    old, new = (
        {hook.id: hook for topic in choose_topics(topics, version, Selection(arch)) for hook in topic.hooks}
        for version in (KernelVersion(6, 12), KernelVersion(7, 3))
    )
    shared = [name for name in old if new.get(name) is old[name]]
    own = len(old.keys() & new.keys()) - len(shared)
    hunks = [
        sum(line.startswith("@@") for hook in each.values() for line in hook.diff.split("\n")) for each in (old, new)
    ]
    text = " ".join((ROOT / "docs/porting.md").read_text().split())
    assert f"Of the {len(old)} hooks of 6.12 that {arch.replace('x86', 'x86-64')} takes, {own} " in text
    assert f"{len(shared)} serve both." in text
    assert re.search(rf"{hunks[0]}( hunks on 6.12)? and {hunks[1]} ?", text)


def test_hooks_and_topics_are_dropped_by_a_part_of_their_names():
    topics = choose_topics(parse_topics(TOPICS), KernelVersion(6, 12), Selection("x86", ("tests",)))
    assert [each.name for each in droppable(topics, "")] == [
        "common/0200-second",
        "x86-part/0100-first",
        "x86-part",
    ]
    (hook,) = droppable(topics, "x86-part/")
    (topic,) = droppable(topics, "x86-part")
    assert (hook.leave_out, hook.without, hook.tests) == ("x86-part/0100-first", (), ("boot-enforce",))
    assert (topic.leave_out, topic.without, topic.tests) == ("", ("x86-part",), ("boot-enforce",))
    assert [each.name for each in droppable(topics, "0100 or second")] == [
        "common/0200-second",
        "x86-part/0100-first",
    ]
    with pytest.raises(ValueError, match="no hook or topic has this in its name: third"):
        droppable(topics, "third")
