"""CAP by number of datasets: what further datasets add to what an intruder reads off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.numbers import written
from synthesizer.report.parts import Block, Chart, DataTable, Section, Words
from synthesizer.report.record import Record, mappings, number, words
from synthesizer.report.risk_lines import Panel, Series, panels
from synthesizer.report.risk_reading import (
    ScenarioPart,
    absent,
    count,
    part,
    scenarios,
)
from synthesizer.report.risk_words import COUNT, FIGURE, heading

__all__ = ["cap_section"]

_SUBSETS = {
    "all": "all records",
    "uniques": "uniques on the keys",
    "special_uniques": "special uniques",
}
_RULES = {"zero": "no match counts as 0", "undefined": "no match is left out"}
_READS = (
    "CAP is how often an intruder with the keys reads off the right target. Lower is safer. The "
    "solid line is the synthetic data as datasets are added, dashed below it what the same "
    "matches would give if their targets were anybody's (baseline), dotted above it the original "
    "released as it is. Where no match counts as 0 the line rises with the number of datasets "
    "because matches become likelier; where non-matches are left out it should be flat."
)
_OFF = "CAP was not computed for this intruder; it is unless checks.cap is false."


def cap_section(record: Record) -> Section | None:
    """Return mean CAP for nested numbers of datasets, None without any scenario.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    parts = scenarios(record)
    if not parts:
        return None
    return Section(
        anchor="cap",
        title="CAP by number of datasets",
        lead="What an intruder reads off with the keys, as more datasets are released together.",
        blocks=[block for entry in parts for block in _scenario(record, entry)],
    )


def _scenario(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    cap, found = part(scenario.content, "cap"), mappings(scenario.content, "cap", "synthetic")
    if not found:
        yield absent(
            record,
            "cap",
            "CAP by number of datasets",
            found=scenario.content.get("cap"),
            label=scenario.label,
            off=_OFF,
        )
    else:
        yield from _cap(cap, found, scenario)
    yield from _tcap(record, scenario)


def _cap(
    cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], scenario: ScenarioPart
) -> Iterator[Block]:
    if max((count(row, "m") or 1 for row in found), default=1) > 1:
        yield _chart(cap, found, scenario)
        yield from _regression(scenario)
    else:
        yield Words([_one_dataset(row, cap) for row in found])
        yield _table(cap, found)
    singles = mappings(cap, "singles")
    if singles:
        yield _singles(singles)


def _one_dataset(row: Mapping[str, Any], cap: Mapping[str, Any]) -> str:
    subset = words(row, "subset")
    return (
        f"{_SUBSETS.get(subset, subset or 'records').capitalize()}: with one dataset an intruder "
        f"reads off the right target at a rate of {written(number(row, 'zero'), 'share')}, where "
        f"guessing those that match achieves {written(number(row, 'chance_zero'), 'share')} and "
        f"the original {written(number(cap, 'original', subset), 'share')}."
    )


def _chart(
    cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], scenario: ScenarioPart
) -> Chart:
    subsets = list(dict.fromkeys(words(row, "subset") for row in found))
    drawn = [_panel(cap, found, subset, rule) for subset in subsets for rule in _RULES]
    title = "Mean CAP by number of datasets"
    summary = " ".join(_last(cap, found, subset) for subset in subsets)
    return Chart(
        title=title,
        svg=panels(
            drawn,
            title=f"{title}. {scenario.heading}",
            description=summary,
            x_label="datasets",
        ),
        reads=_READS,
        summary=summary,
        table=_table(cap, found),
    )


def _panel(
    cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], subset: str, rule: str
) -> Panel:
    own = [row for row in found if words(row, "subset") == subset]
    lines = (("synthetic", "synthetic", rule), ("baseline", "baseline", f"chance_{rule}"))
    return Panel(
        title=_SUBSETS.get(subset, subset),
        subtitle=_RULES[rule],
        series=[
            Series(label=label, style=style, points=_points(own, field))
            for label, style, field in lines
        ],
        level=number(cap, "original", subset),
    )


def _points(found: Sequence[Mapping[str, Any]], field: str) -> list[tuple[float, float]]:
    known = ((number(row, "m"), number(row, field)) for row in found)
    return [(m, value) for m, value in known if m is not None and value is not None]


def _last(cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], subset: str) -> str:
    own = [row for row in found if words(row, "subset") == subset]
    first, last = own[0], own[-1]
    return (
        f"{_SUBSETS.get(subset, subset).capitalize()}: "
        f"{written(number(first, 'zero'), 'share')} with {count(first, 'm') or 1}, "
        f"{written(number(last, 'zero'), 'share')} with {count(last, 'm') or 1} datasets where "
        f"no match counts as 0, {written(number(last, 'undefined'), 'share')} where it is left "
        f"out; baseline {written(number(last, 'chance_zero'), 'share')}, original "
        f"{written(number(cap, 'original', subset), 'share')}."
    )


