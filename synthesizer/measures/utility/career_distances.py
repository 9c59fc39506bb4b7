"""The careers of a panel as sequences of states, and their distances from the original's.

States are the levels of the career variable and absence; a panel without one has the states
present and absent. The distances are those of `synthesizer.measures.utility.sequences`.

The noise floor is the mean distance of the data from bootstraps of their persons: what careers
would give that are drawn from the data's own distribution. At most `FLOOR_PERSONS` persons,
chosen at random, are bootstrapped, as many as the synthetic data have but no more; distances go
with one over the root of the number of persons, which brings the floor to the right size. (Where
cells are sparse that understates it a little, so that the ratio is on the strict side.)
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from synthesizer.data.errors import DataError
from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.view import ABSENT, OTHERS, changed_rows, period_labels
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.measures.utility.longitudinal import SequenceResult, SequenceShares
from synthesizer.measures.utility.sequences import (
    MEASURES,
    SequenceDistances,
    SequenceDistributions,
    distances_between,
    mean_distances,
    noise_floor,
    sequence_distributions,
)

MOST_STATES = 300
"""States that are told apart; rarer ones are one state together."""
SHOWN_STATES = 30
"""States whose shares are kept in a file."""
FLOOR_PERSONS = 20_000
REPEATS = 20
SAMPLED = 40
"""Synthetic careers that a picture shows."""
PRESENT = "present"


def career_matrix(table: PanelTable, career: str | None) -> IntArray:
    """Return the states by person and period; absence is the code after those of the variable.

    Parameters
    ----------
    table : PanelTable
        Of n persons and T periods.
    career : str or None
        The variable of states; None: 0 is present, 1 absent.

    Returns
    -------
    ndarray of int, shape (n, T)
    """
    index = table.index
    if career is None:
        return index.matrix(np.zeros(index.n_rows, dtype=np.int32), 1)
    column = table[career]
    return index.matrix(np.asarray(column.data, dtype=np.int32), column.variable.n_codes)


class States:
    """Codes by frequency in the original; at most `MOST_STATES` beside others and absence.

    Parameters
    ----------
    labels : sequence of str
        Labels of the career variable.
    matrix : ndarray of int, shape (n, T)
        The original's careers, absence by code len(labels).
    """

    def __init__(self, labels: tuple[str, ...], matrix: IntArray) -> None:
        counts = np.bincount(matrix.ravel(), minlength=len(labels) + 1)
        occurring = np.argsort(-counts[:-1], kind="stable")
        occurring = occurring[counts[occurring] > 0]
        kept = occurring[:MOST_STATES]
        self._lookup = np.full(len(labels) + 1, len(kept), dtype=np.int32)
        self._lookup[kept] = np.arange(len(kept))
        self._lookup[-1] = len(kept) + 1
        self.labels = (*(labels[k] for k in kept), OTHERS, ABSENT)
        self.has_absence = bool(counts[-1])

    @property
    def n(self) -> int:
        """Number of states, with others and absence."""
        return len(self.labels)

    @property
    def absent(self) -> int:
        """Code of absence."""
        return self.n - 1

    def encode(self, matrix: IntArray) -> IntArray:
        """Return careers in these codes."""
        return np.asarray(self._lookup[matrix])


class SequenceComparison:
    """Compares the careers of datasets that come in one by one with the original's.

    Parameters
    ----------
    original : PanelTable
        Confidential data.
    frame : Frame
        Periods, and the variable of the careers.
    rng : numpy.random.Generator
        For the noise floor and the sample of synthetic careers.
    """

    def __init__(self, original: PanelTable, frame: Frame, rng: np.random.Generator) -> None:
        self.frame, self.rng = frame, rng
        matrix = career_matrix(original, frame.career)
        own = (PRESENT,) if frame.career is None else original[frame.career].variable.labels
        self._known = own
        self.states = States(own, matrix)
        codes = self.states.encode(matrix)
        self.out = self.states.absent if self.states.has_absence else None
        self.original = self._distributions(codes)
        self.n = len(codes)
        few = np.arange(self.n)
        if self.n > FLOOR_PERSONS:
            few = np.sort(rng.choice(self.n, FLOOR_PERSONS, replace=False))
        self._base = codes[few]
        self.floor: SequenceDistances | None = None
        self.distances: list[SequenceDistances] = []
        self._sums: dict[str, FloatArray] = {}
        self.sample: npt.NDArray[np.integer] | None = None

    def add(self, synthetic: PanelTable) -> None:
        """Look at the next dataset.

        Raises
        ------
        DataError
            If its career variable has other labels.
        """
        career = self.frame.career
        if career is not None and synthetic[career].variable.labels != self._known:
            raise DataError(f"variable {career!r} has other levels than in the original")
        codes = self.states.encode(career_matrix(synthetic, career))
        drawn = self._distributions(codes)
        self.distances.append(distances_between(self.original, drawn))
        for name, values in _arrays(drawn).items():
            self._sums[name] = self._sums.get(name, 0.0) + values
        if self.floor is None:
            self.floor = self._noise_floor(len(codes))
            chosen = self.rng.choice(len(codes), min(SAMPLED, len(codes)), replace=False)
            self.sample = codes[chosen]

    def result(self) -> SequenceResult:
        """Return what was found; needs at least one dataset."""
        if self.floor is None or self.sample is None:
            raise ValueError("needs a synthetic dataset")
        mean = {name: total / len(self.distances) for name, total in self._sums.items()}
        groups, labels = self._shown(mean["headcounts"])
        return SequenceResult(
            career=self.frame.career,
            periods=period_labels(self.frame.periods),
            states=labels,
            n_states=int((self.original.headcounts.sum(axis=0) > 0).sum()),
            measures=tuple(m for m in MEASURES if getattr(self.floor, m) is not None),
            distances=tuple(self.distances),
            mean=mean_distances(self.distances),
            floor=self.floor,
            floor_persons=len(self._base),
            original=_shares(_arrays(self.original), groups, len(labels)),
            synthetic=_shares(mean, groups, len(labels)),
            sample=groups[self.sample],
        )

    def _distributions(self, codes: IntArray) -> SequenceDistributions:
        return sequence_distributions(codes, self.states.n, out_code=self.out)

    def _noise_floor(self, n_synthetic: int) -> SequenceDistances:
        size = min(n_synthetic, FLOOR_PERSONS)
        found = noise_floor(
            self._base,
            self.states.n,
            out_code=self.out,
            n_persons=size,
            repeats=REPEATS,
            rng=self.rng,
        )
        scale = float(np.sqrt(size / n_synthetic))
        values = ((name, getattr(found, name)) for name in MEASURES)
        scaled: dict[str, Any] = {
            name: None if value is None else value * scale for name, value in values
        }
        return replace(found, **scaled)

    def _shown(self, synthetic: FloatArray) -> tuple[IntArray, tuple[str, ...]]:
        """Return which shown state each state belongs to, shape (A,), and the labels.

        Others and absence are left out where neither side has them.
        """
        total = self.original.headcounts.sum(axis=0) + synthetic.sum(axis=0)
        others, absent = self.states.n - 2, self.states.n - 1
        single = np.arange(min(others, SHOWN_STATES))
        groups = np.full(self.states.n, len(single), dtype=np.int64)
        groups[single] = single
        labels = [self.states.labels[k] for k in single]
        if total[len(single) : others + 1].any():
            labels.append(OTHERS)
        groups[absent] = len(labels)
        if total[absent] > 0:
            labels.append(ABSENT)
        return groups, tuple(labels)


def _arrays(found: SequenceDistributions) -> dict[str, FloatArray]:
    """Return the distributions that there are, by name."""
    named = ((part.name, getattr(found, part.name)) for part in fields(found))
    return {name: values for name, values in named if values is not None}


def _folded(values: FloatArray, groups: IntArray, axis: int, size: int) -> FloatArray:
    """Add up the states of each group along an axis; groups from ``size`` on are empty."""
    moved = np.moveaxis(values, axis, 0)
    total = np.zeros((int(groups.max()) + 1, *moved.shape[1:]))
    np.add.at(total, groups, moved)
    return np.moveaxis(total[:size], 0, axis)


def _shares(full: dict[str, FloatArray], groups: IntArray, size: int) -> SequenceShares:
    """Return the shares of the groups of states that are shown, shapes with S = size."""
    n_periods = len(full["n_moves"])

    def by_state(name: str, *axes: int) -> FloatArray:
        values = full[name]
        for axis in axes:
            values = _folded(values, groups, axis, size)
        return values

    def by_period(name: str) -> FloatArray | None:
        """Return shares of periods, and of who is in none, shape (T + 1,)."""
        if name not in full:
            return None
        cells = full[name]
        return np.append(cells[:-1].reshape(n_periods, -1).sum(axis=1), cells[-1])

    return SequenceShares(
        headcounts=by_state("headcounts", 1) * n_periods,
        transitions=by_state("transitions", 0, 1),
        n_moves=full["n_moves"],
        spells=by_state("spells", 0),
        first_last=by_state("first_last", 0, 1),
        entry=by_period("entry"),
        exit=by_period("exit"),
    )


# How the values of a person hang together: who ever changes, and values beside their past.

Codes = npt.NDArray[np.int64]

DENSE_CELLS = 4_000_000
"""Cells of a table up to which it is counted whole; larger ones only where it has anybody."""


def changing_share(index: PanelIndex, column: Column) -> float:
    """Return the share of persons who ever have another value than in their first row, in [0, 1].

    Persons with one row count as never changing.

    Parameters
    ----------
    index : PanelIndex
        r rows of n >= 1 persons.
    column : Column
        Shape (r,).
    """
    other = changed_rows(column, index.starts[index.person])
    return float((np.bincount(index.person[other], minlength=index.n_persons) > 0).mean())


def association_name(column: Column) -> str:
    """Return what `lag_association` computes of a variable."""
    return "Cramer's V" if column.is_coded else "Spearman correlation"


def lag_association(index: PanelIndex, column: Column) -> float | None:
    """Return the association of a value with the person's nearest earlier one.

    Cramer's V, in [0, 1], of levels and missing codes; Spearman's correlation, in [-1, 1], of
    numbers and dates, where both values are observed. All rows but the first of each person, in
    one table; None if nobody has two rows, or one side does not vary.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> seen = np.array([[True, True, True], [True, False, True]])
    >>> index = PanelIndex.of_presence(seen, np.arange(3.0))
    >>> pay = Column(Variable(name="pay", kind=Kind.NUMERIC), np.array([1.0, 2.0, 3.0, 7.0, 9.0]))
    >>> lag_association(index, pay)
    1.0
    """
    now = np.flatnonzero(~index.is_first)
    before = now - 1
    if column.is_coded:
        codes = np.asarray(column.data, dtype=np.int64)
        return cramers_v(codes[before], codes[now], column.variable.n_codes)
    known = column.is_observed
    both = known[now] & known[before]
    numbers = np.asarray(column.data, dtype=np.float64)
    return spearman(numbers[before[both]], numbers[now[both]])


def cramers_v(one: Codes, other: Codes, n_codes: int) -> float | None:
    """Return Cramer's V of two codes, without a correction for chance; None where one is constant.

    Source: Cramer (1946), Mathematical Methods of Statistics, 21.9.

    Parameters
    ----------
    one, other : ndarray of int, shape (r,)
        Codes in [0, n_codes).
    n_codes : int
        Number of codes.
    """
    n = len(one)
    rows = np.bincount(one, minlength=n_codes)
    columns = np.bincount(other, minlength=n_codes)
    smaller = min(int((rows > 0).sum()), int((columns > 0).sum()))
    if smaller < 2:
        return None
    key = one * n_codes + other
    if n_codes * n_codes <= DENSE_CELLS:
        table = np.bincount(key, minlength=n_codes * n_codes)
        cells = np.flatnonzero(table)
        counts = table[cells]
    else:
        cells, counts = np.unique(key, return_counts=True)
    expected = rows[cells // n_codes] / n * columns[cells % n_codes]
    square = float((counts / expected * (counts / n)).sum()) - 1  # chi-square over n
    return float(np.sqrt(min(max(square / (smaller - 1), 0.0), 1.0)))


def spearman(one: FloatArray, other: FloatArray) -> float | None:
    """Return the correlation of ranks (ties: their mean); None where one side is constant.

    Examples
    --------
    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([5.0, 4.0, 0.0]))
    -1.0
    """
    if len(one) < 2:
        return None
    ranks = [rankdata(values) - (len(one) + 1) / 2 for values in (one, other)]
    spread = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    if spread == 0:
        return None
    return float(np.clip(round(float((ranks[0] * ranks[1]).sum()) / spread, 12), -1.0, 1.0))
