# SPDX-License-Identifier: GPL-2.0-only
"""Results, profiles, prices and published figures of the lab. All counts here are made up to be easy to check."""

import json
from dataclasses import replace

import pytest

from madeup import DATA, ROWS, SOURCE, cycles, made_up, profile_text, result
from portcullis.core.machine import kernel_command_line
from portcullis.lab.jobs import (
    BENCHMARKS,
    PLAIN,
    VARIANTS,
    Inputs,
    Job,
    choose_jobs,
    result_key,
    result_of,
    with_tlb,
)
from portcullis.lab.pricing import overhead, price, solve_overhead, solve_time
from portcullis.lab.profile import PRICED, parse_profile, priced_counts
from portcullis.lab.published import ResultIndex, as_in_source, compare, settle
from portcullis.lab.results import Region, Result, Round, dump_result, load_result, rounds_of, why_not_to_price
from portcullis.lab.tables import make_table


# --- results -----------------------------------------------------------------------------------------------
def test_a_result_survives_its_file():
    before = Result(
        "arm64-fork-off",
        "arm64",
        "off",
        "",
        {"cpus": 1},
        {"kernel": "6.12"},
        "./portcullis bench fork",
        {"fork-h0": Region(2, (Round({"instructions": 5}, {"isb": 4}, {"misses": 6}),))},
        {"fork-h0": {"pages_keyed": 1}},
    )
    assert load_result(dump_result(before)) == before
    assert before.regions["fork-h0"].typical() == {"instructions": 2.5, "isb": 2.0, "tlb_misses": 3.0}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"design": "best"}, "design 'best'"),
        ({"format": 2}, "format 2"),
        ({"regions": {"x": {"times": 0, "rounds": [{}]}}}, "times and rounds"),
        ({"regions": {"x": {"times": 1, "rounds": [{"kernel": {"isb": -1}}]}}}, "isb is -1"),
    ],
)
def test_a_damaged_result_is_refused(change, complaint):
    data = json.loads(dump_result(result("off", {"fork-h0": {"isb": 1}})))
    with pytest.raises(ValueError, match=complaint):
        load_result(json.dumps({**data, **change}))
    with pytest.raises(ValueError, match="damaged"):
        load_result("{")


def test_rounds_of_the_plugins_file():
    lines = [
        {"cpu": 0, "kernel": {"isb": 1}},
        {"cpu": 1, "kernel": {"isb": 10}, "user": {"instructions": 2}},
        {"cpu": 0, "kernel": {"isb": 3}, "tlb": {"misses": 4}},
    ]
    found = rounds_of("\n".join(json.dumps({"region": "a", "cpus": 2, **line}) for line in lines))
    assert found == {"a": (Round({"instructions": 2}, {"isb": 11}), Round({}, {"isb": 3}, {"misses": 4}))}
    with pytest.raises(ValueError, match="line 2"):
        rounds_of('{"region": "a", "cpu": 0, "cpus": 1}\n{"cpu": 0}')


def test_the_round_in_the_middle_and_how_far_rounds_differ():
    rounds = ((100, 9), (180, 1), (110, 5), (112, 6))
    region = Region(2, tuple(Round({}, {"instructions": n, "isb": m}) for n, m in rounds))
    assert region.typical() == {"instructions": 55, "isb": 2.5}
    assert region.spread() == pytest.approx(0.8)


def test_what_measured_no_protection_is_refused():
    raised = {"fork-h0": {"pkey_writes": 4, "instructions": 9}}
    assert why_not_to_price([result(regions=raised)]) == ""
    assert "never raised" in why_not_to_price([result(regions={"fork-h0": {"instructions": 9}})])
    assert "no keyed page" in why_not_to_price([result(regions=raised, guest={"fork-h0": {"pages_keyed": 0}})])
    assert "no region" in why_not_to_price([result()])
    # One region that saw none is enough, and what writes no page table need not have any.
    assert "touch" in why_not_to_price([result(regions={**raised, "touch": {"instructions": 1}})])
    assert why_not_to_price([result(regions={**raised, "lseek": {"instructions": 1}})]) == ""
    assert why_not_to_price([result("off", {"fork-h0": {"instructions": 9}}, {})]) == ""
    # Write protection raises by CR0.
    assert why_not_to_price([result(regions={"fork-h0": {"cr0_writes": 4}}, arch="x86")]) == ""


