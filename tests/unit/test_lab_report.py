# SPDX-License-Identifier: GPL-2.0-only
"""The report's page, its plots, the committed expectations and the command line of the lab."""

import json
import os
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from fakes import FAKE_QEMU, make_program, make_workspace
from kit.lab import barriers_kept
from labfixture import results
from portcullis.cli import main
from portcullis.commands import labbench
from portcullis.commands.report import markdown, page_json, render
from portcullis.host import labdata
from portcullis.host.executors import local
from portcullis.host.labdata import published_rows, read_profiles
from portcullis.host.labjobs import Files, Store, run_jobs
from portcullis.lab.credentials import credentials_part
from portcullis.lab.expected import Expected, counts_of, differences, dump_expected, parse_expected, updated
from portcullis.lab.jobs import choose_jobs
from portcullis.lab.page import make_page
from portcullis.lab.plots import Bar, Span, curves, decades, ranges, stacked, steps
from portcullis.lab.results import Region, Round
from portcullis.lab.text import nanoseconds, percent


@pytest.fixture(scope="module")
def page():
    return make_page(results(), read_profiles(), published_rows())


# --- plots -------------------------------------------------------------------------------------------------
def shapes(svg, kind):
    return [each for each in ElementTree.fromstring(svg).iter() if each.tag.endswith(kind)]


def test_round_numbers_of_an_axis():
    assert steps(0, 100) == [0, 20, 40, 60, 80, 100]
    assert steps(-1.2, 3.1) == [-1, 0, 1, 2, 3]
    assert decades(12, 900) == [10, 100, 1000] and decades(10, 10) == [10, 100]


def test_a_stack_is_as_long_as_its_sum_and_savings_go_left():
    svg = stacked("x", [Bar("a", {"one": 30, "two": 60}), Bar("b", {"one": -10, "two": 45})], ("one", "two"))
    first, second, saving, rest = (
        (float(each.get("x")), float(each.get("width")), each.get("class")) for each in shapes(svg, "rect")
    )
    assert second[0] == pytest.approx(first[0] + first[1], abs=0.02) and second[1] == pytest.approx(
        2 * first[1], abs=0.02
    )
    assert saving[0] + saving[1] == pytest.approx(rest[0], abs=0.02) and rest[0] == first[0]
    assert saving[2] == first[2] == "s0" and rest[2] == "s1"


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors():
    svg = ranges("x", [Span("a", {"t": (10, 100)}), Span("b", {"t": (100, 1000)})], ("t",), " ns", logarithmic=True)
    one, other = (
        float(each.get("x2")) - float(each.get("x1")) for each in shapes(svg, "line") if "range" in each.get("class")
    )
    assert one == pytest.approx(other, abs=0.2) and one > 50


def test_curves_over_powers_of_two():
    svg = curves("x", {"a": [(1, 5.0), (4, 3.0), (16, 1.0)]}, (2,), "pages", "%")
    xs = [float(pair.split(",")[0]) for pair in shapes(svg, "polyline")[0].get("points").split()]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)
    assert {each.get("class") for each in shapes(svg, "circle")} == {"s2"}


def test_numbers_for_people():
    assert [percent(part) for part in (2.2139, 0.0335, -0.00001, -0.02)] == ["221.4", "3.35", "0.00", "-2.00"]
    assert [nanoseconds(ns) for ns in (12.34, 4560, 7.8e6)] == ["12.3 ns", "4.56 µs", "7.8 ms"]


