# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's monitor, played by a thread."""

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from portcullis.host.qmp import Monitor

GREETING = {"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 0}, "package": ""}, "capabilities": []}}


def messages(connection):
    """Each message of a client, which sends them without an end of line."""
    text = ""
    while piece := connection.recv(65536):
        text += piece.decode()
        with suppress(json.JSONDecodeError):
            while text.strip():
                message, end = json.JSONDecoder().raw_decode(text.lstrip())
                text = text.lstrip()[end:]
                yield message


@contextmanager
def monitor(path, script, timeout=5.0):
    """A connection to a QEMU that answers each command as `script` says; with None it is gone."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve():
        connection, _ = server.accept()
        with connection, suppress(BrokenPipeError):
            connection.sendall(json.dumps(GREETING).encode() + b"\r\n")
            for asked in messages(connection):
                answers = [{"return": {}}] if asked["execute"] == "qmp_capabilities" else script(asked)
                if answers is None:
                    return
                for answer in answers:
                    known = {} if "event" in answer or "id" not in asked else {"id": asked["id"]}
                    connection.sendall(json.dumps(answer | known).encode() + b"\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    connected = Monitor(path, timeout)
    try:
        yield connected
    finally:
        connected.close()
        thread.join()
        server.close()


def event(name, **more):
    return {"event": name, "timestamp": {"seconds": 1, "microseconds": 0}, **more}


def polled(connected):
    """Events until there is one, for a second."""
    end = time.monotonic() + 1
    while not (found := connected.poll()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def test_a_command_and_its_arguments(tmp_path):
    asked = []
    with monitor(tmp_path / "qmp", lambda message: asked.append(message) or [{"return": {"a": 1}}]) as connected:
        assert connected.command("object-add", qom_type="memory-backend-ram", size=1 << 40) == {"a": 1}
    assert asked[0]["execute"] == "object-add"
    assert asked[0]["arguments"] == {"qom-type": "memory-backend-ram", "size": 1 << 40}


def test_events_come_once_and_with_their_data(tmp_path):
    def script(_):
        yield event("RESET")
        yield event("DEVICE_DELETED", data={"device": "dimm0"})
        yield {"return": {}}
        time.sleep(0.1)
        yield event("SUSPEND")

    with monitor(tmp_path / "qmp", script) as connected:
        connected.command("cont")
        assert connected.poll() == [("RESET", {}), ("DEVICE_DELETED", {"device": "dimm0"})]
        assert polled(connected) == [("SUSPEND", {})]
        assert connected.poll() == []


def test_what_qemu_refuses_is_an_os_error_and_the_next_command_runs(tmp_path):
    answers = iter([{"error": {"class": "GenericError", "desc": "no slot"}}, {"return": 2}])
    with monitor(tmp_path / "qmp", lambda _: [next(answers)]) as connected:
        with pytest.raises(OSError, match="no slot"):
            connected.command("device_add")
        assert connected.command("cont") == 2


def test_a_qemu_that_is_gone_is_an_os_error(tmp_path, caplog):
    with monitor(tmp_path / "qmp", lambda _: None) as connected:
        for _ in range(2):
            with pytest.raises(OSError, match="monitor"):
                connected.command("cont")
        assert connected.poll() == []
    assert not caplog.records


def test_a_qemu_that_does_not_answer_is_an_os_error_in_time(tmp_path):
    started = time.monotonic()
    with monitor(tmp_path / "qmp", lambda _: [], 0.2) as connected, pytest.raises(OSError):
        connected.command("cont")
    assert time.monotonic() - started < 3


def test_no_qemu_and_a_mute_one_are_os_errors_in_time(tmp_path, caplog):
    started = time.monotonic()
    with pytest.raises(OSError):
        Monitor(tmp_path / "nobody", 0.1)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute"))
        mute.listen()
        with pytest.raises(OSError):
            Monitor(tmp_path / "mute", 0.1)
    assert time.monotonic() - started < 3
    assert not caplog.records


def test_threads_have_monitors_of_their_own(tmp_path):
    results = []

    def talk(number):
        with monitor(tmp_path / f"qmp{number}", lambda _: [{"return": number}]) as connected:
            results.append(connected.command("cont"))

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2]
