"""Guessed attributes: are values of training persons guessed right more often than of others?

The attack: an intruder knows some variables of a person, takes the synthetic records that agree
with the person in them, and guesses another variable. Right guesses about holdout persons come
from the population; the excess of training persons over them is the risk that the release adds.
Each variable is a target, with two kinds of knowledge:

- *the keys*: the guess is the commonest value among the synthetic records with the same keys;
- *all other variables*: the guess is the value of the synthetic record that agrees in most of
  them, if fewer than a fifth of all variables differ.

A number is guessed right within a hundredth of its standard deviation. Without such a record the
guess is the commonest value of the file. The lower ends of all targets are simultaneous.

The gain about *any* person compares guesses about holdout persons from synthetic records and from
training records, which are a new sample for the holdout.

Sources: Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability for
synthetic data, Privacy in Statistical Databases (guesses from keys); Pilgram et al. (2025), A
consensus privacy metrics framework for synthetic data, Patterns 6 (beside a holdout); Newcombe
(1998), Statistics in Medicine 17 (the interval).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from synthesizer.data.codes import positions_in
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, IntArray
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, column
from synthesizer.measures.halves import HalfRun
from synthesizer.measures.measure import Case, Measure
from synthesizer.measures.risk.near_verbatim import (
    DIFFERING,
    Compared,
    Joined,
    affordable,
    blocks_of,
    difference,
    keys_of,
    quantile_of,
    times_seen,
)


class Guess(Row):
    """Best guesses for training persons, compared with holdout persons"""

    target: str = column("Target", "text")
    known: str = column("Known", "text", "the keys, or all other variables")
    guessed: int = column("Guessed", "count", "persons whose value is guessed right")
    beside: int = column("Comparison", "count", "holdout persons; or guessed from a new sample")
    excess: float = column("Difference", "share", "of both shares")
    low: float = column("From", "share", "lower end, simultaneous for all targets")


class Gain(Guess):
    """Best guesses from the release, compared with a new sample"""


GUESSES = FigureKind(
    "guesses",
    "guessed attributes",
    "share of right guesses for training persons, minus the share for holdout persons; of the best "
    "guess; the lower end is the largest of all guesses; 0 in a new sample",
    limit=Limit(low=-1, judged="low"),
)


class Guesses(Measured):
    """Training and holdout persons whose values are guessed right, by target."""

    n: int = column("training persons", "count", "that were compared")
    n_outside: int = column("holdout persons", "count")
    datasets: int = column("datasets", "count", "that were pooled")
    keys: tuple[str, ...]
    """Keys of the intruder."""
    guesses: tuple[Guess, ...]
    """Training compared with holdout persons: the largest differences, and largest lower ends."""
    gains: tuple[Gain, ...]
    """Holdout persons guessed from synthetic records, compared with a new sample."""
    n_guesses: int = column("targets", "count", "times kinds of knowledge")

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The largest difference, with the largest lower end of all guesses."""
        best, low = best_of(self.guesses)
        return (GUESSES.of(best.excess, self.n, f"{best.target} from {best.known}", low=low),)


def best_of(guesses: Sequence[Guess]) -> tuple[Guess, float]:
    """Return the guess with the largest difference, and the largest lower end of all."""
    return max(guesses, key=lambda guess: guess.excess), max(guess.low for guess in guesses)


_MAX_ROWS = 10
_MAX_PAIRS = 6_000_000
"""Largest number of pairs of records that are compared."""
OTHERS, KEYS = "all other variables", "the keys"


