"""The conditional models inside a model of histories: values and missing codes in two stages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import BoolArray, Column, Table
from synthesizer.models.base import ConditionalModel, FittedModel, ReadInner, nested
from synthesizer.models.sample import Sample
from synthesizer.steps import FittedStep, Step

__all__ = ["Part", "fit_part", "fit_sign", "signs"]

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        value, state = self.step.value_model, self.step.state_model
        return {
            "variable": self.step.variable.to_dict(),
            "predictors": list(self.step.predictors),
            "value": None if value is None else nested(value),
            "state": None if state is None else nested(state),
        }

    @classmethod
    def read(cls, state: Mapping[str, Any], inner: ReadInner) -> Self:
        """Rebuild from ``to_dict``."""

        def model(name: str) -> FittedModel | None:
            return None if state[name] is None else inner(state[name])

        return cls(
            FittedStep(
                variable=Variable.from_dict(state["variable"]),
                method="",
                predictors=tuple(str(name) for name in state["predictors"]),
                missing_method="",
                value_model=model("value"),
                state_model=model("state"),
            )
        )


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
