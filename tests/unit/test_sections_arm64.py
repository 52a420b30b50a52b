# SPDX-License-Identifier: GPL-2.0-only
"""What runs with the gate open, on arm64: one rule after the other, in small pieces of assembly."""

import shutil

import pytest

from portcullis.core.elf import EM_AARCH64, Image
from portcullis.core.sections.arm64_code import decode, levels_of, mask_of
from portcullis.core.sections.arm64_memory import Kind
from portcullis.core.sections.kernel import Kernel
from sections_kit import assemble, prove

pytestmark = pytest.mark.skipif(not shutil.which("aarch64-linux-gnu-as"), reason="there is no assembler for arm64")


@pytest.fixture
def sections(tmp_path):
    return lambda text: prove(assemble(tmp_path, text, EM_AARCH64)).sections


def function(body: str, name: str = "f") -> str:
    return f"function {name}\n{body}\nend {name}\n"


def kinds(section) -> dict[str, int]:
    return dict(section.stores)


def test_stores_have_kinds(sections):
    body = """
    str x0, [x1]
    raise
    str x0, [x1]
    stp x0, x2, [x1, #16]
    stlr x0, [x1]
    stxr w3, x0, [x1]
    ldadd x0, x2, [x1]
    cas x0, x2, [x1]
    swp x0, x2, [x1]
    stur q0, [x1]
    dc zva, x1
    str x0, [sp, #-16]!
    stp x0, x2, [sp]
    adrp x4, some
    add x4, x4, :lo12:some
    str x0, [x4]
    mrs x5, tpidr_el1
    str x0, [x4, x5]
    add x6, x4, x5
    strb w0, [x6]
    mrs x7, sp_el0
    str w0, [x7, #40]
    ldr x8, [x1]
    ldxr x8, [x1]
    prfm pstl1strm, [x1]
    lower
    str x0, [x1]
    ret"""
    found = sections(function(body))["f"]
    assert kinds(found) == {
        "register": 4,
        "atomic": 4,
        "string": 1,
        "stack": 2,
        "global some": 1,
        "percpu some": 2,
        "task ?": 1,
    }
    assert (found.raises, found.returns_open, found.problems) == (1, False, [])


def test_what_is_read_from_the_stack_counts(sections):
    body = """
    ldr x0, [sp, #8]
    add x1, sp, #16
    raise
    ldr x0, [sp, #8]
    ldp x2, x3, [x1]
    ldr x0, [x4]
    lower
    ldr x0, [sp, #8]
    ret"""
    assert kinds(sections(function(body))["f"]) == {"stack": 2}


def test_a_store_has_the_kind_that_its_address_has_on_each_way(sections):
    body = "adrp x4, some\nadd x4, x4, :lo12:some\nraise\ncbz x0, 1f\nmov x4, x2\n1: str x0, [x4]\nlower\nret"
    assert kinds(sections(function(body))["f"]) == {"register": 1}


def test_calls_count_while_the_gate_is_open(sections):
    body = "bl other\nraise\nbl callee\nblr x3\nhvc #0\nlower\nbl other\nret"
    assert set(sections(function(body))["f"].calls) == {"callee", "(pointer)"}


@pytest.mark.parametrize(
    "branch", ["cbz x0, 1f", "cbnz w0, 1f", "tbz x0, #3, 1f", "tbnz x0, #40, 1f", "cmp x0, #1\nb.hi 1f"]
)
def test_a_way_out_that_does_not_lower_is_seen_and_its_callers_have_a_section(sections, branch):
    found = sections(function(f"raise\n{branch}\nlower\n1: ret") + function("bl f\nbl callee\nret", "caller"))
    assert {name for name, section in found.items() if section.returns_open} == {"f", "caller"}
    assert set(found["caller"].calls) == {"callee"}


def test_a_tail_call_with_an_open_gate(sections):
    found = sections(function("raise\nb callee") + function("raise\nbr x16", "g"))
    assert set(found["f"].calls) == {"callee"}
    assert set(found["g"].calls) == {"(pointer)"}
    assert found["f"].returns_open and found["g"].returns_open


def test_a_branch_that_may_be_a_switch_is_not_decided(sections):
    assert sections(function("raise\nbr x3"))["f"].problems == ["an instruction is not understood at f+0x24"]


SWITCHED = """
5:  nop
    b 7f
6:  raise
    bl callee
    lower
7:  bl other
    ret
.pushsection __jump_table, "a"
    .long 5b - .
    .long 6b - .
    .quad {key} - .
.popsection
"""


def test_static_branches_go_both_ways_but_those_of_the_protection(sections):
    found = sections(function(SWITCHED.format(key="kpkeys_pgtables_key")) + function(SWITCHED.format(key="a_key"), "g"))
    assert set(found["f"].calls) == {"callee"}
    assert set(found["g"].calls) == {"callee"}
    always = SWITCHED.format(key="kpkeys_pgtables_key").replace("b 7f", "raise")
    assert not sections(function(always))["f"].returns_open
    assert sections(function(always.replace("kpkeys_pgtables_key", "a_key").replace("6:  raise", "6:")))["f"].calls


