# SPDX-License-Identifier: GPL-2.0-only
"""`portcullis test` on a checkout with a few tests of its own: rows, selection, and what two processes share."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.once import BuildFailed, Once
from portcullis.errors import ToolError
from portcullis.host.testing import Printer, Row, workers

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0  # seconds: machines are not always idle
TESTS = """
import pytest
from kit.case import Case, cases

from portcullis.errors import ToolError

def test_good(row):
    row.note("seen it", "/log")

@cases(Case("first", "one"), Case("first-of-all", "two"), Case("far", "three", long=True))
def test_boot(case):
    assert case.name != "far"

def test_not_here():
    pytest.skip("no such CPU")

def test_judged(row):
    row.assert_none([f"problem {number}" for number in range(9)], "9 checks", "/its-log")

def test_wrong():
    raise ToolError("no kernel", "build one")
"""


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "tests/boot").mkdir(parents=True)
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "tests")
    (tmp_path / "tests/boot/test_some.py").write_text(TESTS)
    paths = [str(ROOT / "src"), str(ROOT / "tests")]
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\npythonpath = {json.dumps(paths)}\n")
    return tmp_path


def command(checkout, *words):
    own = {"PORTCULLIS_ROOT": checkout, "PORTCULLIS_CACHE": checkout / "cache", "PYTHONPATH": ROOT / "src"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {name: str(value) for name, value in own.items()}
    return {"args": [sys.executable, "-m", "portcullis", "test", *words], "env": environment, "cwd": checkout}


def run(checkout, *words):
    return subprocess.run(**command(checkout, *words), capture_output=True, text=True, timeout=PATIENCE, check=False)


def states(done):
    return {row["name"]: row["state"] for row in json.loads(done.stdout)["tests"]}


def test_rows_say_what_tests_say(checkout):
    done = run(checkout, "-j", "2", "--json")
    assert done.returncode == 1
    rows = {row["name"]: row for row in json.loads(done.stdout)["tests"]}
    assert (rows["good"]["state"], rows["good"]["detail"], rows["good"]["log"]) == ("passed", "seen it", "/log")
    assert (rows["not-here"]["state"], rows["not-here"]["detail"]) == ("skipped", "no such CPU")
    assert (rows["wrong"]["state"], rows["wrong"]["detail"]) == ("failed", "no kernel\n  build one")
    judged = rows["judged"]
    assert (judged["state"], judged["log"]) == ("failed", "/its-log")
    assert judged["detail"].splitlines()[0] == "problem 0" and judged["detail"].endswith("and 1 more")
    assert json.loads(done.stdout)["summary"] == "3 passed, 2 failed, 1 skipped"


def test_failures_are_printed_again_ahead_of_the_summary(checkout):
    lines = run(checkout, "--junit", "results.xml").stdout.splitlines()
    assert lines[-1] == "3 passed, 2 failed, 1 skipped"
    assert [line.split()[:2] for line in lines[-4:-1]] == [["failed", "wrong"], ["no", "kernel"], ["build", "one"]]
    assert 'tests="6"' in (checkout / "results.xml").read_text()


def test_what_is_named_runs_and_nothing_else(checkout):
    assert states(run(checkout, "--json", "first")) == {"first": "passed"}
    assert states(run(checkout, "--json", "far")) == {"far": "failed"}
    assert set(states(run(checkout, "--json", "-k", "first and not all"))) == {"first"}
    assert set(states(run(checkout, "--json", "some", "--full"))) > {"far", "good"}
    shutil.move(checkout / "tests/boot/test_some.py", checkout / "tests/boot/test_first.py")
    assert set(states(run(checkout, "--json", "first"))) == {"first"}  # not what else is in the file


def test_long_ones_are_listed_and_do_not_run(checkout):
    listed = json.loads(run(checkout, "--list", "--json").stdout)["tests"]
    assert {"name": "far", "what": "three", "full": True} in listed
    assert "far" not in states(run(checkout, "--json"))
    assert states(run(checkout, "--json", "--last-failed")) == {"judged": "failed", "wrong": "failed"}


@pytest.mark.parametrize(
    ("words", "said"),
    [(["nothing"], "is named nothing"), (["-k", "nothing"], "no test matches"), (["-k", "(a"], "does not understand")],
)
def test_what_no_test_matches_is_said(checkout, words, said):
    done = run(checkout, *words)
    assert done.returncode == 2 and said in done.stderr


def test_what_did_not_run_has_failed(checkout):
    (checkout / "tests/boot/test_some.py").write_text(
        "import os\nimport pytest\n"
        "@pytest.mark.parametrize('number', [os.getpid(), 1, 2])\n"
        "def test_other_in_each_process(number):\n    pass\n"
    )
    done = run(checkout, "-j", "2")
    assert done.returncode != 0
    assert "3 failed" in done.stdout or "pytest failed" in done.stderr


def test_a_name_that_two_tests_have_is_refused(checkout):
    shutil.copy(checkout / "tests/boot/test_some.py", checkout / "tests/boot/test_more.py")
    done = run(checkout)
    assert done.returncode == 2 and "two tests are named" in done.stderr


@pytest.mark.parametrize(
    "interrupt",
    [
        pytest.param(lambda tool: os.killpg(tool.pid, signal.SIGINT), id="by the terminal"),
        pytest.param(lambda tool: tool.terminate(), id="of the tool alone"),
    ],
)
def test_an_interrupt_stops_what_tests_started(checkout, interrupt):
    (checkout / "tests/boot/test_some.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('number', range(2))\n"
        "def test_long(commands, number):\n"
        f"    commands.capture(['sh', '-c', 'echo $$ >{checkout}/pid-$0; exec sleep 300', str(number)])\n"
    )
    chosen = command(checkout, "-j", "2")
    # A shell's jobs in the background are born deaf to it, and so is what they start.
    chosen["args"] = ["env", "--default-signal=INT", *chosen["args"]]
    tool = subprocess.Popen(**chosen, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    end = time.monotonic() + PATIENCE
    while len(started := [path.read_text().strip() for path in checkout.glob("pid-*")]) < 2 or "" in started:
        assert time.monotonic() < end
        time.sleep(0.1)
    interrupt(tool)
    output, _ = tool.communicate(timeout=PATIENCE)
    assert tool.returncode == 2 and b"interrupted" in output
    assert not any(Path("/proc", pid).exists() for pid in started)


def test_what_two_tests_need_is_made_once(tmp_path):
    made = []

    def make():
        made.append(1)
        return tmp_path

    assert [Once(tmp_path).make("a kernel", make) for _ in range(2)] == [tmp_path] * 2
    assert made == [1]


def test_what_could_not_be_made_is_not_tried_again(tmp_path):
    made = []

    def make():
        made.append(1)
        raise ToolError("no compiler")

    for said in ("no compiler", "its build failed"):
        with pytest.raises(BuildFailed, match=said):
            Once(tmp_path).make("a kernel", make)
    assert made == [1]


def test_as_many_run_at_once_as_there_are_jobs_and_tests():
    assert [workers(9, 2), workers(1, 2), workers(9, 16), workers(0, 2)] == [2, 1, 4, 1]


def test_unit_tests_share_a_row(capsys):
    printer = Printer(units=2)
    for number in range(2):
        printer.show(Row(f"unit/test_x.py::test_{number}", "passed", 0.1, ""))
    printer.show(Row("kunit", "passed", 0.1, "9 checks"))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["passed", "unit"], ["passed", "kunit"]]
    assert "2 tests" in lines[0]
