# SPDX-License-Identifier: GPL-2.0-only
"""Reads patches in the form that mails have."""


def strip_preamble(patch: str) -> tuple[str, str]:
    """Splits a hook into the text above the diff and the diff itself."""
    lines = patch.splitlines(keepends=True)
    for index, line in enumerate(lines):
        starts = line.startswith("diff --git ") or (
            line.startswith("--- ") and index + 1 < len(lines) and lines[index + 1].startswith("+++ ")
        )
        if starts:
            return "".join(lines[:index]).strip(), "".join(lines[index:])
    return patch.strip(), ""
