"""Heat map of the two-way S_pMSE: variables by variables, the darker the further off."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from synthesizer.report.charts import clipped, el, heat, svg, text, text_width
from synthesizer.report.expected import (
    Expected,
    TableRow,
    by_ways,
    distance_in_words,
    expected_of,
    overlap_expected,
    overlap_in_words,
    table_mark,
    table_rows,
    utility_of,
)
from synthesizer.report.page import Chart, Note, plural, written
from synthesizer.report.risk_figures import joined
from synthesizer.report.untyped import Record, listed, mappings, number, words

# Which variable's model is probably to blame for a bad pair or a bad fit, and what to try.

_CLEARLY = 1.5
"""Times the other's mean S_pMSE over its other pairs: the one that is off in general."""
_NAMED = 4
_TREES = ("cart", "forest", "bagging")


@dataclass(frozen=True)
class _Step:
    """How one variable was made, in the order of the chain."""

    name: str
    model: str
    predictors: tuple[str, ...]
    place: int


def blame(record: Record, names: Sequence[str]) -> str:
    """Say whose model is probably to blame where these variables are off; empty where unknown.

    A variable whose own distribution is far off comes first. Of two others it is the later one if
    its model does not see the earlier; else the one that is clearly worse in its other pairs; else
    the later one, since its model has to carry the relation.

    Parameters
    ----------
    record : Record
        A run; its chain and tables are read.
    names : sequence of str
        The variables of a table or a fit.

    Examples
    --------
    >>> chain = [{"variable": "sex", "model": "sample"}, {"variable": "pay", "model": "sample"}]
    >>> blame(Record({"chain": chain}, {}), ["sex", "pay"])[:64]
    'Probably the model of pay is to blame: the model sample draws it'
    """
    steps = {step.name: step for step in _steps(record) if step.name in names}
    margins = _margins(record, steps)
    if margins:
        return _of_margin(*max(margins.values(), key=lambda item: item[0]))
    able = sorted((s for s in steps.values() if s.place > 0), key=lambda s: s.place)
    if not able:
        return ""
    step = _one(record, able, names)
    earlier = [name for name in names if name in _before(record, step)]
    return _in_words(step, earlier, worse=any(other.place > step.place for other in able))


def _before(record: Record, step: _Step) -> list[str]:
    chain = mappings(record.manifest, "chain")
    return [words(own, "variable") for own in chain[: step.place]]


def _steps(record: Record) -> list[_Step]:
    """Return the steps that drew something: copies of the original are never to blame."""
    steps = [
        _Step(
            name=words(step, "variable"),
            model=words(step, "model") or "unknown",
            predictors=tuple(words(name) for name in listed(step, "predictors")),
            place=place,
        )
        for place, step in enumerate(mappings(record.manifest, "chain"))
        if step.get("kind") != "id"
    ]
    return [step for step in steps if step.model != "keep"]


def _margins(record: Record, steps: Mapping[str, _Step]) -> dict[str, tuple[float, _Step]]:
    """Return the variables whose own distribution is far off, with S_pMSE."""
    mark = table_mark(expected_of(record))
    return {
        row.names[0]: (row.standardised, steps[row.names[0]])
        for row in by_ways(table_rows(record), 1)
        if row.names[0] in steps and row.standardised is not None and row.standardised > mark
    }


def _one(record: Record, able: Sequence[_Step], names: Sequence[str]) -> _Step:
    last = able[-1]
    unseen = {*names} & {*_before(record, last)} - {*last.predictors}
    if len(able) == 1 or unseen:
        return last
    burdens = [(_burden(record, step.name, names), step) for step in able]
    burden, worst = max(burdens, key=lambda item: item[0])
    others = [own for own, step in burdens if step is not worst]
    return worst if burden > _CLEARLY * max(others) else last


def _burden(record: Record, name: str, names: Sequence[str]) -> float:
    """Return the mean S_pMSE of a variable's pairs with the other variables."""
    values = [
        row.standardised
        for row in by_ways(table_rows(record), 2)
        if name in row.names and not {*row.names} <= {*names} and row.standardised is not None
    ]
    return sum(values) / len(values) if values else 0.0


def _of_margin(value: float, step: _Step) -> str:
    start = f"Probably {step.name} itself is to blame: its own distribution is far off already"
    return f"{start} (S_pMSE {written(value)}; it was made by {step.model}). Mend that first."


