# SPDX-License-Identifier: GPL-2.0-only
"""Runs what tests PCRE2 on this machine: our program, PCRE2's own tests, and Debian's programs with our library."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from portcullis.core.arches import arch_name
from portcullis.core.luajit import this_machine
from portcullis.core.pcre2 import (
    BROKEN_BY_SHARED_MEMORY,
    GUEST_INPUTS,
    loaded_library,
    writable_and_executable,
)
from portcullis.core.splats import last_lines
from portcullis.host.guest import pack_programs
from portcullis.host.jitgate import Outcome, has_keys, judged
from portcullis.host.pcre2 import Pcre2
from portcullis.host.process import Finished
from portcullis.host.workspace import locked

JOB = "pcre2-tests"
TIME_LIMIT = "600"  # seconds
LIBRARY = "libpcre2-8.so"
PROGRAMS = (["grep", "-rhaP"], ["git", "grep", "--no-index", "-haP"])
# What machine code does: classes, back references, lookaround, recursion, UTF-8.
PATTERNS = (
    r"^\s*/\(\?[a-z]+\).*/[a-z]*$",
    r"(\w)\1(\w)\2",
    r"(?<=ab)c+(?!d)",
    r"<([a-z]|(?R))>",
    r"\p{Lu}\p{Ll}+\b.*\d$",
    r"(?i)^(?:error|failed)\b",
)


class Pcre2Tests:
    """Tests of one Pcre2."""

    def __init__(self, pcre2: Pcre2) -> None:
        self.pcre2 = pcre2
        self.commands = pcre2.commands
        self.workspace = pcre2.workspace
        self.arch = arch_name(this_machine())

    def checks(self) -> dict[str, Callable[[], Outcome]]:
        """All there is for this machine, by name."""
        return {
            **{name: lambda name=name: self.program(name) for name in ("jitgate", "views", "stock", "wx")},
            "sealloc": self.sealloc,
            "jit_test": self.jit_test,
            "jit_test-views": lambda: self.jit_test("views"),
            "RunTest": lambda: self._script("RunTest"),
            "RunGrepTest": lambda: self._script("RunGrepTest"),
            "programs": self.programs,
        }

    def program(self, variant: str) -> Outcome:
        """Our own tests; of sljit's allocators as far as they do not ask for jitgate."""
        log = self._log(variant)
        finished = self._limited([self.pcre2.tests(variant, self.arch)], log)
        return judged(finished, log, has_keys() if variant == "jitgate" else None)

    def sealloc(self) -> Outcome:
        """Shared memory fails the tests of fork() that are about it: they would notice."""
        log = self._log("sealloc")
        program = self.pcre2.tests("sealloc", self.arch)
        problems = [
            f"{name} passed: it tests nothing"
            for name in BROKEN_BY_SHARED_MEMORY
            # It may go round in circles.
            if self.commands.logged(["timeout", "20", program, "sealloc", name], log).status == 0
        ]
        return Outcome(problems, f"{len(BROKEN_BY_SHARED_MEMORY)} tests fail as they should", log)

    def jit_test(self, variant: str = "jitgate") -> Outcome:
        """PCRE2's tests of its JIT, with 8 bits, and with 16 and 32 where these are built."""
        log = self._log(f"jit_test-{variant}")
        finished = self._limited([self.pcre2.build(variant, self.arch).folder / "pcre2_jit_test"], log)
        said = finished.output.count("successfully passed")
        problems = [] if finished.status == 0 and said else [last_lines(finished.output, 5).strip()]
        return Outcome(problems, f"{said} groups", log)

    def _script(self, name: str) -> Outcome:
        """A script of the package that runs its programs and compares what they print."""
        built = self.pcre2.build("jitgate", self.arch)
        log = self._log(name)
        env = {**os.environ, "srcdir": str(built.tree)}
        finished = self._limited(["sh", built.tree / name], log, env, built.folder)
        passed = finished.output.count("OK")
        problems = [] if finished.status == 0 else [last_lines(finished.output, 8).strip()]
        return Outcome(problems, f"{passed} parts" if passed else "all of it", log)

    def programs(self) -> Outcome:
        """Debian's grep and git find the same with its library and with ours."""
        ours = self.pcre2.build("jitgate", self.arch, shared=True)
        log = self._log("programs")
        env = {**os.environ, "LD_LIBRARY_PATH": str(ours.folder), "LC_ALL": "C.UTF-8"}
        data = self.pcre2.source().tree / "testdata"
        problems = []
        for program in PROGRAMS:
            name = " ".join(word for word in program if not word.startswith("--"))
            problems += [f"{name}: {problem}" for problem in self._same(program, data, env, log)]
            loader = self._limited([*program, "x", "."], log, {**env, "LD_DEBUG": "libs"}, data)
            used = loaded_library(loader.output, LIBRARY)
            if not used.startswith(str(ours.folder)):
                problems.append(f"{name}: uses {used or 'no library'}")
        problems += [f"grep -P: {problem}" for problem in _memory_of_grep(env)]
        return Outcome(problems, f"{len(PROGRAMS)} programs, {len(PATTERNS)} patterns", log)

    def _same(self, program: list[str], data: Path, env: dict[str, str], log: Path) -> list[str]:
        found = []
        debian = {key: value for key, value in env.items() if key != "LD_LIBRARY_PATH"}
        for pattern in PATTERNS:
            one, other = (self._limited([*program, pattern, "."], log, each, data) for each in (debian, env))
            if (one.status, other.status) != (0, 0):
                found.append(f"{pattern}: status {one.status} and {other.status}")
            elif one.output != other.output:
                found.append(f"{pattern}: other lines")
        return found

    def initramfs(self, arch: str, init: Path) -> Path:
        """Our tests of the variant on jitgate, and PCRE2's own that need no shell, for a guest."""
        target = self.pcre2.folder / f"guest-{arch}.cpio.gz"
        program = self.pcre2.tests("jitgate", arch)
        built = self.pcre2.build("jitgate", arch)
        files = {JOB: program, **{name: built.folder / name for name in ("pcre2_jit_test", "pcre2test")}}
        data = [f"test{kind}{number}" for number in GUEST_INPUTS for kind in ("input", "output")]
        files |= {name: built.tree / "testdata" / name for name in data}
        with locked(target.with_suffix(".lock")):
            pack_programs(target, init, files)
        return target

    def _log(self, name: str) -> Path:
        return self.workspace.log_folder(f"pcre2-{name}") / "tests.log"

    def _limited(
        self, words: list[str | Path], log: Path, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> Finished:
        return self.commands.logged(["timeout", TIME_LIMIT, *words], log, env=env, cwd=cwd)


def _memory_of_grep(env: dict[str, str]) -> list[str]:
    """What is wrong with its memory while it waits for more input."""
    with_debian = _maps_of_grep({key: value for key, value in env.items() if key != "LD_LIBRARY_PATH"})
    found = [] if writable_and_executable(with_debian) else ["Debian's has no memory that is writable and executable"]
    if writable_and_executable(_maps_of_grep({**env, "JITGATE": "never"})):
        found.append("has memory that is writable and executable")
    return found


def _maps_of_grep(env: dict[str, str]) -> str:
    words = ["grep", "--line-buffered", "-P", r"(a|b)+\d"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as grep:
        assert grep.stdin and grep.stdout
        grep.stdin.write(b"xab1\n")
        grep.stdin.flush()
        grep.stdout.readline()
        maps = Path(f"/proc/{grep.pid}/maps").read_text()
        grep.stdin.close()
    return maps
