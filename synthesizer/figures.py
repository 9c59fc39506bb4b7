"""One figure of a check: a number that says by itself how to read it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Direction", "Figure"]

Direction = Literal[
    "lower is safer", "about 0 is good", "lower is better", "about 1 is good", "a count"
]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure with what is needed to read it; all shares are in [0, 1], never in percent.

    Parameters
    ----------
    name : str
        The field's name of it, such as ``DiSCO``.
    value : float or None
        None where it could not be computed (no record to compute it from): never good news.
    meaning : str
        What it is, in plain words.
    direction : str
        Which direction is good.
    n : int
        Number of records that it rests on.
    low, high : float or None
        Ends of its 95 % interval, where there is one.
    baseline : float or None
        The value that such data would have if what is sought had nothing to do with the persons,
        where there is one.
    original : float or None
        The value of the original data, released as they are, where there is one.

    Examples
    --------
    >>> cap = Figure(name="CAP", value=0.27, meaning="right attributions", n=100,
    ...              direction="lower is safer", baseline=0.13, original=0.66)
    >>> cap.to_dict()["baseline"]
    0.13
    """

    name: str
    value: float | None
    meaning: str
    direction: Direction
    n: int
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    original: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)
