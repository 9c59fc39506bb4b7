"""Distances between two sets of careers (sequences of states), and their noise floors.

Every measure is the total-variation distance, half the sum of absolute differences, of two
distributions: 0 if they are equal, 1 if they have nothing in common. That of ``headcounts`` is the
mean over the periods; in ``entry`` and ``exit`` persons who are never present are a separate cell.

The noise floor of a measure is its mean between the data and bootstraps of the persons: what a
perfect model would give that draws careers independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import DataError
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import ABSENT, OTHERS, panel_of, period_labels
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.measure import Case

WORDS: Mapping[str, str] = {
    "headcounts": "share of persons in each state, period by period",
    "transitions": "states of two adjacent periods",
    "changes": "states before and after a change",
    "n_moves": "number of changes of state of a person",
    "spells": "state and length of unbroken spells",
    "first_last": "first and last state of a person",
    "entry": "period and state of the first presence of a person",
    "exit": "period and state of the last presence of a person",
}
"""Meaning of each distance."""
MEASURES = tuple(WORDS)
BLOCK_PERSONS = 200_000
MOST_STATES = 300
"""Largest number of states; rarer ones are joined."""
SHOWN_STATES = 30
"""Largest number of states whose shares are saved."""
FLOOR_PERSONS = 20_000
REPEATS = 20
SAMPLED = 40
"""Number of synthetic careers in a chart."""
LINES = 60
PERSONS_OF_A_LINE = 10
"""Smallest number of persons behind a line, so that it shows no single career."""
PRESENT = "present"
_DIGITS = 8

Shares = tuple[float, ...]
Grid = tuple[Shares, ...]
Distributions = dict[str, FloatArray]
"""Shares of persons (of periods, of spells) by measure; each sums to 1, ``changes`` to 0 without
any change. Shapes: (T, A), (A, A), (A, A), (T,), (A, T), (A, A) and, with a state ``out``,
(T * A + 1,) of ``entry`` and ``exit``."""


class SequenceDistances(Result):
    """Total variation distances in [0, 1]; see the module for their meaning.

    ``entry`` and ``exit`` are None if there is no state ``out``.
    """

    headcounts: float
    transitions: float
    changes: float
    n_moves: float
    spells: float
    first_last: float
    entry: float | None
    exit: float | None


def sequence_distributions(
    sequences: npt.ArrayLike, n_states: int, *, out_code: int | None = None
) -> Distributions:
    """Return the distributions of all measures; persons are counted in blocks to save memory."""
    array = np.asarray(sequences)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError("sequences must have at least one person and one period")
    if array.min() < 0 or array.max() >= n_states:
        raise ValueError(f"sequences must have codes from 0 to {n_states - 1}")
    counts: Distributions = {}
    for start in range(0, len(array), BLOCK_PERSONS):
        block = _counts(array[start : start + BLOCK_PERSONS], n_states, out_code)
        counts = {name: counts.get(name, 0.0) + values for name, values in block.items()}
    return {name: values / max(values.sum(), 1.0) for name, values in counts.items()}


def distances_between(one: Distributions, other: Distributions) -> SequenceDistances:
    """Return the distances of two sets of distributions of the same periods and states."""
    both = [name if name in one and name in other else None for name in MEASURES]
    distances = (n if n is None else distance_of_shares(one[n], other[n]) for n in both)
    return SequenceDistances.model_validate(dict(zip(MEASURES, distances, strict=True)))


def sequence_distances(
    one: npt.ArrayLike, other: npt.ArrayLike, n_states: int, *, out_code: int | None = None
) -> SequenceDistances:
    """Return the distances between sequences of n and m persons over the same T periods.

    Parameters
    ----------
    one, other : array_like of int, shapes (n, T) and (m, T)
        State codes in [0, n_states).
    n_states : int
        A.
    out_code : int, optional
        Code of the state ``out``, for entry and exit.

    Raises
    ------
    ValueError
        If the arrays are empty, have other codes, or different numbers of periods.

    Examples
    --------
    >>> distances = sequence_distances([[0, 1], [0, 0]], [[0, 1]], n_states=2)
    >>> distances.headcounts, distances.transitions, distances.first_last
    (0.25, 0.5, 0.5)
    """
    if np.shape(one)[1:] != np.shape(other)[1:]:
        raise ValueError("sequences must have the same number of periods")
    first = sequence_distributions(one, n_states, out_code=out_code)
    return distances_between(first, sequence_distributions(other, n_states, out_code=out_code))


def noise_floor(
    sequences: npt.ArrayLike,
    n_states: int,
    *,
    out_code: int | None = None,
    n_persons: int | None = None,
    repeats: int = 20,
    seed: AnySeed = 0,
) -> SequenceDistances:
    """Return the mean distances between the data and bootstraps of their persons.

    Parameters
    ----------
    sequences, n_states, out_code
        As in `sequence_distances`.
    n_persons : int, optional
        Size of a bootstrap; n by default. Take the number of synthetic persons.
    repeats : int
        Bootstraps, >= 1.
    seed : int or Seed
        Seed of the bootstraps.

    Examples
    --------
    >>> floor = noise_floor([[0, 1], [0, 1]], 2, seed=1)
    >>> floor.headcounts, floor.n_moves
    (0.0, 0.0)
    """
    array = np.asarray(sequences)
    size = len(array) if n_persons is None else n_persons
    original = sequence_distributions(array, n_states, out_code=out_code)
    rng = seeded(seed).generator("noise floor")
    drawn = []
    for _ in range(repeats):
        rows = rng.integers(len(array), size=size)
        bootstrap = sequence_distributions(array[rows], n_states, out_code=out_code)
        drawn.append(distances_between(original, bootstrap))
    return mean_distances(drawn)


def mean_distances(distances: Iterable[SequenceDistances]) -> SequenceDistances:
    """Return the mean of each distance over several comparisons (at least one)."""
    values = zip(*([getattr(one, name) for name in MEASURES] for one in distances), strict=True)
    means = (None if None in numbers else float(np.mean(numbers)) for numbers in values)
    return SequenceDistances.model_validate(dict(zip(MEASURES, means, strict=True)))


def _counts(array: npt.NDArray[np.integer], n_states: int, out_code: int | None) -> Distributions:
    """Return the counts of the cells of all measures."""
    n, n_periods = array.shape
    codes = array.astype(np.int64)
    pairs = _cells(codes[:, :-1] * n_states + codes[:, 1:], (n_states, n_states))
    changed = codes[:, 1:] != codes[:, :-1]
    starts = np.flatnonzero(np.column_stack([np.ones(n, dtype=bool), changed]))
    length = np.diff(starts, append=n * n_periods)
    spells = codes.reshape(-1)[starts] * n_periods + length - 1
    counts = {
        "headcounts": _cells(np.arange(n_periods) * n_states + codes, (n_periods, n_states)),
        "transitions": pairs,
        "changes": pairs - np.diag(pairs.diagonal()),
        "n_moves": _cells(changed.sum(axis=1), (n_periods,)),
        "spells": _cells(spells, (n_states, n_periods)),
        "first_last": _cells(codes[:, 0] * n_states + codes[:, -1], (n_states, n_states)),
    }
    if out_code is not None:
        works = codes != out_code
        last = n_periods - 1 - works[:, ::-1].argmax(axis=1)
        for name, period in (("entry", works.argmax(axis=1)), ("exit", last)):
            cell = period * n_states + codes[np.arange(n), period]
            cell = np.where(works.any(axis=1), cell, n_periods * n_states)
            counts[name] = _cells(cell, (n_periods * n_states + 1,))
    return counts


def _cells(cells: npt.NDArray[np.integer], shape: tuple[int, ...]) -> FloatArray:
    size = int(np.prod(shape))
    return np.bincount(cells.reshape(-1), minlength=size).reshape(shape).astype(np.float64)


def distance_of_shares(one: FloatArray, other: FloatArray) -> float:
    """Return the total variation distance; 1 if only one of the two is empty."""
    if (one.sum() > 0) != (other.sum() > 0):
        return 1.0  # only one of the two has changes of state
    return float(np.abs(one - other).sum() / 2)


class SequenceShares(Result):
    """Shares of S shown states over T periods, to eight digits."""

    headcounts: Grid
    """Of the persons, in each period, shape (T, S); rows sum to 1."""
    transitions: Grid
    """Of all pairs of adjacent periods: state before, state after, shape (S, S)."""
    n_moves: Shares
    """Of the persons, by number of changes of state, shape (T,)."""
    spells: Grid
    """Of all spells, by state and length from 1 to T, shape (S, T)."""
    first_last: Grid
    """Of the persons: first state, last state, shape (S, S)."""
    entry: Shares | None
    """Of the persons: first period of presence, then never, shape (T + 1,). None if all original
    persons are always present."""
    exit: Shares | None
    """Of the persons: last period of presence, then never."""
    spell_lengths: tuple[float | None, ...]
    """Mean length of the spells of each state, in periods; None without spells."""


class CareerDistance(Row):
    """One distance of careers: mean and range over the datasets, and noise floor."""

    name: str = column("Measure", "text")
    meaning: str = column("What", "text")
    mean: float = column("Distance", "share")
    low: float | None = column("Lowest", "share", "of several datasets")
    high: float | None = column("Highest", "share", "of several datasets")
    floor: float = column("Noise floor", "share", "mean distance of bootstraps of the persons")
    ratio: float | None = column("Ratio", "number", "distance divided by noise floor")


class SequenceResult(Result):
    """Comparison of careers."""

    career: str | None
    """Variable of states; None if only presence is compared."""
    periods: tuple[str, ...]
    """The T periods, as texts."""
    states: tuple[str, ...]
    """The S shown states, by frequency; rarer ones are joined."""
    n_states: int
    """Number of states of the original, including absence."""
    distances: tuple[SequenceDistances, ...]
    """Distances of each dataset."""
    floor: SequenceDistances
    """Mean distances of bootstraps of the persons."""
    floor_persons: int
    """Number of persons behind the bootstraps."""
    original: SequenceShares
    synthetic: SequenceShares
    """Means over the datasets."""
    sample: tuple[tuple[int, ...], ...]
    """Random synthetic careers, as positions in ``states``, shape (up to 40, T)."""
    original_lines: tuple[tuple[int, ...], ...] = ()
    """Sorted careers, as positions in ``states``, shape (up to 60, T): the most frequent state of
    ten or more persons in each period."""
    synthetic_lines: tuple[tuple[int, ...], ...] = ()
    """Lines of the first dataset."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the distances that exist."""
        return tuple(name for name in MEASURES if getattr(self.floor, name) is not None)

    @property
    def mean(self) -> SequenceDistances:
        """Mean distances over the datasets."""
        return mean_distances(self.distances)

    @property
    def rows(self) -> tuple[CareerDistance, ...]:
        """One row for each distance that exists."""
        return tuple(self._row(name) for name in self.measures)

    def _row(self, name: str) -> CareerDistance:
        values = [getattr(distances, name) for distances in self.distances]
        several = len(values) > 1
        return CareerDistance(
            name=name,
            meaning=WORDS[name],
            mean=getattr(self.mean, name),
            low=min(values) if several else None,
            high=max(values) if several else None,
            floor=getattr(self.floor, name),
            ratio=self.ratio(name),
        )

    def ratio(self, measure: str) -> float | None:
        """Return a mean distance divided by its noise floor; None if the floor is 0."""
        distance, floor = getattr(self.mean, measure), getattr(self.floor, measure)
        return distance / floor if distance is not None and floor else None

    @property
    def worst_ratio(self) -> float | None:
        """The largest ratio; None if all floors are 0."""
        return max((r for m in self.measures if (r := self.ratio(m)) is not None), default=None)