# --- the page ----------------------------------------------------------------------------------------------
def test_the_page_has_what_it_should(page):
    plots = {plot.id for part in page.parts for plot in part.plots}
    grids = {grid.id: grid for part in page.parts for grid in part.grids}
    for kind in ("ingredients-dear", "ingredients-batched", "size-all", "gates", "published-dear", "published-batched"):
        assert f"{kind}-graviton3" in plots
    table = {row[0]: row for row in grids["published-table-graviton3"].rows}
    assert table["fork-h0/per-write"][2:5] == ("218.7 to 224.1%", "1.00", "fitted")
    assert table["fork-h1/rfc"][4] == "predicted"
    # A row without batching settles the base of its benchmark, and so says nothing of it.
    columns = grids["published-table-graviton3"].columns
    own, portcullis = columns.index("own base"), columns.index("Portcullis")
    assert table["fork-h1/per-write"][own] == "–" and table["fork-h1/rfc"][own].endswith("%")
    assert table["fork-h1/per-write"][portcullis] == "–" and table["fork-h1/rfc"][portcullis].endswith("%")
    assert "As Linux 6.12 is: " in table["vmalloc-p64-h0/rfc"][-1]
    assert grids["overhead-graviton3"].columns == ("benchmark", "without", "off", "per-write", "rfc", "portcullis")
    assert any(row[2] == "ISBs" for row in grids["even-ampereone"].rows)
    assert all(grid.example and grid.rows for grid in grids.values())
    assert "./portcullis bench fork --arch arm64 --design rfc" in page.commands
    assert json.dumps(page_json(page)) and "<svg" not in json.dumps(page_json(page))


def test_targets_are_half_of_the_batched_figures(page):
    def without_barriers(result):
        kernels = {name: dict(region.rounds[0].kernel) for name, region in result.regions.items()}
        for kernel in kernels.values():
            kernel["isb"] = kernel.get("isb", 0) / 2
        regions = {name: Region(result.regions[name].times, (Round({}, kernel),)) for name, kernel in kernels.items()}
        return replace(result, variant="late-raise", regions=regions)

    late = [without_barriers(each) for each in results() if each.design == "portcullis" and not each.variant]
    with_late = make_page([*results(), *late], read_profiles(), published_rows())
    (grid,) = (grid for part in with_late.parts for grid in part.grids if grid.id == "targets-graviton3")
    assert grid.columns == ("figure", "published", "our rfc", "target", "as it is", "and late-raise")
    table = {row[0]: row for row in grid.rows}
    assert table["fork-h0"][1::2][:2] == ("3.35%", "1.7%") and table["vmalloc-p16-h0"][1::2][:2] == ("2.97%", "3.0%")
    assert table["fork-h0"][2].endswith("%")
    assert "vmalloc-p64-h0" not in table  # published as no overhead
    plain, raised = (float(cell.split()[-1].removesuffix("%")) for cell in table["vmalloc-p1-h0"][4:])
    assert raised < plain
    # The same figure as in the other table.
    (rows,) = (grid.rows for part in page.parts for grid in part.grids if grid.id == "published-table-graviton3")
    assert table["fork-h0"][4] == next(row[-3] for row in rows if row[0] == "fork-h0/rfc")


def test_the_page_is_one_file_and_escapes_what_it_shows(page):
    text = render(replace(page, title="<script>alert(1)</script>"))
    assert "<script" not in text and "&lt;script&gt;" in text
    assert not re.search(r'(src|href)="(?!#|https://)', text) and "@import" not in text
    assert not re.search(r"<(link|img|iframe|object)\b", text)
    assert not re.search(r"""<[^>]*\son\w+=|\burl\(""", text)


def test_what_the_markdown_begins_with_is_first_on_the_page(page):
    between = render(page).partition("</h1>")[2].partition("<table")
    assert "<p" not in between[0] and "<nav" not in between[0]
    assert between[2].startswith(' id="first-table"')
    assert [part.id for part in page.head] == ["first", "doubts"] and (*page.head, *page.appendix) == page.parts
    lines = markdown(page)
    titles = [f"## {part.title}" for part in page.head]
    assert [line for line in lines[: lines.index("# Appendix")] if line.startswith("## ")] == titles


def test_a_refused_design_is_named_on_the_page():
    def without_raises(result):
        if result.design != "portcullis":
            return result
        regions = {name: Region(1, (Round({}, {"instructions": 5}),)) for name in result.regions}
        return replace(result, regions=regions)

    page = make_page([without_raises(each) for each in results()], read_profiles(), published_rows())
    part = next(part for part in page.parts if part.id == "cpu-graviton3")
    assert any("portcullis is not shown" in note and "never raised" in note for note in part.notes)
    assert "portcullis" not in part.grids[0].columns


