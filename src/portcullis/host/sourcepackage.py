# SPDX-License-Identifier: GPL-2.0-only
"""Fetches and unpacks a source package of some release of Debian, with apt's own checks."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from portcullis.core.luajit import source_versions
from portcullis.errors import ToolError
from portcullis.host.aptsource import PrivateApt, mirrors
from portcullis.host.building import run_step
from portcullis.host.hardening import PATCH
from portcullis.host.process import Commands
from portcullis.host.screen import say, step
from portcullis.host.workspace import Workspace, whole_folder, write_whole

STAMP = ".portcullis.json"
ARCHIVES = "*.orig.tar.*"


L = TypeVar("L")


@dataclass(frozen=True)
class Source(Generic[L]):
    """An unpacked source package, never built in; `version` is Debian's."""

    tree: Path
    version: str
    layout: L


@dataclass(frozen=True)
class Wanted:
    """A package, what people call it, and the suites to look for it, in order.

    `choose` picks one of the versions of a suite, the newest first, or none; `which` says what is asked for.
    """

    package: str
    name: str
    suites: Sequence[str]
    which: str
    choose: Callable[[Sequence[str]], str] = lambda versions: next(iter(versions), "")


def version_in(tree: Path) -> str:
    """The version that was unpacked into a folder, empty when none was."""
    stamp = tree / STAMP
    return json.loads(stamp.read_text())["version"] if stamp.is_file() else ""


def patches_in(folder: Path) -> list[Path]:
    """What is applied to a source for jitgate, in order."""
    found = sorted(folder.glob("*.patch"))
    if not found:
        raise ToolError(f"{folder} has no patches", "the checkout is not complete")
    return found


def apply_patches(commands: Commands, patches: Sequence[Path], tree: Path, name: str, log: Path) -> None:
    """Applies them to a tree of the package that people call `name`."""
    for path in patches:
        finished = commands.logged([*PATCH, "-d", tree, "-i", path], log)
        if finished.status != 0:
            raise ToolError(f"{path.name} does not apply to this {name}\n{finished.output.strip()}", f"log: {log}")


def fetch_source(workspace: Workspace, commands: Commands, wanted: Wanted, folder: Path, tree: Path) -> None:
    """Unpacks it into `tree`, which is whole afterwards or not there; `folder` has apt's files and the log."""
    log = folder / "fetch.log"
    log.unlink(missing_ok=True)
    reasons: list[str] = []
    with whole_folder(tree) as partial, whole_folder(folder / "package") as files:
        found = _download(commands, wanted, folder, files, reasons)
        if not found:
            raise ToolError(
                f"no source package of {wanted.package} {wanted.which} can be had\n" + "\n".join(reasons),
                f"is there a network? Log: {log}",
            )
        version, here = found
        _unpack(workspace, commands, wanted, here, partial, log)
        write_whole(partial / STAMP, json.dumps({"version": version}).encode())


def _download(
    commands: Commands, wanted: Wanted, folder: Path, files: Path, reasons: list[str]
) -> tuple[str, Path] | None:
    """Version and folder of the first suite that has it whole, else of one that has the upstream archive."""
    archive_only = None
    for address in mirrors():
        for suite in wanted.suites:
            apt = PrivateApt(commands, folder / "apt", folder / "fetch.log")
            here = files / suite
            here.mkdir(exist_ok=True)
            version = ""
            try:
                with step(f"looking for {wanted.name} in {suite}"):
                    records = apt.source_records(address, suite, wanted.package)
                    version = wanted.choose(source_versions(records))
                if not version:
                    raise ToolError(f"has no {wanted.package} {wanted.which}")
                with step(f"fetching the source of {wanted.name} {version}"):
                    apt.download_source(f"{wanted.package}={version}", here)
                return version, here
            except ToolError as error:
                reasons.append(f"    {suite}: {error.message}")
                if list(here.glob(ARCHIVES)):
                    archive_only = (f"{version}, upstream archive only", here)
    if archive_only:
        say(f"Debian's patches cannot be had, {wanted.name} {archive_only[0]}:\n" + "\n".join(reasons))
    return archive_only


def _unpack(workspace: Workspace, commands: Commands, wanted: Wanted, files: Path, tree: Path, log: Path) -> None:
    """Into the folder `tree`, which is empty."""
    described = next(files.glob("*.dsc"), None)
    if described:
        tree.rmdir()
        command: list[str | Path] = ["dpkg-source", "--no-check", "--no-copy", "-x", described, tree]
    else:
        archive = next(path for path in sorted(files.glob(ARCHIVES)) if path.suffix != ".asc")
        command = ["tar", "--extract", "--strip-components=1", "-f", archive, "-C", tree]
    run_step(workspace, commands, command, log, f"unpacking {wanted.name} from {files.name}")
