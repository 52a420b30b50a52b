# SPDX-License-Identifier: GPL-2.0-only
"""Cases of studies, which no part of the product is: with --full, and on kernels of their own."""

from portcullis.suite.case import STRESS_TIME, Case, attacks, boot

LANE = "page-cache"  # docs/page-cache.md
RAM = "rootfstype=ramfs"  # by default the guest's files are in tmpfs, whose pages are not sealed
STUDIES = (
    Case("build-page-cache", "build", "a study: cached pages of programs sealed", lane=LANE, long=True),
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
    *attacks("page-cache-", lane=LANE, append=RAM, long=True),
)
