# SPDX-License-Identifier: GPL-2.0-only
"""Parsers of the pure core."""

import pytest

from portcullis.core.kconfig import parse_config, parse_fragment, unmet
from portcullis.core.ktap import failures, leaves, parse_ktap
from portcullis.core.packages import apt_line, parse_packages
from portcullis.core.results import parse_results
from portcullis.core.splats import is_stale_int3, scan_console
from portcullis.core.versions import KernelVersion, VersionRange, parse_version, version_from_makefile


def test_versions_are_ordered_as_numbers():
    assert parse_version("6.9") < parse_version("6.12") < parse_version("6.12.117")
    span = VersionRange(parse_version("6.12"), parse_version("6.13"))
    assert KernelVersion(6, 12, 117) in span
    assert KernelVersion(6, 13) not in span
    assert KernelVersion(6, 11, 99) not in span


@pytest.mark.parametrize("text", ["6", "six.twelve", "6.12-rc1", ""])
def test_bad_versions_are_refused(text):
    with pytest.raises(ValueError, match="not a kernel version"):
        parse_version(text)


def test_version_of_a_makefile():
    assert version_from_makefile("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\n") == KernelVersion(6, 12, 117)
    assert version_from_makefile("all:\n\techo hello\n") is None


def test_unmet_options_are_found():
    requests = parse_fragment(
        "CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\nCONFIG_D=7\n# optional\nCONFIG_E=y\nCONFIG_F=y\n"
    )
    config = parse_config("CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\n# CONFIG_F is not set\nCONFIG_D=7\n")
    assert [request.name for request in unmet(requests, config)] == ["CONFIG_C", "CONFIG_F"]


def test_a_later_fragment_overrides_an_earlier_one():
    requests = parse_fragment("CONFIG_A=y\n") + parse_fragment("# CONFIG_A is not set\n")
    assert unmet(requests, {}) == ()
    assert unmet(requests, {"CONFIG_A": "y"})


KUNIT = """[    0.5] KTAP version 1
[    0.5] 1..1
[    0.5]     KTAP version 1
[    0.5]     # Subtest: kpkeys
[    0.5]     1..3
[    0.6]     ok 1 levels
[    0.6]     not ok 2 restore
[    0.6]     ok 3 numa # SKIP one node
[    0.6] not ok 1 kpkeys
[    0.7] Freeing unused kernel memory
"""


def test_ktap_from_a_console_with_time_stamps():
    results = parse_ktap(KUNIT)
    assert [result.name for result in failures(results)] == ["restore", "kpkeys"]
    assert [result.name for result in leaves(results)] == ["levels", "restore", "numa"]
    assert results[2].skipped


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("KTAP version 1\nok 1 - a\nok 2 - b\n1..2\n", []),
        ("KTAP version 1\nok 1 - a\n1..2\n", ["2 tests planned, 1 seen"]),
        ("KTAP version 1\nok 1 - a\nok 2 - b\n1..1\n", ["1 tests planned, 2 seen"]),
        ("KTAP version 1\nok 1 - a\n", ["no plan: it did not finish"]),
        ("ok 1 - a\n", ["no plan: it did not finish"]),
        ("KTAP version 1\n", ["no plan: it did not finish"]),
        ("", []),
        (KUNIT.replace("    1..3", "    1..4"), ["4 tests planned, 3 seen"]),
        (KUNIT.replace(" 1..1", " 1..2"), ["2 tests planned, 1 seen"]),
        (KUNIT.replace("[    0.5]     1..3\n", ""), ["no plan: it did not finish"]),
        # The machine died in the first of two suites.
        (
            "KTAP version 1\n1..2\n    KTAP version 1\n    1..2\n    ok 1 a\n",
            ["2 tests planned, 1 seen", "2 tests planned, 0 seen"],
        ),
        # A suite that left no sum of its own, and the next one.
        (
            "KTAP version 1\n1..1\n    KTAP version 1\n    1..2\n    ok 1 a\n"
            "    KTAP version 1\n    1..1\n    ok 1 b\nok 1 s\n",
            ["2 tests planned, 1 seen"],
        ),
        # KUnit does not know how many parameters a test has.
        (
            "KTAP version 1\n1..1\n    1..1\n"
            "        KTAP version 1\n        ok 1 x\n        ok 2 y\n    ok 1 t\nok 1 s\n",
            [],
        ),
        ("KTAP version 1\n1..1\nok 1 - a\n1..1\n", ["1 tests planned, 0 seen"]),
    ],
)
def test_a_run_with_fewer_results_than_planned_has_failed(text, faults):
    assert [result.reason for result in failures(parse_ktap(text)) if result.name == "plan"] == faults


def test_results_port():
    results = parse_results(
        'KTAP version 1\nok 1 - a\nnot ok 2 - b # reason\n#json {"bench":"x","n":1}\n#json {oops\n1..2\n#done 3\n'
    )
    assert results.status == 3
    assert [(test.name, test.reason) for test in results.failed] == [("b", "reason")]
    assert results.records == ({"bench": "x", "n": 1},)
    assert results.malformed == ("#json {oops",)


