"""What an intruder knows and seeks: keys and target, and how numbers among them are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import BeforeValidator, Field

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups
from synthesizer.data.errors import DataError
from synthesizer.data.options import NotNegative, options
from synthesizer.data.table import Column, FloatArray
from synthesizer.measures.risk.dominance import Exclusion

# Counting right attributions: how many records share a record's key, and its target too.


_SLACK = 1e-12


@options(strict=False)
class Tolerance:
    """How near a numeric target must be to count as attributed (Elliot 2014).

    The larger of both distances counts.

    Examples
    --------
    >>> Tolerance(relative=0.1).around(np.array([-50.0, 100.0]))[0].round(6).tolist()
    [-55.0, 90.0]
    """

    absolute: Annotated[NotNegative, Field(description="largest distance")] = 0.0
    relative: Annotated[NotNegative, Field(description="largest share of the true value")] = 0.0

    @property
    def words(self) -> str:
        """How near, for a label."""
        return f"within {self.absolute:g}, {self.relative:.3g} of it"

    def around(self, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest number that count as right, each shape (n,)."""
        reach = np.maximum(self.absolute, self.relative * np.abs(truth))
        # a little more, so that 0.8 is within 0.1 of 0.7 in floating point too
        reach = reach * (1 + _SLACK) + _SLACK * np.abs(truth) * (reach > 0)
        return truth - reach, truth + reach


def check_tolerance(target: Column, tolerance: Tolerance | None) -> None:
    """Raise DataError unless a tolerance, where there is one, suits the target.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> check_tolerance(Column(sex, np.array([0])), Tolerance(absolute=1))
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.DataError: target 'sex' is not numeric: take the tolerance out
    """
    if tolerance is None:
        return
    if not isinstance(tolerance, Tolerance):
        raise DataError("tolerance must be Tolerance(absolute=..., relative=...)")
    if target.is_coded:
        raise DataError(f"target {target.name!r} is not numeric: take the tolerance out")


class Hits(Protocol):
    """Counts, for each original record, the given records with its key and its target."""

    def count(self, keys: Codes, target: Column) -> Codes:
        """Return counts per original record, shape (n,); keys of -1 never match."""
        ...


class ExactHits:
    """Targets are right when they have the same value, group or missing code."""

    def __init__(self, keys: Codes, target: Column, groups: Groups | None = None) -> None:
        self._coder = ColumnCoder.fit(target, groups)
        pairs = keys * self._coder.size + self._coder.encode(target)
        size = (int(keys.max(initial=0)) + 1) * self._coder.size
        self._known = Dictionary(pairs, size)
        self._own = self._known.find(pairs)

    def count(self, keys: Codes, target: Column) -> Codes:
        """Return counts per original record, shape (n,)."""
        codes = self._coder.encode(target)
        known = (keys >= 0) & (codes >= 0)
        pairs = self._known.find(keys[known] * self._coder.size + codes[known])
        counts = np.bincount(pairs[pairs >= 0], minlength=len(self._known))
        return counts[self._own]


class ToleranceHits:
    """Numbers are right within a tolerance; missing codes are right when equal.

    The records are sorted by key and, within it, by value: each original record's interval is
    then found by two binary searches.
    """

    def __init__(self, keys: Codes, target: Column, tolerance: Tolerance) -> None:
        self._keys = keys
        self._observed = target.is_observed
        self._low, self._high = tolerance.around(target.data[self._observed].astype(np.float64))
        self._missing = ExactHits(keys, _missing_part(target))

    def count(self, keys: Codes, target: Column) -> Codes:
        """Return counts per original record, shape (n,)."""
        counts = self._missing.count(keys, _missing_part(target))
        use = target.is_observed & (keys >= 0)
        values = target.data[use]
        ranked = np.sort(values)
        width = len(ranked) + 1
        places = np.sort(keys[use] * width + np.searchsorted(ranked, values))
        own = self._keys[self._observed] * width
        first = np.searchsorted(places, own + np.searchsorted(ranked, self._low, side="left"))
        last = np.searchsorted(places, own + np.searchsorted(ranked, self._high, side="right"))
        counts[self._observed] = last - first
        return counts


def hits_counter(
    keys: Codes, target: Column, groups: Groups | None, tolerance: Tolerance | None
) -> Hits:
    """Return the counter for a target: within the tolerance where one is given, else exact."""
    if tolerance is None or target.is_coded:
        return ExactHits(keys, target, groups)
    return ToleranceHits(keys, target, tolerance)


def _missing_part(column: Column) -> Column:
    """Return the column with every observed number set to zero: only missing codes differ."""
    data = np.where(column.is_observed, 0.0, np.nan)
    return Column(column.variable, data, column.states)


def _cuts(wanted: Any) -> Any:
    """Return cut points of a file as a tuple, as they are configured."""
    return tuple(wanted) if isinstance(wanted, list) else wanted


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
    groups: Mapping[str, Annotated[Groups, BeforeValidator(_cuts)]] = field(default_factory=dict)
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
        """The scenario as keyword arguments of `synthesizer.measures.risk.cap.cap_scores`."""
        return {
            "keys": self.keys,
            "target": self.target,
            "groups": self.groups,
            "tolerance": self.tolerance,
        }


def _size(wanted: Groups) -> str:
    count = wanted if isinstance(wanted, int) else len(wanted) + 1
    return f"in {count} groups"