# --- profiles ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", sorted((DATA / "profiles").glob("*.toml")), ids=lambda path: path.stem)
def test_profiles_of_the_project_are_complete(path):
    profile = parse_profile(path.read_text(), [row.id for row in ROWS])
    assert profile.name == path.stem and set(profile.costs) == set(PRICED[profile.arch])
    assert profile.clock.url.startswith("https://")
    for event, cost in profile.costs.items():
        if cost.low is not None:
            assert cost.source.url.startswith("https://"), event


def test_units_are_cycles_inside():
    profile = made_up(isb=f'low = 10\nhigh = 20\nunit = "ns"\n{SOURCE}')
    assert profile.costs["isb"].range == (10, 20)
    faster = parse_profile(profile_text(mhz=2000, isb=f'low = 10\nhigh = 20\nunit = "ns"\n{SOURCE}'))
    assert faster.costs["isb"].range == (20, 40) and faster.ns(40) == 20
    assert faster.costs["isb"].given == "10 to 20 ns"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (profile_text(isb="unit = 'ns'"), "isb needs one of"),
        (profile_text(isb="low = 3\nhigh = 2\nunit = 'ns'\n" + SOURCE), "no range"),
        (profile_text(isb="low = 1\nhigh = 2\nunit = 'ms'\n" + SOURCE), "unit"),
        (profile_text(isb="low = 1\nhigh = 2\nunit = 'ns'\nsource = 'a friend'"), "no url"),
        (profile_text(isb="low = 1\nhigh = 2\nunit = 'ns'\nestimate = true\n" + SOURCE), "no note"),
        (profile_text(isb="fit = 'kpkeys/nothing'\n" + SOURCE), "no published row"),
        (profile_text(isb="within = 'tea'\n" + SOURCE), "has no price"),
        (profile_text().replace("[cost.isb]", "[cost.tea]"), "no word on isb"),
        (profile_text() + "[cost.tea]\nunknown = true\n", "nothing that is priced"),
    ],
    ids=lambda word: word if len(word) < 50 else "",
)
def test_broken_profiles_are_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_profile(text, [row.id for row in ROWS])


def test_each_event_is_priced_once():
    counts = {"cr3_writes": 2, "serialising": 3, "tlbi_local": 5, "tlbi_page": 1, "tlbi_asid": 3, "tlbi_all": 1}
    assert priced_counts(counts, "x86") == {"cr3_writes": 2, "tlbi_page": 1, "full_flush": 4}
    assert priced_counts({"tlbi_broadcast": 2, "tlbi_page": 2, "isb": 0, "eret": 7}, "arm64") == {"tlbi_broadcast": 2}


# --- prices ------------------------------------------------------------------------------------------------
def test_a_price_is_the_sum_of_what_events_cost():
    found = price(
        {"instructions": 100, "isb": 2, "tlbi_local": 3},
        made_up(instructions=cycles(1, 2), isb=cycles(10), tlbi_local="unknown = true"),
    )
    assert (found.cycles.low, found.cycles.high) == (120, 220)
    assert found.unknown == {"tlbi_local": 3}


def test_an_overhead_has_the_same_prices_on_both_sides():
    profile = made_up(instructions=cycles(1, 2), isb=cycles(10, 30))
    base = {"instructions": 100}
    found = overhead({"instructions": 110, "isb": 2}, base, profile)
    # 20/200 cycles at the least (dear instructions, cheap barriers), 60/100 at most; 10% more instructions always.
    assert found.range.low == pytest.approx(0.1 + 0.1) and found.range.high == pytest.approx(0.1 + 0.6)
    assert found.share == pytest.approx({"instructions": 0.1, "isb": 40 / 150})
    only_more = overhead({"instructions": 110}, base, profile)
    assert only_more.range.low == only_more.range.high == pytest.approx(0.1)
    assert overhead({"isb": 1}, {}, profile) is None


