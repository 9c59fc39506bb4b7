"""Nearest records: are synthetic records nearer to training than to holdout records?

The attack: an intruder takes a synthetic record for the person nearest to it. Every plausible
record is near to some person, so that the comparison is with holdout records of the same
population. Without memorisation half of the synthetic records have their nearest neighbour among
the training records, and half among the holdout records.

Only synthetic records are sampled to save time: a copy whose training record is left out looks
like any other record. If there are fewer holdout than training records, training records must be
left out all the same, since more records are nearer by their number alone. The share is then
compared with that of the training records themselves.

Source: Platzer and Reutterer (2021), Holdout-based empirical assessment of mixed-type synthetic
data, Frontiers in Big Data 4 (there: the share of the distances to the closest record).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import Codes, JointCoder
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, check_lists
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import Column, FloatArray, IntArray, Table
from synthesizer.data.workers import LIBRARY, pointer
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, column
from synthesizer.measures.halves import all_names, as_halves, equal_sizes, pooled
from synthesizer.measures.measure import Case, Measure
from synthesizer.measures.risk.comparable import (
    Interval,
    Synthetic,
    relative_excess,
    split,
    stacked_columns,
    wilson,
)

# With so few independent records Wilson's interval of a share has a length of at most 0.06.
MIN_SAMPLE = 1000
MAX_PAIRS = 250_000_000
_PAIRS_PER_BLOCK = 2**16
"""Distances of a block fit the cache of the processor."""
_LANES = 64
"""Records of a block, as in kernels.c."""
_SORTED_BY = 8
"""Variables by which records are sorted for the search."""


NEARER_SHARE = FigureKind(
    "nearer_share",
    "share nearer to training {records}",
    "share of the synthetic {records} whose nearest training {record} is nearer than their nearest "
    "holdout {record} (as many of both); 0.5: no memorisation",
    title="share nearer to the training half",
    ideal=0.5,
    limit=Limit(),
    is_axis=True,
)
RATIO_OF_DISTANCES = FigureKind(
    "ratio_of_distances",
    "ratio of distances",
    "median distance of synthetic {records} to the nearest training {record}, divided by that to "
    "the nearest holdout {record}; below 1: nearer to training {records}",
    "about 1 is good",
)
COPIES_OF_FITTED = FigureKind(
    "copies_of_fitted",
    "copies of training {records}",
    "share of synthetic {records} equal to a training {record} in all compared variables; chance: "
    "the share equal to a holdout {record}",
)


class NearestResult(Measured):
    """Distances of synthetic records to the training half and to the holdout half."""

    names: tuple[str, ...]
    """Variables compared."""
    synthetic: int = column("synthetic records that were compared", "count")
    records: int = column("records of each half", "count")
    fitted_kept: float = column(
        "share of the training half that was compared",
        "share",
        "below 1 in the larger of two unequal halves",
    )
    unseen_kept: float = column("share of the holdout half that was compared", "share")
    nearer: int = column("nearer to a training record", "count")
    unseen_nearer: int = column("nearer to a holdout record", "count")
    ties: int = column("equally near to both", "count")
    share: float = column("share nearer to a training record, ties count half", "share")
    low: float = column("lower end of its 95 % interval", "share")
    high: float = column("upper end", "share")
    effective: float = column("effective number of independent records", "number")
    fitted_distance: float = column(
        "median distance to the nearest training record", "share", "Gower's, from 0 to 1"
    )
    unseen_distance: float = column("median distance to the nearest holdout record", "share")
    distance_ratio: float | None
    """Ratio of the two medians; None if the second is 0."""
    original: float
    """Share if the training half were released: 1 without ties, and less if only a part of the
    training half was compared."""
    excess: float | None = column(
        "excess over 0.5, relative to releasing the training records",
        "share",
        "(share - 0.5) / (original - 0.5): 0 is none, 1 is as near as the training records "
        "themselves; none unless the interval of the original is above 0.5",
    )
    excess_low: float | None = column("lower end of its interval", "share")
    excess_high: float | None = column("upper end of its interval", "share")
    all_synthetic: int = column("synthetic records", "count")
    fitted_copies: int = column("equal to a training record in all compared variables", "count")
    unseen_copies: int = column("equal to a holdout record, by chance", "count")
    all_fitted: int = column("training records", "count")
    all_unseen: int = column("holdout records", "count")

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Share nearer, ratio of distances, exact copies."""
        same_size = abs(self.all_fitted - self.all_unseen) <= 1
        return (
            NEARER_SHARE.of(
                self.share,
                self.synthetic,
                self._limits,
                low=self.low,
                high=self.high,
                chance=0.5,
                original=self.original,
            ),
            RATIO_OF_DISTANCES.of(self.distance_ratio, self.synthetic, chance=1.0),
            COPIES_OF_FITTED.of(
                self.fitted_copies / self.all_synthetic,
                self.all_synthetic,
                chance=self.unseen_copies / self.all_synthetic if same_size else None,
                original=1.0,
            ),
        )

    @property
    def _limits(self) -> str:
        """Sentence about records that were left out."""
        parts = []
        if self.synthetic < self.all_synthetic:
            parts.append(f"a sample of {self.all_synthetic} synthetic {{records}} was compared")
        if round(self.unseen_kept, 2) < 1:
            parts.append(f"{100 * self.unseen_kept:.2g} % of holdout {{records}} were compared")
        if round(self.fitted_kept, 2) < 1:
            parts.append(
                f"only {100 * self.fitted_kept:.2g} % of training {{records}} were compared, as "
                "many as there are holdout {records}: compare the share with that of releasing the "
                "training {records} (original)"
            )
            if self.excess is not None:
                parts.append(f"the excess over 0.5 is {self.excess:.2f} of that of the original")
        return "; ".join(parts)


