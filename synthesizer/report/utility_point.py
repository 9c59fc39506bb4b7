"""The risk-utility point of every dataset: what it gives away against how near it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from synthesizer.report.numbers import plural, written
from synthesizer.report.parts import Block, Chart, DataTable, Gap, Section
from synthesizer.report.record import Record, dig, listed, mappings, number
from synthesizer.report.risk_reading import joined, risk_part
from synthesizer.report.svg import Scale, axis_bottom, axis_left, el, line, svg, text
from synthesizer.report.unmeasured import keys_advice
from synthesizer.report.utility_expected import Expected, expected_of
from synthesizer.report.utility_tables import (
    AGAIN,
    by_ways,
    lone_variable,
    table_rows,
    utility_of,
)

__all__ = ["RiskAxis", "point_section", "points", "risk_axis"]

_HEIGHT = 330.0
_BOTTOM = 280.0


@dataclass(frozen=True)
class RiskAxis:
    """Risk of every dataset alone, with what guessing and the original itself would give.

    Parameters
    ----------
    name, meaning : str
        The figure and what it is.
    values : mapping of int to float
        By dataset.
    baseline, original : float or None
        Reference values.
    """

    name: str
    meaning: str
    values: Mapping[int, float]
    baseline: float | None = None
    original: float | None = None


def point_section(record: Record) -> Section:
    """Return the scatter of the datasets, risk to the right and distance upwards.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    return Section(
        anchor="point",
        title="Risk and utility of every dataset",
        lead="What each dataset gives away by itself, against how near its tables are.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    axis = risk_axis(record)
    found = points(record, axis)
    if axis is None or not found:
        yield Gap(
            "the risk-utility points",
            "They need CAP, repU or DiSCO of every dataset, and its two-way tables. "
            f"{_advice(record, axis)}",
        )
        return
    expected = expected_of(record)
    yield Chart(
        title=f"{axis.name} and mean two-way S_pMSE by dataset",
        svg=_drawn(axis, found, expected),
        reads=f"Towards the lower left is better. To the right is risk: {axis.meaning}. Upwards "
        f"is distance: mean S_pMSE of all pairs of variables. {expected.sentence} Numbers at the "
        "points are those of the datasets.",
        summary=_summary(axis, found),
        table=DataTable(
            caption="Risk and distance of every dataset by itself",
            columns=["Dataset", axis.name, "Mean two-way S_pMSE"],
            forms=["count", "share", "figure"],
            rows=[list(point) for point in found],
        ),
    )


def _advice(record: Record, axis: RiskAxis | None) -> str:
    """Say how to get the points: by what is there already, so that nothing is advised in vain."""
    if lone := lone_variable(record):
        return f"A pair needs two variables, and {lone} is the only one that is left."
    parts = listed(risk_part(record), "scenarios")
    if axis is None and not parts and "scenarios" in risk_part(record):
        return keys_advice(record)
    needed = [] if axis is not None else ["checks.cap"]
    needed += [] if by_ways(table_rows(record), 2) else ["checks.two_way"]
    return f"Switch on {joined(needed)}. {AGAIN}" if needed else AGAIN


def risk_axis(record: Record) -> RiskAxis | None:
    """Return the risk of every dataset: CAP, or where there is none repU or DiSCO."""
    scenario = dig(record.checks, "risk", "scenarios", 0)
    cap = dig(scenario, "cap")
    alone = {
        round(place): value
        for row in mappings(cap, "singles")
        if row.get("subset") == "all"
        if (place := number(row, "dataset")) is not None
        if (value := number(row, "zero")) is not None
    }
    if alone:
        return RiskAxis(
            "CAP",
            "how often an intruder who holds this dataset alone reads off the target rightly",
            alone,
            number(cap, "baseline", "all"),
            number(cap, "original", "all"),
        )
    return _listed_axis(scenario)


def _listed_axis(scenario: Any) -> RiskAxis | None:
    for name, measure, key, top, meaning in (
        ("repU", "identity", "repu", "uio", "share of records unique in both files"),
        ("DiSCO", "attribute", "disco", "dorig", "share of records disclosed and correct"),
    ):
        values = [number(row, key) for row in mappings(scenario, measure, "datasets")]
        known = {i + 1: value for i, value in enumerate(values) if value is not None}
        if known:
            original = number(scenario, measure, "mean", top)
            return RiskAxis(name, meaning, known, 0.0, original)
    return None


def points(record: Record, axis: RiskAxis | None) -> list[tuple[int, float, float]]:
    """Return (dataset, risk, mean two-way S_pMSE) of every dataset that has both."""
    if axis is None:
        return []
    tables = utility_of(record).get("tables") or dig(record.checks, "tables")
    rows = mappings(tables, "by_dataset") or mappings(tables, "S_pMSE_by_dataset")
    found = []
    for row in rows:
        place, value = number(row, "dataset"), number(row, "S_pMSE_mean")
        value = number(row, "mean") if value is None else value
        if number(row, "ways") == 2 and place in axis.values and value is not None:
            found.append((round(place or 0), axis.values[round(place or 0)], value))
    return sorted(found)


Points = Sequence[tuple[int, float, float]]


def _summary(axis: RiskAxis, found: Points) -> str:
    risks, distances = [point[1] for point in found], [point[2] for point in found]
    told = f"{plural(len(found), 'dataset')}: {axis.name} {_reach(risks)}"
    if axis.baseline is not None:
        told += f", guessing gives {written(axis.baseline, 'share')}"
    if axis.original is not None:
        told += f", the original itself {written(axis.original, 'share')}"
    return f"{told}; mean S_pMSE {_reach(distances)}."


def _reach(values: Sequence[float]) -> str:
    low, high = written(min(values), "share"), written(max(values), "share")
    return low if low == high else f"from {low} to {high}"


def _drawn(axis: RiskAxis, found: Points, expected: Expected) -> Markup:
    """Return one panel with the references, and beside it the points enlarged."""
    summary = _summary(axis, found)
    marks = [v for v in (axis.baseline, axis.original) if v is not None]
    whole = [point[1] for point in found] + marks
    tall = (0.0, max(expected.limit, *(point[2] for point in found)) * 1.12)
    parts = [*_panel(axis, found, (0.0, max(*whole, 1e-6) * 1.08), tall, 48, references=True)]
    if len(found) == 1:
        return svg(400, _HEIGHT, *parts, title="Risk-utility point", description=summary)
    near = _around([p[1] for p in found]), _around([p[2] for p in found])
    parts += _panel(axis, found, *near, 420, references=False)
    return svg(724, _HEIGHT, *parts, title="Risk-utility points", description=summary)


def _around(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = (high - low) * 0.25 or max(abs(high) * 0.05, 1e-6)
    return low - pad, high + pad


def _panel(
    axis: RiskAxis,
    found: Points,
    across: tuple[float, float],
    upwards: tuple[float, float],
    left: float,
    *,
    references: bool,
) -> Iterator[Markup]:
    top, right = 60.0, left + 290.0
    x = Scale(domain=across, range=(left, right))
    y = Scale(domain=upwards, range=(_BOTTOM, top))
    title = "In context" if references else "The same points, enlarged"
    yield text(left - 34, 14, title, class_="label strong")
    yield axis_bottom(x, _BOTTOM, f"{axis.name} of the dataset alone", count=4, grid=_BOTTOM - top)
    yield text(left - 34, 30, "mean S_pMSE", class_="label")
    yield axis_left(y, left, grid=right - left)
    if references:
        yield from _references(axis, x, top)
    for dataset, risk, distance in found:
        place = {"cx": x(risk), "cy": y(distance), "r": 5.0}
        mark = el("title", None, f"dataset {dataset}: {written(risk)}, {written(distance)}")
        yield el("circle", {**place, "class": "fill-synthetic outlined"}, mark)
        if not references or len(found) == 1:
            yield text(x(risk) + 8, y(distance) + 4, str(dataset), class_="tick")


def _references(axis: RiskAxis, x: Scale, top: float) -> Iterator[Markup]:
    for value, words, style in (
        (axis.baseline, "guessing", "line-baseline dashed"),
        (axis.original, "original", "line-original dashed"),
    ):
        if value is not None:
            yield line(x(value), top - 4, x(value), _BOTTOM, class_=style)
            yield text(x(value), top - 8, words, class_="tick", text_anchor="middle")
