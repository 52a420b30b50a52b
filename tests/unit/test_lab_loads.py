# SPDX-License-Identifier: GPL-2.0-only
"""The designs as options of a machine, the benchmarks' names, and the compiler for the guest."""

import re
from pathlib import Path

import pytest

from kit.lab import KERNBENCH_GCC, benchmarks, lab_job
from portcullis.core.cpio import directory, regular
from portcullis.core.lanes import LANES
from portcullis.core.machine import DESIGNS, Machine, kernel_command_line
from portcullis.errors import ToolError
from portcullis.host.compile_kit import AT_ONCE, libraries, makefile, sources, with_folders
from portcullis.host.process import Commands
from portcullis.lab.jobs import BENCHMARKS

ROOT = Path(__file__).parents[2]


def test_the_command_line_names_design_and_linear_map():
    words = kernel_command_line(Machine(arch="arm64", design="rfc", linear_map="blocks")).split()
    assert {"kpkeys_design=rfc", "live_split=force"} <= set(words)
    assert "live_split=off" in kernel_command_line(Machine(arch="arm64", linear_map="pages")).split()
    assert "design" not in kernel_command_line(Machine())


def test_only_hardened_lab_kernels_have_designs():
    assert [lane.name for lane in LANES.values() if lane.has_designs] == ["lab-designs"]


def test_the_kernel_knows_the_same_designs():
    text = (ROOT / "kernel/topics/92-designs/files/mm/kpkeys/designs.c").read_text()
    assert set(re.findall(r'\]\s*= "([\w-]+)"', text)) == set(DESIGNS)


def test_benchmarks_are_those_of_the_guest():
    text = "".join(path.read_text() for path in (ROOT / "guest/loads").glob("*.c"))
    known = set(re.findall(r'\.name = "([\w-]+)", \.round', text))
    known |= {f"gate-{gate}" for gate in re.findall(r'GATE\("([\w-]+)"\)', text)}
    known |= {f"vmalloc-p{pages}-h0" for pages in re.findall(r"\bVMALLOC\((\d+)\)", text)}
    known |= {f"vmalloc-p{pages}-h1" for pages in re.findall(r"VMALLOC_HUGE\((\d+)\)", text)}
    assert known == {*benchmarks("x86"), *benchmarks("arm64")}


def test_a_job_of_the_lab_has_options_before_names():
    assert lab_job(("fork-h0", "touch"), size=32) == "lab,size=32,fork-h0,touch"


def test_folders_come_before_what_is_in_them():
    names = [entry.name for entry in with_folders([regular("a/b/c", b""), regular("a/d", b"")])]
    assert names == ["a", "a/b", "a/b/c", "a/d"]
    assert with_folders([regular("a/b", b"")])[0] == directory("a")


def test_what_cannot_be_compiled_is_left_out(tmp_path):
    for name in ("scripts/dtc/data.c", "scripts/dtc/yamltree.c", "scripts/kconfig/conf.c", "scripts/kconfig/mconf.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert [path.name for path in sources(tmp_path)] == ["data.c", "conf.c"]


def test_make_compiles_files_of_the_same_name_to_different_objects():
    text = makefile([Path("scripts/dtc/util.c"), Path("scripts/kconfig/util.c")])
    assert "all: $(O)/0.o $(O)/1.o\n" in text and f"-j{AT_ONCE} " in text
    rules = re.findall(r"^(\S+): (\S+)\n\tgcc -O2 .* -c -o \$@ \$<$", text, re.M)
    assert rules == [
        ("$(O)/0.o", "/compile/src/scripts/dtc/util.c"),
        ("$(O)/1.o", "/compile/src/scripts/kconfig/util.c"),
    ]


def test_only_the_job_with_gcc_needs_its_guest():
    assert [each.name for each in BENCHMARKS.values() if each.compiler == "gcc"] == [KERNBENCH_GCC]


@pytest.mark.parametrize("folder", ["lib", "usr/lib"])
def test_the_loader_is_found_where_each_release_has_it(tmp_path, folder):
    loader = tmp_path / folder / "aarch64-linux-gnu" / "ld-linux-aarch64.so.1"
    loader.parent.mkdir(parents=True)
    loader.touch()
    assert libraries(Commands(), tmp_path, "arm64", []) == [("lib/ld-linux-aarch64.so.1", loader)]


def test_without_a_loader_the_error_names_it(tmp_path):
    with pytest.raises(ToolError, match="ld-linux-aarch64"):
        libraries(Commands(), tmp_path, "arm64", [])
