# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of what LuaJIT's machine code costs by system calls and by keys, counted in guests."""

from portcullis.core.machine import Machine
from portcullis.host.luajit_bench import guest_machine
from portcullis.lab.luajit_bench import KEYED, LIMIT, STOCK
from portcullis.lab.luajit_counts import ONE_TRACE
from portcullis.suite.case import SWITCHED_OFF, Case

VARIANTS = (STOCK, LIMIT, KEYED)
# Many traces in new functions, many side traces, few of them.
COUNTED = (ONE_TRACE, "fasta", "life", "mandelbrot_bit")
QUICK = {"iterations": 2, "size": "quick", "seeds": 1}


def _machine(arch: str) -> Machine:
    return guest_machine(arch, (*VARIANTS, *COUNTED), QUICK, timeout=240.0)


LUAJIT_COUNTS = tuple(
    Case(
        f"jit-luajit-counts-{arch}",
        "luajit-counts",
        f"LuaJIT on jitgate makes no system call for a trace, {keys}; stock makes two and more",
        machine=_machine(arch),
        console=(SWITCHED_OFF,),
    )
    for arch, keys in (("x86", "PKU"), ("arm64", "POE"))
)
