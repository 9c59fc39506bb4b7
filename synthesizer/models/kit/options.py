"""Options that the tree models share: their checks and how a saved model holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synthesizer.models.base import ConditionalModel
from synthesizer.models.kit.leaves import Drawing, Smoothing
from synthesizer.models.kit.trees import Growth

SMOOTHINGS = ("none", "density")


@dataclass(frozen=True, kw_only=True)
class TreeOptions(ConditionalModel):
    """What `cart`, `bagging` and `forest` can be told; `Cart` says what each option means."""

    option_aliases: ClassVar[Mapping[str, str]] = {
        "minbucket": "min_leaf",
        "maxdepth": "max_depth",
        "cp": "complexity",
    }

    min_leaf: int = 50
    max_depth: int | None = None
    complexity: float = 0.0
    penalty: float = 0.0
    shrinkage: float = 0.0
    prior: float = 0.0
    even: bool = True
    smoothing: Smoothing = "none"
    proper: bool = False
    max_fit_rows: int | None = 100_000

    def __post_init__(self) -> None:
        check_count("min_leaf", self.min_leaf)
        check_count("max_depth", self.max_depth, optional=True)
        check_count("max_fit_rows", self.max_fit_rows, optional=True)
        check_share("complexity", self.complexity)
        for name in ("penalty", "shrinkage", "prior"):
            value = getattr(self, name)
            if not (_is_number(value) and 0 <= value < math.inf):
                raise ValueError(f"{name} ({value!r}) must be a number that is at least 0")
        if self.smoothing not in SMOOTHINGS:
            raise ValueError(f"smoothing ({self.smoothing!r}) must be one of: none, density")
        for name in ("even", "proper"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be true or false")

    def growth(self, max_features: float | None = None) -> Growth:
        """Return when a tree stops growing."""
        return Growth(
            min_leaf=self.min_leaf,
            max_depth=self.max_depth,
            complexity=self.complexity,
            penalty=self.penalty,
            max_features=max_features,
        )

    @property
    def drawing(self) -> Drawing:
        """How values are drawn from the leaves."""
        return Drawing(shrinkage=self.shrinkage, even=self.even, smoothing=self.smoothing)


@dataclass(frozen=True, kw_only=True)
class EnsembleOptions(TreeOptions):
    """What models of several trees can be told in addition."""

    option_aliases: ClassVar[Mapping[str, str]] = {
        **TreeOptions.option_aliases,
        "ntree": "n_trees",
    }

    min_leaf: int = 20
    n_trees: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_trees", self.n_trees)


def structure_rows(
    n_rows: int, max_rows: int | None, rng: np.random.Generator
) -> npt.NDArray[np.intp] | None:
    """Choose the rows that the splits are learnt from, in row order; None for all."""
    if max_rows is None or n_rows <= max_rows:
        return None
    return np.sort(rng.choice(n_rows, size=max_rows, replace=False, shuffle=False))


def check_count(name: str, value: object, *, optional: bool = False) -> None:
    """Raise ValueError unless the option is a whole number of at least 1."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} ({value!r}) must be a whole number that is at least 1")


def check_share(name: str, value: object) -> None:
    """Raise ValueError unless the option is a number from 0 to 1."""
    if not (_is_number(value) and isinstance(value, int | float) and 0 <= value <= 1):
        raise ValueError(f"{name} ({value!r}) must be a number from 0 to 1")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
