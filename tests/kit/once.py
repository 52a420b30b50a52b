# SPDX-License-Identifier: GPL-2.0-only
"""What several tests need is made once in a run, whichever process needs it first."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from portcullis.errors import ToolError
from portcullis.host.workspace import locked, write_whole


class BuildFailed(ToolError):
    """What a test runs on could not be made."""


class Once:
    """Notes in a folder of this run, which its processes share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, what: str, maker: Callable[[], str | Path]) -> Path:
        """What `maker` returns; a failure is not tried again. Raises BuildFailed."""
        note = self.folder / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"
        with locked(note.with_suffix(".lock"), quietly=True):
            if note.is_file():
                made = json.loads(note.read_text())
                if "error" in made:
                    raise BuildFailed(f"no {what}: its build failed")
                return Path(made["path"])
            try:
                path = Path(maker())
            except ToolError as error:
                write_whole(note, json.dumps({"error": error.message}).encode())
                raise BuildFailed(error.message, error.advice) from error
            write_whole(note, json.dumps({"path": str(path)}).encode())
            return path
