# SPDX-License-Identifier: GPL-2.0-only
"""kernel/series.toml: which hook patches belong to which kernel.

The file holds one table per hook, in the order in which the hooks are applied:

    [[hook]]
    file = "x86/0100-pks-cpu.patch"  # below kernel/hooks/
    arch = "x86"                     # or "any"
    from = "6.12"                    # first version that needs it
    to = "6.13"                      # first version that does not
    why = "..."                      # becomes the commit message
    test = "boot-enforce"            # test cases that go red without it, separated by commas
    untested = "..."                 # instead of test: why nothing can show it
    subject = "x86/cpu: ..."         # optional first line of the commit message
"""

import tomllib
from dataclasses import dataclass
from pathlib import PurePosixPath

from portcullis.core.versions import KernelVersion, VersionRange, parse_version

REQUIRED_KEYS = {"file", "arch", "from", "to", "why"}
OPTIONAL_KEYS = {"subject"}
PROOF_KEYS = {"test", "untested"}  # one of them


@dataclass(frozen=True)
class Hook:
    """One patch to existing kernel files."""

    file: str
    arch: str
    versions: VersionRange
    why: str
    tests: tuple[str, ...]
    subject: str
    untested: str = ""

    @property
    def name(self) -> str:
        """Short name without folder and suffix, as used in tables."""
        return PurePosixPath(self.file).stem


def parse_series(text: str) -> tuple[Hook, ...]:
    """All hooks of a series.toml, in order; raises ValueError that names the entry at fault."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"series.toml: {error}") from error
    unknown = set(data) - {"hook"}
    if unknown:
        raise ValueError(f"series.toml: unknown key {sorted(unknown)[0]!r}")
    hooks = tuple(_hook(number, entry) for number, entry in enumerate(data.get("hook", []), 1))
    files = [hook.file for hook in hooks]
    twice = sorted({file for file in files if files.count(file) > 1})
    if twice:
        raise ValueError(f"series.toml: {twice[0]} is listed twice")
    return hooks


def _hook(number: int, entry: dict[str, object]) -> Hook:
    where = f"series.toml: hook {number} ({entry.get('file', 'no file')})"
    missing = REQUIRED_KEYS - set(entry)
    unknown = set(entry) - REQUIRED_KEYS - OPTIONAL_KEYS - PROOF_KEYS
    if missing:
        raise ValueError(f"{where}: {sorted(missing)[0]!r} is missing")
    if unknown:
        raise ValueError(f"{where}: unknown key {sorted(unknown)[0]!r}")
    if len(PROOF_KEYS & set(entry)) != 1:
        raise ValueError(f"{where}: either 'test' or 'untested' is needed")
    text = {key: str(value).strip() for key, value in entry.items()}
    try:
        versions = VersionRange(parse_version(text["from"]), parse_version(text["to"]))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if versions.first >= versions.end:
        raise ValueError(f"{where}: empty version range")
    path = PurePosixPath(text["file"])
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{where}: file must be below kernel/hooks")
    tests = tuple(name.strip() for name in text.get("test", "").split(",") if name.strip())
    subject = text.get("subject", _subject(path))
    return Hook(text["file"], text["arch"], versions, text["why"], tests, subject, text.get("untested", ""))


def _subject(path: PurePosixPath) -> str:
    words = path.stem.lstrip("0123456789-_").replace("-", " ").replace("_", " ")
    prefix = path.parts[0] + "/kpkeys" if len(path.parts) > 1 and path.parts[0] != "any" else "kpkeys"
    return f"{prefix}: {words}"


def supported_ranges(hooks: tuple[Hook, ...]) -> tuple[VersionRange, ...]:
    """Version ranges that at least one hook knows, sorted."""
    return tuple(sorted({hook.versions for hook in hooks}))


def select_hooks(hooks: tuple[Hook, ...], version: KernelVersion, arch: str) -> tuple[Hook, ...]:
    """Hooks for one kernel, in order."""
    return tuple(hook for hook in hooks if version in hook.versions and hook.arch in ("any", arch))
