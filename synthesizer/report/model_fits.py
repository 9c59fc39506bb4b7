"""Models fitted to the original and to synthetic data: would a researcher conclude the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.charts import Scale, axis_bottom, clipped, el, legend, line, svg, text
from synthesizer.report.expected import (
    cautions,
    even_trees,
    fit_notes,
    lost_fits,
    overlap_expected,
    overlap_in_words,
    utility_of,
)
from synthesizer.report.page import (
    Block,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    interval,
    plural,
    stopped,
    written,
)
from synthesizer.report.untyped import Record, dig, listed, mappings, number, words

_ASK = (
    "No models were fitted. To see whether a researcher would draw the same conclusions from the "
    "synthetic data, name models in the configuration, for example "
    'checks: {fits: ["income ~ age + sex"]}, and run again.'
)
_FAMILIES = {
    "ols": "linear regression", "logit": "logistic regression", "poisson": "Poisson regression",
    "multinomial": "multinomial regression", "mnlogit": "multinomial regression",
}  # fmt: skip
_RULES = {
    "simple": "for data whose values are all drawn with fixed parameters: T = U (k/n + 1/m); "
    "Raab, Nowok and Dibben 2016",
    "proper": "for data whose values are all drawn, with parameters drawn anew for each dataset: "
    "T = U (k/n + (1 + k/n)/m); Raab, Nowok and Dibben 2016",
    "fully": "for fully synthetic data with parameters drawn anew: T = (1 + 1/m) B - U; "
    "Raghunathan, Reiter and Rubin 2003",
    "partially": "for original records with some values replaced: T = U + B/m; Reiter 2003",
}
_MOST = 40
_SURE = 0.01
_SMALL = 0.05
_FAR = 12.0
_ENDS = ("synthetic", "synthetic_low", "synthetic_high", "original_low", "original_high")
_WIDTH = 470.0
_ROW = 34.0
_TOP = 32.0
_COMBINED_FORMS: tuple[Form, ...] = ("text", "figure", "figure", "figure", "figure", "figure")
_COMBINED = ("estimate", "std_error", "low", "high", "df")


def estimates_section(record: Record) -> Section:
    """Return every fit: coefficients side by side, overlap, lack of fit, combined inference.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    fits = mappings(utility_of(record), "fits")
    blocks: list[Block] = [Words(cautions(record))] if fits else []
    blocks += [block for fit in fits for block in _fit(fit, even=even_trees(record))]
    blocks += _failed(record)
    return Section(
        anchor="estimates",
        title="Estimates",
        lead="Would a researcher draw the same conclusions from the synthetic data?",
        blocks=blocks or [Words([_ASK])],
    )


def _failed(record: Record) -> list[Block]:
    failed = dig(utility_of(record), "failed", default={})
    names = failed if isinstance(failed, Mapping) else {}
    return [
        Gap(f"a model ({words(name)})", stopped(f"It could not be fitted: {words(why)}"))
        for name, why in names.items()
        if words(name).startswith("fit")
    ]


def _fit(fit: Mapping[str, Any], *, even: bool) -> Iterator[Block]:
    formula, family = words(fit, "formula"), words(fit, "family")
    yield Markup("<h3>{} <span class='muted-text'>({})</span></h3>").format(
        formula or "A model without formula", _FAMILIES.get(family, family or "unknown family")
    )
    yield from (Note(told, "alert") for told in lost_fits(fit))
    coefficients = mappings(fit, "coefficients")
    if not coefficients:
        yield Gap("the coefficients", "checks.json does not hold them; run the checks again.")
    else:
        yield _chart(fit, coefficients)
    yield from _lack(fit, even=even)
    yield from _combined(fit)
    yield from (Note(note) for note in fit_notes(fit))