def test_results_of_a_dead_guest_have_no_status():
    assert parse_results("ok 1 - a\n").status is None
    assert parse_results("# comment says #done 0\n").status is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("[    1.0] BUG: unable to handle page fault for address: ffff", "bug"),
        ("[    1.0] WARNING: CPU: 0 PID: 1 at mm/memory.c:1", "warning"),
        ("[    1.0][    T1] Oops: Oops: 0003 [#1] PREEMPT SMP", "oops"),
        ("BUG: KASAN: use-after-free in foo", "bug"),
        ("WARNING: possible circular locking dependency detected", "warning"),
        ("kpkeys: violation: write to page table at 000000001a2b3c4d, entry 5, by f+0x1/0x2", "violation"),
        ("kpkeys: section left open by foo[1]", "open-section"),
        ("BUG: Bad page state in process init", "bug"),
        ("Oops: general protection fault, probably for non-canonical address", "oops"),
        ("watchdog: BUG: soft lockup - CPU#1 stuck", "bug"),
        ("list_del corruption. prev->next should be", "list"),
        ("x86/mm: Checked W+X mappings: FAILED, 1 W+X pages found.", "wx"),
        ("kernel BUG at mm/page_table_check.c:80!", "bug"),
        (" Call Trace:", "trace"),
        ("Call trace:", "trace"),  # arm64
    ],
)
def test_complaints_are_found(line, kind):
    assert [splat.kind for splat in scan_console(f"fine\n{line}\n")] == [kind]
    assert scan_console(line, ("all",)) == ()
    assert scan_console(line, (kind,)) == ()


@pytest.mark.parametrize(
    "line",
    [
        "[    0.1] Spectre V2 : WARNING disabled",
        "[    0.1]  __page_table_check_ptes_set+0x10/0x20",
        "[    0.0] debug: boot options",
        "x86/mm: Checked W+X mappings: passed, no W+X pages found.",
        "[    0.2] kpkeys: page tables hardened: mode enforce, 12 boot pages",
    ],
)
def test_harmless_lines_are_not_complaints(line):
    assert scan_console(line) == ()


@pytest.mark.parametrize(
    "head",
    [
        "stress invoked oom-killer: gfp_mask=0x1",
        "stress: page allocation failure: order:0, mode:0xcc0",
        "stress: vmalloc error: size 16384, vm_struct allocation failed, mode:0xdc0",
    ],
)
def test_the_trace_of_a_provoked_report_is_not_a_complaint(head):
    report = f"[ 1.0] {head}\n[ 1.0] CPU: 0 PID: 1\n[ 1.0] Call Trace:\n"
    assert scan_console(report) == ()
    assert [splat.kind for splat in scan_console(report + "line\n" * 20 + "Call Trace:\n")] == ["trace"]
    assert [splat.kind for splat in scan_console(report + "BUG: Bad page state\n")] == ["bug"]


def test_a_warning_that_is_provoked_on_purpose_is_not_a_complaint():
    report = "[ 1.0] WARNING: CPU: 0 PID: 9 at a.c:1 f+0x1/0x2\n" + "[ 1.0] RIP: 0\n" * 25 + "[ 1.0] Call Trace:\n"
    assert scan_console(report, warned=r"WARNING: .*\bf\b") == ()
    assert [splat.kind for splat in scan_console(report, warned=r"WARNING: .*\bg\b")] == ["warning", "trace"]
    assert [splat.kind for splat in scan_console(report + "Oops: 3\n", warned=r"\bf\b")] == ["oops"]
    assert [splat.kind for splat in scan_console(report + "\n" * 30 + "Call Trace:\n", warned=r"\bf\b")] == ["trace"]


@pytest.mark.parametrize("address", ["ff11000001a2b028", "ffff888001a2b028", "0xffff000001a2b028", "ffffff8001a2b028"])
def test_an_address_in_a_report_is_always_a_complaint(address):
    report = f"[ 2.0] kpkeys: violation: write to page table at {address} by f+0x1 in attack[9] (audit)\n"
    assert [splat.kind for splat in scan_console(report, ("all",))] == ["address"]
    assert [splat.kind for splat in scan_console(report, ("violation",))] == ["address"]
    assert scan_console(f"Kernel command line: quiet no_hash_pointers\n{report}", ("violation",)) == ()
    assert scan_console(f"BUG: unable to handle page fault for address: {address}\n", ("bug",)) == ()


def test_a_hashed_address_is_no_complaint():
    report = "kpkeys: violation: write to page table at 00000000ff11a2b0, entry 5, by f+0x1/0x2 in attack[9] (audit)\n"
    assert scan_console(report, ("violation",)) == ()


def test_an_unknown_allowed_kind_is_an_error():
    with pytest.raises(ValueError, match="nonsense"):
        scan_console("", ("nonsense",))


def test_package_list_gives_an_apt_line():
    packages = parse_packages(
        "# c\nbuild cmd:gcc gcc compiles the kernel\nbuild cmd:cc gcc twice\n\nboot file:/x/* qemu-system-x86 runs it\n"
    )
    assert apt_line(packages) == "apt-get install --no-install-recommends gcc qemu-system-x86"
    with pytest.raises(ValueError, match="bad line"):
        parse_packages("build gcc\n")


@pytest.mark.parametrize(
    ("console", "stale"),
    [
        ("[ 1.3] Oops: int3: 0000 [#1]\n[ 1.3] RIP: x\n[ 1.3] Code: c3 66 0f 1f 00 66 <90> 90\n", True),
        ("[ 1.3] Oops: int3: 0000 [#1]\n[ 1.3] RIP: x\n[ 1.3] Code: c3 66 0f 1f 00 cc <90> 90\n", False),
        ("[ 1.3] Oops: Oops: 0002 [#1]\n[ 1.3] RIP: x\n[ 1.3] Code: c3 66 0f 1f 00 66 <90> 90\n", False),
        ("all is well\n", False),
    ],
)
def test_breakpoint_that_is_gone(console: str, stale: bool) -> None:
    assert is_stale_int3(console) is stale
