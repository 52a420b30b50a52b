# SPDX-License-Identifier: GPL-2.0-only
"""Runs programs: their own process group, output to a log, killed when this program is interrupted."""

import os
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from portcullis.errors import ToolError
from portcullis.host.screen import print_line

POLL = 0.2  # seconds
_started: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()
_starting = threading.Lock()
_ending = threading.Event()


def shown(command: Sequence[str | Path]) -> str:
    """A command as a user would type it."""
    return shlex.join(str(word) for word in command)


@dataclass(frozen=True)
class Finished:
    """A program's exit status (negative: signal) and its output (stdout and stderr together)."""

    status: int
    output: str


class Commands:
    """Runs programs, or only prints them (`dry_run`)."""

    def __init__(self, dry_run: bool = False) -> None:
        self.dry_run = dry_run

    def capture(self, command: Sequence[str | Path], cwd: Path | None = None, text_in: str | None = None) -> Finished:
        """Runs a short program and returns its output; raises ToolError when it does not exist."""
        if self.dry_run:
            print_line(shown(command))
            return Finished(0, "")
        process = start(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate((text_in or "").encode())
        except BaseException:
            stop(process)
            raise
        return Finished(process.returncode, output.decode(errors="replace"))

    def logged(
        self,
        command: Sequence[str | Path],
        log: Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        watch: Callable[[str], None] | None = None,
    ) -> Finished:
        """Runs a long program with its output appended to `log`; `watch` gets each new piece of output."""
        if self.dry_run:
            print_line(shown(command))
            return Finished(0, "")
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as sink, log.open("rb") as source:
            sink.write(f"$ {shown(command)}\n".encode())
            sink.flush()
            source.seek(0, os.SEEK_END)
            begin = source.tell()
            process = start(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
            try:
                while process.poll() is None:
                    time.sleep(POLL)
                    if watch:
                        watch(source.read().decode(errors="replace"))
            except BaseException:
                stop(process)
                raise
            source.seek(begin)
            return Finished(process.returncode, source.read().decode(errors="replace"))


def start(command: Sequence[str | Path], **options: object) -> subprocess.Popen[bytes]:
    """Starts a program in a group of its own; raises ToolError when it does not exist, or after stop_all()."""
    words = [str(word) for word in command]
    with _starting:
        if _ending.is_set():
            raise ToolError("interrupted")
        try:
            process = subprocess.Popen(words, start_new_session=True, **options)  # type: ignore[call-overload]
        except FileNotFoundError as error:
            raise ToolError(f"{words[0]} is not installed", "run: portcullis doctor") from error
        _started.add(process)
    return process


def stop(process: subprocess.Popen[bytes], grace: float = 3.0) -> None:
    """Ends a program and its children: SIGTERM, then SIGKILL after `grace` seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)


def stop_all() -> None:
    """Ends every program that any thread started, and lets none start: the tool is about to end."""
    with _starting:
        _ending.set()
        running = list(_started)
    for process in running:
        stop(process)
