# SPDX-License-Identifier: GPL-2.0-only
"""Planning and judging: QEMU command lines, verdicts, benchmarks, archives, mails, manifests."""

import gzip
import io
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import portcullis
from portcullis.core.arches import ARCHES, arch_name, cross_prefix
from portcullis.core.bench import compare, parse_bounds, parse_executed, why_not_to_print, with_executed
from portcullis.core.buildlog import compiled_files, disk_was_full, first_error, time_left
from portcullis.core.counts import differences, parse_counts
from portcullis.core.cpio import character_device, directory, newc, regular, symlink
from portcullis.core.machine import (
    Files,
    Machine,
    backend_of,
    cpu_argument,
    interactive_command,
    kernel_command_line,
    qemu_command,
)
from portcullis.core.mail import strip_preamble
from portcullis.core.manifest import Change, Manifest, dump_manifest, load_manifest
from portcullis.core.verdicts import (
    Attack,
    choose_attacks,
    judge,
    parse_attacks,
    possible_attacks,
    read_verdicts,
    still_landing,
    verdict_of_dead_guest,
)
from portcullis.core.versions import parse_version

BOUNDS_FILE = Path(portcullis.__file__).parent / "data/bench.toml"
FILES = Files(Path("k"), Path("i"), Path("c"), Path("r"), Path("m"))
ATTACKS = """
[[attack]]
name = "user-pte"
scope = "in"
off = "LANDED"
audit = "REPORTED"
enforce = "BLOCKED"
what = "w"
[[attack]]
name = "task-cred"
scope = "out"
off = "LANDED"
audit = "LANDED"
enforce = "LANDED"
what = "w"
"""


def test_cpu_flags():
    assert cpu_argument(Machine()) == "max"
    assert cpu_argument(Machine(pks=False, la57=False, gbpages=False)) == "max,-pks,-la57,-pdpe1gb"


def test_kernel_command_line_says_mode_and_job():
    line = kernel_command_line(Machine(job="check", mode="audit", pti=False, append="quiet"))
    assert {"kpkeys=audit", "portcullis.job=check", "pti=off", "quiet", "kunit.enable=0"} <= set(line.split())
    assert "kpkeys" not in kernel_command_line(Machine(mode=None))


@pytest.mark.parametrize(
    ("mode", "backend", "word"),
    [
        ("audit", "wp", "kpkeys=audit,wp"),
        ("enforce", "auto", "kpkeys=enforce"),
        ("off", None, "kpkeys=off"),
        (None, "pks", "kpkeys=pks"),
    ],
)
def test_kernel_command_line_names_a_backend_that_is_forced(mode, backend, word):
    assert word in kernel_command_line(Machine(mode=mode, backend=backend)).split()


@pytest.mark.parametrize(
    ("machine", "backend"),
    [
        (Machine(), "pks"),
        (Machine(backend="wp"), "wp"),
        (Machine(backend="auto", pks=False), "wp"),
        (Machine(cpu="EPYC,-rdseed"), "wp"),
        (Machine(cpu="max,-pks", backend="pks"), "none"),
        (Machine(pks=False, backend="pks"), "none"),
        (Machine(arch="arm64"), "poe"),
        (Machine(arch="arm64", cpu="max,s1pie=off"), "poe"),
        (Machine(arch="arm64", pks=False), "none"),
    ],
)
def test_the_backend_that_a_machine_gets(machine, backend):
    assert backend_of(machine) == backend


def test_qemu_command_spreads_memory_and_cpus_over_nodes():
    words = " ".join(qemu_command(Machine(nodes=2, cpus=4, memory=1024), FILES))
    assert "-smp 4,sockets=2" in words
    assert "id=ram1,size=512M" in words and "nodeid=1,memdev=ram1,cpus=2-3" in words
    assert "-numa" not in " ".join(qemu_command(Machine(), FILES))


def test_a_boot_loader_s_guest_is_asked_for_more_than_one_thing():
    words = qemu_command(Machine(append="portcullis.work=packages,reboot"), replace(FILES, kernel=None))
    assert words[words.index("-fw_cfg") + 1].endswith("string=portcullis.work=packages,,reboot")


