# SPDX-License-Identifier: GPL-2.0-only
"""What a test says of itself beside whether it passed: what it saw, and where the log is."""

from collections.abc import Sequence
from typing import NoReturn

import pytest

from kit.checks import shorten


class Row:
    """The fixture `row`: notes for the line that `portcullis test` prints."""

    def __init__(self, properties: list[tuple[str, object]]) -> None:
        self._properties = properties

    def note(self, detail: str = "", log: object = "") -> None:
        """What was seen, and where its log is."""
        self._properties += [(name, str(value)) for name, value in (("detail", detail), ("log", log)) if value]

    def assert_none(self, problems: Sequence[str], detail: str = "", log: object = "") -> None:
        """Fails with the first of the problems, if there are any."""
        if problems:
            self.fail(shorten(list(problems)), log)
        self.note(detail, log)

    def fail(self, why: str, log: object = "") -> NoReturn:
        """Fails without a traceback."""
        self.note(log=log)
        pytest.fail(why, pytrace=False)
