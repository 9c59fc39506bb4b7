"""What bagging and the forest share: many trees, of which each row draws one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from synthesizer.data.table import Column, Table
from synthesizer.models._growing import Growth, centred_response, grow
from synthesizer.models._leaves import Drawing, Leaves
from synthesizer.models._options import read_drawing, structure_rows
from synthesizer.models._ordering import Encoding
from synthesizer.models.base import FittedModel

__all__ = ["FittedEnsemble"]


class FittedEnsemble(FittedModel):
    """Trees over the same encoded predictors, each with all donors in its leaves."""

    def __init__(self, encoding: Encoding, trees: Sequence[Leaves], drawing: Drawing) -> None:
        if not trees:
            raise ValueError("an ensemble must have at least one tree")
        self.encoding = encoding
        self.trees = tuple(trees)
        self.drawing = drawing

    @classmethod
    def grow(
        cls,
        predictors: Table,
        target: Column,
        growth: Growth,
        drawing: Drawing,
        *,
        n_trees: int,
        prior: float,
        proper: bool,
        max_fit_rows: int | None,
        rng: np.random.Generator,
    ) -> Self:
        """Learn the splits of each tree from a bootstrap sample; fill leaves with all donors."""
        response = centred_response(target, rng)
        encoding = Encoding.learn(predictors, response, prior=prior)
        matrix = encoding.matrix(predictors)
        n = len(target)
        weights = rng.standard_exponential(n) if proper else None
        trees = []
        for _ in range(n_trees):
            sample = structure_rows(n, max_fit_rows, rng)
            pool = np.arange(n) if sample is None else sample
            rows = pool[rng.integers(len(pool), size=len(pool))]
            tree, order = grow(matrix, target, response, growth, rows=rows, rng=rng)
            own = None if weights is None else weights[order]
            trees.append(Leaves(tree, target.take(order), own))
        return cls(encoding, trees, drawing)

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw a tree for each row, then a donor from the row's leaf in it."""
        return self._draw(predictors, 0, rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw a tree for each row, then a donor of the node ``steps`` above the leaf."""
        return self._draw(predictors, steps, rng)

    def _draw(self, predictors: Table, steps: int, rng: np.random.Generator) -> Column:
        matrix = self.encoding.matrix(predictors)
        donors = self.trees[0].donors
        values = np.empty(len(matrix), dtype=donors.data.dtype)
        chosen = rng.integers(len(self.trees), size=len(matrix))
        for i, leaves in enumerate(self.trees):
            rows = np.flatnonzero(chosen == i)
            values[rows] = leaves.draw(matrix[rows], self.drawing, rng=rng, steps=steps)
        return Column(donors.variable, values)

    def to_dict(self) -> dict[str, Any]:
        """Return the trees, each with its donors, and how they draw."""
        return {
            "encoding": self.encoding.to_dict(),
            "trees": [leaves.to_dict() for leaves in self.trees],
            "drawing": asdict(self.drawing),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on anything that is not such trees."""
        encoding = Encoding.from_dict(state["encoding"])
        n_features = len(encoding.names)
        trees = [Leaves.from_dict(tree, n_features=n_features) for tree in state["trees"]]
        if len({str(leaves.donors.variable.to_dict()) for leaves in trees}) > 1:
            raise ValueError("trees of an ensemble must have one target")
        return cls(encoding, trees, read_drawing(state["drawing"]))
