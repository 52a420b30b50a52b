# SPDX-License-Identifier: GPL-2.0-only
"""What runs with the gate open: one rule after the other, in small pieces of assembly."""

import pytest

from portcullis.core.elf import Image
from portcullis.core.sections.kernel import Kernel, source_name
from portcullis.core.sections.proof import Scope
from portcullis.core.sections.x86_code import levels_of
from sections_kit import assemble, prove


@pytest.fixture
def sections(tmp_path):
    return lambda text: prove(assemble(tmp_path, text)).sections


def function(body: str, name: str = "f") -> str:
    return f"function {name}\n{body}\nend {name}\n"


def test_stores_have_kinds(sections):
    body = """
    mov %rax, (%rdi)
    mov $1, %edx
    raise
    mov %rsi, 8(%rdi)
    mov %rsi, -8(%rsp)
    incq %gs:0x2df00
    mov %rsi, some(%rip)
    lock orq $2, (%rdi)
    cmpxchg %rcx, (%rdi)
    xchg %rcx, (%rdi)
    rep stosq
    cmp %rcx, (%rdi)
    lower
    mov %rax, (%rdi)
    ret"""
    found = sections(function(body))["f"]
    kinds = {"register": 2, "stack": 1, "percpu ?": 1, "global some": 1, "atomic": 2, "string": 1}
    assert found.stores == kinds
    assert (found.raises, found.returns_open, found.problems) == (1, False, [])


def test_per_cpu_variables_have_addresses_of_the_image_on_newer_kernels(tmp_path):
    image = assemble(
        tmp_path,
        function("raise\nincq %gs:counters + per_cpu_base\nlower\nret"),
        before=".set per_cpu_base, 0xffffffff81e00000\n",
    )
    found = prove(image).sections["f"]
    assert (found.stores, found.returns_open) == ({"percpu ?": 1}, False)


def test_what_is_read_from_the_stack_counts(sections):
    body = """
    push %rbp
    mov %rsp, %rbp
    mov -8(%rbp), %rax
    lea -16(%rbp), %rdi
    raise
    cmp -8(%rbp), %rax
    add 8(%rdi), %rax
    lea -24(%rbp), %rsi
    mov 8(%rdx), %rax
    push %rax
    lower
    mov -8(%rbp), %rax
    pop %rbp
    ret"""
    assert sections(function(body))["f"].stores == {"stack": 3}


def test_a_base_pointer_that_is_none_is_a_pointer(sections):
    body = "raise\nmov %rsi, (%rbp)\nlock incq 8(%rbp)\nlower\nret"
    assert sections(function(body))["f"].stores == {"register": 1, "atomic": 1}


def test_calls_count_while_the_gate_is_open(sections):
    found = sections(function("call other\nraise\ncall callee\ncall *%rbx\nlower\ncall other\nret"))["f"]
    assert set(found.calls) == {"callee", "(pointer)"}


def test_a_way_out_that_does_not_lower_is_seen_and_its_callers_have_a_section(sections):
    body = "raise\ntest %rdi, %rdi\nje 1f\nlower\n1: ret"
    found = sections(function(body) + function("call f\ncall callee\nret", "caller") + function("jmp caller", "last"))
    assert {name for name, section in found.items() if section.returns_open} == {"f", "caller", "last"}
    assert set(found["caller"].calls) == {"callee"}


def test_callers_of_some_are_not_followed(tmp_path):
    image = assemble(tmp_path, function("raise\nret") + function("call f\nret", "caller"))
    assert "caller" not in prove(image, Scope(unfollowed=frozenset(("f",)))).sections
    assert "caller" in prove(image).sections


def test_what_is_left_out_and_what_boot_frees_is_counted(tmp_path):
    image = assemble(
        tmp_path, function("raise\nret", "test_it") + "_sinittext:\n" + function("raise\nret") + "_einittext:\n"
    )
    proof = prove(image, Scope(lambda name, file: name.startswith("test_")))
    assert set(proof.sections) == {"any_section"}
    assert ([each.name for each in proof.left_out], [each.name for each in proof.boot]) == (["test_it"], ["f"])


