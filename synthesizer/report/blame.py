"""What is badly off in the utility of a run, and whose model is probably to blame for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.report.expected import (
    distance_in_words,
    expected_of,
    overlap_in_words,
    table_mark,
    tables_of,
)
from synthesizer.report.page import Note, joined, plural, written
from synthesizer.report.record import Record, StepEntry

_ONE_DATASET = 0.796
"""Mean overlap of a right synthesis of the original's size with one dataset."""
_CLEARLY = 1.5
"""Times the other's mean S_pMSE over its other pairs: the one that is off in general."""
_NAMED = 4
_TREES = ("cart", "forest", "bagging")


def bad_utility(record: Record) -> Iterator[Note]:
    """Yield an alert for the worst variable, the worst pair and each fit that is far off."""
    yield from _bad_tables(record, 1, "variable")
    yield from _bad_tables(record, 2, "pair")
    utility = record.results.utility
    for fit in () if utility is None else utility.fits:
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit, record), "alert")


def _bad_tables(record: Record, ways: int, noun: str) -> Iterator[Note]:
    """Yield an alert on the worst table of an order where it is above the mark."""
    expected = expected_of(record)
    mark = table_mark(expected)
    bad = [row for row in tables_of(record, ways) if (row.s_pmse or 0) > mark]
    if not bad:
        return
    worst, others = bad[0], len(bad) - 1
    verb = "is" if others == 1 else "are"
    more = f"; so {verb} {plural(others, f'other {noun}')}" if others else ""
    sentences = (
        f"The worst {noun} is {' with '.join(worst.variables)}, S_pMSE {written(worst.s_pmse)}: "
        f"{distance_in_words(worst.s_pmse, expected)}. Above {written(mark)} a table is to be "
        f"looked at{more}.",
        blame(record, worst.variables),
    )
    yield Note(" ".join(filter(None, sentences)), "alert")


# Fits of models whose conclusions would be others.


def overlap_marks(expected: float | None) -> tuple[float, float]:
    """Return the overlap below which a fit's mean, and one coefficient's, is low.

    With equal widths an overlap of 0.5 is a synthetic estimate at the end of the original's
    interval, and below 0 the intervals do not touch. Both distances grow with what chance alone
    does where fewer records are synthesised, which the expected overlap shows.

    Parameters
    ----------
    expected : float or None
        Mean overlap of a right synthesis, where it is known.

    Examples
    --------
    >>> overlap_marks(0.88), overlap_marks(None)
    ((0.5, 0.0), (0.5, 0.0))
    >>> [round(mark, 2) for mark in overlap_marks(0.49)]
    [-0.25, -1.5]
    """
    chance = 1.0 if expected is None else max(1.0, (1 - expected) / (1 - _ONE_DATASET))
    return 1 - chance / 2, 1 - chance


def lowest_overlap(fit: FitComparison) -> tuple[str, float] | None:
    """Return the coefficient whose intervals overlap least, and how much."""
    overlaps = [(row.name, row.overlap) for row in fit.coefficients if row.overlap is not None]
    return min(overlaps, key=lambda pair: pair[1], default=None)


def is_bad_fit(fit: FitComparison) -> bool:
    """Whether a fit's intervals overlap less than chance explains: on average, or in one place."""
    mean_mark, single_mark = overlap_marks(fit.expected_overlap)
    mean, lowest = fit.mean_overlap, lowest_overlap(fit)
    mean_is_low = mean is not None and mean < mean_mark
    return mean_is_low or (lowest is not None and lowest[1] < single_mark)


def _fit_in_words(fit: FitComparison, record: Record) -> str:
    sentences = [f"Fit {fit.formula}:"]
    if fit.mean_overlap is not None:
        good = overlap_in_words(fit.expected_overlap)
        mean = written(fit.mean_overlap, "share")
        sentences.append(f"the intervals overlap by {mean} on average ({good}).")
    lowest = lowest_overlap(fit)
    if lowest is not None:
        name, overlap = lowest
        apart = "; the two intervals do not touch" if overlap < 0 else ""
        sentences.append(f"The lowest overlap is {written(overlap, 'share')}, of {name}{apart}.")
    sentences.append("A researcher would draw other conclusions.")
    return " ".join([*sentences, blame(record, _variables(fit, record))]).rstrip()


