"""The attacks themselves, as the package anonymeter makes them: what is tried, what succeeds.

Of anonymeter itself only the making of conditions on combinations is called: its evaluators draw
from numpy's global state and from generators of their own, and count in ways that mislead; its
search of nearest records takes 40 times as long as that of `synthesizer.risk.gower` (100,000
records); it tries every condition on a rare value on all records, in time that grows with the
square of their number. Here

- attacks are counted as they were made, which may be fewer than were asked for;
- records that are alike in everything count as the several persons that they are;
- targets, the order of queries and the order of equally near records are drawn from ``rng``;
- numbers are compared by rank and missing codes are categories: in anonymeter's distance a missing
  number is farther from everything than anything else, even from another missing number;
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
from functools import partial, reduce
from typing import Any

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import BoolArray
from synthesizer.risk.gower import MixedRecords, nearest_places, stacked

__all__ = ["Attacked", "Tries", "guess_secrets", "link_records", "single_out"]


@dataclass(frozen=True, eq=False)
class Attacked:
    """Who is attacked with what, coded together: both halves and the synthetic records."""

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
    The halves must be of one size: a condition is met by more records of a larger one.
    """
    import polars as pl

    syn, fitted, unseen = _polars_frames(pl, (data.synthetic, data.fitted, data.unseen))
    if n_columns is None:
        queries = _rare_values(pl, syn, n_attacks, rng)
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
    size = data.synthetic.n_rows
    k = min(n_neighbours, size)
    targets, n = _targets(data, n_attacks, rng)
    first, second = (_neighbours(data.synthetic, targets, names, k, rng) for names in parts)
    linked = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    # Two sets of k out of `size` records, drawn at random, have one in common.
    chance = 1 - math.comb(size - k, k) / math.comb(size, k)
    return Tries(
        n=n,
        successes=int(linked[:n].sum()),
        control_successes=int(linked[n:].sum()),
        baseline=chance,
    )


def guess_secrets(
    data: Attacked,
    keys: Sequence[str],
    target: str,
    *,
    n_attacks: int,
    rng: np.random.Generator,
) -> Tries:
    """Try to learn a secret: does the synthetic record nearest in the keys show it?

    The target must be coded. An attacker who guesses takes the secret of any synthetic record.
    """
    shown = data.synthetic.labels[target].astype(np.int64)
    targets, n = _targets(data, n_attacks, rng)
    truth = targets.labels[target].astype(np.int64)
    right = shown[_neighbours(data.synthetic, targets, keys, 1, rng)[:, 0]] == truth
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
    """Draw n targets of the whole fitted half and, after them, n of the whole unseen half."""
    halves = (data.fitted, data.unseen)
    n = min(n_attacks, *(half.n_rows for half in halves))
    return stacked([half.take(rng.permutation(half.n_rows)[:n]) for half in halves]), n


def _neighbours(
    synthetic: MixedRecords,
    targets: MixedRecords,
    names: Sequence[str],
    k: int,
    rng: np.random.Generator,
) -> Codes:
    """Return the places of the k nearest synthetic records, shape (targets, k).

    Of equally near ones those that come first are taken. By the order of the file both parts of a
    record would agree without knowing anything: each search has an order of its own.
    """
    order = rng.permutation(synthetic.n_rows)
    asked = targets.take(np.arange(targets.n_rows), names)
    return np.asarray(order[nearest_places(asked, synthetic.take(order, names), k)])


def _polars_frames(pl: Any, parts: Sequence[MixedRecords]) -> list[Any]:
    """Return frames of texts and of whole-number ranks, null where a number is missing."""
    together = stacked(parts)
    columns: dict[str, Any] = {}
    for codes in together.labels.values():
        texts = pl.Series([str(code) for code in range(int(codes.max()) + 1)])
        columns[f"v{len(columns)}"] = texts.gather(codes)
    for values in together.numbers.values():
        kept = np.where(values > together.unit, np.nan, values)
        columns[f"v{len(columns)}"] = pl.Series(kept, nan_to_null=True).cast(pl.Int64)
    frame, frames, start = pl.DataFrame(columns), [], 0
    for part in parts:
        frames.append(frame.slice(start, part.n_rows))
        start += part.n_rows
    return frames


def _rare_values(pl: Any, frame: Any, n_attacks: int, rng: np.random.Generator) -> list[Any]:
    """Return conditions on rare values, all that there are, or a random choice of them.

    These are anonymeter's: being a value, or missing, where one record is, and being at most the
    least or at least the largest number, if one record is. Only those chosen are made.
    """
    lists: list[tuple[Any, Any]] = []
    for name in frame.columns:
        lists += _rare_in_column(pl, frame[name])
    ends = np.cumsum([len(values) for _, values in lists])
    chosen = rng.permutation(int(ends[-1]))[:n_attacks]
    found = []
    for place, number in zip(chosen, np.searchsorted(ends, chosen, side="right"), strict=True):
        condition, values = lists[number]
        found.append(condition(values[int(place - ends[number])]))
    return found


def _rare_in_column(pl: Any, column: Any) -> list[tuple[Any, Any]]:
    """Return conditions as functions of a value, each with all values that it is made of."""
    once = column.value_counts(name="n").filter(pl.col("n") == 1)[column.name].sort()
    values, variable = once.drop_nulls(), pl.col(column.name)
    found = [
        (partial(operator.eq, variable), values),
        (lambda _: variable.is_null(), once.filter(once.is_null())),
    ]
    if column.dtype.is_numeric():
        found += [
            (partial(operator.le, variable), values.filter(values == column.min())),
            (partial(operator.ge, variable), values.filter(values == column.max())),
        ]
    return found


def _rare_combinations(
    frame: Any, n_columns: int, n_attacks: int, max_attempts: int, rng: np.random.Generator
) -> list[Any]:
    from anonymeter.evaluators.singling_out_evaluator import multivariate_singling_out_queries

    with _quiet():
        queries = multivariate_singling_out_queries(
            frame,
            n_queries=n_attacks,
            n_cols=min(n_columns, len(frame.columns)),
            max_attempts=max_attempts,
            rng=rng,
        )
    return list(queries)


def _random_queries(
    pl: Any, frame: Any, n_columns: int, n_attacks: int, rng: np.random.Generator
) -> Iterator[Any]:
    values = {name: frame[name].unique().sort() for name in frame.columns}
    for _ in range(n_attacks):
        size = min(n_columns, len(frame.columns))
        names = rng.choice(frame.columns, size=size, replace=False).tolist()
        terms = [_random_term(pl.col(name), values[name], rng) for name in names]
        yield reduce(operator.and_, terms)


def _random_term(column: Any, values: Any, rng: np.random.Generator) -> Any:
    value = values[int(rng.integers(len(values)))]
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