ALTERNATIVE = """
.subsection 1
8:  {code}
9:
.previous
.pushsection .altinstructions, "a"
    .long 7b - .
    .long {place} - .
    .hword {feature}
    .byte 4
    .byte {size}
.popsection"""


def test_alternatives_run_as_well_as_what_they_replace(sections):
    patch = ALTERNATIVE.format(code="bl other", place="8b", feature=1, size=4)
    found = sections(function("raise\n7: bl callee\nlower\nret" + patch))["f"]
    assert set(found.calls) == {"callee", "other"}
    assert not found.returns_open


def test_an_alternative_that_leaves_out_the_rest_is_followed_to_its_end(sections):
    patch = ALTERNATIVE.format(code="ret", place="8b", feature=1, size=4)
    assert sections(function("raise\n7: bl callee\nlower\nret" + patch))["f"].returns_open


def test_a_callback_that_writes_nops_lets_the_code_go_on(sections):
    patch = ALTERNATIVE.format(code="nop", place="alt_cb_patch_nops", feature=0x8000, size=0)
    assert set(sections(function("raise\n7: b 1f\nbl callee\n1: lower\nret" + patch))["f"].calls) == {"callee"}


def test_a_callback_that_is_not_known_is_not_decided(sections):
    patch = ALTERNATIVE.format(code="nop", place="other", feature=0x8000, size=0)
    found = sections(function("raise\n7: nop\nlower\nret" + patch))["f"]
    assert found.problems == ["what other() writes is not known at f+0x24"]


def test_the_exception_table_is_followed(sections):
    table = '.pushsection __ex_table, "a"\n.long 7b - .\n.long 8b - .\n.hword 0, 0\n.popsection\n'
    assert sections(function("raise\n7: ldr x0, [x1]\nlower\n8: ret\n" + table))["f"].returns_open


def test_a_warning_comes_back_and_a_bug_does_not(sections):
    code = "raise\n7: brk #0x800\nret\n"
    table = '.pushsection __bug_table, "a"\n.long 7b - .\n.long 0\n.short 0\n.short {}\n.popsection\n'
    assert sections(function(code + table.format(1)))["f"].returns_open
    assert not sections(function(code + table.format(0)))["f"].returns_open
    assert sections(function("raise\nbrk #1\nlower\nret"))["f"].problems


def test_what_a_guard_returned_decides_whether_it_lowers(sections):
    found = sections(function("guard w19\nstr x0, [x1]\nunguard w19\nret"))["f"]
    assert kinds(found) == {"register": 1}
    assert not (found.returns_open or found.loses)


def test_a_section_that_is_opened_on_one_way_only_is_closed_on_that_one(sections):
    body = "mov w20, #0xfe\ncmp w0, #2\nb.lo 3f\nguard w20\n3: str x0, [x1]\nunguard w20\nret"
    found = sections(function(body))["f"]
    assert not (found.returns_open or found.loses)


def test_two_comparisons_in_one_decide(sections):
    guard = "guard w19\nmov w2, #30\nmov w3, #31\ncmp w19, #0xfe\ncsel w2, w2, w3, eq\n"
    guard += "cmp w19, #3\ncsel w19, w19, w2, lo\n"
    unguard = "cmp w19, #30\nccmp w19, #31, #4, ne\nb.eq 3f\nlower\n3: ret"
    assert not sections(function(guard + unguard))["f"].returns_open
    assert sections(function(guard + unguard.replace("#31, #4", "#0, #4")))["f"].returns_open


def test_a_spilled_value_is_known_until_it_is_written(sections):
    spill = "guard w9\nstr w9, [sp, #-16]!\n{}ldr w10, [sp], #16\nunguard w10\nret"
    assert not sections(function(spill.format("")))["f"].returns_open
    assert sections(function(spill.format("mov w9, #0xfe\nstr w9, [sp]\n")))["f"].returns_open


def test_a_spilled_value_whose_address_is_known_elsewhere_is_lost_in_calls(sections):
    spill = "guard w19\nsub sp, sp, #32\nstr w19, [sp, #16]\n{}bl callee\n"
    spill += "ldr w19, [sp, #16]\nadd sp, sp, #32\nunguard w19\nret"
    assert not sections(function(spill.format("")))["f"].returns_open
    assert not sections(function(spill.format("add x0, sp, #24\n")))["f"].returns_open
    assert sections(function(spill.format("add x0, sp, #8\n")))["f"].returns_open


def test_a_callee_that_changes_a_register_is_told_from_one_that_does_not(sections):
    body = "guard w9\nbl callee\nunguard w9\nret"
    assert not sections(function(body))["f"].returns_open
    changes = function("mov w9, #0xfe\nret", "changes")
    assert sections(function(body.replace("callee", "changes")) + changes)["f"].returns_open


