"""Special uniques (SUDA2): records that very few keys single out.

The attack: an intruder who knows one or two values of a person finds the only record with them. A
minimal sample unique is a set of key values of exactly one record, all parts of which other
records have, too. The smaller and the more numerous the minimal uniques of a record, the more
likely it is unique in the population.

Sources: Elliot, Manning and Ford (2002), A computational algorithm for handling the special
uniques problem, International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10,
493-509 (scores); Manning, Haglin and Keane (2008), A recursive search algorithm for statistical
disclosure assessment, Data Mining and Knowledge Discovery 16, 165-196 (SUDA2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field

from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import Data, as_table, check_keys
from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table
from synthesizer.data.workers import counted
from synthesizer.measures.figure import Figure, FigureKind, Result, Row, column
from synthesizer.measures.measure import Case, Measure
from synthesizer.measures.measure_options import Switched
from synthesizer.measures.risk.comparable import GroupsOf
from synthesizer.measures.risk.minimal_uniques import KeyCells, count_sets, minimal_uniques

Missing = Literal["value", "unknown"]

# Largest number of sets of keys: 16 keys in full, 25 keys up to sets of 5, 80 up to 3.
_MAX_SETS = 100_000
# Defaults: sets times records, and numbers of sets (at least six keys in full, at most twelve).
_MAX_SET_RECORDS, _FEW_SETS, _MANY_SETS = 300_000_000, 300, 5_000


class SudaOptions(Switched):
    """Special uniques: SUDA2 and DIS-SUDA."""

    max_size: int | None = Field(
        None, ge=1, description="largest number of keys in a set; limited by time when absent"
    )
    sampling_fraction: float = Field(
        0.01, gt=0, le=1, description="share of the population that is in the data (DIS-SUDA)"
    )


class SudaSize(Row):
    """Minimal uniques with one number of keys."""

    size: int = column("Keys in the set", "count")
    found: int = column("Minimal uniques", "count", "of all records")
    records: int = column("Records", "count", "records that have at least one")


class SudaBand(Row):
    """Number of scored records in a band of DIS-SUDA of width 0.1, upper end included."""

    above: float = column("Above", "share")
    up_to: float = column("Up to", "share")
    records: int = column("Records", "count")


_MATCH = "probability that a unique match of the keys is the right {record}"
UNIQUES = FigureKind("uniques", "uniques", "{records} with unique key values", "a count")
SHARE_UNIQUE = FigureKind(
    "share_unique", "share unique", "share of the {records} with unique key values"
)
SPECIAL_UNIQUES = FigureKind(
    "special_uniques",
    "special uniques",
    "uniques with SUDA scores in the highest tenth: few keys suffice to single them out",
    "a count",
)
SHARE_SPECIAL = FigureKind(
    "share_special", "share special", "share of the {records} that are special uniques"
)
DIS = FigureKind("data_intrusion_simulation", "DIS", _MATCH)
LARGEST_DIS_SUDA = FigureKind(
    "largest_dis_suda",
    "largest DIS-SUDA",
    "highest risk of any unique {record}: probability that a match with it is that person",
)
MEAN_DIS_SUDA = FigureKind(
    "mean_dis_suda",
    "mean DIS-SUDA",
    "mean over the unique {records} of the probability that a match with one is that person",
)


class SudaResult(Result):
    """Counts and shares of special uniques, without single records."""

    keys: tuple[str, ...]
    """Variables that an intruder may know."""
    max_size: int = column("largest number of keys in a set", "count")
    sampling_fraction: float = column("population share in the data (0.01 if not set)", "share")
    missing: Missing
    """Whether a missing code is a value, or does not identify."""
    n: int = column("records", "count")
    uniques: int = column("unique by all keys", "count")
    uniques_without_score: int = column("of them, unique by more keys than were searched", "count")
    special_uniques: int = column("special uniques (the top tenth of the scores)", "count")
    minimal_uniques: tuple[SudaSize, ...]
    """By number of keys, 1 to ``max_size``."""
    contributions: dict[str, float | None]
    """Share of the sum of all scores from minimal uniques with the key; a minimal unique counts for
    each of its keys, so that the sum exceeds 1. None without any."""
    scores: dict[str, float | None]
    """Quantiles of the scores of the uniques; None without uniques."""
    dis_scores: tuple[SudaBand, ...]
    """Scored records by DIS-SUDA."""
    dis: float | None = column("probability that a unique match is right, whole file", "share")
    largest_dis_suda: float | None = column("maximum over the scored uniques", "share")
    mean_dis_suda: float | None = column("mean over the scored uniques", "share")

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Uniques, special uniques and probabilities that unique matches are right."""
        n, scored = self.n, self.uniques - self.uniques_without_score
        return (
            UNIQUES.of(self.uniques, n),
            SHARE_UNIQUE.of(self.uniques / n, n),
            SPECIAL_UNIQUES.of(self.special_uniques, n),
            SHARE_SPECIAL.of(self.special_uniques / n, n),
            DIS.of(self.dis, self.uniques),
            LARGEST_DIS_SUDA.of(self.largest_dis_suda, scored),
            MEAN_DIS_SUDA.of(self.mean_dis_suda, scored),
        )


