# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's configuration and user land: what is fetched, made, booted, and read from it."""

import re
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from portcullis.commands import vm
from portcullis.commands.options import build_options
from portcullis.core.arches import ARCHES
from portcullis.core.emulator import debian_mirrors, debian_suites
from portcullis.core.flavours import config_file, loaded_modules
from portcullis.core.ktap import parse_ktap
from portcullis.core.lanes import FLAVOURS, LANES
from portcullis.core.machine import Files, Machine, interactive_command, qemu_command
from portcullis.core.packages import listed_names
from portcullis.core.userland import Run, differences, part_name, read_results, rows
from portcullis.errors import ToolError
from portcullis.host.builder import Builder
from portcullis.host.flavour import flavour_config
from portcullis.host.process import Commands
from portcullis.host.userland import PACKAGES, UserLand
from portcullis.host.vm import VirtualMachine
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]
OURS = ROOT / "guest/userland"
DRM = Path("/usr/include/libdrm")


@pytest.fixture
def workspace(tmp_path):
    return Workspace(ROOT, tmp_path)


def test_names_of_configurations():
    assert config_file("debian", ARCHES["x86"]) == "usr/src/linux-config-6.12/config.amd64_none_amd64.xz"
    assert config_file("debian-cloud", ARCHES["arm64"]).endswith("config.arm64_none_cloud-arm64.xz")
    assert FLAVOURS == ("debian", "debian-cloud", "debian-cloud-thin")
    assert all(LANES[name].kinds == () and LANES[name].hardened for name in FLAVOURS)


def test_suites_of_this_release_and_of_no_other():
    lines = [
        "Debian|main|bookworm|a:",
        "Debian|contrib|bookworm|a:",
        "Debian|main|bookworm-security|b:",
        "Debian|main|trixie|a:",
        "Other|main|bookworm|c:",
        "Debian|main|bookworm|cdrom:x",
        "nonsense",
    ]
    assert debian_suites("\n".join(lines), "bookworm") == (("a:", "bookworm"), ("b:", "bookworm-security"))
    assert debian_mirrors("\n".join(lines), "bookworm") == ("a:",)


def test_a_list_of_modules_looks_like_lsmods():
    assert loaded_modules(("ext4", "loop")) == "Module Size Used by\next4 4096 0\nloop 4096 0\n"


def options(**given):
    plain = {"lane": "default", "tree": None, "config": [], "base_config": None, "jobs": 1, "arch": "x86"}
    return Namespace(**{**plain, **given})


def test_a_flavour_is_a_configuration_and_no_fragment():
    chosen = build_options(options(config=[Path("debian-cloud"), Path("more.config")]))
    assert chosen.lane == "debian-cloud" and chosen.fragments == (Path("more.config"),)
    assert build_options(options(config=[Path("more.config")])).lane == "default"
    for wrong in (
        {"config": [Path("debian"), Path("debian-cloud")]},
        {"config": [Path("debian")], "lane": "xen"},
        {"config": [Path("debian")], "base_config": Path("c")},
    ):
        with pytest.raises(ToolError, match="whole configuration"):
            build_options(options(**wrong))


def test_fragments_of_a_flavour(workspace):
    builder = Builder(workspace, Commands(), build_options(options(config=[Path("debian-cloud-thin")])))
    assert [path.name for path in builder.fragments()] == [
        "portcullis.config",
        "debian.config",
        "thin.config",
        "mappings.config",
    ]
    assert builder.selection.kinds == ()


def test_no_configuration_without_a_source_package(workspace, monkeypatch):
    monkeypatch.setattr("portcullis.host.flavour.package_version", lambda: "")
    with pytest.raises(ToolError, match="source package"):
        flavour_config(workspace, Commands(), "debian", "x86")


def test_a_configuration_that_no_suite_has(workspace, monkeypatch):
    monkeypatch.setattr("portcullis.host.flavour.package_version", lambda: "6.12.1-1")
    monkeypatch.setattr("portcullis.host.flavour.suites", lambda: (("nowhere:", "one"), ("nowhere:", "two")))

    def refuse(*_):
        raise ToolError("not there")

    monkeypatch.setattr("portcullis.host.flavour.PrivateApt.update", refuse)
    with pytest.raises(ToolError, match=r"(?s)cannot be had.*one: not there.*two: not there"):
        flavour_config(workspace, Commands(), "debian", "x86")
    assert not list((workspace.cache / "configs").glob("*/*"))


