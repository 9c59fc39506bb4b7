"""A test of the contract of conditional models, for the authors of models.

A package with a model calls it in its tests::

    from synthesizer.engine.testing import check_model

    def test_contract():
        check_model(MyModel(min_leaf=2))

The predictors of the test are ``p_number`` (one decimal), ``p_coded``, ``p_ordered``, ``p_date``
and ``p_gappy`` (numeric with two missing codes). A model that names its predictors, such as a
derived expression, uses these names. A model of histories or careers gets the same predictors as
rows of persons and periods.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.errors import RuleError
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import codec
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.histories.history import (
    FittedCareerModel,
    FittedHistory,
    HistoryModel,
    panel_of,
)
from synthesizer.models.limits import Limits, reserve_of


def check_model(model: ConditionalModel, *, kinds: Collection[Kind] | None = None) -> None:
    """Check that a model satisfies the contract of `ConditionalModel` and `FittedModel`.

    A model with the ability ``panel`` is tested on 40 persons in five periods, with gaps; its
    contract is in `synthesizer.models.histories.history`.

    Parameters
    ----------
    model : ConditionalModel
        The model with the options to test. Small leaves (``min_leaf=2``) test more.
    kinds : collection of Kind, optional
        Kinds of target to test; by default all kinds of its abilities.

    Raises
    ------
    AssertionError
        On the first broken clause; the message contains the clause and the target.

    Examples
    --------
    >>> from synthesizer.models.sample import Sample
    >>> check_model(Sample())
    """
    chosen = model.abilities.kinds if kinds is None else frozenset(kinds)
    require(chosen, "kinds must name at least one kind of target")
    panel = model.abilities.panel
    for label, target in panel_targets(model, chosen) if panel else targets(model, chosen):
        case = Case(model, panel_predictors() if panel else predictors(), target)
        for clause in clauses(model):
            _run(clause, case, label)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Drawn values (None for presence only), and the rows of a panel."""

    values: Column | None
    index: PanelIndex | None = None

    def equals(self, other: Drawn) -> bool:
        """Whether values, missing codes and the rows of a panel are equal."""
        if self.index is not None and other.index is not None:
            a, b = self.index, other.index
            if not np.array_equal(a.person, b.person) or not np.array_equal(a.period, b.period):
                return False
        if self.values is None or other.values is None:
            return self.values is other.values
        return self.values.equals(other.values)


@dataclasses.dataclass(frozen=True)
class Case:
    """A model with data to test it."""

    model: ConditionalModel
    predictors: Table
    target: Column

    def fit(self, seed: int = 1) -> FittedModel:
        """Return the model fitted to the whole case."""
        return self.model.fit(self.predictors, self.target, rng=np.random.default_rng(seed))

    @functools.cached_property
    def fitted(self) -> FittedModel:
        """The fitted model that the clauses share."""
        return self.fit()

    def drawn(self, fitted: FittedModel, table: Table | None = None, seed: int = 2) -> Drawn:
        """Return a draw for a table, by default the predictors of the case."""
        table, rng = self.predictors if table is None else table, np.random.default_rng(seed)
        if isinstance(fitted, FittedCareerModel):
            panel = panel_of(table)
            closed = PanelIndex.of_persons(panel.n_units, panel.index.times)
            opened, states = fitted.open(PanelTable(panel.first_rows.columns, closed), rng=rng)
            return Drawn(states, opened)
        index = table.index if isinstance(table, PanelTable) else None
        return Drawn(fitted.sample(table, rng=rng), index)

    def check(self, drawn: Drawn, table: Table) -> None:
        """Raise unless a draw has values of the target for all rows of a table, or of careers."""
        career = self.model.abilities.career
        if career and drawn.index is not None:
            _check_careers(drawn.index, panel_of(table))
        if drawn.values is None:
            require(career, "no values were drawn")
            return
        n = drawn.index.n_rows if career and drawn.index is not None else table.n_rows
        _check_column(drawn.values, n, self.target, self.model)

    def works(self, fitted: FittedModel, table: Table) -> None:
        """Draw for a table, and check the draw."""
        self.check(self.drawn(fitted, table), table)

    def of_units(self, units: IntArray) -> Case:
        """Return the case of some rows, or of some persons of a panel."""
        panel = self.predictors.owners is not None
        rows = panel_of(self.predictors).index.rows_of(units) if panel else units
        predictors = self.predictors.take_units(units)
        return dataclasses.replace(self, predictors=predictors, target=self.target.take(rows))

    def of_rows(self, index: PanelIndex) -> Case:
        """Return a case with the first values as rows of other persons."""
        rows = slice(0, index.n_rows)
        columns = [column.take(rows) for column in self.predictors.columns]
        predictors = PanelTable(columns, index)
        return dataclasses.replace(self, predictors=predictors, target=self.target.take(rows))


