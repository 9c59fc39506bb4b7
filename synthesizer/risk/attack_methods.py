"""The attacks themselves, by the package anonymeter: what is tried, and how often it succeeds.

Only parts of anonymeter that take a generator, or need none, are called: its evaluators draw from
numpy's global state and from generators of their own, and count in ways that mislead. Here

- attacks are counted as they were made, which may be fewer than were asked for;
- records that are alike in everything count as the several persons that they are;
- targets, the order of queries and the order of equally near records are drawn from ``rng``;
- missing codes are categories: in anonymeter's distance a missing number is farther from
  everything than anything else, even from another missing number;
- chance levels are computed, not simulated, where they can be.

Records come as codes and ranks (`synthesizer.risk.gower`); no label reaches anonymeter.
"""

from __future__ import annotations

import logging
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from synthesizer.data.codes import Codes
from synthesizer.data.table import BoolArray, IntArray
from synthesizer.risk.gower import MixedRecords, stacked

__all__ = ["Attacked", "Tries", "guess_secrets", "link_records", "single_out"]


@dataclass(frozen=True, eq=False)
class Attacked:
    """Who is attacked with what, coded together: both halves of one size, synthetic records."""

    fitted: MixedRecords
    unseen: MixedRecords
    synthetic: MixedRecords


@dataclass(frozen=True)
class Tries:
    """How often one attack was made and succeeded on either half.

    ``baseline`` is the share of successes of an attacker who guesses; None if there is no attack.
    """

    n: int
    successes: int
    control_successes: int
    baseline: float | None


def single_out(
    data: Attacked,
    *,
    n_columns: int | None,
    n_attacks: int,
    max_attempts: int,
    rng: np.random.Generator,
) -> Tries:
    """Try conditions that hold for one synthetic record: does just one real record meet them?

    ``n_columns`` is how many variables a condition names; None for rare values of single ones.
    """
    import polars as pl

    syn, fitted, unseen = _polars_frames(pl, (data.synthetic, data.fitted, data.unseen))
    with _quiet():
        if n_columns is None:
            queries = _rare_values(syn, n_attacks, rng)
        else:
            queries = _rare_combinations(syn, n_columns, n_attacks, max_attempts, rng)
    guesses = list(_random_queries(pl, syn, n_columns or 1, n_attacks, rng))
    return Tries(
        n=len(queries),
        successes=int(_one_record(pl, fitted, queries).sum()),
        control_successes=int(_one_record(pl, unseen, queries).sum()),
        baseline=float(_one_record(pl, fitted, guesses).mean()),
    )


def link_records(
    data: Attacked,
    parts: tuple[Sequence[str], Sequence[str]],
    *,
    n_neighbours: int,
    n_attacks: int,
    rng: np.random.Generator,
) -> Tries:
    """Try to join two sources on persons: do both parts of a record lead to one synthetic record?

    A success is a person whose nearest synthetic records by the first part of the variables and
    those by the second have one in common.
    """
    from anonymeter.evaluators.linkability_evaluator import LinkabilityIndexes

    size = data.synthetic.n_rows
    k = min(n_neighbours, size)
    targets, n = _targets(data, n_attacks, rng)
    found = [_neighbours(data.synthetic, targets, names, k, rng) for names in parts]
    hits = [
        LinkabilityIndexes(*(places[half] for places in found)).count_links(k)
        for half in (slice(n), slice(n, None))
    ]
    # Two sets of k out of `size` records, drawn at random, have one in common.
    chance = 1 - math.comb(size - k, k) / math.comb(size, k)
    return Tries(n=n, successes=hits[0], control_successes=hits[1], baseline=chance)


def guess_secrets(
    data: Attacked,
    keys: Sequence[str],
    target: str,
    *,
    n_attacks: int,
    rng: np.random.Generator,
) -> Tries:
    """Try to learn a secret: does the synthetic record nearest in the keys show it?

    The target must be coded: anonymeter takes every negative guess of a number for a right one.
    An attacker who guesses takes the secret of any synthetic record.
    """
    from anonymeter.neighbors.mixed_types_kneighbors import KNNInferencePredictor

    order = rng.permutation(data.synthetic.n_rows)
    shown = data.synthetic.labels[target][order].astype(np.int64)
    frame = _pandas_frame(data.synthetic, keys, order)
    targets, n = _targets(data, n_attacks, rng)
    truth = targets.labels[target].astype(np.int64)
    model = KNNInferencePredictor(
        data=frame.assign(secret=shown), columns=list(frame.columns), target_col="secret", n_jobs=1
    )
    asked = _pandas_frame(targets, keys)
    right = model.predict(asked).to_numpy() == truth
    size = int(max(shown.max(), truth.max())) + 1
    share, true_share = (
        np.bincount(codes, minlength=size) / len(codes) for codes in (shown, truth[:n])
    )
    return Tries(
        n=n,
        successes=int(right[:n].sum()),
        control_successes=int(right[n:].sum()),
        baseline=float(share @ true_share),
    )