def test_rows_whose_rounds_differ_are_named():
    def uneven(result):
        if result.job != "arm64-touch-rfc":
            return result
        kernel = dict(result.regions["touch"].rounds[0].kernel)
        rounds = (Round({}, kernel), Round({}, {**kernel, "instructions": 2 * kernel["instructions"]}))
        return replace(result, regions={"touch": Region(1, rounds)})

    page = make_page([uneven(each) for each in results()], read_profiles(), published_rows())
    (note,) = (note for part in page.parts if part.id == "cpu-graviton3" for note in part.notes if "differ" in note)
    assert "touch rfc 100%" in note
    assert "fork-h0" not in note


def test_without_results_there_is_no_page():
    with pytest.raises(ValueError, match="run ./portcullis bench first"):
        make_page([], read_profiles(), published_rows())


# --- expectations ------------------------------------------------------------------------------------------
def test_expectations_survive_their_file_and_are_exact():
    counted = [each for each in results() if each.design == "portcullis" and "fork" in each.job]
    expected = Expected({"arm64": "gcc 12"}, counts_of(counted))
    text = dump_expected(expected)
    assert parse_expected(text) == expected and dump_expected(parse_expected(text)) == text
    assert differences(expected, "arm64", counted, "gcc 12") == []
    name, region = next(iter(counted[0].regions.items()))

    def with_one_more(counter):
        rounds = tuple(
            replace(each, kernel={**each.kernel, counter: each.kernel[counter] + 1}) for each in region.rounds
        )
        return [replace(counted[0], regions={**counted[0].regions, name: Region(region.times, rounds)})]

    (line,) = differences(expected, "arm64", with_one_more("isb"), "gcc 12")
    assert re.search(r"arm64-fork-portcullis fork-h0 kernel isb: \d+, expected \d+ \(\+1\)", line)
    assert differences(expected, "arm64", with_one_more("instructions"), "gcc 12")
    assert not differences(expected, "arm64", with_one_more("instructions"), "gcc 13")
    assert differences(expected, "arm64", with_one_more("isb"), "gcc 13")
    assert differences(expected, "arm64", [], "gcc 12") == ["arm64-fork-portcullis: not counted"]
    assert differences(Expected({}, {}), "arm64", counted, "gcc 12") == ["arm64-fork-portcullis: not expected"]
    # Another architecture has a compiler and jobs of its own.
    assert differences(expected, "x86", [], "gcc 12") == []
    both = updated(expected, "x86", "gcc 13", [replace(each, job=each.job.replace("arm64", "x86")) for each in counted])
    assert both.toolchains == {"arm64": "gcc 12", "x86": "gcc 13"} and len(both.counts) == 2 * len(expected.counts)
    assert parse_expected(dump_expected(both)) == both
    with pytest.raises(ValueError, match="no toolchains"):
        parse_expected("[a.b]\nkernel = {}\n")


# --- the switch without a barrier ----------------------------------------------------------------------------
def test_barriers_that_a_switch_drops():
    def counted(variant, writes, barriers):
        made = next(each for each in results() if each.job == "arm64-fork-portcullis")
        kernel = {"instructions": 1000, "pkey_writes": writes, "isb": barriers, "dsb": 54, "tlbi_broadcast": 2}
        return replace(made, variant=variant, regions={"fork-h0": Region(1, (Round({}, kernel),))})

    before = counted("pauth-off", 400, 440)
    raised, both = counted("late-raise", 400, 240), counted("late", 400, 90)
    assert barriers_kept([before, raised, both, counted("late-lower", 400, 290)]) == []
    assert barriers_kept([before, raised, both, counted("late-lower", 400, 293)]) == []
    for writes, barriers, why in ((400, 440, "0 barriers fewer"), (400, 240, "200 barriers fewer"), (398, 290, "398")):
        (problem,) = barriers_kept([before, raised, both, counted("late-lower", writes, barriers)])
        assert why in problem
    for variant in ("late-raise", "late"):
        others = [each for each in (raised, both) if each.variant != variant]
        (problem,) = barriers_kept([before, *others, counted("late-lower", 400, 290), counted(variant, 400, 440)])
        assert variant in problem
    assert barriers_kept([before]) == ["not counted with each switch and without"]
    nothing = [counted(name, 0, 0) for name in ("pauth-off", "late-lower", "late-raise", "late")]
    assert len(barriers_kept(nothing)) == 3


