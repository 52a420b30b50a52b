# SPDX-License-Identifier: GPL-2.0-only
"""The record that `apply` leaves in a user's tree, so that `apply --undo` can restore it exactly."""

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass

MANIFEST_NAME = ".portcullis-applied.json"
FORMAT = 1


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Change:
    """One file: `before` is its content before apply (None: it did not exist), `after` the digest since."""

    before: bytes | None
    after: str
    mode: int = 0o644


@dataclass(frozen=True)
class Manifest:
    """What was applied to which kernel: path -> change."""

    kernel: str
    arch: str
    topics: tuple[str, ...]
    hooks: tuple[str, ...]
    changes: dict[str, Change]


def dump_manifest(manifest: Manifest) -> str:
    """The manifest as JSON text."""
    return json.dumps(
        {
            "format": FORMAT,
            "kernel": manifest.kernel,
            "arch": manifest.arch,
            "topics": list(manifest.topics),
            "hooks": list(manifest.hooks),
            "files": {
                path: {"after": change.after, "mode": change.mode, "before": _pack(change.before)}
                for path, change in sorted(manifest.changes.items())
            },
        },
        indent=1,
    )


def load_manifest(text: str) -> Manifest:
    """Reads a manifest; raises ValueError when it is damaged or of a later format."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']} is not known to this version")
        changes = {
            path: Change(_unpack(entry["before"]), entry["after"], entry["mode"])
            for path, entry in data["files"].items()
        }
        topics = tuple(data.get("topics", ()))  # a tree from before there were topics has none
        return Manifest(data["kernel"], data["arch"], topics, tuple(data["hooks"]), changes)
    except (KeyError, TypeError, AttributeError, zlib.error, json.JSONDecodeError) as error:
        raise ValueError(f"damaged ({error})") from error


def _pack(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(zlib.compress(content, 9)).decode()


def _unpack(text: str | None) -> bytes | None:
    return None if text is None else zlib.decompress(base64.b64decode(text))
