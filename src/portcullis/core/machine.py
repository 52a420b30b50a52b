# SPDX-License-Identifier: GPL-2.0-only
"""Describes a virtual machine and plans the QEMU command line for it."""

from dataclasses import dataclass
from pathlib import Path

# of QEMU's command line, by architecture: board, console, what switches protection keys off
BOARDS = {"x86": "", "arm64": "virt,gic-version=3"}
CONSOLES = {"x86": "ttyS0", "arm64": "ttyAMA0"}
NO_KEYS = {"x86": "-pks", "arm64": "poe=off"}
# Mechanisms below the protection; the first one is that of the CPU's keys.
BACKENDS = {"x86": ("pks", "wp"), "arm64": ("poe",)}
AUTO = "auto"  # the kernel chooses
NO_BACKEND = "none"  # what a kernel that stays off has
CPUS_WITH_KEYS = ("max",)  # of all CPUs that the emulators have
EFI_FIRMWARE = {"x86": "/usr/share/ovmf/OVMF.fd", "arm64": "/usr/share/qemu-efi-aarch64/QEMU_EFI.fd"}
RESULTS_PORT = "portcullis.results"
FIRMWARE_WORDS = "opt/portcullis/words"  # guest/userland/run reads it
KERNEL_PROBES = "kpkeys_kernel_probes=1"  # ftrace, kprobes and live patches, which a protected kernel refuses
PATIENT_RCU = "rcupdate.rcu_cpu_stall_timeout=60"  # seconds; by default 21, which a busy host may not give a guest
MODES = ("off", "audit", "enforce")
MOST_ICOUNT = 10
COMMAND_LINE_SIZE = 2048  # of both kernels, which forget the rest; guest/lib/files.h has the same number
JOB_WORDS = 128  # that the guest's init takes: MAX_WORDS in guest/lib/words.h
# Whatever else differs from run to run: what the CPU and the firmware call random, and the time of day.
REPEATABLE = ("-seed", "1", "-rtc", "base=2026-01-01T00:00:00,clock=vm")
# What kernels of lane lab can be: the protection of this project, and others to measure against.
DESIGNS = ("per-write", "rfc", "portcullis")
# What the linear map of arm64 is made of, where the emulator's CPU is trusted to split it or not.
LINEAR_MAPS = {"blocks": "live_split=force", "pages": "live_split=off"}


@dataclass(frozen=True)
class Machine:
    """What to boot. Memory is in MiB, `timeout` in seconds; None leaves a choice to the kernel.

    `job` is what the guest's init runs, words with commas between them. A job of the lab is a machine with such words.
    `pks` is whether the CPU has protection keys for the kernel; `la57` and `gbpages` are of x86 only, `linear_map` of
    arm64. `backend` forces a mechanism, `design` is for kernels of lane lab. `icount` makes runs repeatable, on one
    CPU: an instruction takes 2**icount ns of the guest's time, and nothing else passes it.
    """

    job: str = ""
    mode: str | None = "enforce"
    backend: str | None = None
    cpus: int = 2
    memory: int = 1024
    max_memory: int = 0
    nodes: int = 1
    cpu: str = "max"
    pks: bool = True
    la57: bool = True
    gbpages: bool = True
    pti: bool | None = None
    append: str = ""
    kunit: bool = False
    efi: bool = False
    timeout: float = 120.0
    silence: float = 0.0  # seconds without a word behind a report, after which a guest hangs; 0 is for ever
    arch: str = "x86"
    design: str | None = None
    linear_map: str | None = None
    board: str = ""  # more properties of the board, separated by commas
    icount: int | None = None
    where: bool = False  # of the plugin that counts: note the addresses that write the register of the keys
    tlb: str = ""  # of the plugin that counts, on one CPU: the options of its TLB, as docs/lab.md has them
    mapped_devices: bool = False  # devices whose memory programs map (x86)

    def __post_init__(self) -> None:
        if self.icount is not None and (self.cpus != 1 or not 0 <= self.icount <= MOST_ICOUNT):
            raise ValueError(f"icount is 0 to {MOST_ICOUNT}, and for one CPU")
        if self.tlb and self.cpus != 1:
            raise ValueError("the model of a TLB is for one CPU")


def cpu_argument(machine: Machine) -> str:
    """Value of -cpu."""
    flags = [machine.cpu]
    if not machine.pks:
        flags.append(NO_KEYS[machine.arch])
    if machine.arch == "x86" and not machine.la57:
        flags.append("-la57")
    if machine.arch == "x86" and not machine.gbpages:
        flags.append("-pdpe1gb")
    return ",".join(flags)


