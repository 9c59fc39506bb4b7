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
the training records: these are a fresh sample as far as the holdout is concerned. The gain is what
is guessed from the synthetic records beyond that, person by person.

Sources: Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability for
synthetic data, Privacy in Statistical Databases (guesses from keys); Pilgram et al. (2025), A
consensus privacy metrics framework for synthetic data, Patterns 6 (beside a holdout); Newcombe
(1998), Statistics in Medicine 17 (the interval).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, IntArray
from synthesizer.measures.figure import Figure, Measured, Row, column
from synthesizer.measures.risk.halves import HalfRun
from synthesizer.measures.risk.near_verbatim import (
    DIFFERING,
    Compared,
    Joined,
    affordable,
    blocks_of,
    difference,
    keys_of,
    quantile_of,
)


class Guess(Row):
    """Targets with the largest excess"""

    target: str = column("Target", "text")
    known: str = column("Known", "text", "the keys, or all other variables")
    inside: int = column("In the data", "count", "persons whose value is guessed right")
    outside: int = column("Held out", "count", "the same of the holdout")
    excess: float = column("Excess", "share", "share in the data less the share of the holdout")
    low: float = column("From", "share", "lower end; those of all targets hold together")


class Gain(Row):
    """Targets of persons held out with the largest gain over a fresh sample"""

    target: str = column("Target", "text")
    known: str = column("Known", "text", "the keys, or all other variables")
    synthetic: int = column("Guessed", "count", "persons held out, from the synthetic records")
    fresh: int = column("From a fresh sample", "count", "the same from the training records")
    gain: float = column("Gain", "share", "of the persons held out")
    low: float = column("From", "share", "lower end; those of all targets hold together")


class Guesses(Measured):
    """Of how many more persons in the data than of the holdout values are guessed right."""

    n: int = column("persons in the data", "count", "that were compared")
    n_outside: int = column("persons held out", "count")
    datasets: int = column("datasets", "count", "that were looked at together")
    keys: tuple[str, ...]
    """What is known where it is the keys."""
    guesses: tuple[Guess, ...]
    """Those with the highest lower ends."""
    gains: tuple[Gain, ...]
    """Those with the highest lower ends."""
    n_guesses: int = column("targets", "count", "by what is known")

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The excess of the target that shows most."""
        worst = self.guesses[0]
        return (
            Figure(
                key="guesses",
                name="guessed attributes",
                value=worst.excess,
                low=worst.low,
                n=self.n,
                direction="lower is safer",
                meaning=f"share of the persons in the data whose {worst.target} is guessed right "
                f"from {worst.known}, above the same share of persons held out, of the target "
                "where it is most certain; 0 is a new sample",
            ),
        )


_SHOWN = 10
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
        None where fewer than three variables can be compared, or fewer than 10 persons of a side.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Table, Variable
    >>> from synthesizer.measures.risk.halves import control_run
    >>> rng = np.random.default_rng(1)
    >>> def people(n):
    ...     kinds = [Variable(name=name, kind=Kind.NUMERIC) for name in "abcdef"]
    ...     return Table([Column(kind, rng.normal(size=n)) for kind in kinds])
    >>> inside, outside = people(200), people(200)
    >>> found = guesses(control_run(inside, outside, (inside,)), "abcdef", "a")
    >>> found.guesses[0].inside, found.n_guesses
    (200, 11)
    """
    compared = Compared.of(run, names)
    if compared is None:
        return None
    names, records, synthetic = compared.names, compared.records, compared.synthetic
    most = max(round(DIFFERING[-1] * len(names)), 1)
    blocks = blocks_of(synthetic, most + 1)
    rng = seeded(seed).generator("guesses")
    kept = affordable(records, synthetic, blocks, compared.owners, rng)
    records, owners = records[kept], compared.owners[kept]
    # of records that are as near the first one is taken, so their order must tell nothing
    synthetic = rng.permutation(synthetic)
    fresh = rng.permutation(compared.records[: run.fitted.n_rows])
    held = kept >= run.fitted.n_rows
    right = [(OTHERS, _from_others(records, synthetic, blocks, most))]
    modes, near = _commonest(records[held], fresh), blocks_of(fresh, most + 1)
    one_of = [_from_others(records[held], fresh, near, most, of_all=each) for each in (False, True)]
    known = [[*one_of, modes]]
    places = [names.index(key) for key in keys if key in names]
    if places:
        right.append((KEYS, _from_keys(records, synthetic, places)))
        known.append([_from_keys(records[held], fresh, places), modes])
    counted = np.bincount(owners, minlength=sum(compared.sizes)) > 0
    n, n_outside = (int(side.sum()) for side in np.split(counted, [compared.sizes[0]]))
    found = list(_excesses(compared, owners, (n, n_outside), right, places))
    made = [of[held] for _, of in right]
    if len(synthetic) > len(fresh):  # a larger file guesses better, whoever made it
        few = synthetic[: len(fresh)]
        made = [_from_others(records[held], few, blocks, most)]
        made += [_from_keys(records[held], few, places)] if places else []
    gains = _gains(compared, owners[held], made, known, places)
    return Guesses(
        n=n,
        n_outside=n_outside,
        datasets=compared.datasets,
        keys=tuple(names[place] for place in places),
        guesses=tuple(sorted(found, key=lambda guess: -guess.low)[:_SHOWN]),
        gains=tuple(sorted(gains, key=lambda gain: -gain.low)[:_SHOWN]),
        n_guesses=len(found),
    )


