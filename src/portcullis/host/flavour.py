# SPDX-License-Identifier: GPL-2.0-only
"""Gets the distribution's own kernel configurations."""

import lzma
from pathlib import Path

from portcullis.core.arches import ARCHES
from portcullis.core.flavours import PACKAGE, config_file
from portcullis.errors import ToolError
from portcullis.host.aptsource import PrivateApt, suites, unpack
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.sources import package_version
from portcullis.host.workspace import Workspace, locked, remove_folder, whole_folder, write_whole


def flavour_config(workspace: Workspace, commands: Commands, flavour: str, arch: str) -> Path:
    """A flavour's configuration for an architecture, fetched once for each version of the source package.

    Raises ToolError when apt has no configuration of that version.
    """
    version = package_version()
    if not version:
        raise ToolError("the kernel's source package is not installed", "run: ./portcullis fetch")
    folder = workspace.folder("configs") / f"{version.replace('~', '_')}-{arch}"
    name = config_file(flavour, ARCHES[arch])
    plain = folder / Path(name).stem
    with locked(folder.with_name(folder.name + ".lock")):
        if not folder.is_dir():
            _fetch(workspace, commands, arch, version, folder)
        if not plain.is_file() and not commands.dry_run:
            if not (folder / name).is_file():
                raise ToolError(f"{PACKAGE} {version} has no {name}")
            write_whole(plain, lzma.decompress((folder / name).read_bytes()))
    return plain


def _fetch(workspace: Workspace, commands: Commands, arch: str, version: str, folder: Path) -> None:
    log = workspace.cache / "config.log"
    debian = ARCHES[arch].debian
    reasons = []
    for address, suite in suites():
        try:
            with step(f"looking for {PACKAGE} {version} in {suite}"), whole_folder(folder) as partial:
                apt = PrivateApt(commands, partial / "apt", log, debian)
                apt.update(address, suite)
                apt.download_binary(f"{PACKAGE}:{debian}={version}", partial)
                unpack(commands, partial, partial)
                remove_folder(partial / "apt")
            return
        except ToolError as error:
            reasons.append(f"    {suite}: {error.message}")
    raise ToolError(
        f"the configuration of {PACKAGE} {version} cannot be had\n" + "\n".join(reasons),
        "update the source package (apt-get install linux-source-6.12), or give --base-config FILE",
    )