def test_qemu_command_with_a_plugin():
    assert "-plugin" not in qemu_command(Machine(), FILES)
    words = qemu_command(Machine(), replace(FILES, plugin=Path("/p/count.so"), results=Path("/l/results.txt")))
    assert words[words.index("-plugin") + 1] == "/p/count.so,out=/l/counts.jsonl"


def test_qemu_command_has_results_port_and_room_for_memory():
    words = qemu_command(Machine(max_memory=131072, cpus=4), FILES)
    assert "virtserialport,chardev=results,name=portcullis.results" in words
    assert words[words.index("-m") + 1] == "1024M,slots=8,maxmem=131072M"
    assert words[words.index("-smp") + 1] == "4"
    assert "mon:stdio" in interactive_command(Machine(), Path("k"), Path("i"))


def test_efi_takes_the_firmware():
    words = qemu_command(Machine(efi=True), FILES)
    assert words[words.index("-bios") + 1].endswith("OVMF.fd")
    assert "-bios" not in qemu_command(Machine(), FILES)


def test_arm64_machine_has_its_own_board_console_and_switches():
    arm = Machine(job="check", arch="arm64", pks=False, pti=True, la57=False, gbpages=False)
    words = " ".join(qemu_command(arm, replace(FILES, emulator="/x/qemu")))
    assert words.startswith("/x/qemu -machine virt") and "-cpu max,poe=off " in words
    assert "console=ttyAMA0" in words and "kpti=1" in words and "no_timer_check" not in words


def test_cross_compilers():
    assert arch_name("aarch64") == "arm64" and arch_name("x86_64") == "x86" and arch_name("mips") == "mips"
    assert cross_prefix(ARCHES["arm64"], "x86_64") == "aarch64-linux-gnu-"
    assert cross_prefix(ARCHES["arm64"], "aarch64") == "" == cross_prefix(ARCHES["x86"], "x86_64")


def test_attacks_file():
    attacks = parse_attacks(ATTACKS)
    assert attacks[0].expected["enforce"] == "BLOCKED"
    assert [attack.name for attack in choose_attacks(attacks, ["task-cred"])] == ["task-cred"]
    with pytest.raises(ValueError, match="unknown attack 'nope'"):
        choose_attacks(attacks, ["nope"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('scope = "in"', 'scope = "maybe"'), "scope must be"),
        (('scope = "out"', 'scope = "gap"'), "task-cred: class must be one of"),
        (('what = "w"\n', 'what = "w"\nclass = "leafs"\n'), "user-pte: class must be one of"),
        (('"REPORTED"', '"NOTICED"'), "audit must be one of"),
        (('"REPORTED"', '"REPORTED or NOTICED"'), "audit must be one of"),
        (('"BLOCKED"', '"REPORTED or BLOCKED"'), "enforce must be one of"),
        (('what = "w"\n[[', "[["), "'what' is missing"),
        (('"task-cred"', '"user-pte"'), "listed twice"),
        (('what = "w"\n', 'what = "w"\nneeds = ["smpp"]\n'), "user-pte: unknown need 'smpp'"),
        (('what = "w"\n', 'what = "w"\nneeds = "smp"\n'), "needs must be a list"),
        (('what = "w"\n', 'what = "w"\nwpp = { scope = "out" }\n'), "user-pte: unknown 'wpp'"),
        (('what = "w"\n', 'what = "w"\nto = "soon"\n'), "user-pte: not a kernel version: 'soon'"),
        (('what = "w"\n', 'what = "w"\n"7.3" = { enforced = "LANDED" }\n'), "user-pte: unknown '7.3.enforced'"),
        (('what = "w"\n', 'what = "w"\nwp = { enforced = "LANDED" }\n'), "user-pte: unknown 'wp.enforced'"),
    ],
)
def test_a_broken_attacks_file_names_the_fault(change, message):
    with pytest.raises(ValueError, match=message):
        parse_attacks(ATTACKS.replace(*change, 1))


