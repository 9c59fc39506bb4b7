"""Careers and histories of persons in a panel: comparison of original and synthetic data.

If periods were added to a published panel, the new periods are also compared alone, by the
distances of `sequences` over pairs of adjacent periods of which the second is new. These include
errors of the published file in its last period. A further distance compares P(next state | state)
of both files, weighted by the shares of the states in the published file. It measures the errors of
the new periods alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from pydantic import Field

from synthesizer.data.codes import mean_ranks
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.view import changers, panel_of, period_labels
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.measures.figure import (
    Attempts,
    Figure,
    FigureKind,
    Limit,
    Measured,
    Result,
    Row,
    column,
    shown,
)
from synthesizer.measures.measure import Case, Collecting, Measure, seeing
from synthesizer.measures.utility.cells import mean_of_known
from synthesizer.measures.utility.sequences import (
    FLOOR_PERSONS,
    REPEATS,
    WORDS,
    SequenceComparison,
    SequenceResult,
    States,
    career_matrix,
    distance_of_shares,
    state_labels,
)

CAREERS = "careers"


class PanelSize(Result):
    """Numbers of persons and rows of one table."""

    persons: int
    rows: int

    @property
    def rows_per_person(self) -> float:
        """Mean number of periods in which a person is present."""
        return self.rows / self.persons if self.persons else 0.0


class VariableHistory(Row):
    """Changes of one variable over time."""

    name: str = column("Variable", "text")
    kind: str
    association: str = column("Association", "text", "of a value and the nearest earlier one")
    """Cramer's V or Spearman correlation."""
    changing: float = column("Ever changing, original", "share", "of the persons")
    lag: float | None = column("Original", "share", "association; none without variation")
    changing_synthetic: tuple[float, ...]
    """Share of persons who ever change, by dataset."""
    lag_synthetic: tuple[float | None, ...]
    """Association, by dataset."""
    new_synthetic: tuple[float | None, ...] = ()
    """Share of steps from value to value that do not occur in the original, by dataset."""

    @property
    @shown("Synthetic", "share")
    def mean_changing(self) -> float:
        """Mean share over the datasets."""
        return float(np.mean(self.changing_synthetic))

    @property
    @shown("Synthetic", "share")
    def mean_lag(self) -> float | None:
        """Mean association over the datasets that have one."""
        return mean_of_known(self.lag_synthetic)

    @property
    @shown("New steps", "share", "steps from value to value that do not occur in the original")
    def mean_new(self) -> float | None:
        """Mean share over the datasets that have steps; None for numbers."""
        return mean_of_known(self.new_synthetic)

    @property
    @shown("Difference in points", "number", "percentage points")
    def difference(self) -> float:
        """Synthetic minus original share ever changing, in percentage points."""
        return 100 * (self.mean_changing - self.changing)

    @property
    def is_constant(self) -> bool:
        """Whether it is constant within persons, in the original and all datasets."""
        return not self.changing and not any(self.changing_synthetic)


SEQUENCE_RATIO = FigureKind(
    "sequence_ratio",
    "careers: largest ratio to the noise floor",
    "panels: distance of synthetic from original careers, divided by that of bootstraps of the "
    "original, for the statistic where it is largest; 1 or less: as good as a new sample",
    "lower is better",
    title="careers: largest distance over noise",
    ideal=1.0,
    limit=Limit(high=None),
    is_axis=True,
)
CAREER_DISTANCES = {
    name: FigureKind(
        f"careers_{name}",
        f"careers: {name.replace('_', ' ')}",
        f"total variation distance of the {words}, from 0 to 1; chance: bootstraps of the original "
        "persons",
        "lower is better",
    )
    for name, words in WORDS.items()
}
CHANGING = FigureKind(
    "histories_largest_difference_in_share_ever_changing",
    "histories: largest difference in share ever changing",
    "difference in the share of persons whose value ever changes, for the variable where it is "
    "largest",
    "lower is better",
)


