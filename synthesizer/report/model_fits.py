"""Models fitted to the original and to synthetic data: would a researcher conclude the same."""

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
from synthesizer.report.expected import (
    cautions,
    even_trees,
    fit_notes,
    lost_fits,
    overlap_in_words,
)
from synthesizer.report.record import Labels, Record

_ASK = (
    "No model of your own was named{}. "
    'Name the models of a researcher: checks: {{fits: ["income ~ age + sex"]}}, and run again.'
)
_FAMILIES = {
    "ols": "linear regression", "logit": "logistic regression", "poisson": "Poisson regression",
    "multinomial": "multinomial regression",
}  # fmt: skip
_MOST = 40
"""Coefficients of one model that are drawn."""
_MOST_LINES = 8
"""Coefficients that are drawn over time."""
_WORTH_A_LINE = 3
_SURE = 0.01
_SMALL = 0.05
_FAR = 12.0
"""Standard errors from 0 up to which the axis of coefficients reaches."""


@section(
    "estimates",
    "Estimates",
    "Would a researcher draw the same conclusions from the synthetic data?",
)
def estimates_section(record: Record) -> Iterator[Block]:
    """Yield every fit: coefficients side by side, overlap, lack of fit, combined inference."""
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
    """Yield the fits of one model to several groups: lines where the last variable is a number."""
    first = fits[0]
    yield Heading(f"{first.formula} by {', '.join(by)}", _FAMILIES[first.family])
    yield from (Note(sentence, "alert") for fit in fits for sentence in lost_fits(fit))
    *outer, last = by
    is_time = all(finite_number(fit.group[last]) is not None for fit in fits)
    for of, alike in groupby(fits, lambda fit: tuple(fit.group[name] for name in outer)):
        members = list(alike)
        if is_time and len(members) >= _WORTH_A_LINE:
            yield _lines(members, ", ".join(of), last)
    rows = [(fit, row) for fit in fits for row in fit.coefficients]
    yield row_table(
        [row for _, row in rows],
        f"Coefficients of {first.formula} in {plural(len(fits), 'group')}",
        names=["name", "original", "original_error", "synthetic", "standardised", "overlap"],
        labels=(", ".join(by), [", ".join(fit.group.values()) for fit, _ in rows]),
    )
    said = dict.fromkeys(note for fit in fits for note in fit_notes(fit))
    yield from (Note(sentence) for sentence in said)


def _lines(fits: Sequence[FitComparison], of: str, time: str) -> Chart:
    names = [row.name for row in fits[0].coefficients if row.name != "Intercept"][:_MOST_LINES]
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
        (abs(ours - theirs), name, at)
        for name, points in values.items()
        for at, ours, theirs in points
    ]
    most, name, at = max(apart)
    summary = f"They are furthest apart at {name}, {time} {at:g}: by {written(most)}."
    title = f"Coefficients over {time}" + (f", {of}" if of else "")
    drawn = [
        Panel(
            title=name,
            subtitle=of,
            series=[
                Series(look="original dotted", points=[(at, ours) for at, ours, _ in points]),
                Series(look="synthetic", points=[(at, theirs) for at, _, theirs in points]),
            ],
            levels=[(0.0, "line-ink")],
        )
        for name, points in values.items()
    ]
    key = [("line-original dotted", "original"), ("line-synthetic", "synthetic")]
    return Chart(
        title=title,
        svg=panels(drawn, title=title, description=summary, x_label=time, key=key, shared=False),
        reads="The same model, fitted to each group alone. Lines that run together are good; a "
        "trend that only one of them has is one that a researcher would miss or invent.",
        summary=summary,
        table=row_table(
            [row for fit in fits for row in fit.coefficients if row.name in names],
            title,
            names=["name", "original", "synthetic"],
            labels=(
                time,
                [fit.group[time] for fit in fits for r in fit.coefficients if r.name in names],
            ),
        ),
    )


def fit_chart(fit: FitComparison, labels: Labels | None = None) -> Chart:
    """Return the coefficients of a fit, original and synthetic, in standard errors."""
    summary = _summary(fit)
    return Chart(
        title="Coefficients, original and synthetic",
        svg=_picture(fit, summary, labels or Labels()),
        reads="Each coefficient is shown as its difference from the original's, in standard "
        "errors of the original, so that all fit one scale. Lines are confidence intervals: the "
        "more the two overlap, the more alike the conclusions. A synthetic dot near 0 is good. Of "
        f"the mean overlap, {overlap_in_words(fit.expected_overlap)}.",
        summary=summary,
        table=_table(fit),
    )


def _summary(fit: FitComparison) -> str:
    parts = [plural(len(fit.coefficients), "coefficient")]
    if fit.mean_overlap is not None:
        overlap = f"the intervals overlap by {written(fit.mean_overlap, 'share')} on average"
        if fit.expected_overlap is not None:
            overlap += f" (a right synthesis: {written(fit.expected_overlap, 'share')})"
        parts.append(overlap)
    if fit.mean_standardised is not None:
        difference = written(fit.mean_standardised)
        parts.append(f"the mean difference is {difference} standard errors")
    summary = "; ".join(parts)
    if len(fit.coefficients) > _MOST:
        summary += f". The picture shows the {_MOST} that differ most"
    return f"{summary}."


def _picture(fit: FitComparison, description: str, labels: Labels) -> Markup:
    """Return the coefficients of which the original has a standard error, in such errors."""
    errors = [(c, c.original_error) for c in fit.coefficients if c.original_error]
    rows = [_dot_row(c, error, labels.cell(c.name)) for c, error in errors]
    furthest = sorted(rows, key=lambda row: -abs(row.value or 0.0))[:_MOST]
    drawn = [row for row in rows if row in furthest]
    reach = max((abs(end) for row in drawn for end in row.numbers), default=1.0)
    reach = min(reach * 1.05, _FAR)
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
        f"Lack of fit: all differences at once are {written(test.ratio)} times what a right "
        f"synthesis would show by chance (p {written(test.p_value, 'p')}). "
        f"{_lack_in_words(test, even)}",
        "alert" if test.p_value < _SURE else "plain",
    )


def _lack_in_words(test: LackOfFit, even: bool) -> str:
    if test.p_value < _SURE:
        return "The synthesis distorts this model."
    if test.p_value < _SMALL:
        return "The p is small: the synthesis may distort this model."
    if even and test.ratio < 1:
        return (
            "The test finds no distortion. Below 1 is no sign of anything here: even draws vary "
            "less than the independent draws that the test assumes."
        )
    return "About 1 is what a right synthesis shows: the test finds no distortion."


def _combined(combined: CombinedEstimates) -> Iterator[Block]:
    normal = [math.isinf(df) for df in combined.df]
    names = [name for name in CombinedRow.model_fields if name != "df" or not all(normal)]
    yield row_table(
        combined.rows,
        caption="What the synthetic data alone tell of the population, combined by rule "
        f"“{combined.rule}” ({rule_in_words(combined.rule)}), {plural(combined.m, 'dataset')}; "
        f"{_ends_in_words(normal)}",
        names=names,
    )
    adjusted = [n for n, was in zip(combined.names, combined.adjusted, strict=True) if was]
    if adjusted:
        which = ", ".join(adjusted)
        yield Note(stopped(f"The variance came out negative and was adjusted for: {which}"))


def _ends_in_words(normal: Sequence[bool]) -> str:
    """Say which distribution the ends of the intervals are from, by where it is the normal one."""
    if all(normal):
        return "intervals from the normal distribution"
    student = "intervals from Student's t distribution with df degrees of freedom"
    if any(normal):
        student += ", from the normal distribution where no df is given"
    return student
