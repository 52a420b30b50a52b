# SPDX-License-Identifier: GPL-2.0-only
"""Talks to QEMU's monitor (QMP): commands and events."""

import json
import socket
import time
from pathlib import Path


class Monitor:
    """A connection to a QMP socket; events are collected in `events` as (name, data)."""

    def __init__(self, path: Path, timeout: float = 10.0) -> None:
        """Connects and negotiates; raises OSError when QEMU does not answer within `timeout` seconds."""
        self.events: list[tuple[str, dict[str, object]]] = []
        self._buffer = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        end = time.monotonic() + timeout
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        self._socket.settimeout(timeout)
        self._read()
        self.command("qmp_capabilities")

    def command(self, name: str, **arguments: object) -> object:
        """Runs a command and returns its result; raises OSError when QEMU refuses or is gone."""
        message: dict[str, object] = {"execute": name}
        if arguments:
            message["arguments"] = {key.replace("_", "-"): value for key, value in arguments.items()}
        self._socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            answer = self._read()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise OSError(f"QEMU refused {name}: {answer['error']}")
            self._note(answer)

    def poll(self) -> list[tuple[str, dict[str, object]]]:
        """Events since the last call, without waiting."""
        self._socket.setblocking(False)
        try:
            while piece := self._socket.recv(65536):
                self._buffer += piece
        except OSError:
            pass
        finally:
            self._socket.settimeout(10.0)
        while b"\n" in self._buffer:
            self._note(self._read())
        events, self.events = self.events, []
        return events

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def _read(self) -> dict[str, object]:
        while b"\n" not in self._buffer:
            piece = self._socket.recv(65536)
            if not piece:
                raise OSError("QEMU closed the monitor")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def _note(self, message: dict[str, object]) -> None:
        if "event" in message:
            data = message.get("data")
            self.events.append((str(message["event"]), data if isinstance(data, dict) else {}))
