"""Models of researchers that are fitted to the rows of a panel, with errors clustered by person."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from synthesizer.data.errors import ExpressionError
from synthesizer.data.panel.arrangement import panel_rows, person_name
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.table import Table
from synthesizer.measures.figure import Attempts
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.compare_fit import FitRequest, compare_fit


def split_fits(
    requests: Sequence[FitRequest], table: Table, person: str | None
) -> tuple[tuple[FitRequest, ...], tuple[FitRequest, ...]]:
    """Return the fits to one row a person, and those to the rows of persons and periods.

    A fit is of the rows where they have all of its variables. The rows of a person are not
    independent, so its errors are clustered by person unless it names other clusters.

    Parameters
    ----------
    requests : sequence of FitRequest
        What is asked for.
    table : Table
        The panel.
    person : str or None
        Column of persons in the source.

    Examples
    --------
    >>> import numpy as np
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> pay = Column(Variable(name="pay", kind=Kind.NUMERIC), np.array([1.0, 2.0]))
    >>> asked = [FitRequest(formula="pay ~ 1"), FitRequest(formula="`pay@first` ~ 1")]
    >>> persons, rows = split_fits(asked, Table([pay]), "id")
    >>> persons[0].formula, rows[0].clusters
    ('`pay@first` ~ 1', 'id')
    """
    who = person_name(person, table.names)
    names = {*table.names, who}
    on_rows = [_is_within(request, names) for request in requests]
    parts = list(zip(requests, on_rows, strict=True))
    return (
        tuple(request for request, is_row in parts if not is_row),
        tuple(
            request
            if request.clusters is not None
            else request.model_copy(update={"clusters": who})
            for request, is_row in parts
            if is_row
        ),
    )


def _is_within(request: FitRequest, names: Collection[str]) -> bool:
    try:
        return set(request.names) <= set(names)
    except ExpressionError:  # told by whoever reads the formula
        return False


class RowFits:
    """Fits to the rows of datasets that come in one by one; of each only their variables stay.

    Parameters
    ----------
    original : PanelTable
        Confidential data.
    requests : sequence of FitRequest
        Of variables of its rows; see `split_fits`.
    person : str or None
        Column of persons in the source.
    """

    def __init__(
        self, original: PanelTable, requests: Sequence[FitRequest], person: str | None
    ) -> None:
        self.requests = tuple(requests)
        self._person = person_name(person, original.names)
        self._names = tuple(dict.fromkeys(n for r in self.requests for n in r.names))
        self._original = self._rows(original)
        self._known: list[Table] = []

    def add(self, synthetic: PanelTable) -> None:
        """Keep what the fits need of the next dataset."""
        self._known.append(self._rows(synthetic))

    def comparisons(self, attempts: Attempts) -> tuple[FitComparison, ...]:
        """Return the fits to the datasets so far; ``attempts`` collects those that fail."""
        fits = [
            attempts.of(
                f"fit {request.formula}",
                partial(
                    compare_fit, self._original, self._known, request.formula, **request.settings
                ),
            )
            for request in self.requests
        ]
        return tuple(fit for fit in fits if fit is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known of these fits."""
        return tuple(
            f"{request.formula}: fitted to the rows of persons and periods, with errors "
            f"clustered by {request.clusters!r}"
            for request in self.requests
        )

    def _rows(self, table: PanelTable) -> Table:
        rows = panel_rows(table, self._person)
        return rows.select(name for name in self._names if name in rows)