class PanelResult(Result):
    """Comparison of careers and histories."""

    original: PanelSize
    synthetic: tuple[PanelSize, ...]
    """Sizes of each dataset."""
    sequences: SequenceResult | None = None
    """Careers; None if they could not be compared."""
    variables: tuple[VariableHistory, ...] = ()
    """One for each variable of the panel."""
    failed: Mapping[str, str] = Field(default_factory=dict)
    """Reason for each measure that could not be computed."""

    @property
    def worst(self) -> list[VariableHistory]:
        """Variables that are not constant, the largest difference in share ever changing first."""
        changing = [history for history in self.variables if not history.is_constant]
        return sorted(changing, key=lambda history: -abs(history.difference))

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """All figures, each with its subject."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        n = self.original.persons + sum(dataset.persons for dataset in self.synthetic)
        careers = self.sequences
        if careers is not None:
            yield CAREERS, SEQUENCE_RATIO.of(careers.worst_ratio, n, chance=1.0)
            for row in careers.rows:
                yield CAREERS, CAREER_DISTANCES[row.name].of(row.mean, n, chance=row.floor)
        for first in self.worst[:1]:
            yield first.name, CHANGING.of(abs(first.difference) / 100, n, chance=0.0)


Codes = npt.NDArray[np.int64]


def changing_share(index: PanelIndex, column: Column) -> float:
    """Return the share of persons who ever have another value than in their first row, in [0, 1].

    Persons with one row count as never changing; there is at least one person.
    """
    return float(changers(index, column).mean())


def lag_association(index: PanelIndex, column: Column) -> float | None:
    """Return the association of a value with the person's nearest earlier one.

    Cramer's V, in [0, 1], for levels and missing codes; Spearman's correlation, in [-1, 1], for
    pairs of observed numbers or dates. All rows but the first of each person count; None without a
    person with two rows, or without variation.
    """
    now = np.flatnonzero(~index.is_first)
    before = now - 1
    if column.is_coded:
        codes = np.asarray(column.data, dtype=np.int64)
        return cramers_v(codes[before], codes[now])
    observed = column.is_observed
    both = observed[now] & observed[before]
    numbers = np.asarray(column.data, dtype=np.float64)
    return spearman(numbers[before[both]], numbers[now[both]])


def steps_of(index: PanelIndex, column: Column) -> list[tuple[str, str]]:
    """Return all steps from a value to another one in the next row of a person, by label."""
    now = np.flatnonzero(~index.is_first)
    moved = now[column.data[now] != column.data[now - 1]]
    labels = column.variable.labels
    codes = (column.data[rows].astype(np.int64).tolist() for rows in (moved - 1, moved))
    return [(labels[before], labels[after]) for before, after in zip(*codes, strict=True)]


def cramers_v(one: IntArray, other: IntArray) -> float | None:
    """Return Cramer's V of two codes, without bias correction; None if one is constant.

    Codes have shape (r,). Source: Cramer (1946), Mathematical Methods of Statistics, 21.9.
    """
    n, rows, columns = len(one), np.bincount(one), np.bincount(other)
    smaller = min(int((rows > 0).sum()), int((columns > 0).sum()))
    if smaller < 2:
        return None
    cells, counts = np.unique(one * np.int64(len(columns)) + other, return_counts=True)
    expected = rows[cells // len(columns)] / n * columns[cells % len(columns)]
    square = float((counts / expected * (counts / n)).sum()) - 1  # chi-square over n
    return float(np.sqrt(min(max(square / (smaller - 1), 0.0), 1.0)))


def spearman(one: FloatArray, other: FloatArray) -> float | None:
    """Return the correlation of ranks (ties: their mean); None if one side is constant."""
    if len(one) < 2:
        return None
    ranks = [mean_ranks(values) - (len(one) + 1) / 2 for values in (one, other)]
    spread = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    if spread == 0:
        return None
    return round(float((ranks[0] * ranks[1]).sum()) / spread, 12)  # 1.0000000000000002 is 1


class PanelCollector:
    """Comparison of panels that are added one by one; careers are in `SequenceComparison`.

    ``attempts`` collects failures: a measure that fails for one dataset is left out.
    """

    def __init__(
        self, original: PanelTable, frame: Frame, seed: AnySeed = 0, *, attempts: Attempts
    ) -> None:
        self.attempts, self._original = attempts, original
        self.sizes: list[PanelSize] = []
        self._sequences = attempts.of(CAREERS, lambda: SequenceComparison(original, frame, seed))
        names = [name for name in original.names if name != frame.time]
        self._histories = {name: [_history(original, name)] for name in names}
        coded = [name for name in names if original[name].is_coded]
        self._steps = {name: frozenset(steps_of(original.index, original[name])) for name in coded}
        self._new: dict[str, list[float | None]] = {name: [] for name in coded}

    def add(self, synthetic: PanelTable) -> None:
        """Add the next dataset."""
        self.sizes.append(_size(synthetic))
        careers = self._sequences
        if careers is not None and CAREERS not in self.attempts.failed:
            self.attempts.of(CAREERS, lambda: careers.add(synthetic))
        for name, histories in self._histories.items():
            if _subject(name) not in self.attempts.failed:
                history = self.attempts.of(_subject(name), partial(_history, synthetic, name))
                histories += [] if history is None else [history]
        for name, known in self._steps.items():
            if _subject(name) in self.attempts.failed:
                continue
            steps = steps_of(synthetic.index, synthetic[name])
            new = sum(step not in known for step in steps)
            self._new[name].append(new / len(steps) if steps else None)

    def result(self) -> PanelResult | None:
        """Return the result; None without a dataset."""
        if not self.sizes:
            return None
        failed = self.attempts.failed
        careers = None if CAREERS in failed else self._sequences
        return PanelResult(
            original=_size(self._original),
            synthetic=tuple(self.sizes),
            sequences=None if careers is None else careers.result(),
            variables=tuple(
                self._variable(name) for name in self._histories if _subject(name) not in failed
            ),
            failed=dict(failed),
        )

    def _variable(self, name: str) -> VariableHistory:
        column = self._original[name]
        (changing, lag), *synthetic = self._histories[name]
        return VariableHistory(
            name=name,
            kind=column.variable.kind.value,
            association="Cramer's V" if column.is_coded else "Spearman correlation",
            changing=changing,
            lag=lag,
            changing_synthetic=tuple(changing for changing, _ in synthetic),
            lag_synthetic=tuple(lag for _, lag in synthetic),
            new_synthetic=tuple(self._new.get(name, ())),
        )


def _subject(name: str) -> str:
    return f"history of {name}"


def _history(table: PanelTable, name: str) -> tuple[float, float | None]:
    return changing_share(table.index, table[name]), lag_association(table.index, table[name])


def _size(table: PanelTable) -> PanelSize:
    return PanelSize(persons=table.n_units, rows=table.n_rows)


WORDS = {
    "headcounts": "share of {records} in each state of the new periods",
    "transitions": "states before and in a new period",
    "changes": "the same of those who changed their state",
    "steps": "state in a new period given the state before",
}
"""Meaning of each distance."""


class NewPeriodsRow(Row):
    """One distance and its noise floor."""

    name: str = column("Measure", "text")
    meaning: str = column("What", "text")
    mean: float = column("Distance", "share", "mean over the datasets")
    floor: float = column("Noise floor", "share", "mean distance of bootstraps of the persons")

    @property
    def ratio(self) -> float | None:
        """Distance divided by its noise floor; None if that is 0."""
        return self.mean / self.floor if self.floor else None


_NEW = {
    "transitions": FigureKind(
        "new_transitions",
        "new transitions: ratio to the noise floor",
        "distance of transitions in the added periods from the original's, divided by that of "
        "bootstraps of the original; 1: as near as a bootstrap",
        "about 1 is good",
        on_screen=True,
    ),
    "steps": FigureKind(
        "new_steps",
        "new transitions given the past: ratio to the noise floor",
        "new transitions given the state before, so that errors of the published file do not count",
        "about 1 is good",
        on_screen=True,
    ),
}
"""Kind of figure of each row that has one."""


class NewPeriods(Measured):
    """Comparison of careers in the new periods."""

    n: int
    """Number of original persons."""
    first: str
    """First new period, as text."""
    periods: int
    """Number of new periods."""
    rows: tuple[NewPeriodsRow, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Ratios of transitions, and of transitions given the state before."""
        return tuple(
            _NEW[row.name].of(row.ratio, self.n, f"from {self.first!r} on")
            for row in self.rows
            if row.name in _NEW
        )