def test_a_tail_call_with_an_open_gate(sections):
    found = sections(function("raise\njmp callee"))["f"]
    assert set(found.calls) == {"callee"}
    assert found.returns_open


def test_a_tail_call_of_another_instance(sections):
    assert not sections(function("raise\nlower\njmp callee"))["f"].calls


def test_static_branches_go_both_ways_but_those_of_the_protection(sections):
    def code(key: str) -> str:
        return f"""
5:  nopl 0(%rax,%rax,1)
    jmp 7f
6:  raise
    call callee
    lower
7:  call other
    ret
.pushsection __jump_table, "a"
    .long 5b - .
    .long 6b - .
    .quad {key} - .
.popsection
"""

    found = sections(function(code("kpkeys_pgtables_key")) + function(code("a_key"), "g"))
    assert set(found["f"].calls) == {"callee"}
    assert set(found["g"].calls) == {"callee"}
    # While the protection is off nothing is raised, and nothing but that is left out.
    always = code("kpkeys_pgtables_key").replace("jmp 7f", "raise")
    assert not sections(function(always))["f"].returns_open
    assert sections(function(always.replace("kpkeys_pgtables_key", "a_key").replace("6:  raise", "6:")))["f"].calls


def test_a_switch_inside_a_section_goes_both_ways(sections):
    body = """
    raise
1:  nopl 0(%rax,%rax,1)
    call callee
    jmp 3f
2:  call other
3:  lower
    ret
.pushsection __jump_table, "a"
    .long 1b - .
    .long 2b - .
    .quad a_key - .
.popsection"""
    found = sections(function(body))["f"]
    assert set(found.calls) == {"callee", "other"}
    assert found.problems == ["a label that may be patched any time at f+0x17"]
    settled = body.replace("a_key", "settled_key")
    assert not sections(function(settled))["f"].problems


ALTERNATIVE = """
.pushsection .altinstr_replacement, "ax"
8:  {code}
9:
.popsection
.pushsection .altinstructions, "a"
    .long {site} - .
    .long 8b - .
    .long 5
    .byte {length}
    .byte 9b - 8b
.popsection"""


def test_alternatives_run_as_well_as_what_they_replace(sections):
    body = "raise\n7: call callee\nlower\nret" + ALTERNATIVE.format(code="call other", site="7b", length=5)
    found = sections(function(body))["f"]
    assert set(found.calls) == {"callee", "other"}
    assert not found.returns_open


def test_an_alternative_that_leaves_out_the_rest_is_followed_to_its_end(sections):
    body = "raise\n7: call callee\nlower\nret" + ALTERNATIVE.format(code="ret", site="7b", length=5)
    assert sections(function(body))["f"].returns_open


def test_the_access_of_another_backend_is_not_followed(sections):
    body = "mov $0x40, %eax\n7: mov $0x6e1, %ecx\nxor %edx, %edx\nwrmsr\nlower\nret"
    body += ALTERNATIVE.format(code="mov %cr0, %rdx\nret", site="7b", length=9)
    found = sections(function(body))["f"]
    assert not found.returns_open


def test_a_call_through_pv_ops_becomes_a_call_of_what_is_there(sections):
    body = "raise\n7: call *pv_ops(%rip)\nlower\nret"
    body += ALTERNATIVE.format(code="call other", site="7b", length=6).replace(".long 5", ".long 0x20005")
    body += "\n.data\n.type pv_ops, @object\npv_ops: .quad callee\n.size pv_ops, 8\n.text"
    assert set(sections(function(body))["f"].calls) == {"callee"}


XENPV = 272  # X86_FEATURE_XENPV, with which there is no gate


@pytest.mark.parametrize(
    ("feature", "called"),
    [(0x10000 | XENPV, {"other"}), (XENPV, {"callee"}), (0x10000 | XENPV - 1, {"callee", "other"})],
)
def test_what_only_a_xen_guest_runs_is_not_followed(sections, feature, called):
    body = "raise\n7: call callee\nlower\nret"
    body += ALTERNATIVE.format(code="call other", site="7b", length=5).replace(".long 5", f".long {feature}")
    assert set(sections(function(body))["f"].calls) == called


