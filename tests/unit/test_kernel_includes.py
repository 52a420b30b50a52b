# SPDX-License-Identifier: GPL-2.0-only
"""The kernel part's own headers include each other in one direction, and nobody reaches into mm/kpkeys by a path."""

from graphlib import CycleError, TopologicalSorter

import pytest

pytest.importorskip("grimp")
from structure import INCLUDE, ROOT, TOPICS, included, own_files, page


def order(files: dict[str, str]) -> tuple[str, ...]:
    """Files so that each comes behind what it includes; raises CycleError."""
    edges = {path: included(path, text, files) for path, text in files.items()}
    return tuple(TopologicalSorter(edges).static_order())


def test_includes_go_one_way():
    files = own_files()
    ordered = order(files)
    assert ordered.index("include/linux/kpkeys_state.h") < ordered.index("include/linux/kpkeys.h")


def test_a_circle_is_noticed():
    files = {"mm/kpkeys/a.h": '#include "b.h"\n', "mm/kpkeys/b.h": '#include "a.h"\n'}
    with pytest.raises(CycleError):
        order(files)


def test_architectures_have_headers_of_their_own():
    files = {
        "arch/x86/include/asm/b.h": "#include <asm/c.h>\n",
        "arch/arm64/include/asm/c.h": "#include <asm/b.h>\n",
    }
    assert order(files)


def test_nobody_includes_by_a_path_upwards():
    by_path = [
        path for path, text in own_files().items() if any(name.startswith("..") for _, name in INCLUDE.findall(text))
    ]
    assert not by_path


def early_includes(topics: dict[str, dict[str, str]]) -> list[str]:
    """Headers that a topic takes from a later one, whose commits are not there yet when its own compile."""
    files = {path: text for own in topics.values() for path, text in own.items()}
    found, there = [], set()
    for _, own in sorted(topics.items()):
        there |= set(own)
        late = [(path, name) for path, text in own.items() for name in included(path, text, files) - there]
        # An architecture's <asm/> comes later by design: nothing is compiled before it selects ARCH_HAS_KPKEYS.
        found += [f"{path}: {name}" for path, name in late if not name.startswith("arch/")]
    return found


def test_no_topic_includes_headers_of_a_later_one():
    topics: dict[str, dict[str, str]] = {}
    for path in TOPICS.glob("*/files/**/*"):
        if path.suffix in (".c", ".h", ".S"):
            topic, name = path.relative_to(TOPICS).as_posix().split("/files/", 1)
            topics.setdefault(topic, {})[name] = path.read_text()
    assert not early_includes(topics)


def test_a_header_of_a_later_topic_is_noticed():
    topics = {"10-a": {"mm/kpkeys/a.c": '#include "b.h"\n'}, "20-b": {"mm/kpkeys/b.h": ""}}
    assert early_includes(topics) == ["mm/kpkeys/a.c: mm/kpkeys/b.h"]


def test_the_page_of_the_structure_is_what_the_code_is():
    assert (ROOT / "docs/structure.md").read_text() == page(), "run python3 docs/structure.py"