def _table(cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> DataTable:
    return DataTable(
        caption="Mean CAP by number of pooled datasets and subset; baseline: the same matches "
        "with targets guessed; paper's baseline: of all records, by the distribution of the target",
        columns=(
            "Records",
            "Datasets",
            "Number",
            "Matched",
            "CAP (0)",
            "Baseline (0)",
            "CAP (left out)",
            "Baseline (left out)",
            "Paper's baseline",
            "Original",
        ),
        forms=("text", "count", "count", "count", *[FIGURE] * 6),
        rows=[
            (
                _SUBSETS.get(words(row, "subset"), words(row, "subset")),
                *(count(row, name) for name in ("m", "size", "matched")),
                *(number(row, n) for n in ("zero", "chance_zero", "undefined", "chance_undefined")),
                number(cap, "baseline", words(row, "subset")),
                number(cap, "original", words(row, "subset")),
            )
            for row in found
        ],
        sortable=True,
    )


def _singles(singles: Sequence[Mapping[str, Any]]) -> DataTable:
    return DataTable(
        caption="Mean CAP of each dataset by itself",
        columns=(
            "Records",
            "Dataset",
            "Matched",
            "CAP (0)",
            "Baseline (0)",
            "CAP (left out)",
            "Baseline (left out)",
        ),
        forms=("text", "count", "count", *[FIGURE] * 4),
        rows=[
            (
                _SUBSETS.get(words(row, "subset"), words(row, "subset")),
                count(row, "dataset"),
                count(row, "matched"),
                *(number(row, n) for n in ("zero", "chance_zero", "undefined", "chance_undefined")),
            )
            for row in singles
        ],
        sortable=True,
    )


def _regression(scenario: ScenarioPart) -> Iterator[Block]:
    lines = [row for row in mappings(scenario.content, "regression_on_m") if part(row, "line")]
    if not lines:
        yield Words(["No straight line through the number of datasets: it needs three of them."])
        return
    fields = ("intercept", "intercept_error", "slope", "slope_error")
    yield DataTable(
        caption="Straight line of mean CAP on the number of datasets; the datasets are nested, so "
        "the p-values describe the line and prove nothing",
        columns=(
            "Records",
            "Rule",
            "Start",
            "Its error",
            "Rise for each",
            "Its error (rise)",
            "p of the start",
            "p of the rise",
            "R²",
        ),
        forms=("text", "text", *[FIGURE] * 4, "p", "p", "figure"),
        rows=[
            (
                _SUBSETS.get(words(row, "subset"), words(row, "subset")),
                _RULES.get(words(row, "rule"), words(row, "rule")),
                *(number(row, "line", name) for name in fields),
                number(row, "line", "intercept_p"),
                number(row, "line", "slope_p"),
                number(row, "line", "r2"),
            )
            for row in lines
        ],
    )


def _tcap(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    found = part(scenario.content, "tcap")
    steps = mappings(found, "synthetic")
    if not steps and scenario.has_tolerance:
        return  # a warning of the scenario says why
    if not steps:
        yield absent(
            record,
            "tcap",
            "TCAP",
            found=scenario.content.get("tcap"),
            label=scenario.label,
            off="TCAP was not computed for this intruder; it comes with CAP.",
        )
        return
    yield _tcap_table(found, steps)


def _tcap_table(found: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> DataTable:
    fields = ("matched", "attributed", "correct", "guessed")
    shares = ("tcap", "chance", "guess", "baseline", "of_matched", "of_records")
    named = [(f"first {count(row, 'm') or 1}", row) for row in steps]
    tau = written(number(found, "tau"), "text")
    return DataTable(
        caption="TCAP: the intruder who only believes what the synthetic records of one key agree "
        f"on (share {tau} or more); more datasets agree less often, and are then believed more",
        columns=(
            "Datasets",
            "Matched",
            "Attributed",
            "Right",
            "Right by guessing",
            "TCAP",
            "Agreement by chance",
            "Guessing",
            "Baseline CAP",
            "Of the matched",
            "Of all",
        ),
        forms=("text", *[COUNT] * 4, *[FIGURE] * 6),
        rows=[
            (name, *(count(row, f) for f in fields), *(number(row, f) for f in shares))
            for name, row in [*named, ("original", part(found, "original"))]
        ],
    )
