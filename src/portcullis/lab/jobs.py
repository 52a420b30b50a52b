# SPDX-License-Identifier: GPL-2.0-only
"""The jobs of the lab: independent boots, one for each benchmark, design and variant."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

from portcullis.core.machine import Machine
from portcullis.lab.results import DESIGNS, Region, Result, Round, rounds_of

LANE = "lab"
DESIGNS_LANE = "lab-designs"
LANES = {"stock": "lab-stock", "per-write": DESIGNS_LANE, "rfc": DESIGNS_LANE}  # others run on LANE
REPEATABLE = {"cpus": 1, "icount": 0}  # what makes the counts of a machine the same every time
MEMORY = 2048  # MiB
SLOWER = 4  # times, with the model of a TLB


@dataclass(frozen=True)
class Benchmark:
    """What one boot runs; `regions` are what it opens, `arguments` are for the guest's program.

    `compiler` is the one that the guest needs.
    """

    name: str
    what: str
    regions: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    timeout: float = 900.0  # seconds
    designs: tuple[str, ...] = DESIGNS
    compiler: str = "tcc"


VMALLOC = (
    *(f"vmalloc-p{pages}-h0" for pages in (1, 4, 16, 64, 256)),
    *(f"vmalloc-p{pages}-h1" for pages in (16, 64, 256, 512)),
    "vmalloc-random",
)
USERS = ("getuid", "open-file", "access-as", "setresuid", "set-id-program", "messages", "messages-users")
LMBENCH = ("lm-fork-exit", "lm-fork-exec", "lm-shell", "lm-pagefault")
GATES = (
    *("guard", "register", "set-memory", "cr0-wp", "cr3", "cr3-pcid", "sctlr", "sctlr-no-isb", "ttbr0", "hypercall"),
    *("mprotect", "pkey-mprotect"),
)
# Regions that only one architecture has.
ONLY = {
    **dict.fromkeys(("gate-cr0-wp", "gate-cr3", "gate-cr3-pcid"), "x86"),
    **dict.fromkeys(("gate-hypercall", "gate-sctlr", "gate-sctlr-no-isb", "gate-ttbr0"), "arm64"),
}
WITH_COMMANDS = tuple(design for design in DESIGNS if design != "stock")  # kernels that repeat operations when asked
BENCHMARKS = {
    each.name: each
    for each in (
        Benchmark("fork", "fork of a process with much memory in PTEs", ("fork-h0", "fork-h1")),
        Benchmark("munmap", "unmapping much memory in PTEs", ("munmap-h0", "munmap-h1")),
        Benchmark("vmalloc", "vmalloc and vfree of one size", VMALLOC, designs=WITH_COMMANDS),
        Benchmark("vm-map-ram", "vm_map_ram and vm_unmap_ram", ("vm-map-ram",), designs=WITH_COMMANDS),
        Benchmark("touch", "page faults on fresh memory", ("touch",)),
        Benchmark("mprotect", "mprotect of much memory in PTEs", ("mprotect",)),
        Benchmark("exec", "fork and exec of a small program", ("exec",)),
        Benchmark("calls", "system calls that do nothing", ("syscall-invalid", "lseek")),
        Benchmark("kernbench", "a compile job", ("kernbench",), timeout=3600.0),
        Benchmark("kernbench-gcc", "make with gcc", ("kernbench-gcc",), ("rounds=1",), timeout=3600.0, compiler="gcc"),
        Benchmark("lmbench", "processes, a shell and faults on a file, as LMbench has them", LMBENCH),
        Benchmark("users", "credentials asked for, changed, and switched between", USERS),
        Benchmark(
            "gates", "one switch of protection", tuple(f"gate-{gate}" for gate in GATES), designs=("portcullis",)
        ),
    )
}
REGIONS = {region for benchmark in BENCHMARKS.values() for region in benchmark.regions}


@dataclass(frozen=True)
class Variant:
    """A way to boot the same kernel: `changes` are fields of the machine."""

    name: str
    what: str
    changes: Mapping[str, object] = field(default_factory=dict)
    benchmarks: tuple[str, ...] = tuple(BENCHMARKS)
    designs: tuple[str, ...] = DESIGNS
    tlb: str = ""  # profile whose TLB is modelled
    stock: str | None = None  # variant of the stock kernel to compare with, if not the one of this name


PLAIN = Variant("", "as the kernel chooses")
WAITS = "kpkeys_late_raise=off"  # the emulator's CPU is never late, which says nothing of others
TLB_PAGES, TLB_BLOCKS = "tlb-pages", "tlb-blocks"
_LINEAR_MAP = ("fork", "munmap", "touch", "exec", "kernbench")
_ISOLATED = ("fork", "munmap", "touch", "exec", "calls")
CREDENTIALS_OFF = Variant(
    "cred-off",
    "credentials are ordinary memory",
    {"append": "kpkeys_cred=off"},
    ("fork", "munmap", "touch", "mprotect", "exec", "calls", "kernbench", "lmbench", "users"),
    ("portcullis",),
    stock="",
)
VARIANTS = {
    "x86": (
        PLAIN,
        Variant(
            "wp",
            "write protection instead of keys",
            {"backend": "wp"},
            designs=("per-write", "rfc", "portcullis"),
            stock="",
        ),
        CREDENTIALS_OFF,
        Variant("pti-off", "page tables not isolated", {"pti": False}, _ISOLATED),
        Variant("pti-on", "page tables isolated", {"pti": True}, _ISOLATED),
        Variant("pti-on-nopcid", "isolated, without PCID", {"pti": True, "append": "nopcid"}, ("calls",)),
    ),
    "arm64": (
        PLAIN,
        CREDENTIALS_OFF,
        Variant("kpti", "page tables isolated", {"pti": True}, _ISOLATED),
        Variant(
            "pauth-off",
            "keys of pointer authentication stay in the tasks",
            {"append": "kpkeys_pauth=off"},
            ("fork", "vmalloc", "vm-map-ram", "touch", "exec", "calls", "kernbench"),
            ("off", "portcullis"),
            stock="",
        ),
        *(
            Variant(
                name,
                what,
                {"append": f"{words} kpkeys_pauth=off"},
                ("fork", "munmap", "vmalloc", "vm-map-ram", "touch", "exec", "kernbench"),
                ("off", "portcullis"),
                stock="",
            )
            for name, words, what in (
                ("late-lower", "kpkeys=late-lower", "no barrier where a section ends"),
                ("late-raise", "kpkeys_late_raise=on", "no barrier where a section begins"),
                ("late", "kpkeys=late-lower kpkeys_late_raise=on", "neither barrier"),
            )
        ),
        Variant(
            "blocks", "linear map of blocks", {"append": "live_split=force"}, ("fork", "munmap", "vmalloc", "exec")
        ),
        *(
            Variant(
                name,
                f"linear map of {name.removeprefix('tlb-')}, with the model of a TLB",
                {"linear_map": name.removeprefix("tlb-")},
                _LINEAR_MAP,
                ("off", "portcullis"),
                tlb="graviton2",
            )
            for name in (TLB_PAGES, TLB_BLOCKS)
        ),
    ),
}


@dataclass(frozen=True)
class Job:
    """One boot; the guest's part of it is the `job` of its machine."""

    arch: str
    benchmark: Benchmark
    design: str
    variant: Variant
    tlb: str = ""  # what the plugin is told of the TLB that the variant wants

    @property
    def id(self) -> str:
        """Its name, which stays the same when kernel or guest change."""
        return "-".join(part for part in (self.arch, self.benchmark.name, self.design, self.variant.name) if part)

    @property
    def regions(self) -> tuple[str, ...]:
        """What it opens on its architecture."""
        return tuple(name for name in self.benchmark.regions if ONLY.get(name, self.arch) == self.arch)

    @property
    def lane(self) -> str:
        """The build that it boots."""
        return LANES.get(self.design, LANE)

    def machine(self) -> Machine:
        """What it boots."""
        changes = dict(self.variant.changes)
        words = [str(changes.pop("append", ""))]
        if self.arch == "arm64" and "kpkeys_late_raise=" not in words[0]:
            words.append(WAITS)
        if self.lane == DESIGNS_LANE:
            words.append(f"kpkeys_design={self.design}")
        mode = {"stock": None, "off": "off"}.get(self.design, "enforce")
        regions = ",".join(self.regions)
        machine = Machine(
            job=",".join(("lab", *self.benchmark.arguments, regions)),
            mode=mode,
            memory=MEMORY,
            arch=self.arch,
            append=" ".join(word for word in words if word),
            timeout=self.benchmark.timeout * (SLOWER if self.tlb else 1),
            tlb=self.tlb,
            **REPEATABLE,  # type: ignore[arg-type]
        )
        if mode != "enforce":
            changes.pop("backend", None)
        return replace(machine, **changes)  # type: ignore[arg-type]


