"""The noise of every answer: integers in, integers out, at a cost that is fixed before.

A `Mechanism` describes the noise before any data are read: the number of integers, how far two
neighbouring files can move them (sum of absolute differences, L1), the limit of epsilon, and the
range of the answers. A `Noise` charges for it and draws. `OpenDP` serves confidential data;
`DryNoise` serves dry runs and tests, without a library.

Attacks that it prevents:

- *Floating point* (Mironov 2012): the low bits of a double with noise reveal the sum without noise.
  Nothing here returns a floating-point number; the noise is an integer of exact arithmetic.
- *Generators* that can be seeded, or are copied when a process forks: all randomness is that of the
  operating system (by OpenDP, or by `secrets`).
- *Time* (Jin et al. 2022): the running time of a sampler reveals its noise. The mechanism with
  bounds takes the same number of steps for any noise; it serves wherever the range is small.
- *A charge that is too small*: it is read from the privacy map of the measurement, in exact
  fractions, and rounded up to a millionth.

Two-sided geometric noise z has a probability proportional to exp(-abs(z) epsilon / distance)
(Ghosh, Roughgarden and Sundararajan 2012). With bounds the answer is clamped to them, without a
loss for the posterior of a share (`synthesizer.extensions.verification.posterior`).
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, inf, log, nextafter
from typing import Any, Final, Protocol

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.verification.messages import WORDS

MICRO: Final = 1_000_000
"""Epsilon is counted in integers, millionths: sums of floats grant too little or too much."""
_MAX_COUNT: Final = 2**62
"""Counts are clipped to this, which moves no two of them apart."""


def micro(epsilon: float) -> int:
    """Return an epsilon in whole millionths, rounded down: never more than was allowed.

    Examples
    --------
    >>> micro(0.3), micro(1), micro(1 / 3)
    (300000, 1000000, 333333)
    """
    return int(Decimal(str(epsilon)) * MICRO)


@dataclass(frozen=True)
class Mechanism:
    """Description of the noise, before any data are read.

    Examples
    --------
    >>> count = Mechanism(size=1, distance=1, epsilon=1_000_000, bounds=(0, 50))
    >>> count.scale, count.within(0.95)
    (1.0, 3)
    """

    size: int
    """Number of integers with noise."""
    distance: int
    """Largest L1 distance between two files that differ in one person."""
    epsilon: int
    """Limit of the cost, in millionths."""
    bounds: tuple[int, int] | None = None
    """Range of each answer; None if counts have no public bound. A range of 1,000 takes 1 ms."""

    def __post_init__(self) -> None:
        """Refuse sizes, distances and bounds that are invalid."""
        if min(self.size, self.distance, self.epsilon) < 1:
            raise ConfigError(
                WORDS["refused"]["mechanism"].format(self.size, self.distance, self.epsilon)
            )
        if self.bounds is not None and self.bounds[0] >= self.bounds[1]:
            raise ConfigError(f"bounds of a mechanism must rise, not {self.bounds}")

    @property
    def scale(self) -> float:
        """Distance divided by epsilon: the standard deviation of the noise is 1.4 times it."""
        return self.distance * MICRO / self.epsilon

    def within(self, share: float) -> int:
        """Return the least k such that one noise lies in -k..k with at least this probability."""
        rest = -1 / self.scale
        return max(0, ceil(log((1 - share) * (1 + exp(rest)) / 2) / rest - 1 - 1e-9))


class Noise(Protocol):
    """Draws noise for integers, at a cost that is fixed before."""

    def charge(self, mechanism: Mechanism) -> int:
        """Return the cost of a draw in millionths of epsilon, at most ``mechanism.epsilon``."""
        ...

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:
        """Return the values with noise; only their number can raise an error."""
        ...


def _integers(mechanism: Mechanism, values: Sequence[int]) -> list[int]:
    """Return the values as Python integers within the bounds; their number is public."""
    if len(values) != mechanism.size:
        raise ValueError(f"{len(values)} values for a mechanism of {mechanism.size}")
    low, high = mechanism.bounds or (-_MAX_COUNT, _MAX_COUNT)
    return [min(max(operator.index(value), low), high) for value in values]


class OpenDP:
    """Noise by the OpenDP library: the mechanisms for confidential data.

    Source: Gaboardi, Hay and Vadhan (2020), A programming framework for OpenDP. The scale is the
    least that the privacy map of OpenDP accepts at the distance, so the charge equals the request.

    Raises
    ------
    ConfigError
        If OpenDP is not installed.

    Examples
    --------
    >>> noise, count = OpenDP(), Mechanism(size=1, distance=1, epsilon=700_000, bounds=(0, 50))
    >>> noise.charge(count), 0 <= noise.draw(count, [48])[0] <= 50
    (700000, True)
    """

    def __init__(self) -> None:
        _opendp()

    def charge(self, mechanism: Mechanism) -> int:
        """Return the privacy map at the distance, rounded up to a millionth."""
        return ceil(_map(_measurement(mechanism), mechanism) * MICRO)

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:
        """Return the values with OpenDP's noise."""
        return tuple(_measurement(mechanism)(_integers(mechanism, values)))


