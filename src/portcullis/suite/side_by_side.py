# SPDX-License-Identifier: GPL-2.0-only
"""Runs cases side by side: most wait for one emulator that keeps one core busy."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from portcullis.host.process import stop_all

Item = TypeVar("Item")
Made = TypeVar("Made")


def side_by_side(function: Callable[[Item], Made], items: Sequence[Item], workers: int) -> Iterator[Made]:
    """What `function` returns for each item, in order, `workers` at a time; one at a time in this thread if that is 1.

    Where the caller stops early, or is interrupted, programs that still run are stopped.
    """
    if min(workers, len(items)) <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in [pool.submit(function, item) for item in items]:
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise
