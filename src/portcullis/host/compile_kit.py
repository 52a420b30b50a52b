# SPDX-License-Identifier: GPL-2.0-only
"""A compiler for the guest, and something real to compile: what the benchmark `kernbench` runs.

The compiler is Debian's tcc with the C library of this machine, or of its cross compiler. It compiles two host programs
of the Linux source, the device-tree compiler and kconfig.
"""

import gzip
import os
from collections.abc import Iterable
from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.core.cpio import Entry, directory, newc, regular
from portcullis.host.aptsource import fetch_unpacked
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.sources import fetch
from portcullis.host.workspace import Workspace, locked, write_whole

PACKAGE = "tcc"
# Below the source, without what tcc cannot compile or what needs libraries.
SOURCES = ("scripts/dtc/libfdt/*.c", "scripts/dtc/*.c", "scripts/kconfig/*.c")
WITHOUT = (
    "fdtget.c",
    "fdtput.c",
    "symbol.c",
    "yamltree.c",
    "gconf.c",
    "mconf.c",
    "nconf.c",
    "nconf.gui.c",
    "mnconf-common.c",
)
INCLUDES = ("scripts/dtc/libfdt", "scripts/dtc", "scripts/kconfig", "scripts/include")
HEADERS = ("*.h", "bits/**/*.h", "gnu/*.h", "sys/*.h", "asm/*.h", "asm-generic/*.h", "linux/*.h")
LOADERS = {"x86": "lib64/ld-linux-x86-64.so.2", "arm64": "lib/ld-linux-aarch64.so.1"}
LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0")


def lab_initramfs(workspace: Workspace, commands: Commands, arch: str) -> Path:
    """The guest's file system with the compiler in it."""
    base = build_initramfs(workspace, commands, arch)
    target = base.with_name(base.name.replace("initramfs", "initramfs-lab"))
    if commands.dry_run:
        return target
    package = tcc(workspace, commands, arch)
    source = fetch(workspace, commands).path
    with locked(workspace.cache / "guest.lock"):
        archive = base.read_bytes() + gzip.compress(newc(with_folders(_entries(source, package, arch))), 6, mtime=0)
        if not target.is_file() or target.read_bytes() != archive:
            write_whole(target, archive)
    return target


def tcc(workspace: Workspace, commands: Commands, arch: str) -> Path:
    """Folder with the unpacked package."""
    folder = workspace.cache / f"tcc-{arch}"
    with locked(folder.with_suffix(".lock")):
        if not (folder / "usr/bin/tcc").is_file():
            fetch_unpacked(commands, PACKAGE, ARCHES[arch].debian, folder, workspace.cache / "tcc.log")
    return folder


def sources(tree: Path) -> list[Path]:
    """What is compiled, below the source."""
    found = sorted(path.relative_to(tree) for pattern in SOURCES for path in tree.glob(pattern))
    return [path for path in found if path.name not in WITHOUT]


def _libc(arch: str) -> tuple[list[Path], Path]:
    """Where the C library is: folders of headers, folder of libraries."""
    prefix = cross_prefix(ARCHES[arch], os.uname().machine)
    if prefix:
        root = Path("/usr") / prefix.rstrip("-")
        return [root / "include"], root / "lib"
    triplet = ARCHES[arch].cross.rstrip("-")
    return [Path("/usr/include") / triplet, Path("/usr/include")], Path("/lib") / triplet


def _entries(tree: Path, package: Path, arch: str) -> list[Entry]:
    headers, libraries = _libc(arch)
    triplet = ARCHES[arch].cross.rstrip("-")
    own = package / "usr/lib" / triplet / "tcc"
    chosen = sources(tree)
    flags = ["-w", "-D_GNU_SOURCE", "-B/compile/tcc", "-nostdinc", "-I/compile/tcc/include", "-I/compile/include"]
    flags += [f"-I/compile/src/{folder}" for folder in INCLUDES]
    entries = [
        regular("compile/bin/tcc", (package / "usr/bin/tcc").read_bytes(), 0o755),
        regular("compile/flags", "\n".join(flags).encode()),
        regular("compile/files", "\n".join(f"/compile/src/{path}" for path in chosen).encode()),
        regular(LOADERS[arch], (libraries / Path(LOADERS[arch]).name).read_bytes(), 0o755),
    ]
    entries += [
        regular(f"compile/lib/{name}", (libraries / name).read_bytes(), 0o755)
        for name in LIBRARIES
        if (libraries / name).is_file()
    ]
    entries += [regular(f"compile/tcc/include/{path.name}", path.read_bytes()) for path in (own / "include").glob("*")]
    entries += [regular(f"compile/src/{path}", (tree / path).read_bytes()) for path in chosen]
    for folder in INCLUDES:
        entries += [
            regular(f"compile/src/{path.relative_to(tree)}", path.read_bytes()) for path in (tree / folder).glob("*.h")
        ]
    seen = {}
    for folder in headers:
        for pattern in HEADERS:
            for path in sorted(folder.glob(pattern)):
                seen.setdefault(str(path.relative_to(folder)), path)
    entries += [regular(f"compile/include/{name}", path.read_bytes()) for name, path in sorted(seen.items())]
    return entries


def with_folders(entries: Iterable[Entry]) -> list[Entry]:
    """The entries, each behind the folders it is in."""
    made: dict[str, Entry] = {}
    for entry in entries:
        for parent in reversed(Path(entry.name).parents[:-1]):
            made.setdefault(str(parent), directory(str(parent)))
        made[entry.name] = entry
    return list(made.values())
