# SPDX-License-Identifier: GPL-2.0-only
"""attack, bench, demo, boot and test as a user sees them; builds and boots are played back."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakes import make_workspace, write
from portcullis.cli import main
from portcullis.core.results import parse_results
from portcullis.host.codesize import text_growth
from portcullis.host.vm import Boot

ATTACKS = """
[[attack]]
name = "user-pte"
scope = "in"
off = "LANDED"
audit = "REPORTED"
enforce = "BLOCKED"
what = "maps a page of its choice"
wp = { scope = "out", audit = "LANDED", enforce = "LANDED" }
[[attack]]
name = "modprobe-path"
scope = "out"
off = "LANDED"
audit = "LANDED"
enforce = "LANDED"
what = "changes a path"
needs = ["CONFIG_MODULES", "smp"]
"""
OPERATIONS = (
    "fork-64m",
    "munmap-64m",
    "mprotect-64m",
    "mremap-64m",
    "madvise-64m",
    "exit-64m",
    "fork-exec",
    "fork-dash",
    "touch-64m",
    "touch-64k",
    "touch-thp",
    "vmalloc-64",
    "vfree-64",
    "syscall",
    "exception",
)


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Sets what a boot in each mode answers; returns a function that runs the tool."""
    workspace = make_workspace(tmp_path)
    write(workspace.guest / "attacks.toml", ATTACKS)
    monkeypatch.setenv("PORTCULLIS_ROOT", str(workspace.root))
    answers: dict[str, str] = {}

    executed = "".join(json.dumps({"region": name, "cpu": 0, "cpus": 1}) + "\n" for name in OPERATIONS)

    def run_job(_workspace, _commands, machine, _kernel, _initramfs, **rest):
        text = answers.get(machine.mode, bench())
        results = parse_results(text)
        trouble = "" if results.status is not None else "died"
        return Boot(results, text, "", Path("/logs"), 1.0, trouble, executed if "plugin" in rest else None)

    image = tmp_path / "build/x-default/arch/x86/boot/bzImage"
    write(image.parents[3] / ".config", "CONFIG_SMP=y\nCONFIG_MODULES=y\n")
    built = SimpleNamespace(run=lambda: SimpleNamespace(image=image))
    for module, guest in (("attack", "build"), ("bench", "bench"), ("demo", "build")):
        monkeypatch.setattr(f"portcullis.commands.{module}.run_job", run_job)
        monkeypatch.setattr(f"portcullis.commands.{module}.Builder", lambda *_: built)
        monkeypatch.setattr(f"portcullis.commands.{module}.{guest}_initramfs", lambda *_: Path("initramfs"))

    monkeypatch.setattr("portcullis.commands.bench.emulator_for", lambda *_, **__: "qemu")
    monkeypatch.setattr("portcullis.commands.bench.counting_plugin", lambda *_: Path("count.so"))

    def runner(*words, **modes):
        answers.update(modes)
        return main([*words, "--cache", str(tmp_path / "cache")])

    return runner


def verdicts(**by_name):
    lines = [
        json.dumps({"attack": name.replace("_", "-"), "verdict": word, "evidence": "e"})
        for name, word in by_name.items()
    ]
    return "".join(f"#json {line}\n" for line in lines) + "#done 0\n"


OFF = verdicts(user_pte="LANDED", modprobe_path="LANDED")
ENFORCE = verdicts(user_pte="BLOCKED", modprobe_path="LANDED")


def test_attack_json_has_the_promised_form(play, capsys):
    assert play("attack", "--json", enforce=ENFORCE) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["attacks"][0] == {
        "name": "user-pte",
        "scope": "in",
        "mode": "enforce",
        "verdict": "BLOCKED",
        "expected": "BLOCKED",
        "evidence": "e",
    }


def test_an_attack_is_left_out_where_what_it_needs_is_missing(play, tmp_path, capsys):
    only = verdicts(user_pte="BLOCKED")
    assert play("attack", "--json", enforce=only) == 1
    assert play("attack", "--json", "--smp", "1", enforce=only) == 0
    out, err = capsys.readouterr()
    assert "left out: modprobe-path (needs smp)" in err and "modprobe-path" not in out[out.rindex("attacks") :]
    write(tmp_path / "build/x-default/.config", "CONFIG_SMP=y\n# CONFIG_MODULES is not set\n")
    assert play("attack", enforce=only) == 0
    assert play("demo", off=verdicts(user_pte="LANDED"), enforce=only) == 0
    assert "left out: modprobe-path (needs CONFIG_MODULES)" in capsys.readouterr().err
    assert play("attack", "modprobe-path", enforce=only) == 2
    assert "nothing is left to attack" in capsys.readouterr().err


def test_attack_fails_when_a_verdict_differs(play, capsys):
    assert play("attack", enforce=OFF) == 1
    out = capsys.readouterr().out
    assert "1 as expected, 1 not" in out


