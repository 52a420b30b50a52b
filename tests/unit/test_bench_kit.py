# SPDX-License-Identifier: GPL-2.0-only
"""dash in the guest of the benchmark: where it comes from, and what comes with it."""

import gzip

import pytest

from portcullis.errors import ToolError
from portcullis.host import bench_kit as module
from portcullis.host.process import Commands, Finished
from portcullis.host.workspace import Workspace

LOADER = "lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"
LIBRARY = "lib/aarch64-linux-gnu/libc.so.6"


class PlayedCommands(Commands):
    """dash needs the C library, and that the loader."""

    def capture(self, command, cwd=None, text_in=None):
        assert command[:2] == ["readelf", "-d"]
        needs = {"dash": "libc.so.6", "libc.so.6": "ld-linux-aarch64.so.1"}.get(command[2].name)
        return Finished(0, f" 0x1 (NEEDED)  Shared library: [{needs}]\n" if needs else "")


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    base = tmp_path / "cache/initramfs-arm64.cpio.gz"
    base.parent.mkdir()
    base.write_bytes(gzip.compress(b"base"))
    monkeypatch.setattr(module, "build_initramfs", lambda *_: base)
    monkeypatch.setattr(module, "OWN", tmp_path / "own")
    monkeypatch.setattr(module.os, "uname", lambda: type("Name", (), {"machine": "x86_64"}))
    return Workspace(tmp_path, tmp_path / "cache")


def play_apt(monkeypatch, place):
    """Packages that are unpacked, with dash in a place; returns who asked."""
    asked = []

    def unpacked(_commands, packages, arch, folder, _log):
        asked.append((packages, arch))
        for name in (place, LOADER, LIBRARY):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"content of {name}")

    monkeypatch.setattr(module, "fetch_unpacked_whole", unpacked)
    return asked


@pytest.mark.parametrize("place", ["bin/dash", "usr/bin/dash"])
def test_another_architecture_fetches_it_once_with_what_it_needs(workspace, monkeypatch, place):
    asked = play_apt(monkeypatch, place)
    for _ in range(2):
        target = module.bench_initramfs(workspace, PlayedCommands(), "arm64")
    assert asked == [(("dash",), "arm64")]
    assert target == workspace.cache / "initramfs-bench-arm64.cpio.gz"
    content = gzip.decompress(target.read_bytes())
    assert content.startswith(b"base")
    for name in ("bin/dash", "lib/ld-linux-aarch64.so.1", LIBRARY):
        assert name.encode() + b"\0" in content
    assert f"content of {place}".encode() in content


def test_a_package_without_dash(workspace, monkeypatch):
    play_apt(monkeypatch, "bin/other")
    with pytest.raises(ToolError, match="no dash"):
        module.bench_initramfs(workspace, PlayedCommands(), "arm64")


def test_this_machine_has_its_own_or_is_told_to_install_it(workspace, tmp_path):
    with pytest.raises(ToolError, match="no dash"):
        module.dash(workspace, Commands(), "x86", "x86_64")
    (tmp_path / "own/bin").mkdir(parents=True)
    (tmp_path / "own/bin/dash").touch()
    assert module.dash(workspace, Commands(), "x86", "x86_64") == (tmp_path / "own/bin/dash", tmp_path / "own")
