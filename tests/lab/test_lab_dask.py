# SPDX-License-Identifier: GPL-2.0-only
"""Jobs of the lab on a local Dask cluster of two workers. QEMU is a program that writes what a guest would."""

import os
from pathlib import Path

import pytest

from fakes import FAKE_QEMU, make_program, make_workspace
from portcullis.errors import ToolError
from portcullis.host.executors import dask, local
from portcullis.host.labjobs import Files, run_jobs
from portcullis.lab.jobs import choose_jobs

distributed = pytest.importorskip("distributed")

QEMU = (
    FAKE_QEMU
    + """
echo booting >"$console"
echo "$$ $PPID" >>"@@/pids"
for name in fork-h0 fork-h1; do
	for round in 1 2; do
		kernel='{"instructions": 1000, "pkey_writes": 4}'
		echo "{\\"region\\": \\"$name\\", \\"cpu\\": 0, \\"cpus\\": 1, \\"kernel\\": $kernel}" >>"$counts"
	done
done
sleep 1
{
	echo "#json {\\"lab\\": \\"\\", \\"design\\": \\"${design:-off}\\"}"
	for name in fork-h0 fork-h1; do
		echo "#json {\\"lab\\": \\"$name\\", \\"times\\": 2, \\"rounds\\": 2, \\"pages_keyed\\": 1}"
		echo "ok 1 - $name"
	done
	echo "1..2"
	echo "#done 0"
} >"$results"
"""
)


@pytest.fixture
def lab(tmp_path):
    workspace = make_workspace(tmp_path)
    make_program(tmp_path / "bin", "qemu", QEMU.replace("@@", str(tmp_path)))
    for name in ("kernel", "initramfs", "plugin"):
        (tmp_path / name).write_text(name)
    files = Files(
        *(tmp_path / name for name in ("kernel", "initramfs", "plugin")), str(tmp_path / "bin/qemu"), {"kernel": "6.12"}
    )
    jobs = [(job, files) for job in choose_jobs("arm64", ["fork"], variants=[""])]
    return workspace, jobs, tmp_path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(folder)
    ) as running:
        yield running


def test_jobs_run_on_both_workers_and_only_once(lab, cluster):
    workspace, jobs, folder = lab
    outcomes = list(run_jobs(workspace, jobs, dask(cluster.scheduler_address)))
    assert [outcome.trouble for outcome in outcomes] == [""] * 5 and all(outcome.fresh for outcome in outcomes)
    assert {outcome.result.design for outcome in outcomes} == {"stock", "off", "per-write", "rfc", "portcullis"}
    assert outcomes[0].result.regions["fork-h0"].typical() == {"instructions": 500, "pkey_writes": 2}
    pids = [line.split() for line in (folder / "pids").read_text().splitlines()]
    workers = {parent for _, parent in pids}
    assert len(pids) == 5 and len(workers) == 2 and str(os.getpid()) not in workers
    # What is there does not run again, wherever; what changed does.
    again = list(run_jobs(workspace, jobs, local()))
    assert not any(outcome.fresh for outcome in again) and len((folder / "pids").read_text().splitlines()) == 5
    (folder / "kernel").write_text("another kernel")
    assert all(outcome.fresh for outcome in run_jobs(workspace, jobs[:2], dask(cluster.scheduler_address)))
    assert len((folder / "pids").read_text().splitlines()) == 7


def test_a_worker_that_lacks_the_files_says_so(lab, cluster):
    workspace, jobs, folder = lab

    def changed(payloads):
        Path(folder / "kernel").write_text("changed under its feet")
        yield from dask(cluster.scheduler_address)(payloads)

    (outcome,) = run_jobs(workspace, jobs[:1], changed)
    assert outcome.result is None and "not there or not the same" in outcome.trouble


def test_no_scheduler_is_a_clear_error(lab, monkeypatch):
    workspace, jobs, _ = lab
    monkeypatch.setattr("portcullis.host.executors.CONNECT", 1)
    with pytest.raises(ToolError, match="no Dask scheduler at tcp://127.0.0.1:1"):
        list(run_jobs(workspace, jobs, dask("tcp://127.0.0.1:1")))