Clause = Callable[[Case], None]


def clauses(model: ConditionalModel) -> tuple[Clause, ...]:
    """Return the clauses that apply to the abilities of a model."""
    abilities = model.abilities
    always = (_inputs_unchanged, _read_only_inputs, _result, _same_draw, _saved, _keeps_no_frame)
    if abilities.copies_rows:
        return (*always, _copies)
    drawn = (*always, _few_units, _unseen_values)
    if abilities.career:
        return (*drawn, _other_draw, _no_predictors, _one_period, _rules)
    if abilities.panel:
        return (*drawn, _other_draw, _no_predictors, _one_period, _rules, _limits)
    if abilities.deterministic:
        return (*drawn, _wider)
    return (*drawn, _wider, _other_draw, _constant_target, _no_predictors)


def _run(clause: Clause, case: Case, label: str) -> None:
    sentence = clause.__doc__ or clause.__name__
    context = f"{type(case.model).__name__} on {label}: {sentence}"
    try:
        clause(case)
    except AssertionError as error:
        raise AssertionError(f"{context} But {error}.") from error
    except Exception as error:
        raise AssertionError(f"{context} But it raised {type(error).__name__}: {error}") from error


# The docstring of each clause is part of the message of a failure


def _inputs_unchanged(case: Case) -> None:
    """Fit and draw must leave their inputs unchanged."""
    columns = [*case.predictors.columns, case.target]
    before = [
        Column(c.variable, c.data.copy(), None if c.states is None else c.states.copy())
        for c in columns
    ]
    case.drawn(case.fit())
    for old, new in zip(before, columns, strict=True):
        require(old.equals(new), f"variable {new.name!r} changed")


def _read_only_inputs(case: Case) -> None:
    """Fit and draw must accept read-only arrays, which parallel workers get."""
    for column in (*case.predictors.columns, case.target):
        column.data.flags.writeable = False
        if column.states is not None:
            column.states.flags.writeable = False
    case.drawn(case.fitted)


def _result(case: Case) -> None:
    """A draw must return allowed values of the target, one for each row."""
    fitted, abilities = case.fitted, case.model.abilities
    if abilities.panel:
        wanted = FittedCareerModel if abilities.career else FittedHistory
        require(isinstance(fitted, wanted), f"fit returned no {wanted.__name__}")
    case.works(fitted, case.predictors)


def _same_draw(case: Case) -> None:
    """The same generators must give the same fit and the same draw."""
    first, again = (case.drawn(fitted) for fitted in (case.fitted, case.fit()))
    require(first.equals(again), "two draws differ")


def _other_draw(case: Case) -> None:
    """Another generator must give another draw, unless the model is deterministic."""
    if case.target.variable.n_codes == 1 and not case.model.abilities.career:
        return
    fitted = case.fitted
    first, *others = (case.drawn(fitted, seed=seed) for seed in (2, 3, 4))
    require(not all(first.equals(draw) for draw in others), "three draws are equal")


def _saved(case: Case) -> None:
    """A saved model must draw the same values as the fitted one: fields are annotated and plain."""
    fitted = case.fitted
    require(type(fitted) is case.model.fitted_type, "fit returned another class than fitted_type")
    again = rebuilt(fitted)
    require(case.drawn(fitted).equals(case.drawn(again)), "the rebuilt model draws differently")