def _commonest(records: IntArray, synthetic: IntArray) -> BoolArray:
    """Return which values are the commonest ones of their variables in the synthetic records."""
    modes = []
    for values in synthetic.T:
        distinct, n = np.unique(values, return_counts=True)
        modes.append(distinct[n.argmax()])
    return np.asarray(records == np.array(modes))


def _commonest_of(cells: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Return every cell in order, and the commonest of its values."""
    pairs, n = np.unique(np.column_stack([cells, values]), axis=0, return_counts=True)
    order = np.lexsort((pairs[:, 1], -n, pairs[:, 0]))
    every, first = np.unique(pairs[order, 0], return_index=True)
    return every, pairs[order][first, 1]


def _from_keys(records: IntArray, synthetic: IntArray, keys: Sequence[int]) -> BoolArray:
    """Return which values are the commonest ones of the synthetic records with the same keys."""
    ours, theirs = keys_of(records, synthetic, list(keys))
    right = _commonest(records, synthetic)
    for place in range(records.shape[1]):
        if place in keys:
            continue
        values = synthetic[:, place]
        cells, commonest = _commonest_of(theirs, values)
        at = np.minimum(np.searchsorted(cells, ours), len(cells) - 1)
        found = cells[at] == ours
        right[found, place] = commonest[at][found] == records[found, place]
    return right


def _from_others(
    records: IntArray,
    synthetic: IntArray,
    blocks: Sequence[list[int]],
    most: int,
    *,
    of_all: bool = False,
) -> BoolArray:
    """Return which values are those of the record that agrees in most of the other variables.

    ``of_all``: or the commonest ones of all records that agree in nearly all others.
    """
    right = _commonest(records, synthetic)
    joined = Joined.of(synthetic, records, blocks)
    for theirs, ours in joined.parts():
        differs = records[ours] != synthetic[theirs]
        differ = differs.sum(axis=1)
        near = differ <= most
        ours, theirs, differs, differ = ours[near], theirs[near], differs[near], differ[near]
        order = np.lexsort((theirs, ours))
        ours, theirs, differs, differ = ours[order], theirs[order], differs[order], differ[order]
        starts = np.flatnonzero(np.r_[True, np.diff(ours) != 0][: len(ours)])
        for place in range(records.shape[1] if len(ours) else 0):
            # the first of those that differ least in the others; whether it agrees here must not
            # decide about who is looked at
            others = differ - differs[:, place]
            if of_all:
                few = others < most
                who, values = _commonest_of(ours[few], synthetic[theirs[few], place])
                right[who, place] = values == records[who, place]
                continue
            best = np.minimum.reduceat(others * len(ours) + np.arange(len(ours)), starts)
            found = best < most * len(ours)
            right[ours[starts[found]], place] = ~differs[best[found] % len(ours), place]
    return right


def _excesses(
    compared: Compared,
    owners: IntArray,
    sizes: tuple[int, int],
    right: Sequence[tuple[str, BoolArray]],
    keys: Sequence[int],
) -> Iterator[Guess]:
    """Yield the excess of each target; a person is guessed if one of her records is."""
    n_inside, total = compared.sizes[0], sum(compared.sizes)
    targets = [
        (known, of, place)
        for known, of in right
        for place in range(len(compared.names))
        if known != KEYS or place not in keys
    ]
    z = quantile_of(len(targets))
    for known, of, place in targets:
        guessed = np.bincount(owners[of[:, place]], minlength=total) > 0
        inside, outside = (int(side.sum()) for side in np.split(guessed, [n_inside]))
        excess, low, _ = difference(inside, sizes[0], outside, sizes[1], z)
        yield Guess(
            target=compared.names[place], known=known, inside=inside, outside=outside,
            excess=excess, low=low,
        )  # fmt: skip


def _gains(
    compared: Compared,
    owners: IntArray,
    made: Sequence[BoolArray],
    fresh: Sequence[Sequence[BoolArray]],
    keys: Sequence[int],
) -> Iterator[Gain]:
    """Yield what is guessed of persons held out beyond a fresh sample, for each target.

    Of a fresh sample the best guess counts: the nearest record, or the commonest value of those
    that are near, or of all.
    """
    persons = np.unique(owners, return_inverse=True)[1]
    n = int(persons.max()) + 1
    z = quantile_of(len(made) * len(compared.names))
    for known, ours, theirs in zip((OTHERS, KEYS), made, fresh, strict=False):
        for place, target in enumerate(compared.names):
            if known == KEYS and place in keys:
                continue
            one, *others = (
                np.bincount(persons[of[:, place]], minlength=n) > 0 for of in (ours, *theirs)
            )
            other = max(others, key=np.sum)
            difference = one.astype(float) - other
            gain = float(difference.mean())
            error = max(float(difference.std(ddof=1)) / n**0.5, 1 / n)
            yield Gain(
                target=target, known=known, synthetic=int(one.sum()), fresh=int(other.sum()),
                gain=gain, low=gain - z * error,
            )  # fmt: skip
