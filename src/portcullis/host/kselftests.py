# SPDX-License-Identifier: GPL-2.0-only
"""Builds Linux' own tests (kselftest) from the fetched source, and packs them for a guest."""

import hashlib
import shutil
import tarfile
from pathlib import Path

from portcullis.core.kselftests import COLLECTIONS
from portcullis.errors import ToolError
from portcullis.host.building import run_step
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.sources import fetch
from portcullis.host.workspace import Workspace, locked

LIST = "kselftest-list.txt"


def make_kselftests(workspace: Workspace, commands: Commands, jobs: int) -> Path:
    """An archive of the tests and what runs them, for this machine's CPU.

    It is made once for each version of the source, and again when other collections are wanted.
    """
    source = fetch(workspace, commands)
    folder = workspace.folder("kselftests") / source.path.name
    wanted = hashlib.sha256(" ".join(COLLECTIONS).encode()).hexdigest()[:8]
    archive, log = folder / f"tests-{wanted}.tar", folder / "build.log"
    if commands.dry_run:
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(folder.name + ".lock")), step("building Linux' own tests"):
        if archive.is_file():
            return archive
        log.unlink(missing_ok=True)
        output, installed = folder / "output", folder / "installed"
        words = ["make", f"-j{jobs}", f"O={output}", f"INSTALL_PATH={installed}"]
        run_step(workspace, commands, [*words, "-C", source.path, "headers"], log, "making the kernel's headers")
        tests = source.path / "tools/testing/selftests"
        # Some programs of mm do not name the header that they need. What cannot be built here is left out (-i).
        include = f"USERCFLAGS=-include {tests / 'kselftest.h'}"
        for targets, options in (("mm", [include]), (" ".join(COLLECTIONS), [])):
            command = [*words, "-i", "-C", tests, f"TARGETS={targets}", *options, "install"]
            run_step(workspace, commands, command, log, "building Linux' own tests")
        _pack(installed, archive)
        shutil.rmtree(output)
        shutil.rmtree(installed)
    return archive


def _pack(installed: Path, archive: Path) -> None:
    listed = (installed / LIST).read_text().splitlines() if (installed / LIST).is_file() else []
    missing = set(COLLECTIONS) - {line.partition(":")[0] for line in listed}
    if missing:
        log = archive.with_name("build.log")
        raise ToolError(f"Linux' own tests of {', '.join(sorted(missing))} cannot be built here", f"log: {log}")
    partial = archive.with_suffix(".partial")
    with tarfile.open(partial, "w") as tar:
        tar.add(installed, ".")
    partial.replace(archive)
