# SPDX-License-Identifier: GPL-2.0-only
"""Kernel sources from the backports of a later release."""

import subprocess

import pytest

from fakes import make_tree, make_workspace
from portcullis.errors import ToolError
from portcullis.host import newer
from portcullis.host.newer import fetch_kernel
from portcullis.host.process import Commands


class PlayedApt:
    """Has a package that holds a small tree; `missing` are mirrors that do not."""

    missing = ()
    asked = []

    def __init__(self, commands, folder, log, arch=""):
        self.address = ""

    def update(self, address, suite):
        self.address = address
        PlayedApt.asked.append((address, suite))
        if address in PlayedApt.missing:
            raise ToolError("no such suite")

    def download_binary(self, package, target):
        tree = make_tree(target / "linux")
        (target / "usr/src").mkdir(parents=True)
        tarball = target / f"usr/src/{package}.tar.xz"
        subprocess.run(["tar", "-cJf", tarball, "-C", target, tree.name], check=True)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setattr(newer, "PrivateApt", PlayedApt)
    monkeypatch.setattr(newer, "mirrors", lambda: ("near", "far"))
    monkeypatch.setattr(PlayedApt, "asked", [])
    monkeypatch.setattr(PlayedApt, "missing", ())
    return make_workspace(tmp_path)


def test_a_newer_kernel_is_fetched_once(workspace):
    first = fetch_kernel(workspace, Commands(), "7.3")
    assert first.fetched and (first.path / "Makefile").is_file() and first.path.name == "linux-source-7.3"
    assert fetch_kernel(workspace, Commands(), "7.3") == first
    assert PlayedApt.asked == [("near", "trixie-backports")]
    assert not list(first.path.parent.glob("*package*"))


def test_the_next_mirror_is_asked(workspace, monkeypatch):
    monkeypatch.setattr(PlayedApt, "missing", ("near",))
    assert fetch_kernel(workspace, Commands(), "7.3").path.is_dir()


def test_what_no_mirror_has(workspace, monkeypatch):
    monkeypatch.setattr(PlayedApt, "missing", ("near", "far"))
    with pytest.raises(ToolError, match="linux-source-7.3 cannot be had") as caught:
        fetch_kernel(workspace, Commands(), "7.3")
    assert "no such suite" in caught.value.message and "network" in caught.value.advice
    assert not [path for path in (workspace.cache / "sources").iterdir() if path.is_dir()]
