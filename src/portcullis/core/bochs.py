# SPDX-License-Identifier: GPL-2.0-only
"""Plans a boot under Bochs, an emulator with CPUs that QEMU does not have: Tiger Lake, which has CET and no PKS."""

from portcullis.core.machine import Machine, kernel_command_line

ISO = "boot.iso"
SERIAL = "console.log"
ENTER = "c\n"  # builds with Bochs' debugger wait to be told to continue


def grub_menu(machine: Machine) -> str:
    """A boot menu with one entry, whose files are in /boot."""
    return (
        "set timeout=0\n"
        f"menuentry kernel {{\n\tlinux /boot/kernel {kernel_command_line(machine)}\n\tinitrd /boot/initramfs\n}}\n"
    )


def configuration(machine: Machine) -> str:
    """Bochs' configuration file: boots ISO, the first serial line goes to SERIAL, the screen to a VNC port."""
    return "\n".join(
        (
            # A guest's second is so many instructions, not real time.
            f"cpu: model={machine.cpu}, count={machine.cpus}, ips=100000000, reset_on_triple_fault=0",
            "clock: sync=none",
            f"memory: guest={machine.memory}, host={machine.memory}",
            "romimage: file=/usr/share/bochs/BIOS-bochs-latest",
            "vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest",
            "ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14",
            f"ata0-master: type=cdrom, path={ISO}, status=inserted",
            "boot: cdrom",
            f"com1: enabled=1, mode=file, dev={SERIAL}",
            # Without a sound card the mixer of Bochs 2.7 may overrun a buffer.
            "sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy",
            "speaker: enabled=0",
            'display_library: rfb, options="timeout=0"',
            "log: bochs.log",
            "panic: action=fatal",
            "",
        )
    )
