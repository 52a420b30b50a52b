# SPDX-License-Identifier: GPL-2.0-only
"""kernel/topics: how topics are read, and which of them a kernel gets."""

from dataclasses import replace

import pytest

from fakes import TOPICS
from portcullis.core.topics import (
    Selection,
    TopicFiles,
    behind,
    choose_topics,
    parse_topics,
    supported,
    supports,
    with_needers,
)
from portcullis.core.versions import KernelVersion

V612 = KernelVersion(6, 12, 117)
PATCH = "mm: x\n\nBody.\n\n--- a/mm/x.c\n+++ b/mm/x.c\n@@ -1 +1 @@\n-a\n+b\n"


def names(topics):
    return [topic.name for topic in topics]


def changed(index=0, hooks=None, files=None, text=None):
    """The topics, one of them with another text, hook or file."""
    found = list(TOPICS)
    old = found[index]
    found[index] = TopicFiles(
        old.folder,
        old.text.replace(*text) if text else old.text,
        old.files if files is None else files,
        {**old.hooks, **(hooks or {})},
    )
    return found


def test_topics_are_read_in_the_order_of_their_numbers():
    topics = parse_topics(reversed(TOPICS))
    assert names(topics) == ["common", "x86-part", "tests"]
    common, part, tests = topics
    assert [hook.id for hook in common.hooks] == ["common/0200-second"]
    assert common.hooks[0].tests == ("kunit", "hooks") and common.arches == ("x86", "arm64")
    assert (common.hooks[0].subject, common.hooks[0].body) == ("mm: build kpkeys", "Second reason.")
    assert [commit.files for commit in common.commits] == [
        ("mm/kpkeys/Kconfig", "mm/kpkeys/core.c"),
        ("include/linux/kpkeys.h",),
    ]
    assert (part.arches, part.tests, part.commits) == (("x86",), ("boot-enforce",), ())
    assert [(commit.subject, commit.message) for commit in tests.commits] == [("mm: tests", "They test.")]
    assert tests.hooks[0].untested == "A test itself."


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"text": ('why = "All need it."\n', "")}, "10-common/topic.toml: 'why' is missing"),
        ({"text": ('why = "All', 'colour = 1\nwhy = "All')}, "10-common/topic.toml: unknown key 'colour'"),
        ({"text": ('"product"', '"goods"')}, "10-common/topic.toml: kind 'goods' is none of product, tests,"),
        ({"text": ('to = "6.14"', 'to = "6.12"')}, "10-common/topic.toml: empty version range"),
        ({"text": ('to = "6.14"', 'to = "later"')}, "10-common/topic.toml: not a kernel version: 'later'"),
        ({"text": ("needs = []", "needs = ")}, "10-common/topic.toml: "),
        ({"text": ("needs = []", 'needs = ["x86-part"]')}, "10-common/topic.toml: needs 'x86-part', which is no topic"),
        ({"text": ("needs = []", 'needs = ["nope"]')}, "10-common/topic.toml: needs 'nope', which is no topic"),
        ({"text": ("needs = []", 'needs = []\narches = ["mips"]')}, "10-common/topic.toml: arches must name some"),
        ({"text": ("needs = []", "needs = []\narches = []")}, "10-common/topic.toml: arches must name some"),
        ({"text": ("0200-second =", "0201-x =")}, r"10-common/topic.toml: \[tests\] has 0201-x, which is no hook"),
        ({"text": ("[tests]", "[untested]\n0200-second = 'x'\n[tests]")}, r"0200-second must be in \[tests\] or in"),
        (
            {"text": ("[tests]", "[until]\n0201-x = '6.13'\n[tests]")},
            r"10-common/topic.toml: \[until\] has 0201-x, which",
        ),
        (
            {"text": ("[tests]", "[until]\n0200-second = '6.12'\n[tests]")},
            r"\[until\] 0200-second: no version needs it",
        ),
        (
            {"text": ("[tests]", "[until]\n0200-second = 'x'\n[tests]")},
            r"\[until\] 0200-second: not a kernel version: 'x'",
        ),
        ({"hooks": {"0201-more.patch": PATCH}}, r"10-common/topic.toml: hook 0201-more must be in \[tests\] or in"),
        ({"hooks": {"0200-second.patch": PATCH[PATCH.index("---") :]}}, "hooks/0200-second.patch: no commit message"),
        ({"hooks": {"0200-second.patch": PATCH.replace("Body.\n\n", "")}}, "0200-second.patch: no commit message"),
        ({"hooks": {"0200-second.patch": "mm: x\n\nBody.\n"}}, "hooks/0200-second.patch: there is no diff"),
        ({"hooks": {"mips/0200-second.patch": PATCH}}, "hooks/mips/0200-second.patch: 'mips' is no architecture and"),
        ({"hooks": {"note.txt": PATCH}, "text": ("[tests]", "[tests]\nnote = 'kunit'")}, "hooks/note.txt: a hook is a"),
        ({"files": ("mm/kpkeys/core.c", "lib/x.c", "include/x.h")}, "topic.toml: lib/x.c is in no commit"),
        ({"text": ('"include/*"', '"include/*", "*.c"')}, "topic.toml: mm/kpkeys/core.c is in 2 commits"),
        ({"text": ('"include/*"', '"lib/*"')}, r"topic.toml: commit 2 \(mm/kpkeys: add the header\) has no file"),
        ({"text": ('message = "Of the core."\n', "")}, "topic.toml: commit 1: 'message' is missing"),
        (
            {"index": 1, "hooks": {"arm64/0100-first.patch": PATCH}},
            "0100-first.patch: the topic is not for arm64",
        ),
    ],
)
def test_a_broken_topic_names_the_file_and_the_entry(broken, message):
    with pytest.raises(ValueError, match=message):
        parse_topics(changed(**broken))