def _keeps_no_frame(case: Case) -> None:
    """The fitted model must not contain the confidential predictors."""
    names, n_rows = set(case.predictors), case.predictors.n_rows
    for value in _reachable(case.fitted, set()):
        require(not isinstance(value, Table), "it contains a table")
        if isinstance(value, Column):
            require(value.name not in names, f"it contains the column {value.name!r}")
        if isinstance(value, np.ndarray) and value.shape[:1] == (n_rows,):
            for column in case.predictors.columns:
                has = _has_column(value, column.data)
                require(not has, f"it contains the values of {column.name}")


def _few_units(case: Case) -> None:
    """Fit must work on one row or person, and a draw for none, one and five of them."""
    for fitted in (case.fitted, case.of_units(np.array([20])).fit()):
        for n in (1, 5) if case.model.abilities.panel else (0, 1, 5):
            case.works(fitted, case.predictors.take_units(np.arange(20, 20 + n)))


def _constant_target(case: Case) -> None:
    """A constant target must be drawn as that constant."""
    constant = case.target.take(np.zeros(len(case.target), dtype=np.intp))
    drawn = case.drawn(dataclasses.replace(case, target=constant).fit()).values
    same = drawn is not None and np.allclose(drawn.data, constant.data, rtol=1e-6)
    require(same, "other values were drawn")


def _no_predictors(case: Case) -> None:
    """Fit and draw must work with only the predictors that the options name."""
    bare = dataclasses.replace(case, predictors=case.predictors.select(case.model.needs))
    bare.works(bare.fit(), bare.predictors.take_units(np.arange(7)))


def _unseen_values(case: Case) -> None:
    """A draw must accept levels and numbers of predictors that were not in the fit."""
    panel = case.model.abilities.panel
    case.works(case.fitted, panel_predictors(unseen=True) if panel else predictors(50, unseen=True))


def _wider(case: Case) -> None:
    """sample_wider must satisfy the contract of sample for any number of steps."""
    fitted = case.fitted
    for steps in (0, 1, 3, 100):
        draws = [
            fitted.sample_wider(case.predictors, steps=steps, rng=np.random.default_rng(2))
            for _ in range(2)
        ]
        case.check(Drawn(draws[0]), case.predictors)
        require(draws[0].equals(draws[1]), "the same generator gave two draws that differ")
        if not steps:
            same = case.drawn(fitted).equals(Drawn(draws[0]))
            require(same, "a draw that is 0 steps wider differs from that of sample")


def _copies(case: Case) -> None:
    """A model that copies rows must return the target itself."""
    require(case.drawn(case.fitted).equals(Drawn(case.target)), "values differ")


def _one_period(case: Case) -> None:
    """Fit and draw must work for persons who are all present once, in a single period."""
    single = case.of_rows(PanelIndex.of_presence(np.ones((30, 1), dtype=bool), np.array([1999.0])))
    single.works(single.fit(), single.predictors)


def _rules(case: Case) -> None:
    """A draw must satisfy rules from period to period; a fit that cannot must raise RuleError."""
    if not isinstance(case.model, HistoryModel):
        return
    table = panel_of(case.predictors)
    for rule in _path_rules(case):
        rng = np.random.default_rng(1)
        try:
            drawn = case.drawn(case.model.fit_history(table, case.target, (rule,), rng=rng))
        except RuleError:
            continue
        case.check(drawn, table)
        if drawn.values is not None and drawn.index is not None:
            broken = broken_steps(drawn.index, drawn.values, [rule])
            require(not broken.any(), f"{int(broken.sum())} rows break '{rule.text}'")


def _path_rules(case: Case) -> list[PathRule]:
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


def _limits(case: Case) -> None:
    """A draw must respect structural zeros, or raise RuleError."""
    fitted, table = case.fitted, panel_of(case.predictors)
    first = case.drawn(fitted).values
    if first is None or not isinstance(fitted, FittedHistory):
        return

    def judge(rows: IntArray, values: Column) -> BoolArray:
        """Forbid the value of the first row in every second period."""
        same = (values.data == first.data[0]) & (values.missing_state() == first.missing_state()[0])
        return np.asarray(same & (table.index.period[rows] % 2 == 1))

    limits = Limits(judge, reserve_of(case.target, np.random.default_rng(5)))
    try:
        drawn = fitted.draw(table, limits, rng=np.random.default_rng(2))
    except RuleError:
        return
    case.check(Drawn(drawn, table.index), table)
    broken = judge(np.arange(table.n_rows), drawn)
    require(not broken.any(), f"{int(broken.sum())} rows have a forbidden value")


