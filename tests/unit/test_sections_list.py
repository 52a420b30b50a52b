# SPDX-License-Identifier: GPL-2.0-only
"""The list of sections: what it must say, and what a kernel must not do beyond it."""

from collections import Counter
from dataclasses import replace

import pytest

from portcullis.cli import main
from portcullis.core.elf import EM_AARCH64, EM_X86_64
from portcullis.core.sections.audit import audit, lane_of, list_of
from portcullis.core.sections.graph import Reach
from portcullis.core.sections.listing import Finding, compare, parse_listing, slack
from portcullis.core.sections.proof import Section
from portcullis.core.sections.report import proposal, rows
from sections_kit import assemble

LIST = """
[scope]
everywhere = ["percpu counters"]
[boundaries]
printk = ["_printk", "print_*"]
[[sections]]
functions = ["f"]
not-closed = "calls g"
stores = ["register", "stack"]
pointers = 2
calls = ["g"]
calls-why = "cannot do without"
leads = ["printk"]
reach = { default = 3, least = 2 }
[[sections]]
functions = ["h"]
why = "writes one entry"
lanes = ["xen"]
"""
LIKE = LIST.replace("[scope]", '[scope]\nlike = { new = "xen", other = "least" }')
SECTION = Section("f", stores=Counter({"register": 2, "percpu counters": 1}), calls={"g": {16}})
FINDING = Finding(SECTION, Reach(frozenset("abc"), frozenset(("printk",))))


def problems(finding: Finding = FINDING, lane: str = "default") -> list[str]:
    return compare(parse_listing(LIST), lane, {"f": finding}, {})


def changed(**fields) -> Finding:
    return replace(FINDING, section=replace(SECTION, **fields))


def test_what_leaves_is_left_out():
    listing = parse_listing(LIST.replace("[scope]", '[scope]\nleaves = ["kexec"]'))
    assert listing.is_test("kexec", "machine_kexec.c") and not listing.is_test("f", "machine_kexec.c")


def test_what_comes_from_user_space_may_have_the_stack_as_well():
    row = '[[sections]]\nfunctions = ["f"]\nwhy = "x"\nstores = ["stack", "atomic"]\npointers = 1'
    assert parse_listing(f'[scope]\nfrom-user = ["f"]\n{row}').rows
    with pytest.raises(ValueError, match="may have waited there"):
        parse_listing(f'[scope]\nfrom-user = ["g"]\n{row}')


def test_a_lane_has_the_rows_and_bounds_of_the_one_it_is_like():
    listing = parse_listing(LIKE)
    assert "h calls g with the gate open" in compare(listing, "new", {"f": FINDING, "h": FINDING}, {})
    assert "2 are allowed" in compare(listing, "other", {"f": FINDING}, {})[0]
    assert "h has a section that is not in the list" in compare(listing, "other", {"h": FINDING}, {})[0]


def test_what_a_row_allows_is_good():
    assert problems() == []
    assert problems(changed(stores=Counter(), calls={})) == []


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (changed(calls={"g": {16}, "kfree": {32}}), "f calls kfree with the gate open"),
        (changed(stores=Counter({"global jiffies": 1})), "its row does not name: global jiffies"),
        (changed(stores=Counter({"register": 3})), "stores through a pointer in 3 places with the gate open, 2 are"),
        (changed(returns_open=True), "f may return with the gate open"),
        (changed(loses=True), "f may change the gate of its caller"),
        (changed(problems=["an instruction"]), "f is not decided: an instruction"),
        (
            replace(FINDING, reach=Reach(frozenset("abcd"), frozenset())),
            "lead to 4 functions with the gate open, 3 are",
        ),
        (replace(FINDING, reach=Reach(frozenset(), frozenset(("panic",)))), "f may come to panic with the gate open"),
    ],
)
def test_what_a_row_does_not_allow(finding, said):
    found = problems(finding)
    assert len(found) == 1
    assert said in found[0]


def test_each_lane_has_its_bounds():
    assert "lead to 3 functions with the gate open, 2 are allowed" in problems(lane="least")[0]
    assert slack(parse_listing(LIST).rows, "default", {"f": FINDING}) == []
    fewer = replace(FINDING, reach=Reach(frozenset("ab"), frozenset()))
    assert slack(parse_listing(LIST).rows, "default", {"f": fewer}) == ["f: reach may go down from 3 to 2"]


def test_a_section_without_a_row_and_a_row_without_a_section():
    assert (
        "new has a section that is not in the list"
        in compare(parse_listing(LIST), "default", {"f": FINDING, "new": FINDING}, {})[0]
    )
    assert compare(parse_listing(LIST), "default", {}, {}) == ["f is in the list and has no section"]
    assert problems(lane="xen")[-1] == "h is in the list and has no section"


HELPER = """
[[helpers]]
functions = ["g"]
why = "computes a value"
"""