def guesses(
    run: HalfRun, names: Sequence[str], keys: Sequence[str], *, seed: AnySeed = 0
) -> Guesses | None:
    """Return the numbers of persons whose values are guessed right from synthetic records.

    Parameters
    ----------
    run : HalfRun
        Training records, holdout records, and the datasets made from the training records; those
        with all variables of the first are pooled.
    names : sequence of str
        Targets, which are also the known variables of other targets.
    keys : sequence of str
        Keys of the intruder; may be empty.
    seed : int or Seed
        Seed of the sample of persons in large files.

    Returns
    -------
    Guesses or None
        None with fewer than two comparable variables, or fewer than 10 persons on a side.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Table, Variable
    >>> from synthesizer.measures.halves import control_run
    >>> rng = np.random.default_rng(1)
    >>> def people(n):
    ...     kinds = [Variable(name=name, kind=Kind.NUMERIC) for name in "abcdef"]
    ...     return Table([Column(kind, rng.normal(size=n)) for kind in kinds])
    >>> inside, outside = people(200), people(200)
    >>> found = guesses(control_run(inside, outside, (inside,)), "abcdef", "a")
    >>> found.guesses[0].guessed, found.n_guesses
    (200, 11)
    """
    both = Compared.of_both(run, names)
    if not both:
        return None
    names = both[0][1].names
    key_columns = [names.index(key) for key in keys if key in names]
    rng = seeded(seed).generator("guesses")
    every = [_tally(one, key_columns, rng) for _, one in both]
    n, n_outside = np.sum([sizes for sizes, _ in every], axis=0).tolist()
    tally = np.sum([counts for _, counts in every], axis=0).tolist()
    targets = [
        (target, known, *counts[target])
        for known, counts in zip((OTHERS, KEYS), tally, strict=False)
        for target in range(len(names))
        if known == OTHERS or target not in key_columns
    ]
    z, times = quantile_of(len(targets)), times_seen(every)
    rows: dict[type[Guess], list[Any]] = {Guess: [], Gain: []}
    for target, known, inside, outside, made, fresh in targets:
        sides = {Guess: (inside, n, outside), Gain: (made, n_outside, fresh)}
        for kind, (guessed, of, beside) in sides.items():
            excess, low, _ = difference(guessed, of, beside, n_outside, z)
            rows[kind].append(kind(
                target=names[target], known=known, guessed=round(guessed / times),
                beside=round(beside / times), excess=excess, low=low,
            ))  # fmt: skip
    return Guesses(
        n=round(n / times),
        n_outside=round(n_outside / times),
        datasets=both[0][1].datasets,
        keys=tuple(names[column] for column in key_columns),
        guesses=_largest(rows[Guess]),
        gains=_largest(rows[Gain]),
        n_guesses=len(targets),
    )


def _largest(guesses: Sequence[Any]) -> tuple[Any, ...]:
    """Return the guesses with the largest differences, and those with the largest lower ends."""
    by_value, by_low = (sorted(guesses, key=attrgetter(end)) for end in ("excess", "low"))
    few = by_value[-_MAX_ROWS:] + by_low[-_MAX_ROWS:]
    return tuple(guess for guess in reversed(by_value) if guess in few)