def test_ends_of_an_overhead_are_those_of_all_corners():
    profile = made_up(instructions=cycles(1, 3), isb=cycles(2, 50), dsb=cycles(1, 70), atomic=cycles(4, 9))
    design = {"instructions": 120, "isb": 5, "dsb": 2, "atomic": 1}
    base = {"instructions": 100, "dsb": 1, "atomic": 1, "isb": 30}
    found = overhead(design, base, profile)
    corners = []
    for which in range(16):
        at = {
            event: profile.costs[event].range[which >> bit & 1]
            for bit, event in enumerate(("instructions", "isb", "dsb", "atomic"))
        }
        top, bottom = (sum(counts.get(event, 0) * at[event] for event in at) for counts in (design, base))
        corners.append(top / bottom - 1)
    assert found.range.low == pytest.approx(min(corners)) and found.range.high == pytest.approx(max(corners))


def test_instructions_that_a_design_adds_have_a_price_of_their_own():
    profile = made_up(instructions=cycles(2), added_instructions=cycles(0.25, 0.5), isb=cycles(10))
    found = overhead({"instructions": 140, "isb": 1}, {"instructions": 100}, profile)
    assert (found.range.low, found.range.high) == (pytest.approx(20 / 200), pytest.approx(30 / 200))
    assert found.share == pytest.approx({"added_instructions": 15 / 200, "isb": 10 / 200})
    # Fewer of them are a saving at the same price, whose greater end is the lower overhead.
    fewer = overhead({"instructions": 60, "isb": 2}, {"instructions": 100}, profile)
    assert (fewer.range.low, fewer.range.high) == (pytest.approx(0.0), pytest.approx(10 / 200))
    dear = solve_overhead({"instructions": 140, "isb": 1}, {"instructions": 100}, profile, "isb", 0.2)
    assert dear == pytest.approx(25)
    # The ends are those of all corners where a saving meets what the base has more of.
    wide = made_up(instructions=cycles(2), added_instructions=cycles(1, 9), isb=cycles(10, 30), dsb=cycles(1, 50))
    found = overhead({"instructions": 90, "isb": 9, "dsb": 1}, {"instructions": 100, "isb": 1, "dsb": 2}, wide)
    corners = [
        (200 - 10 * added + 9 * isb + dsb) / (200 + isb + 2 * dsb) - 1
        for added in (1, 9)
        for isb in (10, 30)
        for dsb in (1, 50)
    ]
    assert (found.range.low, found.range.high) == (pytest.approx(min(corners)), pytest.approx(max(corners)))
    # Time of its own has no base: all are alike there, unless they are a short loop.
    assert price({"instructions": 10}, profile).cycles.high == 20
    assert price({"instructions": 10}, profile.straight).cycles.high == 5


def test_unknown_prices_are_named_and_solved_for():
    profile = made_up(instructions=cycles(2), isb="unknown = true")
    base, design = {"instructions": 100, "isb": 1}, {"instructions": 105, "isb": 3}
    found = overhead(design, base, profile)
    assert found.unknown == {"isb": 2} and found.range.high == pytest.approx(0.05)
    most = solve_overhead(design, base, profile, "isb", 0.10)
    assert overhead(design, base, profile.with_cost("isb", most)).range.high == pytest.approx(0.10)
    assert solve_overhead(design, base, profile, "isb", 0.01) is None
    assert solve_overhead(base, base, profile, "isb", 0.01) is None
    assert solve_time({"instructions": 10, "isb": 4}, profile, "isb", 100) == pytest.approx(20)


def test_unknown_prices_that_cannot_matter_are_left_unsaid():
    profile = made_up(instructions=cycles(1), isb="unknown = true", dsb="unknown = true")
    base, design = {"instructions": 10_000_000, "dsb": 9}, {"instructions": 10_000_000, "dsb": 9, "isb": 11}
    assert overhead(design, base, profile).unknown == {"isb": 11}
    assert overhead({**design, "isb": 9}, base, profile).unknown == {}
    assert price(base, profile).unknown == {}


# --- published figures -------------------------------------------------------------------------------------
def test_published_rows_hold_together():
    assert len({row.id for row in ROWS}) == len(ROWS) == 46
    regions = {region for benchmark in BENCHMARKS.values() for region in benchmark.regions}
    for row in ROWS:
        assert row.region in regions and row.why and row.source.url, row.id
    none, pcid = (next(row for row in ROWS if row.id == name) for name in ("kaiser/none", "kaiser/pcid"))
    assert pcid.ns / none.ns == pytest.approx(5.2 / 3.0)


