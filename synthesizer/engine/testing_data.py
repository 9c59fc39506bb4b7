"""The data on which `testing.check_model` tests a model: small, and full of traps."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel

N_ROWS = 160
N_PERSONS = 40
TIMES = (1990.0, 1991.0, 1992.0, 1995.0, 1996.0)


def predictors(n: int = N_ROWS, *, unseen: bool = False) -> Table:
    """Return the predictors of the test; ``unseen`` adds a new level and numbers out of range."""
    rng = np.random.default_rng(20)
    number = np.round(rng.normal(50, 10, n), 1)
    coded = rng.integers(0, 3, n)
    coded[rng.random(n) < 0.1] = 4  # the missing code; level 3 is never seen
    states = rng.choice([0, 1, 2], n, p=[0.7, 0.2, 0.1]).astype(np.int8)
    gappy = np.where(states == 0, np.round(rng.gamma(2, 5, n)), np.nan)
    date = np.floor(rng.uniform(10_000, 12_000, n))
    if unseen:
        coded[::3] = 3
        number[::4] = 1e4
        date[::5] = -1e4
    return Table(
        [
            Column(_variable("p_number", Kind.NUMERIC, decimals=1), number),
            Column(
                _variable("p_coded", Kind.CATEGORICAL, levels=tuple("abcd"), missing=("",)),
                coded.astype(np.int32),
            ),
            Column(
                _variable("p_ordered", Kind.ORDERED, levels=("low", "mid", "high")),
                rng.integers(0, 3, n).astype(np.int32),
            ),
            Column(_variable("p_date", Kind.DATE), date),
            Column(
                _variable("p_gappy", Kind.NUMERIC, missing=("-8", "-9"), decimals=0), gappy, states
            ),
        ]
    )


def _variable(name: str, kind: Kind, **more: Any) -> Variable:
    return Variable(name=name, kind=kind, **more)


def targets(model: ConditionalModel, kinds: Collection[Kind]) -> Iterator[tuple[str, Column]]:
    """Yield targets of some kinds, each with a description; they depend on ``p_number``."""
    rng = np.random.default_rng(21)
    score = (predictors()["p_number"].data - 50) / 10 + rng.normal(size=N_ROWS)
    most = model.abilities.max_levels
    for kind in (kind for kind in Kind if kind in kinds):
        if kind.is_coded:
            size = 2 if kind is Kind.BOOLEAN else min(4, most or 4)
            for variable in _coded_variables(kind, size, most):
                yield _label(variable), Column(variable, _ranked(score, variable.n_codes))
        elif kind is Kind.DATE:
            yield "a date target", Column(_variable("y", kind), np.floor(11_000 + 300 * score))
        elif kind is Kind.NUMERIC:
            for decimals, values in ((0, score * 20), (1, score), (None, np.exp(score))):
                data = values if decimals is None else np.round(np.abs(values) + 1, decimals)
                variable = _variable("y", kind, decimals=decimals)
                yield _label(variable), Column(variable, data)


def panel_predictors(*, unseen: bool = False) -> PanelTable:
    """Return the same predictors as rows of 40 persons: once seen, with a gap, and always."""
    present = np.ones((N_PERSONS, len(TIMES)), dtype=bool)
    once, gap = np.arange(8), np.arange(8, 16)
    present[once] = False
    present[once, once % len(TIMES)] = True
    present[gap, 1 + gap % 3] = False
    index = PanelIndex.of_presence(present, np.array(TIMES))
    return PanelTable(predictors(unseen=unseen).columns, index)


def panel_targets(model: ConditionalModel, kinds: Collection[Kind]) -> Iterator[tuple[str, Column]]:
    """Yield the same targets, and a number with missing codes, which a panel's model takes whole.

    Half of the persons hold one value in all periods.
    """
    index = panel_predictors().index
    constant = index.person % 2 == 0
    rows = np.where(constant, index.starts[index.person], np.arange(N_ROWS))
    for label, target in targets(model, kinds):
        yield label, target.take(rows)
    if Kind.NUMERIC in kinds:
        gappy = predictors()["p_gappy"]
        variable = _variable("y", Kind.NUMERIC, missing=gappy.variable.missing, decimals=0)
        target = Column(variable, gappy.data, gappy.states)
        yield f"{_label(variable)} and 2 missing codes", target.take(rows)


def _coded_variables(kind: Kind, size: int, most: int | None) -> Iterator[Variable]:
    levels = ("false", "true") if kind is Kind.BOOLEAN else tuple("abcd"[:size])
    yield _variable("y", kind, levels=levels)
    yield _variable("y", kind, levels=levels[:1])
    if most is None or most > size:
        yield _variable("y", kind, levels=levels, missing=("", "N"))


def _label(variable: Variable) -> str:
    if variable.is_coded:
        codes = f" and {len(variable.missing)} missing codes" if variable.missing else ""
        return f"{_article(variable.kind)} target of {len(variable.levels)} levels{codes}"
    return f"a numeric target of {variable.decimals} decimals"


def _article(kind: Kind) -> str:
    return f"an {kind.value}" if kind is Kind.ORDERED else f"a {kind.value}"


def _ranked(score: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.int32]:
    """Cut scores into ``size`` codes of about equal frequency."""
    ranks = np.argsort(np.argsort(score))
    return (ranks * size // len(score)).astype(np.int32)