def test_write_protection_has_verdicts_of_its_own(play, capsys):
    assert play("attack", "--backend", "wp", enforce=OFF) == 0
    assert play("attack", "--backend", "wp", enforce=ENFORCE) == 1
    assert play("attack", "--no-pks", enforce=OFF) == 0
    capsys.readouterr()
    assert play("attack", "--list", "--backend", "wp", "--json") == 0
    first = json.loads(capsys.readouterr().out)["attacks"][0]
    assert (first["scope"], first["expected"]["enforce"]) == ("out", "LANDED")
    assert play("demo", "--backend", "wp", off=OFF, enforce=OFF) == 0
    assert "Of 2 attacks outside it 2 still land" in capsys.readouterr().out


def test_what_is_not_stopped_yet_is_said_and_must_land(play, tmp_path, capsys):
    gap = ATTACKS.replace('scope = "out"\noff', 'scope = "gap"\nclass = "switches"\noff')
    assert gap != ATTACKS
    write(tmp_path / "checkout/guest/attacks.toml", gap)
    for words, answers in ((("attack",), {}), (("demo",), {"off": OFF})):
        assert play(*words, enforce=ENFORCE, **answers) == 0
        assert "Of 1 attacks by way of the kernel itself 1 still land: docs/threat-model.md" in capsys.readouterr().out
    stopped = verdicts(user_pte="BLOCKED", modprobe_path="BLOCKED")
    assert play("attack", enforce=stopped) == 1
    assert "1 as expected, 1 not" in capsys.readouterr().out
    assert play("attack", "--list", "--json") == 0
    assert [row["class"] for row in json.loads(capsys.readouterr().out)["attacks"]] == ["", "switches"]


def test_an_off_attack_that_does_not_land_is_a_failure(play):
    assert play("attack", "--mode", "off", off=verdicts(user_pte="BLOCKED", modprobe_path="LANDED")) == 1


def test_attack_in_all_modes(play, capsys):
    audit = verdicts(user_pte="REPORTED", modprobe_path="LANDED")
    assert play("attack", "--mode", "all", "--json", off=OFF, audit=audit, enforce=ENFORCE) == 0
    assert [row["mode"] for row in json.loads(capsys.readouterr().out)["attacks"]] == [
        *["off"] * 2,
        *["audit"] * 2,
        *["enforce"] * 2,
    ]


def test_demo_shows_a_table_and_says_what_it_showed(play, capsys):
    assert play("demo", off=OFF, enforce=ENFORCE) == 0
    out = capsys.readouterr().out
    assert "user-pte" in out and "LANDED" in out and "BLOCKED" in out
    assert "Of 1 attacks in its scope 1 land with the protection off; Portcullis blocks 1." in out
    assert "Of 1 attacks outside it 1 still land" in out


def test_demo_fails_when_an_attack_lands_that_should_not(play, capsys):
    assert play("demo", off=OFF, enforce=OFF) == 1
    assert "Portcullis blocks 0" in capsys.readouterr().out


def bench(**changes):
    records = dict.fromkeys(OPERATIONS, 1) | {"syscall": 0, "exception": 0}
    records |= {name.replace("_", "-"): value for name, value in changes.items()}
    rows = [json.dumps({"bench": name, "pkey_reg_writes": value, "pages_keyed": 9}) for name, value in records.items()]
    pool = {"bench": "pool", "pages_keyed": 513, "key_tlb_flushes": 2, "idle_kib": 0, "unkeyed_fallbacks": 0}
    random = {"bench": "random", "times": 9, "secret_sections": 9, "pkey_reg_writes": 18}
    block = {"bench": "key-block", "key_tlb_flushes": 1, "direct_map_splits": 0}
    same = {"bench": "switch-same-user", "times": 9, "pkey_reg_writes": 0}
    other = {"bench": "switch-other-user", "times": 9, "pkey_reg_writes": 18}
    rows += [json.dumps(row) for row in (pool, random, block, same, other)]
    return "".join(f"#json {row}\n" for row in rows) + "#done 0\n"


def test_bench_with_write_protection_has_bounds_of_its_own(play, capsys):
    hidden = '{"bench": "random", "times": 9, "secret_sections": 9, "pkey_reg_writes": 18}'
    open_to_all = hidden.replace("9,", "0,").replace("18", "0")
    good = bench().replace(hidden, open_to_all)
    assert good != bench()
    assert play("bench", "--quick", "--backend", "wp", enforce=good) == 0
    out = capsys.readouterr().out
    assert "backend wp" in out and out.count("not with wp") == 2 + len(OPERATIONS)
    assert play("bench", "--quick", "--backend", "wp", enforce=bench()) == 1
    assert play("bench", "--quick", "--backend", "wp", enforce=good.replace("fork-64m", "fork")) == 1


