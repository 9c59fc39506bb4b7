"""The histories of persons in a panel, original beside synthetic: careers and values over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy
from pydantic import Field

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.view import changed_rows
from synthesizer.data.randomness import AnySeed
from synthesizer.data.table import Column, FloatArray
from synthesizer.measures.figure import Attempts, Figure, Result, Row, column, shown
from synthesizer.measures.utility.sequences import SequenceComparison, SequenceResult

RATIO = "careers: largest ratio to the noise floor"
CHANGING = "histories: largest difference in share ever changing"
CAREERS = "careers"


class PanelSize(Result):
    """Persons and rows of one table."""

    persons: int
    rows: int

    @property
    def rows_per_person(self) -> float:
        """Mean number of periods in which a person is there."""
        return self.rows / self.persons if self.persons else 0.0


class VariableHistory(Row):
    """One variable's values along the careers."""

    name: str = column("Variable", "text")
    kind: str
    association: str = column("Association", "text", "of a value and the nearest earlier one")
    """Cramer's V or Spearman correlation."""
    changing: float = column("Ever changing, original", "share", "of the persons")
    lag: float | None = column("Original", "share", "association; None where there is none")
    changing_synthetic: tuple[float, ...]
    """Of each dataset: share of persons who ever change."""
    lag_synthetic: tuple[float | None, ...]
    """Of each dataset: the association."""
    new_synthetic: tuple[float | None, ...] = ()
    """Of each dataset: share of its steps from code to code that nobody of the original makes."""

    @property
    @shown("Synthetic", "share")
    def mean_changing(self) -> float:
        """Mean share over the datasets."""
        return float(np.mean(self.changing_synthetic))

    @property
    @shown("Synthetic", "share")
    def mean_lag(self) -> float | None:
        """Mean association over the datasets that have one."""
        values = [value for value in self.lag_synthetic if value is not None]
        return float(np.mean(values)) if values else None

    @property
    @shown("New steps", "share", "steps from value to value that nobody of the original makes")
    def mean_new(self) -> float | None:
        """Mean share over the datasets that have steps; None for numbers."""
        values = [value for value in self.new_synthetic if value is not None]
        return float(np.mean(values)) if values else None

    @property
    @shown("Difference in points", "number", "percentage points")
    def difference(self) -> float:
        """Synthetic minus original share ever changing, in percentage points."""
        return 100 * (self.mean_changing - self.changing)

    @property
    def is_constant(self) -> bool:
        """Whether nobody changes it, neither in the original nor in a dataset."""
        return not self.changing and not any(self.changing_synthetic)


