"""Tails of numbers: extremes are drawn from a generalised Pareto distribution.

Excesses over a high threshold have nearly this distribution, whatever that of the number is
(Pickands 1975, Annals of Statistics 3). It is fitted by the method of moments (Hosking and Wallis
1987, Technometrics 29): mean, total and standard deviation are to be kept, not the parameters.
From shape 1/2 on the variance would be infinite. So draws end where half an excess of the data is
expected, and the moments are those of the distribution with this end.

A tail has 50 persons or more. All its rare numbers are drawn anew, so that a few top persons cannot
be found by subtraction. No person dominates the moments (p% rule: Hundepool et al. 2012,
Statistical Disclosure Control, section 4.2), and the parameters are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from synthesizer.data.table import BoolArray, FloatArray, IntArray

MIN_PERSONS, MIN_PERSONS_PER_K = 50, 4
TAIL_SHARE, MAX_TAIL_SHARE = 0.01, 0.25
"""Share of the persons in a tail, and the largest share of the records."""
MIN_LOSS = 0.01
"""Share of the variance that is lost if nothing is drawn beyond the k-th person."""
DOMINANCE = 0.2
"""Relative error of an estimate of the largest value from the second moment of the tail."""
MIN_SHAPE, MAX_SHAPE, NO_SHAPE = -0.5, 3.0, 1e-4
SHAPE_STEP, SCALE_STEP = 0.05, 0.05
"""Shape and the logarithm of scale are rounded, so that many datasets reveal no exact moments."""
SHARES, TIMES = (1.0, 100.0), (24.0, 366.0)
"""Largest shares, and whole hours of a day and days of a year. They are the largest possible values
if the data reach half of them."""
FIRST_YEAR, LAST_YEAR = 1500, 2100
"""Whole numbers between these are years, which have no upper tail."""
POSITIVE_SHARE = 1e-3
"""Positive numbers have draws above this share of the start of the lower tail."""
MAX_SCALE_VALUES = 60
"""Numbers with at most as many values and a light tail are scales, which may have an end."""
MAX_MEDIAN_RATIO = 2.0
"""Median of the fitted excesses over the data's, or its inverse."""
N_POINTS, N_HALVINGS = 500, 30