def career_matrix(table: PanelTable, career: str | None) -> IntArray:
    """Return the states by person and period; absence is the code after those of the variable."""
    index = table.index
    if career is None:
        return index.matrix(np.zeros(index.n_rows, dtype=np.int32), 1)
    column = table[career]
    return index.matrix(np.asarray(column.data, dtype=np.int32), column.variable.n_codes)


def career_of(case: Case) -> Callable[[Table], IntArray]:
    """Return a function from a view of a panel to states by person and period."""
    career = case.periods.career
    return lambda view: career_matrix(panel_of(view), career)


def state_labels(table: PanelTable, career: str | None) -> tuple[str, ...]:
    """Return the labels of the states, without absence."""
    return (PRESENT,) if career is None else table[career].variable.labels


class States:
    """Codes of states by frequency in the original; at most `MOST_STATES`, others, and absence."""

    def __init__(self, labels: tuple[str, ...], matrix: IntArray) -> None:
        counts = np.bincount(matrix.ravel(), minlength=len(labels) + 1)
        occurring = np.argsort(-counts[:-1], kind="stable")
        occurring = occurring[counts[occurring] > 0]
        frequent = occurring[:MOST_STATES]
        self._lookup = np.full(len(labels) + 1, len(frequent), dtype=np.int32)
        self._lookup[frequent] = np.arange(len(frequent))
        self._lookup[-1] = len(frequent) + 1
        self.labels = (*(labels[k] for k in frequent), OTHERS, ABSENT)
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
    """Comparison of the careers of datasets that are added one by one."""

    def __init__(self, original: PanelTable, frame: Frame, seed: AnySeed = 0) -> None:
        self.frame, self._seed = frame, seed
        self._rng = seeded(seed).generator("sequences")
        matrix = career_matrix(original, frame.career)
        self._known = states = state_labels(original, frame.career)
        self.states = States(states, matrix)
        codes = self.states.encode(matrix)
        self.out = self.states.absent if self.states.has_absence else None
        self.original = self._distributions(codes)
        self.n = len(codes)
        few = np.arange(self.n)
        if self.n > FLOOR_PERSONS:
            few = np.sort(self._rng.choice(self.n, FLOOR_PERSONS, replace=False))
        self._base = codes[few]
        self.floor: SequenceDistances | None = None
        self.distances: list[SequenceDistances] = []
        self._sums: Distributions = {}
        self.sample: npt.NDArray[np.integer] | None = None
        self._first: IntArray | None = None

    def add(self, synthetic: PanelTable) -> None:
        """Add the next dataset."""
        career = self.frame.career
        if career is not None and synthetic[career].variable.labels != self._known:
            raise DataError(f"variable {career!r} has other levels than in the original")
        codes = self.states.encode(career_matrix(synthetic, career))
        drawn = self._distributions(codes)
        self.distances.append(distances_between(self.original, drawn))
        for name, values in drawn.items():
            self._sums[name] = self._sums.get(name, 0.0) + values
        if self.floor is None:
            self.floor = self._noise_floor(len(codes))
            chosen = self._rng.choice(len(codes), min(SAMPLED, len(codes)), replace=False)
            self.sample = codes[chosen]
            few = np.linspace(0, len(codes) - 1, min(len(codes), FLOOR_PERSONS)).astype(int)
            self._first = codes[few]

    def result(self) -> SequenceResult:
        """Return the result of at least one dataset."""
        if self.floor is None or self.sample is None or self._first is None:
            raise ValueError("needs a synthetic dataset")
        mean = {name: total / len(self.distances) for name, total in self._sums.items()}
        groups, labels = self._shown(mean["headcounts"])
        return SequenceResult(
            career=self.frame.career,
            periods=period_labels(self.frame.periods),
            states=labels,
            n_states=int((self.original["headcounts"].sum(axis=0) > 0).sum()),
            distances=tuple(self.distances),
            floor=self.floor,
            floor_persons=len(self._base),
            original=_shares(self.original, groups, len(labels)),
            synthetic=_shares(mean, groups, len(labels)),
            sample=_plain(groups[self.sample]),
            original_lines=_plain(career_lines(groups[self._base])),
            synthetic_lines=_plain(career_lines(groups[self._first])),
        )

    def _distributions(self, codes: IntArray) -> Distributions:
        return sequence_distributions(codes, self.states.n, out_code=self.out)

    def _noise_floor(self, n_synthetic: int) -> SequenceDistances:
        size = min(n_synthetic, FLOOR_PERSONS)
        floor = noise_floor(
            self._base,
            self.states.n,
            out_code=self.out,
            n_persons=size,
            repeats=REPEATS,
            seed=self._seed,
        )
        scale = float(np.sqrt(size / n_synthetic))
        values = ((name, getattr(floor, name)) for name in MEASURES)
        scaled = {name: None if value is None else value * scale for name, value in values}
        return floor.model_copy(update=scaled)

    def _shown(self, synthetic: FloatArray) -> tuple[IntArray, tuple[str, ...]]:
        """Return the shown state of each state, shape (A,), and the labels.

        Others and absence are left out if both files lack them.
        """
        total = self.original["headcounts"].sum(axis=0) + synthetic.sum(axis=0)
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