class PanelResult(Result):
    """Careers and histories, original beside synthetic."""

    original: PanelSize
    synthetic: tuple[PanelSize, ...]
    """Of each dataset."""
    sequences: SequenceResult | None = None
    """Careers; None where they could not be compared."""
    variables: tuple[VariableHistory, ...] = ()
    """One for each variable of the panel."""
    failed: Mapping[str, str] = Field(default_factory=dict)
    """Measures that could not be computed, and why."""

    @property
    def worst(self) -> list[VariableHistory]:
        """Variables that anybody changes, the largest difference in share ever changing first."""
        changing = [history for history in self.variables if not history.is_constant]
        return sorted(changing, key=lambda history: -abs(history.difference))

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """Every figure with what it is about."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        n = self.original.persons + sum(dataset.persons for dataset in self.synthetic)
        figure = partial(Figure, direction="lower is better", n=n)
        careers = self.sequences
        if careers is not None:
            yield (
                CAREERS,
                figure(
                    key="sequence_ratio",
                    name=RATIO,
                    value=careers.worst_ratio,
                    meaning="largest distance of synthetic from original careers over that of "
                    "bootstraps of the original's persons; about 1 is noise",
                    chance=1.0,
                ),
            )
            for row in careers.rows:
                yield (
                    CAREERS,
                    figure(
                        key=f"careers_{row.name}",
                        name=f"careers: {row.name.replace('_', ' ')}",
                        value=row.mean,
                        meaning=f"total-variation distance of the {row.meaning}, from 0 to 1; the "
                        "chance is what bootstraps of the original's persons give",
                        chance=row.floor,
                    ),
                )
        for first in self.worst[:1]:
            yield (
                first.name,
                figure(
                    key="histories_largest_difference_in_share_ever_changing",
                    name=CHANGING,
                    value=abs(first.difference) / 100,
                    meaning="difference of synthetic and original in the share of persons whose "
                    "value ever changes, of the variable where it is largest",
                    chance=0.0,
                ),
            )


Codes = npt.NDArray[np.int64]

DENSE_CELLS = 4_000_000
"""Cells of a table up to which it is counted whole; larger ones only where it has anybody."""


def changing_share(index: PanelIndex, column: Column) -> float:
    """Return the share of persons who ever have another value than in their first row, in [0, 1].

    Persons with one row count as never changing; there is at least one person.
    """
    other = changed_rows(column, index.starts[index.person])
    return float((np.bincount(index.person[other], minlength=index.n_persons) > 0).mean())


def lag_association(index: PanelIndex, column: Column) -> float | None:
    """Return the association of a value with the person's nearest earlier one.

    Cramer's V, in [0, 1], of levels and missing codes; Spearman's correlation, in [-1, 1], of
    numbers and dates, where both values are observed. All rows but the first of each person, in
    one table; None if nobody has two rows, or one side does not vary.
    """
    now = np.flatnonzero(~index.is_first)
    before = now - 1
    if column.is_coded:
        codes = np.asarray(column.data, dtype=np.int64)
        return cramers_v(codes[before], codes[now], column.variable.n_codes)
    observed = column.is_observed
    both = observed[now] & observed[before]
    numbers = np.asarray(column.data, dtype=np.float64)
    return spearman(numbers[before[both]], numbers[now[both]])


def steps_of(index: PanelIndex, column: Column) -> list[tuple[str, str]]:
    """Return every step of a person from one code to another in her next row, by label."""
    now = np.flatnonzero(~index.is_first)
    moved = now[column.data[now] != column.data[now - 1]]
    labels = column.variable.labels
    codes = (column.data[rows].astype(np.int64).tolist() for rows in (moved - 1, moved))
    return [(labels[before], labels[after]) for before, after in zip(*codes, strict=True)]


def cramers_v(one: Codes, other: Codes, n_codes: int) -> float | None:
    """Return Cramer's V of two codes, without a correction for chance; None where one is constant.

    Codes are in [0, n_codes), shapes (r,). Source: Cramer (1946), Mathematical Methods of
    Statistics, 21.9.
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
    """Return the correlation of ranks (ties: their mean); None where one side is constant."""
    if len(one) < 2:
        return None
    ranks = [scipy.stats.rankdata(values) - (len(one) + 1) / 2 for values in (one, other)]
    spread = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    if spread == 0:
        return None
    return round(float((ranks[0] * ranks[1]).sum()) / spread, 12)  # 1.0000000000000002 is 1


class PanelCollector:
    """Compares panels with the original as they come in; see `SequenceComparison` for the rest.

    ``attempts`` collects what could not be computed: a measure that fails for one dataset is left
    out.
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
        """Look at the next dataset."""
        self.sizes.append(_size(synthetic))
        careers = self._sequences
        if careers is not None and CAREERS not in self.attempts.failed:
            self.attempts.of(CAREERS, lambda: careers.add(synthetic))
        for name, histories in self._histories.items():
            if _place(name) not in self.attempts.failed:
                history = self.attempts.of(_place(name), partial(_history, synthetic, name))
                histories += [] if history is None else [history]
        for name, known in self._steps.items():
            if _place(name) in self.attempts.failed:
                continue
            steps = steps_of(synthetic.index, synthetic[name])
            new = sum(step not in known for step in steps)
            self._new[name].append(new / len(steps) if steps else None)

    def result(self) -> PanelResult | None:
        """Return what was found; None without a dataset."""
        if not self.sizes:
            return None
        failed = self.attempts.failed
        careers = None if CAREERS in failed else self._sequences
        return PanelResult(
            original=_size(self._original),
            synthetic=tuple(self.sizes),
            sequences=None if careers is None else careers.result(),
            variables=tuple(
                self._variable(name) for name in self._histories if _place(name) not in failed
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


def _place(name: str) -> str:
    return f"history of {name}"


def _history(table: PanelTable, name: str) -> tuple[float, float | None]:
    return changing_share(table.index, table[name]), lag_association(table.index, table[name])


def _size(table: PanelTable) -> PanelSize:
    return PanelSize(persons=table.n_units, rows=table.n_rows)
