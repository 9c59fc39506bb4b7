"""A model with a linear score as a further predictor, so that weak effects are not lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.models._design import Design
from synthesizer.models._linear import Regression
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel, ReadInner, nested
from synthesizer.models.cart import Cart

__all__ = ["FittedScored", "Scored"]

_SCORE = Variable(name="own.score", kind=Kind.NUMERIC)


class FittedScored(FittedModel):
    """A fitted base model and the regression whose prediction it sees."""

    def __init__(self, score: Regression | None, base: FittedModel) -> None:
        self.score = score
        self.base = base

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw by the base model, given the score of every row."""
        return self.base.sample(_with_score(self.score, predictors), rng=rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw by the base model from a wider neighbourhood."""
        return self.base.sample_wider(_with_score(self.score, predictors), steps=steps, rng=rng)

    def to_dict(self) -> dict[str, Any]:
        """Return the regression and the base model."""
        score = None if self.score is None else self.score.to_dict()
        return {"score": score, "base": nested(self.base)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Refuse: the base model is read by `read`."""
        raise ValueError(f"needs a reader of its {len(state)} parts")

    @classmethod
    def read(cls, state: Mapping[str, Any], inner: ReadInner) -> Self:
        """Rebuild from ``to_dict``; raises ValueError where the parts do not fit together."""
        score = None if state["score"] is None else Regression.from_dict(state["score"])
        return cls(score, inner(state["base"]))


def _with_score(score: Regression | None, predictors: Table) -> Table:
    if score is None:
        return predictors
    # a plain table: the base model sees rows, whoever they belong to
    column = Column(_SCORE, score.mean(predictors))
    return Table([*predictors.columns, column], predictors.n_rows)


@dataclass(frozen=True, kw_only=True)
class Scored(ConditionalModel):
    """A base model that also sees the prediction of a linear regression on all predictors.

    A tree splits where it gains most and flattens many weak effects, such as a gap of pay given
    everything else; the score adds them up, and the tree splits it finely. The score is that of
    ranks for numbers, of codes for ordered and two-level targets; targets with more levels
    without order have none. The idea of a linear predictor inside a tree: Chan and Loh (2004),
    LOTUS, J. Computational and Graphical Statistics 13.

    Parameters
    ----------
    base : model
        Any conditional model, usually a tree.
    max_categories : int
        Most dummy columns of one predictor in the regression, >= 1.
    ridge : float
        Penalty of the regression, >= 0.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> columns = [Column(Variable(name=f"x{k}", kind=Kind.NUMERIC), rng.normal(size=400))
    ...            for k in range(9)]
    >>> table = Table(columns)
    >>> y = Column(Variable(name="y", kind=Kind.NUMERIC), sum(c.data for c in columns))
    >>> fitted = Scored(base=Cart(min_leaf=5)).fit(table, y, rng=rng)
    >>> bool(np.corrcoef(fitted.sample(table, rng=rng).data, y.data)[0, 1] > 0.99)
    True
    """

    abilities: ClassVar[Abilities] = Abilities()
    fitted_type: ClassVar[type[FittedModel]] = FittedScored

    base: ConditionalModel = field(default_factory=Cart)
    max_categories: int = 60
    ridge: float = 1.0

    def __post_init__(self) -> None:
        if self.max_categories < 1:
            raise ValueError(f"max_categories ({self.max_categories}) must be at least 1")
        if not self.ridge >= 0:
            raise ValueError(f"ridge ({self.ridge}) must be at least 0")

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedScored:
        """Fit the regression, then the base model; see `ConditionalModel.fit`."""
        score = None
        response = _response(target)
        if response is not None and len(predictors):
            design = Design.fit(predictors, max_categories=self.max_categories)
            score = Regression.fit(design, predictors, response, ridge=self.ridge)
        base = self.base.fit(_with_score(score, predictors), target, rng=rng)
        return FittedScored(score, base)


def _response(target: Column) -> FloatArray | None:
    """Return what the regression is of; None where the levels have no order."""
    variable = target.variable
    if not variable.is_coded:
        values, ranks = np.unique(target.data, return_inverse=True)
        counts = np.bincount(ranks, minlength=len(values))
        middle = np.cumsum(counts) - (counts - 1) / 2
        return np.asarray(middle[ranks], dtype=np.float64)
    if variable.kind is Kind.ORDERED or variable.n_codes == 2:
        return np.asarray(target.data, dtype=np.float64)
    return None