def require(holds: object, reason: str) -> None:
    """Raise AssertionError unless a condition holds, also under ``python -O``."""
    if not holds:
        raise AssertionError(reason)


def rebuilt(fitted: FittedModel) -> FittedModel:
    """Return a fitted model after writing it to a file and reading it again.

    Models inside it must be registered, as in a saved model.
    """
    saving, kind = codec(Registry.load()), type(fitted)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model"
        write_archive(path, saving.plain(kind, fitted), kind="check")
        again: FittedModel = saving.typed(kind, read_archive(path, kind="check"))
    return again


def _check_careers(index: PanelIndex, table: PanelTable) -> None:
    require(index.n_persons == table.n_units, "careers of other persons were drawn")
    seen = np.bincount(index.person, minlength=index.n_persons)
    require((seen > 0).all(), "a person is present in no period")
    key = index.person * index.n_periods + index.period
    require((np.diff(key) > 0).all(), "rows are not in order of persons and periods")
    require(np.array_equal(index.times, table.index.times), "the periods differ")


def _check_column(drawn: Column, n: int, target: Column, model: ConditionalModel) -> None:
    """Require ``n`` allowed values of a variable, from the data unless the model makes new ones."""
    variable: Variable = target.variable
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
        _check_numbers(drawn.take(drawn.is_observed), target, model)


def _check_numbers(drawn: Column, donors: Column, model: ConditionalModel) -> None:
    decimals = drawn.variable.decimals
    require(np.isfinite(drawn.data).all(), "values are not finite")
    if not (model.makes_new_values or model.abilities.deterministic):
        is_donor_value = np.isin(drawn.data, donors.data)
        words = "values are new, but neither the abilities nor makes_new_values declare it"
        require(is_donor_value.all(), words)
    if decimals is not None:
        same = np.array_equal(drawn.data, np.round(drawn.data, decimals))
        require(same, f"values have more than {decimals} decimals")


def _has_column(array: npt.NDArray[Any], data: npt.NDArray[Any]) -> bool:
    wide = array.reshape(len(data), -1)
    if wide.dtype.kind not in "iuf":
        return False
    numbers = wide.astype(np.float64).T
    exact = data.astype(np.float64)
    return any(np.array_equal(column, exact, equal_nan=True) for column in numbers)


