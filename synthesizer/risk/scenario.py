"""What an intruder knows and seeks: keys and target, and how numbers among them are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synthesizer.data.codes import Groups
from synthesizer.risk.attribution import Tolerance

__all__ = ["Scenario"]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One attack that a release is tried with.

    Parameters
    ----------
    keys : tuple of str
        Variables that the intruder knows.
    target : str
        Variable that the intruder wants to learn.
    groups : mapping of str to int or sequence of float
        Number of quantile groups of the original, or cut points, of numeric keys and target;
        others count by exact value.
    tolerance : Tolerance or None
        How near a numeric target must be to be right, in place of groups.
    reason : str
        Why these, in plain words.

    Examples
    --------
    >>> Scenario(keys=("age", "sex"), target="income").label
    'age, sex -> income'
    """

    keys: tuple[str, ...]
    target: str
    groups: Mapping[str, Groups] = field(default_factory=dict)
    tolerance: Tolerance | None = None
    reason: str = "as configured"

    @property
    def label(self) -> str:
        """Keys and target in one line."""
        return f"{', '.join(self.keys)} -> {self.target}"

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that the scenario needs."""
        return (*self.keys, self.target)

    @property
    def settings(self) -> dict[str, Any]:
        """The scenario as keyword arguments of `synthesizer.risk.cap.cap_scores`."""
        return {
            "keys": self.keys,
            "target": self.target,
            "groups": self.groups,
            "tolerance": self.tolerance,
        }