def _folded(values: FloatArray, groups: IntArray, axis: int, size: int) -> FloatArray:
    """Return sums over the states of each group along an axis, for ``size`` groups."""
    moved = np.moveaxis(values, axis, 0)
    total = np.zeros((int(groups.max()) + 1, *moved.shape[1:]))
    np.add.at(total, groups, moved)
    return np.moveaxis(total[:size], 0, axis)


def _shares(full: Distributions, groups: IntArray, size: int) -> SequenceShares:
    """Return the shares of the groups of states that are shown, shapes with S = size."""
    n_periods = len(full["n_moves"])

    def by_state(name: str, *axes: int) -> FloatArray:
        values = full[name]
        for axis in axes:
            values = _folded(values, groups, axis, size)
        return values

    def by_period(name: str) -> Any:
        """Return shares of persons by period, then never, shape (T + 1,)."""
        if name not in full:
            return None
        cells = full[name]
        return _plain(np.append(cells[:-1].reshape(n_periods, -1).sum(axis=1), cells[-1]))

    spells = by_state("spells", 0)
    return SequenceShares(
        headcounts=_plain(by_state("headcounts", 1) * n_periods),
        transitions=_plain(by_state("transitions", 0, 1)),
        n_moves=_plain(full["n_moves"]),
        spells=_plain(spells),
        first_last=_plain(by_state("first_last", 0, 1)),
        entry=by_period("entry"),
        exit=by_period("exit"),
        spell_lengths=tuple(_lengths(spells)),
    )


