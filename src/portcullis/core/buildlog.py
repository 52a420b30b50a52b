# SPDX-License-Identifier: GPL-2.0-only
"""Reads the output of a kernel build."""

import re

_COMPILED = re.compile(r"^  (?:HOST)?(?:CC|AS|LD)\b", re.MULTILINE)
ENOUGH = 20  # files that tell how quick a build is
_ERROR = re.compile(r"(?:fatal )?error:|undefined reference|No rule to make target|multiple definition of")


def compiled_files(output: str) -> int:
    """Number of compiled, assembled and linked files in a piece of output."""
    return len(_COMPILED.findall(output))


def time_left(elapsed: float, done: int, total: int) -> float | None:
    """The most seconds that a build still takes, after `elapsed` ones; None while that cannot be told.

    `total` is the number of files that a whole build had: one that begins with some of them there is done earlier.
    """
    return elapsed / done * (total - done) if ENOUGH <= done <= total else None


def first_error(output: str) -> str:
    """The line that says what went wrong, the last line when none does."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if _ERROR.search(line):
            return line
    for line in lines:
        if " Error " in line or "***" in line:
            return line
    return lines[-1] if lines else "no output"


def disk_was_full(output: str) -> bool:
    """True when a tool ran out of disk space."""
    return "No space left on device" in output
