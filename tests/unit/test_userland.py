# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's configuration and user land: what is fetched, made, booted, and read from it."""

import os
import re
import subprocess
import tarfile
import time
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
from portcullis.core.machine import KERNEL_PROBES, Files, Machine, interactive_command, qemu_command
from portcullis.core.packages import listed_names
from portcullis.core.results import parse_results
from portcullis.core.splats import scan_console
from portcullis.core.userland import (
    DIES,
    Run,
    differences,
    part_name,
    read_results,
    rows,
    without_asked_death,
)
from portcullis.errors import ToolError
from portcullis.host.builder import BUILT_STAMP, Builder, BuildOptions, Built
from portcullis.host.flavour import flavour_config
from portcullis.host.installing import Installation
from portcullis.host.process import Commands, Finished
from portcullis.host.userland import PACKAGES, UserLand, further_disks
from portcullis.host.vm import RESET_TIME, Boot, VirtualMachine
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
    plain = {
        "lane": "default",
        "tree": None,
        "kernel": "6.12",
        "config": [],
        "base_config": None,
        "jobs": 1,
        "arch": "x86",
    }
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
        "modules.config",
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
    parts = [path.read_text() for path in OURS.glob("*.d/*")]
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
    """The guest's `run` and `work`, with five parts, in a folder that stands for the guest."""
    parts = tmp_path / "work.d"
    parts.mkdir()
    (parts / "10-good").write_text("true\n")
    (parts / "20-absent").write_text('echo "SKIP no such thing"\nexit 77\n')
    (parts / "30-bad").write_text("false\n")
    (parts / "40-again").write_text('[ -n "$resumed" ] || exit 88\n')
    (parts / "50-last").write_text('[ -z "$resumed" ]\n')
    port, firmware = (
        "/dev/virtio-ports/portcullis.results",
        "/sys/firmware/qemu_fw_cfg/by_name/opt/portcullis/words/raw",
    )
    for name, paths in (("work", (port, "/var/lib/portcullis-work", "/run/")), ("run", ("/proc/cmdline", firmware))):
        text = (OURS / name).read_text()
        for path in paths:
            assert path in text
            text = text.replace(path, f"{tmp_path}/{path.strip('/').replace('/', '_')}")
        text = text.replace('exec 3>"$port"', 'exec 3>>"$port"')  # a port keeps what was written
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "tests").write_text("#!/bin/sh\n")
    (tmp_path / firmware.strip("/").replace("/", "_")).write_text("")
    (tmp_path / "systemctl").write_text("#!/bin/sh\n")
    (tmp_path / "systemctl").chmod(0o755)

    def work(words, firmware_says=""):
        (tmp_path / "proc_cmdline").write_text(words + "\n")
        (tmp_path / firmware.strip("/").replace("/", "_")).write_text(firmware_says)
        subprocess.run(["sh", tmp_path / "run"], check=True)
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


def test_what_is_on_trial_runs_by_name_only(machine_of_paper, tmp_path):
    (tmp_path / "trial.d").mkdir()
    (tmp_path / "trial.d/10-new").write_text("true\n")
    assert read_results(parse_ktap(machine_of_paper("portcullis.work=good,new"))) == {"good": "passed", "new": "passed"}
    machine_of_paper("portcullis.work=all")
    assert " - new" not in machine_of_paper("portcullis.work=all").rpartition("KTAP version 1")[2]


