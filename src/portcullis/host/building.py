# SPDX-License-Identifier: GPL-2.0-only
"""What every build shares: its environment, and a clear error when a step fails."""

import os
from pathlib import Path

from portcullis.core.buildlog import disk_was_full, first_error
from portcullis.core.splats import last_lines
from portcullis.errors import ToolError
from portcullis.host.process import Commands, Finished, shown
from portcullis.host.workspace import Workspace, disk_full

# What kernels say of their build. The same sources give the same image, and so the same counts, whenever and
# however often they are built.
IDENTITY = {
    "KBUILD_BUILD_USER": "portcullis",
    "KBUILD_BUILD_HOST": "localhost",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION": "1",
}


def environment(workspace: Workspace, base: Path | None = None) -> dict[str, str]:
    """Environment of a build: the compiler cache lives in the cache folder unless the user has one.

    Paths below `base` (the cache folder when not given) do not count when the compiler cache compares.
    """
    variables = dict(os.environ)
    variables.setdefault("CCACHE_DIR", str(workspace.cache / "ccache"))
    variables.setdefault("CCACHE_BASEDIR", str(base or workspace.cache))
    variables.setdefault("CCACHE_DEPEND", "1")  # do not run the preprocessor a second time
    variables.update(IDENTITY)
    for name in ("MAKEFLAGS", "MFLAGS", "KBUILD_OUTPUT"):
        variables.pop(name, None)
    return variables


def run_step(
    workspace: Workspace, commands: Commands, command: list[str | Path], log: Path, what: str, **options: object
) -> Finished:
    """Runs one step of a build; `options` as for Commands.logged. Raises ToolError that says where the log is."""
    options.setdefault("env", environment(workspace))
    finished = commands.logged(command, log, **options)  # type: ignore[arg-type]
    if finished.status == 0:
        return finished
    if disk_was_full(finished.output):
        raise disk_full(workspace.cache)
    raise ToolError(
        f"{what} failed: {first_error(finished.output)}\n{last_lines(finished.output)}",
        f"log: {log}\n  again: {shown(command)}",
    )
