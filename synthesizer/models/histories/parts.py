"""The conditional models inside a model of histories: values and missing codes in two stages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import FORMER, OWN, number_column
from synthesizer.data.panel.view import PREFIX, changed_rows, changers
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.cart import Cart
from synthesizer.models.domains import Chances
from synthesizer.models.kit.numbers import SafeNumbers, made_safe, min_holders_of
from synthesizer.models.limits import Limits, redrawn
from synthesizer.models.sample import Sample
from synthesizer.models.step import FittedStep, Step

ROWS = f"{PREFIX}periods"
"""The number of rows of a person."""
_SIGN = Variable(name="own.sign", kind=Kind.CATEGORICAL, levels=("no", "yes"))


@dataclass(frozen=True, eq=False)
class FittedPart:
    """A fitted base model of one variable; for numbers it draws missing codes first.

    It uses the predictors of its fit only.
    """

    step: FittedStep
    numbers: SafeNumbers | None = None
    """Replaces numbers that are rare in all periods together."""

    def draw(self, predictors: Table, rng: np.random.Generator, *, widen: int = 0) -> Column:
        """Draw a value for every row of ``predictors``."""
        if predictors.names != self.step.predictors:
            predictors = predictors.select(self.step.predictors)
        return made_safe(self.step.draw(predictors, rng, widen=widen), self.numbers, rng)

    def chances(self, predictors: Table, *, widen: int = 0) -> Chances | None:
        """Return the probability of each code in each row; see `FittedModel.chances`."""
        if predictors.names != self.step.predictors:
            predictors = predictors.select(self.step.predictors)
        return self.step.chances(predictors, widen=widen)

    def draw_allowed(
        self, predictors: Table, limits: Limits, rng: np.random.Generator
    ) -> tuple[Column, IntArray]:
        """Draw within limits; also return rows without an allowed value; see `redrawn`."""

        def again(rows: IntArray, widen: int) -> Column:
            return self.draw(predictors.take(rows), rng, widen=widen)

        def chances(rows: IntArray, widen: int) -> Chances | None:
            return self.chances(predictors.take(rows), widen=widen)

        return redrawn(self.draw(predictors, rng), again, limits, rng, chances=chances)


def fit_part(
    base: ConditionalModel,
    predictors: Table,
    target: Column,
    rng: np.random.Generator,
    *,
    left_out: Collection[str] = (),
    numbers: SafeNumbers | None = None,
) -> FittedPart:
    """Fit ``base`` to n >= 1 values, including missing codes; the marginal if n is 1.

    ``numbers`` replaces rare numbers. The predictors ``left_out`` are not used.
    """
    names = tuple(name for name in predictors.names if name not in left_out)
    model = base if len(target) > 1 else Sample(min_holders=min_holders_of(base))
    step = Step(
        variable=target.name, method="", model=model, predictors=names,
        missing_model=_of_codes(base),
    )  # fmt: skip
    fitted = step.fit(predictors.with_column(target), (), rng)
    if fitted.within is None or numbers is None:
        return FittedPart(fitted, numbers)
    # a number that equals its bound is not replaced
    within = replace(fitted.within, reach=numbers.reach, numbers=numbers)
    return FittedPart(replace(fitted, within=within))


def of_persons(base: ConditionalModel) -> ConditionalModel:
    """Return ``base`` for one value a person, which is repeated in all rows of the person.

    Tables and regressions of rows weight a person by the number of rows. So a leaf regression has
    this number as a moderator, and keeps relations among rows and among persons.
    """
    return base.moderated([ROWS])


def _of_codes(base: ConditionalModel) -> ConditionalModel | None:
    """Return a model of missing codes if ``base`` accepts numbers only."""
    if Kind.CATEGORICAL in base.abilities.kinds and base.abilities.max_levels is None:
        return None
    return Cart()


def fit_codes(
    base: ConditionalModel,
    predictors: Table,
    target: Column,
    rng: np.random.Generator,
    *,
    left_out: Collection[str] = (),
) -> FittedPart:
    """Fit a coded target by ``base``, or by a tree if ``base`` accepts numbers only."""
    return fit_part(_of_codes(base) or base, predictors, target, rng, left_out=left_out)


def sign_column(values: BoolArray) -> Column:
    """Return a yes or no for every row as a coded column."""
    return Column(_SIGN, values.astype(np.int32))


ELAPSED = OWN + "elapsed"
"""Time since the person's row before."""


