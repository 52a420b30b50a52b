# SPDX-License-Identifier: GPL-2.0-only
"""Reads the lab's data files: cost profiles and published figures."""

from functools import cache
from pathlib import Path

from portcullis.errors import ToolError
from portcullis.host.labjobs import Store
from portcullis.host.workspace import Workspace
from portcullis.lab.committed import Merged, merge, parse_committed
from portcullis.lab.profile import Profile, parse_profile
from portcullis.lab.published import Row, parse_published

DATA = Path(__file__).parents[1] / "data"
COUNTS = DATA / "counts.json"


@cache
def published_rows() -> tuple[Row, ...]:
    """All published figures."""
    return parse_published((DATA / "published.toml").read_text())


def counted_last(workspace: Workspace) -> Merged:
    """The last counts of each job, of this machine or as they are committed; raises ToolError for a broken file."""
    try:
        committed = parse_committed(COUNTS.read_text()) if COUNTS.is_file() else ()
    except ValueError as error:
        raise ToolError(f"{COUNTS}: {error}") from error
    return merge(committed, Store(workspace).newest())


@cache
def read_profiles() -> tuple[Profile, ...]:
    """All cost profiles; raises ToolError that names a broken one."""
    names = [row.id for row in published_rows()]
    found = []
    for path in sorted((DATA / "profiles").glob("*.toml")):
        try:
            found.append(parse_profile(path.read_text(), names))
        except ValueError as error:
            raise ToolError(f"{path}: {error}") from error
    return tuple(found)
