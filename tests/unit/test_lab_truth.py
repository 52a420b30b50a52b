# SPDX-License-Identifier: GPL-2.0-only
"""What keeps the lab's tables honest: floors, one base, marks of fitted cells, dashes, and committed counts."""

import re
from dataclasses import replace

import pytest

from labfixture import results
from madeup import ROWS, SOURCE, cycles, made_up, profile_text, result
from portcullis.cli import main
from portcullis.commands import labbench
from portcullis.commands.report import markdown
from portcullis.host import labdata
from portcullis.host.labdata import published_rows, read_profiles
from portcullis.lab.committed import dump_committed, merge, parse_committed
from portcullis.lab.jobs import has_stock, stock_variant
from portcullis.lab.page import make_page
from portcullis.lab.pricing import overhead, price
from portcullis.lab.profile import parse_profile, priced_counts
from portcullis.lab.published import ResultIndex, as_in_source, compare, settle
from portcullis.lab.results import Region, Result, Round
from portcullis.lab.tables import make_table, overhead_said

FLOOR = f'floor = 2\nunit = "cycles"\n{SOURCE}'
PROFILES = {profile.name: profile for profile in read_profiles()}


def grid_of(page, name):
    return next(grid for part in page.parts for grid in part.grids if grid.id == name)


# --- floors ------------------------------------------------------------------------------------------------
def test_writes_without_a_barrier_are_no_more_than_there_are_fewer_barriers():
    assert priced_counts({"pkey_writes": 8, "isb": 3}, "arm64")["lone_writes"] == 5
    assert "lone_writes" not in priced_counts({"pkey_writes": 8, "isb": 9}, "arm64")
    assert "lone_writes" not in priced_counts({"pkey_writes": 8}, "x86")


def test_what_has_a_floor_costs_that_and_more():
    profile = made_up(
        instructions=cycles(1), pkey_writes=f'within = "isb"\n{SOURCE}', isb=cycles(10), lone_writes=FLOOR
    )
    assert profile.costs["lone_writes"].given == "2 cycles or more"
    design = {"instructions": 100, "pkey_writes": 4, "isb": 1}
    found = price(design, profile)
    assert found.cycles.low == found.cycles.high == 116 and found.unknown == {"lone_writes": 3}
    above = overhead(design, {"instructions": 100}, profile)
    assert above.range.high == pytest.approx(0.16) and above.unknown == {"lone_writes": 3}
    # With a barrier behind each there is nothing to add.
    assert overhead({**design, "isb": 4}, {"instructions": 100}, profile).unknown == {}


@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.arch == "arm64"])
def test_no_write_of_the_register_is_free_on_arm64(name):
    cost = PROFILES[name].costs["lone_writes"]
    assert cost.open and cost.low > 0


# --- prices ------------------------------------------------------------------------------------------------
def test_the_price_of_a_pks_write_spans_the_one_that_was_measured():
    low, high = PROFILES["xeon-pks"].costs["pkey_writes"].range
    assert low < 185.31 < high


def test_a_source_is_compared_at_the_price_that_it_measured():
    counts = {"lm-pagefault": {"instructions": 1000}}
    own = {"lm-pagefault": {"instructions": 1000, "pkey_writes": 2}}
    results = [result("stock", counts, arch="x86"), result("portcullis", own, arch="x86")]
    profile = replace(
        parse_profile(profile_text("x86", instructions=cycles(1), pkey_writes=cycles(5))), name="xeon-pks"
    )
    (found,) = (each for each in compare(profile, ROWS, ResultIndex(results)) if each.ours)
    assert found.row.id == "bulkhead/page-fault" and found.ours.middle == pytest.approx(2 * 18.531)


def test_the_middle_of_an_overhead_is_that_of_all_prices():
    profile = made_up(instructions=cycles(0.5, 1.5), isb=cycles(100, 300))
    found = overhead({"instructions": 1000, "isb": 1}, {"instructions": 1000}, profile).range
    assert (found.low, found.high, found.middle) == pytest.approx((100 / 1500, 300 / 500, 200 / 1000))
    counted = [result("off", {"fork-h1": {"instructions": 1000}})]
    counted.append(result("rfc", {"fork-h1": {"instructions": 1000, "isb": 1}}))
    (row,) = (each for each in compare(replace(profile, name="graviton3"), ROWS, ResultIndex(counted)) if each.ours)
    assert row.ours.middle == pytest.approx(20) and row.factor == pytest.approx(20 / 6.99)


