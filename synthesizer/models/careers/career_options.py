"""What the career model can be told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Transition = Literal["cart", "markov"]


@dataclass(frozen=True, kw_only=True)
class CareerOptions:
    """Options of the career model (G, Z, W).

    Parameters
    ----------
    components : "patterns" or int
        Dirichlet components of the run lengths for each number of runs: one on each observed
        pattern, or so many fitted by EM, >= 1.
    theta : float or "auto"
        How narrowly the components lie around observed patterns, >= 0: ``inf`` gives observed
        patterns only, 0 forgets them, "auto" maximises the likelihood of held-out persons.
        Without effect if ``components`` is a number.
    transition : {"cart", "markov"}
        Next state by a tree on the history, or by the paper's chain of order one.
    concentration : float
        Persons that a coarser level of the chain counts as, > 0 (see `markov`).
    min_leaf : int
        Smallest leaf of the trees of states, in runs, >= 1.
    copies : int
        Times that every person enters the trees of states, each time with run lengths redrawn
        around the own pattern (as those of synthetic careers are), >= 1; fewer where there are
        many persons.
    person_min_leaf : int
        Smallest leaf of the trees of G and of the patterns, in persons, >= 1.
    shrinkage : float
        With probability shrinkage / (shrinkage + N) a draw leaves a node of the trees of states
        for its parent of N runs, >= 0.
    even : bool
        Spread the draws evenly over the donors of a leaf, which removes most of the noise of
        drawing.
    person_predictors : bool or None
        Whether careers depend on the person-level variables; None: if there are any.
    match : bool
        Whether to keep the careers that reproduce exact joint counts of first and last period at
        work and first and last state.
    oversample : int
        Careers drawn for each one that is kept by ``match``, >= 1.

    Raises
    ------
    ValueError
        "``name (value) must be ...``".

    Examples
    --------
    >>> CareerOptions(theta=-1)
    Traceback (most recent call last):
    ...
    ValueError: theta (-1) must be "auto" or a number that is at least 0
    """

    components: Literal["patterns"] | int = "patterns"
    theta: float | Literal["auto"] = 100.0
    transition: Transition = "cart"
    concentration: float = 5.0
    min_leaf: int = 10
    person_min_leaf: int = 50
    shrinkage: float = 0.0
    copies: int = 10
    even: bool = True
    person_predictors: bool | None = None
    match: bool = False
    oversample: int = 3

    def __post_init__(self) -> None:
        if self.components != "patterns" and not _is_count(self.components):
            raise ValueError(
                f'components ({self.components!r}) must be "patterns" or a whole number that is '
                "at least 1"
            )
        if self.theta != "auto" and not (_is_number(self.theta) and self.theta >= 0):
            raise ValueError(
                f'theta ({self.theta!r}) must be "auto" or a number that is at least 0'
            )
        if self.transition not in ("cart", "markov"):
            raise ValueError(f'transition ({self.transition!r}) must be "cart" or "markov"')
        if not (_is_number(self.concentration) and 0 < self.concentration < math.inf):
            raise ValueError(f"concentration ({self.concentration!r}) must be a number above 0")
        if not (_is_number(self.shrinkage) and 0 <= self.shrinkage < math.inf):
            raise ValueError(f"shrinkage ({self.shrinkage!r}) must be a number that is at least 0")
        for name in ("min_leaf", "person_min_leaf", "copies", "oversample"):
            if not _is_count(getattr(self, name)):
                value = getattr(self, name)
                raise ValueError(f"{name} ({value!r}) must be a whole number that is at least 1")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
