# SPDX-License-Identifier: GPL-2.0-only
"""Builds PCRE2 from Debian's source package below the cache folder, with each of sljit's allocators or on jitgate."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.arches import ARCHES
from portcullis.core.luajit import this_machine
from portcullis.core.pcre2 import (
    DEFAULT_RELEASE,
    PACKAGE,
    VARIANTS,
    Layout,
    cmake_words,
    layout_of,
    link_words,
    test_words,
)
from portcullis.errors import ToolError
from portcullis.host.building import run_step
from portcullis.host.jitgate import ANEW, Jitgate
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.sourcepackage import STAMP, Source, Wanted, apply_patches, fetch_source, patches_in, version_in
from portcullis.host.workspace import Workspace, locked, remove_folder, write_whole

ALLOCATOR = "sljitGateExecAllocator.c"


@dataclass(frozen=True)
class Built:
    """A variant: the folder that it was built in, and the sources that it was built from."""

    folder: Path
    tree: Path
    source: Source[Layout]


class Pcre2:
    """PCRE2 of one release of Debian."""

    def __init__(self, workspace: Workspace, commands: Commands, jobs: int = 2, release: str = DEFAULT_RELEASE) -> None:
        self.workspace = workspace
        self.commands = commands
        self.jobs = jobs
        self.release = release
        self.folder = workspace.folder("pcre2", release)
        self.jitgate = Jitgate(workspace, commands, jobs)
        self.own = workspace.root / "jit" / "pcre2"

    def source(self) -> Source[Layout]:
        """The source package, fetched once and unpacked with Debian's patches."""
        tree = self.folder / "source"
        with locked(self.folder / "source.lock"):
            if not version_in(tree):
                wanted = Wanted(PACKAGE, "PCRE2", (self.release,), f"from {self.release}")
                fetch_source(self.workspace, self.commands, wanted, self.folder, tree)
        layout = layout_of(tree)
        if not layout:
            raise ToolError(
                f"PCRE2 {version_in(tree)} of {self.release} has its sljit elsewhere",
                "the releases bookworm and trixie are known",
            )
        return Source(tree, version_in(tree), layout)

    def build(self, variant: str, arch: str, shared: bool = False) -> Built:
        """A variant for an architecture, static or as a shared library; compiled when something changed."""
        if variant not in VARIANTS:
            raise ToolError(f"there is no variant {variant!r} of PCRE2", f"choose one of: {', '.join(VARIANTS)}")
        if arch not in ARCHES:
            raise ToolError(f"PCRE2 is not built for {arch}", f"known are: {', '.join(ARCHES)}")
        source = self.source()
        target = self.folder / f"{variant}-{arch}{'-shared' if shared else ''}"
        with locked(target.with_suffix(".lock")):
            library = self._library(variant, arch)
            words = cmake_words(variant, arch, this_machine(), self.jitgate.source / "include", library, shared)
            tree = self._tree(source, variant)
            # Without the paths of this checkout.
            key = self._key(source, variant, [word for word in words if "JITGATE_" not in word], library)
            stamp = target / STAMP
            if not stamp.is_file() or json.loads(stamp.read_text())["key"] != key:
                what = f"building PCRE2 {source.version} ({variant}, {arch})"
                self._compile(tree, target, words, what, ["pcre2-8-shared"] if shared else [])
                write_whole(stamp, json.dumps({"key": key}).encode())
        return Built(target, tree, source)

    def tests(self, variant: str, arch: str) -> Path:
        """The program of our tests for a variant, static."""
        built = self.build(variant, arch)
        program = self.folder / f"tests-{variant}-{arch}"
        with locked(program.with_suffix(".lock")):
            library = self._library(variant, arch)
            sources = [path.name for path in sorted((self.own / "tests").glob("*.c"))]
            shared = self.jitgate.source / "tests"
            command: list[str | Path] = [
                *test_words(variant, arch, this_machine(), built.source.layout, built.folder, built.tree),
                *(f"-I{folder}" for folder in (shared, self.jitgate.source / "include")),
                *sources,
                *(shared / name for name in ANEW),
                *link_words(variant, built.folder, library),
                "-o",
                program,
            ]
            what = f"building the tests of PCRE2 ({variant}, {arch})"
            run_step(self.workspace, self.commands, command, self._log(program), what, cwd=self.own / "tests")
        return program

    def patches(self, layout: Layout) -> list[Path]:
        """What is applied for jitgate, in order."""
        return patches_in(self.own / layout.name)

    def patch(self, layout: Layout, tree: Path) -> None:
        """Applies the patches for jitgate and adds the allocator."""
        apply_patches(self.commands, self.patches(layout), tree, "PCRE2", self._log(tree))
        shutil.copyfile(self.own / ALLOCATOR, tree / layout.allocators / ALLOCATOR)

    def _library(self, variant: str, arch: str) -> Path | None:
        return self.jitgate.library(arch) if VARIANTS[variant].on_jitgate else None

    def _tree(self, source: Source[Layout], variant: str) -> Path:
        """Sources to build from: those of jitgate are a patched copy, the same for all builds."""
        if not VARIANTS[variant].on_jitgate:
            return source.tree
        tree = self.folder / "source-jitgate"
        key = self._key(source, variant, [], None)
        with locked(self.folder / "source-jitgate.lock"):
            stamp = tree / STAMP
            if not stamp.is_file() or json.loads(stamp.read_text()).get("key") != key:
                remove_folder(tree)
                shutil.copytree(source.tree, tree, symlinks=True)
                stamp.unlink()
                self.patch(source.layout, tree)
                write_whole(stamp, json.dumps({"key": key}).encode())
        return tree

    def _key(self, source: Source[Layout], variant: str, words: list[str], library: Path | None) -> str:
        parts = [source.version.encode(), *(word.encode() for word in words)]
        if VARIANTS[variant].on_jitgate:
            paths = [*self.patches(source.layout), self.own / ALLOCATOR, self.jitgate.source / "include/jitgate.h"]
            parts += [path.read_bytes() for path in (*paths, *([library] if library else []))]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def _compile(self, tree: Path, target: Path, words: list[str], what: str, targets: list[str]) -> None:
        log = self._log(target)
        log.unlink(missing_ok=True)
        remove_folder(target)
        launcher = [f"-DCMAKE_C_COMPILER_LAUNCHER={ccache}"] if (ccache := shutil.which("ccache")) else []
        with step(what) as progress:
            command: list[str | Path] = ["cmake", "-S", tree, "-B", target, *launcher, *words]
            run_step(self.workspace, self.commands, command, log, what, watch=lambda _: progress.update())
            command = ["cmake", "--build", target, f"-j{self.jobs}", *(["--target", *targets] if targets else [])]
            run_step(self.workspace, self.commands, command, log, what, watch=lambda _: progress.update())

    def _log(self, target: Path) -> Path:
        return self.folder / f"{target.name}.log"
