# SPDX-License-Identifier: GPL-2.0-only
"""Talks to QEMU's monitor (QMP): commands and events."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)  # its errors are raised as well, and a QEMU that ends is none


class Monitor:
    """A connection to a QMP socket; each call waits for `timeout` seconds at most."""

    def __init__(self, path: Path, timeout: float = 10.0) -> None:
        """Connects and negotiates; raises OSError when QEMU does not answer within `timeout` seconds."""
        self._timeout = timeout
        self._runner = asyncio.Runner()
        self._client = QMPClient()
        end = time.monotonic() + timeout
        while True:
            try:
                self._wait(self._client.connect(str(path)))
                break
            except OSError:
                if time.monotonic() > end:
                    self._runner.close()
                    raise
                time.sleep(0.02)

    def command(self, name: str, **arguments: object) -> object:
        """Runs a command and returns its result; raises OSError when QEMU refuses or is gone."""
        return self._wait(self._client.execute(name, {key.replace("_", "-"): arguments[key] for key in arguments}))

    def poll(self) -> list[tuple[str, dict[str, object]]]:
        """Names and data of the events since the last call, without waiting for more."""
        self._wait(asyncio.sleep(0.001))  # the client reads while it runs
        return [(str(event["event"]), event.get("data", {})) for event in self._client.events.clear()]

    def close(self) -> None:
        """Closes the connection."""
        with suppress(OSError):
            self._wait(self._client.disconnect())
        self._runner.close()

    def _wait(self, work: Coroutine[object, object, object]) -> object:
        try:
            return self._runner.run(asyncio.wait_for(work, self._timeout))
        except (QMPError, EOFError) as error:
            raise OSError(f"QEMU's monitor: {error}") from error
