"""Options that the tree models share: checks and how a saved model holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.models._leaves import Drawing

__all__ = ["check_tree_options", "read_drawing", "structure_rows"]

SMOOTHINGS = ("none", "density")


def check_tree_options(model: Any) -> None:
    """Raise ValueError naming the first option of a tree model that is out of its range."""
    _check_count("min_leaf", model.min_leaf)
    _check_count("max_depth", model.max_depth, optional=True)
    _check_count("max_fit_rows", model.max_fit_rows, optional=True)
    _check_share("complexity", model.complexity)
    if hasattr(model, "n_trees"):
        _check_count("n_trees", model.n_trees)
    if hasattr(model, "max_features") and not model.max_features:
        raise ValueError("max_features (0) must be a share of the predictors above 0, at most 1")
    _check_share("max_features", getattr(model, "max_features", 1.0))
    for name in ("penalty", "shrinkage", "prior"):
        value = getattr(model, name)
        if not (_is_number(value) and 0 <= value < math.inf):
            raise ValueError(f"{name} ({value!r}) must be a number that is at least 0")
    if model.smoothing not in SMOOTHINGS:
        raise ValueError(f"smoothing ({model.smoothing!r}) must be one of: none, density")
    for name in ("even", "proper"):
        if not isinstance(getattr(model, name), bool):
            raise ValueError(f"{name} ({getattr(model, name)!r}) must be true or false")


def read_drawing(state: Mapping[str, Any]) -> Drawing:
    """Rebuild a `Drawing` from its plain values; raises ValueError if they are out of range."""
    shrinkage, smoothing = float(state["shrinkage"]), str(state["smoothing"])
    if not 0 <= shrinkage < math.inf or smoothing not in SMOOTHINGS:
        raise ValueError("how a saved tree draws is not known to this version")
    return Drawing(shrinkage=shrinkage, even=bool(state["even"]), smoothing=smoothing)


def structure_rows(
    n_rows: int, max_rows: int | None, rng: np.random.Generator
) -> npt.NDArray[np.intp] | None:
    """Choose the rows that the splits are learnt from, in row order; None for all."""
    if max_rows is None or n_rows <= max_rows:
        return None
    return np.sort(rng.choice(n_rows, size=max_rows, replace=False, shuffle=False))


def _check_count(name: str, value: object, *, optional: bool = False) -> None:
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} ({value!r}) must be a whole number that is at least 1")


def _check_share(name: str, value: object) -> None:
    if not (_is_number(value) and isinstance(value, int | float) and 0 <= value <= 1):
        raise ValueError(f"{name} ({value!r}) must be a number from 0 to 1")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
