# SPDX-License-Identifier: GPL-2.0-only
"""Parsers of the pure core."""

import pytest

from fakes import SERIES
from portcullis.core.kconfig import parse_config, parse_fragment, unmet
from portcullis.core.ktap import failures, leaves, parse_ktap
from portcullis.core.packages import apt_line, parse_packages
from portcullis.core.results import parse_results
from portcullis.core.series import parse_series, select_hooks, supported_ranges
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


def test_series_keeps_order_and_selects_by_version_and_arch():
    hooks = parse_series(SERIES)
    assert [hook.name for hook in hooks] == ["0100-first", "0200-second"]
    assert hooks[0].subject == "x86/kpkeys: first"
    assert hooks[1].subject == "mm: build kpkeys"
    assert hooks[1].tests == ("kunit", "hooks")
    assert [hook.name for hook in select_hooks(hooks, KernelVersion(6, 13), "x86")] == ["0200-second"]
    assert [hook.name for hook in select_hooks(hooks, KernelVersion(6, 12), "arm64")] == ["0200-second"]
    assert [str(item) for item in supported_ranges(hooks)] == [
        "6.12 up to, not including, 6.13",
        "6.12 up to, not including, 6.14",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('why = "First reason."\n', ""), "'why' is missing"),
        (("test = ", "untested = 'x'\ntest = "), "either 'test' or 'untested'"),
        (('arch = "x86"', 'arch = "x86"\ncolour = "red"'), "unknown key 'colour'"),
        (('to = "6.13"', 'to = "6.12"'), "empty version range"),
        (('"0200-second.patch"', '"x86/0100-first.patch"'), "listed twice"),
        (('"x86/0100-first.patch"', '"../0100-first.patch"'), "below kernel/hooks"),
        (("[[hook]]", "[[hook]"), "series.toml: "),
    ],
)
def test_a_broken_series_names_the_fault(change, message):
    with pytest.raises(ValueError, match=message):
        parse_series(SERIES.replace(*change))


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


def test_results_port():
    results = parse_results(
        'KTAP version 1\nok 1 - a\nnot ok 2 - b # reason\n#json {"bench":"x","n":1}\n#json {oops\n#done 3\n'
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
        ("kpkeys: violation: write to page table at ffff", "violation"),
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