@dataclass(frozen=True, eq=False)
class SudaScores:
    """Scores of all records by `suda`."""

    keys: tuple[str, ...]
    """Variables that an intruder may know."""
    max_size: int
    """Largest number of keys in a set."""
    sampling_fraction: float
    """Share of the population that is in the data."""
    missing: Missing
    """Whether a missing code is a value, or does not identify."""
    unique: BoolArray
    """Which records have unique values of all keys, shape (n,)."""
    scores: FloatArray
    """SUDA scores, 0 without a minimal unique, shape (n,)."""
    dis_scores: FloatArray
    """Probability that a unique match with the record is right, shape (n,); 0 if it is not unique,
    NaN if all its minimal uniques are larger than ``max_size``."""
    special: BoolArray
    """Uniques at or above the top-decile cut of the scores of the uniques, shape (n,)."""
    minimal: npt.NDArray[np.int32]
    """Minimal uniques of each record with 1, ..., max_size keys, shape (n, max_size)."""
    contributions: dict[str, float | None]
    """See `SudaResult`."""
    record_contributions: npt.NDArray[np.float32] | None
    """Contributions by record, 0 if its score is 0, shape (n, keys); None by default."""
    dis: float | None
    """Probability that a unique match is right, for the whole file; None without uniques."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Figures of the result."""
        return self.result.figures

    @property
    def result(self) -> SudaResult:
        """Counts and shares, without single records."""
        scored = self.dis_scores[self.unique & (self.scores > 0)]
        minimal = zip(self.minimal.sum(axis=0), (self.minimal > 0).sum(axis=0), strict=True)
        return SudaResult(
            keys=self.keys,
            max_size=self.max_size,
            sampling_fraction=self.sampling_fraction,
            missing=self.missing,
            n=len(self.unique),
            uniques=int(self.unique.sum()),
            uniques_without_score=int((self.unique & (self.scores == 0)).sum()),
            special_uniques=int(self.special.sum()),
            minimal_uniques=tuple(
                SudaSize(size=size, found=int(sets), records=int(records))
                for size, (sets, records) in enumerate(minimal, start=1)
            ),
            contributions=self.contributions,
            scores=_quantiles(self.scores[self.unique]),
            dis_scores=_bands(self.dis_scores[self.dis_scores > 0]),
            dis=self.dis,
            largest_dis_suda=float(scored.max()) if len(scored) else None,
            mean_dis_suda=float(scored.mean()) if len(scored) else None,
        )