def test_a_race_may_have_two_verdicts_in_audit():
    attack = parse_attacks(ATTACKS.replace('"REPORTED"', '"REPORTED or BLOCKED"', 1))[0]
    outcomes = [judge(attack, "audit", verdict, "e") for verdict in ("LANDED", "REPORTED", "BLOCKED")]
    assert [outcome.as_expected for outcome in outcomes] == [False, True, True]


def test_an_architecture_has_its_own_attacks_and_verdicts():
    text = ATTACKS.replace('what = "w"\n', 'what = "w"\narm64 = { audit = "BLOCKED" }\n', 1)
    text = text.replace('name = "task-cred"\n', 'name = "task-cred"\narches = ["x86"]\n')
    assert [attack.name for attack in parse_attacks(text, "x86")] == ["user-pte", "task-cred"]
    (attack,) = parse_attacks(text, "arm64")
    assert attack.expected == {"off": "LANDED", "audit": "BLOCKED", "enforce": "BLOCKED"}


def test_the_lane_of_a_study_has_verdicts_of_its_own():
    text = ATTACKS.replace('enforce = "BLOCKED"', 'enforce = "LANDED"\npage-cache = { enforce = "BLOCKED" }', 1)
    verdicts = [parse_attacks(text, lane=lane)[0].expected["enforce"] for lane in ("default", "page-cache")]
    assert verdicts == ["LANDED", "BLOCKED"]


def test_a_version_has_its_own_attacks_and_verdicts():
    tables = '"7.3" = { off = "BLOCKED", alone = true }\n"6.18" = { off = "REPORTED" }\n'
    text = ATTACKS.replace('what = "w"\n', 'what = "w"\n' + tables, 1)
    text = text.replace('name = "task-cred"\n', 'name = "task-cred"\nto = "7.3"\n')
    expected = {"6.12": "LANDED", "6.18.1": "REPORTED", "7.2.9": "REPORTED", "7.3.4": "BLOCKED", "8.0": "BLOCKED"}
    for version, verdict in expected.items():
        attacks = parse_attacks(text, version=parse_version(version))
        assert attacks[0].expected["off"] == verdict
        assert attacks[0].alone == (verdict == "BLOCKED")
        assert len(attacks) == (2 if parse_version(version) < parse_version("7.3") else 1)


def test_a_backend_has_its_own_scope_and_verdicts():
    table = 'wp = { scope = "out", audit = "LANDED", enforce = "LANDED" }\n'
    text = ATTACKS.replace('what = "w"\n', 'what = "w"\n' + table, 1)
    for backend, scope, verdict in (("wp", "out", "LANDED"), ("pks", "in", "BLOCKED"), ("", "in", "BLOCKED")):
        attack = parse_attacks(text, "x86", backend)[0]
        assert (attack.scope, attack.expected["off"], attack.expected["enforce"]) == (scope, "LANDED", verdict)


@pytest.mark.parametrize(
    ("needs", "machine", "config", "missing"),
    [
        (("pti",), Machine(pti=True), {}, ()),
        (("pti",), Machine(pti=False), {}, ("pti",)),
        (("nopti",), Machine(pti=False), {}, ()),
        (("nopti",), Machine(pti=True), {}, ("nopti",)),
        (("four-cpus",), Machine(cpus=4), {}, ()),
        (("four-cpus",), Machine(cpus=3), {}, ("four-cpus",)),
        (("efi",), Machine(efi=True), {}, ()),
        (("efi",), Machine(), {}, ("efi",)),
        (("low-text",), Machine(memory=3072, append="nokaslr"), {}, ()),
        (("low-text",), Machine(memory=3072), {}, ("low-text",)),
        (("low-text",), Machine(append="nokaslr"), {}, ("low-text",)),
        (("four-levels",), Machine(la57=False), {}, ()),
        (("four-levels",), Machine(), {}, ("four-levels",)),
        (("four-levels",), Machine(arch="arm64", la57=False), {}, ("four-levels",)),
        (("smp",), Machine(cpus=2), {"CONFIG_SMP": "y"}, ()),
        (("smp",), Machine(cpus=1), {"CONFIG_SMP": "y"}, ("smp",)),
        (("smp",), Machine(cpus=2), {}, ("smp",)),
        (("gbpages",), Machine(), {}, ()),
        (("gbpages",), Machine(gbpages=False), {}, ("gbpages",)),
        (("gbpages",), Machine(arch="arm64"), {"CONFIG_ARM64_4K_PAGES": "y"}, ()),
        (("gbpages",), Machine(arch="arm64"), {"CONFIG_ARM64_64K_PAGES": "y"}, ("gbpages",)),
        (("text-pages",), Machine(mode="off"), {}, ()),
        (("text-pages",), Machine(arch="arm64"), {}, ()),
        (("text-pages",), Machine(arch="arm64", mode="off"), {}, ("text-pages",)),
        (("text-pages",), Machine(arch="arm64", mode="off", append="live_split=force"), {}, ()),
        (("CONFIG_A", "CONFIG_B", "smp"), Machine(cpus=1), {"CONFIG_B": "m"}, ("CONFIG_A", "smp")),
    ],
)
def test_what_an_attack_needs(needs, machine, config, missing):
    attack = Attack("a", "in", {}, "w", needs)
    attacks, left_out = possible_attacks((attack,), machine, config)
    assert attacks == (() if missing else (attack,))
    assert left_out == ((f"a (needs {', '.join(missing)})",) if missing else ())