def test_topics_must_fit_together():
    common, part, tests = TOPICS
    with pytest.raises(ValueError, match="30-common/topic.toml: there are two topics 'common'"):
        parse_topics([common, replace(common, folder="30-common")])
    with pytest.raises(ValueError, match="90-x86-part/topic.toml: kind product comes before tests, which 80-tests is"):
        parse_topics([common, replace(part, folder="90-x86-part"), tests])
    twice = replace(part, hooks={"0200-second.patch": PATCH}, text=part.text.replace("0100-first", "0200-second"))
    with pytest.raises(ValueError, match="20-x86-part: hook 0200-second is in 10-common, too"):
        parse_topics([common, twice])
    with pytest.raises(ValueError, match="common: a topic's folder is called NN-name"):
        parse_topics([replace(common, folder="common")])


TOPICS_PARSED = parse_topics(TOPICS)


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (Selection("x86"), ["common", "x86-part"]),
        (Selection("all"), ["common", "x86-part"]),
        (Selection("arm64"), ["common"]),
        (Selection("arm64", ("tests",)), ["common", "tests"]),
        (Selection("x86", ("tests",), ("x86-part",)), ["common", "tests"]),
    ],
)
def test_the_product_and_what_is_wanted(selection, chosen):
    assert names(choose_topics(TOPICS_PARSED, V612, selection)) == chosen


def test_versions_choose_topics():
    assert names(choose_topics(TOPICS_PARSED, KernelVersion(6, 13), Selection("x86"))) == ["common"]
    assert supports(TOPICS_PARSED, V612, "x86") and supports(TOPICS_PARSED, V612, "all")
    assert not supports(TOPICS_PARSED, V612, "arm64") and not supports(TOPICS_PARSED, KernelVersion(6, 13), "x86")
    said = supported(TOPICS_PARSED)
    assert "6.12 up to, not including, 6.13; 6.12 up to, not including, 6.14" in said and "architectures: x86" in said