def _in_words(step: _Step, earlier: Sequence[str], *, worse: bool) -> str:
    name, model = step.name, step.model
    start = f"Probably the model of {name} is to blame"
    if model == "derived":
        sources = ", ".join(step.predictors)
        told = f" ({sources})" if sources else ""
        return f"{name} is computed from other variables: look at those{told} and at its formula."
    if not step.predictors:
        return (
            f"{start}: the model {model} draws it without any predictor, so that it keeps no "
            "relation. Give it a model with predictors, for example "
            f"variables: {{{_yaml_key(name)}: {{method: cart}}}}."
        )
    unseen = [other for other in earlier if other not in step.predictors]
    if unseen:
        listed_ = ", ".join(map(_yaml_key, (*step.predictors, *unseen)[-_NAMED:]))
        more = "..., " if len(step.predictors) + len(unseen) > _NAMED else ""
        return (
            f"{start}: the model {model} draws it without {joined(unseen)} among its predictors. "
            f"Add it, as in variables: {{{_yaml_key(name)}: {{predictors: [{more}{listed_}]}}}}."
        )
    told = f"{start}: the model {model} draws it from {plural(len(step.predictors), 'variable')}"
    if worse:
        told += ", and its other pairs are worse, too"
    elif earlier:
        told += f", {joined(earlier)} among them, and follows too little of the relation"
    return f"{told}. {_remedy(model)}"


def _remedy(model: str) -> str:
    if model in _TREES:
        return (
            f"A smaller leaf (models: {{{model}: {{min_leaf: 10}}}}) or an earlier place in "
            "visit_sequence may help, at some risk."
        )
    return "Another model may follow it better, for example method: cart."


def _yaml_key(name: str) -> str:
    """Write a name as it may stand in YAML."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else json.dumps(name, ensure_ascii=False)


MOST = 60
_WIDTH = 700.0
_LETTERS = 16
_NUMBERS_FROM = 24.0
_DARK = 5
_ROOM = 12.0


def heat_names(order: Sequence[str], pairs: Sequence[TableRow]) -> tuple[str, ...]:
    """Return the variables of the map: all, or those of the worst pairs where they are too many.

    Parameters
    ----------
    order : sequence of str
        Variables in the order of the chain; others follow.
    pairs : sequence of TableRow
        Worst first.
    """
    found = dict.fromkeys(name for row in pairs for name in row.names)
    if len(found) > MOST:
        found = dict.fromkeys(list(found)[:MOST])
    known = [name for name in dict.fromkeys(order) if name in found]
    return (*known, *(name for name in found if name not in set(known)))


def heat_chart(
    names: Sequence[str],
    pairs: Sequence[TableRow],
    expected: Expected,
    kept: Collection[str] = (),
) -> Chart:
    """Return the map; its cells carry positions of variables for the page's script.

    Parameters
    ----------
    names : sequence of str
        At least two.
    pairs : sequence of TableRow
        Worst first; those of other variables are left out.
    expected : Expected
        What the values are compared with.
    kept : collection of str
        Variables that were copied: cells of two of them stay blank.
    """
    place = {name: i for i, name in enumerate(names)}
    values = _values(place, pairs)
    everything = {name for row in pairs for name in row.names}
    summary = _summary(pairs, expected)
    if len(everything) > len(names):
        summary += f" The map shows {len(names)} of the {len(everything)} variables: those of the"
        summary += " worst pairs."
    blank = {place[name] for name in kept if name in place}
    left_out = " Cells without a value are of two copied variables." if len(blank) > 1 else ""
    return Chart(
        title="How far every pair of variables is off",
        svg=_drawn(_Map(names, values, blank, expected.bounds), summary),
        reads="Each cell is a table of two variables, compared between synthetic and original "
        f"data by S_pMSE. The stronger its colour, the worse. {expected.sentence} Rows of strong "
        "colour are variables that the synthesis relates badly to others. Choose a cell to see its "
        f"table.{left_out}",
        summary=summary,
    )


def _values(
    place: Mapping[str, int], pairs: Sequence[TableRow]
) -> dict[tuple[int, int], float | None]:
    """Return S_pMSE by row and column of the lower triangle."""
    found = {}
    for pair in pairs:
        if all(name in place for name in pair.names):
            low, high = sorted(place[name] for name in pair.names)
            found[high, low] = pair.standardised
    return found


def _summary(pairs: Sequence[TableRow], expected: Expected) -> str:
    known = [row for row in pairs if row.standardised is not None]
    if not known:
        return "No pair has an S_pMSE."
    good = sum((row.standardised or 0) <= expected.limit for row in known)
    other = "twice a right synthesis (2)" if expected.fresh is None else expected.fresh_words
    worst = known[0]
    return (
        f"{good:,} of {plural(len(known), 'pair')} are no further off than {other}. The worst is "
        f"{worst.names[0]} with {worst.names[1]}: "
        f"{written(worst.standardised)}."
    )


@dataclass(frozen=True)
class _Map:
    """Variables, values by row and column, places of copied variables, ends of the colours."""

    names: Sequence[str]
    values: Mapping[tuple[int, int], float | None]
    kept: Collection[int]
    bounds: Sequence[float]


@dataclass(frozen=True)
class _Frame:
    """Where the cells of the triangle stand: ``left`` of them the labels of the rows."""

    names: Sequence[str]
    left: float
    size: float

    @property
    def bottom(self) -> float:
        return self.size * len(self.names)

    def middle(self, place: int) -> float:
        return (place + 0.5) * self.size


def _drawn(own: _Map, description: str) -> Markup:
    names = own.names
    left = 12 + max(text_width(clipped(name, _LETTERS), 10.5) for name in names)
    size = max(10.0, min(34.0, (_WIDTH - left) / len(names)))
    frame = _Frame(names, left, size)
    rows = [_row(i, frame, own) for i in range(1, len(names))]
    key = _key(left + frame.bottom - 210, 6, own.bounds)
    return svg(
        left + frame.bottom + 12,
        frame.bottom + left + 4,
        el("g", {"class": "heat"}, *rows),
        el("g", {"aria-hidden": "true"}, *_labels(frame), key),
        title="Heat map of two-way S_pMSE",
        description=description,
    )


def _row(row: int, frame: _Frame, own: _Map) -> Markup:
    known = [column for column in range(row) if (row, column) in own.values]
    blank = [c for c in range(row) if c not in known and {row, c} <= set(own.kept)]
    return el(
        "g",
        None,
        *(_cell(row, column, own.values[row, column], frame, own.bounds) for column in known),
        *(_blank(row, column, frame) for column in blank),
    )


def _blank(row: int, column: int, frame: _Frame) -> Markup:
    """Return the cell of two copied variables, whose table is the original's own."""
    x, y, inner = frame.left + column * frame.size, row * frame.size, frame.size - 1
    words = f"{frame.names[row]} with {frame.names[column]}: both copied, not compared"
    box: dict[str, str | float | int | None] = {"x": x, "y": y, "width": inner, "height": inner}
    return el("g", {"class": "blank"}, el("title", None, words), el("rect", box))