def test_the_corpus_says_what_it_needs():
    text = (Path(__file__).parents[2] / "guest/attacks.toml").read_text()
    needs = {attack.name: attack.needs for arch in ARCHES for attack in parse_attacks(text, arch)}
    assert needs["ldt-table"] == ("pti",) and needs["user-pud-leaf"] == ("gbpages",)
    assert needs["modprobe-path"] == ("CONFIG_MODULES",) and needs["user-pte"] == ()


def test_an_attack_that_is_stopped_keeps_its_class():
    text = ATTACKS.replace('scope = "out"\n', 'scope = "gap"\nclass = "roots"\n')
    for scope in ("gap", "in"):
        attack = parse_attacks(text.replace('"gap"', f'"{scope}"'))[1]
        assert (attack.scope, attack.way) == (scope, "roots")


def test_a_sentence_on_what_is_not_stopped_yet():
    attack = Attack("a", "gap", {"off": "LANDED", "enforce": "LANDED"}, "w", (), "roots")
    outcomes = [judge(attack, "enforce", verdict, "e") for verdict in ("LANDED", "REPORTED", "BLOCKED")]
    (line,) = still_landing([judge(attack, "off", "LANDED", "e"), *outcomes])
    assert line.startswith("Of 3 attacks by way of the kernel itself 2 still land")
    assert not still_landing([judge(attack, "off", "LANDED", "e")])
    assert not outcomes[2].as_expected


def test_verdicts():
    records = [{"attack": "user-pte", "verdict": "LANDED", "evidence": "uid 0"}, {"bench": "x"}]
    assert read_verdicts(records) == {"user-pte": ("LANDED", "uid 0")}
    attack = Attack("user-pte", "in", {"enforce": "BLOCKED"}, "w")
    assert judge(attack, "enforce", "BLOCKED", "e").as_expected
    assert not judge(attack, "enforce", "LANDED", "e").as_expected


def test_a_dead_guest_is_blocked_only_with_a_report_of_the_same_attack():
    begin, panic = "[    1.9] portcullis: attack text\n", "[    2.1] Kernel panic - not syncing: Fatal\n"
    report = "[    2.0] kpkeys: violation: write to page table at 00001a2b, entry 5, by f+0x1 in attack[9] (enforce)\n"
    assert verdict_of_dead_guest(begin + report + panic, "text")[0] == "BLOCKED"
    for console in (begin + panic, report + begin + panic, report + panic):
        verdict, evidence = verdict_of_dead_guest(console, "text")
        assert verdict == "DIED" and "Fatal" in evidence
    assert verdict_of_dead_guest("", "text") == ("DIED", "the console is empty")