def test_fitted_prices_are_solved_at_both_ends_of_the_anchor():
    low, high = PROFILES["graviton3"].costs["isb"].range
    assert low < high
    ends = PROFILES["graviton3"].ends()
    assert [each.costs["isb"].range for each in ends] == [(low, low), (high, high)]
    table = make_table(PROFILES["graviton3"], published_rows(), results())
    first, second = (each.costs["instructions"].low for each in table.profiles)
    assert second > 1.5 * first
    line = next(line for line in table.lines if line.region == "munmap-h0")
    assert line.base_price.cycles.high > 1.5 * line.base_price.cycles.low
    # Only the ratio matters where nothing else has a price.
    assert line.cells["per-write"].overhead.range.high < 1.2 * line.cells["per-write"].overhead.range.low


LAST = 'fit = "kpkeys/fork-h0/per-write"\nfit_each = "per-write"\nlast = [0.5, 0.5]\nlast_when = "2026-01-02"\n'


def test_a_fit_that_is_not_counted_has_its_last_price():
    text = f'{LAST}last_each = {{ "fork-h1" = 0.8, "kernbench/kernel" = 1.1 }}\n{SOURCE}'
    isb = f"{cycles(10, 20)}anchor = true\n"
    settled, (fitted,) = settle(made_up(instructions=text, isb=isb).ends()[1], ROWS, ResultIndex([]))
    assert settled.costs["instructions"].low == 1.0  # at twice the anchor
    assert settled.at("kernbench", "kernel").costs["instructions"].low == pytest.approx(2.2)
    assert "2026-01-02" in fitted.said and "not kept" in fitted.said
    with pytest.raises(ValueError, match="no last_when"):
        parse_profile(
            profile_text(isb=f'fit = "kpkeys/fork-h0/rfc"\nlast = [1, 1]\n{SOURCE}'), [row.id for row in ROWS]
        )
    # Counts are better than memory.
    counts = {"off": {"instructions": 1000}, "per-write": {"instructions": 1000, "isb": 100}}
    counted = ResultIndex([result(design, {"fork-h0": each}) for design, each in counts.items()])
    settled, (fitted,) = settle(made_up(instructions=text, isb=cycles(30)), ROWS, counted)
    assert settled.costs["instructions"].low == pytest.approx(3000 / 2.2139 / 1000) and not fitted.when


# --- tables ------------------------------------------------------------------------------------------------
def test_the_stock_kernel_is_the_base_of_variants_that_are_ours_alone():
    assert [stock_variant("arm64", name) for name in ("", "late", "pauth-off", "kpti")] == ["", "", "", "kpti"]
    assert stock_variant("x86", "wp") == "" and stock_variant("x86", "pti-on") == "pti-on"
    assert has_stock("fork-h0") and not has_stock("vmalloc-p1-h0")
    counts = {"fork-h0": {"instructions": 1000}}
    protected = {"fork-h0": {"instructions": 1010, "cr0_writes": 2}}
    results = [
        result("stock", counts, arch="x86"),
        replace(result("off", {"fork-h0": {"instructions": 990}}, variant="wp", arch="x86"), job="off"),
        replace(result("portcullis", protected, variant="wp", arch="x86"), job="wp"),
    ]
    profile = parse_profile(profile_text("x86", instructions=cycles(1), cr0_writes=cycles(5)))
    (line,) = make_table(profile, ROWS, results, "wp").lines
    assert line.base == "stock" and line.cells["portcullis"].overhead.range.high == pytest.approx(0.02)


def test_vmalloc_is_compared_with_as_many_barriers():
    def counts(dsb, isb):
        return {"vmalloc-p4-h0": {"instructions": 1000, "dsb": dsb, "isb": isb, "pkey_writes": 4}}

    made = {"off": counts(4, 4), "portcullis": counts(1, 5)}
    results = [replace(result(design, each), job=design) for design, each in made.items()]
    (line,) = make_table(made_up(instructions=cycles(1), isb=cycles(100)), ROWS, results).lines
    assert line.base == "off" and line.cells["portcullis"].overhead.range.high == pytest.approx(400 / 1100)


