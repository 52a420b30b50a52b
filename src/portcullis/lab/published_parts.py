# SPDX-License-Identifier: GPL-2.0-only
"""The report's parts that hold published figures against ours."""

from portcullis.lab.grids import Grid, Part, Plot
from portcullis.lab.jobs import REGIONS, has_stock
from portcullis.lab.plots import Span, ranges
from portcullis.lab.pricing import Range
from portcullis.lab.profile import Profile
from portcullis.lab.published import (
    BATCHED,
    LIKE,
    Comparison,
    ResultIndex,
    Row,
    Target,
    compare_ends,
    targets_ends,
)
from portcullis.lab.results import Result
from portcullis.lab.tables import (
    Table,
    accept,
    own_variants,
)
from portcullis.lab.text import STAR, STAR_SAYS

# Variants held against targets, and what they are called there.
SWITCHES = {
    "": "as it is",
    "pauth-off": "kpkeys_pauth=off",
    "late-lower": "and late-lower",
    "late-raise": "and late-raise",
    "late": "and both",
}
SMALL = 0.05  # points that are not worth a word


def published_parts(profile: Profile, rows: tuple[Row, ...], results: list[Result], tables: list[Table]) -> list[Part]:
    """The part of one CPU, or none where nothing is counted that was published for it."""
    accepted = [each for variant in SWITCHES for each in accept(results, variant)[0]]
    settled = next((table.profiles for table in tables), (profile,))
    counted = ResultIndex([*accepted, *own_variants(results, rows)])
    found = compare_ends(settled, rows, counted)
    shown = [each for each in found if each.ours]
    own_targets = _target_grids(settled, rows, counted)
    if not shown and not own_targets:
        return []
    source = found[0].row.source
    notes = [f"{source.title}. {source.cpu}.", source.note, source.unchecked and f"Not rechecked: {source.unchecked}"]
    missing = [each.row.id for each in found if not each.ours]
    if missing:
        notes.append(f"Not counted, so not compared: {', '.join(missing)}.")
    part = Part(
        f"published-{profile.name}",
        f"Published against ours: {source.cpu}",
        tuple(note for note in notes if note),
        (*([_published_grid(profile, shown)] if shown else []), *own_targets),
        tuple(_published_plots(profile, shown)),
    )
    return [part]


def _published_grid(profile: Profile, shown: list[Comparison]) -> Grid:
    regional = any(each.own_base for each in shown)
    rows = tuple(_published_row(each, regional) for each in shown)
    name, said, ours, factor, kind, *_ = next((row for row in rows if row[4] == "predicted"), rows[0])
    how = (
        f"{factor} times theirs at prices in the middle of their ranges"
        if "points" not in factor
        else f"{factor} from theirs"
    )
    example = (
        f"{name}: published {said}, ours {ours}, {how}. It is {kind}: a fitted row was used to settle a price "
        "and agrees "
        "by construction. Where the published figure is within one point of zero the distance is given "
        "instead of a ratio."
    )
    extra: tuple[str, ...] = ()
    if regional:
        extra = ("own base", "own base / theirs", "of it instructions", "cycles an instruction", "Portcullis")
        extra += ("Portcullis / our rfc",)
        example += (
            " “Ours” has one price for all instructions. “Own base” takes the time of the unprotected operation from "
            "the published figure without batching, so that the batched ones of the same benchmark are predictions of "
            "another kind; the price of an instruction which that means is beside it. “Portcullis” is what this "
            "project costs at the same prices over the same base, and beside it the ratio to our own kernel of the "
            "batched design."
        )
    columns = ("figure", "published", "ours", "ours / theirs", "kind", *extra, "what is between them")
    return Grid(f"published-table-{profile.name}", "Row by row", columns, rows, example)


def _published_row(each: Comparison, regional: bool) -> tuple[str, ...]:
    row = each.row
    cells = (
        row.id.split("/", 1)[1],
        row.said + (f" ({row.mark})" if row.mark else "") + (", not rechecked" if row.source.unchecked else ""),
        _ours(each),
        _against_theirs(each.factor, each.points),
        "fitted" if each.fitted else "predicted",
    )
    if regional:
        own, settles = each.own_base, row.design == "per-write"
        cells += (
            _ends(own, "%") if own and not settles else "–",
            _against_theirs(*each.against(own)) if own and not settles else "–",
            _ends(each.instructions, " points") if each.instructions else "–",
            f"{each.cycles:.2f}" if own and each.cycles is not None else "–",
            _ends(each.ours_here, "%") if each.ours_here and not settles else "–",
            _ratio(each.ours_here, each.rfc_here) if not settles else "–",
        )
    return (*cells, _between(each))


