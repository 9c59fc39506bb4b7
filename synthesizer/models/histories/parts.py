"""The conditional models inside a model of histories: values and missing codes in two stages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import OWN
from synthesizer.data.panel.view import PREFIX, changed_rows
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.sample import Sample
from synthesizer.models.step import FittedStep, Step

_SIGN = "own.sign"


@dataclass(frozen=True, eq=False)
class Part:
    """A fitted base model of one variable; draws missing codes first where a number has some.

    It sees the predictors of its fit only: others that a history adds for a draw are left out.
    """

    step: FittedStep

    def draw(self, predictors: Table, rng: np.random.Generator, *, widen: int = 0) -> Column:
        """Draw a value for every row of ``predictors``."""
        if predictors.names != self.step.predictors:
            predictors = predictors.select(self.step.predictors)
        return self.step.draw(predictors, rng, widen=widen)


def fit_part(
    base: ConditionalModel,
    predictors: Table,
    target: Column,
    rng: np.random.Generator,
    *,
    left_out: Collection[str] = (),
) -> Part:
    """Fit ``base`` to ``target``; the marginal where there are no rows or nothing to tell apart.

    Parameters
    ----------
    base : ConditionalModel
        Any that takes the target's kind, and codes where it is a number with missing codes.
    predictors : Table
        n >= 1 rows.
    target : Column
        n values, missing codes included.
    rng : numpy.random.Generator
        For whatever the fit draws.
    left_out : collection of str
        Predictors that neither the fit nor any draw shall see.
    """
    names = tuple(name for name in predictors.names if name not in left_out)
    model = base if len(target) > 1 else Sample()
    step = Step(
        variable=target.name, method="", model=model, predictors=names,
        missing_model=_of_codes(base),
    )  # fmt: skip
    return Part(step.fit(predictors.with_column(target), (), rng))


def _of_codes(base: ConditionalModel) -> ConditionalModel | None:
    """Return what draws missing codes where ``base`` takes numbers only: the marginal's model."""
    if Kind.CATEGORICAL in base.abilities.kinds and base.abilities.max_levels is None:
        return None
    from synthesizer.models.cart import Cart

    return Cart()


def sign_column(values: BoolArray) -> Column:
    """Return a yes or no for every row as a coded column."""
    variable = Variable(name=_SIGN, kind=Kind.CATEGORICAL, levels=("no", "yes"))
    return Column(variable, values.astype(np.int32))


def fit_sign(
    base: ConditionalModel,
    predictors: Table,
    values: BoolArray,
    rng: np.random.Generator,
    *,
    left_out: Collection[str] = (),
) -> Part:
    """Fit a yes or no; by ``base`` where it takes codes, else by a tree."""
    model = _of_codes(base) or base
    return fit_part(model, predictors, sign_column(values), rng, left_out=left_out)


def signs(part: Part, predictors: Table, rng: np.random.Generator) -> BoolArray:
    """Draw a yes or no for every row, shape (n,)."""
    if not predictors.n_rows:
        return np.zeros(0, dtype=bool)
    return np.asarray(part.draw(predictors, rng).data == 1)


def stacked(columns: Sequence[Column], table: Table) -> Table:
    """Return a plain table with further columns."""
    for column in columns:
        table = table.with_column(column)
    return table


# Which of the earlier variables changed since the person's row before: predictors of a change.


ELAPSED = OWN + "elapsed"
"""Time since the person's row before."""


def change_names(predictors: Iterable[str]) -> tuple[str, ...]:
    """Return what the changes of some predictors are called in each row, see `with_changes`.

    Examples
    --------
    >>> change_names(["year", "career.moves"])
    ('own.elapsed', 'own.changed year')
    """
    names = (name for name in predictors if not name.startswith(PREFIX))
    return (ELAPSED, *(f"{OWN}changed {name}" for name in names))


def ever_names(predictors: Iterable[str]) -> tuple[str, ...]:
    """Return what the changes of some predictors are called of persons.

    See `persons_with_changes`.
    """
    return tuple(f"{OWN}ever {name}" for name in predictors if not name.startswith(PREFIX))


def changing_names(table: PanelTable) -> tuple[str, ...]:
    """Return the variables that some person changes, without time and attributes of careers.

    Time changes in every row, which tells nothing.
    """
    index = table.index
    before = np.maximum(np.arange(index.n_rows) - 1, 0)
    later = ~index.is_first
    names = []
    for column in table.columns:
        changed = changed_rows(column, before)[later]
        if changed.any() and not changed.all() and not column.name.startswith(PREFIX):
            names.append(column.name)
    return tuple(names)


