# SPDX-License-Identifier: GPL-2.0-only
"""Prints the counters of a hardened kernel as Prometheus reads them.

They come from /sys/kernel/kpkeys of this machine, and take no root. With --output a file is replaced in one step, as
the textfile collector of the node exporter wants it. Where the protection is off, kpkeys_info says mode="off".

examples:
  ./portcullis metrics
  ./portcullis metrics --output /var/lib/prometheus/node-exporter/kpkeys.prom
"""

import argparse
import sys
from pathlib import Path

from portcullis.core.metrics import FILES, exposition
from portcullis.errors import ToolError
from portcullis.host.workspace import Workspace, write_whole

SYSFS = Path("/sys/kernel/kpkeys")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "--sysfs", metavar="DIR", type=Path, default=SYSFS, help=f"where the kernel's files are ({SYSFS})"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="replace this file; its name ends in .prom")


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Prints or writes the metrics."""
    try:
        text = exposition(_values(options.sysfs))
    except ValueError as error:
        raise ToolError(f"{options.sysfs}: {error}", "is that the folder of a running kernel?") from error
    if options.output:
        _write(options.output, text)
    else:
        sys.stdout.write(text)
    return 0


def _values(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise ToolError(
            f"{folder} is not there: this kernel is not hardened by Portcullis, or was built without CONFIG_SYSFS",
            "boot a hardened one (kpkeys=off has the folder, too); is sysfs mounted?",
        )
    try:
        # Refusals ahead of violations: the kernel counts them behind, so that they are never more but by forgery.
        return {name: (folder / name).read_text() for name in reversed(FILES)}
    except (OSError, UnicodeDecodeError) as error:
        detail = f"{Path(error.filename).name}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise ToolError(f"{folder}: {detail}", "the kernel may be older or newer than this tool") from error


def _write(path: Path, text: str) -> None:
    if path.suffix != ".prom":
        raise ToolError(f"{path}: the collector reads only files whose names end in .prom", "name it so")
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}", "name a file in a folder that you may write to") from error
