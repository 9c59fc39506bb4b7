"""What the utility measures of a panel found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from synthesizer.data.errors import DataError
from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.view import ABSENT, OTHERS, changed_rows, period_labels
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.measures.figure import Attempts, Figure, plain
from synthesizer.measures.utility.sequences import (
    MEASURES,
    SequenceDistances,
    SequenceDistributions,
    distances_between,
    mean_distances,
    noise_floor,
    sequence_distributions,
)

RATIO = "careers: largest ratio to the noise floor"
CHANGING = "histories: largest difference in share ever changing"
WORDS: Mapping[str, str] = {
    "headcounts": "share of persons in each state, period by period",
    "transitions": "states of two adjacent periods",
    "changes": "states before and after a change",
    "n_moves": "number of changes of state of a person",
    "spells": "state and length of unbroken spells",
    "first_last": "first and last state of a person",
    "entry": "period and state in which a person is first there",
    "exit": "period and state in which a person is last there",
}
"""What each measure compares."""


@dataclass(frozen=True, kw_only=True)
class PanelSize:
    """Persons and rows of one table."""

    persons: int
    rows: int

    @property
    def rows_per_person(self) -> float:
        """Mean number of periods in which a person is there."""
        return self.rows / self.persons if self.persons else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {**asdict(self), "rows_per_person": self.rows_per_person}


@dataclass(frozen=True, kw_only=True, eq=False)
class SequenceShares:
    """Shares of S shown states over T periods.

    Parameters
    ----------
    headcounts : ndarray, shape (T, S)
        Of the persons, in each period; rows sum to 1.
    transitions : ndarray, shape (S, S)
        Of all pairs of adjacent periods: state before, state after.
    n_moves : ndarray, shape (T,)
        Of the persons, by number of changes of state.
    spells : ndarray, shape (S, T)
        Of all spells, by state and length from 1 to T.
    first_last : ndarray, shape (S, S)
        Of the persons: first state, last state.
    entry, exit : ndarray or None, shape (T + 1,)
        Of the persons: first and last period in which they are there; the last entry is never.
        None where everybody of the original always is.
    """

    headcounts: FloatArray
    transitions: FloatArray
    n_moves: FloatArray
    spells: FloatArray
    first_last: FloatArray
    entry: FloatArray | None
    exit: FloatArray | None

    @property
    def spell_lengths(self) -> list[float | None]:
        """Mean length of the spells of each state, in periods; None where there is none."""
        lengths = np.arange(1, self.spells.shape[1] + 1)
        shares = self.spells.sum(axis=1)
        return [
            float(own @ lengths / share) if share else None
            for own, share in zip(self.spells, shares, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        arrays = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain = {name: None if a is None else _plain(a) for name, a in arrays.items()}
        return {**plain, "spell_lengths": self.spell_lengths}


@dataclass(frozen=True, kw_only=True, eq=False)
class SequenceResult:
    """Careers, original beside synthetic.

    Parameters
    ----------
    career : str or None
        The variable of states; None where only presence is compared.
    periods : tuple of str
        The T periods as they are written.
    states : tuple of str
        The S states whose shares are shown, by frequency; rarer ones are one state together.
    n_states : int
        States of the original, absence among them.
    measures : tuple of str
        Names of the distances that apply.
    distances : tuple of SequenceDistances
        Of each dataset; total-variation distances in [0, 1].
    mean, floor : SequenceDistances
        Mean over the datasets; what bootstraps of the persons give.
    floor_persons : int
        Persons whom the bootstraps were taken of.
    original, synthetic : SequenceShares
        The synthetic ones are means over the datasets.
    sample : ndarray of int, shape (up to 40, T)
        Random synthetic careers, as positions in ``states``.
    """

    career: str | None
    periods: tuple[str, ...]
    states: tuple[str, ...]
    n_states: int
    measures: tuple[str, ...]
    distances: tuple[SequenceDistances, ...]
    mean: SequenceDistances
    floor: SequenceDistances
    floor_persons: int
    original: SequenceShares
    synthetic: SequenceShares
    sample: IntArray

    def ratio(self, measure: str) -> float | None:
        """Return a mean distance over its noise floor; None where the floor is 0."""
        distance, floor = getattr(self.mean, measure), getattr(self.floor, measure)
        return distance / floor if distance is not None and floor else None

    @property
    def worst_ratio(self) -> float | None:
        """The largest ratio; None where no floor is above 0."""
        return max((r for m in self.measures if (r := self.ratio(m)) is not None), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "career": self.career,
            "periods": list(self.periods),
            "states": list(self.states),
            "n_states": self.n_states,
            "floor_persons": self.floor_persons,
            "measures": [
                {
                    "name": name,
                    "meaning": WORDS[name],
                    "datasets": [getattr(own, name) for own in self.distances],
                    "mean": getattr(self.mean, name),
                    "floor": getattr(self.floor, name),
                    "ratio": self.ratio(name),
                }
                for name in self.measures
            ],
            "worst_ratio": self.worst_ratio,
            "original": self.original.to_dict(),
            "synthetic": self.synthetic.to_dict(),
            "sample": self.sample.tolist(),
        }


@dataclass(frozen=True, kw_only=True)
class VariableHistory:
    """One variable's values along the careers.

    Parameters
    ----------
    name, kind : str
        Variable and its kind.
    association : str
        Cramer's V or Spearman correlation, of a value and the person's nearest earlier one.
    changing, lag : float
        Of the original: share of persons who ever change, and the association; None where there
        is none.
    changing_synthetic, lag_synthetic : tuple of float
        Of each dataset.
    """

    name: str
    kind: str
    association: str
    changing: float
    lag: float | None
    changing_synthetic: tuple[float, ...]
    lag_synthetic: tuple[float | None, ...]

    @property
    def mean_changing(self) -> float:
        """Mean share over the datasets."""
        return float(np.mean(self.changing_synthetic))

    @property
    def mean_lag(self) -> float | None:
        """Mean association over the datasets that have one."""
        known = [value for value in self.lag_synthetic if value is not None]
        return float(np.mean(known)) if known else None

    @property
    def difference(self) -> float:
        """Synthetic minus original share ever changing, in percentage points."""
        return 100 * (self.mean_changing - self.changing)

    @property
    def is_constant(self) -> bool:
        """Whether nobody changes it, neither in the original nor in a dataset."""
        return not self.changing and not any(self.changing_synthetic)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "variable": self.name,
            "kind": self.kind,
            "association": self.association,
            "constant": self.is_constant,
            "changing": {
                "original": self.changing,
                "synthetic": list(self.changing_synthetic),
                "mean": self.mean_changing,
                "difference_points": self.difference,
            },
            "lag": {
                "original": self.lag,
                "synthetic": list(self.lag_synthetic),
                "mean": self.mean_lag,
            },
        }


@dataclass(frozen=True, kw_only=True)
class PanelResult:
    """Careers and histories, original beside synthetic.

    Parameters
    ----------
    original : PanelSize
        Of the confidential data.
    synthetic : tuple of PanelSize
        Of each dataset.
    sequences : SequenceResult or None
        Careers; None where they could not be compared.
    variables : tuple of VariableHistory
        One for each variable of the panel.
    failed : mapping of str to str
        Measures that could not be computed, and why.
    """

    original: PanelSize
    synthetic: tuple[PanelSize, ...]
    sequences: SequenceResult | None = None
    variables: tuple[VariableHistory, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def worst(self) -> list[VariableHistory]:
        """Variables that anybody changes, the largest difference in share ever changing first."""
        changing = [own for own in self.variables if not own.is_constant]
        return sorted(changing, key=lambda own: -abs(own.difference))

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """Every figure with what it is about."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        n = self.original.persons + sum(own.persons for own in self.synthetic)
        found = self.sequences
        if found is not None:
            yield (
                "careers",
                Figure(
                    name=RATIO,
                    value=found.worst_ratio,
                    meaning="largest distance of synthetic from original careers over that of "
                    "bootstraps of the original's persons; about 1 is noise",
                    direction="lower is better",
                    n=n,
                    baseline=1.0,
                ),
            )
            for name in found.measures:
                yield (
                    "careers",
                    Figure(
                        name=f"careers: {name.replace('_', ' ')}",
                        value=getattr(found.mean, name),
                        meaning=f"total-variation distance of the {WORDS[name]}, from 0 to 1; the "
                        "baseline is what bootstraps of the original's persons give",
                        direction="lower is better",
                        n=n,
                        baseline=getattr(found.floor, name),
                    ),
                )
        if self.worst:
            first = self.worst[0]
            yield (
                first.name,
                Figure(
                    name=CHANGING,
                    value=abs(first.difference) / 100,
                    meaning="difference of synthetic and original in the share of persons whose "
                    "value ever changes, of the variable where it is largest",
                    direction="lower is better",
                    n=n,
                    baseline=0.0,
                ),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "original": self.original.to_dict(),
            "synthetic": [own.to_dict() for own in self.synthetic],
            "figures": [{"place": place, **plain(figure)} for place, figure in self.figures],
            "sequences": None if self.sequences is None else self.sequences.to_dict(),
            "variables": [own.to_dict() for own in self.variables],
            "failed": dict(self.failed),
        }


