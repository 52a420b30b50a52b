# SPDX-License-Identifier: GPL-2.0-only
"""The results port: what a guest job sends back (KTAP, `#json` lines, `#done STATUS`)."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portcullis.core.ktap import TestResult, failures, parse_ktap

DIED = "the guest died before it finished"
_DONE = re.compile(r"^#done (-?\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class GuestResults:
    """One job's results; `status` is its exit status, None when the guest died before `#done`."""

    tests: tuple[TestResult, ...]
    records: tuple[dict[str, object], ...]
    status: int | None
    malformed: tuple[str, ...]

    @property
    def failed(self) -> tuple[TestResult, ...]:
        """KTAP results that failed."""
        return failures(self.tests)


def backend_said(records: Iterable[Mapping[str, object]]) -> str:
    """The backend that the guest found itself on, empty when no record says."""
    return next((str(record["backend"]) for record in records if "backend" in record), "")


def parse_results(text: str) -> GuestResults:
    """Read the text of a results port; a broken `#json` line is kept in `malformed`."""
    records: list[dict[str, object]] = []
    malformed: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#json "):
            continue
        try:
            record = json.loads(line.removeprefix("#json "))
        except json.JSONDecodeError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            malformed.append(line)
    done = _DONE.findall(text)
    status = int(done[-1]) if done else None
    return GuestResults(parse_ktap(text), tuple(records), status, tuple(malformed))