def _quantiles(values: FloatArray) -> dict[str, float | None]:
    """Return quantiles of the scores of the uniques."""
    points = {"lowest": 0.0, "median": 0.5, "9th decile": 0.9, "99th percentile": 0.99}
    points["highest"] = 1.0
    return {
        name: float(np.quantile(values, point)) if len(values) else None
        for name, point in points.items()
    }


def _bands(values: FloatArray) -> tuple[SudaBand, ...]:
    ends = np.arange(1, 11) / 10
    counts = np.bincount(np.searchsorted(ends, values), minlength=10).tolist()
    return tuple(
        SudaBand(above=i / 10, up_to=(i + 1) / 10, records=count) for i, count in enumerate(counts)
    )


def suda(
    data: Data,
    keys: Sequence[str],
    *,
    groups: GroupsOf = None,
    options: SudaOptions | None = None,
    max_size: int | None = None,
    sampling_fraction: float | None = None,
    missing: Missing = "value",
    record_contributions: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SudaScores:
    """Return the SUDA scores of all records, from all their minimal sample uniques.

    A minimal unique of k of the ATT keys scores (ATT - k) (ATT - k - 1) ... (ATT - M + 1) with
    M = ``max_size``, which is (ATT - k)! if all sizes are searched. The score of a record is the
    sum over its minimal uniques. (Elliot et al. write the product down to ATT - M: for M < ATT
    their scores are ATT - M times these.)

    Parameters
    ----------
    data : Table or DataFrame
        Records, shape (n, p), at least one.
    keys : sequence of str
        Variables that an intruder may know.
    groups : mapping of str to int or sequence of float, optional
        As in `synthesizer.measures.risk.cap.cap`.
    options : SudaOptions, optional
        Options of the check, as under ``checks: {suda: ...}``.
    max_size : int, optional
        Largest number of keys in a set, in place of that of the options; default all.
    sampling_fraction : float, optional
        Share of the population that is in the data, in (0, 1], in place of that of the options;
        default 0.01. DIS scores depend on it.
    missing : {"value", "unknown"}
        "value": a missing code is a value. "unknown": a missing code does not identify, so that on
        each set of keys only records without missing codes are compared.
    record_contributions : bool
        Whether to return the contributions of the keys for each record.
    progress : function of (done: int, total: int), optional
        Called after each set of keys.

    Returns
    -------
    SudaScores
        Scores, masks and counts in the order of the records; ``result`` has their summary.

    Raises
    ------
    DataError
        For unknown keys, sizes and fractions out of range, or more than 100,000 sets of keys.

    Notes
    -----
    Each set of up to ``max_size`` keys is counted once for identical records, and only for records
    that are not unique on a part of the set. Time grows at most with the number of sets times that
    of distinct combinations. Memory is that of the distinct combinations plus one bit for each of
    them and each set of two neighbouring sizes: 100,000 records with 20 keys and sets of up to 4
    take 7 seconds and 100 MB, with 10 keys in full 2 seconds and 25 MB.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": list("ffmm"), "work": list("abaa"), "home": list("xyxx")})
    >>> result = suda(frame, ["sex", "work", "home"])
    >>> result.scores.tolist(), result.unique.tolist()
    ([2.0, 4.0, 0.0, 0.0], [True, True, False, False])
    >>> result.minimal[1].tolist()
    [2, 0, 0]
    """
    table = as_table(data, keys)
    options = (options or SudaOptions()).changed(
        max_size=max_size, sampling_fraction=sampling_fraction
    )
    sampling_fraction = options.sampling_fraction
    size = len(keys) if options.max_size is None else options.max_size
    _check(table, keys, groups, size, sampling_fraction, missing)
    cells = KeyCells.of(table, keys, groups, unknown=missing == "unknown")
    weights = _weights(len(keys), size)
    counts, by_key, by_record = minimal_uniques(cells, weights, record_contributions, progress)
    n, rows, scores = table.n_rows, cells.records, counts @ np.asarray(weights)
    unique = cells.frequency == 1
    dis = data_intrusion_simulation(
        int(unique.sum()), int((cells.frequency == 2).sum()), sampling_fraction
    )
    dis_scores = np.where(unique[rows], np.nan, 0.0)
    dis_scores[scores > 0] = dis_suda_scores(scores[scores > 0], dis, len(keys))
    every_score, total = _spread(scores, rows, n), float(scores.sum())
    if by_record is not None:
        divisor = np.where(scores > 0, scores, 1).astype(np.float32)
        by_record = _spread(by_record / divisor[:, None], rows, n)
    return SudaScores(
        keys=tuple(keys),
        max_size=size,
        sampling_fraction=sampling_fraction,
        missing=missing,
        unique=unique,
        scores=every_score,
        dis_scores=_spread(dis_scores, rows, n),
        special=_special(every_score, unique),
        minimal=_spread(counts, rows, n),
        contributions={
            key: float(score / total) if total else None
            for key, score in zip(keys, by_key, strict=True)
        },
        record_contributions=by_record,
        dis=dis,
    )


def special_uniques(
    data: Data, keys: Sequence[str], groups: GroupsOf = None, suda: SudaScores | None = None
) -> BoolArray:
    """Return which records are special uniques: uniques with a SUDA score in the highest tenth.

    With ties at the cut more than a tenth of the uniques are special. Parameters and errors are
    those of `suda`, whose result can be passed.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": list("ffmm"), "work": list("abaa"), "home": list("xyxx")})
    >>> special_uniques(frame, ["sex", "work", "home"]).tolist()
    [False, True, False, False]
    """
    result = _suda(data, keys, groups=groups) if suda is None else suda
    n = as_table(data, keys).n_rows
    problems = Problems()
    if result.keys != tuple(keys):
        problems.append("the SUDA result has other keys: compute it with these")
    if len(result.unique) != n:
        problems.append(
            f"the SUDA result has {len(result.unique)} records and the data have {n}: "
            "compute it with these data"
        )
    problems.settle(DataError)
    return result.special


# The parameter of `special_uniques` hides the function's name.
_suda = suda


def affordable_size(n_keys: int, n_records: int) -> int:
    """Return the largest ``max_size`` for which `suda` takes seconds, not minutes.

    Time grows with the number of sets of keys and with the number of records.

    Examples
    --------
    >>> affordable_size(12, 10_000), affordable_size(12, 1_000_000), affordable_size(6, 10**7)
    (12, 3, 6)
    """
    return _largest_size(n_keys, min(max(_MAX_SET_RECORDS // n_records, _FEW_SETS), _MANY_SETS))


def _largest_size(n_keys: int, most_sets: int) -> int:
    """Return the largest size of sets whose number is at most ``most_sets``."""
    size = 1
    while size < n_keys and count_sets(n_keys, size + 1) <= most_sets:
        size += 1
    return size


def _check(
    table: Table,
    keys: Sequence[str],
    groups: GroupsOf,
    max_size: int,
    sampling_fraction: float,
    missing: str,
) -> None:
    problems = Problems()
    with problems.gathered():
        check_keys(table, keys=keys, groups=groups)
    if not table.n_rows:
        problems.append("the data have no records: give at least one")
    if not 0 < sampling_fraction <= 1:
        problems.append(f"sampling_fraction ({sampling_fraction}) must be above 0 and at most 1")
    if missing not in get_args(Missing):
        problems.append(f"missing ({missing!r}) must be one of {', '.join(get_args(Missing))}")
    total = count_sets(len(keys), max_size)
    if keys and not 1 <= max_size <= len(keys):
        problems.append(f"max_size ({max_size}) must be between 1 and the {len(keys)} keys")
    elif total > _MAX_SETS:
        largest = _largest_size(len(keys), _MAX_SETS)
        problems.append(
            f"{len(keys)} keys have {total:,} sets of up to {max_size}, more than the limit of "
            f"{_MAX_SETS:,}: set max_size to at most {largest}, or name fewer keys"
        )
    problems.settle(DataError)


def _weights(n_keys: int, max_size: int) -> list[float]:
    """Return the score of a minimal unique with 1, ..., max_size keys."""
    return [float(prod(n_keys - i for i in range(k, max_size))) for k in range(1, max_size + 1)]


def _spread(values: npt.NDArray[Any], rows: IntArray, n: int) -> npt.NDArray[Any]:
    """Return an array of n with values at some rows, and 0 elsewhere."""
    result = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
    result[rows] = values
    return result


def _special(scores: FloatArray, unique: BoolArray) -> BoolArray:
    if not unique.any():
        return unique
    cut = np.quantile(scores[unique], 0.9)
    return np.asarray(unique & (scores >= cut) & (scores > 0))


def data_intrusion_simulation(uniques: int, paired: int, sampling_fraction: float) -> float | None:
    """Return the estimated probability that a unique match of a sample with a person is right.

    With U uniques, P records whose key values exactly one other record has, and the share f of the
    population that is in the sample, it is U f / (U f + P (1 - f)); None without uniques. It is 1
    for a whole population, and without pairs, which makes the estimate useless.

    Examples
    --------
    >>> data_intrusion_simulation(30, 30, 0.1), data_intrusion_simulation(30, 30, 1.0)
    (0.1, 1.0)
    """
    right = uniques * sampling_fraction
    return right / (right + paired * (1 - sampling_fraction)) if uniques else None


def score_exponent(n_keys: int) -> float:
    """Return the exponent e of the odds of a right match, which are proportional to score^e.

    Inferred, not from a paper: published scores of sdcMicro for 3, 4 and 6 keys fit
    1 + (8 - n_keys) / 20 in all digits; other numbers of keys use the same line. The exponent is at
    least above 0 (from 28 keys on). It affects how DIS is distributed, not DIS itself.

    Examples
    --------
    >>> [round(score_exponent(n_keys), 2) for n_keys in (3, 4, 6, 12)]
    [1.25, 1.2, 1.1, 0.8]
    """
    return max(1, 28 - n_keys) / 20


def dis_suda_scores(scores: FloatArray, dis: float | None, n_keys: int) -> FloatArray:
    """Return the DIS of the file distributed over its uniques by SUDA scores (DIS-SUDA).

    A unique match with a record has the odds (1 - p) / p of being wrong. They are assumed to be
    proportional to score ** -exponent, with the mean (1 - dis) / dis of the file.

    Examples
    --------
    >>> dis_suda_scores(np.array([2.0, 2.0]), 0.25, 6).tolist()
    [0.25, 0.25]
    >>> dis_suda_scores(np.array([1.0, 3.0]), 0.25, 8).tolist()
    [0.18181818181818182, 0.4]
    """
    if dis is None or not len(scores):
        return np.empty(0)
    weights = scores ** -score_exponent(n_keys)
    return np.asarray(1 / (1 + (1 - dis) / dis * weights / weights.mean()))


def _measured(case: Case) -> SudaScores:
    options, keys = case.settings.suda, case.required_scenario.keys
    size = options.max_size or affordable_size(len(keys), case.original.n_rows)
    return suda(
        case.original,
        **case.key_groups,
        options=options,
        max_size=min(size, len(keys)),
        progress=counted(case.listener, "special uniques"),
    )


MEASURES = (
    Measure(
        "suda",
        "scenario",
        words="special uniques",
        options=SudaOptions,
        compute=_measured,
        saved=attrgetter("result"),
        figures=(
            UNIQUES,
            SHARE_UNIQUE,
            SPECIAL_UNIQUES,
            SHARE_SPECIAL,
            DIS,
            LARGEST_DIS_SUDA,
            MEAN_DIS_SUDA,
        ),
    ),
)
