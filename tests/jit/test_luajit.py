# SPDX-License-Identifier: GPL-2.0-only
"""LuaJIT on jitgate: on this machine, with keys in guests, and what its machine code costs by calls and by keys."""

from kit.case import SWITCHED_OFF, Case, cases
from kit.checks import problems_of_boot
from kit.jit import NO_USER_KEYS, assert_all_passed, assert_guest, guest
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.arches import ARCHES
from portcullis.core.luajit import LAYOUTS
from portcullis.core.machine import Machine
from portcullis.host.luajit import LuaJit, build
from portcullis.host.luajit_bench import counted_in, guest_initramfs, guest_machine
from portcullis.host.luajit_tests import LuaJitTests
from portcullis.lab.luajit_bench import KEYED, LIMIT, STOCK
from portcullis.lab.luajit_counts import ONE_TRACE, problems_of_counted
from portcullis.lab.luajit_page import count_summary

JOB = "luajit-tests"
VARIANTS = (STOCK, LIMIT, KEYED)
# Many traces in new functions, many side traces, few of them.
COUNTED = (ONE_TRACE, "fasta", "life", "mandelbrot_bit")
QUICK = {"iterations": 2, "size": "quick", "seeds": 1}


def layout_of_case(name: str) -> str:
    """The layout of LuaJIT's sources that a case is about."""
    return name.removeprefix("jit-luajit-").split("-")[0]


def _tests(case: Case, machinery: Machinery) -> LuaJitTests:
    layout = layout_of_case(case.name)
    return LuaJitTests(LuaJit(machinery.workspace, machinery.commands, machinery.jobs, layout))


HERE = (
    Case("jit-luajit-2022", "LuaJIT of Debian 12: ours and its own tests on this machine"),
    Case("jit-luajit-2026", "the same, with the newest layout of its sources", long=True),
)


@cases(*HERE)
def test_here(case: Case, machinery: Machinery, row: Row) -> None:
    assert_all_passed(_tests(case, machinery).checks(), row)


GUESTS = (
    guest("jit-luajit-2022-guest-x86", "protection keys (PKU)", JOB),
    guest("jit-luajit-2022-guest-arm64", "protection keys (POE)", JOB, arch="arm64"),
    guest("jit-luajit-2022-guest-x86-nokeys", "a CPU without PKU", JOB, long=True, cpu=NO_USER_KEYS),
    guest("jit-luajit-2026-guest-x86", "the newest layout, PKU", JOB, long=True),
    guest("jit-luajit-2026-guest-arm64", "the newest layout, POE", JOB, long=True, arch="arm64"),
)


@cases(*GUESTS)
def test_guest(case: Case, machinery: Machinery, row: Row) -> None:
    assert_guest(case, machinery, row, f"LuaJIT {layout_of_case(case.name)}", _tests(case, machinery).initramfs)


def _counted(arch: str, keys: str) -> Case:
    what = f"LuaJIT on jitgate makes no system call for a trace, {keys}; stock makes two and more"
    machine: Machine = guest_machine(arch, (*VARIANTS, *COUNTED), QUICK, timeout=240.0)
    return Case(f"jit-luajit-counts-{arch}", what, machine=machine, console=(SWITCHED_OFF,))


@cases(_counted("x86", "PKU"), _counted("arm64", "POE"))
def test_counts(case: Case, machinery: Machinery, row: Row) -> None:
    """What three variants of LuaJIT count in a guest, held against what is claimed of them."""
    machine = ARCHES[case.arch].machine
    built = {variant: build(machinery.workspace, variant, machine) for variant in VARIANTS}
    initramfs = machinery.once.make(
        f"{case.arch} guest with variants of LuaJIT",
        lambda: guest_initramfs(machinery.workspace, machinery.commands, case.arch, built),
    )
    boot = machinery.boot(case, plugin=machinery.plugin(), initramfs=initramfs)
    problems = problems_of_boot(case, boot.results, boot.console, boot.trouble)
    found = counted_in(boot)
    row.assert_none([*problems, *problems_of_counted(found, COUNTED)], log=boot.folder)
    row.note(count_summary(found))


def test_every_layout_is_tested() -> None:
    assert {layout_of_case(case.name) for case in (*HERE, *GUESTS)} == set(LAYOUTS)
