"""What the utility measures of a panel found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.measures.figure import Attempts, Figure
from synthesizer.measures.utility.career_distances import (
    SequenceComparison,
    association_name,
    changing_share,
    lag_association,
)
from synthesizer.measures.utility.sequences import SequenceDistances

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
            "figures": [{"place": place, **figure.to_dict()} for place, figure in self.figures],
            "sequences": None if self.sequences is None else self.sequences.to_dict(),
            "variables": [own.to_dict() for own in self.variables],
            "failed": dict(self.failed),
        }


def _plain(values: FloatArray) -> list[Any]:
    rounded: list[Any] = np.round(values, 8).tolist()
    return rounded


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