def test_there_is_no_sum_without_the_price_of_the_switch():
    profile = parse_profile(profile_text("x86", instructions=cycles(1), cr0_writes="unknown = true"))
    protected = {"fork-h0": {"instructions": 1010, "cr0_writes": 448}, "gate-cr0-wp": {"cr0_writes": 2}}
    results = [
        result("stock", {"fork-h0": {"instructions": 1000}}, arch="x86"),
        replace(result("portcullis", protected, arch="x86"), job="p"),
    ]
    lines = {line.region: line for line in make_table(profile, ROWS, results).lines}
    assert overhead_said(lines["fork-h0"].cells["portcullis"]) == "– (448 writes)"
    assert lines["gate-cr0-wp"].unpriced
    assert grid_of(make_page(results, [profile], ROWS), "gates-table-made-up").rows[0][:2] == ("cr0-wp", "–")
    priced = parse_profile(profile_text("x86", instructions=cycles(1), cr0_writes=cycles(10)))
    lines = {line.region: line for line in make_table(priced, ROWS, results).lines}
    assert overhead_said(lines["fork-h0"].cells["portcullis"]) == "449.0%" and not lines["gate-cr0-wp"].unpriced


def test_what_settled_a_price_is_marked_wherever_it_is():
    page = make_page(results(), read_profiles(), published_rows())
    grid = grid_of(page, "overhead-graviton3")
    rows = {row[0]: dict(zip(grid.columns, row, strict=True)) for row in grid.rows}
    assert rows["fork-h0"]["per-write"].endswith("(fitted)") and rows["fork-h0"]["rfc"].endswith("(fitted)")
    assert rows["munmap-h1"]["per-write"].endswith("(fitted)") and "fitted" not in rows["munmap-h1"]["rfc"]
    assert all(row["without"].endswith("(fitted)") for row in rows.values())
    plots = {plot.id: plot for part in page.parts for plot in part.plots}
    for name, bar in (("published-dear-graviton3", "fork-h0"), ("ingredients-dear-graviton3", "munmap-h1")):
        assert f">{bar}*<" in plots[name].svg and "A star: fitted" in plots[name].example
    assert "vmalloc-p1-h0" not in rows and grid_of(page, "overhead-own-graviton3").rows[0][0] == "vmalloc-p1-h0"


def test_rows_that_cannot_be_looked_at_again_say_so():
    page = make_page([*results(), *results("x86")], read_profiles(), published_rows())
    for name, unchecked in (("graviton3", True), ("xeon-pks", False)):
        rows = grid_of(page, f"published-table-{name}").rows
        assert rows and all(("not rechecked" in row[1]) == unchecked for row in rows)
    assert any("Not rechecked: " in note for part in page.parts for note in part.notes)
    columns = grid_of(page, "published-table-graviton3").columns
    table = {row[0]: row for row in grid_of(page, "published-table-graviton3").rows}
    assert float(table["munmap-h1/rfc"][columns.index("Portcullis / our rfc")]) < 1


def test_the_first_table_has_each_backend_and_what_others_published():
    def wp(made):
        kernels = {name: dict(region.rounds[0].kernel) for name, region in made.regions.items()}
        for kernel in kernels.values():
            kernel["cr0_writes"] = kernel.pop("pkey_writes", 0)
        regions = {name: Region(made.regions[name].times, (Round({}, kernel),)) for name, kernel in kernels.items()}
        return replace(made, variant="wp", job=f"{made.job}-wp", regions=regions)

    x86 = [replace(each, when="2026-02-03 04:05 UTC", versions={"tree": "abc of a day"}) for each in results("x86")]
    both = [*results(), *x86, *(wp(each) for each in x86 if each.design == "portcullis")]
    page = make_page(both, read_profiles(), published_rows(), "from nowhere")
    assert page.parts[0].id == "first" and ("counts", "from nowhere") in page.environment
    assert any("counted 2026-02-03, kernel abc of a day" in note for note in page.parts[0].notes)
    (grid,) = page.parts[0].grids
    fork, munmap, touch, *_ = grid.rows
    assert len(grid.rows) == 6 and re.fullmatch(r"[\d.]+% \([\d.]+ to [\d.]+%\)", fork[1]) and "writes)" in fork[2]
    assert fork[4].startswith("3.35% (R)") and fork[5].startswith("27.10%") and touch[5].startswith("39.67%")
    assert grid.example.count(". ") == 2 and "By default the dearest" in grid.example
    assert "of the 10 that kpkeys published with batching ours is below 7, and its range spans 0" in grid.example
    assert "of the 4 that BULKHEAD published ours is below 3, and its range spans 0" in grid.example
    lines = markdown(page)
    assert lines.index("## At first sight") < lines.index("# Appendix")
    assert not [line for line in lines[: lines.index("# Appendix")] if line.startswith("| vmalloc")]
    made = next(each for each in results() if each.job == "arm64-touch-rfc").regions["touch"].rounds[0]
    uneven = {"touch": Region(1, (made, Round({}, {**made.kernel, "instructions": 2 * made.kernel["instructions"]})))}
    both = [replace(each, regions=uneven) if each.job == "arm64-touch-rfc" else each for each in results()]
    (note,) = (
        line for line in markdown(make_page(both, read_profiles(), published_rows())) if "touch rfc 100%" in line
    )
    assert "say little" in note
    # Half of it says what it has.
    assert make_page(results(), read_profiles(), published_rows()).parts[0].grids[0].rows[0][1] == "not counted"