def _targets(data: Attacked, n_attacks: int, rng: np.random.Generator) -> tuple[MixedRecords, int]:
    """Draw n targets of the fitted half and, after them, n of the unseen half."""
    n = min(n_attacks, data.fitted.n_rows)
    drawn = [_taken(half, rng.permutation(half.n_rows)[:n]) for half in (data.fitted, data.unseen)]
    return stacked(drawn), n


def _taken(records: MixedRecords, rows: Codes) -> MixedRecords:
    return MixedRecords(
        {name: codes[rows] for name, codes in records.labels.items()},
        {name: values[rows] for name, values in records.numbers.items()},
        records.unit,
        len(rows),
    )


def _neighbours(
    synthetic: MixedRecords,
    targets: MixedRecords,
    names: Sequence[str],
    k: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return the places of the k nearest synthetic records, shape (targets, k).

    Of equally near ones anonymeter takes those that come first in the file. Both parts of a
    record would then agree without knowing anything: each part gets an order of its own.
    """
    from anonymeter.neighbors.mixed_types_kneighbors import MixedTypeKNeighbors

    order = rng.permutation(synthetic.n_rows)
    search = MixedTypeKNeighbors(n_neighbors=k, n_jobs=1)
    search.fit(_pandas_frame(synthetic, names, order))
    return np.asarray(order[search.kneighbors(_pandas_frame(targets, names))])


def _pandas_frame(
    records: MixedRecords, names: Sequence[str], rows: Codes | slice = slice(None)
) -> pd.DataFrame:
    """Return columns as anonymeter tells kinds: texts are categories, floats are numbers.

    Every number has a column of its missing codes beside it, which counts 1 where they differ;
    the number itself is put in the middle, so that it adds nothing between missing ones.
    """
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        if name in records.labels:
            columns[f"v{place}"] = records.labels[name][rows].astype(str).astype(object)
            continue
        values = records.numbers[name][rows].astype(np.float64) / records.unit
        missing = values > 1
        columns[f"v{place}"] = np.where(missing, 0.5, values)
        columns[f"m{place}"] = np.where(missing, values, 0).astype(str).astype(object)
    return pd.DataFrame(columns)


def _polars_frames(pl: Any, parts: Sequence[MixedRecords]) -> list[Any]:
    """Return frames of texts and of whole-number ranks, null where a number is missing."""
    together = stacked(parts)
    columns: dict[str, Any] = {}
    for codes in together.labels.values():
        columns[f"v{len(columns)}"] = pl.Series(codes.astype(str).tolist())
    for values in together.numbers.values():
        kept = np.where(values > together.unit, np.nan, values)
        columns[f"v{len(columns)}"] = pl.Series(kept, nan_to_null=True).cast(pl.Int64)
    frame, frames, start = pl.DataFrame(columns), [], 0
    for part in parts:
        frames.append(frame.slice(start, part.n_rows))
        start += part.n_rows
    return frames


def _rare_values(frame: Any, n_attacks: int, rng: np.random.Generator) -> list[Any]:
    """Return conditions on rare values, all that there are, or a random choice of them.

    Polars groups values in any order. Hence all conditions are made and put in one order.
    """
    from anonymeter.evaluators.singling_out_evaluator import univariate_singling_out_queries

    every = univariate_singling_out_queries(frame, n_queries=2**62, rng=rng)
    every.sort(key=str)
    return [every[place] for place in rng.permutation(len(every))[:n_attacks]]


def _rare_combinations(
    frame: Any, n_columns: int, n_attacks: int, max_attempts: int, rng: np.random.Generator
) -> list[Any]:
    from anonymeter.evaluators.singling_out_evaluator import multivariate_singling_out_queries

    return list(
        multivariate_singling_out_queries(
            frame,
            n_queries=n_attacks,
            n_cols=min(n_columns, len(frame.columns)),
            max_attempts=max_attempts,
            rng=rng,
        )
    )


def _random_queries(
    pl: Any, frame: Any, n_columns: int, n_attacks: int, rng: np.random.Generator
) -> Iterator[Any]:
    values = {name: frame[name].unique().sort().to_list() for name in frame.columns}
    for _ in range(n_attacks):
        size = min(n_columns, len(frame.columns))
        names = rng.choice(frame.columns, size=size, replace=False).tolist()
        terms = [_random_term(pl.col(name), values[name], rng) for name in names]
        yield reduce(operator.and_, terms)


def _random_term(column: Any, values: list[Any], rng: np.random.Generator) -> Any:
    value = values[rng.integers(len(values))]
    if value is None:
        return column.is_null() if rng.integers(2) else column.is_not_null()
    operators: list[Callable[[Any, Any], Any]] = [operator.eq, operator.ne]
    if not isinstance(value, str):
        operators += [operator.lt, operator.le, operator.ge, operator.gt]
    return operators[rng.integers(len(operators))](column, value)


def _one_record(pl: Any, frame: Any, queries: Sequence[Any]) -> BoolArray:
    """Return which conditions just one record meets, shape (queries,)."""
    if not queries:
        return np.zeros(0, dtype=bool)
    counts = [query.cast(pl.Int64).sum().alias(str(i)) for i, query in enumerate(queries)]
    return np.asarray(np.array(frame.select(counts).row(0)) == 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence anonymeter on what the result says: fewer attacks; and polars on its null values."""
    log = logging.getLogger("anonymeter")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