class NewPeriodsCounter:
    """Comparison of the new periods of datasets that are added one by one."""

    def __init__(self, original: PanelTable, frame: Frame, since: int, seed: AnySeed = 0) -> None:
        self._frame, self._since = frame, since
        self._rng = seeded(seed).generator("new periods")
        matrix = career_matrix(original, frame.career)
        self._states = States(state_labels(original, frame.career), matrix)
        self._base = self._states.encode(matrix)[:, since - 1 :]
        self._own = _pairs(self._base, self._states.n)
        self._drawn: list[dict[str, float]] = []
        self._persons = 0

    def add(self, synthetic: PanelTable) -> None:
        """Add the next dataset."""
        codes = self._states.encode(career_matrix(synthetic, self._frame.career))
        self._persons = len(codes)
        self._drawn.append(_distances(self._own, _pairs(codes[:, self._since - 1 :], self._n)))

    @property
    def _n(self) -> int:
        return self._states.n

    def result(self) -> NewPeriods:
        """Return the result of at least one dataset."""
        n = len(self._base)
        size = min(self._persons, FLOOR_PERSONS)
        floors = [
            _distances(self._own, _pairs(self._base[self._rng.integers(n, size=size)], self._n))
            for _ in range(REPEATS)
        ]
        scale = float(np.sqrt(size / self._persons))
        return NewPeriods(
            n=n,
            first=period_labels(self._frame.periods)[self._since],
            periods=self._base.shape[1] - 1,
            rows=tuple(
                NewPeriodsRow(
                    name=name,
                    meaning=words,
                    mean=float(np.mean([each[name] for each in self._drawn])),
                    floor=float(np.mean([each[name] for each in floors])) * scale,
                )
                for name, words in WORDS.items()
            ),
        )


