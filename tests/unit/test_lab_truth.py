# SPDX-License-Identifier: GPL-2.0-only
"""What keeps the lab's tables honest: floors, one base, marks of fitted cells, and dashes."""

from dataclasses import replace

import pytest
from test_lab import ROWS, SOURCE, cycles, made_up, profile_text, result

from labfixture import results
from portcullis.host.labdata import published_rows, read_profiles
from portcullis.lab.jobs import has_stock, stock_variant
from portcullis.lab.page import make_page
from portcullis.lab.pricing import overhead, price
from portcullis.lab.profile import parse_profile, priced_counts
from portcullis.lab.published import Counted, settle
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
    settled, (fitted,) = settle(made_up(instructions=text, isb=isb).ends()[1], ROWS, Counted([]))
    assert settled.costs["instructions"].low == 1.0  # at twice the anchor
    assert settled.at("kernbench", "kernel").costs["instructions"].low == pytest.approx(2.2)
    assert "2026-01-02" in fitted.said and "not kept" in fitted.said
    with pytest.raises(ValueError, match="no last_when"):
        parse_profile(
            profile_text(isb=f'fit = "kpkeys/fork-h0/rfc"\nlast = [1, 1]\n{SOURCE}'), [row.id for row in ROWS]
        )
    # Counts are better than memory.
    counts = {"off": {"instructions": 1000}, "per-write": {"instructions": 1000, "isb": 100}}
    counted = Counted([result(design, {"fork-h0": each}) for design, each in counts.items()])
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
