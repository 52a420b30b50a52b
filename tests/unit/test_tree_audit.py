# SPDX-License-Identifier: GPL-2.0-only
"""The audit of sources: headers of rules, what spatch prints, assembly, the list, the command."""

import json
import re
from pathlib import Path

import pytest

from fakes import make_program, make_tree, write
from portcullis.cli import main
from portcullis.core.tree.allowed import judge, parse_listing, proposal
from portcullis.core.tree.findings import Finding, Unread, in_assembly, matter, parse_found, parse_unread, with_text
from portcullis.core.tree.rules import joined, parse_rule, words_of
from portcullis.errors import ToolError
from portcullis.host.treeaudit import audit_tree, read_listing, read_rules, sources_of

ROOT = Path(__file__).parents[2]
RULE = r"""// SPDX-License-Identifier: GPL-2.0-only
// Finds:   stores,
//          and more.
// Why:     they fault.
// Instead: helpers.
// Words:   \bpte_t\b
// Assembly: \bmov\s[^;\n]*,\s*%+cr0\b
//
// Free text, which is no field.

@r@
@@
"""
FOUND = """a.c:3:1-5: entry-store in f
a.c:3:1-5: entry-store in f
dir/b.h:10:2-9: gate-register in something_else
warning: not a finding
"""
ERRORS = """HANDLING: a.c
parse error
 = File "a.c", line 7, column 3, charpos = 99
  around = '{',
  whole content = FOO(x) {
badcount: 3
bad: static void g(pte_t *p)
BAD:!!!!! FOO(x) {
bad: }
HANDLING: b.c
parse error
 = File "b.c", line 2, column 0, charpos = 9
badcount: 1
BAD:!!!!! EXPORT(x) y
EXN: Coccinelle_modules.Common.Timeout in c.c
"""
LIST = """
[scope]
test-files = ["mm/*_test.c"]
[[allowed]]
file = "arch/*/mm/a.c"
rules = ["entry-store", "unread"]
functions = ["f", "g"]
places = 2
why = "Boot."
[[allowed]]
file = "mm/b.c"
rules = ["entry-store"]
places = 1
not-covered = "A gap."
"""
NAMES = ("entry-store", "unread")


def rule(name: str = "entry-store", text: str = RULE):
    return parse_rule(name, text)


def store(path: str = "arch/x86/mm/a.c", line: int = 1, function: str = "f") -> Finding:
    return Finding(path, line, "entry-store", function)


def test_a_header_has_its_fields():
    found = rule()
    assert (found.finds, found.why, found.instead) == ("stores, and more.", "they fault.", "helpers.")
    assert found.words.search("pte_t x") and not found.words.search("my_pte_t_x")
    assert found.assembly and found.assembly.search("mov %0, %%cr0")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("// Why:     they fault.\n", "", "no Why in the header"),
        ("// Why:", "// Where:", "no Why"),
        ("// Assembly:", "// Assemblies:", "unknown field Assemblies"),
        (r"\bpte_t\b", "(", "entry-store: "),
    ],
)
def test_a_header_that_lacks_something(before, after, said):
    with pytest.raises(ValueError, match=said):
        rule(text=RULE.replace(before, after))


def test_the_rules_of_the_checkout_are_whole():
    rules = read_rules()
    assert len(rules) == 10
    for each in rules:
        assert "print_report(" in each.text and f'"{each.name} in %s"' in each.text
        assert "=~" not in each.text, "the syntax of patterns differs between builds of Coccinelle"
    assert {rule.name for rule in read_rules(leave_out=("open-call",))} == {r.name for r in rules} - {"open-call"}
    assert re.compile(words_of(rules)).search("\tset_pmd(pmd, x);")
    assert joined("guards", rules).startswith("guards\n")


def test_findings_are_read_once_each():
    assert parse_found(FOUND) == [
        Finding("a.c", 3, "entry-store", "f"),
        Finding("dir/b.h", 10, "gate-register", "something_else"),
    ]


def test_places_that_could_not_be_parsed_are_not_swallowed():
    places = parse_unread(ERRORS)
    assert [(place.path, place.line) for place in places] == [("a.c", 7), ("b.c", 2), ("c.c", 1)]
    assert places[0].region == "static void g(pte_t *p)\nFOO(x) {\n}\n"
    # One without a word of the rules is counted and need not be looked at; a file that was given up must be.
    assert [place.path for place in matter(places, [rule()])] == ["a.c", "c.c"]


