# SPDX-License-Identifier: GPL-2.0-only
"""Runs jobs of the lab and keeps their results in the cache, so that only what is missing runs."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from portcullis.core.machine import Machine
from portcullis.core.results import parse_results
from portcullis.errors import ToolError
from portcullis.host.process import Commands
from portcullis.host.vm import explain, run_job
from portcullis.host.workspace import Workspace, write_whole
from portcullis.lab.jobs import Inputs, Job, result_key, result_of
from portcullis.lab.results import Result, dump_result, load_result, why_not_to_price

FOLDER = "lab"


@dataclass(frozen=True)
class Files:
    """What a job boots and what counts it."""

    kernel: Path
    initramfs: Path
    plugin: Path
    emulator: str
    versions: Mapping[str, str]

    def inputs(self) -> Inputs:
        """Digests of the files."""
        digests = [digest_of(path) for path in (self.kernel, self.initramfs, self.plugin)]
        return Inputs(*digests, f"{self.emulator} {self.versions.get('emulator', '')}", self.versions)


_digests: dict[tuple[str, int, int], str] = {}


def digest_of(path: Path) -> str:
    """SHA-256 of a file; read once while it does not change."""
    state = path.stat()
    key = (str(path), state.st_mtime_ns, state.st_size)
    if key not in _digests:
        _digests[key] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _digests[key]


@dataclass(frozen=True)
class FinishedJob:
    """A job that was run or found; `result` is None when it failed, and `trouble` says why."""

    job: Job
    result: Result | None
    trouble: str = ""
    fresh: bool = False


class Store:
    """Results in the cache, a file for each key."""

    def __init__(self, workspace: Workspace) -> None:
        self.folder = workspace.folder(FOLDER)

    def find(self, key: str, job: Job) -> Result | None:
        """The result of a key; a damaged one is as good as none."""
        with suppress(OSError, ValueError):
            return load_result(self._path(key, job).read_text())
        return None

    def keep(self, key: str, job: Job, result: Result) -> None:
        """Writes a result in one step."""
        write_whole(self._path(key, job), dump_result(result).encode())

    def newest(self) -> tuple[Result, ...]:
        """The newest result of each job, whatever was built since."""
        found: dict[str, tuple[float, Result]] = {}
        for path in self.folder.glob("*.json"):
            with suppress(OSError, ValueError):
                result, when = load_result(path.read_text()), path.stat().st_mtime
                if result.job not in found or found[result.job][0] < when:
                    found[result.job] = (when, result)
        return tuple(result for _, result in sorted(found.values(), key=lambda each: each[1].job))

    def _path(self, key: str, job: Job) -> Path:
        return self.folder / f"{job.id}-{key}.json"


# Runs payloads somewhere and yields (number, answer) as each is done.
Executor = Callable[[list[dict]], Iterator[tuple[int, dict]]]


def run_jobs(
    workspace: Workspace, jobs: Iterable[tuple[Job, Files]], executor: Executor, again: bool = False
) -> Iterator[FinishedJob]:
    """Yields what each job counted: first what is there already, then the others as they finish."""
    store = Store(workspace)
    missing: list[tuple[Job, Inputs, str, dict]] = []
    for job, files in jobs:
        inputs = files.inputs()
        key = result_key(job, inputs)
        found = None if again else store.find(key, job)
        if found:
            yield FinishedJob(job, found)
        else:
            missing.append((job, inputs, key, payload_of(workspace, job, files, inputs)))
    for number, answer in executor([payload for *_, payload in missing]):
        job, inputs, key, _ = missing[number]
        finished = _finished(job, inputs, answer)
        if finished.result:
            store.keep(key, job, finished.result)
        yield finished


def payload_of(workspace: Workspace, job: Job, files: Files, inputs: Inputs) -> dict:
    """Everything that run_payload() needs, as plain values."""
    return {
        "label": job.id,
        "root": str(workspace.root),
        "cache": str(workspace.cache),
        "machine": asdict(job.machine()),
        "kernel": str(files.kernel),
        "initramfs": str(files.initramfs),
        "plugin": str(files.plugin),
        "emulator": files.emulator,
        "digests": {"kernel": inputs.image, "initramfs": inputs.initramfs, "plugin": inputs.plugin},
    }


def run_payload(payload: dict) -> dict:
    """Boots one job, here or on a worker of a cluster; the answer is plain values, `trouble` when it failed."""
    workspace = Workspace(Path(payload["root"]), Path(payload["cache"]))
    try:
        for what, digest in payload["digests"].items():
            path = Path(payload[what])
            if not path.is_file() or digest_of(path) != digest:
                return {
                    "trouble": f"{path} is not there or not the same: workers need the cache folder at the same place"
                }
        boot = run_job(
            workspace,
            Commands(),
            Machine(**payload["machine"]),
            Path(payload["kernel"]),
            Path(payload["initramfs"]),
            label=payload["label"],
            emulator=payload["emulator"],
            plugin=Path(payload["plugin"]),
        )
    except ToolError as error:
        return {"trouble": str(error)}
    if boot.trouble:
        return {"trouble": explain(boot)}
    return {"results": boot.results_text, "counts": boot.executed or "", "folder": str(boot.folder)}


def _finished(job: Job, inputs: Inputs, answer: dict) -> FinishedJob:
    if answer.get("trouble"):
        return FinishedJob(job, None, answer["trouble"], fresh=True)
    told = parse_results(answer["results"])
    if told.failed:
        reasons = ", ".join(f"{each.name}: {each.reason}" for each in told.failed)
        return FinishedJob(job, None, f"{reasons}\n    log: {answer['folder']}", fresh=True)
    try:
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        result = result_of(job, answer["counts"], told.records, inputs, when)
    except ValueError as error:
        return FinishedJob(job, None, f"{error}\n    log: {answer['folder']}", fresh=True)
    reason = why_not_to_price([result])
    if reason:
        return FinishedJob(job, None, f"refused: {reason}\n    log: {answer['folder']}", fresh=True)
    return FinishedJob(job, result, fresh=True)
