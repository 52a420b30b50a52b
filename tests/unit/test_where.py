# SPDX-License-Identifier: GPL-2.0-only
"""Who wrote the register of the keys: addresses, functions, the option of the plugin."""

import json
from pathlib import Path

from portcullis.core.counts import parse_regions, where_differences
from portcullis.core.elf import Symbol
from portcullis.core.machine import Files, Machine, kernel_command_line, qemu_command
from portcullis.core.where import Functions, writes_by_function

FUNCTION, OBJECT, NOTYPE = "STT_FUNC", "STT_OBJECT", "STT_NOTYPE"


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
    assert writes_by_function(parse_regions(text), functions()) == {"fork": {"entry": 3, "set_pte": 2}, "exit": {}}


def test_every_write_has_an_address():
    good, bad = line("a", 3, {"0x1": 1, "0x2": 2}), line("b", 3, {"0x1": 1})
    assert where_differences(parse_regions(good + bad)) == ["b: 1 writes have an address, not 3"]


def test_the_plugin_is_asked_for_addresses_of_a_kernel_that_is_where_it_was_linked():
    files = Files(Path("k"), Path("i"), Path("c"), Path("r"), Path("m"), plugin=Path("p.so"))
    machine = Machine(where=True)
    assert "p.so,out=counts.jsonl,where=on" in qemu_command(machine, files)
    assert "nokaslr" in kernel_command_line(machine).split()
    assert "p.so,out=counts.jsonl" in qemu_command(Machine(), files)