def _lengths(spells: FloatArray) -> Iterator[float | None]:
    lengths = np.arange(1, spells.shape[1] + 1)
    for spell, share in zip(spells, spells.sum(axis=1), strict=True):
        yield float(spell @ lengths / share) if share else None


def career_lines(careers: IntArray) -> IntArray:
    """Return typical careers of groups of similar careers, shape (up to `LINES`, T).

    Persons are sorted by their careers from the first period on, and divided into groups of equal
    size, at least `PERSONS_OF_A_LINE`; with fewer persons there are no lines. A line is the most
    frequent state of its group in each period.

    Parameters
    ----------
    careers : ndarray of int, shape (persons, T)
        States; ties go to the lowest.

    Examples
    --------
    >>> career_lines(np.array([[0, 1]] * 9 + [[0, 2]] + [[1, 1]] * 10)).tolist()
    [[0, 1], [1, 1]]
    """
    n, periods = careers.shape
    count = min(LINES, n // PERSONS_OF_A_LINE)
    if not count:
        return np.empty((0, periods), dtype=careers.dtype)
    ordered = careers[np.lexsort(careers.T[::-1])]
    return np.array(
        [
            [np.bincount(states).argmax() for states in group.T]
            for group in np.array_split(ordered, count)
        ]
    )


def _plain(values: FloatArray | IntArray) -> Any:
    """Return rounded numbers as tuples, nested as the array is."""
    return _tuples(np.round(values, _DIGITS).tolist())


def _tuples(values: Any) -> Any:
    return tuple(map(_tuples, values)) if isinstance(values, list) else values
