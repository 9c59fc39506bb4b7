"""What half splits say: comparisons, averages over splits, and the worst group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.figures import Figure
from synthesizer.risk.half_groups import GroupComparison, worst_group
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.uniques import ReproducedUniques

__all__ = ["DifferentialResult", "HalfComparison", "HalfPart", "HalfUniques", "Spread", "gather"]


@dataclass(frozen=True)
class HalfComparison:
    """Mean CAP of the fitted half A and the unseen half B, Welch's t test of their difference.

    ``n_a`` and ``n_b`` are the scores compared (records, or units where units are given; matched
    ones under the rule "undefined"). What cannot be computed, for want of scores, is None.
    """

    repeat: int
    m: int
    rule: str
    n_a: int
    n_b: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    t: float | None
    df: float | None
    p: float | None
    low: float | None
    high: float | None

    @property
    def covers_zero(self) -> bool | None:
        """Whether the 95 % interval holds 0: called differentially confidential for the keys.

        None where there is no interval: nothing computed is no good news.
        """
        if self.low is None or self.high is None:
            return None
        return self.low <= 0 <= self.high


@dataclass(frozen=True)
class HalfUniques:
    """Key-uniques of the fitted half and of the unseen half that one synthesis reproduces.

    ``same_size`` says whether both have about as many records, within 5 %.
    """

    repeat: int
    m: int
    fitted: ReproducedUniques
    unseen: ReproducedUniques
    same_size: bool


@dataclass(frozen=True)
class Spread:
    """Averages over repeats; ``difference_sd`` is their standard deviation (None for one).

    ``low`` and ``high`` are the mean ends of the intervals: too wide rather than too narrow,
    since the mean of several splits varies less than one.
    """

    m: int
    rule: str
    repeats: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    difference_sd: float | None
    low: float | None
    high: float | None
    covering_zero: int


@dataclass(frozen=True)
class HalfPart:
    """What one split says about one scenario; ``released`` is the difference of releasing A."""

    comparisons: tuple[HalfComparison, ...]
    uniques: tuple[HalfUniques, ...]
    groups: tuple[GroupComparison, ...]
    released: float | None


@dataclass(frozen=True)
class DifferentialResult:
    """What all splits together say about one scenario.

    Parameters
    ----------
    keys, target : tuple of str, str
        What the intruder knows, and wants to learn.
    comparisons : tuple of HalfComparison
        By split, number of datasets and non-match rule (table 4 of Taub et al. 2018).
    uniques : tuple of HalfUniques
        Key-uniques of both halves that the syntheses reproduce.
    summary : tuple of Spread
        Averages over splits.
    groups : tuple of GroupComparison
        By split and group, all datasets pooled, non-matches zero; empty without ``by``.
    worst_group : GroupComparison or None
        The group with the largest mean difference over splits; None also where no group has
        enough units in both halves.
    released : float or None
        The difference (non-matches zero) if half A were released as it is.
    by : str or None
        Variable whose groups were asked for.
    """

    keys: tuple[str, ...]
    target: str
    comparisons: tuple[HalfComparison, ...]
    uniques: tuple[HalfUniques, ...]
    summary: tuple[Spread, ...]
    groups: tuple[GroupComparison, ...]
    worst_group: GroupComparison | None
    released: float | None
    by: str | None = None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The difference, the uniques of both halves and the worst group."""
        last = [row for row in self.comparisons if row.rule == "zero"][-1]
        spread = next(s for s in self.summary if (s.m, s.rule) == (last.m, "zero"))
        found = [
            Figure(
                name="differential confidentiality",
                value=spread.difference,
                low=spread.low,
                high=spread.high,
                baseline=0.0,
                original=self.released,
                n=last.n_a + last.n_b,
                direction="about 0 is good",
                meaning="mean CAP (non-matches zero) of fitted minus unseen records",
            ),
            self._uniques_figure(last.m),
        ]
        if self.worst_group is not None:
            found.append(self.worst_group.figure)
        return tuple(found)

    def _uniques_figure(self, m: int) -> Figure:
        rows = [row for row in self.uniques if row.m == m]
        alike = all(row.same_size for row in rows)
        return Figure(
            name="reproduced uniques of the fitted half",
            value=_mean([_share(row.fitted) for row in rows]),
            # fewer records have commoner keys among their uniques: then nothing to compare with
            baseline=_mean([_share(row.unseen) for row in rows]) if alike else None,
            original=1.0,
            n=sum(row.fitted.uniques for row in rows),
            direction="lower is safer",
            meaning="share of key-unique fitted records whose key the synthesis shows; the "
            "baseline is that of unseen records",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        comparisons = [asdict(c) | {"covers_zero": c.covers_zero} for c in self.comparisons]
        return asdict(self) | {"keys": list(self.keys), "comparisons": comparisons}


def gather(
    scenario: Scenario, parts: Iterable[HalfPart], by: str | None = None
) -> DifferentialResult:
    """Return the result of all splits of one scenario; ``by`` is the variable of its groups."""
    parts = list(parts)
    comparisons = [row for part in parts for row in part.comparisons]
    groups = tuple(row for part in parts for row in part.groups)
    return DifferentialResult(
        keys=scenario.keys,
        target=scenario.target,
        comparisons=tuple(comparisons),
        uniques=tuple(row for part in parts for row in part.uniques),
        summary=_summary(comparisons),
        groups=groups,
        worst_group=worst_group(groups),
        released=_mean([part.released for part in parts]),
        by=by,
    )


def _share(row: ReproducedUniques) -> float | None:
    return row.present / row.uniques if row.uniques else None


def _summary(comparisons: Sequence[HalfComparison]) -> tuple[Spread, ...]:
    together: dict[tuple[int, str], list[HalfComparison]] = {}
    for comparison in comparisons:
        together.setdefault((comparison.m, comparison.rule), []).append(comparison)
    return tuple(_spread(m, rule, same) for (m, rule), same in together.items())


def _spread(m: int, rule: str, same: Sequence[HalfComparison]) -> Spread:
    differences = [c.difference for c in same if c.difference is not None]
    return Spread(
        m=m,
        rule=rule,
        repeats=len(same),
        mean_a=_mean([c.mean_a for c in same]),
        mean_b=_mean([c.mean_b for c in same]),
        difference=_mean(differences),
        difference_sd=float(np.std(differences, ddof=1)) if len(differences) > 1 else None,
        low=_mean([c.low for c in same]),
        high=_mean([c.high for c in same]),
        covering_zero=sum(bool(c.covers_zero) for c in same),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