def _cell(
    row: int, column: int, value: float | None, frame: _Frame, bounds: Sequence[float]
) -> Markup:
    colour = "none" if value is None else heat(value, bounds)
    x, y, inner = frame.left + column * frame.size, row * frame.size, frame.size - 1
    words = f"{frame.names[row]} with {frame.names[column]}: {written(value)}"
    parts = [
        el("title", None, words),
        el("rect", {"x": x, "y": y, "width": inner, "height": inner, "class": f"fill-{colour}"}),
    ]
    if frame.size >= _NUMBERS_FROM and value is not None:
        dark = " on-dark" if int(colour[1]) >= _DARK else ""
        shown = f"{value:.1f}" if value < 9.95 else f"{value:.0f}" if value < 999 else "999+"
        place = x + inner / 2, y + inner / 2 + 3
        parts.append(text(*place, shown, class_=f"cell{dark}", text_anchor="middle"))
    return el("g", {"class": "pair", "data-row": row, "data-column": column}, *parts)


def _labels(frame: _Frame) -> Iterator[Markup]:
    """Yield the variables of the rows, from the second, and of the columns, up to the last."""
    style = "small" if frame.size >= _ROOM else "tiny"
    for i, name in enumerate(frame.names):
        words = el("title", None, name), clipped(name, _LETTERS)
        attrs: dict[str, str | float | int | None] = {"class": style, "text-anchor": "end"}
        if i:
            place = {"x": frame.left - 6, "y": frame.middle(i) + 3}
            yield el("text", {**attrs, **place}, *words)
        if i < len(frame.names) - 1:
            x, y = frame.left + frame.middle(i) + 3, frame.bottom + 6
            turn = f"rotate(-90 {x:.1f} {y:.1f})"
            yield el("text", {**attrs, "x": x, "y": y, "transform": turn}, *words)


def _key(x: float, y: float, bounds: Sequence[float]) -> Markup:
    """Return the colours with the values where they change."""
    x, step = max(x, 4.0), 22.0
    parts = [text(x, y + 6, "S_pMSE, lower is better", class_="label")]
    for i in range(len(bounds) + 1):
        box: dict[str, str | float | int | None] = {
            "x": x + i * step,
            "y": y + 14,
            "width": step - 1,
            "height": 12,
        }
        parts.append(el("rect", {**box, "class": f"fill-h{i}"}))
    for i, bound in enumerate(bounds):
        parts.append(
            text(x + (i + 1) * step, y + 40, f"{bound:.2g}", class_="tick", text_anchor="middle")
        )
    return el("g", None, *parts)


