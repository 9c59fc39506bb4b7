"""Models that draw nothing: a constant, the column itself, an expression, a function of a code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from synthesizer.data.codes import Combinations
from synthesizer.data.derivations import agree_with
from synthesizer.data.errors import DataError, ExpressionError, ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.options import Finite, options
from synthesizer.data.relations import rows_off
from synthesizer.data.table import BoolArray, Column, IntArray, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel, FittedNeighbourhoods
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numbers import min_holders_of
from synthesizer.models.sample import Sample


@dataclass(frozen=True, eq=False)
class FittedConstant(FittedModel):
    """One value, a column of one row."""

    value: Column

    def __post_init__(self) -> None:
        if len(self.value) != 1:
            raise ValueError(f"a constant has one value, got {len(self.value)}")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Repeat the value."""
        return self.value.take(np.zeros(predictors.n_rows, dtype=np.intp))


@options
class Constant(ConditionalModel):
    """Set every row to one value.

    Parameters
    ----------
    value : str, int, float, bool or None
        A level, a number, a date 'YYYY-MM-DD' or a missing code of the variable. None takes the
        value of the confidential data, which must have only one.

    Examples
    --------
    >>> Constant(value="Poland").value
    'Poland'
    """

    abilities = Abilities(uses_predictors=False, deterministic=True)
    fitted_type = FittedConstant

    value: str | int | Finite | bool | None = None

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedConstant:  # noqa: ARG002
        """Check that the value is valid for the variable; see `ConditionalModel.fit`."""
        if self.value is None:
            return FittedConstant(_only_value(target))
        try:
            return FittedConstant(single_value(target.variable, _text(self.value, target.variable)))
        except DataError as error:
            raise ModelError(
                f"model 'constant' of variable {target.name!r} cannot use option 'value': {error}"
            ) from error


def _text(value: str | float | bool, variable: Variable) -> str:
    """Write a value of the configuration as the source does: 1.0 is level '1', true is 'TRUE'."""
    if isinstance(value, bool):
        same = (label for label in variable.labels if label.casefold() == str(value).casefold())
        return next(same, str(value))
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _only_value(target: Column) -> Column:
    states = target.missing_state()
    values = np.where(target.is_observed, target.data, 0)
    count = len(np.unique(np.stack([values, states]), axis=1).T)
    if count != 1:
        raise ModelError(
            f"variable {target.name!r} has {count} distinct values, so model 'constant' needs the "
            "option 'value'"
        )
    return target.take(slice(0, 1))


# Partial synthesis: the confidential column itself, row by row.


@dataclass(frozen=True, eq=False)
class FittedKeep(FittedModel):
    """The confidential column; the engine slices ``column`` when it works in blocks."""

    column: Column

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Return the column; raises ModelError for another number of rows."""
        if predictors.n_rows != len(self.column):
            raise ModelError(
                f"variable {self.column.name!r} is copied row by row: it has {len(self.column)} "
                f"rows, but {predictors.n_rows} are wanted; remove 'rows', or choose a model that "
                "draws"
            )
        return self.column


@options
class Keep(ConditionalModel):
    """Copy the confidential values row by row: the variable is not protected.

    Source: Reiter (2003), partially synthetic data.
    """

    abilities = Abilities(uses_predictors=False, copies_rows=True)
    fitted_type = FittedKeep

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedKeep:  # noqa: ARG002
        """Store the column; see `ConditionalModel.fit`. ``target`` may have missing states."""
        return FittedKeep(target)


# A variable that is computed from earlier ones.


@dataclass(frozen=True, eq=False)
class FittedDerived(FittedModel):
    """An expression of predictors, and the variable that it defines."""

    expression: Expression
    variable: Variable
    mismatches: int
    """Confidential rows whose value differs from the expression."""

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Evaluate the expression; draws nothing.

        Raises
        ------
        ModelError
            If it is undefined in synthetic rows.
        """
        try:
            return self.expression.derive(predictors, self.variable)
        except ExpressionError as error:
            raise ModelError(f"synthetic rows: {problem}" for problem in error.problems) from error


@options
class Derived(ConditionalModel):
    """Compute the variable from earlier ones by an expression.

    Parameters
    ----------
    expression : str
        Formula of earlier variables, for example ``"weight / (height / 100) ** 2"``.

    Examples
    --------
    >>> Derived(expression="weight / (height / 100) ** 2").parsed.names == {"weight", "height"}
    True
    """

    abilities = Abilities(stores_values=False, deterministic=True)
    fitted_type = FittedDerived

    expression: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.expression, str) or not self.expression.strip():
            raise ValueError(
                f"expression ({self.expression!r}) must be a text such as 'weight / height ** 2'"
            )
        self.parsed  # noqa: B018  (a wrong text has to fail here, not in the fit)

    @property
    def parsed(self) -> Expression:
        """The expression; raises ExpressionError when the text is wrong."""
        return Expression.parse(self.expression)

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedDerived:  # noqa: ARG002
        """Count the rows that differ; ``target`` may have missing states here."""
        expression = self.parsed
        mismatches = int((~agreement(expression, predictors, target)).sum())
        return FittedDerived(expression, target.variable, mismatches)


