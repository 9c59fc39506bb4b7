"""A test of the contract of conditional models, for the authors of models.

A package that offers a model calls it in its own tests::

    from synthesizer.testing import check_model

    def test_contract():
        check_model(MyModel(min_leaf=2))

The predictors of the test are called ``p_number`` (one decimal), ``p_coded``, ``p_ordered``,
``p_date`` and ``p_gappy`` (numeric with two missing codes); a model that names its predictors,
such as a derived expression, uses these names. A model of histories or of careers gets the same
predictors as rows of persons and periods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import TypeVar

import numpy as np

from synthesizer.data.schema import Kind
from synthesizer.data.table import Column, Table
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.testing_data import panel_predictors, panel_targets, predictors, targets
from synthesizer.testing_panel import PanelCase, panel_clauses
from synthesizer.testing_tools import (
    check_column,
    copies,
    equal,
    read_only,
    rebuilt,
    require,
    require_no_frame,
    unchanged,
)

__all__ = ["check_model"]


def check_model(model: ConditionalModel, *, kinds: Collection[Kind] | None = None) -> None:
    """Check that a model keeps the contract of `ConditionalModel` and `FittedModel`.

    A model whose abilities name a panel is tested on 40 persons in five periods, with gaps: see
    `synthesizer.histories.base` for its contract.

    Parameters
    ----------
    model : ConditionalModel
        With the options to test. Small neighbourhoods (``min_leaf=2``) test more.
    kinds : collection of Kind, optional
        Kinds of target to test; by default all that its abilities name.

    Raises
    ------
    AssertionError
        On the first broken clause; the message says which one, and for which target.

    Examples
    --------
    >>> from synthesizer.models.sample import Sample
    >>> check_model(Sample())
    """
    chosen = model.abilities.kinds if kinds is None else frozenset(kinds)
    require(chosen, "kinds must name at least one kind of target")
    if model.abilities.panel:
        for label, target in panel_targets(model, chosen):
            panel = PanelCase(model, panel_predictors(), target)
            for own in panel_clauses(model):
                _run(own, panel, label)
        return
    for label, target in targets(model, chosen):
        case = _Case(model, predictors(), target)
        for clause in _clauses(model):
            _run(clause, case, label)


@dataclasses.dataclass(frozen=True)
class _Case:
    """One model with the data to test it on."""

    model: ConditionalModel
    predictors: Table
    target: Column

    def fit(self, seed: int = 1) -> FittedModel:
        return self.model.fit(self.predictors, self.target, rng=np.random.default_rng(seed))

    def on(self, rows: slice) -> _Case:
        return dataclasses.replace(
            self, predictors=self.predictors.take(rows), target=self.target.take(rows)
        )


Clause = Callable[[_Case], None]


AnyCase = TypeVar("AnyCase", _Case, PanelCase)


def _run(clause: Callable[[AnyCase], None], case: AnyCase, label: str) -> None:
    sentence = clause.__doc__ or clause.__name__
    where = f"{type(case.model).__name__} on {label}: {sentence}"
    try:
        clause(case)
    except AssertionError as error:
        raise AssertionError(f"{where} But {error}.") from error
    except Exception as error:
        raise AssertionError(f"{where} But it raised {type(error).__name__}: {error}") from error


def _clauses(model: ConditionalModel) -> tuple[Clause, ...]:
    """Return the clauses that apply to a model with its abilities."""
    always = (_inputs_unchanged, _read_only_inputs, _result, _same_draw, _saved, _keeps_no_frame)
    if model.abilities.copies_rows:
        return (*always, _copies)
    drawn = (*always, _few_rows, _unseen_values, _wider)
    if model.abilities.deterministic:
        return drawn
    return (*drawn, _other_draw, _constant_target, _no_predictors)


# The docstring of each clause is the sentence that a failure shows


def _inputs_unchanged(case: _Case) -> None:
    """Fit and sample must leave their inputs unchanged."""
    before = copies(case.predictors, case.target)
    case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    unchanged(before, case.predictors, case.target)


def _read_only_inputs(case: _Case) -> None:
    """Fit and sample must accept read-only arrays, which parallel workers get."""
    read_only(case.predictors, case.target)
    case.fit().sample(case.predictors, rng=np.random.default_rng(2))


def _result(case: _Case) -> None:
    """Sample must return allowed values of the target, one for each row."""
    drawn = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    _check_drawn(drawn, case, case.predictors.n_rows)


def _same_draw(case: _Case) -> None:
    """The same generators must give the same fit and the same draw."""
    first = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    again = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    require(equal(first, again), "two draws differ")


def _other_draw(case: _Case) -> None:
    """Another generator must give another draw, unless the model is deterministic."""
    if case.target.variable.n_codes == 1:
        return
    fitted = case.fit()
    first = fitted.sample(case.predictors, rng=np.random.default_rng(2))
    others = [fitted.sample(case.predictors, rng=np.random.default_rng(s)) for s in (3, 4)]
    require(not all(equal(first, other) for other in others), "three draws are equal")


def _few_rows(case: _Case) -> None:
    """Fit must work on one row, sample on no row and on one row."""
    for fitted in (case.fit(), case.on(slice(0, 1)).fit()):
        for n in (0, 1, 5):
            few = case.predictors.take(slice(0, n))
            _check_drawn(fitted.sample(few, rng=np.random.default_rng(2)), case, n)


def _constant_target(case: _Case) -> None:
    """A constant target must be drawn as that constant."""
    constant = case.target.take(np.zeros(len(case.target), dtype=np.intp))
    fitted = dataclasses.replace(case, target=constant).fit()
    drawn = fitted.sample(case.predictors, rng=np.random.default_rng(2))
    require(np.allclose(drawn.data, constant.data, rtol=1e-6), "other values were drawn")


def _no_predictors(case: _Case) -> None:
    """Fit and sample must work without any predictor that the options do not name."""
    bare = dataclasses.replace(case, predictors=case.predictors.select(case.model.needs))
    few = bare.predictors.take(slice(0, 7))
    _check_drawn(bare.fit().sample(few, rng=np.random.default_rng(2)), case, 7)


def _unseen_values(case: _Case) -> None:
    """Sample must accept predictor levels and numbers that fit has not seen."""
    new = predictors(50, unseen=True)
    _check_drawn(case.fit().sample(new, rng=np.random.default_rng(2)), case, 50)


def _wider(case: _Case) -> None:
    """sample_wider must keep the promises of sample for any number of steps."""
    fitted = case.fit()
    for steps in (1, 3, 100):
        draws = [
            fitted.sample_wider(case.predictors, steps=steps, rng=np.random.default_rng(2))
            for _ in range(2)
        ]
        _check_drawn(draws[0], case, case.predictors.n_rows)
        require(equal(*draws), "the same generator gave two draws that differ")


def _saved(case: _Case) -> None:
    """What to_dict returns must be plain, and rebuild a model that draws the same."""
    fitted = case.fit()
    again = rebuilt(case.model, fitted)
    draws = [m.sample(case.predictors, rng=np.random.default_rng(2)) for m in (fitted, again)]
    require(equal(*draws), "the rebuilt model draws differently")


def _keeps_no_frame(case: _Case) -> None:
    """The fitted model must not hold the confidential predictors."""
    require_no_frame(case.fit(), case.predictors)


def _copies(case: _Case) -> None:
    """A model that copies rows must return the target itself."""
    drawn = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    require(equal(drawn, case.target), "values differ")


def _check_drawn(drawn: Column, case: _Case, n: int) -> None:
    check_column(drawn, case.target.variable, n, donors=case.target, abilities=case.model.abilities)
