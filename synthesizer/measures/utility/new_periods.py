"""How near the new periods of a panel come that were added to published ones.

Distances are those of `sequences`, over the pairs of adjacent periods of which the second is new.
They hold what the published file is off already: who stands in the wrong state in the last
published period makes a wrong pair. So there is a further distance, of the states after given the
state before, with the published file's own shares of states before: what only the new periods are
to answer for.
"""

from __future__ import annotations

import numpy as np

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import period_labels
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import FloatArray, IntArray
from synthesizer.measures.figure import Figure, Measured, Row, column
from synthesizer.measures.utility.sequences import (
    FLOOR_PERSONS,
    REPEATS,
    States,
    career_matrix,
    state_labels,
)

WORDS = {
    "headcounts": "share of {records} in each state of the new periods",
    "transitions": "states before and in a new period",
    "changes": "the same of those who changed their state",
    "steps": "state in a new period given the state before, whatever the published file is off",
}
"""What each measure compares."""


class NewPeriodsRow(Row):
    """One distance, beside its noise floor."""

    name: str = column("Measure", "text")
    meaning: str = column("What", "text")
    mean: float = column("Distance", "share", "mean over the datasets")
    floor: float = column("Noise floor", "share", "what bootstraps of the persons give")

    @property
    def ratio(self) -> float | None:
        """Return the distance over its noise floor; None where that is 0."""
        return self.mean / self.floor if self.floor else None


class NewPeriods(Measured):
    """Careers of the new periods, original beside synthetic."""

    n: int
    """Number of original persons."""
    first: str
    """The first new period as it is written."""
    periods: int
    """How many are new."""
    rows: tuple[NewPeriodsRow, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The ratios of the transitions, as they are and given the state before."""
        meanings = {
            "transitions": "how far they are from the original's, over what bootstraps of its "
            "{records} give; 1 is as near as persons drawn from the original are",
            "steps": "the same given the state before: what the published file is off does not "
            "count",
        }
        names = {"transitions": "new transitions", "steps": "new transitions given the past"}
        return tuple(
            Figure(
                key=f"new_{row.name}",
                name=f"{names[row.name]}: ratio to the noise floor",
                value=row.ratio,
                meaning=f"from {self.first!r} on: {meanings[row.name]}",
                direction="about 1 is good",
                n=self.n,
            )
            for row in self.rows
            if row.name in names
        )


class NewPeriodsCounter:
    """Compares the new periods of datasets that come in one by one with the original's."""

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
        """Look at the next dataset."""
        codes = self._states.encode(career_matrix(synthetic, self._frame.career))
        self._persons = len(codes)
        self._drawn.append(_distances(self._own, _pairs(codes[:, self._since - 1 :], self._n)))

    @property
    def _n(self) -> int:
        return self._states.n

    def result(self) -> NewPeriods:
        """Return what was found; needs at least one dataset."""
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
    moves = ~np.eye(one.shape[1], dtype=bool)
    ours, theirs = _given_before(one), _given_before(other)
    apart = np.where(one.sum(axis=2) > 0, np.abs(ours - theirs).sum(axis=2) / 2, 1.0)
    return {
        "headcounts": float(np.abs(one.sum(axis=1) - other.sum(axis=1)).sum(axis=1).mean() / 2),
        "transitions": float(np.abs(one.mean(axis=0) - other.mean(axis=0)).sum() / 2),
        "changes": _distance(one.sum(axis=0) * moves, other.sum(axis=0) * moves),
        "steps": float((other.sum(axis=2) * apart).sum(axis=1).mean()),
    }


def _given_before(pairs: FloatArray) -> FloatArray:
    """Return the shares of states after given the state before; 0 where nobody is in it."""
    total = pairs.sum(axis=2, keepdims=True)
    return np.asarray(np.divide(pairs, total, out=np.zeros_like(pairs), where=total > 0))


def _distance(one: FloatArray, other: FloatArray) -> float:
    """Return the distance of two tables of counts; 1 where only one of them is empty."""
    if (one.sum() > 0) != (other.sum() > 0):
        return 1.0
    return float(np.abs(one / max(one.sum(), 1e-300) - other / max(other.sum(), 1e-300)).sum() / 2)