def choose_jobs(
    arch: str, names: Iterable[str] = (), designs: Iterable[str] = (), variants: Iterable[str] | None = None
) -> tuple[Job, ...]:
    """Jobs by names of benchmarks or of their regions, all when there are none; raises ValueError for unknown names."""
    wanted = _benchmarks(tuple(names))
    designs = tuple(designs) or DESIGNS
    known = {variant.name for variant in VARIANTS[arch]}
    chosen = known if variants is None else set(variants)
    for name in chosen - known:
        raise ValueError(f"{arch} has no variant {name!r}, known are: {', '.join(sorted(known - {''}))}")
    for name in set(designs) - set(DESIGNS):
        raise ValueError(f"design {name!r} is not known, known are: {', '.join(DESIGNS)}")
    return tuple(
        Job(arch, benchmark, design, variant)
        for benchmark in wanted
        for variant in VARIANTS[arch]
        for design in DESIGNS
        if variant.name in chosen
        and design in designs
        and design in benchmark.designs
        and design in variant.designs
        and benchmark.name in variant.benchmarks
    )


def stock_variant(arch: str, variant: str) -> str:
    """The variant of the stock kernel that a variant is compared with: the plain one where a switch is ours alone."""
    found = next((each for each in VARIANTS[arch] if each.name == variant), PLAIN)
    return variant if found.stock is None else found.stock