def kernel_command_line(machine: Machine, interactive: bool = False) -> str:
    """Value of -append.

    `panic=-1` turns a panic into the end of QEMU. KUnit tests are built in and run only when asked for.
    """
    words = [f"console={CONSOLES[machine.arch]}", "panic=-1", PATIENT_RCU, f"kunit.enable={int(machine.kunit)}"]
    if machine.arch == "x86":
        words.append("no_timer_check")
    words += _protection(machine)
    if machine.icount is not None or machine.where:
        words.append("nokaslr")
    if machine.pti is not None:
        words.append(_isolation(machine.arch, machine.pti))
    if machine.design is not None:
        words.append(f"kpkeys_design={machine.design}")
    if machine.linear_map is not None:
        words.append(LINEAR_MAPS[machine.linear_map])
    if machine.job:
        words.append(f"portcullis.job={machine.job}")
    elif interactive:
        words.append("portcullis.job=shell")
    if machine.append:
        words.append(machine.append)
    return " ".join(words)


def command_line_fault(machine: Machine) -> str:
    """What the kernel or the guest's init would not take of the command line, empty when they take all of it."""
    size = len(kernel_command_line(machine).encode())
    if size >= COMMAND_LINE_SIZE:
        return f"a kernel command line of {size} bytes, and {COMMAND_LINE_SIZE - 1} fit"
    words = machine.job.count(",") + 1
    return f"a job of {words} words, and {JOB_WORDS} fit" if words > JOB_WORDS else ""


def _protection(machine: Machine) -> list[str]:
    backend = None if machine.backend == AUTO else machine.backend
    chosen = [word for word in (machine.mode, backend) if word]
    return [f"kpkeys={','.join(chosen)}"] if chosen else []


def has_keys(machine: Machine) -> bool:
    """Whether the CPU has protection keys for the kernel."""
    model, *flags = cpu_argument(machine).split(",")
    return model in CPUS_WITH_KEYS and NO_KEYS[machine.arch] not in flags


def backend_of(machine: Machine) -> str:
    """The backend that a kernel takes on this machine unless its mode is off."""
    keys, *others = BACKENDS[machine.arch]
    usable = [*([keys] if has_keys(machine) else []), *others]
    if machine.backend in (None, AUTO):
        return usable[0] if usable else NO_BACKEND
    return machine.backend if machine.backend in usable else NO_BACKEND


def _isolation(arch: str, on: bool) -> str:
    return f"pti={'on' if on else 'off'}" if arch == "x86" else f"kpti={int(on)}"


@dataclass(frozen=True)
class Files:
    """Files that QEMU reads and writes, and QEMU itself; `plugin` is one that counts, into `counts`.

    There is an initramfs or a `disk`, of which a job gets a copy that is thrown away, as of the `more` disks; what it
    writes to those that are `kept`, which come before, stays. Without a kernel the firmware boots what is on the disk.
    """

    kernel: Path | None
    initramfs: Path | None
    console: Path
    results: Path
    monitor: Path
    emulator: str = "qemu-system-x86_64"
    plugin: Path | None = None
    disk: Path | None = None
    kept: tuple[Path, ...] = ()
    more: tuple[Path, ...] = ()

    @property
    def counts(self) -> Path:
        """What the plugin writes."""
        return self.results.with_name("counts.jsonl")


# Devices whose memory programs map: storage that is memory, three graphics cards, of which the first one is the
# firmware's and has no driver of its own, and memory of a PCI device that no driver takes.
STORAGE_MIB = 512
_MAPPED_DEVICES = (
    *(
        "-object",
        f"memory-backend-memfd,id=storage,size={STORAGE_MIB}M,share=on",
        "-device",
        "virtio-pmem-pci,memdev=storage",
    ),
    *("-device", "cirrus-vga", "-device", "bochs-display", "-device", "virtio-gpu-pci"),
    *("-object", "memory-backend-ram,id=shared,size=4M,share=on", "-device", "ivshmem-plain,memdev=shared"),
)
FRAME_BUFFER = "vga=0x317"  # 1024x768 by the firmware: for the frame buffer