def _chart(fit: Mapping[str, Any], coefficients: Sequence[Mapping[str, Any]]) -> Chart:
    title = f"Coefficients of {words(fit, 'formula')}"
    summary = _summary(fit, coefficients)
    return Chart(
        title="Coefficients, original and synthetic",
        svg=_drawn(coefficients, title, summary),
        reads="Each coefficient is shown as its difference from the original's, in standard "
        "errors of the original, so that all fit one scale. Lines are confidence intervals: the "
        "more the two overlap, the more alike the conclusions. A synthetic dot near 0 is good. Of "
        f"the mean overlap, {overlap_in_words(overlap_expected(fit))}.",
        summary=summary,
        table=_table(fit, coefficients),
    )


def _summary(fit: Mapping[str, Any], coefficients: Sequence[Mapping[str, Any]]) -> str:
    told = plural(len(coefficients), "coefficient")
    overlap, size = number(fit, "mean_overlap"), number(fit, "mean_standardised")
    if overlap is not None:
        told += f"; the intervals overlap by {written(overlap, 'share')} on average"
        if (good := overlap_expected(fit)) is not None:
            told += f" (a right synthesis: {written(good, 'share')})"
    if size is not None:
        told += f"; the mean difference is {written(size)} standard errors"
    if len(coefficients) > _MOST:
        told += f". The picture shows the {_MOST} that differ most"
    return f"{told}."


_Row = tuple[str, float, float, float, tuple[float, float]]


def _rows(coefficients: Sequence[Mapping[str, Any]]) -> list[_Row]:
    """Return name, difference, its interval and that of the original, in standard errors."""
    found = []
    for own in coefficients:
        error, centre = number(own, "original_error"), number(own, "original")
        ends = [number(own, key) for key in _ENDS]
        if error and centre is not None and None not in ends:
            middle, low, high, first, last = ((end or 0.0) / error - centre / error for end in ends)
            found.append((words(own, "name"), middle, low, high, (first, last)))
    if len(found) > _MOST:
        kept = sorted(found, key=lambda row: -abs(row[1]))[:_MOST]
        found = [row for row in found if row in kept]
    return found


def _drawn(coefficients: Sequence[Mapping[str, Any]], title: str, description: str) -> Markup:
    rows = _rows(coefficients)
    ends = [end for row in rows for end in (row[2], row[3], *row[4])]
    reach = min(max([abs(end) for end in ends] or [1.0]) * 1.05, _FAR)
    x = Scale(domain=(-reach, reach), range=(12, _WIDTH - 12))
    bottom = _TOP + _ROW * len(rows)
    entries = [("line-original", "original"), ("line-synthetic", "synthetic")]
    parts = [
        legend(2, 12, entries),
        axis_bottom(
            x, bottom, "difference in standard errors of the original", count=8, grid=bottom - _TOP
        ),
        line(x(0), _TOP, x(0), bottom, class_="line-baseline dashed"),
    ]
    parts += [_drawn_row(row, x, _TOP + _ROW * i) for i, row in enumerate(rows)]
    return svg(_WIDTH, bottom + 44, *parts, title=title, description=description)


def _drawn_row(row: _Row, x: Scale, y: float) -> Markup:
    name, middle, low, high, (first, last) = row
    low_end, high_end = x.domain

    def at(value: float) -> float:
        return x(min(max(value, low_end), high_end))

    parts = [
        el(
            "text",
            {"x": 2, "y": y + 12, "class": "small"},
            el("title", None, name),
            clipped(name, 60),
        ),
        line(at(first), y + 19, at(last), y + 19, class_="line-original"),
        el(
            "rect", {"x": at(0) - 3, "y": y + 16, "width": 6, "height": 6, "class": "fill-original"}
        ),
        line(at(low), y + 26, at(high), y + 26, class_="line-synthetic"),
    ]
    if low_end <= middle <= high_end:
        place = {"cx": x(middle), "cy": y + 26, "r": 4.0}
        parts.append(el("circle", {**place, "class": "fill-synthetic"}))
    else:
        arrow = "◀" if middle < low_end else "▶"
        parts.append(text(at(middle), y + 30, arrow, class_="strong", text_anchor="middle"))
    return el("g", None, *parts)


