# SPDX-License-Identifier: GPL-2.0-only
"""Sources of kernels that are newer than this machine's release, from the backports of a later one."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from portcullis.errors import ToolError
from portcullis.host.aptsource import PrivateApt, mirrors, unpack
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.sources import Source, fetch, kernel_version, unpack_source
from portcullis.host.workspace import Workspace, locked, remove_folder, whole_folder

DEFAULT = "6.12"
SUITES: Mapping[str, str] = MappingProxyType({"7.3": "trixie-backports"})  # of linux-source-VERSION
KERNELS = (DEFAULT, *SUITES)


def newer_folder(workspace: Workspace, kernel: str) -> Path:
    """Where the source of a kernel of SUITES is, if it was fetched."""
    return workspace.folder("sources") / f"linux-source-{kernel}"


def fetch_kernel(workspace: Workspace, commands: Commands, kernel: str = DEFAULT) -> Source:
    """The source of a kernel of KERNELS, fetched and unpacked once; raises ToolError when it cannot be had."""
    if kernel == DEFAULT:
        return fetch(workspace, commands)
    target = newer_folder(workspace, kernel)
    with locked(target.with_name(target.name + ".lock")):
        if not target.is_dir():
            _download(workspace, commands, kernel, target)
    return Source(target, kernel_version(target), fetched=True)


def _download(workspace: Workspace, commands: Commands, kernel: str, target: Path) -> None:
    """No package is installed: this machine's apt needs no source of that suite."""
    package, suite = target.name, SUITES[kernel]
    log = workspace.cache / f"{package}.log"
    log.unlink(missing_ok=True)
    reasons = []
    for address in mirrors():
        try:
            with whole_folder(target.with_name(f"{package}.package")) as files:
                with step(f"fetching {package} from {suite}"):
                    apt = PrivateApt(commands, files / "apt", log, arch="amd64")
                    apt.update(address, suite)
                    apt.download_binary(package, files)
                    remove_folder(files / "apt")
                    unpack(commands, files, files)
                unpack_source(files / f"usr/src/{package}.tar.xz", target)
            remove_folder(target.with_name(f"{package}.package"))
            return
        except ToolError as error:
            reasons.append(f"    {suite}: {error.message}")
    raise ToolError(
        f"the source package {package} cannot be had\n" + "\n".join(reasons), f"is there a network? Log: {log}"
    )
