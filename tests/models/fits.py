"""Small tables for tests of models, a fit and a draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel, FittedModel


def numeric(
    name: str,
    values: Sequence[float] | np.ndarray,
    decimals: int | None = None,
    *,
    kind: Kind = Kind.NUMERIC,
    states: Sequence[int] | np.ndarray | None = None,
    missing: Sequence[str] = (),
) -> Column:
    variable = Variable(name=name, kind=kind, decimals=decimals, missing=tuple(missing))
    original = None if states is None else np.asarray(states, dtype=np.int8)
    return Column(variable, np.asarray(values, dtype=np.float64), original)


def coded(
    name: str,
    codes: Sequence[int] | np.ndarray,
    n_levels: int,
    missing: Sequence[str] = (),
    kind: Kind = Kind.CATEGORICAL,
) -> Column:
    levels = tuple(f"{name}{k}" for k in range(n_levels))
    variable = Variable(name=name, kind=kind, levels=levels, missing=tuple(missing))
    return Column(variable, np.asarray(codes, dtype=np.int32))


def numbers(**columns: Sequence[float] | np.ndarray) -> Table:
    return Table(numeric(name, values) for name, values in columns.items())


def fit(model: ConditionalModel, predictors: Table, target: Column, seed: int = 1) -> FittedModel:
    return model.fit(predictors, target, rng=np.random.default_rng(seed))


def draw(fitted: FittedModel, predictors: Table, seed: int = 2) -> np.ndarray:
    return fitted.sample(predictors, rng=np.random.default_rng(seed)).data
