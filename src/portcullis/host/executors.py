# SPDX-License-Identifier: GPL-2.0-only
"""Where jobs of the lab run: on this machine, or on the workers of a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from portcullis.errors import ToolError
from portcullis.host.labjobs import Executor, run_payload

EXECUTORS = ("local", "dask")
CONNECT = 20  # seconds to find the scheduler
SOURCE = Path(__file__).parents[2]


def local(at_once: int = 1) -> Executor:
    """Runs jobs here, `at_once` at a time; each waits for its own QEMU."""

    def run(payloads: list[dict]) -> Iterator[tuple[int, dict]]:
        if at_once == 1:  # in this thread, which an interrupt reaches at once
            yield from ((number, run_payload(payload)) for number, payload in enumerate(payloads))
            return
        with ThreadPoolExecutor(at_once) as pool:
            numbers = {pool.submit(run_payload, payload): number for number, payload in enumerate(payloads)}
            try:
                for future in as_completed(numbers):
                    yield numbers[future], future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    return run


def dask(address: str) -> Executor:
    """Runs jobs on a cluster that is there already.

    Its workers need this checkout and the cache folder at the same places (a shared file system), and QEMU.
    """
    try:
        import distributed
    except ImportError as error:
        raise ToolError("the Python package distributed is not there", "run it by ./portcullis bench") from error

    def run(payloads: list[dict]) -> Iterator[tuple[int, dict]]:
        if not payloads:
            return
        with _client(distributed, address) as client:
            futures = client.map(_task(str(SOURCE)), payloads, pure=False, retries=0)
            numbers = {future.key: number for number, future in enumerate(futures)}
            try:
                for future in distributed.as_completed(futures):
                    yield numbers[future.key], _answer(future)
            finally:
                client.cancel(futures)

    return run


def _client(distributed: Any, address: str) -> Any:
    try:
        client = distributed.Client(address, timeout=CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ToolError(f"no Dask scheduler at {address}: {error}", "give its address with --scheduler") from error
    if not client.scheduler_info()["workers"]:
        client.close()
        raise ToolError(f"the Dask cluster at {address} has no workers")
    return client


def _task(source: str) -> Any:
    """What a worker runs. It travels by value, because the worker cannot import this module before it knows where."""

    def task(payload: dict) -> dict:
        import sys

        if source not in sys.path:
            sys.path.insert(0, source)
        try:
            from portcullis.host.labjobs import run_payload as run
        except ImportError as error:
            return {"trouble": f"a worker cannot import the tool from {source}: {error}"}
        return run(payload)

    return task


def _answer(future: Any) -> dict:
    error = future.exception()
    return {"trouble": f"on a worker: {type(error).__name__}: {error}"} if error else future.result()
