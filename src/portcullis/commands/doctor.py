# SPDX-License-Identifier: GPL-2.0-only
"""Checks what this machine has and lacks.

Prints what is missing and the line that installs it.

example:
  ./portcullis doctor
"""

import argparse
import re
import shutil
from dataclasses import asdict, dataclass
from glob import glob
from importlib.util import find_spec
from pathlib import Path

from portcullis.commands.options import add_json
from portcullis.core.packages import Package, apt_line, parse_packages
from portcullis.errors import ToolError
from portcullis.host.newer import SUITES, newer_folder
from portcullis.host.process import Commands
from portcullis.host.screen import print_json, print_line, table
from portcullis.host.sources import PACKAGE, kernel_version, package_version
from portcullis.host.workspace import Workspace, free_mib

PACKAGES = Path(__file__).parents[1] / "data" / "debian-packages.txt"
OPTIONAL_GROUPS = {
    *("test", "deb", "cocci", "kselftests", "emulator", "cross", "foreign", "bochs", "browser"),
    *("jit", "jitdeb", "luajit", "pcre2"),
}
NEEDED_DISK_MIB = 6000
NEEDED_MEMORY_MIB = 3000
OLDEST_QEMU = (7, 2)


@dataclass(frozen=True)
class Check:
    """One row: `state` is ok, missing or optional."""

    name: str
    state: str
    detail: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_json(parser)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Prints the table; 2 when something needed is missing."""
    packages = parse_packages(PACKAGES.read_text())
    lacking = [package for package in packages if not present(package)]
    checks = [_package_check(package, package in lacking) for package in packages]
    checks += [_qemu(), _source(), *(_newer(workspace, kernel) for kernel in SUITES), _disk(workspace), _memory()]
    line = apt_line(lacking) if lacking else ""
    good = all(check.state != "missing" for check in checks)
    if options.json:
        print_json({"good": good, "apt": line, "checks": [asdict(check) for check in checks]})
        return 0 if good else 2
    table("", ("what", "state", "detail"), [(check.name, check.state, check.detail) for check in checks])
    if line:
        print_line(f"to install what is missing, as root:\n  apt-get update && {line}")
    print_line("ready" if good else "not ready")
    return 0 if good else 2


def present(package: Package) -> bool:
    """True when the thing that a package brings is there, from whatever source."""
    kind, _, name = package.check.partition(":")
    if kind == "cmd":
        return shutil.which(name) is not None
    if kind == "file":
        return bool(glob(name))  # noqa: PTH207 (absolute pattern)
    return find_spec(name) is not None


def _package_check(package: Package, lacking: bool) -> Check:
    state = "ok"
    if lacking:
        state = "optional" if package.group in OPTIONAL_GROUPS else "missing"
    return Check(package.name, state, package.why)


def _qemu() -> Check:
    try:
        text = Commands().capture(["qemu-system-x86_64", "--version"]).output
        flags = Commands().capture(["qemu-system-x86_64", "-cpu", "help"]).output.split()
    except ToolError as error:
        return Check("QEMU with PKS", "missing", error.message)
    found = re.search(r"version (\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    shown = ".".join(str(part) for part in version)
    if version < OLDEST_QEMU:
        return Check("QEMU with PKS", "missing", f"QEMU {shown} is too old, 7.2 or later emulates PKS")
    if "pks" not in flags:
        return Check("QEMU with PKS", "missing", f"QEMU {shown} does not know the CPU flag pks")
    return Check("QEMU with PKS", "ok", f"QEMU {shown}")


def _source() -> Check:
    version = package_version()
    if version:
        return Check("kernel source", "ok", version)
    try:
        known = Commands().capture(["apt-cache", "show", PACKAGE]).status == 0
    except ToolError:
        known = False
    detail = "not installed, apt has it" if known else "apt does not know it: apt-get update, or give --tree"
    return Check("kernel source", "missing", f"{PACKAGE} {detail}")


def _newer(workspace: Workspace, kernel: str) -> Check:
    """A kernel that only --kernel asks for."""
    name, folder = f"kernel source {kernel}", newer_folder(workspace, kernel)
    if folder.is_dir():
        return Check(name, "ok", str(kernel_version(folder)))
    return Check(name, "optional", f"./portcullis fetch --kernel {kernel}, from {SUITES[kernel]}")


def _disk(workspace: Workspace) -> Check:
    free = free_mib(workspace.cache)
    good = free >= NEEDED_DISK_MIB
    return Check(
        "disk space",
        "ok" if good else "missing",
        f"{free} MiB free at {workspace.cache}, {NEEDED_DISK_MIB} needed",
    )


def _memory() -> Check:
    text = Path("/proc/meminfo").read_text()
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    available = int(found[1]) // 1024 if found else 0
    good = available >= NEEDED_MEMORY_MIB
    return Check("memory", "ok" if good else "missing", f"{available} MiB available, {NEEDED_MEMORY_MIB} needed")
