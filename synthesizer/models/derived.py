"""A variable that follows from earlier ones by an expression."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.derivations import are_near
from synthesizer.data.errors import ExpressionError, ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.options import options
from synthesizer.data.table import BoolArray, Column, Table, Variable
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel


@dataclass(frozen=True, eq=False)
class FittedDerived(FittedModel):
    """An expression of variables among the predictors, and the variable it yields."""

    expression: Expression
    variable: Variable
    mismatches: int
    """Confidential rows in which the expression does not give the confidential value."""

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Evaluate the expression; draws nothing.

        Raises
        ------
        ModelError
            If it is undefined in synthetic rows, though it may be defined in all confidential ones.
        """
        try:
            return self.expression.derive(predictors, self.variable)
        except ExpressionError as error:
            raise ModelError(f"synthetic rows: {problem}" for problem in error.problems) from error


@options
class Derived(ConditionalModel):
    """Compute the variable from earlier ones, see `synthesizer.data.expressions`.

    Parameters
    ----------
    expression : str
        For example ``"weight / (height / 100) ** 2"``.

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
        """Count the rows that disagree; ``target`` may hold missing states here."""
        expression = self.parsed
        mismatches = int((~agreement(expression, predictors, target)).sum())
        return FittedDerived(expression, target.variable, mismatches)


def agreement(expression: Expression, predictors: Table, target: Column) -> BoolArray:
    """Where the expression gives the value of the target, up to the error of its numbers."""
    variable = target.variable
    if not variable.missing:  # an undefined result has to count, not to stop the fit
        variable = replace(variable, missing=("",))
    derived = expression.derive(predictors, variable)
    if target.is_coded:
        return np.asarray(derived.data == target.data)
    data = np.asarray(target.data, dtype=np.float64)
    close = are_near(np.asarray(derived.data), data, variable)
    same_code = derived.missing_state() == target.missing_state()
    return np.asarray(same_code & (close | ~target.is_observed))