def test_prices_are_fitted_together_and_reproduce_their_rows():
    profile = made_up(
        instructions=f'fit = "kpkeys/fork-h0/per-write"\n{SOURCE}',
        tlbi_broadcast=f'fit = "kpkeys/fork-h0/rfc"\n{SOURCE}',
        isb=cycles(30),
    )
    counted = ResultIndex(
        [
            result("off", {"fork-h0": {"instructions": 1000, "tlbi_broadcast": 1}}),
            result("per-write", {"fork-h0": {"instructions": 1400, "isb": 160, "tlbi_broadcast": 2}}),
            result("rfc", {"fork-h0": {"instructions": 1005, "isb": 1, "tlbi_broadcast": 2}}),
        ]
    )
    settled, fitted = settle(profile, ROWS, counted)
    assert [each.event for each in fitted if each.cycles is not None] == ["instructions", "tlbi_broadcast"]
    for design, percent in (("per-write", 221.39), ("rfc", 3.35)):
        found = overhead(counted.counters("arm64", "fork-h0", design), counted.base("arm64", "fork-h0"), settled)
        assert 100 * found.range.middle == pytest.approx(percent, abs=1e-6)


FIT = f'fit = "kpkeys/fork-h0/per-write"\nfit_each = "per-write"\n{SOURCE}'


def test_each_region_has_the_base_that_its_row_without_batching_settles():
    work = {"off": (1000, 0), "per-write": (1000, 100), "rfc": (1000, 2)}
    counted = ResultIndex(
        [
            result(design, {name: {"instructions": n, "isb": isb} for name in ("fork-h0", "fork-h1")})
            for design, (n, isb) in work.items()
        ]
    )
    profile = replace(made_up(instructions=FIT, isb=cycles(30)), name="graviton3")
    settled, _ = settle(profile, ROWS, counted)
    assert settled.costs["instructions"].low == pytest.approx(3000 / 2.2139 / 1000)
    assert settled.at("fork-h1").costs["instructions"].low == pytest.approx(3000 / 2.8289 / 1000)
    assert settled.at("touch") is settled
    rows = {each.row.id: each for each in compare(settled, ROWS, counted)}
    flat, batched = rows["kpkeys/fork-h1/per-write"], rows["kpkeys/fork-h1/rfc"]
    assert flat.ours.middle == pytest.approx(221.39) and flat.factor == pytest.approx(221.39 / 282.89)
    assert batched.own_base.middle == pytest.approx(282.89 * 2 / 100) and batched.ours.middle < batched.own_base.middle


def test_a_price_that_depends_on_what_a_guard_costs_is_a_range():
    fits = {"instructions": FIT, "tlbi_broadcast": f'fit = "kpkeys/fork-h0/rfc"\n{SOURCE}'}
    profile = made_up(**fits, isb=cycles(30), added_instructions=cycles(0.5))
    base = {"instructions": 1000}

    def settled(added):
        rfc = {"instructions": 1000 + added, "isb": 1, "tlbi_broadcast": 1}
        designs = {"off": base, "per-write": {"instructions": 1000, "isb": 100, "tlbi_broadcast": 1}, "rfc": rfc}
        counted = ResultIndex([result(design, {"fork-h0": counts}) for design, counts in designs.items()])
        return settle(profile, ROWS, counted)[1][1]

    few, many = settled(10), settled(200)
    assert few.high - few.cycles == pytest.approx(5, rel=0.1) and few.cycles > 0
    assert many.cycles == 0 and many.high > 0 and many.said.startswith("0 to ")


