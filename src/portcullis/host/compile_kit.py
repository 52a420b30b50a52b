# SPDX-License-Identifier: GPL-2.0-only
"""A compiler for the guest, something real to compile, and a shell: what `kernbench`, `-gcc` and `lm-shell` run.

The compiler of the first is Debian's tcc with the C library of this machine, or of its cross compiler. It compiles two
host programs of the Linux source, the device-tree compiler and kconfig. The second one has them made by Debian's make
and gcc, with all that these depend on.
"""

import gzip
import os
import re
from collections.abc import Iterable
from pathlib import Path

from portcullis.core.arches import ARCHES, cross_prefix
from portcullis.core.cpio import Entry, directory, newc, regular, symlink
from portcullis.errors import ToolError
from portcullis.host.aptsource import fetch_unpacked, fetch_unpacked_whole
from portcullis.host.busybox import busybox
from portcullis.host.guest import build_initramfs
from portcullis.host.process import Commands
from portcullis.host.sources import fetch
from portcullis.host.workspace import Workspace, locked, write_whole

PACKAGE = "tcc"
GCC = ("gcc", "make", "libc6-dev")
GCC_PROGRAMS = ("usr/bin/gcc", "usr/bin/as", "usr/bin/make")
GCC_OWN = ("usr/lib/gcc/*/*/cc1", "usr/libexec/gcc/*/*/cc1")  # of Debian 12, 13
AT_ONCE = 4  # files that make has compiled
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
    """The guest's file system with the compiler and a shell in it."""
    base = build_initramfs(workspace, commands, arch)
    target = base.with_name(base.name.replace("initramfs", "initramfs-lab"))
    if commands.dry_run:
        return target
    package = tcc(workspace, commands, arch)
    shell = busybox(workspace, commands, arch, os.uname().machine)
    entries = [*_entries(fetch(workspace, commands).path, package, arch), *_shell(shell)]
    pack_onto(workspace, base, target, entries)
    return target


def gcc_initramfs(workspace: Workspace, commands: Commands, arch: str) -> Path:
    """The guest's file system with make and gcc in it."""
    base = build_initramfs(workspace, commands, arch)
    target = base.with_name(base.name.replace("initramfs", "initramfs-gcc"))
    if commands.dry_run:
        return target
    root = workspace.cache / f"gcc-{arch}"
    with locked(root.with_suffix(".lock")):
        if not (root / GCC_PROGRAMS[0]).exists():
            fetch_unpacked_whole(commands, GCC, ARCHES[arch].debian, root, workspace.cache / "gcc.log")
    pack_onto(workspace, base, target, _gcc_entries(commands, fetch(workspace, commands).path, root, arch))
    return target


def pack_onto(workspace: Workspace, base: Path, target: Path, entries: Iterable[Entry]) -> None:
    """An initramfs of all that `base` has, and `entries`."""
    with locked(workspace.cache / "guest.lock"):
        archive = base.read_bytes() + gzip.compress(newc(with_folders(entries)), 6, mtime=0)
        if not target.is_file() or target.read_bytes() != archive:
            write_whole(target, archive)


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


def _shell(program: Path) -> list[Entry]:
    return [regular("bin/busybox", program.read_bytes(), 0o755), symlink("bin/sh", "busybox")]


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
    entries += _source_entries(tree)
    seen = {}
    for folder in headers:
        for name, path in _headers(folder):
            seen.setdefault(name, path)
    entries += [regular(f"compile/include/{name}", path.read_bytes()) for name, path in sorted(seen.items())]
    return entries


def _source_entries(tree: Path) -> list[Entry]:
    headers = [path.relative_to(tree) for folder in INCLUDES for path in sorted((tree / folder).glob("*.h"))]
    return [regular(f"compile/src/{path}", (tree / path).read_bytes()) for path in [*sources(tree), *headers]]


def _headers(folder: Path) -> list[tuple[str, Path]]:
    return [(str(path.relative_to(folder)), path) for pattern in HEADERS for path in sorted(folder.glob(pattern))]


def _gcc_entries(commands: Commands, tree: Path, root: Path, arch: str) -> list[Entry]:
    """All where the packages have it, so that gcc finds what is its own."""
    own = [str(path.relative_to(root)) for pattern in GCC_OWN for path in root.glob(pattern)]
    programs = [*GCC_PROGRAMS, *own]
    include = [path for path in root.glob("usr/lib/gcc/*/*/include/*.h") if path.is_file()]
    folders = [root / "usr/include" / ARCHES[arch].cross.rstrip("-"), root / "usr/include"]
    include += [path for folder in folders for _, path in _headers(folder)]
    names = dict.fromkeys(str(path.relative_to(root)) for path in include)
    entries = [regular(name, (root / name).read_bytes()) for name in names]
    entries += [regular(name, (root / name).read_bytes(), 0o755) for name in programs]
    entries += [regular(name, path.read_bytes(), 0o755) for name, path in libraries(commands, root, arch, programs)]
    return [*entries, *_source_entries(tree), regular("compile/Makefile", makefile(sources(tree)).encode())]


def libraries(commands: Commands, root: Path, arch: str, programs: Iterable[str]) -> list[tuple[str, Path]]:
    """Shared libraries that programs need, and those that these need, by where the loader looks; and the loader.

    Packages have them below lib or, from Debian 13 on, usr/lib. Raises ToolError when the loader is in neither.
    """
    folders = [root / folder / ARCHES[arch].cross.rstrip("-") for folder in ("lib", "usr/lib")]
    loader = _first(folders, Path(LOADERS[arch]).name)
    if loader is None:
        raise ToolError(f"there is no {Path(LOADERS[arch]).name} below {root}", f"remove {root}, it is fetched again")
    found = {LOADERS[arch]: loader}
    waiting = [root / name for name in programs]
    while waiting:
        text = commands.capture(["readelf", "-d", waiting.pop()]).output
        for name in re.findall(r"Shared library: \[(.*?)\]", text):
            path = _first(folders, name)
            if path and str(path.relative_to(root)) not in found:
                found[str(path.relative_to(root))] = path
                waiting.append(path)
    return list(found.items())


def _first(folders: Iterable[Path], name: str) -> Path | None:
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def makefile(files: Iterable[Path]) -> str:
    """Compiles each file as the kernel's build does its own programs, to objects with numbers for names."""
    flags = " ".join(["-O2", "-w", "-D_GNU_SOURCE", *(f"-I/compile/src/{folder}" for folder in INCLUDES)])
    rules = [f"$(O)/{number}.o: /compile/src/{path}\n\tgcc {flags} -c -o $@ $<\n" for number, path in enumerate(files)]
    return f"MAKEFLAGS += -j{AT_ONCE} -rR\nall: {' '.join(f'$(O)/{n}.o' for n in range(len(rules)))}\n" + "".join(rules)


def with_folders(entries: Iterable[Entry]) -> list[Entry]:
    """The entries, each behind the folders it is in."""
    made: dict[str, Entry] = {}
    for entry in entries:
        for parent in reversed(Path(entry.name).parents[:-1]):
            made.setdefault(str(parent), directory(str(parent)))
        made[entry.name] = entry
    return list(made.values())
