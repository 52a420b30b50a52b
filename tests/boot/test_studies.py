# SPDX-License-Identifier: GPL-2.0-only
"""Cases of studies, which no part of the product is: with --full, and on kernels of their own."""

from kit.case import RAM, STRESS_TIME, Case, boot, cases
from kit.machinery import Machinery
from kit.row import Row

LANE = "page-cache"  # docs/page-cache.md
STUDIES = (
    boot("page-cache-check", "boots with cached pages of programs sealed", "check", lane=LANE, append=RAM, long=True),
    boot(
        "page-cache-stress",
        "stress with cached pages of programs sealed",
        "stress",
        lane=LANE,
        append=RAM,
        long=True,
        timeout=STRESS_TIME,
    ),
)


@cases(*STUDIES)
def test_boot(case: Case, machinery: Machinery, row: Row) -> None:
    machinery.assert_boots(case, row)
