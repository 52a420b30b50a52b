# SPDX-License-Identifier: GPL-2.0-only
"""The launcher: what it does on a machine that lacks packages. apt-get, sudo and id are fakes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import make_program

ROOT = Path(__file__).parents[2]
BASICS = [
    "sh",
    "dirname",
    "readlink",
    "cksum",
    "tr",
    "cat",
    "tail",
    "mkdir",
    "rm",
    "pwd",
    "env",
    "grep",
    "flock",
    "printf",
]


@pytest.fixture
def machine(tmp_path):
    """A PATH with only basic programs, python3 and fakes that note how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in BASICS:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    (folder / "python3").symlink_to(sys.executable)
    note = f'echo "$(basename "$0" 2>/dev/null || echo x) $*" >>{tmp_path}/calls\n'
    (folder / "basename").symlink_to(shutil.which("basename"))
    make_program(folder, "id", "#!/bin/sh\necho ${FAKE_ID:-0}\n")
    make_program(folder, "apt-cache", "#!/bin/sh\nexit ${FAKE_KNOWN:-0}\n")
    make_program(
        folder,
        "apt-get",
        f"#!/bin/sh\n{note}case $* in *update*) exit ${{FAKE_UPDATE:-0}};; esac\nexit ${{FAKE_INSTALL:-0}}\n",
    )

    def run(*words, **environment):
        finished = subprocess.run(
            ["sh", str(ROOT / "portcullis"), "--cache", str(tmp_path / "cache"), *words],
            env={"PATH": str(folder), "HOME": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        calls = tmp_path / "calls"
        finished.calls = calls.read_text() if calls.exists() else ""
        return finished

    return run


def test_without_root_and_sudo_it_says_what_to_type(machine):
    done = machine("build", FAKE_ID="1000")
    assert done.returncode == 2 and done.calls == ""
    assert "root or sudo is needed" in done.stderr
    assert "apt-get install --no-install-recommends" in done.stderr and " gcc" in done.stderr


@pytest.mark.parametrize("how", ["option", "variable"])
def test_installing_can_be_forbidden(machine, how):
    done = machine("build", "--no-install") if how == "option" else machine("build", PORTCULLIS_NO_INSTALL="1")
    assert done.returncode == 2 and done.calls == ""
    assert "installing is forbidden" in done.stderr


def test_no_network(machine):
    done = machine("build", FAKE_KNOWN="1", FAKE_UPDATE="100")
    assert done.returncode == 2
    assert "apt-get update failed: is there a network?" in done.stderr
    assert "get install" not in done.calls


def test_install_that_fails_is_tried_once_more_after_an_update(machine):
    done = machine("build", FAKE_INSTALL="100")
    assert done.returncode == 2 and "apt-get install failed" in done.stderr
    assert done.calls.count("update") == 1 and done.calls.count("get install") == 2


def test_a_command_asks_only_for_what_it_needs(machine):
    done = machine("apply", "x", FAKE_ID="1000")
    assert " patch" in done.stderr and "qemu" not in done.stderr and " gcc" not in done.stderr


def test_not_debian(machine, tmp_path):
    (tmp_path / "bin/apt-get").unlink()
    done = machine("build")
    assert done.returncode == 2 and "not a Debian system" in done.stderr


def test_it_installs_without_questions(machine):
    done = machine("build", FAKE_INSTALL="100")
    assert "--no-install-recommends" in done.calls and "-y" in done.calls
    assert "installing:" in done.stderr


@pytest.mark.skipif(not shutil.which("dash") and not shutil.which("bash"), reason="no shell to check with")
def test_the_scripts_parse(tmp_path):
    for script in (ROOT / "portcullis", ROOT / ".ci/run"):
        assert os.access(script, os.X_OK), script
        subprocess.run(["sh", "-n", script], check=True)


@pytest.mark.parametrize(("action", "cross"), [("build", False), ("test", True)])
def test_only_tests_of_the_emulator_need_a_cross_compiler(machine, action, cross):
    done = machine("emulator", action, "--no-install")
    assert done.returncode == 2 and "ninja-build" in done.stderr
    assert ("gcc-aarch64-linux-gnu" in done.stderr) == cross


def test_bench_has_the_emulator_whose_plugin_counts(machine):
    done = machine("bench", "--no-install")
    assert done.returncode == 2 and "ninja-build" in done.stderr


@pytest.mark.parametrize(("words", "wanted"), [(["-k", "unit"], False), (["-k", "unit or report-browser"], True)])
def test_a_browser_only_for_the_test_that_looks(machine, words, wanted):
    done = machine("test", "--no-install", *words)
    assert done.returncode == 2 and (" chromium-driver " in done.stderr) == wanted


@pytest.mark.parametrize(
    ("words", "wanted"), [(["-k", "jit-host"], False), (["-k", "jit-debian"], True), (["--full"], True)]
)
def test_lintian_only_for_the_test_of_packages(machine, words, wanted):
    done = machine("test", "--no-install", *words)
    assert done.returncode == 2 and (" lintian" in done.stderr) == wanted


@pytest.mark.parametrize("name", ["report", "docs"])
def test_pages_have_packages_of_their_own(name, machine):
    done = machine(name, "--no-install")
    assert done.returncode == 2 and re.search(rf"environment \S+-{name} is missing", done.stderr)


@pytest.mark.parametrize(("action", "wanted"), [("tree", True), ("sections", False)])
def test_only_the_audit_of_sources_needs_coccinelle(machine, action, wanted):
    done = machine("audit", action, "x", "--no-install")
    assert done.returncode == 2 and (" coccinelle" in done.stderr) == wanted
    assert wanted or re.search(r"environment \S+-audit is missing", done.stderr)


@pytest.mark.parametrize(("arch", "wanted"), [("x86", False), ("arm64", True)])
def test_only_a_root_of_another_architecture_needs_its_programs(machine, arch, wanted):
    assert ("missing: arch-test" in machine("vm", "--arch", arch).stderr) is wanted
