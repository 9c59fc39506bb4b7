"""The mechanisms: discrete Gaussian noise for tables, and a noisy choice of the best score.

`OpenDP` serves confidential data. All its randomness is that of the operating system, never of the
seed of a run: who knows the seed could subtract the noise. Both mechanisms take integers and return
integers, so that no low bits of floating-point numbers reveal anything (Mironov 2012).

*Tables.* A record is in one cell of a table, so one record more moves one count by 1: the
sensitivity is 1 in L1 and L2. Discrete Gaussian noise of variance s^2 is then 1 / (2 s^2)-zCDP
(Canonne, Kamath and Steinke 2020, theorem 4).

*Choice.* The score of an option is the sum over cells of |count - expected|, less a constant, where
expected counts and constants come from earlier results. One record more moves one count by 1, so
each score moves by at most 1. Scores are rounded down to whole thousandths: two that differ by at
most 1 then differ by at most 1,001 of them. The best of scores with Gumbel noise of scale
b (the exponential mechanism) has a range of 2 * 1.001 / b, and is (2 * 1.001 / b)^2 / 8-zCDP
(Cesar and Rogers 2021).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.private.accounting import sigma_of
from synthesizer.plan.findings import problem

Counts = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

PER_UNIT: Final = 1000
"""Scores are whole thousandths of a record."""
SCORE_DISTANCE: Final = PER_UNIT + 1
"""Largest difference between the rounded scores of two neighbours."""


def in_thousandths(scores: FloatArray) -> Counts:
    """Return scores rounded down to whole thousandths.

    Examples
    --------
    >>> in_thousandths(np.array([1.2345, -0.0001])).tolist()
    [1234, -1]
    """
    return np.floor(scores * PER_UNIT).astype(np.int64)


class Noise(Protocol):
    """Draws noise at a cost in rho that is known before."""

    def table_cost(self, size: int, rho: float) -> float:
        """Return the cost of a table of ``size`` cells, at most ``rho``."""
        ...

    def table(self, counts: Counts, rho: float) -> Counts:
        """Return counts, shape (k,), with Gaussian noise."""
        ...

    def choice_cost(self, rho: float) -> float:
        """Return the cost of a choice, at most ``rho``."""
        ...

    def choice(self, scores: Counts, rho: float) -> int:
        """Return the position of the best noisy score; scores are thousandths."""
        ...


class OpenDP:
    """The mechanisms of the OpenDP library.

    The cost is read from its privacy map; the scale is the least that the map accepts.

    Raises
    ------
    ConfigError
        If OpenDP is not installed.
    """

    def __init__(self) -> None:
        opendp()

    def table_cost(self, size: int, rho: float) -> float:
        """Return the privacy map of one record."""
        return float(_gaussian(size, rho).map(1))

    def table(self, counts: Counts, rho: float) -> Counts:
        """Return counts with discrete Gaussian noise."""
        return np.array(_gaussian(len(counts), rho)(counts.tolist()), dtype=np.int64)

    def choice_cost(self, rho: float) -> float:
        """Return the privacy map of one record."""
        return float(_noisy_max(rho).map(SCORE_DISTANCE))

    def choice(self, scores: Counts, rho: float) -> int:
        """Return the position of the best score with Gumbel noise."""
        return int(_noisy_max(rho)(scores.tolist()))


@lru_cache(maxsize=1)
def opendp() -> Any:
    """Return OpenDP with contributed constructors, or raise a ConfigError."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise ConfigError(problem("privacy_needs_opendp")) from error
    dp.enable_features("contrib")
    return dp


@lru_cache(maxsize=512)
def _gaussian(size: int, rho: float) -> Any:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64"), size), dp.l2_distance(T="i64")
    scale = sigma_of(rho)
    while True:
        made = dp.m.make_gaussian(*space, scale=scale)
        if made.map(1) <= rho:
            return made
        scale = math.nextafter(scale, math.inf)


@lru_cache(maxsize=128)
def _noisy_max(rho: float) -> Any:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    scale = 2 * SCORE_DISTANCE / math.sqrt(8 * rho)
    while True:
        made = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
        if made.map(SCORE_DISTANCE) <= rho:
            return made
        scale = math.nextafter(scale, math.inf)
