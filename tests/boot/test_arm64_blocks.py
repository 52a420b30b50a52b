# SPDX-License-Identifier: GPL-2.0-only
"""Test cases of arm64's linear map: blocks that are split while in use, and their repainting to pages.

Without the parameter the emulator's CPU is on no list of those that can, so all other cases are those of pages.
"""

from dataclasses import replace

from kit.case import FORCED, REPAINTED, STRESS_TIME, Case, also_newest, boot, cases, kunit
from kit.machinery import Machinery
from kit.row import Row

HAS_PAGES = r"(?s)\A(?!.*live_split: linear map)"
HAS_BLOCKS = r"live_split: linear map of blocks, split while in use \(forced\)"
WAS_REPAINTED = r"live_split: not on every CPU: linear map repainted to pages, \d+ tables"
NOT_REPAINTED = r"live_split: no memory to repaint the linear map: its blocks stay as they are"
REFUSED = r"live_split: CPU1 cannot split mappings in use, and this kernel does: not brought up"
# What KFENCE's own tests provoke.
KFENCE_REPORTS = ("bug",)


def _blocks(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    fields = {"append": FORCED, "console": (HAS_BLOCKS,), **rest}
    return boot(f"arm64-{name}", what, job, mode, arch="arm64", **fields)


def _repainted(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    return _blocks(name, what, job, mode, append=REPAINTED, console=(HAS_BLOCKS, WAS_REPAINTED), **rest)


def _held(name: str, what: str, job: str, mode: str = "enforce", **rest: object) -> Case:
    append = f"{REPAINTED} live_split_tables=10"
    return _blocks(name, what, job, mode, append=append, console=(HAS_BLOCKS, NOT_REPAINTED), long=True, **rest)


SPLITS_TESTED = r"\bok \d+ live-split\b"  # and not left out


def _kunit(name: str, allowed: tuple[str, ...] = (), **rest: object) -> Case:
    case = kunit(f"arm64-{name}", arch="arm64", append=FORCED, console=(HAS_BLOCKS, SPLITS_TESTED), **rest)
    return replace(case, allowed=(*case.allowed, *allowed))


ARM64_BLOCKS = (
    _kunit("blocks-kunit"),
    _blocks("blocks-stress", "stress on a linear map of blocks", "stress", timeout=STRESS_TIME),
    _blocks("blocks-protect", "80% of memory made read-only and writable", "stress,protect", memory=512),
    _blocks("blocks-protect-faulty", "no memory for a split is an error", "stress,protect-faulty", "off"),
    _repainted("repainted-stress", "stress on a map repainted for a CPU", "stress", timeout=STRESS_TIME),
    _blocks(
        "blocks-late-cpu",
        "a late CPU that cannot bear splits is refused",
        "stress,late-cpu",
        append=f"{REPAINTED} maxcpus=1",
        console=(HAS_BLOCKS, REFUSED),
    ),
)


def _of_lane(lane: str, what: str) -> tuple[Case, ...]:
    return (
        _kunit(f"{lane}-blocks-kunit", lane=lane, long=True),
        _blocks(
            f"{lane}-blocks-stress", f"stress on blocks, {what}", "stress", lane=lane, long=True, timeout=STRESS_TIME
        ),
        # Less than 20% of 1 GiB does not suffice for the rest of a kernel with pages of 64 KiB.
        _blocks(
            f"{lane}-blocks-protect", f"80% of memory, {what}", "stress,protect", lane=lane, memory=3072, long=True
        ),
        _repainted(f"{lane}-repainted", f"repainted, {what}", "stress", lane=lane, long=True, timeout=STRESS_TIME),
    )


ARM64_BLOCKS_LONG = (
    _blocks("blocks-off", "stress on blocks, kpkeys=off", "stress", "off", long=True, timeout=STRESS_TIME),
    _blocks("blocks-nopoe", "blocks on a CPU without POE", "stress", pks=False, long=True, timeout=STRESS_TIME),
    _blocks("blocks-audit", "stress on blocks, audit", "stress", "audit", long=True, timeout=STRESS_TIME),
    _blocks("blocks-4cpu", "stress on blocks, 4 CPUs", "stress", cpus=4, pti=True, long=True, timeout=STRESS_TIME),
    _blocks("blocks-3gib", "80% of memory, blocks of 1 GiB", "stress,protect", memory=3072, long=True, timeout=240.0),
    _blocks(
        "pages", "blocks switched off", "check", append=f"{FORCED} live_split=off", console=(HAS_PAGES,), long=True
    ),
    _blocks("blocks-efi", "blocks, from EFI firmware", "check", efi=True, long=True, timeout=240.0),
    _blocks("blocks-fault-injection", "the page allocator fails", "stress,faultinject", long=True, timeout=240.0),
    _blocks(
        "blocks-memory-hotplug",
        "blocks in memory that comes and goes",
        "stress,memhotplug,memhotplug-far,memhotplug-part",
        efi=True,
        max_memory=131072,
        append=f"page_poison=1 {FORCED}",
        long=True,
        timeout=300.0,
    ),
    _held("not-repainted", "a split is refused when the map could not be repainted", "stress,protect-refused"),
    _held(
        "not-repainted-off",
        "and what needs none works",
        "stress,protect-refused,fork-exec,threads,vmalloc-churn",
        "off",
    ),
    _repainted("repainted-off", "repainted, kpkeys=off", "stress", "off", long=True, timeout=STRESS_TIME),
    _repainted("repainted-protect", "80% of memory, repainted", "stress,protect", long=True, timeout=240.0),
    _repainted("repainted-4cpu", "repainted, 4 CPUs", "stress", cpus=4, pti=True, long=True, timeout=STRESS_TIME),
    _blocks("debug-blocks", "blocks on the debug kernel", "stress", lane="debug", long=True, timeout=2 * STRESS_TIME),
    *_of_lane("64k", "64 KiB pages"),
    *_of_lane("16k", "16 KiB pages"),
    *_of_lane("va39", "39-bit addresses"),
    _blocks("va39-blocks-3gib", "blocks in the top-level table", "stress,protect", lane="va39", memory=3072, long=True),
    _kunit("kfence-kunit", lane="kfence", long=True, allowed=KFENCE_REPORTS),
    _blocks(
        "kfence-late",
        "KFENCE is switched on after boot",
        "stress,late-kfence",
        lane="kfence",
        append=f"{FORCED} kfence.sample_interval=0",
        long=True,
    ),
)


NEWEST = (
    "arm64-blocks-kunit",
    "arm64-blocks-stress",
    "arm64-blocks-protect",
    "arm64-blocks-audit",
    "arm64-blocks-4cpu",
    "arm64-blocks-late-cpu",
    "arm64-blocks-memory-hotplug",
    "arm64-repainted-stress",
    "arm64-not-repainted",
)


@cases(*also_newest((*ARM64_BLOCKS, *ARM64_BLOCKS_LONG), *NEWEST))
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)
