# SPDX-License-Identifier: GPL-2.0-only
"""Writes cpio archives in the newc form that the kernel unpacks as its first file system.

To feed the kernel's gen_init_cpio takes 27 lines more, and a Linux source wherever an archive is made.
"""

import stat
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One member: `mode` holds type and permission bits, `rdev` major and minor of a device node."""

    name: str
    mode: int
    data: bytes = b""
    rdev: tuple[int, int] = (0, 0)


def directory(name: str, permissions: int = 0o755) -> Entry:
    """A folder."""
    return Entry(name, stat.S_IFDIR | permissions)


def regular(name: str, data: bytes, permissions: int = 0o644) -> Entry:
    """A file."""
    return Entry(name, stat.S_IFREG | permissions, data)


def symlink(name: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def character_device(name: str, major: int, minor: int, permissions: int = 0o600) -> Entry:
    """A character device node; no privilege is needed to put it into an archive."""
    return Entry(name, stat.S_IFCHR | permissions, rdev=(major, minor))


def newc(entries: Iterable[Entry]) -> bytes:
    """The archive; time stamps are 0, so that equal content gives equal bytes."""
    parts = [_member(number, entry) for number, entry in enumerate(entries, 1)]
    parts.append(_member(0, Entry("TRAILER!!!", 0)))
    return b"".join(parts)


def _member(inode: int, entry: Entry) -> bytes:
    name = entry.name.encode() + b"\0"
    fields = (inode, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, *entry.rdev, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + name) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
