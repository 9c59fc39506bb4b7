"""Models fitted to original and synthetic data: are the conclusions the same?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from synthesizer.data.errors import plural
from synthesizer.data.values import finite_number
from synthesizer.measures.utility.coefficients import (
    CoefficientComparison,
    FitComparison,
    LackOfFit,
)
from synthesizer.measures.utility.combining import CombinedEstimates, CombinedRow
from synthesizer.report.blocks import (
    Added,
    Block,
    Chart,
    DataTable,
    Gap,
    Heading,
    Note,
    Words,
    interval,
    row_table,
    section,
    stopped,
    written,
)
from synthesizer.report.charts import DotRow, Panel, Series, dots, panels
from synthesizer.report.codebook.conclusions import rule_in_words
from synthesizer.report.expected import cautions, even_trees, fit_notes, lost_fits, overlap_in_words
from synthesizer.report.record import Labels, Record

_ASK = (
    "No model was named{}. "
    'Name the models of researchers, checks: {{fits: ["income ~ age + sex"]}}, and run again.'
)
_FAMILIES = {
    "ols": "linear regression", "logit": "logistic regression", "poisson": "Poisson regression",
    "multinomial": "multinomial regression",
}  # fmt: skip
_MAX_COEFFICIENTS = 40
"""Coefficients of a model in a picture."""
_MAX_LINES = 8
"""Coefficients in a picture over time."""
_MIN_POINTS = 3
"""Groups that a picture over time needs."""
_FAIL_P, _UNCLEAR_P = 0.01, 0.05
_MAX_REACH = 12.0
"""Largest end of the axis of coefficients, in standard errors."""


@section(
    "estimates",
    "Estimates",
    "Are the conclusions from the synthetic data the same as from the original?",
)
def estimates_section(record: Record) -> Iterator[Block]:
    """Yield each fit: coefficients, overlap, lack of fit, combined inference."""
    yield from list(_blocks(record)) or [Words([_ask(record)])]


def _ask(record: Record) -> str:
    utility = record.results.utility
    has_others = utility is not None and "regressions" in utility.further
    others = "; automatic regressions are under Further measures of utility"
    return _ASK.format(others if has_others else "")


def _blocks(record: Record) -> Iterator[Block]:
    utility = record.results.utility
    if utility is None:
        return
    if utility.fits:
        yield Words(cautions(record))
    together = groupby(utility.fits, lambda f: (f.formula, f.family, f.weights, tuple(f.group)))
    for (*_, by), fits in together:
        if by:
            yield from _by_groups(list(fits), by)
        else:
            for fit in fits:
                yield from _fit(fit, record.labels, even=even_trees(record))
    for measure, why in utility.failed.items():
        if measure.startswith("fit"):
            yield Gap(f"a model ({measure})", stopped(f"It could not be fitted: {why}"))


def _fit(fit: FitComparison, labels: Labels, *, even: bool) -> Iterator[Block]:
    yield Heading(fit.formula, _FAMILIES[fit.family])
    yield from (Note(sentence, "alert") for sentence in lost_fits(fit))
    yield fit_chart(fit, labels)
    if fit.lack_of_fit is not None:
        yield _lack(fit.lack_of_fit, even=even)
    yield from _combined(fit.combined)
    yield from (Note(sentence) for sentence in fit_notes(fit))


def _by_groups(fits: Sequence[FitComparison], by: Sequence[str]) -> Iterator[Block]:
    """Yield the fits of one model to several groups; lines if the last variable is a number."""
    first = fits[0]
    yield Heading(f"{first.formula} by {', '.join(by)}", _FAMILIES[first.family])
    yield from (Note(sentence, "alert") for fit in fits for sentence in lost_fits(fit))
    *outer, last = by
    is_time = all(finite_number(fit.group[last]) is not None for fit in fits)
    for of, alike in groupby(fits, lambda fit: tuple(fit.group[name] for name in outer)):
        members = list(alike)
        if is_time and len(members) >= _MIN_POINTS:
            yield _lines(members, ", ".join(of), last)
    rows = [(fit, row) for fit in fits for row in fit.coefficients]
    yield row_table(
        [row for _, row in rows],
        f"Coefficients of {first.formula} in {plural(len(fits), 'group')}",
        names=["name", "original", "original_error", "synthetic", "standardised", "overlap"],
        labels=(", ".join(by), [", ".join(fit.group.values()) for fit, _ in rows]),
    )
    notes = dict.fromkeys(note for fit in fits for note in fit_notes(fit))
    yield from (Note(sentence) for sentence in notes)


def _lines(fits: Sequence[FitComparison], of: str, time: str) -> Chart:
    names = [row.name for row in fits[0].coefficients if row.name != "Intercept"][:_MAX_LINES]
    values = {
        name: [
            (float(fit.group[time]), row.original, row.synthetic)
            for fit in fits
            for row in fit.coefficients
            if row.name == name and row.synthetic is not None
        ]
        for name in names
    }
    apart = [
        (abs(original - synthetic), name, at)
        for name, points in values.items()
        for at, original, synthetic in points
    ]
    most, name, at = max(apart)
    summary = f"The largest difference is {written(most)}, of {name} at {time} {at:g}."
    title = f"Coefficients over {time}" + (f", {of}" if of else "")
    drawn = [
        Panel(
            title=name,
            subtitle=of,
            series=[
                Series(look="original dotted", points=[(at, value) for at, value, _ in points]),
                Series(look="synthetic", points=[(at, value) for at, _, value in points]),
            ],
            levels=[(0.0, "line-ink")],
        )
        for name, points in values.items()
    ]
    key = [("line-original dotted", "original"), ("line-synthetic", "synthetic")]
    return Chart(
        title=title,
        svg=panels(drawn, title=title, description=summary, x_label=time, key=key, shared=False),
        reads="The same model, fitted to each group. Both lines should be equal; a trend in only "
        "one of them is lost or invented by the synthesis.",
        summary=summary,
        table=row_table(
            [row for fit in fits for row in fit.coefficients if row.name in names],
            title,
            names=["name", "original", "synthetic"],
            labels=(time, [f.group[time] for f in fits for r in f.coefficients if r.name in names]),
        ),
    )


def fit_chart(fit: FitComparison, labels: Labels | None = None) -> Chart:
    """Return the picture of the coefficients of a fit, in standard errors."""
    summary = _summary(fit)
    return Chart(
        title="Coefficients, original and synthetic",
        svg=_picture(fit, summary, labels or Labels()),
        reads="Dot: difference of the synthetic from the original coefficient, in standard errors "
        "of the original; near 0 is good. Lines: confidence intervals; more overlap means more "
        f"similar conclusions. Mean overlap: {overlap_in_words(fit.expected_overlap)}.",
        summary=summary,
        table=_table(fit),
    )


def _summary(fit: FitComparison) -> str:
    parts = [plural(len(fit.coefficients), "coefficient")]
    if fit.mean_overlap is not None:
        overlap = f"the intervals overlap by {written(fit.mean_overlap, 'share')} on average"
        if fit.expected_overlap is not None:
            overlap += f" (a correct model: {written(fit.expected_overlap, 'share')})"
        parts.append(overlap)
    if fit.mean_standardised is not None:
        difference = written(fit.mean_standardised)
        parts.append(f"the mean difference is {difference} standard errors")
    summary = "; ".join(parts)
    if len(fit.coefficients) > _MAX_COEFFICIENTS:
        summary += f". The picture shows the {_MAX_COEFFICIENTS} that differ most"
    return f"{summary}."


def _picture(fit: FitComparison, description: str, labels: Labels) -> Markup:
    """Return a picture of the coefficients with a standard error in the original."""
    errors = [(c, c.original_error) for c in fit.coefficients if c.original_error]
    rows = [_dot_row(c, error, labels.cell(c.name)) for c, error in errors]
    furthest = sorted(rows, key=lambda row: -abs(row.value or 0.0))[:_MAX_COEFFICIENTS]
    drawn = [row for row in rows if row in furthest]
    reach = max((abs(end) for row in drawn for end in row.numbers), default=1.0)
    reach = min(reach * 1.05, _MAX_REACH)
    return dots(
        drawn,
        title=f"Coefficients of {fit.formula}",
        description=description,
        label="difference in standard errors of the original",
        marks={"value": "synthetic", "original": "original"},
        ends=(-reach, reach),
        zero=True,
    )


def _dot_row(coefficient: CoefficientComparison, error: float, label: str) -> DotRow:
    def at(value: float) -> float:
        return (value - coefficient.original) / error

    return DotRow(
        label=label,
        value=at(coefficient.synthetic),
        low=at(coefficient.synthetic_low),
        high=at(coefficient.synthetic_high),
        original=0.0,
        original_ends=(at(coefficient.original_low), at(coefficient.original_high)),
    )


def _table(fit: FitComparison) -> DataTable:
    heading = f"{fit.level * 100:.0f} % interval"
    return row_table(
        fit.coefficients,
        caption=f"Coefficients of {fit.formula}",
        names=[
            "name",
            "original",
            Added(heading, "text", lambda row: interval(row.original_low, row.original_high)),
            "synthetic",
            Added(heading, "text", lambda row: interval(row.synthetic_low, row.synthetic_high)),
            "standardised",
            "overlap",
        ],
    )


def _lack(test: LackOfFit, *, even: bool) -> Note:
    return Note(
        f"Lack of fit, joint test of all differences: {written(test.ratio)} times the expectation "
        f"of a correct model (p {written(test.p_value, 'p')}). {_lack_in_words(test, even)}",
        "alert" if test.p_value < _FAIL_P else "plain",
    )


def _lack_in_words(test: LackOfFit, even: bool) -> str:
    if test.p_value < _FAIL_P:
        return "The synthesis distorts this model."
    if test.p_value < _UNCLEAR_P:
        return "The synthesis may distort this model."
    if even and test.ratio < 1:
        return (
            "The test finds no distortion. Values below 1 are due to even draws, which vary less "
            "than the independent draws that the test assumes."
        )
    return "The test finds no distortion."


def _combined(combined: CombinedEstimates) -> Iterator[Block]:
    normal = [math.isinf(df) for df in combined.df]
    names = [name for name in CombinedRow.model_fields if name != "df" or not all(normal)]
    yield row_table(
        combined.rows,
        caption="Estimates for the population from the synthetic data alone, combined by rule "
        f"“{combined.rule}” ({rule_in_words(combined.rule)}), {plural(combined.m, 'dataset')}; "
        f"{_ends_in_words(normal)}",
        names=names,
    )
    adjusted = [n for n, was in zip(combined.names, combined.adjusted, strict=True) if was]
    if adjusted:
        which = ", ".join(adjusted)
        yield Note(stopped(f"The estimated variance was negative and was adjusted for: {which}"))


def _ends_in_words(normal: Sequence[bool]) -> str:
    """Return the distribution of the intervals in words; ``normal``: whether by estimate."""
    if all(normal):
        return "intervals from the normal distribution"
    student = "intervals from Student's t distribution with df degrees of freedom"
    if any(normal):
        student += ", from the normal distribution if no df is shown"
    return student