def agreement(expression: Expression, predictors: Table, target: Column) -> BoolArray:
    """Return the rows in which the expression equals the target, up to rounding errors."""
    variable = target.variable
    if not variable.missing:  # an undefined result counts as different
        variable = replace(variable, missing=("",))
    derived = expression.derive(predictors, variable)
    if target.is_coded:
        return np.asarray(derived.data == target.data)
    data = np.asarray(target.data, dtype=np.float64)
    close = agree_with(np.asarray(derived.data), data, variable)
    same_code = derived.missing_state() == target.missing_state()
    return np.asarray(same_code & (close | ~target.is_observed))


# A variable with one value for each code of another: its label, or its group.


@dataclass(frozen=True, eq=False)
class FittedFollows(FittedNeighbourhoods):
    """The value of each code with a single one, and a model of records with other codes."""

    codes: Combinations
    """The values of the other variable."""
    known: IntArray
    """Codes with a single value, rising."""
    values: Column
    """Value of each of these codes."""
    has_gaps: BoolArray
    """Which of these codes have missing cells, too, shape (codes,)."""
    others: FittedModel
    """Model of records with other codes, and of those with gaps."""

    def __post_init__(self) -> None:
        sizes = {len(self.known), len(self.values), len(self.has_gaps)}
        if len(sizes) > 1 or (np.diff(self.known) <= 0).any():
            raise ValueError("every code needs a value")

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Return the value of each record's code; draw it if the code has several.

        If the code has gaps, only whether the value is missing is drawn.
        """
        index = self.codes.positions(predictors, self.known)
        rows = np.flatnonzero(np.append(self.has_gaps, True)[index])
        if len(self.known) == 0:
            return self.others.sample_wider(predictors, steps=steps, rng=rng)
        column = self.values.take(np.maximum(index, 0))
        if not len(rows):
            return column
        drawn = self.others.sample_wider(predictors.take(rows), steps=steps, rng=rng)
        is_drawn = (index[rows] < 0) | ~drawn.is_observed
        return column.replaced(rows[is_drawn], drawn.take(is_drawn))


MIN_OTHERS = 50
"""Fewest records of codes without a single value that have a model of their own."""


@options
class Follows(ConditionalModel):
    """Look up the value that belongs to a code, such as its label or its group.

    If the records of a code have several values, the base model draws them; it learns from these
    records. If they have one value and missing cells, the base model draws which are missing. A
    number is looked up only if at least ``min_holders`` records have the code.

    Parameters
    ----------
    of : str
        The predictor with the codes.
    base : model
        Model that draws the values of codes with several.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> town = Variable(name="town", kind=Kind.CATEGORICAL, levels=("101", "102", "201"))
    >>> county = Variable(name="county", kind=Kind.CATEGORICAL, levels=("North", "South"))
    >>> codes = np.arange(60, dtype=np.int32) % 3
    >>> table = Table([Column(town, codes)])
    >>> target = Column(county, (codes > 1).astype(np.int32))
    >>> fitted = Follows(of="town").fit(table, target, rng=np.random.default_rng(1))
    >>> fitted.sample(table, rng=np.random.default_rng(2)).equals(target)
    True
    """

    fitted_type = FittedFollows
    in_words = "a table of the value of each code"
    predictor_option = "of"

    of: str
    base: ConditionalModel = field(default_factory=Cart)

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedFollows:
        """Learn the value of each code, and the base model; see `ConditionalModel.fit`."""
        self.require(predictors)
        codes = Combinations.of(predictors, [self.of])
        numbers = codes.numbers(predictors)
        order = np.argsort(~target.is_observed, kind="stable")  # observed values first
        known, first, counts = np.unique(numbers[order], return_index=True, return_counts=True)
        first, code, seen = order[first], predictors[self.of], np.flatnonzero(target.is_observed)
        differs = np.isin(known, numbers[rows_off(code, target)])
        several = np.isin(known, numbers[seen][rows_off(code.take(seen), target.take(seen))])
        few = counts < min_holders_of(self.base) if not target.is_coded else np.zeros_like(several)
        is_known = ~(several | few)
        rest = np.flatnonzero(~np.isin(numbers, known[is_known & ~differs]))
        if 0 < len(rest) < MIN_OTHERS and not target.is_coded:  # no model of a few persons
            rest = np.arange(len(target))
        if len(rest):
            others = self.base.fit(predictors.take(rest), target.take(rest), rng=rng)
        else:
            others = Sample().fit(predictors, target, rng=rng)
        values, has_gaps = target.take(first[is_known]), differs[is_known]
        return FittedFollows(codes, known[is_known], values, has_gaps, others)
