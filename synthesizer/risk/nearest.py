"""Nearest records: are synthetic records nearer to those fitted than to those never seen?

The attack: an intruder who suspects that a synthesis repeats people almost as they are takes a
synthetic record for the person nearest to it. Some person is near to every plausible record;
hence the question is whether the records that the synthesis was fitted on are nearer than others
from the same population. If they are no nearer than records held out, half of the synthetic
records have their nearest neighbour in either half.

Source: Platzer and Reutterer (2021), Holdout-based empirical assessment of mixed-type synthetic
data, Frontiers in Big Data 4 (there: the share of the distances to the closest record).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.data.codes import Codes, JointCoder
from synthesizer.data.pairs import Data
from synthesizer.data.table import FloatArray, Table
from synthesizer.errors import DataError
from synthesizer.figures import Figure
from synthesizer.risk.gower import mixed_records, nearest, stacked
from synthesizer.risk.half_tables import all_names, as_halves, equal_sizes, pooled
from synthesizer.risk.intervals import wilson

__all__ = ["NearestResult", "nearer_share"]


@dataclass(frozen=True)
class NearestResult:
    """How near synthetic records are to the fitted half and to the unseen half.

    Parameters
    ----------
    names : tuple of str
        Variables compared.
    synthetic, records : int
        Number of synthetic records compared, and of records of each half.
    nearer, unseen_nearer, ties : int
        Synthetic records nearer to a fitted record, nearer to an unseen one, as near to both.
    share : float
        Share of the synthetic records that are nearer to a fitted record, ties counted half.
    low, high : float
        95 % interval of the share.
    effective : float
        Number of independent synthetic records that the interval rests on.
    fitted_distance, unseen_distance : float
        Median distance to the nearest record of either half, in [0, 1] (Gower's).
    distance_ratio : float or None
        The first over the second; None where the second is 0.
    original : float
        The share if the fitted half itself were released.
    all_synthetic, fitted_copies, unseen_copies : int
        Number of synthetic records, and how many equal a record of the fitted and of the unseen
        half in every variable: counted in all records, never in a sample.
    all_fitted, all_unseen : int
        Number of records of the halves.
    """

    names: tuple[str, ...]
    synthetic: int
    records: int
    nearer: int
    unseen_nearer: int
    ties: int
    share: float
    low: float
    high: float
    effective: float
    fitted_distance: float
    unseen_distance: float
    distance_ratio: float | None
    original: float
    all_synthetic: int
    fitted_copies: int
    unseen_copies: int
    all_fitted: int
    all_unseen: int

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of a report: share nearer, ratio of distances, exact copies."""
        same_size = abs(self.all_fitted - self.all_unseen) <= 1
        return (
            Figure(
                name="share nearer to the fitted half",
                value=self.share,
                meaning="synthetic records nearer to a record the synthesis was fitted on than to "
                "any of equally many records it never saw",
                direction="lower is safer",
                n=self.synthetic,
                low=self.low,
                high=self.high,
                baseline=0.5,
                original=self.original,
            ),
            Figure(
                name="ratio of distances",
                value=self.distance_ratio,
                meaning="median distance of synthetic records to the nearest fitted record, "
                "relative to that to the nearest unseen record; below 1 is nearer to the fitted",
                direction="about 1 is good",
                n=self.synthetic,
                baseline=1.0,
            ),
            Figure(
                name="copies of fitted records",
                value=self.fitted_copies / self.all_synthetic,
                meaning="synthetic records equal to a fitted record in every variable compared; "
                "the baseline is the share equal to an unseen record",
                direction="lower is safer",
                n=self.all_synthetic,
                baseline=self.unseen_copies / self.all_synthetic if same_size else None,
                original=1.0,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {"names": list(self.names)}


def nearer_share(
    fitted: Data,
    unseen: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Iterable[str] | None = None,
    max_records: int = 5000,
    rng: np.random.Generator,
) -> NearestResult:
    """Return the share of synthetic records nearer to the fitted half than to the unseen half.

    Labels are equal or not, numbers differ by the share of real records between them, missing
    codes are values of their own (`synthesizer.risk.gower`).

    Parameters
    ----------
    fitted, unseen : Table or DataFrame
        A random half of the records, which the synthesis was made from, and the other half. Of
        the larger one a sample of the size of the smaller is used, since more records are nearer
        by their number alone.
    synthetic : Table, DataFrame or sequence of them
        Synthetic datasets made from ``fitted``, pooled.
    names : iterable of str, optional
        Variables to compare; default all of ``fitted`` that are no identifiers.
    max_records : int
        Largest number of synthetic records and of records of each half that are compared, drawn
        at random; up to this number the result is exact. Time grows with its square. Copies are
        always counted in all records.
    rng : numpy.random.Generator
        Draws the samples.

    Returns
    -------
    NearestResult
        A share of 0.5 is none, above it riskier, 1 if all are nearer to the fitted half.

    Raises
    ------
    DataError
        For unknown variables, empty data and the like, all at once.

    Notes
    -----
    The interval is Wilson's for a share. It takes the halves as a random split and synthetic
    records as independent unless they share their nearest record, which then decides for all of
    them at once: it rests on the effective number of records under such clusters (Kish 1965,
    Survey sampling). It does not tell how the share varies over splits and syntheses.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> rng = np.random.default_rng(3)
    >>> age = Variable(name="age", kind=Kind.NUMERIC)
    >>> fitted, unseen = (Table([Column(age, rng.normal(size=300))]) for _ in range(2))
    >>> result = nearer_share(fitted, unseen, fitted, rng=rng)
    >>> result.share, result.fitted_copies, result.unseen_copies
    (1.0, 300, 0)
    """
    if max_records < 1:
        raise DataError(f"max_records ({max_records}) must be at least 1")
    chosen = all_names(fitted) if names is None else tuple(dict.fromkeys(names))
    fitted, unseen, tables = as_halves(fitted, unseen, synthetic, chosen)
    counts = {
        "all_synthetic": sum(table.n_rows for table in tables),
        "all_fitted": fitted.n_rows,
        "all_unseen": unseen.n_rows,
        "fitted_copies": _copies(fitted, tables, chosen),
        "unseen_copies": _copies(unseen, tables, chosen),
    }
    fitted, unseen = equal_sizes((fitted, unseen), max_records, rng)
    tables = pooled(tables, max_records, rng)
    original = 1 - _copies(unseen, [fitted], chosen) / (2 * fitted.n_rows)
    return NearestResult(
        names=chosen,
        records=fitted.n_rows,
        original=original,
        **_compared(fitted, unseen, tables, chosen),
        **counts,
    )


def _copies(half: Table, tables: Sequence[Table], names: Sequence[str]) -> int:
    coder = JointCoder(half, names)
    return sum(int((coder.encode(table) >= 0).sum()) for table in tables)


def _compared(
    fitted: Table, unseen: Table, tables: Sequence[Table], names: Sequence[str]
) -> dict[str, Any]:
    known, held_out, *parts = mixed_records([fitted, unseen, *tables], names)
    made = stacked(parts)
    to_fitted, fitted_place = nearest(made, known)
    to_unseen, unseen_place = nearest(made, held_out)
    closest = np.where(to_fitted <= to_unseen, fitted_place, fitted.n_rows + unseen_place)
    return _shares(to_fitted, to_unseen, closest, len(names))


def _shares(
    to_fitted: FloatArray, to_unseen: FloatArray, closest: Codes, n_columns: int
) -> dict[str, Any]:
    n = len(closest)
    nearer, further = int((to_fitted < to_unseen).sum()), int((to_fitted > to_unseen).sum())
    ties = n - nearer - further
    share = (nearer + ties / 2) / n
    effective = n**2 / float((np.bincount(closest) ** 2).sum())
    low, high = wilson(share, effective)
    medians = [float(np.median(distances)) / n_columns for distances in (to_fitted, to_unseen)]
    return {
        "synthetic": n,
        "nearer": nearer,
        "unseen_nearer": further,
        "ties": ties,
        "share": share,
        "low": low,
        "high": high,
        "effective": effective,
        "fitted_distance": medians[0],
        "unseen_distance": medians[1],
        "distance_ratio": medians[0] / medians[1] if medians[1] > 0 else None,
    }