def test_what_a_later_alternative_replaces_in_any_case_is_not_followed(sections):
    body = "raise\n7: call callee\nlower\nret" + ALTERNATIVE.format(code="call third", site="7b", length=5)
    last = ALTERNATIVE.format(code="call other", site="7b", length=5).replace("8", "18").replace("9", "19")
    body += last.replace(".long 5", f".long {0x10000 | XENPV}")
    assert set(sections(function(body) + "\n" + function("ret", "third"))["f"].calls) == {"other"}


CR0 = "mov %cr0, %rcx\nand ${bit}, %eax\nshl $13, %eax\nbtr $16, %ecx\nor %eax, %ecx\nmov %rcx, %cr0"


def test_other_backends_are_accessed_alike(tmp_path):
    body = "mov $0x40, %eax\n7: mov $0x6e1, %ecx\nxor %edx, %edx\nwrmsr\nlower\nret"
    for bit, places in (("8", {"f+0x1c"}), ("4", {"f+0x5", "f+0x1c"})):
        patch = ALTERNATIVE.format(code=CR0.format(bit=bit), site="7b", length=9)
        found = prove(assemble(tmp_path, function(body + patch))).unlike
        assert {place for place in found if place.startswith("f")} == places
    assert prove(assemble(tmp_path, function(body))).unlike == []


def test_the_exception_table_is_followed(sections):
    body = """
    raise
7:  mov (%rdi), %rax
    lower
8:  ret
.pushsection __ex_table, "a"
    .long 7b - .
    .long 8b - .
    .long 0
.popsection"""
    assert sections(function(body))["f"].returns_open


def test_a_warning_comes_back_and_a_bug_does_not(sections):
    code = "raise\n7: ud2\nret\n"
    table = '.pushsection __bug_table, "a"\n.long 7b - .\n.long 0\n.short 0\n.short {}\n.popsection\n'
    assert sections(function(code + table.format(1)))["f"].returns_open
    assert not sections(function(code + table.format(0)))["f"].returns_open


def test_what_a_guard_returned_decides_whether_it_lowers(sections):
    found = sections(function("guard %r12b\nmov %rsi, (%rdi)\nunguard %r12b\nret"))["f"]
    assert found.stores == {"register": 1}
    assert not found.returns_open
    assert not found.loses


def test_a_section_that_is_opened_on_one_way_only_is_closed_on_that_one(sections):
    body = "mov $0xfe, %bl\ncmp $2, %edi\njb 3f\nguard %bl\n3: mov %rsi, (%rdi)\nunguard %bl\nret"
    found = sections(function(body))["f"]
    assert not found.returns_open
    assert not found.loses


def test_a_spilled_value_is_known_until_it_is_written(sections):
    spill = "guard %al\nmov %al, -8(%rsp)\n{}mov -8(%rsp), %bl\nunguard %bl\nret"
    assert not sections(function(spill.format("")))["f"].returns_open
    assert sections(function(spill.format("mov $0xfe, %cl\nmov %cl, -8(%rsp)\n")))["f"].returns_open


def test_a_spilled_value_whose_address_is_known_elsewhere_is_lost_in_calls(sections):
    body = "movl $0, -16(%rsp)\nlea {}(%rsp), %rdi\nsub $32, %rsp\ncall callee\nadd $32, %rsp\n"
    body += "cmpl $0, -16(%rsp)\nje 1f\nraise\nmov %rax, (%rbx)\nlower\n1: ret"
    assert "f" in sections(function(body.format(-16)))
    assert "f" in sections(function(body.format(-24)))
    assert "f" not in sections(function(body.format(-8)))


def test_a_write_that_nothing_reaches_is_seen(tmp_path):
    proof = prove(assemble(tmp_path, function("ret\nraise\nlower\nret")))
    assert {name: len(places) for name, places in proof.unreached.items()} == {"f": 2}


def test_a_callee_that_changes_a_register_is_told_from_one_that_does_not(sections):
    body = "guard %r8b\ncall callee\nunguard %r8b\nret"
    assert not sections(function(body))["f"].returns_open
    changes = function("mov $0xfe, %r8b\nret", "changes")
    assert sections(function(body.replace("callee", "changes")) + changes)["f"].returns_open