def test_topics_that_a_version_lacks():
    later = KernelVersion(6, 13)
    assert behind(TOPICS_PARSED, later, Selection("x86")) == ["x86-part"]
    assert behind(TOPICS_PARSED, V612, Selection("x86")) == behind(TOPICS_PARSED, later, Selection("arm64")) == []
    assert behind(TOPICS_PARSED, later, Selection("x86", without=("x86-part",))) == []


def chain(kind_of_last="tests"):
    """a <- b <- c, and d that needs c."""
    toml = 'title = "t"\nkind = "{}"\nfrom = "6.12"\nto = "6.13"\nneeds = {}\nwhy = "w"\n'
    last = [("4-d", kind_of_last, '["c"]'), ("5-e", "designs", '["d"]')]
    rows = [("1-a", "product", "[]"), ("2-b", "product", '["a"]'), ("3-c", "product", '["b"]'), *last]
    return parse_topics([TopicFiles(folder, toml.format(kind, needs)) for folder, kind, needs in rows])


def test_what_needs_a_topic_that_is_left_out_is_named():
    with pytest.raises(ValueError, match=r"topic b needs a, .* leave out as well: --without b --without c$"):
        choose_topics(chain(), V612, Selection("all", (), ("a",)))
    assert names(choose_topics(chain(), V612, Selection("all", (), ("b", "c")))) == ["a"]
    assert with_needers(chain(), ["b"]) == ("b", "c")
    with pytest.raises(ValueError, match="there is no topic 'z'"):
        choose_topics(chain(), V612, Selection("all", (), ("z",)))
    with pytest.raises(ValueError, match="no topic of kind product is left"):
        choose_topics(chain(), V612, Selection("all", (), ("a", "b", "c")))


def test_what_is_for_another_architecture_is_not_needed():
    tests = replace(TOPICS[2], text=TOPICS[2].text.replace('["common"]', '["common", "x86-part"]'))
    topics = parse_topics([*TOPICS[:2], tests])
    assert names(choose_topics(topics, V612, Selection("arm64", ("tests",)))) == ["common", "tests"]
    assert names(choose_topics(topics, V612, Selection("x86", ("tests",)))) == ["common", "x86-part", "tests"]
    with pytest.raises(ValueError, match="no topic of kind tests is left"):
        choose_topics(topics, V612, Selection("x86", ("tests",), ("x86-part",)))


def test_designs_are_of_the_lab_and_what_is_wanted_must_be_possible():
    assert names(choose_topics(chain("lab"), V612, Selection("all", ("designs",)))) == ["a", "b", "c", "d", "e"]
    with pytest.raises(ValueError, match="no topic of kind designs is left"):
        choose_topics(chain("lab"), V612, Selection("all", ("designs",), ("d",)))
    with pytest.raises(ValueError, match="no topic of kind tests is left"):
        choose_topics(chain(), V612, Selection("all", ("tests",), ("c",)))


def test_a_folder_below_hooks_is_an_architecture_or_a_version():
    other = PATCH.replace("Body", "Other")
    hooks = {"arm64/0201-arm.patch": PATCH, "6.13/0200-second.patch": other}
    text = ("[tests]", "[tests]\n0201-arm = 'kunit'")
    topics = parse_topics(changed(hooks=hooks, text=text))

    def hooks_of(version, arch):
        return [(hook.name, hook.body) for hook in choose_topics(topics, version, Selection(arch))[0].hooks]

    second, arm = ("0200-second", "Second reason."), ("0201-arm", "Body.")
    assert hooks_of(V612, "x86") == [second]
    assert hooks_of(V612, "arm64") == [second, arm]
    assert hooks_of(KernelVersion(6, 13, 2), "arm64") == [("0200-second", "Other."), arm]


def test_a_later_version_can_do_without_a_hook():
    text = ("[tests]", "[until]\n0200-second = '6.13'\n[tests]")
    topics = parse_topics(changed(text=text))
    assert [hook.name for hook in choose_topics(topics, V612, Selection("arm64"))[0].hooks] == ["0200-second"]
    assert choose_topics(topics, KernelVersion(6, 13), Selection("arm64"))[0].hooks == ()