@dataclass(frozen=True, eq=False)
class Tail:
    """Excesses over a threshold, as quantiles of a generalised Pareto distribution.

    Examples
    --------
    >>> costs = np.sort(np.random.default_rng(1).pareto(3, 5_000))
    >>> tail = Tail.of(costs, None, k=5, decimals=None)
    >>> drawn = tail.at(np.arange(tail.n_records) + 0.5)
    >>> bool(abs(drawn.mean() / costs[-tail.n_records:].mean() - 1) < 0.01)
    True
    """

    sign: int
    """1 for large numbers, -1 for small ones."""
    start: float
    """Number beyond which the tail begins."""
    end: float
    """Number that no draw exceeds."""
    shape: float
    scale: float
    n_records: int
    """Records in the tail; of a panel, pairs of a person and a number."""

    def __post_init__(self) -> None:
        length = self.sign * (self.end - self.start)
        numbers = self.start, self.end, self.shape, self.scale
        if not np.isfinite(numbers).all() or min(self.scale, self.n_records, length) <= 0:
            raise ValueError("a tail must have finite numbers and end beyond its start")
        if abs(self.sign) != 1 or not self.shape or self.shape * length <= -self.scale:
            raise ValueError("a tail must have a sign, a shape, and an end inside its distribution")

    @classmethod
    def of(
        cls,
        values: FloatArray,
        persons: IntArray | None,
        *,
        k: int,
        decimals: int | None,
        sign: int = 1,
    ) -> Self | None:
        """Fit the tail of rising values, shape (n,); None if it is light, bounded or too small.

        ``persons`` are those of the records of a panel, None if each record is a person. ``k`` is
        the smallest number of persons with a common number.
        """
        rising = values if sign > 0 else -values[::-1]
        each = np.arange(len(values))
        at_first, persons = each, each if persons is None else persons[::sign]
        if persons is not each:  # position of the largest record of each person, from the top
            at_first = np.sort(np.unique(persons[::-1], return_index=True)[1])
        least = max(MIN_PERSONS, MIN_PERSONS_PER_K * k, int(TAIL_SHARE * len(at_first)))
        if len(at_first) <= least:
            return None
        deviations = (rising - rising.mean()) ** 2
        last = len(rising) - 1 - int(at_first[k - 1])  # that of the k-th person from the end
        loss = (deviations[last:] - deviations[last]).sum()
        if rising[last] == rising[-1] or loss < MIN_LOSS * deviations.sum():
            return None
        start = rising[-1 - at_first[least]]
        if rising[-at_first[least]] == start:  # ties: the tail begins below them
            start = rising[max(np.searchsorted(rising, start) - 1, 0)]
        first = int(np.searchsorted(rising, start, side="right"))
        n_records = len(rising) - first
        if len(rising) * MAX_TAIL_SHARE < n_records or n_records < least:
            return None
        limit = _natural_end(float(rising[0]), float(rising[-1]), float(start), decimals)
        excess = _without_dominance(rising[first:] - start, persons[first:])
        fitted = _fitted(excess, np.log(2 * n_records))
        if fitted is None or (fitted[0] < 0 and len(np.unique(rising)) <= MAX_SCALE_VALUES):
            return None
        shape, scale, length = fitted
        end = min(float(start) + length, limit)
        if decimals is not None:
            end = float(np.floor(end * 10.0**decimals) / 10.0**decimals)
        if end <= start:
            return None
        return cls(sign, sign * float(start), sign * end, shape, scale, n_records)

    def has(self, values: FloatArray) -> BoolArray:
        """Return which values are in the tail, shape (n,)."""
        return np.asarray(self.sign * values > self.sign * self.start)

    def fits(self, values: FloatArray) -> bool:
        """Whether the median of the excesses is about the data's: not with a few far exceptions."""
        median = abs(float(self.at(np.array([self.n_records / 2]))[0]) - self.start)
        ratio = median / float(np.median(np.abs(values[self.has(values)] - self.start)))
        return 1 / MAX_MEDIAN_RATIO <= ratio <= MAX_MEDIAN_RATIO

    def at(self, ranks: FloatArray) -> FloatArray:
        """Return the numbers at ranks from 0 (the start) to ``n_records`` (the end), shape (n,)."""
        last = np.log1p(self.shape * abs(self.end - self.start) / self.scale) / self.shape
        logs = -np.log1p(np.clip(ranks / self.n_records, 0.0, 1.0) * np.expm1(-last))
        return np.asarray(self.start + self.sign * self.scale * _curve(self.shape, logs))

    def draw(
        self,
        ranks: FloatArray,
        width: float,
        limits: tuple[FloatArray, FloatArray],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return numbers at most ``width`` ranks from those given, and inside limits of the ranks.

        Ranks are folded at the limits, so that the share of each part of the tail is kept.
        """
        low, high = (np.clip(ranks_, 0, self.n_records) for ranks_ in limits)
        room = np.maximum(high - low, 1e-9)
        moved = (ranks + width * (2 * rng.random(len(ranks)) - 1) - low) % (2 * room)
        return self.at(low + np.minimum(moved, 2 * room - moved))


def _curve(shape: float, logs: FloatArray) -> FloatArray:
    """Return the quantiles of scale 1 by minus the logarithm of the share beyond, shape (n,)."""
    return np.asarray(np.expm1(shape * logs) / shape)


def _fitted(excess: FloatArray, last: float) -> tuple[float, float, float] | None:
    """Return shape, scale and largest draw with the mean and the mean square of excesses.

    Draws end at the share exp(-last) beyond. None if the tail is bounded and nearly uniform.
    """
    logs = (np.arange(N_POINTS) + 0.5) * last / N_POINTS
    weights = np.exp(-logs) / np.exp(-logs).sum()
    mean = float(excess.mean())
    if mean**2 == 0 or not np.isfinite((excess**2).sum()):
        return None
    ratio = float((excess**2).mean()) / mean**2
    if _ratio(MIN_SHAPE, logs, weights) >= ratio:
        return None
    shape, above = MIN_SHAPE, MAX_SHAPE
    for _ in range(N_HALVINGS):
        middle = (shape + above) / 2
        is_light = _ratio(middle, logs, weights) < ratio
        shape, above = (middle, above) if is_light else (shape, middle)
    shape = round(shape / SHAPE_STEP) * SHAPE_STEP or NO_SHAPE
    scale = mean / float(weights @ _curve(shape, logs))
    scale = float(np.exp(np.round(np.log(scale) / SCALE_STEP) * SCALE_STEP))
    return shape, scale, scale * float(np.expm1(shape * last) / shape)


def _ratio(shape: float, logs: FloatArray, weights: FloatArray) -> float:
    """Return the mean square of a distribution over its squared mean."""
    curve = _curve(shape, logs)
    return float(weights @ curve**2 / (weights @ curve) ** 2)


def _without_dominance(excess: FloatArray, persons: IntArray) -> FloatArray:
    """Return excesses, lowered for persons who dominate the sum of squares.

    Even who has the second largest excess must overestimate the largest by `DOMINANCE` if the sum
    of squares is known (p% rule).
    """
    each = np.unique(persons, return_inverse=True)[1]
    squares = np.bincount(each, weights=excess**2)
    most = np.sort(squares)[:-2].sum() / ((1 + DOMINANCE) ** 2 - 1)
    return np.asarray(excess * np.sqrt(np.minimum(1.0, most / squares))[each])


def _natural_end(low: float, high: float, start: float, decimals: int | None) -> float:
    """Return the largest possible number of an upper tail; numbers keep their sign."""
    if high <= 0:
        return POSITIVE_SHARE * start if high < 0 else 0.0
    if decimals == 0 and low >= FIRST_YEAR and high <= LAST_YEAR:
        return start
    known = sorted(SHARES + TIMES) if decimals == 0 else SHARES
    ends = [end for end in known if low >= 0 and end / 2 < high <= end]
    return ends[0] if ends else np.inf
