# SPDX-License-Identifier: GPL-2.0-only
"""Boots under Bochs."""

from portcullis.core.bochs import ISO, SERIAL, configuration, grub_menu
from portcullis.core.machine import Machine

MACHINE = Machine(job="check", cpu="tigerlake", cpus=1, memory=512, append="ibt=off")


def test_menu_starts_the_kernel_with_its_command_line() -> None:
    menu = grub_menu(MACHINE)
    assert "linux /boot/kernel console=ttyS0 " in menu
    assert " kpkeys=enforce portcullis.job=check ibt=off\n" in menu
    assert "initrd /boot/initramfs\n" in menu


def test_configuration_has_cpu_memory_and_files() -> None:
    lines = configuration(MACHINE).splitlines()
    assert lines[0].startswith("cpu: model=tigerlake, count=1, ")
    assert "memory: guest=512, host=512" in lines
    assert f"ata0-master: type=cdrom, path={ISO}, status=inserted" in lines
    assert f"com1: enabled=1, mode=file, dev={SERIAL}" in lines