def test_helpers_have_rows_of_their_own():
    listing = parse_listing(LIST + HELPER)
    nothing, wrong = Section("g"), Section("g", stores=Counter({"register": 1}))
    none = Reach(frozenset(), frozenset())
    assert compare(listing, "default", {"f": FINDING}, {"g": Finding(nothing, none)}) == []
    found = compare(listing, "default", {"f": FINDING}, {"g": Finding(wrong, none)})
    assert found[0] == "g, a helper, has an access with the gate open that its row does not name: register"
    stale = compare(listing, "default", {"f": changed(calls={})}, {"g": Finding(nothing, none)})
    assert stale == ["g is in the list and no section calls it"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[sections]]\nwhy = "x"', "without functions"),
        ('[[sections]]\nfunctions = ["f"]', "either why or not-closed"),
        ('[[sections]]\nfunctions = ["f"]\nwhy = "x"\nnot-closed = "y"', "either why or not-closed"),
        ('[[sections]]\nfunctions = ["f"]\nwhy = "x"\nstore = []', "has store"),
        ('[[sections]]\nfunctions = ["f"]\nwhy = "x"\nstores = ["stack", "atomic"]', "may have waited there"),
        ('[[sections]]\nfunctions = ["f"]\nwhy = "x"\nstores = ["stack"]\npointers = 1', "may have waited there"),
        ('[[sections]]\nfunctions = ["f", "f"]\nwhy = "x"', "more than one row"),
        ('[[sections]]\nfunctions = ["f"]\nwhy = "x"\ncalls = ["g"]\ncalls-why = "x"', "calls of no helper: g"),
        ('[[sections]]\nfunctions = ["f"]\nwhy = "x"\ncalls = ["g"]', "the row of f has calls and no calls-why"),
        ('[[sections]]\nfunctions = ["f"]\nwhy = "x"\ncalls-why = "x"', "the row of f has calls-why and no calls"),
    ],
)
def test_rows_that_say_too_little_or_too_much(text, said):
    with pytest.raises(ValueError, match=said):
        parse_listing(text)


CODE = """
function f
    guard %r12b
    mov %rsi, (%rdi)
    {}
    unguard %r12b
    ret
end f
function g
    jmp _printk
end g
empty _printk
"""
OWN = """
[boundaries]
printk = ["_printk"]
[scope]
unfollowed = ["any_section"]
[[sections]]
functions = ["f", "any_section"]
why = "writes one entry"
stores = ["register"]
pointers = 1
"""


def test_a_kernel_is_held_against_the_list(tmp_path):
    listing = parse_listing(OWN.replace("pointers", 'loses = "a test"\npointers'))
    found = audit(assemble(tmp_path, CODE.format("")), "default", listing)
    assert found.problems == ()
    assert "2 functions have sections, 0 of them call others" in found.summary
    assert len(rows(listing, "default", found)) == 2
    counter = audit(assemble(tmp_path, CODE.format("incq (%rdx)")), "default", listing)
    assert counter.problems == ("f stores through a pointer in 2 places with the gate open, 1 are allowed",)
    call = audit(assemble(tmp_path, CODE.format("call g")), "default", listing)
    assert call.problems == (
        "f calls g with the gate open",
        "f may come to printk with the gate open",
        "f has calls that lead to 1 functions with the gate open, 0 are allowed",
    )
    assert 'calls = ["g"]' in proposal(listing, "default", call)


@pytest.mark.parametrize(
    ("banner", "lane"),
    [("6.12.9", "least"), ("7.2.1", "least"), ("7.3.4", "least-7.3"), ("7.10.0", "least-7.3"), ("", "least")],
)
def test_the_list_tells_newer_kernels_apart(tmp_path, banner, lane):
    text = f'.globl linux_banner\nlinux_banner: .asciz "Linux version {banner} (a builder)"\n.balign 8\n'
    image = assemble(tmp_path, CODE.format("") + (text if banner else ""))
    assert lane_of(image, "least") == lane


def test_a_write_of_the_register_that_nothing_reaches(tmp_path):
    image = assemble(tmp_path, CODE.format("") + "function h\nret\nlower\nret\nend h\n")
    text = OWN.replace("pointers", 'loses = "a test"\npointers')
    said = audit(image, "default", parse_listing(text)).problems
    assert len(said) == 1
    assert "the register is written at h+" in said[0]
    known = text.replace("[scope]", '[scope]\nunreached = ["h"]')
    assert audit(image, "default", parse_listing(known)).problems == ()


@pytest.mark.parametrize("machine", [EM_X86_64, EM_AARCH64])
def test_the_committed_list_can_be_read(machine):
    listing = list_of(machine)
    assert any(row.why for row in listing.rows)
    assert all((row.why or row.not_closed).endswith(".") for row in (*listing.rows, *listing.helpers))
    with pytest.raises(ValueError, match="no list"):
        list_of(0)


@pytest.mark.parametrize(("machine", "called"), [(EM_X86_64, set()), (EM_AARCH64, {"kpkeys_pauth_corrupt"})])
def test_the_committed_list_lets_sections_call_nothing_but_what_shuts_the_gate(machine, called):
    listing = list_of(machine)
    assert {call for row in listing.rows for call in row.calls} == called
    assert not any(row.not_closed for row in listing.rows)


def test_the_command_needs_a_hardened_kernel(tmp_path, capsys):
    (tmp_path / "vmlinux").write_bytes(b"no kernel")
    assert main(["audit", "sections", str(tmp_path / "vmlinux")]) == 2
    assert "not a 64-bit" in capsys.readouterr().err
