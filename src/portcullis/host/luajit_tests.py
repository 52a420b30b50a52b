# SPDX-License-Identifier: GPL-2.0-only
"""Runs what tests LuaJIT on this machine: our program, the package's own checks, and programs of other packages."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from portcullis.core.arches import ARCHES, arch_name
from portcullis.core.luajit import test_commands, this_machine
from portcullis.core.splats import last_lines
from portcullis.errors import ToolError
from portcullis.host.aptsource import PrivateApt, codename, fetch_unpacked, mirrors
from portcullis.host.building import run_step
from portcullis.host.guest import pack_programs
from portcullis.host.jitgate import Outcome, has_keys, judged
from portcullis.host.luajit import LuaJit
from portcullis.host.process import Finished
from portcullis.host.workspace import locked, whole_folder

JOB = "luajit-tests"
TIME_LIMIT = "300"  # seconds
LUA = "lua5.1"
# Those that end by themselves, say something, and nothing that differs from run to run.
PROGRAMS = ("bisect", "cf", "factorial", "fibfor", "hello", "life", "sort")


class LuaJitTests:
    """Tests of one LuaJit."""

    def __init__(self, luajit: LuaJit) -> None:
        self.luajit = luajit
        self.commands = luajit.commands
        self.workspace = luajit.workspace
        self.arch = arch_name(this_machine())

    def checks(self) -> dict[str, Callable[[], Outcome]]:
        """All there is for this machine, by name."""
        return {
            **{variant: lambda variant=variant: self.program(variant) for variant in ("jitgate", "stock", "rwx")},
            "package": self.package,
            "prove": self.prove,
            "lua": self.lua,
        }

    def program(self, variant: str) -> Outcome:
        """Our own tests of a variant."""
        program = self.luajit.tests(variant, self.arch)
        log = self.workspace.log_folder(f"luajit-{variant}") / "tests.log"
        return judged(self._limited([program], log), log, has_keys() if variant == "jitgate" else None)

    def package(self) -> Outcome:
        """What Debian runs after it built the package, and to test it when it is installed."""
        built = self.luajit.build("jitgate", self.arch)
        control = built.source.tree / "debian/tests/control"
        log = self.workspace.log_folder("luajit-package") / "tests.log"
        lines = ["luajit -e 'print(true)'"]
        lines += test_commands(control.read_text()) if control.is_file() else ()
        moses = self._unpacked("lua-moses")
        env = {
            **self._environment(built.interpreter),
            "LUA_PATH": f"{moses}/usr/share/lua/5.1/?.lua;{moses}/usr/share/lua/5.1/?/init.lua;;",
        }
        problems = []
        for line in lines:
            finished = self._limited(["sh", "-c", line], log, env)
            if finished.status:
                problems.append(f"{line}: status {finished.status}: {last_lines(finished.output, 2).strip()}")
        return Outcome(problems, f"{len(lines)} commands", log)

    def prove(self) -> Outcome:
        """The tests in the source, if it has any (OpenResty's)."""
        built = self.luajit.build("jitgate", self.arch)
        log = self.workspace.log_folder("luajit-prove") / "tests.log"
        if not (built.source.tree / "t").is_dir():
            return Outcome([], f"LuaJIT {built.source.version} has none", log)
        # In the copy that was built in: the tests make folders, and look for LuaJIT's own modules in lua/.
        here = built.headers.parent
        if not (here / "lua").is_symlink():
            (here / "lua").symlink_to("src")
        finished = self._limited(["prove", "-I.", "t"], log, self._environment(built.interpreter), here)
        problems = [] if finished.status == 0 else [last_lines(finished.output, 8).strip()]
        return Outcome(problems, (finished.output.strip().splitlines() or ["nothing"])[-2:][0], log)

    def lua(self) -> Outcome:
        """The test programs of Lua 5.1: they print the same with and without machine code."""
        built = self.luajit.build("jitgate", self.arch)
        folder = self._lua_source() / "test"
        log = self.workspace.log_folder("luajit-lua") / "tests.log"
        problems = []
        for name in PROGRAMS:
            slow, fast = (
                self._limited([built.interpreter, *options, f"{name}.lua"], log, None, folder)
                for options in (["-joff"], ["-Ohotloop=2", "-Ohotexit=2"])
            )
            if slow.status or fast.status:
                problems.append(f"{name}: status {slow.status} without machine code, {fast.status} with it")
            elif slow.output != fast.output or not slow.output:
                problems.append(f"{name}: says nothing, or something else with machine code")
        return Outcome(problems, f"{len(PROGRAMS)} programs", log)

    def initramfs(self, arch: str, init: Path) -> Path:
        """Our tests of the variant on jitgate, for a guest."""
        target = self.luajit.folder / f"guest-{arch}.cpio.gz"
        program = self.luajit.tests("jitgate", arch)
        with locked(target.with_suffix(".lock")):
            pack_programs(target, init, {JOB: program})
        return target

    def _environment(self, interpreter: Path) -> dict[str, str]:
        return {**os.environ, "PATH": f"{interpreter.parent}:{os.environ.get('PATH', '')}"}

    def _limited(
        self, words: list[str | Path], log: Path, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> Finished:
        return self.commands.logged(["timeout", TIME_LIMIT, *words], log, env=env, cwd=cwd)

    def _unpacked(self, package: str) -> Path:
        folder = self.luajit.folder / package
        with locked(folder.with_suffix(".lock")):
            if not folder.is_dir():
                debian = ARCHES[self.arch].debian
                fetch_unpacked(self.commands, package, debian, folder, self.luajit.folder / "fetch.log")
        return folder

    def _lua_source(self) -> Path:
        folder, log = self.luajit.folder.parent / LUA, self.luajit.folder / "fetch.log"
        with locked(folder.with_suffix(".lock")):
            if folder.is_dir():
                return folder
            with whole_folder(folder) as partial, whole_folder(folder.with_suffix(".package")) as files:
                apt = PrivateApt(self.commands, self.luajit.folder / "apt", log)
                apt.update(mirrors()[0], codename())
                apt.download_source(LUA, files, archive_only=True)
                archive = next(files.glob("*.orig.tar.*"), None)
                if archive is None:
                    raise ToolError(f"{LUA} brought no archive", f"log: {log}")
                command = ["tar", "--extract", "--strip-components=1", "-f", archive, "-C", partial]
                run_step(self.workspace, self.commands, command, log, f"unpacking {archive.name}")
        shutil.rmtree(folder.with_suffix(".package"))
        return folder