# --- jobs and commands -------------------------------------------------------------------------------------
GUEST = (
    FAKE_QEMU
    + """
echo run >>"@@/runs"
echo booting >"$console"
"""
)
GOOD = """
echo '{"region": "touch", "cpu": 0, "cpus": 1, "kernel": {"instructions": 1000, "pkey_writes": 4}}' >>"$counts"
printf '#json {"lab": "", "design": "%s"}\\n' "${design:-off}" >"$results"
echo '#json {"lab": "touch", "times": 2, "pages_keyed": 1}' >>"$results"
printf 'ok 1 - touch\n1..1\n' >>"$results"
"""


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr("portcullis.host.vm.Monitor", _no_monitor)
    workspace = make_workspace(tmp_path)
    for name in ("kernel", "initramfs", "plugin"):
        (tmp_path / name).write_text(name)

    def run(behaviour, again=False, designs=("portcullis",)):
        program = make_program(tmp_path, "qemu", GUEST.replace("@@", str(tmp_path)) + behaviour)
        files = Files(*(tmp_path / name for name in ("kernel", "initramfs", "plugin")), str(program), {})
        jobs = [(job, files) for job in choose_jobs("arm64", ["touch"], designs, [""])]
        return list(run_jobs(workspace, jobs, local(), again))

    run.workspace, run.folder = workspace, tmp_path
    return run


def _no_monitor(*_args, **_kwargs):
    raise OSError("no monitor")


def test_only_what_is_missing_runs(lab):
    done = GOOD + 'echo "#done 0" >>"$results"\n'
    (first,) = lab(done)
    assert first.fresh and first.result.regions["touch"].typical() == {"instructions": 500, "pkey_writes": 2}
    (second,) = lab(done)
    assert not second.fresh and second.result == first.result
    assert len(lab(done, designs=("rfc", "portcullis"))) == 2
    assert (lab.folder / "runs").read_text().count("run") == 2
    assert lab(done, again=True)[0].fresh
    for path in Store(lab.workspace).folder.glob("*.json"):
        path.write_text("{")  # of a disk that was full
    assert lab(done)[0].fresh


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (GOOD, "died before it finished"),
        (GOOD.replace('"pages_keyed": 1', '"pages_keyed": 0') + 'echo "#done 0" >>"$results"\n', "no keyed page"),
        (GOOD.replace('"pkey_writes": 4', '"isb": 4') + 'echo "#done 0" >>"$results"\n', "never raised"),
        (GOOD.replace("%s", "rfc") + 'echo "#done 0" >>"$results"\n', "ran design rfc, not portcullis"),
        (GOOD + 'printf "not ok 2 - touch # too much\\n#done 1\\n" >>"$results"\n', "too much"),
    ],
    ids=("dead", "no key", "no raise", "design", "failed"),
)
def test_a_bad_run_is_not_kept(lab, behaviour, why):
    (outcome,) = lab(behaviour)
    assert outcome.result is None and why in outcome.trouble
    assert not list(Store(lab.workspace).folder.glob("*.json"))


def test_the_newest_result_of_each_job_is_reported(lab):
    store = Store(lab.workspace)
    job = choose_jobs("arm64", ["touch"], ["off"], [""])[0]
    made = next(each for each in results() if each.job == job.id)
    for key, when in (("old", "then"), ("new", "now")):
        store.keep(key, job, replace(made, when=when))
    os.utime(store.folder / f"{job.id}-old.json", (1, 1))
    assert [each.when for each in store.newest()] == ["now"]


def test_options_that_do_not_go_together(capsys):
    for words, why in (
        (["--quick", "fork"], "--quick has a set of its own"),
        (["--update-expected"], "--update-expected is of the quick set"),
        (["--executor", "dask"], "go together"),
        (["--scheduler", "tcp://x"], "go together"),
        (["--workers", "0"], "above zero"),
        (["--smp", "4"], "are of --quick"),
        (["forks"], "there is no benchmark 'forks'"),
        (["fork", "--arch", "arm64", "--variant", "wp"], "no variant 'wp'"),
    ):
        assert main(["bench", *words]) == 2
        assert why in capsys.readouterr().err, words