@lru_cache(maxsize=1)
def _opendp() -> Any:
    """Return OpenDP with vetted and contributed constructors, never with idealised numerics."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise ConfigError(WORDS["refused"]["opendp"]) from error
    dp.enable_features("contrib")
    return dp


@lru_cache(maxsize=64)
def _measurement(mechanism: Mechanism) -> Any:
    """Return the measurement of the least scale whose privacy map is within epsilon."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64"), mechanism.size), dp.l1_distance(T="i64")
    scale = mechanism.scale
    while True:
        if mechanism.bounds is None:
            made = dp.m.make_laplace(*space, scale=scale)
        else:
            made = dp.m.make_geometric(*space, scale=scale, bounds=mechanism.bounds)
        if _map(made, mechanism) * MICRO <= mechanism.epsilon:
            return made
        scale = nextafter(scale, inf)


def _map(measurement: Any, mechanism: Mechanism) -> Fraction:
    return Fraction(measurement.map(mechanism.distance))


class DryNoise:
    """The same noise by `secrets` alone, for dry runs on synthetic data and as a double in tests.

    Exact rejection sampling in integers (Canonne, Kamath and Steinke 2020, algorithms 1 and 2),
    checked by tests only; its running time reveals its noise: not for confidential data.

    Examples
    --------
    >>> noise = DryNoise()
    >>> len(noise.draw(Mechanism(size=3, distance=2, epsilon=500_000), [10, 20, 30]))
    3
    """

    def charge(self, mechanism: Mechanism) -> int:
        """Return the requested epsilon: the scale is an exact fraction."""
        return mechanism.epsilon

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:
        """Return the values with noise."""
        scale = Fraction(mechanism.distance * MICRO, mechanism.epsilon)
        low, high = mechanism.bounds or (-inf, inf)
        noisy = (v + _two_sided_geometric(scale) for v in _integers(mechanism, values))
        return tuple(int(min(max(v, low), high)) for v in noisy)


def _two_sided_geometric(scale: Fraction) -> int:
    """Draw z with probability proportional to exp(-|z| / scale)."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = secrets.randbelow(t)
        if not _happens(Fraction(u, t)):
            continue
        v = 0
        while _happens(Fraction(1)):
            v += 1
        size, negative = (u + t * v) // s, secrets.randbelow(2)
        if size or not negative:
            return -size if negative else size


def _happens(p: Fraction) -> bool:
    """Return True with probability exp(-p), for p in [0, 1] (von Neumann's series)."""
    k = 1
    while secrets.randbelow(p.denominator * k) < p.numerator:
        k += 1
    return k % 2 == 1


class PlannedNoise:
    """Noise that draws only the charged mechanisms, in their order.

    All draws of a question are listed before the charge, so no branch that depends on the data can
    spend more. A draw that was not listed is a fault of the program.

    Examples
    --------
    >>> count = Mechanism(size=1, distance=1, epsilon=1_000_000, bounds=(0, 50))
    >>> noise = PlannedNoise(DryNoise(), [count])
    >>> released = noise.draw(count, [48])
    >>> noise.draw(count, [48])
    Traceback (most recent call last):
      ...
    RuntimeError: a draw that was not charged for
    """

    def __init__(self, noise: Noise, mechanisms: Sequence[Mechanism]) -> None:
        self._noise = noise
        self._waiting: Iterator[Mechanism] = iter(tuple(mechanisms))
        self.epsilon = sum(map(noise.charge, mechanisms))
        """Total cost, in millionths."""

    def charge(self, mechanism: Mechanism) -> int:
        """Return the cost of one draw."""
        return self._noise.charge(mechanism)

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:
        """Return the values with noise, if this mechanism is the next one."""
        if next(self._waiting, None) != mechanism:
            raise RuntimeError("a draw that was not charged for")
        return self._noise.draw(mechanism, values)