def test_the_firmware_asks_where_a_boot_loader_makes_the_command_line(machine_of_paper):
    said = machine_of_paper("root=LABEL=portcullis", firmware_says="root=/dev/vda portcullis.work=good")
    assert read_results(parse_ktap(said)) == {"good": "passed"}


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
    machine = vm.working(Machine(cpus=2, append="quiet"), "audit", "portcullis.work=gcc")
    assert (machine.mode, machine.nodes, machine.mapped_devices) == ("audit", 2, True)
    quiet = f"root=/dev/vda rw systemd.show_status=0 {KERNEL_PROBES}"
    assert machine.append == f"{quiet} vga=0x317 portcullis.work=gcc quiet"
    assert "resume=/dev/vdb crashkernel=256M " in vm.working(Machine(), "off", "work=hibernation,kdump").append
    assert vm.working(Machine(cpus=3), "off", "").nodes == 1
    assert not vm.working(Machine(arch="arm64"), "off", "").mapped_devices


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
    assert len(monitor.asked) == 1
    machine._serve("ok 1 - gcc\n#host reboot\n", RESET_TIME, False)
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


def test_a_job_has_further_disks_behind_the_one_of_its_root():
    files = Files(Path("k"), None, Path("c"), Path("r"), Path("m"), disk=Path("d"), more=(Path("s"), Path("t")))
    words = qemu_command(Machine(), files)
    drives = [word for word in words if word.startswith("if=none")]
    assert [drive.rpartition("file=")[2] for drive in drives] == [f"{name},snapshot=on" for name in "dst"]
    assert [word for word in words if word.startswith("virtio-blk")] == [
        f"virtio-blk-pci,drive={name}" for name in ("root", "more0", "more1")
    ]


def test_what_is_written_to_kept_disks_stays_and_they_come_behind_the_roots():
    files = Files(
        Path("k"), None, Path("c"), Path("r"), Path("m"), disk=Path("d"), kept=(Path("e"),), more=(Path("t"),)
    )
    drives = [word.rpartition("file=")[2] for word in qemu_command(Machine(), files) if word.startswith("if=none")]
    assert drives == ["d,snapshot=on", "e", "t,snapshot=on"]


def test_without_a_kernel_the_firmware_boots_and_says_what_is_asked():
    machine = Machine(efi=True, append="portcullis.work=gcc")
    job = qemu_command(machine, Files(None, None, Path("c"), Path("r"), Path("m"), disk=Path("d")))
    user = interactive_command(machine, None, None, disk=Path("d"))
    for words in (job, user):
        assert not {"-kernel", "-append"} & set(words) and "-bios" in words
        assert "name=opt/portcullis/words,string=portcullis.work=gcc" in words


def test_an_installed_kernel_chooses_its_mode():
    given = {"mode": "all", "backend": "auto"}
    vm._look_at_mode(Namespace(**given))
    for wrong in ({"mode": "audit"}, {"backend": "wp"}):
        with pytest.raises(ToolError, match="enforce"):
            vm._look_at_mode(Namespace(**{**given, **wrong}))


def installation(workspace, monkeypatch, boot):
    """An installation whose packages and boots are of paper; the list says what was done."""
    done = []
    built = Built(workspace.cache / "image", workspace.cache, workspace.cache, fresh=True)
    (workspace.cache / BUILT_STAMP).write_text("one")

    def run(self):
        if self.options.deb:
            for name in ("linux-image-6.12_1_amd64.deb", "linux-image-6.12-dbg_1_amd64.deb", "linux-headers_1.deb"):
                package = workspace.cache.parent / name
                package.touch()
                os.utime(package, (time.time() + 1,) * 2)  # clocks of files are coarse
        return built

    def run_job(*_, disks, kept, **__):
        with tarfile.open(disks[1]) as tar:
            done.append(tar.getnames())
        kept[0].write_text("disk")
        return boot

    monkeypatch.setattr("portcullis.host.builder.Builder.run", run)
    monkeypatch.setattr("portcullis.host.installing.run_job", run_job)
    land = UserLand(workspace, Commands(), "trixie", "x86")
    land.folder.mkdir(parents=True)
    land.disk.touch()
    monkeypatch.setattr(UserLand, "make", lambda self: self.disk)
    made = Installation(workspace, Commands(), land, BuildOptions(lane="debian-cloud-thin"))
    return lambda: made.make(built, Machine(), "qemu"), made.disk, done


def boot_of(text, trouble=""):
    return Boot(parse_results(text), text, "", Path("logs"), 1.0, trouble)


