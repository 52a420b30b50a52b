# SPDX-License-Identifier: GPL-2.0-only
"""Every hook applies to the fetched source without fuzz."""

import pytest

from kit.names import NAMES
from kit.plans import LEFT_OUT, every_plan
from kit.row import Row
from portcullis.core.arches import ARCHES
from portcullis.core.lanes import OPTIONAL, TESTED
from portcullis.core.topics import ALL, Selection
from portcullis.errors import ToolError
from portcullis.host.hardening import make_plan, read_from, read_topics
from portcullis.host.newer import KERNELS, fetch_kernel
from portcullis.host.process import Commands
from portcullis.host.sources import fetch
from portcullis.host.workspace import Workspace


def test_hooks(workspace: Workspace, commands: Commands, row: Row) -> None:
    """With all topics and with fewer."""
    source = fetch(workspace, commands)
    plans = [every_plan(workspace, source, arch) for arch in (*ARCHES, ALL)]
    # With any part of the optional topics, and with any part of what is not product, all that is left applies.
    chosen = [Selection(ALL, TESTED, (topic, *needers)) for topic, needers, _ in LEFT_OUT]
    chosen += [Selection(ALL, kinds, OPTIONAL) for kinds in ((), TESTED)]
    chosen += [Selection(ALL, kinds) for kinds in (("tests",), ("attacks",), ("lab",), ("lab", "designs"))]
    for selection in dict.fromkeys(chosen):
        assert make_plan(workspace, source.version, selection, read_from(source.path)).hooks
    row.note(", ".join(f"{len(plan.hooks)} hooks for {plan.selection.arch}" for plan in plans))


def test_hooks_name_tests(workspace: Workspace, request: pytest.FixtureRequest, row: Row) -> None:
    """Each hook and topic names tests that exist."""
    known = request.config.stash[NAMES]
    named = [(each.id, each.tests) for topic in read_topics(workspace) for each in topic.hooks]
    named += [(topic.name, topic.tests) for topic in read_topics(workspace)]
    row.assert_none(
        [f"{who}: there is no test {name!r}" for who, names in named for name in names if name not in known]
    )


def test_newest_hooks(workspace: Workspace, commands: Commands, row: Row) -> None:
    """The hooks for the newest kernel apply to it without fuzz.

    Backports change: where they have another kernel by now this is skipped.
    """
    try:
        source = fetch_kernel(workspace, commands, KERNELS[-1])
    except ToolError as error:
        pytest.skip(str(error))
    plans = [every_plan(workspace, source, arch) for arch in (*ARCHES, ALL)]
    assert all(plan.hooks for plan in plans)
    counted = ", ".join(f"{len(plan.hooks)} hooks for {plan.selection.arch}" for plan in plans)
    row.note(f"{counted}, Linux {source.version}")