def test_assembly_is_that_of_the_code():
    text = (
        "int f(void)\n{\n\t/* mov %0, %%cr0 */\n"
        '\tasm volatile("nop (\\n"\n\t\t"mov %0, %%cr0" : : "r" (x));\n'
        '\tg("mov a, %cr0");\n}\n'
    )
    assert in_assembly("a.c", text, [rule()]) == [Finding("a.c", 5, "entry-store", "f")]
    source = "# mov %rax, %cr0\nSYM_FUNC_START(open)\n1:\n\tmov\t%rax, %cr0 // twice\n\tmov %cr0, %rax\n"
    assert in_assembly("a.S", source, [rule()]) == [Finding("a.S", 4, "entry-store", "open")]
    assert in_assembly("a.S", "\tret\n", [rule()]) == []


def test_a_record_has_the_line_of_the_source():
    found = with_text([store("a.c", 2), Finding("a.c", 9, "unread", "", "static x")], ["int x;", "\t*ptep   = pte;"])
    assert [str(each) for each in found] == ["a.c:2: entry-store: *ptep = pte;", "a.c:9: unread: static x"]


def test_the_list_explains_what_it_names():
    listing = parse_listing(LIST, NAMES)
    findings = [store(), store(line=2, function="g"), store("mm/b.c")]
    judged = judge(listing, findings, ["arch/x86/mm/a.c", "mm/b.c"])
    assert judged.unknown == () and judged.problems == () and judged.slack == ()
    assert [entry.not_covered for entry in judged.known.values()] == ["", "", "A gap."]
    assert listing.is_test("mm/x_test.c") and not listing.is_test("mm/x.c")


@pytest.mark.parametrize(
    ("findings", "problem"),
    [
        ([store(), store(line=2), store(line=3), store("mm/b.c")], "3 places, 2 are allowed"),
        ([store(), store(line=2)], "mm/b.c: entry-store: is in the list and was not found"),
    ],
)
def test_more_places_than_listed_and_entries_without_one(findings, problem):
    judged = judge(parse_listing(LIST, NAMES), findings, ["arch/x86/mm/a.c", "mm/b.c"])
    assert len(judged.problems) == 1 and problem in judged.problems[0]


def test_fewer_places_than_listed_and_files_that_were_not_looked_at():
    judged = judge(parse_listing(LIST, NAMES), [store()], ["arch/x86/mm/a.c"])
    assert judged.problems == ()
    assert judged.slack == ("arch/*/mm/a.c: entry-store, unread in f, g: places may go down from 2 to 1",)


def test_another_function_or_rule_is_not_explained():
    others = [store(function="h"), Finding("arch/x86/mm/a.c", 1, "entry-fill", "f")]
    judged = judge(parse_listing(LIST, NAMES), others, [])
    assert set(judged.unknown) == set(others)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("places = 2\n", "", "has no places"),
        ('why = "Boot."', 'why = "Boot."\nnot-covered = "both"', "either why or not-covered"),
        ('why = "Boot."', 'reason = "Boot."', "has reason"),
        ('"unread"]', '"entry-stroe"]', "there is no rule entry-stroe"),
    ],
)
def test_entries_that_say_too_little_or_too_much(before, after, said):
    with pytest.raises(ValueError, match=said):
        parse_listing(LIST.replace(before, after), NAMES)


def test_a_proposal_can_be_read_but_for_its_reasons():
    text = proposal([store(), store(line=4, function="g"), store("mm/c.c", function="")])
    assert text.count("[[allowed]]") == 2 and 'functions = ["f", "g"]\nplaces = 2' in text
    assert len(parse_listing(text.replace('why = ""', 'why = "Boot."'), NAMES).entries) == 2