def _ratio(one: Range | None, other: Range | None) -> str:
    return f"{one.middle / other.middle:.2f}" if one and other and other.middle > 0 else "–"


def _target_grids(profiles: tuple[Profile, ...], rows: tuple[Row, ...], counted: ResultIndex) -> list[Grid]:
    variants = [name for name in SWITCHES if any(key[3] == name for key in counted.regions)]
    found = targets_ends(profiles, rows, counted, variants)
    if not found:
        return []
    lines = tuple(_target_row(each, variants) for each in found)
    name, said, _, most, plain, *_ = lines[0]
    example = (
        f"{name}: published with batching {said}; design portcullis is to cost {most} at most, and costs {plain}. "
        "Half of what is published where that is above 3%. Same prices and base as “Portcullis” above. "
        "The keys of pointer authentication are hidden in the first column of ours only: the source hides none. "
        "“Our rfc” is our own kernel of the published design at the same prices."
    )
    columns = ("figure", "published", "our rfc", "target", *(SWITCHES[name] for name in variants))
    return [Grid(f"targets-{profiles[0].name}", "Portcullis against the batched figures", columns, lines, example)]


def _target_row(each: Target, variants: list[str]) -> tuple[str, ...]:
    name = each.row.id.split("/")[1]
    cells = (_ends(each.found[variant], "%") if variant in each.found else "–" for variant in variants)
    return (name, each.row.said, _ends(each.rfc, "%") if each.rfc else "–", f"{each.most:.1f}%", *cells)


def _between(each: Comparison) -> str:
    """What the row says itself, what was done to its counts, and what the exceptions of the source could add."""
    words = [each.row.why, *(f"Counted with {LIKE[name]}." for name in each.row.like)]
    if each.row.region in REGIONS and not has_stock(each.row.region):
        words.append("Over kpkeys=off: the stock kernel cannot repeat it.")
    if each.uncorrected:
        words.append(f"As Linux 6.12 is: {_ends(each.uncorrected, '%')}.")
    if each.restores >= SMALL:
        words.append(f"Restoring the register on each return would add {each.restores:.1f} points at most.")
    return " ".join(words)


def _against_theirs(factor: float | None, points: float | None) -> str:
    return f"{factor:.2f}" if factor else f"{points or 0:+.1f} points"


def _ours(each: Comparison) -> str:
    unit = " ns" if each.row.ns is not None else "%"
    return _ends(each.ours, unit)  # type: ignore[arg-type]


def _ends(found: Range, unit: str) -> str:
    ends = [f"{round(end, 1) + 0.0:.1f}" for end in (found.low, found.high)]  # never -0.0
    return f"{ends[0]}{unit}" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}{unit}"


def _published_plots(profile: Profile, shown: list[Comparison]) -> list[Plot]:
    plots = []
    for name, title, chosen in (
        ("dear", "Guard for each write", [each for each in shown if each.row.design == "per-write"]),
        ("batched", "Batched", [each for each in shown if each.row.design == BATCHED]),
        ("time", "Time of one operation", [each for each in shown if each.row.ns is not None]),
    ):
        if not chosen:
            continue
        unit = " ns" if name == "time" else "%"
        spans = [
            Span(
                each.row.id.split("/")[1] + (STAR if each.fitted else ""),
                {"published": (each.row.value, each.row.value), "ours": (each.ours.low, each.ours.high)},  # type: ignore[union-attr]
            )
            for each in chosen
        ]
        first = chosen[0]
        example = (
            f"{first.row.id.split('/')[1]}: the upper dot is the published {first.row.said}, the lower one "
            f"ours, {_ours(first)}; "
            "a bar through it spans what the prices leave open."
        )
        if any(each.fitted for each in chosen):
            example += STAR_SAYS
        svg = ranges(f"Published against ours: {title}, {profile.title}", spans, ["published", "ours"], unit)
        plots.append(Plot(f"published-{name}-{profile.name}", title, svg, ("published", "ours"), example))
    return plots
