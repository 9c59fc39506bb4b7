"""A test of the contract of conditional models, for the authors of models.

A package that offers a model calls it in its own tests::

    from synthesizer.testing import check_model

    def test_contract():
        check_model(MyModel(min_leaf=2))

The predictors of the test are called ``p_number`` (one decimal), ``p_coded``, ``p_ordered``,
``p_date`` and ``p_gappy`` (numeric with two missing codes); a model that names its predictors,
such as a derived expression, uses these names.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.schema import Kind
from synthesizer.data.table import Column, Table
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.testing_data import predictors, targets

__all__ = ["check_model"]


def check_model(model: ConditionalModel, *, kinds: Collection[Kind] | None = None) -> None:
    """Check that a model keeps the contract of `ConditionalModel` and `FittedModel`.

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
    _require(chosen, "kinds must name at least one kind of target")
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


def _run(clause: Clause, case: _Case, label: str) -> None:
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
    before = [column.to_dict() for column in (*case.predictors.columns, case.target)]
    copies = [{k: np.copy(v) for k, v in state.items() if k != "variable"} for state in before]
    case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    for state, copy in zip(before, copies, strict=True):
        for part in ("data", "states"):
            if state[part] is not None:
                same = np.array_equal(state[part], copy[part], equal_nan=True)
                _require(same, f"variable {state['variable']['name']!r} changed")


def _read_only_inputs(case: _Case) -> None:
    """Fit and sample must accept read-only arrays, which parallel workers get."""
    for column in (*case.predictors.columns, case.target):
        column.data.flags.writeable = False
        if column.states is not None:
            column.states.flags.writeable = False
    case.fit().sample(case.predictors, rng=np.random.default_rng(2))


def _result(case: _Case) -> None:
    """Sample must return allowed values of the target, one for each row."""
    drawn = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    _check_drawn(drawn, case, case.predictors.n_rows)


def _same_draw(case: _Case) -> None:
    """The same generators must give the same fit and the same draw."""
    first = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    again = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    _require(_equal(first, again), "two draws differ")


def _other_draw(case: _Case) -> None:
    """Another generator must give another draw, unless the model is deterministic."""
    if case.target.variable.n_codes == 1:
        return
    fitted = case.fit()
    first = fitted.sample(case.predictors, rng=np.random.default_rng(2))
    others = [fitted.sample(case.predictors, rng=np.random.default_rng(s)) for s in (3, 4)]
    _require(not all(_equal(first, other) for other in others), "three draws are equal")


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
    _require(np.allclose(drawn.data, constant.data, rtol=1e-6), "other values were drawn")


def _no_predictors(case: _Case) -> None:
    """Fit and sample must work without any predictor."""
    bare = dataclasses.replace(case, predictors=Table((), case.predictors.n_rows))
    drawn = bare.fit().sample(Table((), 7), rng=np.random.default_rng(2))
    _check_drawn(drawn, case, 7)


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
        _require(_equal(*draws), "the same generator gave two draws that differ")


def _saved(case: _Case) -> None:
    """What to_dict returns must be plain, and rebuild a model that draws the same."""
    fitted = case.fit()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model"
        write_archive(path, fitted.to_dict(), kind="check")
        again = case.model.fitted_type.from_dict(read_archive(path, kind="check"))
    draws = [m.sample(case.predictors, rng=np.random.default_rng(2)) for m in (fitted, again)]
    _require(_equal(*draws), "the rebuilt model draws differently")


def _keeps_no_frame(case: _Case) -> None:
    """The fitted model must not hold the confidential predictors."""
    names = set(case.predictors)
    for value in _reachable(case.fit(), set()):
        _require(not isinstance(value, Table), "it holds a table")
        if isinstance(value, Column):
            _require(value.name not in names, f"it holds the column {value.name!r}")
        if isinstance(value, np.ndarray) and value.shape[:1] == (case.predictors.n_rows,):
            for column in case.predictors.columns:
                _require(
                    not _has_column(value, column.data), f"it holds the values of {column.name}"
                )


def _copies(case: _Case) -> None:
    """A model that copies rows must return the target itself."""
    drawn = case.fit().sample(case.predictors, rng=np.random.default_rng(2))
    _require(_equal(drawn, case.target), "values differ")


# What the clauses share


def _require(holds: object, reason: str) -> None:
    """Raise on purpose: an assert statement would be silent under ``python -O``."""
    if not holds:
        raise AssertionError(reason)


def _check_drawn(drawn: Column, case: _Case, n: int) -> None:
    variable = case.target.variable
    _require(isinstance(drawn, Column), f"the result is a {type(drawn).__name__}")
    _require(drawn.variable == variable, "the result is not of the target's variable")
    _require(len(drawn) == n, f"{len(drawn)} values were drawn for {n} rows")
    dtype = np.dtype(np.int32 if variable.is_coded else np.float64)
    _require(drawn.data.dtype == dtype, f"values are {drawn.data.dtype}, wanted is {dtype}")
    if variable.is_coded:
        inside = (drawn.data >= 0) & (drawn.data < variable.n_codes)
        _require(inside.all(), "codes are out of range")
    else:
        _require(np.isfinite(drawn.data[drawn.is_observed]).all(), "values are not finite")
        _check_numbers(drawn, case)


def _check_numbers(drawn: Column, case: _Case) -> None:
    abilities, decimals = case.model.abilities, case.target.variable.decimals
    if not (abilities.new_values or abilities.deterministic):
        donors = np.isin(drawn.data, case.target.data)
        _require(donors.all(), "values are new, which the abilities do not declare")
    if decimals is not None:
        rounded = np.round(drawn.data, decimals)
        same = np.array_equal(drawn.data, rounded, equal_nan=True)
        _require(same, f"values have more than {decimals} decimals")


def _equal(first: Column, second: Column) -> bool:
    """Compare values and missing codes."""
    return np.array_equal(first.data, second.data, equal_nan=True) and np.array_equal(
        first.missing_state(), second.missing_state()
    )


def _has_column(array: npt.NDArray[Any], data: npt.NDArray[Any]) -> bool:
    wide = array.reshape(len(data), -1)
    if wide.dtype.kind not in "iuf":
        return False
    numbers = wide.astype(np.float64).T
    exact = data.astype(np.float64)
    return any(np.array_equal(column, exact, equal_nan=True) for column in numbers)


def _reachable(value: object, seen: set[int]) -> Iterator[object]:
    """Walk through attributes, mappings and sequences."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | type):
        return
    seen.add(id(value))
    yield value
    for part in _parts(value):
        yield from _reachable(part, seen)


def _parts(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    slots = getattr(type(value), "__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, n, None) for n in names)]
