"""The same value in every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import DataError, ModelError
from synthesizer.data.options import Finite, options
from synthesizer.data.table import Column, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel


@dataclass(frozen=True, eq=False)
class FittedConstant(FittedModel):
    """One value, a column of one row."""

    value: Column

    def __post_init__(self) -> None:
        if len(self.value) != 1:
            raise ValueError(f"a constant holds one value, got {len(self.value)}")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Repeat the value."""
        return self.value.take(np.zeros(predictors.n_rows, dtype=np.intp))


@options
class Constant(ConditionalModel):
    """Set every row to one value.

    Parameters
    ----------
    value : str, int, float, bool or None
        A level, a number, a date 'YYYY-MM-DD' or a missing code of the variable; None takes the
        single value of the confidential data.

    Examples
    --------
    >>> Constant(value="Poland").value
    'Poland'
    """

    abilities = Abilities(uses_predictors=False, deterministic=True)
    fitted_type = FittedConstant

    value: str | int | Finite | bool | None = None

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedConstant:  # noqa: ARG002
        """Check that the variable can hold the value; see `ConditionalModel.fit`."""
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