def _tally(
    compared: Compared, keys: Sequence[int], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the numbers of persons of both sides, and of right guesses.

    The second array has the shape (kinds of knowledge, variables, 4): training persons, holdout
    persons, and holdout persons from as many synthetic and training records. From training records
    the best of three guesses counts: the nearest record, the commonest value of near records, or
    that of all.
    """
    most = max(round(DIFFERING[-1] * len(compared.names)), 1)
    blocks = blocks_of(compared.synthetic, most + 1)
    sampled = affordable(
        compared.records, compared.synthetic, blocks, compared.owners, rng, _MAX_PAIRS
    )
    records, owners = compared.records[sampled], compared.owners[sampled]
    # ties go to the first record, so that the order must be random
    synthetic = rng.permutation(compared.synthetic)
    fresh = rng.permutation(compared.records[: compared.n_records])
    is_held = sampled >= compared.n_records
    held, close = records[is_held], blocks_of(fresh, most + 1)
    right = [*_from_others(records, synthetic, blocks, most)]
    of_fresh = [_from_others(held, fresh, close, most, True)]
    if keys:
        right.append(_from_keys(records, synthetic, keys))
        of_fresh.append([_from_keys(held, fresh, keys)])
    made = [of[is_held] for of in right]
    if len(synthetic) > len(fresh):  # a larger file always guesses better
        few = synthetic[: len(fresh)]
        made = [*_from_others(held, few, blocks, most)]
        made += [_from_keys(held, few, keys)] if keys else []

    def persons(right: BoolArray, owners: IntArray) -> IntArray:
        """Return the persons of both sides with a right guess, shape (2, variables)."""
        guessed = np.zeros((sum(compared.sizes), right.shape[1]), bool)
        rows, columns = np.nonzero(right)
        guessed[owners[rows], columns] = True
        return np.array([side.sum(axis=0) for side in np.split(guessed, compared.sizes[:1])])

    modes = _commonest(held, fresh)
    counts = []
    for hits, of_made, of_training in zip(right, made, of_fresh, strict=True):
        held_out = [persons(one, owners[is_held])[1] for one in (of_made, *of_training, modes)]
        best = np.max(held_out[1:], axis=0)
        counts.append(np.array([*persons(hits, owners), held_out[0], best]).T)
    return persons(np.ones((len(owners), 1), bool), owners)[:, 0], np.array(counts)


def _commonest(records: IntArray, synthetic: IntArray) -> BoolArray:
    """Return which values are the commonest ones of their variable in the synthetic records."""
    one_cell = np.zeros(len(synthetic), dtype=np.int64)
    modes = [_commonest_of(one_cell, values)[1] for values in synthetic.T]
    return np.asarray(records == np.hstack(modes))


def _commonest_of(cells: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cells in order, and the commonest value of each."""
    least = int(values.min(initial=0))
    size = int(values.max(initial=0)) - least + 1
    pairs, n = np.unique(cells * size + (values - least), return_counts=True)
    order = np.lexsort((-n, pairs // size))
    every, first = np.unique(pairs[order] // size, return_index=True)
    return every, pairs[order][first] % size + least


def _from_keys(records: IntArray, synthetic: IntArray, keys: Sequence[int]) -> BoolArray:
    """Return which values are the commonest ones of the synthetic records with the same keys."""
    of_records, of_synthetic = keys_of(records, synthetic, list(keys))
    right = _commonest(records, synthetic)
    for target in range(records.shape[1]):
        if target in keys:
            continue
        values = synthetic[:, target]
        cells, commonest = _commonest_of(of_synthetic, values)
        at = positions_in(cells, of_records)
        guessed = at >= 0
        right[guessed, target] = commonest[at][guessed] == records[guessed, target]
    return right


def _from_others(
    records: IntArray,
    synthetic: IntArray,
    blocks: Sequence[list[int]],
    most: int,
    with_commonest: bool = False,
) -> list[BoolArray]:
    """Return which values equal that of the record that agrees in most of the other variables.

    With ``with_commonest`` also which equal the commonest value of all records that agree in
    nearly all others.
    """
    nearest = _commonest(records, synthetic)
    commonest = nearest.copy() if with_commonest else None
    for of_synthetic, of_records, differ in Joined.of(synthetic, records, blocks).parts():
        close = np.flatnonzero(differ <= most)
        close = close[np.lexsort((of_synthetic[close], of_records[close]))]
        of_records, of_synthetic, differ = of_records[close], of_synthetic[close], differ[close]
        differs = records[of_records] != synthetic[of_synthetic]
        starts = np.flatnonzero(np.r_[True, np.diff(of_records) != 0][: len(of_records)])
        for target in range(records.shape[1] if len(of_records) else 0):
            # the first record that differs least in the others, whether or not it agrees here
            other = differ - differs[:, target]
            best = np.minimum.reduceat(other * len(of_records) + np.arange(len(of_records)), starts)
            hit = best < most * len(of_records)
            nearest[of_records[starts[hit]], target] = ~differs[best[hit] % len(of_records), target]
            if commonest is not None:
                few = other < most
                who, values = _commonest_of(of_records[few], synthetic[of_synthetic[few], target])
                commonest[who, target] = values == records[who, target]
    return [nearest] if commonest is None else [nearest, commonest]


def _guessed(case: Case) -> Guesses | None:
    keys = () if case.scenario is None else case.scenario.keys
    return guesses(case.halves, case.drawn, keys, seed=case.seed)


MEASURES = (
    Measure(
        "guesses",
        "halves",
        after="near_verbatim",
        words="values guessed right of training persons, compared with holdout persons",
        needs=("names",),
        stacks=True,
        compute=_guessed,
        result=Guesses,
        figures=(GUESSES,),
    ),
)
