"""The utility measures of panels, for datasets that come in one after the other.

Careers (`panel_sequences`) and the histories of single variables (`panel_histories`), original
beside synthetic. Memory does not grow with the number of datasets: of each only figures stay.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from synthesizer.attempts import Attempts
from synthesizer.data.table import Column
from synthesizer.panel.frame import Frame
from synthesizer.panel.table import PanelTable
from synthesizer.utility.panel_histories import association_name, changing_share, lag_association
from synthesizer.utility.panel_result import PanelResult, PanelSize, VariableHistory
from synthesizer.utility.panel_sequences import SequenceComparison

__all__ = ["PanelCollector"]

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
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.panel.index import PanelIndex
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
