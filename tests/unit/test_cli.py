# SPDX-License-Identifier: GPL-2.0-only
"""Every command has help with an example; bad input ends with status 2 and a message."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fakes import make_program, make_workspace, write
from portcullis import __version__
from portcullis.cli import COMMANDS, main
from portcullis.host import workspace as workspaces

NAMES = [module.__name__.rsplit(".", 1)[1] for module in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_help_has_an_example(name, capsys):
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    assert f"./portcullis {name}" in capsys.readouterr().out


def test_an_unknown_command_is_status_2(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["frobnicate"])
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["apply", "/nonexistent"], "is not a folder"),
        (["apply", "--undo", "/nonexistent"], "is not a folder"),
        (["fetch", "--tree", "/nonexistent"], "is not a folder"),
        (["build", "what"], "not a make variable"),
        (["build", "ARCH=mips"], "mips is not supported"),
        (["attack", "nope"], "unknown attack 'nope'"),
        (["boot", "--arch", "arm64", "--backend", "wp"], "arm64 has no backend wp"),
        (["bench", "--arch", "arm64", "--backend", "pks"], "arm64 has no backend pks"),
        (["attack", "--list", "--arch", "arm64", "--backend", "wp"], "arm64 has no backend wp"),
        (["demo", "--arch", "x86_64", "--backend", "poe"], "x86 has no backend poe"),
    ],
)
def test_bad_input(words, message, tmp_path, monkeypatch, capsys):
    workspace = make_workspace(tmp_path)
    write(workspace.guest / "attacks.toml", "")
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    assert main([*words, "--cache", str(tmp_path / "cache")]) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error


def test_a_cache_folder_that_cannot_be_made(tmp_path, capsys):
    write(tmp_path / "file", "x")
    assert main(["build", "--cache", str(tmp_path / "file/cache")]) == 2
    assert "choose another with --cache" in capsys.readouterr().err


def test_ctrl_c_is_status_2_and_says_so(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("portcullis.commands.fetch.source_of", interrupted)
    assert main(["fetch"]) == 2
    assert "interrupted" in capsys.readouterr().err


def test_doctor_json(capsys, tmp_path):
    status = main(["doctor", "--json", "--cache", str(tmp_path)])
    data = json.loads(capsys.readouterr().out)
    assert status == (0 if data["good"] else 2)
    assert {check["state"] for check in data["checks"]} <= {"ok", "missing", "optional"}


def test_attack_list_json(tmp_path, monkeypatch, capsys):
    workspace = make_workspace(tmp_path)
    entry = '[[attack]]\nname="a"\nscope="in"\noff="LANDED"\naudit="REPORTED"\nenforce="BLOCKED"\nwhat="w"\n'
    write(workspace.guest / "attacks.toml", entry)
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    assert main(["attack", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attacks"][0]["expected"]["enforce"] == "BLOCKED"


def test_two_runs_do_not_share_a_log_folder(tmp_path):
    workspace = make_workspace(tmp_path)
    assert workspace.log_folder("a,b/c") != workspace.log_folder("a,b/c")


def test_a_lock_makes_the_second_wait(tmp_path):
    lock = tmp_path / "x.lock"
    code = (
        "import sys; from pathlib import Path; from portcullis.host.workspace import locked\n"
        "with locked(Path(sys.argv[1])): print('in')"
    )
    source = str(Path(workspaces.__file__).parents[2])
    with workspaces.locked(lock):
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(lock)],
            env={"PYTHONPATH": source, "PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1.0)
    other.communicate(timeout=10)


@pytest.mark.parametrize(
    ("version", "flags", "state", "detail"),
    [
        ("7.2.22", "pku pks", "ok", "QEMU 7.2"),
        ("7.1.0", "pku pks", "missing", "too old"),
        ("10.0.3", "pku", "missing", "does not know the CPU flag pks"),
        ("10.0.3", "pks", "ok", "QEMU 10.0"),
    ],
)
def test_doctor_looks_at_qemu(version, flags, state, detail, tmp_path, monkeypatch, capsys):
    answer = f'case $1 in --version) echo "QEMU emulator version {version} (Debian)";; *) echo "{flags}";; esac\n'
    make_program(tmp_path / "bin", "qemu-system-x86_64", "#!/bin/sh\n" + answer)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    main(["doctor", "--json", "--cache", str(tmp_path)])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["QEMU with PKS"]["state"] == state
    assert detail in checks["QEMU with PKS"]["detail"]


def test_doctor_without_qemu_prints_the_apt_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["doctor", "--cache", str(tmp_path)]) == 2
    out = capsys.readouterr().out
    assert "apt-get install --no-install-recommends" in out and "qemu-system-x86" in out and "not ready" in out


@pytest.fixture
def version(tmp_path, monkeypatch, capsys):
    """Returns a function that asks the tool in a folder for its version."""

    def ask(folder: Path) -> str:
        monkeypatch.setenv("PORTCULLIS_ROOT", str(folder))
        with pytest.raises(SystemExit) as caught:
            main(["--version"])
        assert caught.value.code == 0
        return capsys.readouterr().out.strip()

    return ask


@pytest.fixture
def checkout(tmp_path):
    """A git checkout with one file and a tag."""
    folder = tmp_path / "checkout"
    write(folder / "file", "x")
    who = ["-c", "user.name=n", "-c", "user.email=n@localhost"]
    for words in (["init", "-q"], ["add", "file"], [*who, "commit", "-q", "-m", "x"], ["tag", "v1"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    return folder


def test_the_version_knows_its_commit(version, checkout):
    commit = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    found = re.fullmatch(rf"portcullis {re.escape(__version__)} \(([0-9a-f]{{7,}})\)", version(checkout))
    assert found and commit.stdout.startswith(found[1])


def test_the_version_says_that_files_differ_from_the_commit(version, checkout):
    write(checkout / "file", "y")
    assert re.fullmatch(r"portcullis \S+ \([0-9a-f]{7,}-dirty\)", version(checkout))


def test_the_version_outside_of_a_checkout_is_a_number_alone(version, checkout, tmp_path):
    assert version(tmp_path) == f"portcullis {__version__}"
    write(checkout / "unpacked/README.md", "x")
    assert version(checkout / "unpacked") == f"portcullis {__version__}"


def test_the_version_without_git_is_a_number_alone(version, checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version(checkout) == f"portcullis {__version__}"


def test_there_is_one_version_and_the_changelog_begins_with_it():
    root = Path(__file__).parents[2]
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"] == __version__
    first = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first and __version__ == f"{first[1]}.0"
