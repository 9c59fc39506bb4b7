"""A test of the contract of conditional models, for the authors of models.

A package that offers a model calls it in its own tests::

    from synthesizer.engine.testing import check_model

    def test_contract():
        check_model(MyModel(min_leaf=2))

The predictors of the test are called ``p_number`` (one decimal), ``p_coded``, ``p_ordered``,
``p_date`` and ``p_gappy`` (numeric with two missing codes); a model that names its predictors,
such as a derived expression, uses these names. A model of histories or of careers gets the same
predictors as rows of persons and periods.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.errors import RuleError
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import read_nested
from synthesizer.engine.testing_data import panel_predictors, panel_targets, predictors, targets
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel
from synthesizer.models.histories.history import (
    FittedCareerModel,
    FittedHistory,
    HistoryModel,
    Limits,
    reserve_of,
)

# What the tests of the contract share, for models of tables and of panels.


def require(holds: object, reason: str) -> None:
    """Raise on purpose: an assert statement would be silent under ``python -O``."""
    if not holds:
        raise AssertionError(reason)


def rebuilt(model: ConditionalModel, fitted: FittedModel) -> FittedModel:
    """Return a fitted model after it was written to a file and read again.

    Models that it wraps are looked up among the registered ones, as in a saved model.
    """
    registry = Registry.load()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model"
        write_archive(path, fitted.to_dict(), kind="check")
        state = read_archive(path, kind="check")
    return model.fitted_type.read(state, lambda own: read_nested(own, registry))


def read_only(table: Table, target: Column) -> None:
    """Make the arrays of a table and of a target read-only."""
    for column in (*table.columns, target):
        column.data.flags.writeable = False
        if column.states is not None:
            column.states.flags.writeable = False


def copies(table: Table, target: Column) -> list[Column]:
    """Return copies of the columns of a table and of a target."""
    return [
        Column(c.variable, c.data.copy(), None if c.states is None else c.states.copy())
        for c in (*table.columns, target)
    ]


def unchanged(before: list[Column], table: Table, target: Column) -> None:
    """Require that a table and a target are what ``copies`` found."""
    for old, new in zip(before, (*table.columns, target), strict=True):
        require(equal(old, new), f"variable {new.name!r} changed")


def check_column(
    drawn: Column, variable: Variable, n: int, *, donors: Column, abilities: Abilities
) -> None:
    """Require ``n`` allowed values of a variable; known ones where the abilities say so."""
    require(isinstance(drawn, Column), f"the result is a {type(drawn).__name__}")
    require(drawn.variable == variable, "the result is not of the target's variable")
    require(len(drawn) == n, f"{len(drawn)} values were drawn for {n} rows")
    dtype = np.dtype(np.int32 if variable.is_coded else np.float64)
    require(drawn.data.dtype == dtype, f"values are {drawn.data.dtype}, wanted is {dtype}")
    if variable.is_coded:
        inside = (drawn.data >= 0) & (drawn.data < variable.n_codes)
        require(inside.all(), "codes are out of range")
    else:
        states = drawn.missing_state()
        require(((states >= 0) & (states <= len(variable.missing))).all(), "odd missing codes")
        _check_numbers(drawn.take(drawn.is_observed), donors, abilities)


def _check_numbers(drawn: Column, donors: Column, abilities: Abilities) -> None:
    decimals = drawn.variable.decimals
    require(np.isfinite(drawn.data).all(), "values are not finite")
    if not (abilities.new_values or abilities.deterministic):
        known = np.isin(drawn.data, donors.data)
        require(known.all(), "values are new, which the abilities do not declare")
    if decimals is not None:
        same = np.array_equal(drawn.data, np.round(drawn.data, decimals))
        require(same, f"values have more than {decimals} decimals")


def equal(first: Column, second: Column) -> bool:
    """Compare values and missing codes."""
    return np.array_equal(first.data, second.data, equal_nan=True) and np.array_equal(
        first.missing_state(), second.missing_state()
    )


def require_no_frame(fitted: FittedModel, predictors: Table) -> None:
    """Require that a fitted model holds none of the confidential predictors."""
    names = set(predictors)
    for value in _reachable(fitted, set()):
        require(not isinstance(value, Table), "it holds a table")
        if isinstance(value, Column):
            require(value.name not in names, f"it holds the column {value.name!r}")
        if isinstance(value, np.ndarray) and value.shape[:1] == (predictors.n_rows,):
            for column in predictors.columns:
                require(
                    not _has_column(value, column.data), f"it holds the values of {column.name}"
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


# The clauses of the contract for models that see persons and periods.


@dataclasses.dataclass(frozen=True)
class PanelCase:
    """One model of a panel with the data to test it on."""

    model: ConditionalModel
    predictors: PanelTable
    target: Column

    def fit(self, seed: int = 1) -> FittedModel:
        """Fit to the whole case."""
        return self.model.fit(self.predictors, self.target, rng=np.random.default_rng(seed))

    def of_persons(self, persons: IntArray) -> PanelCase:
        """Return the case of some persons."""
        rows = self.predictors.index.rows_of(persons)
        own = self.predictors.take_units(persons)
        return dataclasses.replace(self, predictors=own, target=self.target.take(rows))

    def of_rows(self, index: PanelIndex) -> PanelCase:
        """Return the first values as rows of other persons."""
        rows = slice(0, index.n_rows)
        columns = [column.take(rows) for column in self.predictors.columns]
        own = PanelTable(columns, index)
        return dataclasses.replace(self, predictors=own, target=self.target.take(rows))


@dataclasses.dataclass(frozen=True)
class _Drawn:
    """What was drawn: for whom, when, and which values; None for presence only."""

    index: PanelIndex
    values: Column | None

    def equals(self, other: _Drawn) -> bool:
        one, two = self.index, other.index
        if not np.array_equal(one.person, two.person) or not np.array_equal(one.period, two.period):
            return False
        if self.values is None or other.values is None:
            return self.values is other.values
        return equal(self.values, other.values)


def _draw(fitted: FittedModel, table: PanelTable, seed: int = 2) -> _Drawn:
    rng = np.random.default_rng(seed)
    if isinstance(fitted, FittedCareerModel):
        persons = PanelTable(
            table.first_rows.columns, PanelIndex.of_persons(table.n_units, table.index.times)
        )
        return _Drawn(*fitted.open(persons, rng=rng))
    return _Drawn(table.index, fitted.sample(table, rng=rng))


def _check(drawn: _Drawn, case: PanelCase, table: PanelTable) -> None:
    """Require values of the target for the rows of a panel, or for those of careers."""
    index = drawn.index
    if case.model.abilities.career:
        require(index.n_persons == table.n_units, "careers of other persons were drawn")
        seen = np.bincount(index.person, minlength=index.n_persons)
        require((seen > 0).all(), "a person is there in no period")
        key = index.person * index.n_periods + index.period
        require((np.diff(key) > 0).all(), "rows are not in order of persons and periods")
        require(np.array_equal(index.times, table.index.times), "the periods are others")
    if drawn.values is None:
        require(case.model.abilities.career, "no values were drawn")
        return
    check_column(
        drawn.values,
        case.target.variable,
        index.n_rows,
        donors=case.target,
        abilities=case.model.abilities,
    )


PanelClause = Callable[[PanelCase], None]


def panel_clauses(model: ConditionalModel) -> tuple[PanelClause, ...]:
    """Return the clauses that apply to a model of a panel with its abilities."""
    always = (
        _panel_inputs_unchanged, _panel_read_only_inputs, _panel_result, _panel_same_draw,
        _panel_other_draw, _panel_saved, _panel_keeps_no_frame, _few_persons, _one_period,
        _panel_unseen_values, _panel_no_predictors, _rules,
    )  # fmt: skip
    return always if model.abilities.career else (*always, _limits)


# The docstring of each clause is the sentence that a failure shows


def _panel_inputs_unchanged(case: PanelCase) -> None:
    """Fit and draw must leave their inputs unchanged."""
    before = copies(case.predictors, case.target)
    _draw(case.fit(), case.predictors)
    unchanged(before, case.predictors, case.target)


def _panel_read_only_inputs(case: PanelCase) -> None:
    """Fit and draw must accept read-only arrays, which parallel workers get."""
    read_only(case.predictors, case.target)
    _draw(case.fit(), case.predictors)


def _panel_result(case: PanelCase) -> None:
    """A draw must return allowed values of the target, one for each row of a person."""
    fitted = case.fit()
    wanted = FittedCareerModel if case.model.abilities.career else FittedHistory
    require(isinstance(fitted, wanted), f"fit returned no {wanted.__name__}")
    _check(_draw(fitted, case.predictors), case, case.predictors)


def _panel_same_draw(case: PanelCase) -> None:
    """The same generators must give the same fit and the same draw."""
    first, again = (_draw(case.fit(), case.predictors) for _ in range(2))
    require(first.equals(again), "two draws differ")


def _panel_other_draw(case: PanelCase) -> None:
    """Another generator must give another draw."""
    if case.target.variable.n_codes == 1 and not case.model.abilities.career:
        return
    fitted = case.fit()
    first = _draw(fitted, case.predictors)
    others = [_draw(fitted, case.predictors, seed) for seed in (3, 4)]
    require(not all(first.equals(other) for other in others), "three draws are equal")


def _panel_saved(case: PanelCase) -> None:
    """What to_dict returns must be plain, and rebuild a model that draws the same."""
    fitted = case.fit()
    again = rebuilt(case.model, fitted)
    same = _draw(fitted, case.predictors).equals(_draw(again, case.predictors))
    require(same, "the rebuilt model draws differently")


def _panel_keeps_no_frame(case: PanelCase) -> None:
    """The fitted model must not hold the confidential predictors."""
    require_no_frame(case.fit(), case.predictors)


def _few_persons(case: PanelCase) -> None:
    """Fit must work on one person, a draw for one and for five persons."""
    for fitted in (case.fit(), case.of_persons(np.array([20])).fit()):
        for n in (1, 5):
            few = case.predictors.take_units(np.arange(20, 20 + n))
            _check(_draw(fitted, few), case, few)


def _one_period(case: PanelCase) -> None:
    """Fit and draw must work where every person is there once, in the only period."""
    one = case.of_rows(PanelIndex.of_presence(np.ones((30, 1), dtype=bool), np.array([1999.0])))
    _check(_draw(one.fit(), one.predictors), case, one.predictors)


def _panel_unseen_values(case: PanelCase) -> None:
    """A draw must accept predictor levels and numbers that fit has not seen."""
    new = panel_predictors(unseen=True)
    _check(_draw(case.fit(), new), case, new)


def _panel_no_predictors(case: PanelCase) -> None:
    """Fit and draw must work without any predictor."""
    bare = dataclasses.replace(case, predictors=case.predictors.select(()))
    _check(_draw(bare.fit(), bare.predictors), case, bare.predictors)


def _rules(case: PanelCase) -> None:
    """A draw must keep the rules from period to period; a fit that cannot raises RuleError."""
    if not isinstance(case.model, HistoryModel):
        return
    for rule in _path_rules(case):
        rng = np.random.default_rng(1)
        try:
            fitted = case.model.fit_history(case.predictors, case.target, (rule,), rng=rng)
            drawn = _draw(fitted, case.predictors)
        except RuleError:
            continue
        _check(drawn, case, case.predictors)
        if drawn.values is not None:
            broken = broken_steps(drawn.index, drawn.values, [rule])
            require(not broken.any(), f"{int(broken.sum())} rows break '{rule.text}'")


def _path_rules(case: PanelCase) -> list[PathRule]:
    variable, rules = case.target.variable, []
    if variable.is_coded:
        allowed = np.ones((variable.n_codes, variable.n_codes), dtype=bool)
        allowed[0, 1:] = False
        text = f"never leaves {variable.labels[0]!r}"
        rules.append(PathRule(variable=variable.name, allowed=allowed, text=text))
    ordered = variable.kind in (Kind.ORDERED, Kind.NUMERIC, Kind.DATE)
    if ordered and not case.model.abilities.career:
        rules.append(PathRule(variable=variable.name, non_decreasing=True, text="never falls"))
    return rules


def _limits(case: PanelCase) -> None:
    """A draw must keep structural zeros; where it cannot it raises RuleError."""
    fitted, table = case.fit(), case.predictors
    require(isinstance(fitted, FittedHistory), "fit returned no FittedHistory")
    first = _draw(fitted, table).values
    if first is None or not isinstance(fitted, FittedHistory):
        return

    def judge(rows: IntArray, values: Column) -> BoolArray:
        """Forbid in every other period what was drawn for the first row."""
        same = (values.data == first.data[0]) & (values.missing_state() == first.missing_state()[0])
        return np.asarray(same & (table.index.period[rows] % 2 == 1))

    limits = Limits(judge, reserve_of(case.target, np.random.default_rng(5)))
    try:
        drawn: Any = fitted.draw(table, limits, rng=np.random.default_rng(2))
    except RuleError:
        return
    _check(_Drawn(table.index, drawn), case, table)
    broken = judge(np.arange(table.n_rows), drawn)
    require(not broken.any(), f"{int(broken.sum())} rows hold what is forbidden")


def check_model(model: ConditionalModel, *, kinds: Collection[Kind] | None = None) -> None:
    """Check that a model keeps the contract of `ConditionalModel` and `FittedModel`.

    A model whose abilities name a panel is tested on 40 persons in five periods, with gaps: see
    `synthesizer.models.histories.history` for its contract.

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
