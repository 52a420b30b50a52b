# SPDX-License-Identifier: GPL-2.0-only
"""Builds the emulator: QEMU 10.0 from Debian's source with the patches in emulator/, into the cache folder."""

import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.emulator import ninja_progress, series_names
from portcullis.errors import ToolError
from portcullis.host.aptsource import fetch_archive
from portcullis.host.building import environment, run_step
from portcullis.host.hardening import PATCH
from portcullis.host.process import Commands
from portcullis.host.screen import say, step
from portcullis.host.workspace import (
    Workspace,
    disk_full_explained,
    free_mib,
    locked,
    remove_folder,
    whole_folder,
    write_whole,
)

TARGETS = {"arm64": "aarch64", "x86": "x86_64"}  # QEMU's names
DEVICES = "portcullis"
NEEDED_MIB = 1800  # source, build and result
STAMP = "portcullis-built.json"
CONFIGURE = (
    "--disable-download",
    "--disable-docs",
    "--disable-install-blobs",
    "--disable-tools",
    "--enable-fdt=system",
    "--enable-plugins",
    "--enable-tcg",
    "--firmwarepath=/usr/share/qemu:/usr/share/seabios",  # of the distribution: a PC does not start without
    f"--target-list={','.join(f'{target}-softmmu' for target in TARGETS.values())}",
    *(f"--with-devices-{target}={DEVICES}" for target in TARGETS.values()),
    "--without-default-devices",
    "--without-default-features",
)


def binary_name(arch: str) -> str:
    """Name of the program that emulates an architecture."""
    return f"qemu-system-{TARGETS[arch]}"


@dataclass(frozen=True)
class Emulator:
    """A built emulator: a program for each architecture, and the header that TCG plugins are compiled with."""

    folder: Path
    source: str
    fresh: bool

    def binary(self, arch: str) -> Path:
        """The program for an architecture."""
        return self.folder / binary_name(arch)

    @property
    def header(self) -> Path:
        """The interface of plugins."""
        return self.folder / "include" / "qemu-plugin.h"