def with_changes(table: PanelTable, names: Sequence[str]) -> PanelTable:
    """Add the time since the row before, and whether each of some variables changed (0 or 1).

    Parameters
    ----------
    table : PanelTable
        r rows.
    names : sequence of str
        See `changing_names`.
    """
    index = table.index
    before = np.maximum(np.arange(index.n_rows) - 1, 0)
    elapsed = Variable(name=ELAPSED, kind=Kind.NUMERIC)
    columns = [*table.columns, Column(elapsed, index.elapsed)]
    for name in names:
        changed = changed_rows(table[name], before) & ~index.is_first
        variable = Variable(name=f"{OWN}changed {name}", kind=Kind.NUMERIC, decimals=0)
        columns.append(Column(variable, changed.astype(np.float64)))
    return PanelTable(columns, index)


def persons_with_changes(table: PanelTable, names: Sequence[str]) -> Table:
    """Return the first row of every person, and whether she ever changes each of some variables.

    Parameters
    ----------
    table : PanelTable
        r rows.
    names : sequence of str
        See `changing_names`.
    """
    index = table.index
    persons = table.first_rows
    for name in names:
        other = changed_rows(table[name], index.starts[index.person])
        ever = np.bincount(index.person[other], minlength=index.n_persons) > 0
        variable = Variable(name=f"{OWN}ever {name}", kind=Kind.NUMERIC, decimals=0)
        persons = persons.with_column(Column(variable, ever.astype(np.float64)))
    return persons


# Where a person stands at the first row, reckoned back from what is observed later.


def elapsed_since_first(index: PanelIndex) -> FloatArray:
    """Return the time since the person's first row, shape (r,)."""
    moment = index.times[index.period]
    return np.asarray(moment - moment[index.starts[index.person]])


def first_observed(index: PanelIndex, target: Column) -> IntArray:
    """Return the first row of every person with a value; the first row where there is none."""
    rows = np.where(target.is_observed, np.arange(index.n_rows), index.n_rows)
    found = np.minimum.reduceat(rows, index.starts)
    return np.where(found < index.starts + index.counts, found, index.starts)


def starting_positions(
    index: PanelIndex, levels: IntArray, top: int, width: float, rng: np.random.Generator
) -> FloatArray:
    """Return where persons stand at their first row, in units of time from the lowest level.

    Level L after the time g means a start in [L width - g, (L + 1) width - g). Each person starts
    at a random place of what all her rows have in common; rows that contradict earlier ones are
    passed over. The lowest level has no lower bound and the highest no upper one.

    Parameters
    ----------
    index : PanelIndex
        r rows of n persons.
    levels : ndarray of int, shape (r,)
        Levels from 0 to ``top``; -1 where there is none.
    top : int
        The highest level.
    width : float
        Time that a level takes, > 0.
    rng : numpy.random.Generator
        For the random places.

    Returns
    -------
    ndarray, shape (n,)
        NaN for persons without any level.

    Examples
    --------
    >>> index = PanelIndex.of_presence(np.ones((1, 4), dtype=bool), np.arange(4.0))
    >>> start = starting_positions(index, np.array([-1, 2, 3, 3]), 9, 5.0, np.random.default_rng(1))
    >>> bool((13 <= start).all() and (start < 14).all())  # level 3 from the third row on
    True
    """
    gone = elapsed_since_first(index)
    low = np.where(levels > 0, levels * width - gone, -np.inf)
    high = np.where((levels >= 0) & (levels < top), (levels + 1) * width - gone, np.inf)
    least, most = np.full(index.n_persons, -np.inf), np.full(index.n_persons, np.inf)
    for step in range(int(index.counts.max(initial=0))):
        persons = np.flatnonzero(index.counts > step)
        rows = index.starts[persons] + step
        lower, upper = np.maximum(least[persons], low[rows]), np.minimum(most[persons], high[rows])
        agrees = lower < upper
        least[persons[agrees]], most[persons[agrees]] = lower[agrees], upper[agrees]
    # one level wide where a bound is open, but not below the lowest level without need
    open_below = np.where(np.isinf(most), -np.inf, np.minimum(0.0, most - width))
    least = np.where(np.isinf(least), open_below, least)
    most = np.where(np.isinf(most), least + width, most)
    places = np.where(np.isinf(least), 0.0, least)
    spans = np.where(np.isinf(least), 0.0, most - places)
    found = places + rng.random(index.n_persons) * spans
    return np.where(np.isinf(least), np.nan, found)