def test_a_function_that_shuts_its_callers_gate_is_seen(sections):
    assert sections(function("lower\nret"))["f"].loses


PREEMPTION = """
function __preempt_count_add
    mrs x1, sp_el0
    ldr w2, [x1, #8]
    add w2, w2, #1
    str w2, [x1, #8]
    ret
end __preempt_count_add
"""
MOVES = """
    bl {count}
    mrs x19, tpidr_el1
    raise
    bl callee
    adrp x4, some
    add x4, x4, :lo12:some
    str x0, [x4, x19]
    lower
    ret
"""


def test_a_count_of_preemption_out_of_line_is_followed(sections):
    found = sections(PREEMPTION + function(MOVES.format(count="__preempt_count_add")))
    assert kinds(found["f"]) == {"percpu some": 1}
    # Without it the callee may come back on another CPU.
    found = sections(PREEMPTION + function(MOVES.format(count="other")))
    assert kinds(found["f"]) == {"register": 1}


def test_code_out_of_line_belongs_to_those_who_branch_there(sections):
    body = "b 1f\n2: ret\n.subsection 2\n1: raise\nbl callee\nlower\nb 2b\n.subsection 0\n"
    found = sections(function(body))
    assert set(found["f"].calls) == {"callee"}


def test_a_write_that_nothing_reaches_is_seen(tmp_path):
    image = assemble(tmp_path, function("ret\nraise\nlower\nret") + "nop\nraise\nlower\nret\n", EM_AARCH64)
    assert {name: len(places) for name, places in prove(image).unreached.items()} == {"f": 2, "": 2}


def test_what_cannot_be_decided_is_a_problem(sections):
    found = sections(function("raise\n.inst 0x04000000\nlower\nret"))["f"]
    assert found.problems == ["an instruction is not understood at f+0x24"]


def test_an_unknown_value_may_open_the_gate(sections):
    assert sections(function("write 3\nret"))["f"].returns_open


def without_write(image: Image, place: int) -> Image:
    """The image with a NOP for the write of the register at an address."""
    assert Kernel(image).code(place, 4)[1:] == b"\xa2\x18\xd5"
    offset = image.offset(place)
    return Image(image.data[:offset] + bytes.fromhex("1f2003d5") + image.data[offset + 4 :])


def test_each_lowering_that_is_dropped_is_seen(tmp_path):
    one = "guard w19\nstr x0, [x1]\nunguard w19\nret"
    two = "raise\ncbz x0, 3f\nlower\nret\n3: bl callee\nlower\nret"
    image = assemble(tmp_path, function(one) + function(two, "g"), EM_AARCH64)
    kernel = Kernel(image)
    lowering = [place for place in sorted(prove(image).lowers) if kernel.function_at(place).name in "fg"]
    assert len(lowering) == 3
    for place in lowering:
        name = kernel.function_at(place).name
        assert prove(without_write(image, place)).sections[name].returns_open


def test_logical_immediates():
    assert mask_of(1, 0b000000, 0, 64) == 1
    assert mask_of(0, 0b000111, 0, 32) == 0xFF
    assert mask_of(0, 0b110000, 1, 32) == 0x80808080
    assert mask_of(0, 0b111111, 0, 32) is None


@pytest.mark.parametrize(
    ("word", "stores"),
    [
        (0xF9000001, True),  # str x1, [x0]
        (0xF9400001, False),  # ldr x1, [x0]
        (0xA9000001, True),  # stp x1, x0, [x0]
        (0x38BFC020, False),  # ldaprb w0, [x1]
        (0xD9000020, True),  # stlur x0, [x1]
        (0x4C007020, True),  # st1 {v0.16b}, [x1]
        (0x19010440, True),  # cpyfp
        (0xF8A04820, False),  # prfm
    ],
)
def test_what_stores_and_what_does_not(word, stores):
    access = decode(word, 0).raw.access
    assert (access is not None and access.kind is not Kind.LOAD) is stores


@pytest.mark.parametrize("word", [0xD9200820, 0xF83F9020, 0x04000000, 0xF8200420])  # stg, st64b, SVE, ldraa
def test_what_is_not_known_is_no_instruction(word):
    assert decode(word, 0) is None


def test_a_kernel_whose_gate_never_shuts_is_refused():
    assert levels_of({0x11077777, 0x55077777}) == (0x11077777, {0: 0x11077777, 1: 0x55077777})
    guarded = levels_of({0x11017777, 0x55017777, 0x15517777, 0x15057777})
    assert guarded == (0x11017777, {0: 0x11017777, 1: 0x55017777, 2: 0x15517777, 3: 0x15057777})
    with pytest.raises(ValueError, match="shuts or opens"):
        levels_of({0x55077777, 0x15577777})