def _pairs(codes: IntArray, n_states: int) -> FloatArray:
    """Return shares of persons by state before and state after, shape (T - 1, A, A)."""
    before, after = codes[:, :-1].astype(np.int64), codes[:, 1:]
    steps = np.arange(before.shape[1])
    cells = (steps * n_states + before) * n_states + after
    counts = np.bincount(cells.ravel(), minlength=len(steps) * n_states**2)
    return counts.reshape(-1, n_states, n_states) / len(codes)


def _distances(one: FloatArray, other: FloatArray) -> dict[str, float]:
    """Return the distances of shares by state before and after; ``one`` is the original's."""
    changes = [side.sum(axis=0) * ~np.eye(one.shape[1], dtype=bool) for side in (one, other)]
    of_one, of_other = _given_before(one), _given_before(other)
    apart = np.where(one.sum(axis=2) > 0, np.abs(of_one - of_other).sum(axis=2) / 2, 1.0)
    return {
        "headcounts": float(np.abs(one.sum(axis=1) - other.sum(axis=1)).sum(axis=1).mean() / 2),
        "transitions": float(np.abs(one.mean(axis=0) - other.mean(axis=0)).sum() / 2),
        "changes": distance_of_shares(*(table / max(table.sum(), 1e-300) for table in changes)),
        "steps": float((other.sum(axis=2) * apart).sum(axis=1).mean()),
    }


def _given_before(pairs: FloatArray) -> FloatArray:
    """Return P(next state | state) of each state; 0 for an empty state."""
    total = pairs.sum(axis=2, keepdims=True)
    return np.asarray(np.divide(pairs, total, out=np.zeros_like(pairs), where=total > 0))


def _histories(case: Case) -> Collecting:
    original = panel_of(case.original)
    collector = PanelCollector(original, case.periods, case.seed, attempts=Attempts())
    return seeing(panel_of, collector)


def _new_periods(case: Case) -> Collecting | None:
    if case.since is None:
        return None
    original = panel_of(case.original)
    return seeing(panel_of, NewPeriodsCounter(original, case.periods, case.since, case.seed))


MEASURES = (
    Measure(
        "sequences",
        "datasets",
        axis="utility",
        after="full table",
        result_field="panel",
        words="panels: careers, and the histories of all variables",
        needs=("panel",),
        compute=_histories,
        figures=(SEQUENCE_RATIO, *CAREER_DISTANCES.values(), CHANGING),
    ),
    Measure(
        "new periods",
        "datasets",
        axis="utility",
        after="sequences",
        switch="sequences",
        needs=("panel",),
        compute=_new_periods,
        result=NewPeriods,
        figures=tuple(_NEW.values()),
    ),
)