def test_a_function_that_shuts_its_callers_gate_is_seen(sections):
    found = sections(function("lower\nret") + function("write 0x40\nlower\nret", "g"))
    assert found["f"].loses
    assert found["g"].loses


def test_a_cold_part_belongs_to_its_function(sections):
    body = "raise\ntest %rdi, %rdi\njne f.cold\n1: lower\nret"
    cold = ".type f.cold, @function\nf.cold:\ncall callee\njmp 1b\n.size f.cold, . - f.cold\n"
    found = sections(function(body) + cold)
    assert set(found["f"].calls) == {"callee"}
    assert set(found) == {"f", "any_section"}


def test_what_cannot_be_decided_is_a_problem(sections):
    found = sections(function("raise\n.byte 0x06\nlower\nret"))["f"]
    assert found.problems == ["an instruction is not understood at f+0x17"]


def test_an_unknown_value_may_open_the_gate(sections):
    found = sections(function("mov %edi, %eax\nmov $0x6e1, %ecx\nxor %edx, %edx\nwrmsr\nret"))["f"]
    assert found.returns_open


def test_an_access_of_another_form_is_an_error(tmp_path):
    image = assemble(tmp_path, function("mov $0x6e1, %ecx\nmov %rdi, %rdx\nwrmsr\nret"))
    with pytest.raises(ValueError, match="not understood"):
        prove(image)


def without_write(image: Image, place: int) -> Image:
    """The image with NOPs for the write of the register that ends in the WRMSR at an address."""
    assert Kernel(image).code(place, 2) == b"\x0f\x30"
    offset = image.offset(place)
    return Image(image.data[: offset - 7] + b"\x90" * 9 + image.data[offset + 2 :])


def test_each_lowering_that_is_dropped_is_seen(tmp_path):
    one = "guard %r12b\nmov %rsi, (%rdi)\nunguard %r12b\nret"
    two = "raise\ntest %rdi, %rdi\nje 3f\nlower\nret\n3: call callee\nlower\nret"
    image = assemble(tmp_path, function(one) + function(two, "g"))
    kernel = Kernel(image)
    lowering = [place for place in sorted(prove(image).lowers) if kernel.function_at(place).name in "fg"]
    assert len(lowering) == 3
    for place in lowering:
        name = kernel.function_at(place).name
        assert prove(without_write(image, place)).sections[name].returns_open


def test_names_are_those_of_the_source():
    assert source_name("set_ptes.constprop.0") == "set_ptes"
    assert source_name("f.part.0.isra.3.cold") == "f"
    assert source_name("f.ptes") == "f.ptes"


def test_a_constant_is_not_read_across_instructions(sections):
    body = """
    mov -0x48(%rbx), %eax
    mov %eax, %ebx
    xor %eax, %eax
    mov $0x6e1, %ecx
    xor %edx, %edx
    wrmsr
    mov %rsi, (%rdi)
    lower
    ret"""
    assert sections(function(body))["f"].stores == {"register": 1}


def test_the_end_of_an_instruction_is_no_constant(sections):
    # The place of a counter has the byte of MOV to EAX, and its number comes behind.
    counts = ".byte 0x65, 0x48, 0x83, 0x05, 0xb8, 0xbb, 0xdd, 0x7e, 0x02"
    write = "mov $0x6e1, %ecx\nxor %edx, %edx\nwrmsr"
    found = sections(function(f"raise\nlower\nret\nmov $0x40, %eax\n{counts}\n{write}\nlower\nret"))["f"]
    assert not found.problems


def test_levels_follow_from_what_is_denied():
    """State 0x8, page tables 0x20, reads of secrets 0x40, guarded variables 0x200."""
    assert levels_of({0x28, 0}) == (0x28, {0: 0x28, 1: 0})
    assert levels_of({0x68, 0x40, 0x20}) == (0x68, {0: 0x68, 1: 0x40, 2: 0x20})
    assert levels_of({0x268, 0x240, 0x220, 0x60}) == (0x268, {0: 0x268, 1: 0x240, 2: 0x220, 3: 0x60})