# What is badly off in the utility of a run: the worst tables and fits, and what to try.

_ONE_DATASET = 0.796
"""Mean overlap of a right synthesis of the original's size with one dataset."""


def bad_utility(record: Record) -> Iterator[Note]:
    """Yield an alert for the worst variable, the worst pair and each fit that is far off.

    Parameters
    ----------
    record : Record
        A run; its tables, fits and chain are read.
    """
    yield from _tables(record, 1, "variable")
    yield from _tables(record, 2, "pair")
    for fit in mappings(utility_of(record), "fits"):
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit, record), "alert")


def _tables(record: Record, ways: int, noun: str) -> Iterator[Note]:
    """Yield an alert on the worst table of an order where it is above the mark."""
    expected = expected_of(record)
    mark = table_mark(expected)
    bad = [
        row for row in by_ways(table_rows(record), ways)
        if row.standardised is not None and row.standardised > mark
    ]  # fmt: skip
    if not bad:
        return
    worst = bad[0]
    others = len(bad) - 1
    verb = "is" if others == 1 else "are"
    more = f"; so {verb} {plural(others, f'other {noun}')}" if others else ""
    told = (
        f"The worst {noun} is {' with '.join(worst.names)}, S_pMSE {written(worst.standardised)}: "
        f"{distance_in_words(worst.standardised, expected)}. Above {written(mark)} a table is to "
        f"be looked at{more}."
    )
    yield Note(" ".join(filter(None, (told, blame(record, worst.names)))), "alert")


def overlap_marks(good: float | None) -> tuple[float, float]:
    """Return the overlap below which a fit's mean, and one coefficient's, is low.

    With equal widths an overlap of 0.5 is a synthetic estimate at the end of the original's
    interval, and below 0 the intervals do not touch. Both distances grow with what chance alone
    does where fewer records are synthesised, which the expected overlap shows.

    Parameters
    ----------
    good : float or None
        Mean overlap of a right synthesis, where it is known.

    Examples
    --------
    >>> overlap_marks(0.88), overlap_marks(None)
    ((0.5, 0.0), (0.5, 0.0))
    >>> [round(mark, 2) for mark in overlap_marks(0.49)]
    [-0.25, -1.5]
    """
    chance = 1.0 if good is None else max(1.0, (1 - good) / (1 - _ONE_DATASET))
    return 1 - chance / 2, 1 - chance


def lowest_overlap(fit: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the coefficient whose intervals overlap least, and how much."""
    found = [
        (words(own, "name"), value)
        for own in mappings(fit, "coefficients")
        if (value := number(own, "overlap")) is not None
    ]
    return min(found, key=lambda pair: pair[1], default=None)


def is_bad_fit(fit: Mapping[str, Any]) -> bool:
    """Whether a fit's intervals overlap less than chance explains: on average, or in one place."""
    mean_low, single_low = overlap_marks(overlap_expected(fit))
    mean, lowest = number(fit, "mean_overlap"), lowest_overlap(fit)
    return (mean is not None and mean < mean_low) or (lowest is not None and lowest[1] < single_low)


def _fit_in_words(fit: Mapping[str, Any], record: Record) -> str:
    mean, lowest = number(fit, "mean_overlap"), lowest_overlap(fit)
    told = [f"Fit {words(fit, 'formula') or 'without formula'}: "]
    if mean is not None:
        good = overlap_in_words(overlap_expected(fit))
        told.append(f"the intervals overlap by {written(mean, 'share')} on average ({good}). ")
    if lowest is not None:
        apart = "; the two intervals do not touch" if lowest[1] < 0 else ""
        told.append(f"The lowest overlap is {written(lowest[1], 'share')}, of {lowest[0]}{apart}. ")
    told.append("A researcher would draw other conclusions. ")
    return ("".join(told) + blame(record, _variables(fit, record))).rstrip()


def _variables(fit: Mapping[str, Any], record: Record) -> list[str]:
    """Return the response and the variable of the coefficient that is furthest off."""
    chain = [words(step, "variable") for step in mappings(record.manifest, "chain")]
    response = _within(words(fit, "formula").partition("~")[0], chain)
    found = [
        (number(own, "overlap"), _within(words(own, "name"), chain))
        for own in mappings(fit, "coefficients")
    ]
    known = [(value, names) for value, names in found if value is not None and names]
    worst = min(known, key=lambda pair: pair[0], default=(0.0, []))[1]
    return list(dict.fromkeys([*response, *worst]))


def _within(text: str, names: list[str]) -> list[str]:
    """Return the names that stand in a text as whole words."""
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