def nearer_share(
    fitted: Data,
    unseen: Data,
    synthetic: Synthetic,
    *,
    names: Iterable[str] | None = None,
    max_pairs: int = MAX_PAIRS,
    seed: AnySeed = 0,
) -> NearestResult:
    """Return the share of synthetic records nearer to the training half than to the holdout half.

    The distance of labels is 0 or 1, that of numbers the share of real records between them;
    missing codes are separate values.

    Parameters
    ----------
    fitted, unseen : Table or DataFrame
        Training records (a random half) and holdout records (the other half). The larger half is
        cut at random to the size of the smaller, since more records are nearer by their number
        alone; compare the share with ``original`` then.
    synthetic : Table, DataFrame or sequence of them
        Synthetic datasets made from ``fitted``, pooled.
    names : iterable of str, optional
        Variables to compare; by default all of ``fitted`` but identifiers.
    max_pairs : int
        Largest number of pairs of a synthetic record and a record of one half. With more pairs a
        random sample of at least 1,000 synthetic records is compared with the whole halves; with
        fewer (15,000 synthetic records and as many in each half) the result is exact. Time grows
        with it and with the number of variables. Copies are always counted in all records.
    seed : int or Seed
        Seed of the samples.

    Returns
    -------
    NearestResult
        A share of 0.5 is no memorisation, 1 if all are nearer to the training half.

    Raises
    ------
    DataError
        With all problems, such as unknown variables or empty data.

    Notes
    -----
    The interval is Wilson's for a share. It assumes a random split and independent synthetic
    records, with a cluster for each nearest record (effective number of records: Kish 1965, Survey
    sampling). It does not include the variation over splits and syntheses.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> rng = np.random.default_rng(3)
    >>> age = Variable(name="age", kind=Kind.NUMERIC)
    >>> fitted, unseen = (Table([Column(age, rng.normal(size=300))]) for _ in range(2))
    >>> result = nearer_share(fitted, unseen, fitted, seed=1)
    >>> result.share, result.fitted_copies, result.unseen_copies
    (1.0, 300, 0)
    """
    if max_pairs < 1:
        raise DataError(f"max_pairs ({max_pairs}) must be at least 1")
    check_lists(names=names)
    chosen = all_names(fitted) if names is None else tuple(dict.fromkeys(names))
    fitted, unseen, tables = as_halves(fitted, unseen, synthetic, chosen)
    rng = seeded(seed).generator("nearest")
    seen, held_out = equal_sizes((fitted, unseen), rng)
    n_queries = max(MIN_SAMPLE, max_pairs // seen.n_rows)
    shares = _compared(seen, held_out, pooled(tables, n_queries, rng), chosen)
    sample = pooled([fitted], n_queries, rng) if seen.n_rows < fitted.n_rows else None
    original = _original(seen, held_out, sample, chosen)
    excess, low, high = relative_excess(_interval(shares), original, 0.5)
    return NearestResult(
        names=chosen,
        records=seen.n_rows,
        fitted_kept=seen.n_rows / fitted.n_rows,
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
        **shares,
    )


def _interval(shares: Mapping[str, Any]) -> Interval:
    return shares["share"], shares["low"], shares["high"]


def _original(
    seen: Table, held_out: Table, sample: Sequence[Table] | None, names: Sequence[str]
) -> Interval:
    """Return the share of the training records themselves; of a sample if not all are compared.

    A record that is compared with itself counts 1, or half if a holdout record is equal.
    """
    if sample is not None:
        return _interval(_compared(seen, held_out, sample, names))
    value = 1 - _copies(held_out, [seen], names) / (2 * seen.n_rows)
    return value, value, value


def _copies(half: Table, tables: Sequence[Table], names: Sequence[str]) -> int:
    coder = JointCoder(half, names)
    return sum(int((coder.encode(table) >= 0).sum()) for table in tables)


def _compared(
    seen: Table, held_out: Table, tables: Sequence[Table], names: Sequence[str]
) -> dict[str, Any]:
    """Return the fields that compare records with two halves of equal size."""
    fitted, unseen, *parts = mixed_records([seen, held_out, *tables], names)
    synthetic = stacked(parts)
    to_fitted, fitted_place = nearest(synthetic, fitted)
    to_unseen, unseen_place = nearest(synthetic, unseen)
    closest = np.where(to_fitted <= to_unseen, fitted_place, fitted.n_rows + unseen_place)
    n = synthetic.n_rows
    nearer, further = int((to_fitted < to_unseen).sum()), int((to_fitted > to_unseen).sum())
    ties = n - nearer - further
    share = (nearer + ties / 2) / n
    effective = n**2 / float((np.bincount(closest) ** 2).sum())
    low, high = wilson(share, effective)
    medians = [float(np.median(distances)) / len(names) for distances in (to_fitted, to_unseen)]
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


@dataclass(frozen=True, eq=False)
class MixedRecords:
    """Records of one table, with codes common to all tables that were coded together."""

    labels: dict[str, IntArray]
    """Codes of labels by variable, each of shape (n,)."""
    numbers: dict[str, IntArray]
    """Ranks of numbers by variable, in [0, unit], each of shape (n,); missing code k (from 1) is
    2 * k * unit."""
    unit: int
    """Distance of two unequal labels: twice the number of real records."""
    n_rows: int
    """Number of records, n."""

    def take(self, rows: Codes, names: Sequence[str] | None = None) -> MixedRecords:
        """Return some records, with some variables if ``names`` is set."""
        return MixedRecords(
            {n: v[rows] for n, v in self.labels.items() if names is None or n in names},
            {n: v[rows] for n, v in self.numbers.items() if names is None or n in names},
            self.unit,
            len(rows),
        )

    @property
    def matrix(self) -> FloatArray:
        """Return a row for each record, in which unequal labels differ by at least one unit."""
        labels = [self.unit * codes.astype(np.float64) for codes in self.labels.values()]
        return np.column_stack([*labels, *self.numbers.values()]).astype(np.float64)


def mixed_records(
    tables: Sequence[Table], names: Sequence[str], *, real: int = 2
) -> list[MixedRecords]:
    """Return tables with common codes: labels by text, numbers by rank among the real records.

    A rank is twice the number of lower values plus the number of equal values, in the first
    ``real`` tables. Ranks are robust to outliers. As whole numbers they add up exactly, so that
    ties of distances are exact.
    """
    n_real = sum(table.n_rows for table in tables[:real])
    unit = 2 * n_real
    labels: dict[str, list[IntArray]] = {}
    numbers: dict[str, list[IntArray]] = {}
    most = max(sum(len(table[name].variable.missing) for table in tables) for name in names)
    number = np.min_scalar_type(-unit * max(1, 2 * most) - 1)  # a type with signs
    for name in names:
        columns = [table[name] for table in tables]
        together = stacked_columns(columns)
        if together.is_coded:
            code = np.min_scalar_type(len(together.variable.labels))
            labels[name] = split(together.data.astype(code), columns)
        else:
            numbers[name] = split(_ranks(together, n_real).astype(number), columns)
    return [
        MixedRecords(
            {name: parts[index] for name, parts in labels.items()},
            {name: parts[index] for name, parts in numbers.items()},
            unit,
            table.n_rows,
        )
        for index, table in enumerate(tables)
    ]


def stacked(parts: Sequence[MixedRecords]) -> MixedRecords:
    """Return the stacked records of tables that were coded together."""
    labels, numbers = (
        {name: np.concatenate([side[name] for side in sides]) for name in sides[0]}
        for sides in zip(*((part.labels, part.numbers) for part in parts), strict=True)
    )
    return MixedRecords(labels, numbers, parts[0].unit, sum(part.n_rows for part in parts))


def nearest(records: MixedRecords, others: MixedRecords) -> tuple[FloatArray, Codes]:
    """Return the distance of each record to its nearest other, and the position of the first one.

    Distances are in [0, number of variables].
    """
    rows = records.matrix
    # missing codes are one unit from each other and from numbers, as unequal labels are
    units = np.full(rows.shape[1], float(records.unit))
    positions, distances, _ = nearest_rows(rows, others.matrix, units)
    return distances / records.unit, positions


def nearest_rows(
    rows: FloatArray, others: FloatArray, limits: FloatArray
) -> tuple[Codes, FloatArray, FloatArray]:
    """Return the first nearest other of each row, and the distances of the two nearest.

    A distance is the sum of the differences of the variables, each at most its limit. Sorted
    blocks of others are compared, until coarse differences exclude them; this is exact. Shapes are
    (n, p), (m, p) and (p,); the second distance is infinite for a lone other.
    """
    (n, p), m = rows.shape, len(others)
    nearest, first, second = np.zeros(n, np.int64), np.full(n, np.inf), np.full(n, np.inf)
    if LIBRARY is not None:
        scale = 255 / max(limits.max(), limits.sum() / 257, 1e-9)
        coarse, coarse_others, coarse_limits = (
            (scale * values).astype(np.int64).astype(np.uint16) for values in (rows, others, limits)
        )
        # the variables that differ most come first, and a row begins at the others like it
        by = np.argsort(-np.minimum(np.abs(others - others[::-1]), limits).sum(axis=0))
        together = np.lexsort(np.concatenate([coarse_others, coarse])[:, by[:_SORTED_BY][::-1]].T)
        is_other = together < m
        order, home = together[is_other], np.empty(n, np.int64)
        home[together[~is_other] - m] = is_other.cumsum()[~is_other] // _LANES
        sides = (
            *(rows, _blocks(others[order]), limits),
            *(coarse[:, by], _blocks(coarse_others[order][:, by]), coarse_limits[by]),
        )
        arrays = (*map(np.ascontiguousarray, sides), order, home, nearest, first, second)
        LIBRARY.nearest_rows(
            ctypes.c_int64(n), ctypes.c_int64(m), p, ctypes.c_double(scale), *map(pointer, arrays)
        )
        return nearest, first, second
    for block, sums in _distances(rows, others, limits):
        every = np.arange(len(sums))
        nearest[block] = sums.argmin(axis=1)
        first[block] = sums[every, nearest[block]]
        sums[every, nearest[block]] = np.inf
        second[block] = sums.min(axis=1)
    return nearest, first, second


def _blocks(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return rows as blocks of 64 by variable; zeros fill the last one."""
    filled = np.pad(rows, ((0, -len(rows) % _LANES), (0, 0)))
    return filled.reshape(-1, _LANES, rows.shape[1]).transpose(0, 2, 1)


def _distances(
    rows: FloatArray, others: FloatArray, limits: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows, and their distances to all others; see `nearest_rows`."""
    step, columns = max(1, _PAIRS_PER_BLOCK // len(others)), np.ascontiguousarray(others.T)
    most = np.empty(len(others))  # the minimum with a number is three times slower
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        sums = np.zeros((len(rows[block]), len(others)))
        apart = np.empty_like(sums)
        for one, other, limit in zip(rows[block].T, columns, limits, strict=True):
            most[:] = limit
            np.subtract(one[:, None], other, out=apart)
            sums += np.minimum(np.abs(apart, out=apart), most, out=apart)
        yield block, sums


def nearest_places(records: MixedRecords, others: MixedRecords, k: int) -> Codes:
    """Return the positions of the k nearest others of each record, in any order, shape (n, k).

    Ties go to the first one if k is 1, else to any of them.
    """
    if k == 1:
        return nearest(records, others)[1][:, None]
    rows = records.matrix
    units = np.full(rows.shape[1], float(records.unit))
    blocks = _distances(rows, others.matrix, units)
    return np.concatenate([np.argpartition(sums, k - 1, axis=1)[:, :k] for _, sums in blocks])


def _ranks(numbers: Column, n_real: int) -> Codes:
    """Return the ranks of numbers among the first ``n_real``; see `MixedRecords` for the others."""
    observed = numbers.is_observed
    values, codes = np.unique(numbers.data[observed].astype(np.float64), return_inverse=True)
    counts = np.bincount(codes[: observed[:n_real].sum()], minlength=len(values))
    ranks = 4 * n_real * numbers.missing_state().astype(np.int64)
    # Twice the lower values plus the equal ones.
    ranks[observed] = (2 * np.cumsum(counts) - counts)[codes]
    return ranks


def _nearer(case: Case) -> NearestResult:
    run = case.halves
    return nearer_share(run.fitted, run.unseen, run.synthetic, seed=case.seed)


MEASURES = (
    Measure(
        "nearest",
        "halves",
        after="guesses",
        words="share of synthetic records nearer to the training half",
        compute=_nearer,
        figures=(NEARER_SHARE, RATIO_OF_DISTANCES, COPIES_OF_FITTED),
    ),
)
