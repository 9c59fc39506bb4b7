"""CAP-U: the correct attribution probability of people whose key nobody shares.

The attack: an intruder seeks only people who stand out, looks up their key in the synthetic data
and gives up where it is not found. It is the risk objective of the genetic synthesizer.

Source: Chen, Taub and Elliot (2019), Trade-off between information utility and disclosure risk in
a GA synthetic data generator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from synthesizer.data.codes import Groups
from synthesizer.data.pairs import Data
from synthesizer.figures import Figure
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.cap import cap
from synthesizer.risk.cap_result import CapRow

__all__ = ["CapUResult", "cap_u"]


@dataclass(frozen=True)
class CapUResult:
    """Mean CAP of the statistical uniques of the original, non-matches as zero.

    Parameters
    ----------
    keys, target : tuple of str, str
        What the intruder knows, and wants to learn.
    uniques : int
        Original records whose key nobody shares.
    baseline : float or None
        Their mean baseline CAP; None where there are no uniques. The original itself has 1.
    synthetic : tuple of CapRow
        By number of pooled datasets; ``zero`` is CAP-U, None where there are no uniques.
    """

    keys: tuple[str, ...]
    target: str
    uniques: int
    baseline: float | None
    synthetic: tuple[CapRow, ...]

    @property
    def value(self) -> float | None:
        """CAP-U of all datasets together."""
        return self.synthetic[-1].zero

    @property
    def figures(self) -> tuple[Figure, ...]:
        """CAP-U of all datasets together."""
        figure = Figure(
            name="CAP-U",
            value=self.value,
            meaning=f"mean CAP of {self.target} for people whose key nobody shares, "
            "non-matches as zero",
            direction="lower is safer",
            n=self.uniques,
            baseline=self.synthetic[-1].chance_zero,
            original=1.0 if self.uniques else None,
        )
        return (figure,)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {
            "keys": list(self.keys),
            "value": self.value,
            "synthetic": [asdict(row) for row in self.synthetic],
        }


def cap_u(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
) -> CapUResult:
    """Return CAP-U for nested m = 1, ..., M: the mean CAP of uniques, non-matches as zero.

    Parameters and errors are those of `synthesizer.risk.cap.cap`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabc"), "ill": ["yes", "no", "no", "yes"]})
    >>> made = pd.DataFrame({"town": list("ab"), "ill": ["no", "no"]})
    >>> result = cap_u(people, made, keys=["town"], target="ill")
    >>> result.uniques, result.value
    (2, 0.5)
    """
    result = cap(
        original,
        synthetic,
        keys=keys,
        target=target,
        groups=groups,
        tolerance=tolerance,
        special_uniques=False,
    )
    return CapUResult(
        keys=tuple(keys),
        target=target,
        uniques=result.sizes["uniques"],
        baseline=result.baseline["uniques"],
        synthetic=tuple(row for row in result.synthetic if row.subset == "uniques"),
    )
