# SPDX-License-Identifier: GPL-2.0-only
"""How much code Portcullis adds to a kernel."""

from pathlib import Path

from portcullis.core.elf import Image
from portcullis.core.kconfig import different_options, parse_config

# Options that come with Portcullis; kernels that differ in others as well cannot be compared.
OWN_OPTIONS = ("CONFIG_KPKEYS", "CONFIG_ARCH_HAS_KPKEYS", "CONFIG_MMU_GATHER_")
LAB_OBJECTS = ("mm/kpkeys/lab.o", "mm/kpkeys/designs.o")
TEST_OBJECTS = ("mm/kpkeys/attack*.o", "mm/kpkeys/*_test.o", "mm/kpkeys/test_*.o", "arch/*/mm/*_test.o", *LAB_OBJECTS)
STOCK_OF = {"lab": "lab-stock"}  # lanes that are compared with another one than stock


def text_growth(image: Path) -> int | None:
    """Bytes of code more than in the stock kernel; None when that one is not built, or from other options.

    What only kernels for tests and measurements have does not count. Read from vmlinux.o: the linker pads the code of
    vmlinux to 2 MiB.
    """
    folder = image.parents[3]
    name, _, lane = folder.name.rpartition("-")
    stock = folder.with_name(f"{name}-{STOCK_OF.get(lane, 'stock')}")
    try:
        configs = [parse_config((path / ".config").read_text()) for path in (folder, stock)]
        if any(not name.startswith(OWN_OPTIONS) for name in different_options(*configs)):
            return None
        tests = [path for pattern in TEST_OBJECTS for path in folder.glob(pattern)]
        return code_size(folder / "vmlinux.o") - code_size(stock / "vmlinux.o") - sum(map(code_size, tests))
    except (OSError, ValueError):
        return None


def code_size(path: Path) -> int:
    """Bytes of machine code in an object file."""
    return Image(path.read_bytes()).code_size()