@pytest.mark.parametrize(
    "why",
    [
        "Oops: general protection fault, probably for non-canonical address",
        "kernel BUG at kernel/smpboot.c:140!",
        "attack[41]: segfault at 8 ip 0000000000401000 sp 00007ffd00000000 error 4 in attack",
    ],
)
def test_evidence_of_a_dead_guest_is_why_and_not_that_it_was_switched_off(why):
    console = f"[ 1.9] portcullis: attack text\n[ 2.0] {why}\n[ 2.1] Call Trace:\n[ 2.2] reboot: Power down\n"
    assert verdict_of_dead_guest(console, "text") == ("DIED", why)


BOUNDS = parse_bounds('[[bound]]\nbench = "fork"\ncounter = "pkey_reg_writes"\nlimit = 300\nwhat = "fork"\n', "x86")


@pytest.mark.parametrize(
    ("record", "good"), [({"pkey_reg_writes": 300}, True), ({"pkey_reg_writes": 301}, False), ({}, False)]
)
def test_bounds(record, good):
    (row,) = compare(BOUNDS, [{"bench": "fork", **record}])
    assert row.good is good


def test_a_bound_for_a_share_of_another_counter():
    text = '[[bound]]\nbench = "p"\ncounter = "flushes"\nlimit = 1\nper = "pages"\nshare = 512\nwhat = "w"\n'
    for pages, flushes, good in ((512, 1, True), (512, 2, False), (513, 2, True), (0, 0, True), (0, 1, False)):
        (row,) = compare(parse_bounds(text, "x86"), [{"bench": "p", "pages": pages, "flushes": flushes}])
        assert row.good is good


def test_a_bound_may_allow_some_more():
    text = '[[bound]]\nbench = "p"\ncounter = "flushes"\nlimit = 1\nmore = 2\nwhat = "w"\n'
    for flushes, good in ((3, True), (4, False)):
        (row,) = compare(parse_bounds(text, "x86"), [{"bench": "p", "flushes": flushes}])
        assert row.good is good


def test_a_bound_of_one_architecture():
    text = '[[bound]]\nbench = "p"\ncounter = "isbs"\nlimit = 1\narch = "arm64"\nwhat = "w"\n'
    assert not parse_bounds(text, "x86") and len(parse_bounds(text, "arm64")) == 1


def test_a_bound_of_one_backend_is_shown_and_not_judged_with_others():
    bounds = parse_bounds('[[bound]]\nbench = "p"\ncounter = "c"\nlimit = 1\nbackends = ["pks"]\nwhat = "w"\n', "x86")
    for backend, value, applies, good in (("pks", 2, True, False), ("pks", 1, True, True), ("wp", 2, False, True)):
        (row,) = compare(bounds, [{"bench": "p", "c": value}], backend)
        assert (row.applies, row.good) == (applies, good)


def test_write_protection_is_held_to_the_bounds_of_keys():
    bounds = parse_bounds(BOUNDS_FILE.read_text(), "x86")
    others = {(row.bench, row.counter): row for row in bounds if row.backends and row.arch == ""}
    assert {bench for bench, _ in others} == {"random"}
    (hidden,) = [row for row in bounds if row.counter == "secret_sections" and row.backends == ("wp",)]
    assert hidden.limit == 0


def line(name, user=0, kernel=0):
    levels = {"user": {"isb": user}, "kernel": {"isb": kernel}, "irq": {"isb": 100}}
    return json.dumps({"region": name, "cpu": 0, "cpus": 1, **levels}) + "\n"


def test_what_was_executed_is_the_least_of_all_rounds_and_compared_with_less_protection():
    on = parse_executed(line("fork", 2, 10) + line("x", 1))
    plain = parse_executed(line("fork", 9) + line("fork", 3, 4) + line("x", 1))
    off = parse_executed(line("fork", 4))
    records = with_executed([{"bench": "fork"}, {"bench": "x"}, {"bench": "pool"}], on, plain, off)
    assert {name: value for name, value in records[0].items() if value} == {
        "bench": "fork",
        "isb": 7,
        "isb_added": 3,
        "isb_pauth": 5,
    }
    assert records[0]["pkey_writes"] == 0 and "tlbi_all" not in records[0]
    assert "isb" not in records[1] and records[2] == {"bench": "pool"}
    assert "isb_pauth" not in with_executed([{"bench": "fork"}], on, on, off)[0]