def _variables(fit: FitComparison, record: Record) -> list[str]:
    """Return the response and the variable of the coefficient that is furthest off."""
    chain = [step.variable for step in record.manifest.chain]
    response = _within(fit.formula.partition("~")[0], chain)
    overlaps = [
        (row.overlap, names)
        for row in fit.coefficients
        if row.overlap is not None and (names := _within(row.name, chain))
    ]
    furthest = min(overlaps, key=lambda pair: pair[0], default=(0.0, []))[1]
    return list(dict.fromkeys([*response, *furthest]))


def _within(text: str, names: Sequence[str]) -> list[str]:
    """Return the names that stand in a text as whole words."""
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


# Which variable's model is probably to blame for a bad pair or a bad fit, and what to try.


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
    """
    chain = record.manifest.chain
    # copies of the original are never to blame
    steps = {
        step.variable: step
        for step in chain
        if step.variable in names and step.kind != "id" and not step.kept
    }
    margins = _margins(record, steps)
    if margins:
        return _of_margin(*max(margins, key=lambda margin: margin[0]))
    able = [step for step in steps.values() if step is not chain[0]]
    if not able:
        return ""
    step = _one(record, able, names)
    earlier = [name for name in names if name in _before(record, step)]
    return _in_words(step, earlier, worse=step is not able[-1])


def _before(record: Record, step: StepEntry) -> list[str]:
    """Return the variables that are made before a step."""
    names = [step.variable for step in record.manifest.chain]
    return names[: names.index(step.variable)]


def _margins(record: Record, steps: Mapping[str, StepEntry]) -> list[tuple[float, StepEntry]]:
    """Return the steps whose own distribution is far off, with S_pMSE."""
    mark = table_mark(expected_of(record))
    return [
        (row.s_pmse, steps[row.variables[0]])
        for row in tables_of(record, 1)
        if row.variables[0] in steps and row.s_pmse is not None and row.s_pmse > mark
    ]


def _one(record: Record, able: Sequence[StepEntry], names: Sequence[str]) -> StepEntry:
    last = able[-1]
    unseen = {*names} & {*_before(record, last)} - {*last.predictors}
    if len(able) == 1 or unseen:
        return last
    burdens = [(_burden(record, step.variable, names), step) for step in able]
    burden, worst = max(burdens, key=lambda item: item[0])
    others = [value for value, step in burdens if step is not worst]
    return worst if burden > _CLEARLY * max(others) else last


def _burden(record: Record, name: str, names: Sequence[str]) -> float:
    """Return the mean S_pMSE of a variable's pairs with the other variables."""
    values = [
        row.s_pmse
        for row in tables_of(record, 2)
        if name in row.variables and not {*row.variables} <= {*names} and row.s_pmse is not None
    ]
    return sum(values) / len(values) if values else 0.0


def _of_margin(value: float, step: StepEntry) -> str:
    return (
        f"Probably {step.variable} itself is to blame: its own distribution is far off already "
        f"(S_pMSE {written(value)}; it was made by {step.model}). Mend that first."
    )


def _in_words(step: StepEntry, earlier: Sequence[str], *, worse: bool) -> str:
    name, model = step.variable, step.model
    start = f"Probably the model of {name} is to blame"
    if model == "derived":
        sources = ", ".join(step.predictors)
        which = f" ({sources})" if sources else ""
        return f"{name} is computed from other variables: look at those{which} and at its formula."
    if not step.predictors:
        return (
            f"{start}: the model {model} draws it without any predictor, so that it keeps no "
            "relation. Give it a model with predictors, for example "
            f"variables: {{{_yaml_key(name)}: {{method: cart}}}}."
        )
    unseen = [other for other in earlier if other not in step.predictors]
    if unseen:
        wanted = [*step.predictors, *unseen]
        more = "..., " if len(wanted) > _NAMED else ""
        listed = ", ".join(map(_yaml_key, wanted[-_NAMED:]))
        return (
            f"{start}: the model {model} draws it without {joined(unseen)} among its predictors. "
            f"Add it, as in variables: {{{_yaml_key(name)}: {{predictors: [{more}{listed}]}}}}."
        )
    reason = f"the model {model} draws it from {plural(len(step.predictors), 'variable')}"
    if worse:
        reason += ", and its other pairs are worse, too"
    elif earlier:
        reason += f", {joined(earlier)} among them, and follows too little of the relation"
    return f"{start}: {reason}. {_remedy(model)}"


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
