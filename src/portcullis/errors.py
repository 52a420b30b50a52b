# SPDX-License-Identifier: GPL-2.0-only
"""Errors that end a command with a message for the user instead of a traceback."""


class ToolError(Exception):
    """The command could not run (exit status 2).

    `message` says what is wrong, `advice` what to do about it.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message}\n  {self.advice}" if self.advice else self.message
