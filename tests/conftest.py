# SPDX-License-Identifier: GPL-2.0-only
"""Options, selection and fixtures of all tests. `portcullis test` gives the options; host/testing.py has the rows."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.case import Case
from kit.machinery import Machinery
from kit.names import NAMES
from kit.once import BuildFailed, Once
from kit.row import Row
from portcullis.errors import ToolError
from portcullis.host import screen
from portcullis.host.builder import BuildOptions
from portcullis.host.newer import DEFAULT
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace, default_workspace

# What takes seconds comes first.
FOLDERS = ("static", "unit", "boot", "attacks", "code", "bench", "emulator", "lab", "jit")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `portcullis test` hands down; each has a default, so that pytest alone runs, too."""
    group = parser.getgroup("portcullis")
    group.addoption("--full", action="store_true", help="also tests that are marked as long")
    group.addoption("--name", action="append", default=[], help="a test, file or folder by its exact name")
    group.addoption("--kernel", default=DEFAULT, help="the kernel source of a package of Debian's")
    group.addoption("--tree", type=Path, help="a kernel source")
    group.addoption("--build-jobs", type=int, default=1, help="jobs of make")
    group.addoption("--build-name", default="", help="what trees and build folders are named after")
    group.addoption("--leave-out", default="", help="a hook to build without")
    group.addoption("--left-out", action="append", default=[], help="a topic to build without")
    group.addoption("--boot-seconds", type=float, default=0, help="the most that a boot may take")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", "long: runs with --full, or when it is named")


def _folder(item: pytest.Item) -> str:
    return item.path.parent.name


def _file(item: pytest.Item) -> str:
    return item.path.stem.removeprefix("test_").replace("_", "-")


def _case(item: pytest.Item) -> Case | None:
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("case") if callspec else None
    return case if isinstance(case, Case) else None


def name_of(item: pytest.Item) -> str:
    """A case's own name; of other tests that of the function, and of unit tests where they are."""
    if case := _case(item):
        return case.name
    if _folder(item) == "unit":
        return item.nodeid.removeprefix("tests/")
    return re.sub(r"[^\w-]+", "-", item.name.removeprefix("test_").replace("_", "-")).strip("-")


def _what(item: pytest.Item) -> str:
    if case := _case(item):
        return case.what
    return (item.obj.__doc__ or "").partition("\n")[0]  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Names the tests, puts quick ones first, and keeps those that are asked for."""
    items.sort(key=lambda item: FOLDERS.index(_folder(item)) if _folder(item) in FOLDERS else len(FOLDERS))
    for item in items:
        item.user_properties += [("name", name_of(item)), ("what", _what(item))]
        item.extra_keyword_matches.add(name_of(item))
    names = [name_of(item) for item in items]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise pytest.UsageError(f"two tests are named {min(twice)}")
    config.stash[NAMES] = frozenset(names)
    chosen = _choose(items, set(config.getoption("--name")), config.getoption("--full"))
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def _choose(items: list[pytest.Item], wanted: set[str], full: bool) -> list[pytest.Item]:
    """A word is the name of a test, else of files or of a folder; raises UsageError for any other."""
    exact = wanted & {name_of(item) for item in items}
    places = wanted - exact
    unknown = places - {place for item in items for place in (_file(item), _folder(item))}
    if unknown:
        raise pytest.UsageError(f"no test, file or folder of tests is named {min(unknown)}")

    def is_chosen(item: pytest.Item) -> bool:
        asked = not wanted or bool(places & {_file(item), _folder(item)})
        return name_of(item) in exact or (asked and (full or not item.get_closest_marker("long")))

    return [item for item in items if is_chosen(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[object]:
    """Who waits for a kernel sees how it gets on; unit tests look at messages themselves."""
    screen.show_on(None if _folder(item) == "unit" else sys.__stderr__)
    try:
        return (yield)
    finally:
        screen.show_on(None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[pytest.TestReport]:
    """An error of the tool is a message, not a traceback."""
    report = yield
    if call.excinfo and isinstance(call.excinfo.value, ToolError):
        report.longrepr = str(call.excinfo.value)
        if isinstance(call.excinfo.value, BuildFailed):
            report.user_properties.append(("built", "no"))
    return report


@pytest.fixture(scope="session")
def workspace() -> Workspace:
    """The checkout and the cache."""
    return default_workspace(None)


@pytest.fixture(scope="session")
def commands() -> Commands:
    """What runs programs."""
    return Commands()


@pytest.fixture(scope="session")
def machinery(
    request: pytest.FixtureRequest,
    workspace: Workspace,
    commands: Commands,
    tmp_path_factory: pytest.TempPathFactory,
) -> Machinery:
    """Kernels and what they run on."""
    option = request.config.getoption
    options = BuildOptions(
        tree=option("--tree"),
        kernel=option("--kernel"),
        jobs=option("--build-jobs"),
        without=tuple(option("--left-out")),
        leave_out=option("--leave-out"),
        name=option("--build-name"),
    )
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return Machinery(workspace, commands, options, Once(shared), option("--boot-seconds"))


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """What the test has to say."""
    return Row(request.node.user_properties)
