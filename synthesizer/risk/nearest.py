"""Nearest records: are synthetic records nearer to those fitted than to those never seen?

The attack: an intruder who suspects that a synthesis repeats people almost as they are takes a
synthetic record for the person nearest to it. Some person is near to every plausible record;
hence the question is whether the records that the synthesis was fitted on are nearer than others
from the same population. If they are no nearer than records held out, half of the synthetic
records have their nearest neighbour in either half.

The halves have to be compared whole: a copy whose source is left out looks like anybody else. To
save time only the synthetic records are sampled. Where fewer unseen records are at hand, fitted
records must be left out all the same, since more records are nearer by their number alone. Copies
then lose their source, and the share is to be read against that of the fitted records themselves.

Source: Platzer and Reutterer (2021), Holdout-based empirical assessment of mixed-type synthetic
data, Frontiers in Big Data 4 (there: the share of the distances to the closest record).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from synthesizer.data.codes import JointCoder
from synthesizer.data.pairs import Data
from synthesizer.data.table import Table
from synthesizer.errors import DataError
from synthesizer.risk.gower import mixed_records, nearest, stacked
from synthesizer.risk.half_tables import all_names, as_halves, equal_sizes, pooled
from synthesizer.risk.intervals import Interval, relative_excess, wilson
from synthesizer.risk.nearest_result import NearestResult

__all__ = ["NearestResult", "nearer_share"]

# Wilson's interval of a share is at most 0.06 wide with this many independent records.
FEWEST = 1000
MAX_PAIRS = 250_000_000


def nearer_share(
    fitted: Data,
    unseen: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Iterable[str] | None = None,
    max_pairs: int = MAX_PAIRS,
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
        by their number alone; ``original`` and ``excess`` then tell what copies would give.
    synthetic : Table, DataFrame or sequence of them
        Synthetic datasets made from ``fitted``, pooled.
    names : iterable of str, optional
        Variables to compare; default all of ``fitted`` that are no identifiers.
    max_pairs : int
        Largest number of pairs of a synthetic record and a record of one half. Beyond it a random
        sample of the synthetic records is compared, at least 1,000, with the whole halves; up to
        it (15,000 synthetic records and as many in each half) the result is exact. Time grows
        with it and with the number of variables. Copies are always counted in all records.
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
    if max_pairs < 1:
        raise DataError(f"max_pairs ({max_pairs}) must be at least 1")
    chosen = all_names(fitted) if names is None else tuple(dict.fromkeys(names))
    fitted, unseen, tables = as_halves(fitted, unseen, synthetic, chosen)
    known, held_out = equal_sizes((fitted, unseen), rng)
    n_queries = max(FEWEST, max_pairs // known.n_rows)
    found = _compared(known, held_out, pooled(tables, n_queries, rng), chosen)
    own = pooled([fitted], n_queries, rng) if known.n_rows < fitted.n_rows else None
    original = _original(known, held_out, own, chosen)
    excess, low, high = relative_excess((found.share, found.low, found.high), original, 0.5)
    return NearestResult(
        names=chosen,
        records=known.n_rows,
        fitted_kept=known.n_rows / fitted.n_rows,
        unseen_kept=held_out.n_rows / unseen.n_rows,
        original=original[0],
        excess=excess,
        excess_low=low,
        excess_high=high,
        all_synthetic=sum(table.n_rows for table in tables),
        all_fitted=fitted.n_rows,
        all_unseen=unseen.n_rows,
        fitted_copies=_copies(fitted, tables, chosen),
        unseen_copies=_copies(unseen, tables, chosen),
        **asdict(found),
    )


@dataclass(frozen=True)
class _Shares:
    """Fields of the result that come from comparing records with both halves."""

    synthetic: int
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


def _original(
    known: Table, held_out: Table, own: Sequence[Table] | None, names: Sequence[str]
) -> Interval:
    """Return the share of the fitted records themselves; ``own`` if not all are compared with.

    Otherwise each is at no distance from itself: it counts 1, or half if an unseen one is equal.
    """
    if own is None:
        value = 1 - _copies(held_out, [known], names) / (2 * known.n_rows)
        return value, value, value
    found = _compared(known, held_out, own, names)
    return found.share, found.low, found.high


def _copies(half: Table, tables: Sequence[Table], names: Sequence[str]) -> int:
    coder = JointCoder(half, names)
    return sum(int((coder.encode(table) >= 0).sum()) for table in tables)


def _compared(
    known: Table, held_out: Table, tables: Sequence[Table], names: Sequence[str]
) -> _Shares:
    """Compare the records of some tables with those of both halves, which are equally many."""
    fitted, unseen, *parts = mixed_records([known, held_out, *tables], names)
    made = stacked(parts)
    to_fitted, fitted_place = nearest(made, fitted)
    to_unseen, unseen_place = nearest(made, unseen)
    closest = np.where(to_fitted <= to_unseen, fitted_place, fitted.n_rows + unseen_place)
    n = made.n_rows
    nearer, further = int((to_fitted < to_unseen).sum()), int((to_fitted > to_unseen).sum())
    ties = n - nearer - further
    share = (nearer + ties / 2) / n
    effective = n**2 / float((np.bincount(closest) ** 2).sum())
    low, high = wilson(share, effective)
    medians = [float(np.median(distances)) / len(names) for distances in (to_fitted, to_unseen)]
    return _Shares(
        synthetic=n,
        nearer=nearer,
        unseen_nearer=further,
        ties=ties,
        share=share,
        low=low,
        high=high,
        effective=effective,
        fitted_distance=medians[0],
        unseen_distance=medians[1],
        distance_ratio=medians[0] / medians[1] if medians[1] > 0 else None,
    )
