"""Guessed attributes: values of how many more persons in the data than outside of it are guessed?

The attack: an intruder knows some variables of a person, takes the synthetic records that agree
with the person in them, and guesses another variable. What is guessed right of persons whom the
synthesis never saw the population gives away; the excess over them is what the release adds about
persons in the data. Every variable is a target, from two kinds of knowledge:

- *the keys*: the guess is the commonest value among the synthetic records with the same keys;
- *all other variables*: the guess is the value of the synthetic record that agrees in most of them,
  as long as fewer than a fifth of all variables differ.

A number is guessed right within a hundredth of its standard deviation. Where there is no such
record, the commonest value of the file is guessed. The lower ends of all targets hold together.

What is shown about *anybody* is guessed of persons held out, from the synthetic records and from
the training records: these are a new sample as far as the holdout is concerned. The gain is what
is guessed from the synthetic records beyond that, person by person.

Sources: Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability for
synthetic data, Privacy in Statistical Databases (guesses from keys); Pilgram et al. (2025), A
consensus privacy metrics framework for synthetic data, Patterns 6 (beside a holdout); Newcombe
(1998), Statistics in Medicine 17 (the interval).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    """Targets with the largest excess"""

    target: str = column("Target", "text")
    known: str = column("Known", "text", "the keys, or all other variables")
    guessed: int = column("Guessed", "count", "persons whose value is guessed right")
    beside: int = column("Beside", "count", "persons held out; or guessed from a new sample")
    excess: float = column("Excess", "share", "the difference of both shares")
    low: float = column("From", "share", "lower end; those of all targets hold together")


GUESSES = FigureKind(
    "guesses",
    "guessed attributes",
    "share of training persons whose value is guessed right minus that of holdout persons, for the "
    "variable with the highest lower end; 0 in a new sample",
    limit=Limit(low=-1, judged="low"),
)


class Guesses(Measured):
    """Of how many more persons in the data than of the holdout values are guessed right."""

    n: int = column("persons in the data", "count", "that were compared")
    n_outside: int = column("persons held out", "count")
    datasets: int = column("datasets", "count", "that were looked at together")
    keys: tuple[str, ...]
    """What is known where it is the keys."""
    guesses: tuple[Guess, ...]
    """Persons in the data beside those held out, the highest lower ends first."""
    gains: tuple[Guess, ...]
    """Persons held out, guessed from synthetic records beside a new sample, in the same order."""
    n_guesses: int = column("targets", "count", "by what is known")

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The excess of the target that shows most."""
        worst = self.guesses[0]
        detail = f"{worst.target} from {worst.known}"
        return (GUESSES.of(worst.excess, self.n, detail, low=worst.low),)


_SHOWN = 10
_PAIRS = 6_000_000
"""Pairs of records that are compared at most; each variable is a target."""
OTHERS, KEYS = "all other variables", "the keys"


def guesses(
    run: HalfRun, names: Sequence[str], keys: Sequence[str], *, seed: AnySeed = 0
) -> Guesses | None:
    """Count persons whose values are guessed right from a synthetic dataset.

    Parameters
    ----------
    run : HalfRun
        Training records, the holdout, and the datasets that were made of the training records;
        those with all variables of the first are looked at together.
    names : sequence of str
        Targets, and what is known of them.
    keys : sequence of str
        What an intruder knows; may be empty.
    seed : int or Seed
        Draws the persons of large files.

    Returns
    -------
    Guesses or None
        None where fewer than two variables can be compared, or fewer than 10 persons of a side.

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
    rows: dict[str, list[Guess]] = {"guesses": [], "gains": []}
    for target, known, inside, outside, made, fresh in targets:
        sides = {"guesses": (inside, n, outside), "gains": (made, n_outside, fresh)}
        for field, (guessed, of, beside) in sides.items():
            excess, low, _ = difference(guessed, of, beside, n_outside, z)
            guess = Guess(
                target=names[target], known=known, guessed=round(guessed / times),
                beside=round(beside / times), excess=excess, low=low,
            )  # fmt: skip
            rows[field].append(guess)
    return Guesses(
        n=round(n / times),
        n_outside=round(n_outside / times),
        datasets=both[0][1].datasets,
        keys=tuple(names[column] for column in key_columns),
        **{f: tuple(sorted(g, key=lambda guess: -guess.low)[:_SHOWN]) for f, g in rows.items()},
        n_guesses=len(targets),
    )


def _tally(
    compared: Compared, keys: Sequence[int], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the persons of both sides, and whose values are guessed.

    The second array has the shape (kinds of knowledge, variables, 4): persons in the data, persons
    held out, and the latter from synthetic and from training records, as many at most. From
    training records the best guess counts: the nearest record, or the commonest value of those
    that are near, or of all.
    """
    most = max(round(DIFFERING[-1] * len(compared.names)), 1)
    blocks = blocks_of(compared.synthetic, most + 1)
    sampled = affordable(compared.records, compared.synthetic, blocks, compared.owners, rng, _PAIRS)
    records, owners = compared.records[sampled], compared.owners[sampled]
    # of records that are as near the first one is taken, so their order must tell nothing
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
    if len(synthetic) > len(fresh):  # a larger file guesses better, whoever made it
        few = synthetic[: len(fresh)]
        made = [*_from_others(held, few, blocks, most)]
        made += [_from_keys(held, few, keys)] if keys else []

    def persons(right: BoolArray, owners: IntArray) -> IntArray:
        """Count those of both sides of whom a record is guessed, shape (2, variables)."""
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
    """Return which values are the commonest ones of their variables in the synthetic records."""
    modes = []
    for values in synthetic.T:
        distinct, n = np.unique(values, return_counts=True)
        modes.append(distinct[n.argmax()])
    return np.asarray(records == np.array(modes))


def _commonest_of(cells: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Return every cell in order, and the commonest of its values."""
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
        at = np.minimum(np.searchsorted(cells, of_records), len(cells) - 1)
        guessed = cells[at] == of_records
        right[guessed, target] = commonest[at][guessed] == records[guessed, target]
    return right


def _from_others(
    records: IntArray,
    synthetic: IntArray,
    blocks: Sequence[list[int]],
    most: int,
    with_commonest: bool = False,
) -> list[BoolArray]:
    """Return which values are those of the record that agrees in most of the other variables.

    ``with_commonest``: and which are the commonest ones of all records that agree in nearly all
    others.
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
            # the first of those that differ least in the others; whether it agrees here must not
            # decide about who is looked at
            others = differ - differs[:, target]
            best = np.minimum.reduceat(
                others * len(of_records) + np.arange(len(of_records)), starts
            )
            guessed = best < most * len(of_records)
            nearest[of_records[starts[guessed]], target] = ~differs[
                best[guessed] % len(of_records), target
            ]
            if commonest is not None:
                few = others < most
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
        words="values of persons in the data that are guessed right, beside persons held out",
        needs=("names",),
        stacks=True,
        compute=_guessed,
        result=Guesses,
        figures=(GUESSES,),
    ),
)
