# SPDX-License-Identifier: GPL-2.0-only
"""The VM runner and the attack runner, with a fake QEMU on PATH."""

import itertools
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import FAKE_QEMU, make_program, make_workspace
from portcullis.core.machine import COMMAND_LINE_SIZE, JOB_WORDS, Machine, command_line_fault
from portcullis.core.results import parse_results
from portcullis.core.verdicts import Attack, is_reported
from portcullis.errors import ToolError
from portcullis.host.attacker import MORE_TRIES, TIME_FOR_MORE, before_death, is_damaged, run_attacks
from portcullis.host.process import Commands
from portcullis.host.vm import Boot, explain, run_job
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]

FAKE = (
    FAKE_QEMU
    + """
echo $$ >"$(dirname "$console")/pid"
"""
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a job with a fake QEMU whose behaviour is a piece of shell."""
    workspace = make_workspace(tmp_path)

    def runner(behaviour: str, timeout: float = 10.0, silence: float = 0.0) -> Boot:
        make_program(tmp_path / "bin", "qemu-system-x86_64", FAKE + behaviour)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
        machine = Machine(job="check", timeout=timeout, silence=silence)
        return run_job(workspace, Commands(), machine, Path("kernel"), Path("initramfs"))

    # A fake QEMU has no monitor: do not wait for it.
    monkeypatch.setattr("portcullis.host.vm.Monitor", _no_monitor)
    return runner


def _no_monitor(*_args, **_kwargs):
    raise OSError("no monitor")


def gone(boot: Boot) -> bool:
    pid = int((boot.folder / "pid").read_text())
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_good_boot(run):
    boot = run('echo booting >"$console"; printf "ok 1 - a\\n#done 0\\n" >"$results"')
    assert boot.trouble == "" and boot.results.status == 0
    assert (boot.folder / "console.log").read_text() == "booting\n"
    assert "virtserialport" in (boot.folder / "qemu-command.txt").read_text()


def test_a_kernel_that_hangs_is_stopped_at_the_time_limit(run):
    boot = run('echo "Decompressing Linux..." >"$console"; sleep 60', timeout=0.5)
    assert "no end after" in boot.trouble and boot.seconds < 8
    assert "Decompressing Linux..." in explain(boot) and str(boot.folder) in explain(boot)
    assert gone(boot)


@pytest.mark.parametrize("report, stopped", [("kpkeys: violation: write", True), ("all is well", False)])
def test_a_guest_that_hangs_behind_a_report_is_not_waited_for(run, report, stopped):
    attack = f'printf "portcullis: attack a\\n{report}\\n" >"$console"'
    boot = run(f'{attack}; sleep 1; echo "#done 0" >"$results"', silence=0.3)
    assert boot.trouble.startswith("no end") is stopped and gone(boot)


def test_a_report_is_of_the_attack_that_began_last():
    assert is_reported("portcullis: attack a\nkpkeys: corrupt entry")
    assert not is_reported("portcullis: attack a\nkpkeys: violation: write\nportcullis: attack b\n")


def test_a_kernel_that_panics_has_no_done(run):
    boot = run('echo "Kernel panic - not syncing: no init" >"$console"; echo "ok 1 - a" >"$results"')
    assert "died" in boot.trouble and "no init" in explain(boot)


def test_a_guest_that_does_not_power_off_still_counts(run, monkeypatch):
    monkeypatch.setattr("portcullis.host.vm.POWER_OFF_GRACE", 0.2)
    boot = run('echo x >"$console"; echo "#done 0" >"$results"; sleep 60')
    assert boot.trouble == "" and boot.results.status == 0 and boot.seconds < 8
    assert gone(boot)


STALE = "Oops: int3: 0000 [#1]\\nCode: c3 66 0f 1f 00 66 <90> 90"


def test_a_boot_that_the_emulator_spoilt_is_repeated(run, tmp_path, capsys):
    boot = run(f"""
        [ -e {tmp_path}/spoilt ] || {{ printf '{STALE}\\n' >"$console"; touch {tmp_path}/spoilt; exit; }}
        echo x >"$console"; echo "#done 0" >"$results"
    """)
    assert boot.results.status == 0
    assert "booting again" in capsys.readouterr().err


def test_but_once(run):
    boot = run(f"""printf '{STALE}\\n' >"$console\"""")
    assert "died" in boot.trouble


