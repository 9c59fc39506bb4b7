"""How the values of a person hang together: who ever changes, and values beside their past.

For each variable of a panel two numbers: the share of persons whose value (or missing code) ever
differs from that of their first row, and the association of a value with the one in the person's
nearest earlier row, across gaps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from synthesizer.data.table import Column, FloatArray
from synthesizer.panel.index import PanelIndex
from synthesizer.panel.view import changed_rows

__all__ = ["association_name", "changing_share", "cramers_v", "lag_association", "spearman"]

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
    >>> from synthesizer.data.schema import Kind, Variable
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