def test_packages_are_installed_once_for_each_kernel(tmp_path, monkeypatch):
    workspace = Workspace(ROOT, tmp_path / "cache")
    workspace.cache.mkdir()
    make, disk, done = installation(workspace, monkeypatch, boot_of("KTAP version 1\nok 1 - install\n1..1\n#done 0\n"))
    assert make() == make() == disk and disk.read_text() == "disk"
    assert done == [["linux-image-6.12_1_amd64.deb"]]
    (workspace.cache / BUILT_STAMP).write_text("two")
    make()
    assert len(done) == 2


@pytest.mark.parametrize(
    "boot", [boot_of("KTAP version 1\nnot ok 1 - install\n1..1\n#done 0\n"), boot_of("", "the guest died")]
)
def test_packages_that_cannot_be_installed_leave_no_disk(tmp_path, monkeypatch, boot):
    workspace = Workspace(ROOT, tmp_path / "cache")
    workspace.cache.mkdir()
    make, disk, _ = installation(workspace, monkeypatch, boot)
    with pytest.raises(ToolError, match="could not be installed"):
        make()
    assert not disk.exists() and not list(disk.parent.glob("*.partial"))


def test_further_disks_are_empty_and_the_kernel_with_its_modules(tmp_path):
    (tmp_path / "lib").mkdir()
    for name, text in (("bzImage", "image"), ("lib/one.ko", "1"), ("modules.order", "lib/one.o\n")):
        (tmp_path / name).write_text(text)
    with further_disks(Built(tmp_path / "bzImage", tmp_path, tmp_path, fresh=True)) as (spare, archive):
        assert spare.stat().st_size == 1 << 30 and spare.stat().st_blocks == 0
        with tarfile.open(archive) as tar:
            assert tar.getnames() == ["image", "modules/one.ko"]
    assert not spare.exists()


def test_a_kernel_that_is_made_to_die_is_not_complained_of_unless_by_the_protection():
    console = (
        "WARNING: before\nportcullis: this kernel is made to die\nKernel panic - not syncing: sysrq\n"
        "kpkeys: violation: write to page table\nLinux version 6.12\nBUG: after\n"
    )
    assert [splat.line for splat in scan_console(without_asked_death(console))] == [
        "WARNING: before",
        "kpkeys: violation: write to page table",
        "BUG: after",
    ]
    assert DIES in (OURS / "trial.d/98-kdump").read_text()


def test_unknown_work_is_refused(workspace):
    given = Namespace(list=False, work="nothing")
    with pytest.raises(ToolError, match="no work 'nothing'"):
        vm.run(workspace, given)


def test_a_kernel_that_does_not_find_the_disk_is_refused(workspace):
    with pytest.raises(ToolError, match="lane xen does not find the disk"):
        vm.run(workspace, Namespace(list=False, work=None, tests=None, lane="xen"))


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


@pytest.mark.parametrize(("machine", "runs"), [("x86_64", False), ("x86_64", True), ("aarch64", False)])
def test_a_root_of_another_architecture_needs_a_machine_that_runs_its_programs(workspace, monkeypatch, machine, runs):
    asked, made = [], []
    monkeypatch.setattr("portcullis.host.userland.platform.machine", lambda: machine)
    monkeypatch.setattr("portcullis.host.userland.free_mib", lambda _: 9999)
    monkeypatch.setattr(Commands, "capture", lambda self, words: asked.append(words) or Finished(int(not runs), ""))
    monkeypatch.setattr(UserLand, "_run", lambda self, words, what: made.append(words[0]) or 1 / 0)
    land = UserLand(workspace, Commands(), "trixie", "arm64")
    foreign = machine == "x86_64"
    with pytest.raises(ToolError if foreign and not runs else ZeroDivisionError):
        land.make()
    assert asked == [["arch-test", "arm64"]] * foreign and bool(made) is (runs or not foreign)
