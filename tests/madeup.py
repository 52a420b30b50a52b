# SPDX-License-Identifier: GPL-2.0-only
"""Profiles and results of the lab with counts that are easy to check."""

from pathlib import Path

from portcullis.lab.profile import PRICED, parse_profile
from portcullis.lab.published import parse_published
from portcullis.lab.results import Region, Result, Round

DATA = Path(__file__).parents[1] / "src/portcullis/data"
ROWS = parse_published((DATA / "published.toml").read_text())
SOURCE = 'source = "a paper"\nurl = "https://example.org/"\n'


def profile_text(arch="arm64", mhz=1000, **costs):
    """A profile in which everything is free but what is given."""
    text = f'name = "made-up"\ntitle = "A CPU"\narch = "{arch}"\n[clock]\nmhz = {mhz}\n{SOURCE}'
    for event in PRICED[arch]:
        default = 'within = "instructions"\n' + SOURCE if event == "added_instructions" else cycles(0)
        given = costs.get(event, default)
        text += f"[cost.{event}]\n{given}\n"
    return text


def cycles(low, high=None):
    return f'low = {low}\nhigh = {high or low}\nunit = "cycles"\n{SOURCE}'


def made_up(**costs):
    return parse_profile(profile_text(**costs), [row.id for row in ROWS])


def result(design="portcullis", regions=None, guest=None, variant="", arch="arm64"):
    counted = {name: Region(1, (Round({}, counters),)) for name, counters in (regions or {}).items()}
    guest = {"fork-h0": {"pages_keyed": 3}} if guest is None else guest
    return Result("a-job", arch, design, variant, {}, {}, "", counted, guest)