def test_counts_made_like_those_of_the_source():
    def counts(dsb, isb):
        return {"vmalloc-p4-h0": {"instructions": 1000, "dsb": dsb, "isb": isb, "pkey_writes": 4}}

    designs = {"off": counts(4, 4), "rfc": counts(4, 8), "portcullis": counts(1, 5)}
    counted = ResultIndex([result(design, regions) for design, regions in designs.items()])
    row = next(row for row in ROWS if row.id == "kpkeys/vmalloc-p4-h0/rfc")
    design, base = as_in_source(row, counted, "arm64")
    assert (base["dsb"], base["isb"], design["dsb"], design["isb"]) == (1, 1, 1, 5)
    profile = replace(made_up(instructions=cycles(1), isb=cycles(25)), name="graviton3")
    (found,) = (each for each in compare(profile, ROWS, counted) if each.row is row)
    assert found.ours.middle == pytest.approx(100 * 100 / 1025) and found.uncorrected.middle == pytest.approx(100 / 11)
    assert found.ours_here.middle == pytest.approx(found.ours.middle)
    # Without a design that has one barrier for a run there is nothing to tell the surplus by.
    alone = ResultIndex([result(design, designs[design]) for design in ("off", "rfc")])
    assert as_in_source(row, alone, "arm64")[1]["dsb"] == 4


def test_switches_of_cr3_flush_nothing_with_pcids():
    row = next(row for row in ROWS if row.id == "kaiser/pcid")
    region = {"lseek": {"instructions": 100, "cr3_writes": 2, "tlbi_all": 2}}
    counted = ResultIndex([result("stock", region, variant="pti-on", arch="x86")])
    assert as_in_source(row, counted, "x86")[0] == {"instructions": 100, "cr3_writes": 2}


def test_sequences_that_need_not_be_counted():
    row = next(row for row in ROWS if row.id == "sctlr/read-on-exit")
    profile = replace(made_up(instructions=cycles(2)), name="cortex-a76")
    (found,) = (each for each in compare(profile, ROWS, ResultIndex([])) if each.row is row)
    assert found.ours.middle == pytest.approx(2.0) and found.factor == pytest.approx(2.0 / 1.1)
    # A time has a ratio however short it is.
    (short,) = (each for each in compare(profile, ROWS, ResultIndex([])) if each.row.id == "sctlr/one-write")
    assert short.factor == pytest.approx(2.0 / 0.7)


def test_exceptions_of_the_source_restore_the_register():
    regions = {"fork-h1": {"instructions": 1000, "isb": 1, "page_fault": 2}}
    counted = ResultIndex([result("off", {"fork-h1": {"instructions": 1000, "page_fault": 2}}), result("rfc", regions)])
    profile = replace(made_up(instructions=cycles(1), isb=cycles(10)), name="graviton3")
    (found,) = (each for each in compare(profile, ROWS, counted) if each.row.id == "kpkeys/fork-h1/rfc")
    assert found.restores == pytest.approx(2.0) and found.ours.middle == pytest.approx(1.0)


def test_a_tlb_is_what_the_plugin_is_told():
    tlb = f'[tlb]\nl1 = "48:48"\nl2 = "1280:5"\npages = [12, 21]\n{SOURCE}'
    found = parse_profile(profile_text() + tlb).tlb
    assert found.option("x") == "tlb=x,l1=48:48,l2=1280:5,pages=12+21,global=on"
    assert parse_profile(profile_text()).tlb is None
    for bad, complaint in (("1280:5", "1280"), ("[12, 21]", "[21]"), ('url = "https://example.org/"', "")):
        with pytest.raises(ValueError, match="tlb"):
            parse_profile(profile_text() + tlb.replace(bad, complaint))
    job = next(job for job in choose_jobs("arm64", ["fork"], ["off"], ["tlb-blocks"]))
    (told,) = with_tlb([job], {"graviton2": "tlb=here"})
    assert told.machine().tlb == "tlb=here" and "live_split=force" in kernel_command_line(told.machine())


def test_a_fit_that_cannot_be_says_why():
    profile = made_up(isb=f'fit = "kpkeys/fork-h0/rfc"\n{SOURCE}', instructions=cycles(1))
    _, (fitted,) = settle(profile, ROWS, ResultIndex([]))
    assert fitted.cycles is None and "not counted with rfc" in fitted.why
    same = {"fork-h0": {"instructions": 1000}}
    _, (fitted,) = settle(profile, ROWS, ResultIndex([result("off", same), result("rfc", same)]))
    assert fitted.cycles is None and "no price of isb" in fitted.why
    rows = {each.row.id: each for each in compare(replace(profile, name="graviton3"), ROWS, ResultIndex([]))}
    assert not rows["kpkeys/fork-h0/rfc"].fitted