def test_qemu_that_refuses_its_arguments(run):
    with pytest.raises(ToolError, match="did not start.*unable to find CPU model"):
        run('echo "unable to find CPU model" >&2; exit 1')


def test_no_qemu(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="qemu-system-x86_64 is not installed") as caught:
        run_job(make_workspace(tmp_path), Commands(), Machine(job="x"), Path("k"), Path("i"))
    assert "doctor" in caught.value.advice


# Whoever runs the tests in the background may ignore SIGINT, and children inherit that.
INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
import portcullis.host.vm as vm
from portcullis.core.machine import Machine
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace
def no_monitor(*a, **k): raise OSError
vm.Monitor = no_monitor
vm.run_job(Workspace(Path(sys.argv[1]), Path(sys.argv[1])), Commands(), Machine(job="x"), Path("k"), Path("i"))
"""


def test_ctrl_c_ends_qemu(tmp_path):
    make_program(tmp_path / "bin", "qemu-system-x86_64", FAKE + 'echo x >"$console"; sleep 60')
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], env=environment, stderr=subprocess.PIPE
    )
    end = time.monotonic() + 10
    while not (pids := list(tmp_path.glob("logs/*/pid"))) or not pids[0].read_text().strip():
        assert time.monotonic() < end
        time.sleep(0.05)
    qemu = int(pids[0].read_text())
    process.send_signal(2)
    assert b"KeyboardInterrupt" in process.communicate(timeout=10)[1]
    with pytest.raises(ProcessLookupError):
        os.kill(qemu, 0)


def attack(name: str) -> Attack:
    return Attack(name, "in", {"off": "LANDED", "audit": "REPORTED", "enforce": "BLOCKED"}, "w")


def boots(*texts: tuple[str, str]):
    """A booter that plays back (results, console) pairs and notes the jobs."""
    waiting = list(texts)
    jobs = []

    def booter(machine: Machine) -> Boot:
        jobs.append(machine.job)
        text, console = waiting.pop(0)
        results = parse_results(text)
        return Boot(results, text, console, Path("log"), 1.0, "" if results.status is not None else "died")

    return booter, jobs


def verdict(name: str, word: str) -> str:
    return f'#json {{"attack":"{name}","verdict":"{word}","evidence":"e"}}\n'


BEGIN = "portcullis: attack a\n"
REPORT = "kpkeys: violation: write to page table at 000000001a2b, entry 5, by f+0x1 in attack[9] (enforce)\n"


def test_attacks_go_on_in_a_fresh_boot_after_one_that_killed_the_guest():
    booter, jobs = boots((verdict("a", "BLOCKED"), REPORT), (verdict("c", "BLOCKED") + "#done 0\n", ""))
    outcomes, booted = run_attacks((attack("a"), attack("b"), attack("c")), "enforce", Machine(), booter)
    assert [(o.name, o.verdict) for o in outcomes] == [("a", "BLOCKED"), ("b", "BLOCKED"), ("c", "BLOCKED")]
    assert outcomes[1].evidence == REPORT.strip()
    assert jobs == ["attack,a,b,c", "attack,c"] and len(booted) == 2


def test_an_attack_that_still_lands_gets_a_second_try_alone():
    gap = replace(attack("a"), scope="gap", expected={"enforce": "LANDED"}, way="leaves")
    first = verdict("a", "ERROR") + verdict("b", "LANDED") + "#done 0\n"
    booter, jobs = boots((first, ""), (verdict("a", "LANDED") + "#done 0\n", ""))
    outcomes, _ = run_attacks((gap, attack("b")), "enforce", Machine(), booter)
    assert [o.verdict for o in outcomes] == ["LANDED", "LANDED"]
    assert jobs == ["attack,a,b", "attack,a"]
    booter, jobs = boots(*[(verdict("a", "ERROR") + "#done 0\n", "")] * (1 + MORE_TRIES))
    (outcome,), _ = run_attacks((gap,), "enforce", Machine(), booter)
    assert not outcome.as_expected and len(jobs) == 1 + MORE_TRIES


def test_no_attack_is_tried_again_when_the_time_for_it_is_over(monkeypatch):
    ticks = itertools.count(step=TIME_FOR_MORE / 2)
    monkeypatch.setattr("portcullis.host.attacker.time.monotonic", lambda: next(ticks))
    booter, jobs = boots(*[(verdict("a", "ERROR") + "#done 0\n", "")] * (1 + MORE_TRIES))
    run_attacks((attack("a"),), "enforce", Machine(), booter)
    assert len(jobs) == 3


def test_an_attack_that_should_have_got_through_gets_a_second_try_alone():
    first = verdict("a", "BLOCKED") + verdict("b", "LANDED") + "#done 0\n"
    booter, jobs = boots((first, ""), (verdict("a", "LANDED") + "#done 0\n", ""))
    outcomes, _ = run_attacks((attack("a"), attack("b")), "off", Machine(), booter)
    assert all(outcome.as_expected for outcome in outcomes)
    assert jobs == ["attack,a,b", "attack,a"]


def test_an_attack_that_kills_a_guest_that_stops_nothing_gets_a_second_try():
    booter, jobs = boots(("", BEGIN + "Oops: a\n"), (verdict("a", "LANDED") + "#done 0\n", ""))
    (outcome,), _ = run_attacks((attack("a"),), "off", Machine(), booter)
    assert outcome.as_expected and len(jobs) == 2


def test_an_attack_that_could_not_be_tried_gets_a_second_try_alone():
    first = verdict("a", "ERROR") + verdict("b", "LANDED") + "#done 0\n"
    booter, jobs = boots((first, ""), (verdict("a", "BLOCKED") + "#done 0\n", ""))
    outcomes, _ = run_attacks((attack("a"), attack("b")), "enforce", Machine(), booter)
    assert [o.verdict for o in outcomes] == ["BLOCKED", "LANDED"]
    assert jobs == ["attack,a,b", "attack,a"]


def test_an_attack_that_damages_the_kernel_has_its_own_boot():
    damaging = replace(attack("a"), alone=True, damages=True)
    pair = (damaging, attack("b"))
    booter, jobs = boots(
        (verdict("b", "LANDED") + "#done 0\n", "portcullis: attack b\n"), (verdict("a", "LANDED") + "#done 0\n", BEGIN)
    )
    outcomes, booted = run_attacks(pair, "off", Machine(), booter)
    assert [o.verdict for o in outcomes] == ["LANDED", "LANDED"]
    assert jobs == ["attack,b", "attack,a"]
    assert [is_damaged(each, pair) for each in booted] == [False, True]
    spoiling = (replace(damaging, damages=False), attack("b"))
    assert [is_damaged(each, spoiling) for each in booted] == [False, False]


def test_what_an_attack_that_killed_its_guest_left_on_the_console():
    dead, alive = "portcullis: attack b\nBUG: b\nportcullis: attack a\nOops: a\n", "portcullis: attack a\nOops: a\n"
    booter, _ = boots((verdict("b", "LANDED"), dead), (verdict("a", "LANDED") + "#done 0\n", alive))
    _, booted = run_attacks((attack("b"), attack("a")), "audit", Machine(), booter)
    for mode in ("off", "audit"):
        assert [before_death(each, mode) for each in booted] == ["portcullis: attack b\nBUG: b\n", alive]
    assert [before_death(each, "enforce") for each in booted] == [dead, alive]


def test_a_guest_that_dies_without_a_report_is_not_a_block():
    booter, _ = boots(("", BEGIN + "Kernel panic - not syncing: oh\n"))
    (outcome,), _ = run_attacks((attack("a"),), "enforce", Machine(), booter)
    assert outcome.verdict == "DIED" and not outcome.as_expected


def test_a_kernel_that_kills_who_runs_the_attacks_is_one_that_dies():
    booter, jobs = boots(("#done 137\n", BEGIN + REPORT), (verdict("b", "LANDED") + "#done 0\n", ""))
    outcomes, _ = run_attacks((attack("a"), attack("b")), "enforce", Machine(), booter)
    assert [o.verdict for o in outcomes] == ["BLOCKED", "LANDED"]
    assert jobs == ["attack,a,b", "attack,b"]
    booter, _ = boots(("#done 137\n", BEGIN))
    (outcome,), _ = run_attacks((attack("a"),), "enforce", Machine(), booter)
    assert outcome.verdict == "DIED" and "ended with 137" in outcome.evidence


def test_a_guest_that_dies_before_any_attack_ends_the_run():
    for console in ("", REPORT):
        booter, jobs = boots(("", console), (verdict("a", "BLOCKED") + "#done 0\n", ""))
        with pytest.raises(ToolError, match="before any attack began"):
            run_attacks((attack("a"),), "enforce", Machine(), booter)
        assert len(jobs) == 1


def test_an_attack_without_a_verdict_is_missing():
    booter, _ = boots((verdict("a", "LANDED") + "#done 0\n", ""))
    outcomes, _ = run_attacks((attack("a"), attack("b")), "off", Machine(), booter)
    assert [o.verdict for o in outcomes] == ["LANDED", "MISSING"]
    assert [o.as_expected for o in outcomes] == [True, False]


def test_many_attacks_are_spread_over_boots():
    names = [f"attack-{number}" for number in range(40)]
    texts = [("".join(verdict(name, "LANDED") for name in part) + "#done 0\n", "") for part in (names[:30], names[30:])]
    booter, jobs = boots(*texts)
    outcomes, _ = run_attacks(tuple(attack(name) for name in names), "off", Machine(), booter)
    assert len(outcomes) == 40 and len(jobs) == 2 and all(o.as_expected for o in outcomes)
    assert not any(command_line_fault(Machine(job=job)) for job in jobs)


def defined(header: str, name: str) -> int:
    """A number that a header of the guest defines."""
    found = re.search(rf"^#define {name}\s+(\d+)$", (ROOT / "guest/lib" / header).read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def test_the_guest_takes_as_much_as_the_host_believes():
    assert defined("words.h", "MAX_WORDS") == JOB_WORDS
    assert defined("files.h", "COMMAND_LINE_SIZE") == COMMAND_LINE_SIZE


def test_a_job_that_the_guest_would_not_take_is_an_error(tmp_path):
    long, many = Machine(append="x" * COMMAND_LINE_SIZE), Machine(job="," * JOB_WORDS)
    assert not command_line_fault(Machine(job="," * (JOB_WORDS - 1)))
    for machine, why in ((long, "a kernel command line of"), (many, f"{JOB_WORDS + 1} words")):
        with pytest.raises(ToolError, match=why):
            run_job(Workspace(tmp_path, tmp_path), Commands(), machine, Path("k"), Path("i"))


SPLIT = """
#include <stdio.h>
#include "words.h"
int main(int argc, char **argv)
{
	char *words[MAX_WORDS + 1];
	int n = words_split(argv[1], words);
	printf("%d %s\\n", n, n < 0 ? "" : words[n - 1]);
	return n < 0 ? 1 : words[n] != NULL;
}
"""


def test_the_guest_refuses_a_job_of_too_many_words(tmp_path):
    (tmp_path / "main.c").write_text(SPLIT)
    program, lib = tmp_path / "split", ROOT / "guest/lib"
    source = [tmp_path / "main.c", lib / "words.c"]
    subprocess.run(["gcc", "-D_GNU_SOURCE", f"-I{lib}", "-fsanitize=address", "-o", program, *source], check=True)

    def split(words: int) -> tuple[int, str]:
        job = ",".join(f"w{number}" for number in range(words))
        done = subprocess.run([program, job], capture_output=True, text=True)
        return done.returncode, done.stdout.strip()

    assert split(1) == (0, "1 w0")
    assert split(JOB_WORDS) == (0, f"{JOB_WORDS} w{JOB_WORDS - 1}")
    assert split(JOB_WORDS + 1)[0] == 1


def test_a_verdict_from_the_wrong_mode_is_caught():
    booter, _ = boots((verdict("a", "LANDED") + "#done 0\n", ""))
    (outcome,), _ = run_attacks((attack("a"),), "enforce", replace(Machine(), cpus=1), booter)
    assert not outcome.as_expected