class EmulatorBuilder:
    """The steps in order; a build that is up to date does nothing."""

    def __init__(self, workspace: Workspace, commands: Commands, jobs: int) -> None:
        self.workspace = workspace
        self.commands = commands
        self.jobs = jobs
        self.folder = workspace.cache / "emulator"
        self.log = workspace.cache / "emulator.log"

    @property
    def installed(self) -> Path:
        """Where the result is."""
        return self.folder / "installed"

    def run(self) -> Emulator:
        """Builds; raises ToolError that says what failed and where the log is."""
        key = self.key()
        have = self._have(key)
        if have and not self.commands.dry_run:
            say("the emulator is up to date")
            return have
        self.workspace.folder("emulator")
        with disk_full_explained(self.workspace.cache), locked(self.workspace.cache / "emulator.lock"):
            return self._have(key) or self._build(key)

    def patches(self) -> list[Path]:
        """The patches, in order; raises ToolError when the checkout is not complete."""
        base = self.workspace.root / "emulator"
        series = base / "series"
        names = series_names(series.read_text()) if series.is_file() else ()
        paths = [base / "patches" / name for name in names]
        missing = [path for path in paths if not path.is_file()]
        if not paths or missing:
            raise ToolError(f"{missing[0] if missing else series} does not exist", "the checkout is not complete")
        return paths

    def key(self) -> str:
        """Changes when the result would: patches, devices, options."""
        parts = [path.read_bytes() for path in self.patches()]
        parts += [self._devices(target).read_bytes() for target in TARGETS.values()]
        parts.append("\0".join(CONFIGURE).encode())
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def _devices(self, target: str) -> Path:
        return self.workspace.root / "emulator" / f"devices-{target}.mak"

    def _have(self, key: str) -> Emulator | None:
        stamp = self.installed / STAMP
        made = json.loads(stamp.read_text()) if stamp.is_file() else {}
        if made.get("key") != key or not all((self.installed / binary_name(arch)).is_file() for arch in TARGETS):
            return None
        return self._result(made["source"], fresh=False)

    def _result(self, source: str, fresh: bool) -> Emulator:
        return Emulator(self.installed, source, fresh)

    def _build(self, key: str) -> Emulator:
        free = free_mib(self.folder)
        if free < NEEDED_MIB:
            raise ToolError(
                f"building the emulator needs {NEEDED_MIB} MiB, {free} MiB are free under {self.folder}",
                "free some space or choose another place with --cache DIR",
            )
        if not self.commands.dry_run:
            self.log.unlink(missing_ok=True)
        archive = fetch_archive(self.commands, self.folder / "source", self.log)
        source = archive.parent.name.replace("_", ":")
        tree, build = self.folder / "tree", self.folder / "build"
        remove_folder(tree)
        remove_folder(build)
        self._unpack(archive, tree)
        self._configure(tree, build)
        self._compile(build)
        if self.commands.dry_run:
            return self._result(source, fresh=False)
        self._install(tree, build, {"key": key, "source": source})
        remove_folder(build)
        remove_folder(tree)
        return self._result(source, fresh=True)

    def _unpack(self, archive: Path, tree: Path) -> None:
        command = ["tar", "--extract", "--xz", "--strip-components=1", "-f", archive, "-C"]
        if self.commands.dry_run:
            self.commands.capture([*command, tree])
            for path in self.patches():
                self.commands.capture([*PATCH, "-d", tree, "-i", path])
            return
        with whole_folder(tree) as partial:
            with step(f"unpacking {archive.name}") as progress:
                self._checked([*command, partial], "unpacking", watch=lambda _: progress.update())
            for path in self.patches():
                self._apply(path, partial)
            for target in TARGETS.values():
                devices = partial / f"configs/devices/{target}-softmmu" / f"{DEVICES}.mak"
                shutil.copyfile(self._devices(target), devices)

    def _apply(self, path: Path, tree: Path) -> None:
        finished = self.commands.logged([*PATCH, "-d", tree, "-i", path], self.log)
        if finished.status != 0:
            detail = "\n".join(f"    {line}" for line in finished.output.strip().splitlines()[:12])
            raise ToolError(
                f"{path.name} does not apply to this version of QEMU\n{detail}",
                f"log: {self.log}\n  remove {self.folder}/source to fetch the present version",
            )

    def _configure(self, tree: Path, build: Path) -> None:
        compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
        command = [tree / "configure", *CONFIGURE, f"--python={sys.executable}", f"--cc={compiler}"]
        if not self.commands.dry_run:
            build.mkdir(parents=True)
        with step("configuring the emulator") as progress:
            self._checked(command, "configuring the emulator", build, watch=lambda _: progress.update())

    def _compile(self, build: Path) -> None:
        state = ""
        with step("building the emulator", "emulator built") as progress:

            def watch(piece: str) -> None:
                nonlocal state
                done, total = ninja_progress(piece)
                state = f"{done} of {total} files" if total else state
                progress.update(state)

            binaries = [binary_name(arch) for arch in TARGETS]
            self._checked(["ninja", "-C", build, f"-j{self.jobs}", *binaries], "the build", watch=watch)

    def _install(self, tree: Path, build: Path, made: dict[str, str]) -> None:
        with whole_folder(self.installed) as partial:
            for name in map(binary_name, TARGETS):
                self._checked(["strip", "-o", partial / name, build / name], "copying the emulator")
            (partial / "include").mkdir()
            shutil.copyfile(tree / "include/qemu/qemu-plugin.h", partial / "include/qemu-plugin.h")
            write_whole(partial / STAMP, json.dumps(made).encode())

    def _checked(self, command: list[str | Path], what: str, cwd: Path | None = None, **options: object) -> None:
        variables = environment(self.workspace, self.folder)
        run_step(self.workspace, self.commands, command, self.log, what, cwd=cwd, env=variables, **options)


def emulator_for(workspace: Workspace, commands: Commands, arch: str, jobs: int, counts: bool = False) -> str:
    """The QEMU that has protection keys for `arch`: the distribution's for x86, our own build for arm64.

    Only our own takes the plugin that counts.
    """
    if arch == "x86" and not counts:
        return "qemu-system-x86_64"
    return str(EmulatorBuilder(workspace, commands, jobs).run().binary(arch))