def change_names(predictors: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the columns of `with_changes`."""
    names = (name for name in predictors if not name.startswith(PREFIX))
    return (ELAPSED, *(f"{OWN}changed {name}" for name in names))


def ever_names(predictors: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the columns of `persons_with_changes`."""
    return tuple(f"{OWN}ever {name}" for name in predictors if not name.startswith(PREFIX))


def changing_names(table: PanelTable) -> tuple[str, ...]:
    """Return the variables that change in some but not all later rows, no attributes of careers."""
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
    """Add the time since the row before, and whether each of some variables changed (0 or 1)."""
    index = table.index
    before = np.maximum(np.arange(index.n_rows) - 1, 0)
    added = [number_column(ELAPSED, index.elapsed)]
    for name in names:
        changed = changed_rows(table[name], before) & ~index.is_first
        added.append(number_column(f"{OWN}changed {name}", changed.astype(np.float64)))
    return table.with_columns(added)


def with_former(table: PanelTable, names: Sequence[str]) -> PanelTable:
    """Add the numbers of some variables in the row before; first rows have the present ones."""
    before = np.arange(table.n_rows) - ~table.index.is_first
    for name in names:
        variable = Variable(name=FORMER + name, kind=Kind.NUMERIC)
        table = table.with_column(Column(variable, table[name].data[before]))
    return table


def persons_with_changes(table: PanelTable, names: Sequence[str]) -> Table:
    """Return the first row of every person, and whether each of some variables ever changes."""
    ever = {name: changers(table.index, table[name]).astype(np.float64) for name in names}
    columns = (number_column(f"{OWN}ever {name}", values) for name, values in ever.items())
    return table.first_rows.with_columns(columns)


NO_PAST = "(no past)"
"""Missing code of the value before in the first row of a person."""


def with_no_past(columns: Sequence[Column], has_past: BoolArray) -> tuple[Column, ...]:
    """Return the columns of `past_columns`, missing or 0 in first rows."""
    before, *numbers = columns
    variable = replace(before.variable, missing=(*before.variable.missing, NO_PAST))
    if variable.is_coded:
        codes = np.where(has_past, before.data, variable.n_codes - 1)
        first = Column(variable, codes.astype(np.int32))
    else:
        states = np.where(has_past, before.missing_state(), len(variable.missing))
        data = np.where(states > 0, np.nan, before.data)
        first = Column(variable, data, states.astype(np.int8))
    others = (Column(c.variable, np.where(has_past, c.data, 0.0)) for c in numbers)
    return (first, *others)


def first_observed(index: PanelIndex, target: Column) -> IntArray:
    """Return the first row with a value of every person; the first row if there is none."""
    rows = np.where(target.is_observed, np.arange(index.n_rows), index.n_rows)
    first = np.minimum.reduceat(rows, index.starts)
    return np.where(first < index.starts + index.counts, first, index.starts)


MIN_STARTS = 100
"""New persons who are enough for a fit without those of earlier periods."""


def recent_starts(index: PanelIndex) -> IntArray:
    """Return the first rows of persons who are new in the last period; more if these are few.

    New persons of earlier periods are added period by period. Persons of the first period may have
    been there before, so they count only if no person is new later.
    """
    began = index.period[index.starts]
    for period in range(index.n_periods - 1, 0, -1):
        is_new = began >= period
        if is_new.sum() >= MIN_STARTS:
            return index.starts[is_new]
    later = began > 0
    return index.starts[later] if later.any() else index.starts