def test_packages_and_parts_have_names():
    assert listed_names("# why\ngcc   # work\n\nmake\n") == ("gcc", "make")
    assert {"systemd-sysv", "stress-ng"} <= set(listed_names(PACKAGES.read_text()))
    assert part_name("20-postgresql") == "postgresql"
    names = [path.name for path in (ROOT / "guest/userland/work.d").iterdir()]
    assert all(name[:2].isdigit() and name[2] == "-" for name in names)


def test_each_program_of_the_work_is_there():
    parts = [path.read_text() for path in (OURS / "work.d").iterdir()]
    used = set(re.findall(r"^\s*program ([\w-]+)", "\n".join(parts), re.MULTILINE))
    assert used == {path.stem for path in (OURS / "programs").glob("*.c")}


@pytest.mark.parametrize("program", sorted((OURS / "programs").glob("*.c")), ids=lambda path: path.stem)
def test_programs_of_the_work_compile_without_a_warning(program):
    if program.stem == "gpu" and not DRM.is_dir():
        pytest.skip("no interface of graphics drivers here")
    words = ["gcc", "-fsyntax-only", "-O1", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-D_GNU_SOURCE", f"-I{DRM}"]
    done = subprocess.run([*words, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def machine_of_paper(tmp_path):
    """The guest's `work` with three parts, in a folder that stands for the guest."""
    parts = tmp_path / "work.d"
    parts.mkdir()
    (parts / "10-good").write_text("true\n")
    (parts / "20-absent").write_text('echo "SKIP no such thing"\nexit 77\n')
    (parts / "30-bad").write_text("false\n")
    (parts / "40-again").write_text('[ -n "$resumed" ] || exit 88\n')
    (parts / "50-last").write_text('[ -z "$resumed" ]\n')
    text = (OURS / "work").read_text()
    for path in ("/dev/virtio-ports/portcullis.results", "/proc/cmdline", "/var/lib/portcullis-work", "/run/"):
        assert path in text
        text = text.replace(path, f"{tmp_path}/{path.strip('/').replace('/', '_')}")
    text = text.replace('exec 3>"$port"', 'exec 3>>"$port"')  # a port keeps what was written
    (tmp_path / "work").write_text(text)
    (tmp_path / "systemctl").write_text("#!/bin/sh\n")
    (tmp_path / "systemctl").chmod(0o755)

    def work(words):
        (tmp_path / "proc_cmdline").write_text(words)
        subprocess.run(["sh", tmp_path / "work"], check=True)
        return (tmp_path / "dev_virtio-ports_portcullis.results").read_text()

    return work


def test_the_guest_goes_on_after_a_reboot(machine_of_paper):
    words = "root=/dev/vda portcullis.work=all quiet"
    said = machine_of_paper(words)
    assert said.endswith("#host reboot\n") and "#done" not in said
    said = machine_of_paper(words)
    assert said.endswith("1..5\n#done 0\n")
    results = read_results(parse_ktap(said))
    assert results.pop("bad").startswith("failed: status 1")
    assert results == {"good": "passed", "absent": "skipped: no such thing", "again": "passed", "last": "passed"}


def test_the_guest_does_what_it_is_asked(machine_of_paper):
    assert read_results(parse_ktap(machine_of_paper("portcullis.work=good,last"))) == {
        "good": "passed",
        "last": "passed",
    }


def run(mode="off", results=None, complaints=(), trouble=""):
    return Run(mode, "", results or {"gcc": "passed", "swap": "passed"}, tuple(complaints), trouble)


def test_runs_side_by_side():
    good = (run(), run("enforce"))
    assert rows(good) == [("gcc", "passed", "passed"), ("swap", "passed", "passed"), ("reports", "0", "0")]
    assert differences(good) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (run("enforce", {"gcc": "failed: 1", "swap": "passed"}), ["enforce: gcc failed: 1", "gcc differs"]),
        (run("enforce", {"gcc": "passed"}), ["swap differs: passed, -"]),
        (run("audit", complaints=["kpkeys: violation: x"]), ["audit: kpkeys: violation: x"]),
        (run("enforce", trouble="the guest died"), ["enforce: the guest died"]),
    ],
)
def test_what_is_wrong_with_a_run(other, said):
    found = differences((run(), other))
    assert len(found) == len(said)
    assert all(text in line for text, line in zip(said, found, strict=True))


def test_results_of_parts():
    said = "KTAP version 1\nok 1 - gcc\nnot ok 2 - swap # status 3\nok 3 - dax # SKIP no memory\n1..3\n"
    assert read_results(parse_ktap(said)) == {
        "gcc": "passed",
        "swap": "failed: status 3",
        "dax": "skipped: no memory",
    }


def test_what_is_skipped_is_neither_wrong_nor_passed(capsys):
    skipped = run("off", {"dax": "skipped: no memory"})
    assert differences((skipped, run("enforce", {"dax": "skipped: too little"}))) == []
    assert differences((skipped, run("enforce", {"dax": "passed"}))) == ["dax differs: skipped: no memory, passed"]
    assert vm.report((skipped,), as_json=False) == 0
    assert "every part that was not skipped passed" in capsys.readouterr().out
    assert vm.report((run(),), as_json=False) == 0
    assert "every part passed" in capsys.readouterr().out


def test_work_has_two_nodes_and_devices_to_map():
    machine = vm.working(Machine(cpus=2, append="quiet"), "audit", "gcc")
    assert (machine.mode, machine.nodes, machine.mapped_devices) == ("audit", 2, True)
    assert machine.append == "root=/dev/vda rw systemd.show_status=0 vga=0x317 portcullis.work=gcc quiet"
    assert vm.working(Machine(cpus=3), "off", "gcc").nodes == 1
    assert not vm.working(Machine(arch="arm64"), "off", "gcc").mapped_devices


def test_devices_to_map_and_room_for_them():
    files = Files(Path("k"), None, Path("c"), Path("r"), Path("m"))
    words = qemu_command(Machine(memory=1024, mapped_devices=True), files)
    assert "1024M,slots=8,maxmem=1536M" in words
    assert {"virtio-pmem-pci,memdev=storage", "virtio-gpu-pci", "bochs-display"} <= set(words)
    assert "1024M" in qemu_command(Machine(memory=1024), files)


class Recorder:
    """A monitor that notes what it is asked."""

    def __init__(self):
        self.asked, self.events = [], []

    def poll(self):
        events, self.events = self.events, []
        return events

    def command(self, name, **arguments):
        self.asked.append((name, arguments))


def test_a_guest_that_asks_may_reboot_once(tmp_path):
    files = Files(Path("k"), None, tmp_path / "console", tmp_path / "results", Path("m"))
    machine = VirtualMachine(Machine(), files)
    machine.monitor = monitor = Recorder()
    assert "-no-reboot" in qemu_command(Machine(), files)
    machine._serve("ok 1 - gcc\n#host reboot\n", 0.0, False)
    assert monitor.asked == [("set-action", {"reboot": "reset"})]
    monitor.events = [("RESET", {})]
    machine._serve("ok 1 - gcc\n#host reboot\n", 0.0, False)
    assert monitor.asked[1:] == [("set-action", {"reboot": "shutdown"})]


def test_a_user_may_reboot():
    assert "-no-reboot" not in interactive_command(Machine(), Path("k"), None, disk=Path("d"))
    assert "-no-reboot" in interactive_command(Machine(), Path("k"), Path("i"))


def test_a_job_gets_a_copy_of_the_disk_and_a_user_the_disk():
    machine = Machine(append="root=/dev/vda rw")
    files = Files(Path("k"), None, Path("c"), Path("r"), Path("m"), disk=Path("d"))
    words = qemu_command(machine, files)
    assert "-initrd" not in words and any("file=d,snapshot=on" in word for word in words)
    words = interactive_command(machine, Path("k"), None, disk=Path("d"))
    assert any(word.endswith("file=d") for word in words) and not any("portcullis.job" in word for word in words)


def test_unknown_work_is_refused(workspace):
    given = Namespace(list=False, work="nothing")
    with pytest.raises(ToolError, match="no work 'nothing'"):
        vm.run(workspace, given)


def test_a_kernel_that_does_not_find_the_disk_is_refused(workspace):
    with pytest.raises(ToolError, match="lane xen does not find the disk"):
        vm.run(workspace, Namespace(list=False, work=None, lane="xen"))


def test_a_disk_is_made_once(workspace, monkeypatch):
    made = []
    monkeypatch.setattr(UserLand, "_debootstrap", lambda self, names: made.append("root"))

    def make_disk(self, own):
        made.append("disk")
        self.disk.touch()

    monkeypatch.setattr(UserLand, "_make_disk", make_disk)
    monkeypatch.setattr("portcullis.host.userland.free_mib", lambda _: 9999)
    land = UserLand(workspace, Commands(), "trixie", "x86")
    land.make()
    assert land.make() == land.disk and made == ["root", "disk"]
    land.make(fresh=True)
    assert made == ["root", "disk", "disk"]


def test_no_room_for_a_disk(workspace, monkeypatch):
    monkeypatch.setattr("portcullis.host.userland.free_mib", lambda _: 10)
    with pytest.raises(ToolError, match="10 MiB are free"):
        UserLand(workspace, Commands(), "trixie", "x86").make()