def test_the_committed_list_can_be_read():
    listing = read_listing(read_rules())
    assert len(listing.entries) > 50
    assert all((entry.why or entry.not_covered).endswith(".") for entry in listing.entries)
    assert {entry.file for entry in listing.entries if entry.not_covered} == {
        "drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3-sva.c",
        "drivers/iommu/intel/svm.c",
    }


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module, and a spatch that says what it is told; returns a function that runs the tool."""
    write(tmp_path / "module/a.c", "static void f(pte_t *p)\n{\n\t*p = x;\n}\n")
    write(tmp_path / "module/notes.c", "int nothing;\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def run(*words: str, out: str = "", err: str = "HANDLING: a.c\n", status: int = 0) -> int:
        write(tmp_path / "out", out)
        write(tmp_path / "err", err)
        script = f"#!/bin/sh\ncat {tmp_path}/out; cat {tmp_path}/err >&2; exit {status}\n"
        make_program(tmp_path / "bin", "spatch", script)
        return main(["audit", "tree", str(tmp_path / "module"), *words])

    return run


def test_a_module_is_reported_and_needs_no_list(module, capsys):
    assert module(out="a.c:3:1-5: entry-store in f\n") == 1
    said = capsys.readouterr().out
    assert said.startswith("a.c:3: entry-store: *p = x;\n")
    assert "entry-store finds assignments" in said and "instead: set_pte()" in said
    assert "1 of 2 files have words of the rules; 1 places found; 0 places" in said
    assert module() == 0


def test_json_has_all_of_it(module, capsys):
    assert module("--json", out="a.c:3:1-5: entry-store in f\n", err=ERRORS) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["good"] is False and found["files"] == 2 and found["read"] == 1
    first = {"path": "a.c", "line": 3, "rule": "entry-store", "function": "f", "text": "*p = x;", "known": ""}
    assert found["findings"][0] == first
    assert found["unread"] == [{"path": "a.c", "line": 7}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"status": 2, "err": "Fatal error: oh\n"}, "spatch failed: Fatal error: oh"),
        ({"err": ""}, "spatch did not read a.c"),
        ({"err": "HANDLING: a.c\nPy.find_library: unable to find it\n"}, "apt-get install .* libpython3-dev"),
    ],
)
def test_a_spatch_that_fails_is_said(module, capsys, arguments, said):
    assert module(**arguments) == 2
    assert re.search(said, capsys.readouterr().err)


def test_what_is_not_there_is_said(tmp_path, monkeypatch, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["audit", "tree", str(tmp_path / "none")]) == 2
    assert main(["audit", "tree", str(tmp_path / "empty")]) == 2
    write(tmp_path / "some/a.c", "pte_t x;\n")
    assert main(["audit", "tree", str(tmp_path / "some"), "--dir", "drivers"]) == 2
    assert main(["audit", "tree", str(tmp_path / "some"), "--dir", "../empty"]) == 2
    monkeypatch.setattr("portcullis.host.treeaudit._with_words", lambda *_: ["a.c"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["audit", "tree", str(tmp_path / "some")]) == 2
    said = capsys.readouterr().err
    for what in (
        "none is not a folder",
        "empty has no C files",
        "drivers is not a folder of",
        "spatch is not installed",
    ):
        assert what in said
    assert "empty is not a folder of" in said


def test_a_kernel_is_held_against_the_list(tmp_path, monkeypatch):
    tree = make_tree(tmp_path / "linux")
    for path in ("arch/x86/mm/a.c", "arch/mips/mm/a.c", "tools/a.c", "mm/b.c", "mm/a_test.c"):
        write(tree / path, "pte_t x;\n")
    files = sources_of(tree, (), kernel=True)
    assert files == ["arch/x86/mm/a.c", "mm/a_test.c", "mm/b.c", "mm/memory.c"]
    assert sources_of(tree, ("arch/mips",), kernel=True) == ["arch/mips/mm/a.c"]
    read: list[str] = []

    def run(_tree, chosen, _rules, _jobs):
        read.extend(chosen)
        return [store()], [Unread("mm/b.c", 3)]

    monkeypatch.setattr("portcullis.host.treeaudit._run", run)
    (tree / "arch/arm64").mkdir(parents=True)
    listing = parse_listing(LIST, NAMES)
    # Without Portcullis the list may have entries for what hooks bring.
    found = audit_tree(tree, rules=(rule(),), listing=listing)
    assert found.good and found.kernel and not found.hardened and read == ["arch/x86/mm/a.c", "mm/b.c"]
    assert "1 are, 0 of them not covered; 1 places could not be parsed" in found.summary
    write(tree / "mm/kpkeys/Kconfig", "config KPKEYS\n")
    hardened = audit_tree(tree, rules=(rule(),), listing=listing)
    assert not hardened.good and "mm/b.c: entry-store: is in the list and was not found" in hardened.judged.problems


def test_a_broken_rule_is_said(tmp_path):
    write(tmp_path / "entry-x.cocci", "@r@\n@@\n")
    with pytest.raises(ToolError, match="no Finds in the header"):
        read_rules(tmp_path)
