# SPDX-License-Identifier: GPL-2.0-only
"""Cases run side by side, are reported in order, and end together when somebody interrupts."""

import threading
import time

import pytest

from portcullis.errors import ToolError
from portcullis.host import process
from portcullis.suite.engine import Engine
from portcullis.suite.side_by_side import side_by_side

PATIENCE = 10.0  # seconds


@pytest.fixture
def ending():
    """What stop_all() leaves behind is undone."""
    yield
    process._ending.clear()


def test_as_many_run_at_once_as_were_asked_for():
    both = threading.Barrier(2, timeout=PATIENCE)

    def meet(number):
        both.wait()
        return number

    assert list(side_by_side(meet, range(4), 2)) == [0, 1, 2, 3]


def test_results_come_in_order():
    def slow_first(number):
        time.sleep(0.2 if number == 0 else 0)
        return number

    assert list(side_by_side(slow_first, range(3), 3)) == [0, 1, 2]


def test_one_at_a_time_stays_in_this_thread():
    here = threading.get_ident()
    assert list(side_by_side(lambda _: threading.get_ident(), range(2), 1)) == [here, here]
    assert list(side_by_side(lambda _: threading.get_ident(), range(1), 2)) == [here]


def test_an_interrupt_stops_programs_and_starts_no_others(ending):
    running = threading.Event()
    seen = []

    def run(number):
        if number == 0:
            running.wait(PATIENCE)
            raise KeyboardInterrupt
        program = process.start(["sleep", str(PATIENCE * 10)])
        running.set()
        seen.append(program.wait())
        try:
            process.start(["true"])
        except ToolError as error:
            seen.append(str(error))

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(run, range(9), 2))
    assert set(seen) == {-15, "interrupted"}  # whoever came that far before the others were called off
    assert time.monotonic() - started < PATIENCE


def test_what_two_cases_need_is_made_once():
    engine = Engine.__new__(Engine)
    engine._made, engine._making = {}, {}
    made = []

    def make():
        time.sleep(0.2)
        made.append(1)
        return "kernel"

    results = list(side_by_side(lambda _: engine._once("kernel", make), range(2), 2))
    assert [str(each) for each in results] == ["kernel", "kernel"]
    assert made == [1]
