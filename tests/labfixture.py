# SPDX-License-Identifier: GPL-2.0-only
"""Made-up results of the lab, for tests of what is made from results. None of these numbers was ever counted."""

from portcullis.lab.jobs import choose_jobs
from portcullis.lab.results import DESIGNS, Region, Result, Round

# region -> instructions of the unprotected kernel, page-table writes, page-table pages, operations in one region
WORK = {
    "fork-h0": (12_000_000, 65_536, 130, 1),
    "fork-h1": (9_500_000, 65_536, 130, 1),
    "munmap-h0": (9_000_000, 16_384, 64, 1),
    "munmap-h1": (3_000_000, 32_768, 64, 1),
    "touch": (40_000_000, 32_768, 64, 1),
    "mprotect": (2_000_000, 32_768, 0, 1),
    "exec": (900_000, 900, 20, 20),
    "lm-fork-exit": (200_000, 400, 10, 20),
    "lm-fork-exec": (500_000, 700, 20, 20),
    "lm-shell": (900_000, 900, 30, 20),
    "lm-pagefault": (300, 1, 0, 2048),
    "vmalloc-random": (9_000, 100, 0, 100),
    "vm-map-ram": (700, 2, 0, 100),
    "syscall-invalid": (110, 0, 0, 1000),
    "lseek": (260, 0, 0, 1000),
    "getuid": (150, 0, 0, 1000),
    "open-file": (3_000, 0, 0, 1000),
    "access-as": (2_500, 0, 0, 1000),
    "setresuid": (1_500, 0, 0, 1000),
    "set-id-program": (700_000, 800, 20, 20),
    "messages": (4_000, 1, 0, 1000),
    "messages-users": (4_200, 1, 0, 1000),
    "kernbench": (400_000_000, 90_000, 800, 1),
    **{
        f"vmalloc-p{pages}-h{huge}": (2_000 + 150 * pages, 2 * pages, 0, 100)
        for pages in (1, 4, 16, 64, 256)
        for huge in (0, 1)
    },
}
SWITCHES = {
    "gate-guard": (12, 2, 2),
    "gate-register": (2, 1, 1),
    "gate-sctlr": (4, 0, 1),
    "gate-set-memory": (40_000, 6, 9),
    "gate-sctlr-no-isb": (4, 0, 0),
}


def _raises(design: str, writes: int, tables: int) -> int:
    """How often a made-up design opens the gate."""
    if design == "per-write":
        return writes + tables
    return {
        "rfc": min(writes, max(writes // 400, 2)) + tables,
        "portcullis": min(writes, max(writes // 512, 2)) + tables // 64,
    }.get(design, 0)


def _kernel(design: str, region: str) -> dict[str, int]:
    instructions, writes, tables, times = WORK[region]
    raises = _raises(design, writes, tables)
    counters = {
        "instructions": instructions + 8 * raises,
        "pkey_writes": 2 * raises,
        "isb": 2 * raises,
        "tlbi_broadcast": (tables if design == "rfc" or design == "per-write" else 0) + 2,
        "dsb": 4,
        "syscall": 1 if "syscall" in region or region == "lseek" else 0,
    }
    return {name: value * times for name, value in counters.items() if value}


def results(arch: str = "arm64") -> list[Result]:
    """A result of every job without a variant."""
    found = []
    for job in choose_jobs(arch, variants=[""]):
        regions = {
            name: _region(job.design, name) for name in job.benchmark.regions if name in WORK or name in SWITCHES
        }
        guest = {name: {"pages_keyed": 1 if job.design in DESIGNS[2:] else 0} for name in regions}
        machine = {"cpu": "max", "cpus": 1, "memory": 2048, "append": "", "lane": job.lane}
        versions = {"kernel": "made up", "emulator": "made up", "compiler": "made up"}
        command = f"./portcullis bench {job.benchmark.name} --arch {arch} --design {job.design}"
        found.append(Result(job.id, arch, job.design, "", machine, versions, command, regions, guest, "made up"))
    return found


def _region(design: str, name: str) -> Region:
    if name in SWITCHES:
        instructions, writes, barriers = SWITCHES[name]
        kernel = {"instructions": instructions * 100, "pkey_writes": writes * 100, "isb": barriers * 100}
        return Region(100, (Round({}, kernel),) * 2)
    user = {"instructions": 100_000_000} if name == "kernbench" else {"instructions": WORK[name][3] * 6}
    return Region(WORK[name][3], (Round(user, _kernel(design, name)),) * 2)