def qemu_command(machine: Machine, files: Files) -> list[str]:
    """Command line for a job: console and results go to files, QMP listens on a socket."""
    return [
        files.emulator,
        *_common(machine, files.kernel, files.initramfs),
        *(_disk(files.disk, ",snapshot=on") if files.disk else []),
        *(word for number, path in enumerate(files.kept) for word in _drive(path, f"kept{number}", "")),
        *(word for number, path in enumerate(files.more) for word in _drive(path, f"more{number}", ",snapshot=on")),
        *(_MAPPED_DEVICES if machine.mapped_devices else ()),
        *_said(machine, files.kernel, kernel_command_line(machine)),
        "-display",
        "none",
        "-serial",
        f"file:{files.console}",
        "-device",
        # Another thread would serve the device, in its own time.
        "virtio-serial-pci" + ("" if machine.icount is None else ",ioeventfd=off"),
        "-chardev",
        f"file,id=results,path={files.results}",
        "-device",
        f"virtserialport,chardev=results,name={RESULTS_PORT}",
        "-qmp",
        f"unix:{files.monitor},server=on,wait=off",
        *(
            ["-plugin", ",".join([f"{files.plugin},out={files.counts}", *_plugin_options(machine)])]
            if files.plugin
            else []
        ),
    ]


def _plugin_options(machine: Machine) -> list[str]:
    return [*filter(None, [machine.tlb, "where=on" if machine.where else ""])]


def _said(machine: Machine, kernel: Path | None, line: str) -> list[str]:
    """The kernel's command line; a boot loader makes its own, and the guest finds ours in the firmware's."""
    if kernel:
        return ["-append", line]
    words = machine.append.replace(",", ",,")  # where QEMU would begin another option
    return ["-fw_cfg", f"name={FIRMWARE_WORDS},string={words}"]


def interactive_command(
    machine: Machine,
    kernel: Path | None,
    initramfs: Path | None,
    emulator: str = "qemu-system-x86_64",
    disk: Path | None = None,
) -> list[str]:
    """Command line for a person: the serial console is the terminal, Ctrl-A X ends QEMU.

    With a `disk` the guest is what is on it, and has a network; what it writes there stays, and it may reboot.
    """
    return [
        emulator,
        *_common(machine, kernel, initramfs, reboots=disk is not None),
        *([*_disk(disk), "-nic", "user,model=virtio-net-pci"] if disk else []),
        *_said(machine, kernel, kernel_command_line(machine, interactive=disk is None)),
        "-display",
        "none",
        "-serial",
        "mon:stdio",
    ]


def _disk(path: Path, options: str = "") -> list[str]:
    return [*_drive(path, "root", options), "-device", "virtio-rng-pci"]


def _drive(path: Path, name: str, options: str) -> list[str]:
    drive = f"if=none,id={name},format=raw,discard=unmap,file={path}{options}"
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive={name}"]


def _common(machine: Machine, kernel: Path | None, initramfs: Path | None, reboots: bool = False) -> list[str]:
    memory = f"{machine.memory}M"
    most = max(machine.max_memory, machine.memory + STORAGE_MIB if machine.mapped_devices else 0)
    if most > machine.memory:
        memory += f",slots=8,maxmem={most}M"
    firmware = ["-bios", EFI_FIRMWARE[machine.arch]] if machine.efi else []
    cpus = str(machine.cpus) if machine.nodes == 1 else f"{machine.cpus},sockets={machine.nodes}"
    return [
        *_board(machine),
        *firmware,
        *_clock(machine),
        "-cpu",
        cpu_argument(machine),
        "-smp",
        cpus,
        "-m",
        memory,
        *_numa(machine),
        "-nodefaults",
        *([] if reboots else ["-no-reboot"]),
        *(["-kernel", str(kernel)] if kernel else []),
        *(["-initrd", str(initramfs)] if initramfs else []),
    ]


def _clock(machine: Machine) -> list[str]:
    if machine.icount is None:
        return ["-accel", "tcg,thread=multi"]
    return ["-accel", "tcg,thread=single", "-icount", f"shift={machine.icount},sleep=off", *REPEATABLE]


def _board(machine: Machine) -> list[str]:
    properties = [part for part in (BOARDS[machine.arch], machine.board) if part]
    return ["-machine", ",".join(properties)] if properties else []


def _numa(machine: Machine) -> list[str]:
    """Memory and CPUs in equal parts on each node."""
    if machine.nodes == 1:
        return []
    size, share = machine.memory // machine.nodes, machine.cpus // machine.nodes
    words = []
    for node in range(machine.nodes):
        first = node * share
        words += ["-object", f"memory-backend-ram,id=ram{node},size={size}M"]
        words += ["-numa", f"node,nodeid={node},memdev=ram{node},cpus={first}-{first + share - 1}"]
    return words
