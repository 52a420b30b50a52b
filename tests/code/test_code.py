# SPDX-License-Identifier: GPL-2.0-only
"""What the machine code of kernels says: no boot is needed."""

import pytest

from kit.case import Case, also_newest, cases
from kit.machinery import Machinery
from kit.row import Row
from portcullis.core.jumplabels import problems_of_sites, sites_of_key
from portcullis.core.kconfig import parse_config
from portcullis.core.machine import Machine

STATIC_KEYS = ("kpkeys_pgtables_key", "kpkeys_secrets_key", "kpkeys_guarded_key", "kpkeys_creds_key")
LISTED_GCC = 12  # what the list of sections was made with: others put functions in line elsewhere
SECTIONS = "what can run while the gate is open is on the list (disassembly)"
ARM64 = Machine(arch="arm64")


@cases(
    Case("off-is-nop", "switched off, every guard is a NOP (disassembly)"),
    Case("arm64-off-is-nop", "the same", machine=ARM64),
)
def test_nops(case: Case, machinery: Machinery, row: Row) -> None:
    """Every place that tests a static key is a NOP in the image, as it stays when the key is never enabled."""
    image = machinery.image(case)
    sites = {key: sites_of_key(image, key) for key in STATIC_KEYS}
    places = ", ".join(f"{len(found)} of {key}" for key, found in sites.items())
    row.assert_none(problems_of_sites(sites), f"all are NOPs: {places}")


@cases(
    *also_newest(
        (
            Case("sections", SECTIONS),
            Case("least-sections", SECTIONS, lane="least"),
            Case("xen-sections", SECTIONS, lane="xen"),
            Case("arm64-sections", SECTIONS, machine=ARM64),
            Case("arm64-least-sections", SECTIONS, lane="least", machine=ARM64, long=True),
            Case("arm64-64k-sections", SECTIONS, lane="64k", machine=ARM64, long=True),
            Case("debian-sections", SECTIONS, lane="debian-cloud-thin", long=True),
            Case("arm64-debian-sections", SECTIONS, lane="debian-cloud-thin", machine=ARM64, long=True),
        ),
        "sections",
        "arm64-sections",
        "arm64-64k-sections",
    )
)
def test_sections(case: Case, machinery: Machinery, row: Row) -> None:
    """What can run while the gate is open is on the list, and what is on the list is there."""
    from portcullis.core.sections.audit import audit

    config = parse_config(machinery.built(case, ".config").read_text())
    compiler = int(config.get("CONFIG_GCC_VERSION", 0)) // 10000
    if compiler != LISTED_GCC:
        pytest.skip(f"the list is of what gcc {LISTED_GCC} makes; this is gcc {compiler}")
    found = audit(machinery.image(case), case.lane)
    row.assert_none(list(found.problems), found.summary)


def _refers(case: Case, machinery: Machinery, name: str, symbol: str) -> bool:
    return bool(machinery.image(case, name).symbols({symbol}))


@cases(Case("espfix", "espfix takes its tables from the pool (a boot takes over 1024 CPUs)"))
def test_espfix(case: Case, machinery: Machinery) -> None:
    assert _refers(case, machinery, "arch/x86/kernel/espfix_64.o", "kpkeys_ptp_alloc")


@cases(Case("least-16bit", "a kernel with the product has 16-bit segments only if it asks for them", lane="least"))
def test_16bit(case: Case, machinery: Machinery) -> None:
    config = parse_config(machinery.built(case, ".config").read_text())
    assert config["CONFIG_MODIFY_LDT_SYSCALL"] == "y"
    assert "CONFIG_X86_16BIT" not in config


@cases(Case("arm64-no-calls", "a guard finds its CPU's data without a call", machine=ARM64))
def test_no_calls(case: Case, machinery: Machinery) -> None:
    assert not _refers(case, machinery, "vmlinux", "__kern_my_cpu_offset")
