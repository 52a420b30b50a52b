# SPDX-License-Identifier: GPL-2.0-only
"""Tests of portcullis.host.busybox with an apt that is played."""

import pytest

from portcullis.errors import ToolError
from portcullis.host import aptsource
from portcullis.host import busybox as module
from portcullis.host.process import Commands, Finished
from portcullis.host.workspace import Workspace


class PlayedApt:
    """Brings a package; counts how often it is asked."""

    asked = 0

    def __init__(self, commands, folder, log, arch):
        assert arch == "arm64"

    def update(self, address, suite):
        assert (address, suite) == ("http://one.example/", "trixie")

    def download_binary(self, package, target):
        assert package == "busybox-static:arm64"
        PlayedApt.asked += 1
        (target / "busybox-static.deb").write_text("x")


class PlayedCommands(Commands):
    """Unpacks the package, or not."""

    def __init__(self, place):
        super().__init__()
        self.place = place

    def capture(self, command, cwd=None, text_in=None):
        assert command[:2] == ["dpkg-deb", "-x"]
        target = command[3] / self.place
        target.parent.mkdir(parents=True)
        target.write_text("busybox")
        return Finished(0, "")


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setattr(aptsource, "PrivateApt", PlayedApt)
    monkeypatch.setattr(aptsource, "mirrors", lambda: ("http://one.example/",))
    monkeypatch.setattr(aptsource, "codename", lambda: "trixie")
    PlayedApt.asked = 0
    return Workspace(tmp_path, tmp_path / "cache")


@pytest.mark.parametrize("place", ["bin/busybox", "usr/bin/busybox"])
def test_another_architecture_fetches_it_once(workspace, place):
    for _ in range(2):
        found = module.busybox(workspace, PlayedCommands(place), "arm64", "x86_64")
        assert found == workspace.cache / "busybox-arm64" / place and found.is_file()
    assert PlayedApt.asked == 1


def test_a_package_without_busybox(workspace):
    with pytest.raises(ToolError, match="brought no busybox"):
        module.busybox(workspace, PlayedCommands("bin/other"), "arm64", "x86_64")


def test_this_machine_has_its_own_or_is_told_to_install_it(workspace, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "OWN", tmp_path / "busybox")
    with pytest.raises(ToolError, match="no busybox"):
        module.busybox(workspace, Commands(), "x86", "x86_64")
    (tmp_path / "busybox").touch()
    assert module.busybox(workspace, Commands(), "x86", "x86_64") == tmp_path / "busybox"
    assert PlayedApt.asked == 0