def _table(fit: Mapping[str, Any], coefficients: Sequence[Mapping[str, Any]]) -> DataTable:
    forms: list[Form] = ["text", "figure", "text", "figure", "text", "figure", "figure"]
    level = number(fit, "level")
    name = f"{level * 100:.0f} % interval" if level else "Interval"
    return DataTable(
        caption=f"Coefficients of {words(fit, 'formula')}",
        columns=["Coefficient", "Original", name, "Synthetic", name, "Difference in SE", "Overlap"],
        forms=forms,
        rows=[
            [
                words(own, "name"),
                number(own, "original"),
                interval(number(own, "original_low"), number(own, "original_high")),
                number(own, "synthetic"),
                interval(number(own, "synthetic_low"), number(own, "synthetic_high")),
                number(own, "standardised"),
                number(own, "overlap"),
            ]
            for own in coefficients
        ],
        sortable=len(coefficients) > 4,
    )


def _lack(fit: Mapping[str, Any], *, even: bool) -> Iterator[Block]:
    test = dig(fit, "lack_of_fit")
    if not isinstance(test, Mapping):
        return
    ratio, p = number(test, "ratio"), number(test, "p_value")
    yield Note(
        f"Lack of fit: all differences at once are {written(ratio)} times what a right "
        f"synthesis would show by chance (p {written(p, 'p')}). {_lack_in_words(ratio, p, even)}",
        "alert" if p is not None and p < _SURE else "plain",
    )


def _lack_in_words(ratio: float | None, p: float | None, even: bool) -> str:
    if p is not None and p < _SURE:
        return "The synthesis distorts this model."
    if p is not None and p < _SMALL:
        return "The p is small: the synthesis may distort this model."
    if even and ratio is not None and ratio < 1:
        return (
            "The test finds no distortion. Below 1 is no sign of anything here: even draws vary "
            "less than the independent draws that the test assumes."
        )
    return "About 1 is what a right synthesis shows: the test finds no distortion."


def _combined(fit: Mapping[str, Any]) -> Iterator[Block]:
    combined = dig(fit, "combined")
    if not isinstance(combined, Mapping):
        return
    names = [words(name) for name in listed(combined, "names")]
    columns = [[number(v) for v in listed(combined, key)] for key in _COMBINED]
    columns = [own if len(own) == len(names) else [None] * len(names) for own in columns]
    rule = words(combined, "rule")
    shown = len(_COMBINED) if any(df is not None for df in columns[-1]) else len(_COMBINED) - 1
    yield DataTable(
        caption="What the synthetic data alone tell of the population, combined by rule "
        f"“{rule}” ({_RULES.get(rule, 'unknown')}), "
        f"{plural(round(number(combined, 'm') or 0), 'dataset')}; {_ends_in_words(columns[-1])}",
        columns=["Coefficient", "Estimate", "Standard error", "From", "To", "df"][: shown + 1],
        forms=_COMBINED_FORMS[: shown + 1],
        rows=[[name, *(own[i] for own in columns[:shown])] for i, name in enumerate(names)],
        sortable=len(names) > 4,
    )
    changed = [n for n, a in zip(names, _adjusted(combined), strict=False) if a]
    if changed:
        told = f"The variance came out negative and was adjusted for: {', '.join(changed)}"
        yield Note(stopped(told))


def _ends_in_words(freedom: Sequence[float | None]) -> str:
    """Say which distribution the ends of the intervals are from, by the degrees of freedom."""
    known = [df is not None for df in freedom]
    if known and all(known):
        return "intervals from Student's t distribution with df degrees of freedom"
    if any(known):
        return (
            "intervals from Student's t distribution with df degrees of freedom, from the normal "
            "distribution where no df is given"
        )
    return "intervals from the normal distribution"


def _adjusted(combined: Mapping[str, Any]) -> list[bool]:
    """Return which estimates were adjusted."""
    return [flag is True for flag in listed(combined, "adjusted")]
