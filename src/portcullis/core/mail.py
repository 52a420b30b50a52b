# SPDX-License-Identifier: GPL-2.0-only
"""Writes patches in the mail form that `git am` reads."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Commit:
    """One commit of an exported series; `diff` is in unified form with a/ and b/ prefixes."""

    subject: str
    body: str
    diff: str


def mail(commit: Commit, number: int, total: int, author: str, date: str) -> str:
    """The commit as a mail; `author` is `Name <address>`, `date` in RFC 2822 form."""
    seed = hashlib.sha1((commit.subject + commit.diff).encode()).hexdigest()
    return (
        f"From {seed} Mon Sep 17 00:00:00 2001\n"
        f"From: {author}\n"
        f"Date: {date}\n"
        f"Subject: [PATCH {number}/{total}] {commit.subject}\n"
        "MIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=UTF-8\n"
        "Content-Transfer-Encoding: 8bit\n"
        "\n"
        f"{_safe_body(commit.body)}\n"
        "---\n"
        "\n"
        f"{commit.diff.rstrip(chr(10))}\n"
        "-- \n"
        "Portcullis\n"
        "\n"
    )


def file_name(commit: Commit, number: int) -> str:
    """File name in the manner of `git format-patch`."""
    words = "".join(letter if letter.isalnum() else "-" for letter in commit.subject)
    short = "-".join(part for part in words.split("-") if part)[:52].rstrip("-")
    return f"{number:04d}-{short}.patch"


def new_files_diff(files: Mapping[str, tuple[bytes, bool]]) -> str:
    """A diff that adds text files: path -> (content, executable)."""
    return "".join(_new_file(path, *files[path]) for path in sorted(files))


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


def _new_file(path: str, content: bytes, executable: bool) -> str:
    text = content.decode()
    # str.splitlines would also cut at form feeds
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    lines = lines if lines[-1] else lines[:-1]
    mode = "100755" if executable else "100644"
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\n"
    if not lines:
        return head + "index 000000000000..e69de29bb2d1\n"
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()[:12]
    body = "".join("+" + line for line in lines)
    if not body.endswith("\n"):
        body += "\n\\ No newline at end of file\n"
    count = f"1,{len(lines)}" if len(lines) > 1 else "1"
    return f"{head}index 000000000000..{blob}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +{count} @@\n{body}"


def _safe_body(body: str) -> str:
    """Indents lines that `git am` would take for the end of the message or the start of a diff."""
    hazards = ("---", "diff ", "Index: ", "From ", "+++ ", "-- ")
    lines = [" " + line if line.startswith(hazards) else line.rstrip() for line in body.strip().splitlines()]
    return "\n".join(lines)
