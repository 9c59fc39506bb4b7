"""Fit a model of histories and draw from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.data.table import Column
from synthesizer.models.histories.history import FittedHistory, HistoryModel
from synthesizer.models.limits import Judge, Limits, reserve_of
from tests.tables import numeric


def drawn_by(
    model: HistoryModel,
    table: PanelTable,
    target: Column,
    *,
    rules: Sequence[PathRule] = (),
    judge: Judge | None = None,
    wave: bool = False,
    seed: int = 1,
) -> Column:
    """Return what a model draws on the rows that it was fitted to."""
    predictors = table.select(name for name in table if name != target.name)
    if wave:
        predictors = predictors.with_column(numeric("wave", table.index.period))
    rng = np.random.default_rng(seed)
    fitted = model.fit_history(predictors, target, rules, rng=rng)
    assert isinstance(fitted, FittedHistory)
    reserve = None if judge is None and not rules else reserve_of(target, rng)
    drawn = fitted.draw(predictors, Limits(judge, reserve), rng=np.random.default_rng(seed + 1))
    assert drawn.variable == target.variable
    assert len(drawn) == table.n_rows
    return drawn