def test_targets_are_shown_where_no_published_design_was_counted():
    own = [each for each in results() if each.design in ("stock", "off", "portcullis")]
    page = make_page(own, read_profiles(), published_rows())
    grids = {grid.id: grid for part in page.parts for grid in part.grids}
    assert "published-table-graviton3" not in grids
    rows = {row[0]: row for row in grids["targets-graviton3"].rows}
    assert rows["fork-h0"][1:3] == ("3.35%", "–") and rows["fork-h0"][4].endswith("%")
    # Barriers are counted alike there, too.
    row = next(row for row in ROWS if row.id == "kpkeys/vmalloc-p4-h0/rfc")
    made = {"off": {"dsb": 4, "isb": 4}, "portcullis": {"dsb": 1, "isb": 5, "pkey_writes": 4}}
    counted = ResultIndex([result(design, {"vmalloc-p4-h0": each}) for design, each in made.items()])
    assert as_in_source(row, counted, "arm64") == (None, {"dsb": 1, "isb": 1})


# --- committed counts --------------------------------------------------------------------------------------
def test_committed_counts_survive_their_file_and_give_the_same_tables():
    counted = [replace(each, versions={"kernel": 'a "name"'}) for each in results()]
    text = dump_committed(counted)
    back = parse_committed(text)
    assert back == tuple(sorted(counted, key=lambda each: each.job))
    assert dump_committed(back) == text and max(map(len, text.splitlines())) < 2000
    for bad, why in (("{", "damaged"), ('{"format": 2, "results": []}', "format 2")):
        with pytest.raises(ValueError, match=why):
            parse_committed(bad)


def test_the_later_counts_of_a_job_are_taken():
    def made(job, when):
        return Result(job, "arm64", "off", "", {}, {}, "", {}, {}, when)

    old, new = made("a", "2026-01-01 10:00 UTC"), made("a", "2026-01-02 09:00 UTC")
    assert merge([old], [new]).results == (new,) and merge([new], [old]).results == (new,)
    other = made("b", "2026-01-01 10:00 UTC")
    both = merge([other, new], [old])
    assert both.results == (new, other) and both.committed == 2 and "nothing newer is in the cache" in both.said
    assert merge([other], [new]).said.startswith("1 jobs counted on this machine, 1 as they are committed")


@pytest.fixture
def committed(tmp_path, monkeypatch):
    path = tmp_path / "counts.json"
    path.write_text(dump_committed(results()))
    monkeypatch.setattr(labdata, "COUNTS", path)
    return path


def test_a_report_is_made_without_a_run(tmp_path, committed, capsys):
    cache = ["--cache", str(tmp_path / "cache")]
    assert main([*cache, "report", "--markdown"]) == 0
    said = capsys.readouterr().out
    assert "nothing newer is in the cache" in said and "| fork-h0/per-write |" in said
    committed.write_text("{")
    assert main([*cache, "report", "--markdown"]) == 2
    assert "counts.json" in capsys.readouterr().err


def test_one_design_alone_is_priced_with_what_was_counted_before(tmp_path, committed, monkeypatch, capsys):
    own = next(each for each in results() if each.job == "arm64-exec-portcullis")
    monkeypatch.setattr(labbench, "files_of", lambda *_: {})
    finished = labbench.FinishedJob
    monkeypatch.setattr(labbench, "finish_jobs", lambda _w, _o, jobs, _f: [finished(job, own) for job in jobs])
    words = ["--cache", str(tmp_path), "bench", "exec", "--arch", "arm64", "--profile", "graviton3"]
    assert main([*words, "--design", "portcullis"]) == 0
    said = capsys.readouterr().out
    assert "exec" in said and "stock" in said and "were not counted now are of" in said
    # Without any it says why there is no table.
    committed.write_text(dump_committed([]))
    assert main([*words, "--design", "portcullis"]) == 0
    assert "no table, for no region was counted" in capsys.readouterr().out