def _plain(values: FloatArray) -> list[Any]:
    rounded: list[Any] = np.round(values, 8).tolist()
    return rounded


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


# The careers of a panel as sequences of states, and their distances from the original's.

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


# The utility measures of panels, for datasets that come in one after the other.

CAREERS = "careers"


class PanelCollector:
    """Compares panels with the original as they come in.

    Parameters
    ----------
    original : PanelTable
        Confidential data.
    frame : Frame
        Periods, and the variable of the careers.
    rng : numpy.random.Generator
        For the noise floor.
    attempts : Attempts
        Collects what could not be computed: a measure that fails for one dataset is left out.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> year = Variable(name="year", kind=Kind.NUMERIC, decimals=0)
    >>> frame = Frame(periods=Column(year, np.array([1.0, 2.0])), times=np.array([1.0, 2.0]))
    >>> seen = np.array([[True, True], [False, True]])
    >>> grade = Variable(name="grade", kind=Kind.ORDERED, levels=("1", "2"))
    >>> panel = PanelTable(
    ...     [Column(grade, np.array([0, 1, 1], dtype=np.int32))],
    ...     PanelIndex.of_presence(seen, frame.times),
    ... )
    >>> collector = PanelCollector(panel, frame, np.random.default_rng(1), attempts=Attempts())
    >>> collector.add(panel)
    >>> found = collector.result()
    >>> found.variables[0].changing, found.sequences.mean.headcounts
    (0.5, 0.0)
    """

    def __init__(
        self, original: PanelTable, frame: Frame, rng: np.random.Generator, *, attempts: Attempts
    ) -> None:
        self.attempts = attempts
        self.original = _size(original)
        self.sizes: list[PanelSize] = []
        self._sequences = attempts.of(CAREERS, lambda: SequenceComparison(original, frame, rng))
        names = [name for name in original.names if name != frame.time]
        self._variables = [_Variable(original, name) for name in names]

    def add(self, synthetic: PanelTable) -> None:
        """Look at the next dataset."""
        self.sizes.append(_size(synthetic))
        careers = self._sequences
        if careers is not None and CAREERS not in self.attempts.failed:
            self.attempts.of(CAREERS, lambda: careers.add(synthetic))
        for variable in self._variables:
            if variable.place not in self.attempts.failed:
                self.attempts.of(variable.place, partial(variable.add, synthetic))

    def result(self) -> PanelResult | None:
        """Return what was found; None without a dataset."""
        if not self.sizes:
            return None
        failed = self.attempts.failed
        careers = None if CAREERS in failed else self._sequences
        return PanelResult(
            original=self.original,
            synthetic=tuple(self.sizes),
            sequences=None if careers is None else careers.result(),
            variables=tuple(v.result() for v in self._variables if v.place not in failed),
            failed=dict(failed),
        )


class _Variable:
    """One variable's history in the original and in the datasets so far."""

    def __init__(self, original: PanelTable, name: str) -> None:
        self.name = name
        column = original[name]
        self.kind = column.variable.kind.value
        self.association = association_name(column)
        self.original = _history(original, column)
        self.synthetic: list[tuple[float, float | None]] = []

    @property
    def place(self) -> str:
        return f"history of {self.name}"

    def add(self, synthetic: PanelTable) -> None:
        self.synthetic.append(_history(synthetic, synthetic[self.name]))

    def result(self) -> VariableHistory:
        return VariableHistory(
            name=self.name,
            kind=self.kind,
            association=self.association,
            changing=self.original[0],
            lag=self.original[1],
            changing_synthetic=tuple(changing for changing, _ in self.synthetic),
            lag_synthetic=tuple(lag for _, lag in self.synthetic),
        )


def _history(table: PanelTable, column: Column) -> tuple[float, float | None]:
    return changing_share(table.index, column), lag_association(table.index, column)


def _size(table: PanelTable) -> PanelSize:
    return PanelSize(persons=table.n_units, rows=table.n_rows)
