"""What the time to an event depends on, so that a Cox model of the drawn times holds.

The scores of a Cox model with log-hazard b'x compare, for each x, the events with the sum of
x exp(b'x) H(t) over all rows, H being the baseline's cumulative hazard (Cox 1972, JRSS B 34;
Breslow 1974, Biometrics 30). The events hold by the model that drew them. A tilt keeps the products
of the time with its features; so it holds the sum as far as H is linear in t once its features
include x exp(b'x). White and Royston (2009, Statistics in Medicine 28) impute by the same argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.models.kit.features import MIN_ROWS, Features, Levels, Number
from synthesizer.models.kit.numerics import check_floats, newton
from synthesizer.models.kit.predictors import Float32Array

FIT_ROWS = 20_000
"""Rows that hazards are learnt from."""
RIDGE = 1.0
MOST_OUTCOMES = 4
"""Outcomes with a hazard of their own: the most frequent, with at least `MIN_ROWS` rows."""
MAX_LOG_HAZARD = 4.0
"""Log-hazards are cut at this distance from their mean."""


@dataclass(frozen=True, eq=False)
class Hazards:
    """Features, and those that regressions use multiplied by the hazard of each outcome.

    An outcome is a level of the event: the event itself, the end of observation, or one of
    competing risks. All have a Cox model, so nobody has to say which level is the event.
    """

    features: Features
    log_hazards: Float32Array
    """Coefficients of the features, shape (q, outcomes)."""
    means: Float32Array
    """Of the products in the fit, shape (products,)."""
    spreads: Float32Array
    """Standard deviations likewise, above 0."""

    def __post_init__(self) -> None:
        check_floats("log_hazards", self.log_hazards, (self.features.n_columns, -1))
        n_products = self._n_linear * self.log_hazards.shape[1]
        check_floats("means", self.means, (n_products,))
        check_floats("spreads", self.spreads, (n_products,))
        if not (self.spreads > 0).all():
            raise ValueError("spreads must be above 0")

    @classmethod
    def fit(
        cls,
        features: Features,
        columns: Float32Array,
        event: IntArray,
        is_event: npt.NDArray[np.bool_],
        times: FloatArray,
        rng: np.random.Generator,
    ) -> tuple[Self, Float32Array]:
        """Learn the hazards of n times; also return all columns, shape (n, q + products).

        ``columns`` are those of ``features``, ``event`` the outcome of each row; ``is_event``
        says which columns tell it and have no part in its hazard.
        """
        counts = np.bincount(event)
        outcomes = np.argsort(-counts, kind="stable")[:MOST_OUTCOMES]
        outcomes = np.sort(outcomes[counts[outcomes] >= MIN_ROWS])
        rows: IntArray = np.arange(len(times))
        if len(times) > FIT_ROWS:
            rows = np.sort(rng.choice(len(times), size=FIT_ROWS, replace=False))
        log_hazards = np.zeros((features.n_columns, len(outcomes)), dtype=np.float32)
        used = features.linear & ~is_event
        used[0] = False  # the column of ones
        chosen = columns[np.ix_(rows, np.flatnonzero(used))].astype(np.float64)
        for j, outcome in enumerate(outcomes):
            log_hazards[used, j] = cox(chosen, times[rows], event[rows] == outcome, RIDGE)
        size = int(features.linear.sum()) * len(outcomes)
        unscaled = cls(features, log_hazards, np.zeros(size, np.float32), np.ones(size, np.float32))
        products = unscaled._products(columns)
        means = products.mean(axis=0, dtype=np.float64).astype(np.float32)
        spreads = products.std(axis=0, dtype=np.float64).astype(np.float32)
        fitted = cls(features, log_hazards, means, np.where(spreads > 0, spreads, np.float32(1)))
        return fitted, np.hstack([columns, fitted._products(columns)])

    @property
    def terms(self) -> tuple[Levels | Number, ...]:
        """The predictors."""
        return self.features.terms

    @property
    def n_columns(self) -> int:
        """Number of columns, products included."""
        return self.features.n_columns + len(self.means)

    @property
    def groups(self) -> list[slice]:
        """The columns of each predictor, and the products of each outcome."""
        starts = range(self.features.n_columns, self.n_columns, self._n_linear)
        return [*self.features.groups, *(slice(at, at + self._n_linear) for at in starts)]

    @property
    def linear(self) -> npt.NDArray[np.bool_]:
        """Which columns a researcher's regression may use: products are what Cox models use."""
        return np.append(self.features.linear, np.ones(len(self.means), dtype=bool))

    def matrix(self, predictors: Table) -> Float32Array:
        """Return the columns of some rows, shape (n, n_columns)."""
        columns = self.features.matrix(predictors)
        return np.hstack([columns, self._products(columns)])

    @property
    def _n_linear(self) -> int:
        return int(self.features.linear.sum())

    def _products(self, columns: Float32Array) -> Float32Array:
        hazards = np.exp(np.clip(columns @ self.log_hazards, -MAX_LOG_HAZARD, MAX_LOG_HAZARD))
        linear = columns[:, self.features.linear]
        products = (hazards[:, :, None] * linear[:, None, :]).reshape(len(columns), -1)
        return np.asarray((products - self.means) / self.spreads, dtype=np.float32)


def cox(
    columns: FloatArray, times: FloatArray, event: npt.NDArray[np.bool_], ridge: float
) -> FloatArray:
    """Return the coefficients of a Cox model, shape (q,): ties by Breslow, a normal prior.

    The curvature is that of a Poisson regression on the cumulative hazard, an upper bound.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(4000, 1))
    >>> times = rng.exponential(size=4000) / np.exp(0.5 * x[:, 0])
    >>> cox(x, np.minimum(times, 1.0), times < 1.0, 0.0).round(1).tolist()
    [0.5]
    """
    order = np.argsort(times, kind="stable")
    x, rising, died = columns[order], times[order], event[order].astype(np.float64)
    first = np.searchsorted(rising, rising, side="left")
    last = np.searchsorted(rising, rising, side="right") - 1

    def objective(point: FloatArray) -> tuple[float, FloatArray, FloatArray] | None:
        scores = x @ point
        if np.abs(scores).max(initial=0.0) > 50:
            return None
        hazard = np.exp(scores)
        at_risk = np.cumsum(hazard[::-1])[::-1][first]
        expected = hazard * np.cumsum(died / at_risk)[last]
        loss = died @ (np.log(at_risk) - scores) + 0.5 * ridge * point @ point
        gradient = x.T @ (expected - died) + ridge * point
        curvature = (x * expected[:, None]).T @ x + (ridge + 1e-9) * np.eye(len(point))
        return float(loss), gradient, curvature

    return newton(objective, np.zeros(columns.shape[1]), tolerance=1e-6)