@pytest.mark.parametrize("text", ["{", '{"region": "x", "cpu": 0, "cpus": 1, "user": {"isbs": 1}}', '{"cpu": 0}', "[]"])
def test_a_broken_line_of_counts_is_named(text):
    with pytest.raises(ValueError, match="line 2 .* is broken"):
        parse_counts(line("a") + text + "\n")


def test_other_counts_are_told_by_region_and_level():
    must = parse_counts(line("a", 1, 2) + line("b"))
    assert differences(must, must) == []
    assert differences(must, parse_counts(line("a", 1, 3) + line("b"))) == ["a, kernel: isb 3 not 2"]
    assert differences(must, must[:1]) == ["region 2 is none, not 'b'"]


def test_a_repeatable_machine_has_one_cpu_and_nothing_random():
    with pytest.raises(ValueError, match="for one CPU"):
        Machine(cpus=2, icount=0)
    words = " ".join(qemu_command(Machine(cpus=1, icount=3), FILES))
    assert "-accel tcg,thread=single -icount shift=3,sleep=off -seed 1 -rtc base=" in words
    assert "virtio-serial-pci,ioeventfd=off" in words and " nokaslr" in words
    assert "icount" not in " ".join(qemu_command(Machine(cpus=1), FILES))


def test_a_run_that_measured_nothing_is_refused():
    good = {"bench": "fork", "pkey_reg_writes": 5, "pages_keyed": 9}
    assert why_not_to_print([good]) == ""
    assert "never raised" in why_not_to_print([{**good, "pkey_reg_writes": 0}])
    assert "no keyed page" in why_not_to_print([{**good, "pages_keyed": 0}])
    assert "no benchmark" in why_not_to_print([])


def test_build_log():
    log = "  CC      mm/a.o\n  HOSTCC  scripts/b\nmm/a.c:3:1: error: unknown type name 'x'\nmake: *** [a] Error 2\n"
    assert compiled_files(log) == 2
    assert first_error(log).startswith("mm/a.c:3:1: error:")
    assert disk_was_full("as: write error: No space left on device")
    assert not disk_was_full(log)


@pytest.mark.skipif(not shutil.which("cpio"), reason="no cpio to compare with")
def test_archive_is_read_by_cpio():
    data = newc(
        [directory("bin"), regular("bin/a", b"hello", 0o755), symlink("bin/sh", "a"), character_device("c", 5, 1)]
    )
    listed = subprocess.run(["cpio", "-itv", "--quiet"], input=data, capture_output=True, check=True).stdout.decode()
    assert "-rwxr-xr-x" in listed and "bin/sh -> a" in listed and "5,   1" in listed
    assert gzip.compress(data, mtime=0) == gzip.compress(data, mtime=0)
    assert io.BytesIO(data).read(6) == b"070701"


def test_preamble_of_a_hook_is_split_off():
    assert strip_preamble("Why.\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n") == ("Why.", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n")
    assert strip_preamble("diff --git a/x b/x\n")[0] == ""


def test_manifest_survives_the_round_trip():
    manifest = Manifest("6.12.7", "x86", ("t",), ("t/h",), {"a": Change(None, "1"), "b": Change(b"\0old", "2", 0o755)})
    assert load_manifest(dump_manifest(manifest)) == manifest


def test_a_manifest_from_before_there_were_topics_can_be_undone():
    text = '{"format": 1, "kernel": "6.12.7", "arch": "x86", "hooks": ["0010-build.patch"], "files": {}}'
    assert load_manifest(text) == Manifest("6.12.7", "x86", (), ("0010-build.patch",), {})


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 9}', '{"format": 1, "kernel": "6"}'])
def test_a_damaged_manifest_is_refused(text):
    with pytest.raises(ValueError, match="damaged|not known"):
        load_manifest(text)


def test_how_long_a_build_still_takes_at_most():
    assert time_left(60.0, 100, 400) == 180.0
    assert time_left(60.0, 400, 400) == 0.0
    assert time_left(5.0, 3, 400) is None  # too early to tell
    assert time_left(60.0, 500, 400) is None  # more than there ever were