@pytest.mark.parametrize("command", ["attack", "bench"])
def test_a_kernel_that_took_another_backend_is_refused(command, play, capsys):
    answer = '#json {"backend": "pks"}\n' + (ENFORCE if command == "attack" else bench())
    assert play(command, *(["--quick"] if command == "bench" else []), enforce=answer) == 0
    assert play(command, *(["--quick"] if command == "bench" else []), "--backend", "wp", enforce=answer) == 2
    assert "the kernel took backend pks, not wp" in capsys.readouterr().err


def test_bench_within_and_beyond_its_bounds(play, capsys):
    assert play("bench", "--quick", enforce=bench()) == 0
    assert play("bench", "--quick", enforce=bench(fork_64m=301)) == 1
    assert "301" in capsys.readouterr().out
    more = bench().replace('"times": 9, "pkey_reg_writes": 18', '"times": 9, "pkey_reg_writes": 19')
    assert more != bench() and play("bench", "--quick", enforce=more) == 1


def test_bench_tells_what_was_executed(play, capsys):
    assert play("bench", "--quick", "--json", enforce=bench()) == 0
    data = json.loads(capsys.readouterr().out)
    (fork,) = [record for record in data["records"] if record["bench"] == "fork-64m"]
    assert fork["pkey_writes"] == 0 and fork["pkey_writes_added"] == 0 and "isb_pauth" not in fork
    assert {"fork-64m", "syscall"} <= {bound["bench"] for bound in data["bounds"] if bound["counter"] == "pkey_writes"}


def test_bench_tells_where_the_register_is_written(play, capsys, monkeypatch):
    tables = {"fork-64m": {"kpkeys_set_pte": 7, "write_entry": 2}, "syscall": {}}
    monkeypatch.setattr("portcullis.commands.bench.written_where", lambda *_: tables)
    assert play("bench", "--quick", "--where") == 0
    out, _ = capsys.readouterr()
    assert "fork-64m: 9 writes" in out and "kpkeys_set_pte" in out and "syscall" not in out
    assert play("bench", "--quick", "--where", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"where": tables}
    assert play("bench", "--where") == 2


def test_bench_refuses_to_print_what_it_did_not_measure(play, capsys):
    assert play("bench", "--quick", enforce=bench().replace('"pages_keyed": 9', '"x": 0').replace("513", "0")) == 2
    out, err = capsys.readouterr()
    assert out == "" and "no keyed page was seen" in err


def test_code_growth_needs_kernels_that_differ_in_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr("portcullis.host.codesize.Image", lambda data: SimpleNamespace(code_size=lambda: len(data)))
    for lane, size, config in (("default", 9, "CONFIG_A=y\nCONFIG_KPKEYS=y\n"), ("stock", 5, "CONFIG_A=y\n")):
        write(tmp_path / f"x-{lane}/vmlinux.o", "x" * size)
        write(tmp_path / f"x-{lane}/.config", config)
    write(tmp_path / "x-default/mm/kpkeys/pool.o", "xx")
    image = tmp_path / "x-default/arch/x86/boot/bzImage"
    assert text_growth(image) == 4
    write(tmp_path / "x-default/mm/kpkeys/kpkeys_test.o", "x")
    assert text_growth(image) == 3
    # Lane lab is compared with a stock kernel of its own.
    for lane in ("lab", "lab-stock"):
        write(tmp_path / f"x-{lane}/vmlinux.o", "x" * 20 if lane == "lab" else "x" * 10)
        write(tmp_path / f"x-{lane}/.config", "CONFIG_A=y\n")
    write(tmp_path / "x-lab/mm/kpkeys/designs.o", "xxx")
    assert text_growth(tmp_path / "x-lab/arch/x86/boot/bzImage") == 7
    write(tmp_path / "x-stock/.config", "CONFIG_A=y\nCONFIG_B=y\n")
    assert text_growth(image) is None
    (tmp_path / "x-stock/.config").unlink()
    assert text_growth(image) is None


def test_bench_of_a_dead_guest(play, capsys):
    assert play("bench", "--quick", enforce="KTAP version 1\n") == 2
    assert "did not finish" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "kinds", "without"),
    [
        ([], ("tests", "attacks"), ()),
        (["--tree", "linux"], (), ()),
        (["--tree", "linux", "--with", "tests", "--without", "random"], ("tests",), ("random",)),
        (["--lane", "lab", "--with", "tests"], ("lab", "tests"), ()),
        (["--lane", "least"], (), ()),
    ],
)
def test_a_build_of_a_users_tree_is_the_product_unless_more_is_asked_for(monkeypatch, words, kinds, without):
    import portcullis.commands.build as module

    seen = []

    class Stop(Exception):
        pass

    def builder(_workspace, _commands, options):
        seen.append(options)
        raise Stop

    monkeypatch.setattr(module, "Builder", builder)
    with pytest.raises(Stop):
        main(["build", *words])
    assert (seen[0].kinds, seen[0].without) == (kinds, without)
