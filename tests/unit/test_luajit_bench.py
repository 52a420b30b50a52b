# SPDX-License-Identifier: GPL-2.0-only
"""LuaJIT's benchmarks: known sums, statistics, what is claimed of counts, and the page."""

import argparse
import math
import re
from dataclasses import replace
from functools import reduce
from itertools import accumulate
from pathlib import Path
from xml.etree import ElementTree

import pytest

from portcullis.commands import luajit_bench
from portcullis.commands.report import render
from portcullis.core.counts import CpuRound
from portcullis.errors import ToolError
from portcullis.host.luajit_bench import guest_machine, programs
from portcullis.host.workspace import default_workspace
from portcullis.lab.luajit_bench import Program, Sample, compare, geometric, mean_of, published_mean, samples_of
from portcullis.lab.luajit_counts import Counted, counted_of, problems_of_counted
from portcullis.lab.luajit_page import (
    GuestCounts,
    count_rows,
    count_summary,
    luajit_page,
    signed,
    time_rows,
    time_summary,
)

LUA = Path(__file__).parents[2] / "jit" / "luajit" / "bench"
LEAST, MODULUS = 16807, 2147483647


# --- the programs --------------------------------------------------------------------------------------------
def expected(name):
    text = re.search(r"expected = \{(.*?)\}", (LUA / f"{name}.lua").read_text())[1]
    return {int(size): eval(value, {}) for size, value in re.findall(r"\[(\d+)\] = ([\d *+]+)", text)}


def weighed(values):
    return reduce(lambda sum_, value: (sum_ * 31 + value) % 16777213, values, 0)


def minimal(count, seed=42):
    values = []
    for _ in range(count):
        seed = seed * LEAST % MODULUS
        values.append(seed)
    return values


