"""Which variable's model is probably to blame for a bad pair or a bad fit, and what to try."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthesizer.report.numbers import plural, written
from synthesizer.report.record import Record, listed, mappings, words
from synthesizer.report.risk_reading import joined
from synthesizer.report.utility_expected import expected_of, table_mark
from synthesizer.report.utility_tables import by_ways, table_rows

__all__ = ["blame"]

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
            f"variables: {{{_key(name)}: {{method: cart}}}}."
        )
    unseen = [other for other in earlier if other not in step.predictors]
    if unseen:
        listed_ = ", ".join(map(_key, (*step.predictors, *unseen)[-_NAMED:]))
        more = "..., " if len(step.predictors) + len(unseen) > _NAMED else ""
        return (
            f"{start}: the model {model} draws it without {joined(unseen)} among its predictors. "
            f"Add it, as in variables: {{{_key(name)}: {{predictors: [{more}{listed_}]}}}}."
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


def _key(name: str) -> str:
    """Write a name as it may stand in YAML."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else json.dumps(name, ensure_ascii=False)