def has_stock(region: str) -> bool:
    """Whether the stock kernel can run a region at all."""
    return any("stock" in each.designs for each in BENCHMARKS.values() if region in each.regions)


def with_tlb(jobs: Iterable[Job], options: Mapping[str, str]) -> tuple[Job, ...]:
    """Jobs with what the plugin is told where their variant has the model of a TLB; `options` by profile."""
    return tuple(replace(job, tlb=options[job.variant.tlb]) if job.variant.tlb else job for job in jobs)


def _benchmarks(names: tuple[str, ...]) -> tuple[Benchmark, ...]:
    if not names:
        return tuple(BENCHMARKS.values())
    chosen = {}
    for name in names:
        found = [each for each in BENCHMARKS.values() if name == each.name or name in each.regions]
        if not found:
            raise ValueError(f"there is no benchmark {name!r}, known are: {', '.join(BENCHMARKS)}")
        chosen[found[0].name] = found[0]
    return tuple(chosen.values())


@dataclass(frozen=True)
class Inputs:
    """Digests of everything that decides what a job counts, and the versions that they are called by."""

    image: str
    initramfs: str
    plugin: str
    emulator: str
    versions: Mapping[str, str]


def result_key(job: Job, inputs: Inputs) -> str:
    """The name of a result: the same inputs have the same one, so that what is there need not run again."""
    parts = [job.id, asdict(job.machine()), inputs.image, inputs.initramfs, inputs.plugin, inputs.emulator]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def result_of(
    job: Job,
    counts: str,
    records: Iterable[Mapping[str, object]],
    inputs: Inputs,
    when: str = "",
) -> Result:
    """A result from what the plugin wrote and what the guest reported; raises ValueError when they do not fit."""
    told = {str(record["lab"]): record for record in records if "lab" in record}
    _right_design(job, told.pop("", {}))
    rounds = rounds_of(counts)
    regions = {}
    for name, record in told.items():
        if name not in rounds:
            raise ValueError(f"the plugin counted nothing in region {name}")
        regions[name] = _region(name, record, rounds[name])
    if not regions:
        raise ValueError("the guest reported no benchmark")
    machine = job.machine()
    return Result(
        job.id,
        job.arch,
        job.design,
        job.variant.name,
        {
            "cpu": machine.cpu,
            "cpus": machine.cpus,
            "memory": machine.memory,
            "append": machine.append,
            "lane": job.lane,
            "mode": machine.mode or "",
            "pti": "auto" if machine.pti is None else machine.pti,
            "tlb": machine.tlb,
        },
        inputs.versions,
        command_of(job),
        regions,
        {name: dict(record) for name, record in told.items()},
        when,
    )


def command_of(job: Job) -> str:
    """The command that runs a job."""
    words = ["./portcullis bench", job.benchmark.name, f"--arch {job.arch}", f"--design {job.design}"]
    return " ".join([*words, *([f"--variant {job.variant.name}"] if job.variant.name else [])])


def _right_design(job: Job, record: Mapping[str, object]) -> None:
    said = str(record.get("design", ""))
    wanted = {"stock": ("", "stock", "none", "off")}.get(job.design, (job.design,))
    if said not in wanted:
        raise ValueError(f"the guest ran design {said or 'unknown'}, not {job.design}")


def _region(name: str, record: Mapping[str, object], rounds: tuple[Round, ...]) -> Region:
    times = record.get("times")
    if not isinstance(times, int) or times < 1:
        raise ValueError(f"region {name}: the guest does not say how many operations it had")
    if "rounds" in record and record["rounds"] != len(rounds):
        raise ValueError(f"region {name}: {record['rounds']} rounds were run, {len(rounds)} counted")
    return Region(times, rounds)
