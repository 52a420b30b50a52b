# SPDX-License-Identifier: GPL-2.0-only
"""Builds LuaJIT from Debian's source package below the cache folder: as it is, with insecure memory, or on jitgate."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.arches import ARCHES, arch_name
from portcullis.core.luajit import (
    DEFAULT_LAYOUT,
    LAYOUTS,
    PACKAGE,
    VARIANTS,
    Layout,
    fitting,
    layout_of,
    make_words,
    package_flags,
    test_words,
    this_machine,
)
from portcullis.errors import ToolError
from portcullis.host.building import run_step
from portcullis.host.jitgate import ANEW, Jitgate
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.sourcepackage import STAMP, Source, Wanted, apply_patches, fetch_source, patches_in, version_in
from portcullis.host.workspace import Workspace, locked, remove_folder, write_whole

MCODE = "src/lj_mcode.c"


@dataclass(frozen=True)
class Built:
    """A variant that was built: the interpreter, and the library for programs of one's own."""

    interpreter: Path
    library: Path
    headers: Path
    source: Source[Layout]
    fresh: bool


class LuaJit:
    """LuaJIT of one layout, or of one release of Debian."""

    def __init__(
        self,
        workspace: Workspace,
        commands: Commands,
        jobs: int = 2,
        layout: str | None = None,
        release: str | None = None,
    ) -> None:
        if layout is not None and layout not in LAYOUTS:
            raise ToolError(f"there is no layout {layout!r} of LuaJIT", f"choose one of: {', '.join(LAYOUTS)}")
        self.workspace = workspace
        self.commands = commands
        self.jobs = jobs
        self.wanted = LAYOUTS[layout] if layout else None if release else LAYOUTS[DEFAULT_LAYOUT]
        self.suites = (release,) if release else LAYOUTS[layout or DEFAULT_LAYOUT].suites
        self.folder = workspace.folder("luajit", "-".join(filter(None, (layout, release))) or DEFAULT_LAYOUT)
        self.log = self.folder / "build.log"
        self.jitgate = Jitgate(workspace, commands, jobs)
        self.own = workspace.root / "jit" / "luajit"

    def source(self) -> Source[Layout]:
        """The source package, fetched once and unpacked with Debian's patches."""
        tree = self.folder / "source"
        with locked(self.folder / "source.lock"):
            if not version_in(tree):
                self._fetch(tree)
        return Source(tree, version_in(tree), layout_of((tree / MCODE).read_text(errors="replace")))

    def build(self, variant: str, arch: str) -> Built:
        """A variant for an architecture; compiled when something changed."""
        if variant not in VARIANTS:
            raise ToolError(f"there is no variant {variant!r} of LuaJIT", f"choose one of: {', '.join(VARIANTS)}")
        if arch not in ARCHES:
            raise ToolError(f"LuaJIT is not built for {arch}", f"known are: {', '.join(ARCHES)}")
        source = self.source()
        target = self.folder / f"{variant}-{arch}"
        with locked(target.with_suffix(".lock")):
            library = self.jitgate.library(arch) if variant == "jitgate" else None
            include = self.jitgate.source / "include"
            rules = source.tree / "debian/rules"
            flags = package_flags(rules.read_text()) if rules.is_file() else ()
            words = make_words(variant, arch, this_machine(), flags, include, library)
            # Without the paths of this checkout.
            plain = make_words(variant, arch, this_machine(), flags, Path("include"), Path("library"))
            key = self._key(source, variant, plain, library)
            stamp = target / STAMP
            fresh = not stamp.is_file() or json.loads(stamp.read_text())["key"] != key
            if fresh:
                self._compile(source, variant, arch, words, target)
                write_whole(stamp, json.dumps({"key": key}).encode())
        src = target / "src"
        return Built(src / "luajit", src / "libluajit.a", src, source, fresh)

    def tests(self, variant: str, arch: str) -> Path:
        """The program of tests for a variant, static."""
        built = self.build(variant, arch)
        program = self.folder / f"tests-{variant}-{arch}"
        with locked(program.with_suffix(".lock")):
            library = self.jitgate.library(arch) if variant == "jitgate" else None
            words = test_words(variant, arch, this_machine(), built.headers, self.jitgate.source / "include", library)
            sources = [path.name for path in sorted((self.own / "tests").glob("*.c"))]
            shared = self.jitgate.source / "tests"
            command = [words[0], *sources, *(shared / name for name in ANEW), f"-I{shared}", *words[1:], "-o", program]
            what = f"building the tests of LuaJIT ({variant}, {arch})"
            run_step(self.workspace, self.commands, command, self.log, what, cwd=self.own / "tests")
        return program

    def patches(self, layout: Layout) -> list[Path]:
        """What is applied for jitgate, in order."""
        return patches_in(self.own / layout.name)

    def patch(self, layout: Layout, tree: Path) -> None:
        """Applies the patches for jitgate and adds their files."""
        apply_patches(self.commands, self.patches(layout), tree, "LuaJIT", self.log)
        for path in self._files():
            shutil.copyfile(path, tree / "src" / path.name)

    def _files(self) -> list[Path]:
        return sorted(self.own.glob("*.h"))

    def _key(self, source: Source[Layout], variant: str, words: list[str], library: Path | None) -> str:
        parts = [source.version.encode(), *(word.encode() for word in words)]
        if variant == "jitgate" and library:
            paths = [*self.patches(source.layout), *self._files(), self.jitgate.source / "include/jitgate.h", library]
            parts += [path.read_bytes() for path in paths]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def _compile(self, source: Source[Layout], variant: str, arch: str, words: list[str], target: Path) -> None:
        self.log.unlink(missing_ok=True)
        remove_folder(target)
        shutil.copytree(source.tree, target, ignore=shutil.ignore_patterns(STAMP))
        if variant == "jitgate":
            self.patch(source.layout, target)
        what = f"building LuaJIT {source.version} ({variant}, {arch})"
        with step(what) as progress:
            command = ["make", "-C", target / "src", f"-j{self.jobs}", *words]
            run_step(self.workspace, self.commands, command, self.log, what, watch=lambda _: progress.update())

    def _fetch(self, tree: Path) -> None:
        which = f"of the layout {self.wanted.name}" if self.wanted else f"from {self.suites[0]}"
        wanted = Wanted(PACKAGE, "LuaJIT", self.suites, which, lambda versions: fitting(versions, self.wanted))
        fetch_source(self.workspace, self.commands, wanted, self.folder, tree)


def build(workspace: Workspace, variant: str, arch: str = "x86_64", layout: str | None = None) -> Path:
    """The static interpreter of a variant; runs on this machine, if it is of that architecture, and in guests."""
    return LuaJit(workspace, Commands(), layout=layout).build(variant, arch_name(arch)).interpreter