def test_ours_beside_theirs():
    counted = ResultIndex(
        [
            result("off", {"fork-h1": {"instructions": 1000}, "vmalloc-p64-h0": {"instructions": 1000}}),
            result("rfc", {"fork-h1": {"instructions": 1010, "isb": 4}, "vmalloc-p64-h0": {"instructions": 1010}}),
        ]
    )
    profile = replace(made_up(instructions=cycles(1), isb=cycles(15)), name="graviton3")
    rows = {each.row.id: each for each in compare(profile, ROWS, counted)}
    ours = rows["kpkeys/fork-h1/rfc"]
    assert ours.ours.middle == pytest.approx(7.0) and ours.factor == pytest.approx(7.0 / 6.99) and not ours.fitted
    negative = rows["kpkeys/vmalloc-p64-h0/rfc"]
    assert negative.factor is None and negative.points == pytest.approx(1.49)
    assert rows["kpkeys/munmap-h0/rfc"].ours is None
    assert not [name for name in rows if not name.startswith("kpkeys/")]


def test_lines_of_one_level_and_of_switches():
    def rounds(isb):
        return {"kernbench": Region(1, (Round({"instructions": 900}, {"instructions": 100, "isb": isb}),))}

    results = [
        replace(result("off"), regions=rounds(1)),
        replace(result(guest={"kernbench": {"pages_keyed": 1}}), regions=rounds(2)),
    ]
    raised = {"gate-guard": {"instructions": 20, "pkey_writes": 2}}
    results.append(
        replace(result(), job="another", regions={name: Region(1, (Round({}, n),)) for name, n in raised.items()})
    )
    for number, each in enumerate(results):
        kernel = {
            name: Region(1, tuple(Round(r.user, {**r.kernel, "pkey_writes": 2}) for r in region.rounds))
            for name, region in each.regions.items()
        }
        results[number] = replace(each, regions=kernel)
    profile = made_up(instructions=cycles(2), added_instructions=cycles(0.5), isb=cycles(10))
    table = {line.region: line for line in make_table(profile, ROWS, results).lines}
    assert list(table) == ["kernbench", "kernbench-system", "gate-guard"]
    assert table["kernbench-system"].cells["portcullis"].overhead.range.low == pytest.approx(10 / 210)
    assert table["kernbench"].cells["portcullis"].overhead.range.low == pytest.approx(10 / 2010)
    assert table["gate-guard"].base_price.cycles.high == pytest.approx(10)  # instructions of a short loop


def test_a_level_of_its_own():
    counted = ResultIndex(
        [
            Result(
                "j",
                "arm64",
                "off",
                "",
                {},
                {},
                "",
                {"kernbench": Region(1, (Round({"instructions": 900}, {"instructions": 100}),))},
                {},
            ),
        ]
    )
    assert counted.counters("arm64", "kernbench", "off", level="kernel") == {"instructions": 100}
    assert counted.counters("arm64", "kernbench", "off") == {"instructions": 1000}


# --- tables ------------------------------------------------------------------------------------------------
def test_a_table_has_designs_side_by_side_and_refuses_one():
    base = {"fork-h0": {"instructions": 1000}}
    results = [
        result("off", base),
        result("rfc", {"fork-h0": {"instructions": 1010, "isb": 2, "pkey_writes": 2}}),
        result("portcullis", {"fork-h0": {"instructions": 1004}}),
    ]
    table = make_table(made_up(instructions=cycles(1), isb="unknown = true"), ROWS, results)
    assert "never raised" in table.refused["portcullis"]
    (line,) = table.lines
    assert line.base == "off" and list(line.cells) == ["rfc"]
    (even,) = line.cells["rfc"].break_even
    assert even.event == "isb" and even.limit == pytest.approx(0.0335)
    assert even.cycles == pytest.approx((33.5 - 10) / 2)


def test_a_cpu_without_a_price_of_instructions_is_not_shown():
    profile = made_up(instructions=f'fit = "sctlr/syscall-invalid"\n{SOURCE}', isb=cycles(30))
    counts = {"fork-h0": {"instructions": 1000, "isb": 1, "pkey_writes": 2}}
    table = make_table(profile, ROWS, [result("off", counts), result("rfc", counts)])
    assert table.lines == () and "could not be settled" in table.refused["every design"]