def fasta(size):
    text = (LUA / "fasta.lua").read_text()
    alu = "".join(re.findall(r'"([ACGT]{30,})"', text))
    tables = [
        [(letter, float(part)) for letter, part in re.findall(r'\{ "(\w)", ([\d.]+) \}', block)]
        for block in re.findall(r"local (?:IUB|HOMO) = \{(.*?)\n\}", text, re.DOTALL)
    ]
    said = [">ONE Homo sapiens alu", (alu * (2 * size // len(alu) + 1))[: 2 * size]]
    seed = 42
    titles = (">TWO IUB ambiguity codes", ">THREE Homo sapiens frequency")
    for title, table, count in zip(titles, tables, (3 * size, 5 * size), strict=True):
        said.append(title)
        for _ in range(count):
            seed = (seed * 3877 + 29573) % 139968
            limits = accumulate(part for _, part in table)
            letter = next(letter for (letter, _), limit in zip(table, limits, strict=True) if seed / 139968 < limit)
            said.append(letter)
    return weighed("".join(said).encode())


def life(generations):
    text = (LUA / "life.lua").read_text()
    patterns = [
        re.findall(r'"([.#]+)"', block) for block in re.findall(r"local (?:GUN|PENTOMINO) = \{(.*?)\}", text, re.DOTALL)
    ]
    width, height = 64, 40
    alive = {
        (left + x, top + y)
        for pattern, left, top in zip(patterns, (2, 45), (2, 25), strict=True)
        for y, row in enumerate(pattern)
        for x, letter in enumerate(row)
        if letter == "#"
    }
    sum_ = 0
    around = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
    for generation in range(1, generations + 1):
        near = {}
        for x, y in alive:
            for dx, dy in around:
                cell = (x + dx) % width, (y + dy) % height
                near[cell] = near.get(cell, 0) + 1
        alive = {cell for cell, count in near.items() if count == 3 or count == 2 and cell in alive}
        if generation % 10 == 0:
            rows = ("".join("O" if (x, y) in alive else "-" for x in range(width)) for y in range(height))
            sum_ = reduce(lambda sum_, code: (sum_ * 31 + code) % 16777213, "\n".join(rows).encode(), sum_)
    return sum_


INDEPENDENT = {
    "fasta": fasta,
    "life": life,
    "quicksort": lambda size: weighed(sorted(minimal(size))),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_sums_are_those_of_another_implementation(name):
    known = expected(name)
    assert len(known) >= 2
    for size, value in known.items():
        assert INDEPENDENT[name](size) == value


def test_every_program_has_a_file_with_known_sums_for_its_sizes():
    names = {path.stem for path in LUA.glob("*.lua")}
    assert names == {each.name for each in programs().programs} | {"run", "one_trace"}
    for each in programs().programs:
        text = (LUA / f"{each.name}.lua").read_text()
        sizes = {int(size) for size in re.findall(r"\t(?:size|quick) = (\d+),", text)}
        assert len(sizes) == 2 and sizes <= set(expected(each.name)), each.name


def test_programs_are_chosen_by_name():
    assert [each.name for each in programs().choose(["life", "fasta"])] == ["fasta", "life"]
    assert len(programs().choose([])) == 15
    with pytest.raises(ValueError, match="no program 'luacheck'"):
        programs().choose(["luacheck"])


# --- statistics ------------------------------------------------------------------------------------------------
def runs(*milliseconds):
    return [Sample(each / 1000, 0.001, each / 500) for each in milliseconds]


BEFORE, AFTER = runs(100, 101, 99, 102, 98, 100), runs(95, 97, 93, 96, 94, 95)
SAME = Program("same")


def test_a_gain_is_the_part_of_stocks_time_that_is_saved():
    gain = compare(SAME, BEFORE, AFTER, tests=1)
    assert gain.part == pytest.approx(5 / 101) and gain.significant
    assert gain.low < gain.part < gain.high and gain.low > 0
    # By hand: variances 2 and 2, of means 1/3 each; t = 5 / sqrt(2/3), 10 degrees of freedom, integrated.
    assert gain.p == pytest.approx(1.1213e-4, rel=1e-3)
    assert gain.system == pytest.approx(1 / 101) and gain.wall == pytest.approx(0.05)


def test_the_correction_decides_with_the_interval():
    strict = compare(SAME, BEFORE, AFTER, tests=1000)
    assert not strict.significant and strict.low < 0 < strict.high
    assert compare(SAME, BEFORE, AFTER, tests=15).significant
    slower = compare(SAME, AFTER, BEFORE, tests=1)
    assert slower.significant and slower.high < 0


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match="two runs"):
        compare(SAME, BEFORE[:1], AFTER, tests=1)


def test_the_mean_is_geometric():
    assert geometric([0.5, -1.0]) == pytest.approx(0.0)
    assert geometric([0.19]) == pytest.approx(0.19)


def test_the_mean_has_an_interval_made_of_the_programs_errors():
    # By hand: errors of the logarithms as above, 10 degrees of freedom each and 20 together, t = 2.0860.
    error = math.sqrt(2 * (1 / 3 / 101**2 + 1 / 3 / 96**2)) / 2
    mean = mean_of(gains())
    assert (mean.low, mean.part, mean.high) == pytest.approx(
        [1 - 96 / 101 * math.exp(sign * 2.0860 * error) for sign in (1, 0, -1)], rel=1e-4
    )
    still = replace(compare(SAME, BEFORE, AFTER, tests=1), error=0.0)
    assert mean_of([still]).low == mean_of([still]).high == pytest.approx(5 / 101)


def test_the_published_mean_is_that_of_the_same_programs():
    every = [compare(each, BEFORE, AFTER, tests=15) for each in programs().programs]
    assert signed(published_mean(every)) == "+2.25%"
    assert published_mean([compare(SAME, BEFORE, AFTER, tests=1)]) is None


def test_stored_runs_that_are_broken_are_refused():
    assert samples_of({"a": {"stock": [[1, 2, 3]]}})["a"]["stock"] == [Sample(1, 2, 3)]
    with pytest.raises(ValueError, match="broken"):
        samples_of({"a": {"stock": [[1, 2]]}})


# --- counts ----------------------------------------------------------------------------------------------------
def record(program, variant, traces, calls, **watched):
    named = {"mprotect": 0, "pkey_mprotect": 0, **watched}
    said = f"{program} 10 77 known traces {traces}"
    return {"luabench": program, "variant": variant, "said": said, "traces": traces, "calls": calls, **named}


def region(name, instructions, writes=0, flushes=0):
    user = {"instructions": instructions, "user_pkey_writes": writes}
    return CpuRound(name, 0, 1, user, {"instructions": 100, "tlbi_local": flushes})


def one(program, traces):
    records = [
        record(program, "stock", traces, 20 + 2 * traces - 1, mprotect=2 * traces - 1),
        record(program, "rwx", traces, 20),
        record(program, "jitgate", traces, 29, pkey_mprotect=1),
    ]
    regions = [
        region(f"{program}/stock", 1000, flushes=30 + 16 * traces),
        region(f"{program}/rwx", 900, flushes=30),
        region(f"{program}/jitgate", 950, writes=2 * traces - 1, flushes=30),
    ]
    return records, regions


NAMES = ("one_trace", "fasta")


def good():
    (first, counts), (more, others) = one("one_trace", 1), one("fasta", 60)
    return counted_of(first + more, counts + others)


def changed(variant, **fields):
    return [replace(each, **fields) if (each.program, each.variant) == ("fasta", variant) else each for each in good()]


def test_good_counts_have_no_problem():
    assert problems_of_counted(good(), NAMES) == []


@pytest.mark.parametrize(
    ("variant", "fields", "problem"),
    [
        ("jitgate", {"calls": 29 + 60}, "60 system calls after the first area"),
        ("jitgate", {"calls": 33}, "4 system calls after the first area, for 60 traces"),
        ("jitgate", {"watched": {"mprotect": 119, "pkey_mprotect": 0}}, "changed protection 119 times"),
        ("jitgate", {"region": region("", 950, writes=0, flushes=30)}, "register 0 times for 60 traces"),
        ("jitgate", {"region": region("", 950, writes=119, flushes=980)}, "invalidated 980 times, stock 990"),
        ("stock", {"watched": {"mprotect": 60, "pkey_mprotect": 0}}, "60 mprotect"),
        ("stock", {"region": region("", 950, writes=2, flushes=990)}, "stock wrote"),
        ("rwx", {"said": "fasta 10 78 known"}, "rwx said 'fasta 10 78 known'"),
        ("rwx", {"said": "fasta 10 77"}, "no known sum"),
        ("rwx", {"region": None}, "no region"),
    ],
)
def test_what_contradicts_the_claims_is_named(variant, fields, problem):
    found = problems_of_counted(changed(variant, **fields), NAMES)
    assert found and all(each.startswith("fasta: ") for each in found)
    assert problem in "; ".join(found)


def test_what_was_not_counted_is_named():
    assert problems_of_counted(good()[:-1], NAMES) == ["fasta on jitgate: not counted"]
    assert len(problems_of_counted([], NAMES)) == 6


def test_seeds_add_up():
    (records, regions), (others, more) = one("fasta", 60), one("fasta", 50)
    stock = counted_of(records + others, regions + more)[0]
    assert (stock.traces, stock.runs, stock.watched["mprotect"], stock.instructions) == (110, 2, 218, 2200)
    with pytest.raises(ValueError, match="more often"):
        counted_of(records, regions + more)
    others[0]["said"] = "fasta 10 78 known traces 50"
    with pytest.raises(ValueError, match="fasta on stock said"):
        counted_of(records + others)


def test_a_broken_record_is_refused():
    with pytest.raises(ValueError, match="broken"):
        counted_of([{"luabench": "fasta", "variant": "stock"}])


# --- tables and page -------------------------------------------------------------------------------------------
def gains():
    return [compare(each, BEFORE, AFTER, tests=2) for each in programs().choose(["fasta", "ray"])]


def test_figures_have_a_sign():
    assert [signed(part) for part in (0.0123, -0.5, 0.0)] == ["+1.23%", "-50.0%", "0.00%"]


def test_tables_say_what_was_measured():
    rows = time_rows(gains(), good())
    assert rows[0][3] == "+4.95% (S)" and rows[0][7:] == ("+17.1%", "60", "119")
    assert rows[1][7:] == ("-1.14%", "-", "-")
    said = time_summary(gains(), programs())
    assert "geometric mean of 2 programs: +4.95%, +3.78% to +6.11% at 95% (published +1.1% of 46 programs" in said
    assert "and +8.41% of those measured here)" in said and "it does not show what a key costs" in said
    counts = {row[0]: row for row in count_rows(good())}
    assert counts["fasta"][2:6] == ("139 / 29", "119 / 1", "990 / 30", "0 / 119")
    assert counts["fasta"][-1] == "+4.55%"
    assert "9 system calls more than insecure memory for the first area, and then at most 0" in count_summary(good())


def test_the_page_has_what_was_measured_and_nothing_else():
    guest = GuestCounts("arm64", {"seeds": "3"}, good())
    page = luajit_page(programs(), gains(), good(), 48, {"LuaJIT": "2.1"}, [guest], ["./portcullis luajit bench"])
    assert [part.id for part in page.parts] == ["luajit-native", "luajit-guest-arm64"]
    for part in page.parts:
        for plot in part.plots:
            ElementTree.fromstring(plot.svg)
    text = render(page)
    assert "No time here was measured" not in text and "memory that is not protected" in text
    assert "http-equiv" in text and "arm64 (POE)" in text and "kvakil.me" in text
    alone = luajit_page(programs(), [], (), 0, {}, [guest], [])
    assert [part.id for part in alone.parts] == ["luajit-guest-arm64"]
    with pytest.raises(ValueError, match="nothing was measured"):
        luajit_page(programs(), [], (), 0, {}, [], [])


# --- command -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["luacheck"], "no program 'luacheck'"),
        (["--runs", "1"], "two runs"),
        (["--seeds", "0"], "one seed"),
        (["--size", "huge"], "'huge' is no size"),
        (["--arch", "arm64"], "this machine is x86"),
        (["--json", "/nowhere/at/all.json"], "is no folder"),
    ],
)
def test_bad_input_is_refused_before_anything_is_built(words, problem, monkeypatch):
    monkeypatch.setattr("os.uname", lambda: argparse.Namespace(machine="x86_64"))
    parser = argparse.ArgumentParser()
    luajit_bench.add_arguments(parser)
    with pytest.raises(ToolError, match=problem):
        luajit_bench.run(default_workspace(None), parser.parse_args(words))


def test_the_guest_repeats_itself():
    machine = guest_machine("arm64", ("stock", "fasta"), {"iterations": 2, "seeds": 3}, timeout=9.0)
    assert machine.job == "luabench,/luajit,iterations=2,seeds=3,stock,fasta"
    assert (machine.cpus, machine.icount, machine.mode, machine.timeout) == (1, 0, "off", 9.0)


def test_what_is_kept_comes_back_whole():
    rows = [luajit_bench._row(each) for each in good()]
    assert luajit_bench._counted(rows) == tuple(replace(each, said=each.said) for each in good())
    assert isinstance(luajit_bench._counted(rows)[0], Counted)
