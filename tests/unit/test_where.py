# SPDX-License-Identifier: GPL-2.0-only
"""What the plugin counts, and who wrote the register of the keys: addresses, functions, the option of the plugin."""

import json
import re
from pathlib import Path

from portcullis.core.counts import COUNTERS, LEVELS, OPENING, parse_counts, where_differences
from portcullis.core.elf import Symbol
from portcullis.core.machine import Files, Machine, kernel_command_line, qemu_command
from portcullis.core.where import Functions, writes_by_function
from portcullis.lab.profile import ADDED, FULL_FLUSHES, LONE, PRICED
from portcullis.lab.text import event_name

FUNCTION, OBJECT, NOTYPE = "STT_FUNC", "STT_OBJECT", "STT_NOTYPE"
PLUGINS = Path(__file__).parents[2] / "emulator" / "plugins"
MADE = {ADDED, LONE, "full_flush", "tlb_misses"}  # events that are not counted but made from counters


def test_the_plugin_has_the_same_counters_and_levels():
    macro = re.search(r"#define EVENTS\(each\)((?:.*\\\n)+.*)", (PLUGINS / "events.h").read_text())
    assert tuple(re.findall(r"each\((\w+)\)", macro[1])) == COUNTERS
    names = re.search(r"level_names\[NR_LEVELS\] = \{(.*?)\}", (PLUGINS / "regions.c").read_text(), re.DOTALL)
    assert tuple(re.findall(r'"(\w+)"', names[1])) == LEVELS


def test_what_has_a_price_is_counted_or_made_from_counters_and_has_a_name():
    priced = {event for events in PRICED.values() for event in events}
    assert {*priced, *FULL_FLUSHES, *OPENING} <= {*COUNTERS, *MADE}
    assert [event for event in priced if event_name(event) == event] == ["instructions"]


def functions():
    return Functions(
        [
            Symbol("set_pte", FUNCTION, "STB_LOCAL", 1, 0x1000, 0x20),
            Symbol("entry", NOTYPE, "STB_LOCAL", 1, 0x1040, 0),
            Symbol("data", OBJECT, "STB_LOCAL", 1, 0x1020, 8),
            Symbol("start", NOTYPE, "STB_LOCAL", 1, 0x1000, 0),
        ]
    )


def line(region, writes, where):
    kernel = {"pkey_writes": writes}
    return json.dumps({"region": region, "cpu": 0, "cpus": 1, "kernel": kernel, "where": where}) + "\n"


def test_an_address_belongs_to_the_function_that_it_is_in():
    names = functions()
    assert [names.at(at) for at in (0xFFF, 0x1000, 0x1030, 0x1040, 0x5000)] == [
        "?",
        "set_pte",
        "set_pte",
        "entry",
        "entry",
    ]


def test_the_round_with_the_least_writes_is_shown_by_function():
    text = (
        line("fork", 9, {"0x1000": 9}) + line("fork", 5, {"0x1000": 1, "0x1010": 1, "0x1044": 3}) + line("exit", 0, {})
    )
    assert writes_by_function(parse_counts(text), functions()) == {"fork": {"entry": 3, "set_pte": 2}, "exit": {}}


def test_every_write_has_an_address():
    good, bad = line("a", 3, {"0x1": 1, "0x2": 2}), line("b", 3, {"0x1": 1})
    assert where_differences(parse_counts(good + bad)) == ["b: 1 writes have an address, not 3"]


def test_the_plugin_is_asked_for_addresses_of_a_kernel_that_is_where_it_was_linked():
    files = Files(Path("k"), Path("i"), Path("c"), Path("r"), Path("m"), plugin=Path("p.so"))
    machine = Machine(where=True)
    assert "p.so,out=counts.jsonl,where=on" in qemu_command(machine, files)
    assert "nokaslr" in kernel_command_line(machine).split()
    assert "p.so,out=counts.jsonl" in qemu_command(Machine(), files)