def _reachable(value: object, seen: set[int]) -> Iterator[object]:
    """Yield a value and all values inside it: attributes, items of mappings and sequences."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | type):
        return
    seen.add(id(value))
    yield value
    for member in _parts(value):
        yield from _reachable(member, seen)


def _parts(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    slots = getattr(type(value), "__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, n, None) for n in names)]


N_ROWS = 160
N_PERSONS = 40
TIMES = (1990.0, 1991.0, 1992.0, 1995.0, 1996.0)


def predictors(n: int = N_ROWS, *, unseen: bool = False) -> Table:
    """Return the predictors of the test; ``unseen`` adds a new level and numbers out of range."""
    rng = np.random.default_rng(20)
    number = np.round(rng.normal(50, 10, n), 1)
    coded = rng.integers(0, 3, n)
    coded[rng.random(n) < 0.1] = 4  # the missing code; level 3 is never seen
    states = rng.choice([0, 1, 2], n, p=[0.7, 0.2, 0.1]).astype(np.int8)
    gappy = np.where(states == 0, np.round(rng.gamma(2, 5, n)), np.nan)
    date = np.floor(rng.uniform(10_000, 12_000, n))
    if unseen:
        coded[::3] = 3
        number[::4] = 1e4
        date[::5] = -1e4
    return Table(
        [
            Column(_variable("p_number", Kind.NUMERIC, decimals=1), number),
            Column(
                _variable("p_coded", Kind.CATEGORICAL, levels=tuple("abcd"), missing=("",)),
                coded.astype(np.int32),
            ),
            Column(
                _variable("p_ordered", Kind.ORDERED, levels=("low", "mid", "high")),
                rng.integers(0, 3, n).astype(np.int32),
            ),
            Column(_variable("p_date", Kind.DATE), date),
            Column(
                _variable("p_gappy", Kind.NUMERIC, missing=("-8", "-9"), decimals=0), gappy, states
            ),
        ]
    )


def _variable(name: str, kind: Kind, **more: Any) -> Variable:
    return Variable(name=name, kind=kind, **more)


def targets(model: ConditionalModel, kinds: Collection[Kind]) -> Iterator[tuple[str, Column]]:
    """Yield targets of some kinds, each with a description; they depend on ``p_number``."""
    rng = np.random.default_rng(21)
    score = (predictors()["p_number"].data - 50) / 10 + rng.normal(size=N_ROWS)
    most = model.abilities.max_levels
    for kind in (kind for kind in Kind if kind in kinds):
        if kind.is_coded:
            size = 2 if kind is Kind.BOOLEAN else min(4, most or 4)
            for variable in _coded_variables(kind, size, most):
                yield _label(variable), Column(variable, _ranked(score, variable.n_codes))
        elif kind is Kind.DATE:
            yield "a date target", Column(_variable("y", kind), np.floor(11_000 + 300 * score))
        elif kind is Kind.NUMERIC:
            for decimals, values in ((0, score * 20), (1, score), (None, np.exp(score))):
                data = values if decimals is None else np.round(np.abs(values) + 1, decimals)
                variable = _variable("y", kind, decimals=decimals)
                yield _label(variable), Column(variable, data)


def panel_predictors(*, unseen: bool = False) -> PanelTable:
    """Return the same predictors as rows of 40 persons: present once, with a gap, and always."""
    present = np.ones((N_PERSONS, len(TIMES)), dtype=bool)
    once, gap = np.arange(8), np.arange(8, 16)
    present[once] = False
    present[once, once % len(TIMES)] = True
    present[gap, 1 + gap % 3] = False
    index = PanelIndex.of_presence(present, np.array(TIMES))
    return PanelTable(predictors(unseen=unseen).columns, index)


def panel_targets(model: ConditionalModel, kinds: Collection[Kind]) -> Iterator[tuple[str, Column]]:
    """Yield the same targets, and a number with missing codes.

    Half of the persons have one value in all periods.
    """
    index = panel_predictors().index
    constant = index.person % 2 == 0
    rows = np.where(constant, index.starts[index.person], np.arange(N_ROWS))
    for label, target in targets(model, kinds):
        yield label, target.take(rows)
    if Kind.NUMERIC in kinds:
        gappy = predictors()["p_gappy"]
        variable = _variable("y", Kind.NUMERIC, missing=gappy.variable.missing, decimals=0)
        target = Column(variable, gappy.data, gappy.states)
        yield f"{_label(variable)} and 2 missing codes", target.take(rows)


def _coded_variables(kind: Kind, size: int, most: int | None) -> Iterator[Variable]:
    levels = ("false", "true") if kind is Kind.BOOLEAN else tuple("abcd"[:size])
    yield _variable("y", kind, levels=levels)
    yield _variable("y", kind, levels=levels[:1])
    if most is None or most > size:
        yield _variable("y", kind, levels=levels, missing=("", "N"))


def _label(variable: Variable) -> str:
    if variable.is_coded:
        codes = f" and {len(variable.missing)} missing codes" if variable.missing else ""
        article = "an" if variable.kind is Kind.ORDERED else "a"
        return f"{article} {variable.kind.value} target of {len(variable.levels)} levels{codes}"
    return f"a numeric target of {variable.decimals} decimals"


def _ranked(score: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.int32]:
    """Return scores divided into ``size`` codes of about equal frequency."""
    ranks = np.argsort(np.argsort(score))
    return (ranks * size // len(score)).astype(np.int32)