def test_bench_prints_overheads_and_says_what_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(labdata, "COUNTS", tmp_path / "none")
    chosen = [each for each in results() if each.job.startswith("arm64-fork-")]

    def play(_workspace, _options, jobs, _files):
        return [
            labbench.FinishedJob(job, next((each for each in chosen if each.job == job.id), None), "it broke")
            for job in jobs
        ]

    monkeypatch.setattr(labbench, "files_of", lambda *_: {})
    monkeypatch.setattr(labbench, "finish_jobs", play)
    words = ["--cache", str(tmp_path), "bench", "fork", "--arch", "arm64"]
    assert main([*words, "--profile", "graviton3"]) == 0
    said = capsys.readouterr().out
    assert "218.7 to 224.1%" in said and "fitted to kpkeys/fork-h0/per-write" in said
    chosen.pop()
    assert main([*words, "--json"]) == 1
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["results"]) == 4 and "it broke" in shown.err
    assert main([*words, "--profile", "graviton9"]) == 2
    assert main([*words, "--profile", "xeon-pks"]) == 2


def test_report_writes_a_page(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(labdata, "COUNTS", tmp_path / "none")
    cache = ["--cache", str(tmp_path / "cache")]
    assert main([*cache, "report", "--out", str(tmp_path / "x.html")]) == 2
    assert "run ./portcullis bench first" in capsys.readouterr().err
    store = Store(make_workspace(tmp_path))
    jobs = {job.id: job for job in choose_jobs("arm64")}
    for each in results():
        store.keep("k", jobs[each.job], each)
    assert main([*cache, "report", "--out", str(tmp_path / "x.html")]) == 0
    assert "</html>" in (tmp_path / "x.html").read_text() and "plots" in capsys.readouterr().out
    assert main([*cache, "report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"]
    assert main([*cache, "report", "--out", str(tmp_path / "no/x.html")]) == 2
    capsys.readouterr()
    assert main([*cache, "report", "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line for line in lines if line.startswith("| fork-h0/per-write |"))
    head = next(line for line in lines if line.startswith("| figure |"))
    assert row.count(" | ") == head.count(" | ") and "221.39% (R)" in row


def test_misses_of_pages_and_blocks_side_by_side():
    def modelled(variant, misses):
        kernel = {"instructions": 500_000, "pkey_writes": 4}
        rounds = (Round({}, kernel, {"kernel_misses": misses}), Round({}, kernel, {"kernel_misses": misses}))
        job = next(job for job in choose_jobs("arm64", ["exec"], ["off"], [variant]))
        made = next(each for each in results() if each.job == "arm64-exec-off")
        return replace(made, job=job.id, variant=variant, regions={"exec": Region(1, rounds)})

    page = make_page(
        [*results(), modelled("tlb-pages", 4000), modelled("tlb-blocks", 3000)], read_profiles(), published_rows()
    )
    grids = {grid.id: grid for part in page.parts for grid in part.grids}
    assert grids["misses-table"].rows == (("exec", "off", "8", "6", "-25.0%"),)
    (row,) = grids["published-table-graviton2"].rows
    assert row[1:5] == ("-28.50%", "-25.0%", "0.88", "predicted")


def test_what_credentials_cost_is_counted_with_them_and_without():
    def counted_as(variant: str, instructions: int, writes: int):
        region = Region(10, (Round(kernel={"instructions": instructions, "pkey_writes": writes}),))
        plain = next(each for each in results() if each.job == "arm64-exec-portcullis")
        return replace(plain, variant=variant, regions={"exec": region})

    off, on = counted_as("cred-off", 1000, 20), counted_as("", 1100, 40)
    assert credentials_part([on]) is None
    part = credentials_part([on, off])
    assert part.grids[0].rows == (("exec", "arm64", "100", "110", "+10.0%", "+2.0"),)
    assert "executes 100 instructions on arm64 with kpkeys_cred=off, and 110 otherwise" in part.grids[0].example
