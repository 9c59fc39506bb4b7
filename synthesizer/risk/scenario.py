"""What an intruder knows and seeks: keys and target, and how numbers among them are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from synthesizer.data.codes import Groups
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.exclusions import Exclusion

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
    exclude : tuple of Exclusion
        What dominates the attribute measures without disclosing anything.
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
    exclude: tuple[Exclusion, ...] = ()
    reason: str = "as configured"

    @property
    def label(self) -> str:
        """Keys and target in one line, with what tells scenarios of the same names apart."""
        groups = [f"{name} {_size(wanted)}" for name, wanted in self.groups.items()]
        near = [] if self.tolerance is None else [f"{self.target} {self.tolerance.words}"]
        how = f" ({'; '.join([*groups, *near])})" if groups or near else ""
        return f"{', '.join(self.keys)} -> {self.target}{how}"

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file; levels that are excluded are counted, not named."""
        return {
            "keys": list(self.keys),
            "target": self.target,
            "groups": {
                name: wanted if isinstance(wanted, int) else list(wanted)
                for name, wanted in self.groups.items()
            },
            "tolerance": None if self.tolerance is None else asdict(self.tolerance),
            "exclusions": len(self.exclude),
            "reason": self.reason,
        }


def _size(wanted: Groups) -> str:
    count = wanted if isinstance(wanted, int) else len(wanted) + 1
    return f"in {count} groups"