# --- jobs --------------------------------------------------------------------------------------------------
def test_jobs_by_name_design_and_variant():
    plain = choose_jobs("arm64", ["fork-h1"], variants=[""])
    assert [job.id for job in plain] == [
        f"arm64-fork-{design}" for design in ("stock", "off", "per-write", "rfc", "portcullis")
    ]
    assert [job.lane for job in plain] == ["lab-stock", "lab", "lab-designs", "lab-designs", "lab"]
    assert {job.variant.name for job in choose_jobs("x86", ["calls"], ["stock"])} == {
        "",
        "pti-off",
        "pti-on",
        "pti-on-nopcid",
    }
    assert [job.design for job in choose_jobs("x86", ["gates"], variants=[""])] == ["portcullis"]
    ids = [job.id for arch in VARIANTS for job in choose_jobs(arch)]
    assert len(set(ids)) == len(ids)
    for bad in (["forks"], [], []):
        with pytest.raises(ValueError, match="known are"):
            choose_jobs("x86", bad, [] if bad else ["best"])
    with pytest.raises(ValueError, match="no variant"):
        choose_jobs("arm64", variants=["wp"])


def test_the_machine_of_a_job():
    (job,) = choose_jobs("x86", ["calls"], ["portcullis"], ["wp"])
    machine = job.machine()
    assert machine.job == "lab,syscall-invalid,lseek" and machine.backend == "wp" and machine.cpus == 1
    assert "kpkeys_design" not in machine.append and machine.mode == "enforce"
    (rfc,) = choose_jobs("x86", ["calls"], ["rfc"], ["wp"])
    assert rfc.machine().append == "kpkeys_design=rfc"
    (stock,) = choose_jobs("x86", ["calls"], ["stock"], ["pti-on-nopcid"])
    assert stock.machine().mode is None and stock.machine().append == "nopcid" and stock.machine().pti is True


def test_each_architecture_has_gates_of_its_own():
    (x86,), (arm64,) = (choose_jobs(arch, ["gates"], variants=[""]) for arch in ("x86", "arm64"))
    assert "gate-cr3" in x86.machine().job and "gate-sctlr" not in x86.machine().job
    assert "gate-cr3" not in arm64.machine().job and "gate-sctlr-no-isb" in arm64.machine().job


INPUTS = Inputs("k", "i", "p", "e", {"kernel": "6.12"})


def test_a_key_changes_with_what_decides_the_counts():
    job = Job("arm64", BENCHMARKS["fork"], "rfc", PLAIN)
    key = result_key(job, INPUTS)
    assert key == result_key(job, replace(INPUTS, versions={}))
    assert (
        len({key, *(result_key(job, replace(INPUTS, **{name: "x"})) for name in ("image", "initramfs", "plugin"))}) == 4
    )
    assert result_key(replace(job, design="off"), INPUTS) != key


def test_a_result_from_what_a_boot_left():
    job = Job("arm64", BENCHMARKS["fork"], "rfc", PLAIN)
    counts = '{"region": "fork-h0", "cpu": 0, "cpus": 1, "kernel": {"isb": 8}}'
    records = [{"lab": "", "design": "rfc"}, {"lab": "fork-h0", "times": 2, "rounds": 1, "pages_keyed": 5}]
    found = result_of(job, counts, records, INPUTS)
    assert found.regions["fork-h0"].typical() == {"isb": 4} and found.guest["fork-h0"]["pages_keyed"] == 5
    assert found.command == "./portcullis bench fork --arch arm64 --design rfc"
    for bad, complaint in (
        ([{"lab": "", "design": "off"}, records[1]], "ran design off"),
        ([records[0]], "no benchmark"),
        ([records[0], {"lab": "fork-h0"}], "how many operations"),
        ([records[0], {**records[1], "rounds": 2}], "2 rounds were run, 1 counted"),
        ([records[0], {"lab": "fork-h1", "times": 1}], "nothing in region fork-h1"),
    ):
        with pytest.raises(ValueError, match=complaint):
            result_of(job, counts, bad, INPUTS)
