"""Near copies of persons: do synthetic records point to training persons more often than to others?

The attack: an intruder takes a synthetic record for the person who agrees with it in most
variables. By chance, this happens to persons outside the data, too. So training persons and holdout
persons are put together. A synthetic record points to the person with whom it agrees in most
variables, if this is a single person and few variables differ. Without disclosure records point to
both sides equally often. The excess is the share of training persons to whom a record points,
minus that of holdout persons.

Labels agree if equal, numbers within one hundredth of their standard deviation. Three comparisons
allow no, a tenth and a fifth of the variables to differ. Their lower ends are simultaneous
(Bonferroni), since one comparison suffices to fail; their upper ends need no correction, since all
must be within the limit to pass (an intersection-union test). Only a single nearest person counts:
this has more power than counting all persons with a near record, of whom common cells have many.

*The nearest person.* A further comparison counts records less than half as far from one person
as from the next, however many variables differ, since noise on all numbers, or another scale,
leaves no equal values. Distances are Gower's, with ranks of numbers, and levels weighted by
their diversity. Identical persons of one side count as one. A last comparison uses nine tenths of
the distance to the next person. It has less power against a few copies, and more against many with
a quarter of their variables changed; it can raise an alarm, but is not needed to pass.

*Groups.* The excess is also computed among the persons of each level, of each value of a number
with few values, and of the outer hundredth of each number: thirty copies among three thousand
persons are a small excess, but may be all of a group. The intervals of groups are simultaneous.

*Repeats.* One person may be copied many times. The number of records that point to a person has an
approximately geometric tail, whose rate is estimated from the holdout and gives a limit.

*Several datasets* of one synthesis are pooled: a person counts if a record of any dataset points
to them, on both sides.

*The detection limit* is the excess that would be found (an interval above 0) in 95 of 100 releases.
It follows from the counts of the holdout.

Sources: Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods
for microdata, in Confidentiality, Disclosure and Data Access (distance-based record linkage);
Pilgram et al. (2025), A consensus privacy metrics framework for synthetic data, Patterns 6
(membership beside a holdout); Newcombe (1998), Interval estimation for the difference between
independent proportions, Statistics in Medicine 17 (method 10); Berger (1982), Multiparameter
hypothesis testing and acceptance sampling, Technometrics 24 (intersection-union tests); Gower
(1971), A general coefficient of similarity, Biometrics 27; Lowe (2004), International Journal of
Computer Vision 60 (the ratio of distances to the nearest and the next).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, hypot, sqrt
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.codes import Codes, ranges
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, column
from synthesizer.measures.halves import HalfRun
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import (
    Interval,
    numbered_rows,
    split,
    stacked_columns,
    wilson,
)
from synthesizer.measures.risk.nearest import nearest_rows

DIFFERING = (0.0, 0.1, 0.2)
"""Shares of the variables that may differ, one for each comparison."""
FEW_DIFFERING = 3
"""Variables that may differ in the last of these, for files of 9 variables or more."""
MIN_VARIABLES = 2
MIN_PERSONS = 10
"""Smallest number of training persons of a group, and of persons of either side."""
TAIL_SHARE, FEW_VALUES = 0.01, 100
"""Share of persons in each tail of a number, which is a group; and largest number of values of a
number whose values are groups."""
STEP = 0.01
"""Standard deviations of a number within which two values agree."""
POWER = 0.95
"""Power at the detection limit."""
REPEATS_P_VALUE = 0.001
"""Largest p-value of the records that point to one person at which there is an alarm."""
FEW_REPEATS = 5
"""Records that point to one person, up to which there is no alarm."""
MAX_RATIO, MAX_LOOSE_RATIO = 0.5, 0.9
"""Largest ratio of the distances to the nearest and the next person at which a record points to
the nearest; and that of the loose comparison."""
_MAX_DISTANCES = 150_000_000
"""Largest number of pairs whose distances are computed."""
_MAX_PAIRS = 30_000_000
"""Largest number of pairs that are compared; larger files are sampled by persons."""
_MIN_SAMPLE = 1_000
"""Smallest number of persons of both sides in such a sample."""
_PAIRS_PER_BLOCK = 500_000
_NO_RECORD = np.iinfo(np.int32).max


class Look(Row):
    """Persons to whom a synthetic record points, by the number of variables that may differ"""

    differing: int = column("Variables that differ", "count", "at most")
    inside: int = column("Training", "count", "training persons to whom a record points")
    outside: int = column("Holdout", "count", "holdout persons to whom a record points")
    excess: float = column("Excess", "share", "share of training minus share of holdout persons")
    low: float = column("From", "share", "lower end, simultaneous for all rows")
    high: float = column("To", "share", "upper end of the 95 % interval of the row")
    noticed: float = column(
        "Detection limit", "share", "excess that the test would notice in 95 of 100 releases"
    )


class GroupLook(Row):
    """Groups with the largest excess"""

    variable: str = column("Variable", "text")
    group: str = column("Group", "text")
    n: int = column("Training persons", "count", "of the group")
    inside: int = column("Training", "count", "training persons to whom a record points")
    n_outside: int = column("Holdout persons", "count")
    outside: int = column("Holdout", "count", "holdout persons to whom a record points")
    excess: float = column("Excess", "share", "of the group")
    low: float = column("From", "share", "lower end, simultaneous for all groups")


NEAR_VERBATIM = FigureKind(
    "near_verbatim",
    "near copies",
    "share of training persons to whom a synthetic {record} points (nearly all values equal) minus "
    "that of holdout persons; 0 in a new sample; the verdict uses the worst of four comparisons",
    ideal=0.0,
    limit=Limit(low=-1),
    is_axis=True,
)
MEMBERSHIP = FigureKind(
    "membership",
    "membership, relative F1",
    "an intruder claims 'this {record} was used' if a synthetic {record} points to it; F1 score of "
    "this intruder, compared with one who claims it of all {records} (0: no better, 1: always "
    "right)",
    limit=Limit(low=-2),
)


class NearVerbatim(Measured):
    """Training and holdout persons to whom a synthetic record points."""

    n: int = column("training persons", "count", "that were compared")
    n_outside: int = column("holdout persons", "count")
    variables: int = column("variables", "count", "that are compared")
    datasets: int = column("datasets", "count", "that were pooled")
    splits: int = column("splits", "count", "random splits; numbers of persons are their means")
    looks: tuple[Look, ...]
    loose: Look
    """Nearest person, hardly nearer than the next; it can raise an alarm only."""
    groups: tuple[GroupLook, ...]
    """Groups with the highest lower ends."""
    n_groups: int = column("groups", "count", "that were compared")
    repeats: int = column("most records of a training person", "count")
    repeats_outside: int = column("most records of a holdout person", "count")
    repeats_by_chance: int = column("by chance, at most", "count", "with probability .999")

    @property
    def worst(self) -> Look:
        """The comparison with the highest lower end."""
        return max(self.looks, key=lambda look: look.low)

    @property
    def widest(self) -> Look:
        """The comparison with the highest upper end."""
        return max(self.looks, key=lambda look: look.high)

    def _membership(self, look: Look) -> Interval:
        """Return the F1 score relative to 2/3, that of calling all members, with an interval."""
        outside = look.outside / self.n_outside
        value, low, high = (
            6 * (outside + excess) / (2 * outside + excess + 1) - 2
            for excess in (look.excess, max(look.low, -outside), look.high)
        )
        return value, low, high

    def telling(self, limit: float) -> Look:
        """Return the comparison that decides: the worst if above the limit, else the widest."""
        return self.widest if self.worst.low <= limit < self.widest.high else self.worst

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The excess if a tenth of the variables may differ, and its membership inference."""
        look = self.looks[1]
        value, low, high = max((self._membership(look) for look in self.looks), key=itemgetter(2))
        return (
            MEMBERSHIP.of(value, self.n, low=low, high=high),
            NEAR_VERBATIM.of(
                look.excess,
                self.n,
                f"at most {look.differing} of {self.variables} variables differ",
                low=look.low,
                high=look.high,
                chance=0.0,
            ),
        )


def near_verbatim(run: HalfRun, names: Sequence[str], *, seed: AnySeed = 0) -> NearVerbatim | None:
    """Return the numbers of training and holdout persons to whom a synthetic record points.

    Parameters
    ----------
    run : HalfRun
        Training records, holdout records, and the datasets made from the training records; those
        with all variables of the first are pooled.
    names : sequence of str
        Variables that are compared.
    seed : int or Seed
        Seed of the sample of persons in large files.

    Returns
    -------
    NearVerbatim or None
        None with fewer than two comparable variables, or fewer than 10 persons on a side.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Table, Variable
    >>> rng = np.random.default_rng(1)
    >>> def people(n):
    ...     kinds = [Variable(name=name, kind=Kind.NUMERIC) for name in "abcd"]
    ...     return Table([Column(kind, rng.normal(size=n)) for kind in kinds])
    >>> inside, outside = people(200), people(200)
    >>> from synthesizer.measures.halves import control_run
    >>> copy = near_verbatim(control_run(inside, outside, (inside,)), "abcd")
    >>> fresh = near_verbatim(control_run(inside, outside, (people(200),)), "abcd")
    >>> copy.worst.inside, fresh.worst.inside, copy.repeats
    (200, 0, 1)
    """
    rng = seeded(seed).generator("near verbatim")
    both = Compared.of_both(run, names)
    if not both:
        return None
    compared = both[0][1]
    allowed = [round(share * len(compared.names)) for share in DIFFERING]
    allowed[-1] = max(allowed[-1], min(FEW_DIFFERING, len(compared.names) // 3))
    allowed += [len(compared.names), len(compared.names) + 1]  # the nearest: distinctly, hardly
    tallies: dict[tuple[str, str], IntArray] = {}
    repeats = []
    for each, one in both:
        people = _People.of(one, allowed, rng)
        for group, *rows in _memberships(each, one.names):
            tally = np.array([people.tally(side, which) for side, which in enumerate(rows)])
            tallies[group] = tallies.get(group, 0) + tally
        repeats.append(people.repeats(REPEATS_P_VALUE / len(both)))
    whole, times = tallies.pop(_ALL_PERSONS), times_seen(both)
    group_looks = [
        # a group without a holdout person is compared with all holdout persons
        (*group, tally if tally[1, 0] else np.array([tally[0], whole[1]]))
        for group, tally in tallies.items()
        if tally[0, 0] >= MIN_PERSONS * times
    ]
    z = quantile_of(
        (len(allowed) - 1) * max(len(group_looks), 1)
    )  # the loose look is of all persons
    groups = sorted((_group_look(*one, z, times) for one in group_looks), key=lambda g: -g.low)
    most, most_outside, by_chance = max(repeats, key=lambda one: one[0] - one[2])
    *looks, loose = _looks(whole, allowed, times)
    return NearVerbatim(
        n=round(whole[0, 0] / times),
        n_outside=round(whole[1, 0] / times),
        variables=len(compared.names),
        datasets=compared.datasets,
        splits=ceil(times),
        looks=tuple(looks),
        loose=loose,
        groups=tuple(groups[:_MAX_ROWS]),
        n_groups=len(groups),
        repeats=most,
        repeats_outside=most_outside,
        repeats_by_chance=by_chance,
    )


def times_seen(runs: Sequence[object]) -> float:
    """Return how often each person is a training person, in runs of both halves of splits."""
    return max(len(runs) / 2, 1)


def _looks(tally: IntArray, allowed: Sequence[int], times: float) -> Iterator[Look]:
    """Yield the excess for each number of differing variables; persons count ``times`` times."""
    z = quantile_of(len(allowed))
    (n, *insides), (m, *outsides) = tally.tolist()
    for differing, inside, outside in zip(allowed, insides, outsides, strict=True):
        excess, low, _ = difference(inside, n, outside, m, z)
        high = difference(inside, n, outside, m, quantile_of(1))[2]
        yield Look(
            differing=differing, inside=round(inside / times), outside=round(outside / times),
            excess=excess, low=low, high=high, noticed=_noticed(outside / m, n, m, z),
        )  # fmt: skip


def _group_look(variable: str, group: str, tally: IntArray, z: float, times: float) -> GroupLook:
    """Return the comparison of a group with the highest lower end."""
    (n, *insides, _), (m, *outsides, _) = tally.tolist()
    low, inside, outside, excess = max(
        (difference(inside, n, outside, m, z)[1], inside, outside, inside / n - outside / m)
        for inside, outside in zip(insides, outsides, strict=True)
    )
    n, inside, m, outside = (round(count / times) for count in (n, inside, m, outside))
    return GroupLook(
        variable=variable, group=group, n=n, inside=inside, n_outside=m, outside=outside,
        excess=excess, low=low,
    )  # fmt: skip


_MAX_ROWS = 10
_ALL_PERSONS = ("", "")


@dataclass(frozen=True, eq=False)
class Compared:
    """Training, holdout and synthetic records as codes that are equal if values agree."""

    names: list[str]
    records: IntArray
    """Training records, then holdout records, shape (records, variables)."""
    n_records: int
    """Number of training records."""
    owners: IntArray
    """Person of each record, from 0, training persons first."""
    sizes: tuple[int, int]
    """Numbers of training and of holdout persons."""
    synthetic: IntArray
    """Records of all datasets, one after the other."""
    is_number: list[bool]
    datasets: int

    @classmethod
    def of(cls, run: HalfRun, names: Sequence[str]) -> Compared | None:
        """Return the comparable records and variables; None if there are too few."""
        sides = (run.fitted, run.unseen)
        shared = [n for n in names if all(n in table for table in (*sides, run.synthetic[0]))]
        made = [table for table in run.synthetic if table.keys() >= {*shared}]
        persons = [
            np.unique(units, return_inverse=True)[1]
            for units in (run.fitted_units, run.unseen_units)
        ]
        sizes = tuple(int(one.max(initial=-1)) + 1 for one in persons)
        if (
            len(shared) < MIN_VARIABLES
            or min(sizes) < MIN_PERSONS
            or not any(t.n_rows for t in made)
        ):
            return None
        values = [_codes([table[name] for table in (*sides, *made)]) for name in shared]
        every = np.array(values, order="C").T  # one variable after the other in memory
        records, synthetic = np.split(every, [sum(side.n_rows for side in sides)])
        owners = np.concatenate([persons[0], sizes[0] + persons[1]])
        is_number = [not run.fitted[name].is_coded for name in shared]
        return cls(
            shared, records, run.fitted.n_rows, owners, (sizes[0], sizes[1]), synthetic, is_number,
            len(made),
        )  # fmt: skip

    @classmethod
    def of_both(cls, run: HalfRun, names: Sequence[str]) -> list[tuple[HalfRun, Compared]]:
        """Return the comparable records of a run and of its others; none if there are too few."""
        runs = (run, *run.others)
        every = [(each, one) for each in runs if (one := cls.of(each, names)) is not None]
        return [pair for pair in every if pair[1].names == every[0][1].names]


def _codes(columns: Sequence[Column]) -> Codes:
    """Return codes of columns of one variable, equal if values agree."""
    stacked = stacked_columns(columns)
    if stacked.is_coded:
        return stacked.data.astype(np.int64)
    observed = stacked.is_observed
    numbers = stacked.data.astype(np.float64)
    known = numbers[: len(columns[0])][observed[: len(columns[0])]]
    # extreme values, such as missing codes, must not widen the step
    inner = np.clip(known, *np.quantile(known, [0.01, 0.99])) if len(known) else known
    step = STEP * float(inner.std() or known.std()) if len(known) else 0.0
    steps = np.floor(numbers[observed] / step) if step > 0 else numbers[observed]
    codes = -stacked.missing_state().astype(np.int64)
    codes[observed] = np.unique(steps, return_inverse=True)[1] + 1
    return codes


def blocks_of(records: IntArray, n: int) -> list[list[int]]:
    """Return n blocks of variables with similar information: records that differ in fewer than n
    variables agree in all variables of at least one block.
    """
    alike = [float((np.unique(v, return_counts=True)[1] ** 2).sum()) for v in records.T]
    information = -np.log(np.array(alike) / len(records) ** 2)
    blocks: list[list[int]] = [[] for _ in range(n)]
    loads = np.zeros(n)
    for position in np.argsort(-information, kind="stable"):
        block = int(loads.argmin())
        blocks[block].append(int(position))
        loads[block] += information[position]
    return blocks


def keys_of(records: IntArray, others: IntArray, block: list[int]) -> tuple[IntArray, IntArray]:
    """Return codes of the values of a block, comparable between both sets of records."""
    keys = numbered_rows(np.concatenate([records[:, block], others[:, block]]))
    return keys[: len(records)], keys[len(records) :]


def affordable(
    records: IntArray,
    synthetic: IntArray,
    blocks: Sequence[list[int]],
    owners: IntArray,
    rng: np.random.Generator,
    most: int,
) -> IntArray:
    """Return the rows of all persons, or of a random sample with about ``most`` pairs."""
    pairs = 0
    for block in blocks:
        in_records, in_others = keys_of(records, synthetic, block)
        pairs += int(np.bincount(in_others, minlength=in_records.max() + 1)[in_records].sum())
    share = min(most / max(pairs, 1), _MAX_DISTANCES / (len(records) * len(synthetic)))
    if share >= 1:
        return np.arange(len(records))
    n = int(owners.max()) + 1
    drawn = rng.random(n) < max(share, _MIN_SAMPLE / n)
    return np.flatnonzero(drawn[owners])


@dataclass(frozen=True, eq=False)
class Joined:
    """Pairs of records that agree in at least one block, in parts of the second set."""

    sides: Sequence[tuple[IntArray, IntArray, IntArray]]
    """For each block the order of the first set; for each record of the second set the start and
    the number of equal ones in it."""
    columns: Sequence[tuple[IntArray, IntArray]]
    """Values of both sets, one variable after the other."""

    @classmethod
    def of(cls, records: IntArray, others: IntArray, blocks: Sequence[list[int]]) -> Joined:
        """Return the pairs of two sets of records."""
        sides = []
        for block in blocks:
            one, other = keys_of(records, others, block)
            order = np.argsort(one, kind="stable")
            first, last = (np.searchsorted(one[order], other, end) for end in ("left", "right"))
            sides.append((order, first, last - first))
        columns = [np.ascontiguousarray(values.T) for values in (records, others)]
        return cls(sides, list(zip(*columns, strict=True)))

    def parts(self) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Yield positions in both sets, and the number of variables that differ.

        A pair occurs once for each block in which it agrees.
        """
        per_record = np.sum([n for *_, n in self.sides], axis=0)
        parts = np.cumsum(per_record) // _PAIRS_PER_BLOCK
        for rows in np.split(np.arange(len(parts)), np.flatnonzero(np.diff(parts)) + 1):
            pairs = []
            for order, first, n_all in self.sides:
                n = n_all[rows]
                pairs.append((order[ranges(first[rows], n)], np.repeat(rows, n)))
            in_records, in_others = (np.concatenate(part) for part in zip(*pairs, strict=True))
            differ: IntArray = np.zeros(len(in_records), np.int64)
            for one, other in self.columns:
                differ += one[in_records] != other[in_others]
            yield in_records, in_others, differ


def _pointed(
    records: IntArray, owners: IntArray, synthetic: IntArray, blocks: Sequence[list[int]], most: int
) -> tuple[IntArray, IntArray]:
    """Return the person of each synthetic record (-1: none), and how many variables differ."""
    whom, differing = np.full(len(synthetic), -1), np.full(len(synthetic), _NO_RECORD)
    for in_records, in_others, differ in Joined.of(records, synthetic, blocks).parts():
        close = differ <= most
        # the nearest record of a person counts
        order = np.lexsort((differ[close], owners[in_records[close]], in_others[close]))
        row, person, differ = (v[close][order] for v in (in_others, owners[in_records], differ))
        once = np.r_[True, (np.diff(row) != 0) | (np.diff(person) != 0)][: len(row)]
        row, person, differ = row[once], person[once], differ[once]
        order = np.lexsort((differ, row))
        row, person, differ = row[order], person[order], differ[order]
        leads = np.r_[True, np.diff(row) != 0][: len(row)]
        tied = np.r_[(np.diff(row) == 0) & (np.diff(differ) == 0), False][: len(row)]
        alone = leads & ~tied
        whom[row[alone]], differing[row[alone]] = person[alone], differ[alone]
    return whom, differing


def _nearest(
    records: IntArray, synthetic: IntArray, is_number: Sequence[bool]
) -> tuple[IntArray, FloatArray]:
    """Return the position of the nearest record of each synthetic one, and the ratio of its
    distance to that of the next.

    Distances are differences of ranks for numbers, and for unequal labels the probability that two
    records differ in the variable.
    """
    rows, others = synthetic.astype(np.float64), records.astype(np.float64)
    weights = np.ones(len(is_number))
    for k, number in enumerate(is_number):
        ranked = np.sort(records[:, k])
        if number:
            for side in (rows, others):
                ends = [np.searchsorted(ranked, side[:, k], end) for end in ("left", "right")]
                side[:, k] = sum(ends) / 2 / len(ranked)
        else:
            shares = np.unique(ranked, return_counts=True)[1] / len(ranked)
            weights[k] = 1 - (shares**2).sum()
    nearest, first, second = nearest_rows(rows, others, weights)
    ratio = np.ones(len(synthetic))
    np.divide(first, second, out=ratio, where=second > 0)
    return nearest, ratio


@dataclass(frozen=True, eq=False)
class _People:
    """Persons of both sides, training persons first, and the records that point to them.

    Identical persons of one side are one, to whom a record can point.
    """

    weights: IntArray
    """Number of identical persons; 0 if they were not compared."""
    whom: IntArray
    """Person to whom each synthetic record points, -1 for none."""
    fewest_differing: IntArray
    """For each person the fewest differing variables of a record that points to them."""
    owners: tuple[IntArray, IntArray]
    """Persons of the records of each side."""
    n_inside: int
    allowed: Sequence[int]

    @classmethod
    def of(cls, compared: Compared, allowed: Sequence[int], rng: np.random.Generator) -> _People:
        """Return the persons to whom records point, if at most ``allowed`` variables differ."""
        records, synthetic, owners = compared.records, compared.synthetic, compared.owners
        n_inside, total = compared.sizes[0], sum(compared.sizes)
        each = np.ones(total, np.int64)
        if len(owners) == total:
            alike = np.column_stack([owners >= n_inside, records])
            owners, each = np.unique(alike, axis=0, return_inverse=True, return_counts=True)[1:]
            owners, total = owners.ravel(), len(each)
            n_inside = int(owners[: compared.n_records].max()) + 1
        *_, fifth, distinct, hardly = allowed
        blocks = blocks_of(synthetic, fifth + 1)
        sampled = affordable(records, synthetic, blocks, owners, rng, _MAX_PAIRS)
        counted = np.bincount(owners[sampled], minlength=total) > 0
        whom, differing = _pointed(records[sampled], owners[sampled], synthetic, blocks, fifth)
        others = np.flatnonzero(whom < 0)
        position, ratio = _nearest(records[sampled], synthetic[others], compared.is_number)
        whom[others] = np.where(ratio < MAX_LOOSE_RATIO, owners[sampled][position], -1)
        differing[others] = np.select(
            [ratio < MAX_RATIO, ratio < MAX_LOOSE_RATIO], [distinct, hardly], _NO_RECORD
        )
        fewest_differing = np.full(total, _NO_RECORD)
        np.minimum.at(fewest_differing, whom[whom >= 0], differing[whom >= 0])
        sides = (owners[: compared.n_records], owners[compared.n_records :])
        whom[differing == hardly] = -1
        return cls(each * counted, whom, fewest_differing, sides, n_inside, allowed)

    def tally(self, side: int, records: BoolArray) -> list[int]:
        """Return the number of persons of some records of a side, and of those to whom a synthetic
        record points, for each comparison.
        """
        members = np.unique(self.owners[side][records])
        fewest = self.fewest_differing[members]
        return [int(self.weights[members].sum()), *(int((fewest <= k).sum()) for k in self.allowed)]

    def repeats(self, level: float) -> tuple[int, int, int]:
        """Return the largest number of records per person on each side, and the limit by chance."""
        counts = np.bincount(self.whom[self.whom >= 0], minlength=len(self.fewest_differing))
        counts = np.ceil(counts / np.maximum(self.weights, 1)).astype(int)  # per identical person
        inside, outside = np.split(counts, [self.n_inside])
        some = outside[outside > 0]
        rate = 1 - 1 / float(some.mean()) if len(some) else 0.0
        expected = max(int((inside > 0).sum()), 1)
        by_chance = 1 + (ceil(np.log(level / expected) / np.log(rate)) if rate > 0 else 1)
        most = int(outside.max(initial=0))
        least = 2 * most + FEW_REPEATS
        # by chance a record points to a holdout person with probability 1/2
        if (inside > max(most, FEW_REPEATS)).sum() >= -np.log2(level):
            by_chance, least = 0, max(most, FEW_REPEATS)
        return int(inside.max(initial=0)), int(outside.max(initial=0)), max(by_chance, least)


def _memberships(
    run: HalfRun, names: Sequence[str]
) -> Iterator[tuple[tuple[str, str], npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield variable, group and its records of each side; the first group is all records."""
    yield _ALL_PERSONS, np.ones(run.fitted.n_rows, bool), np.ones(run.unseen.n_rows, bool)
    for name in names:
        sides = [run.fitted[name], run.unseen[name]]
        stacked = stacked_columns(sides)
        if stacked.is_coded:
            codes = split(stacked.data, sides)
            for code, label in enumerate(stacked.variable.labels):
                yield ((name, label), *(side == code for side in codes))
            continue
        numbers = [np.where(c.is_observed, c.data, np.nan) for c in sides]
        known = np.sort(numbers[0][~np.isnan(numbers[0])])
        values, counts = np.unique(known, return_counts=True)
        for value in values[counts >= MIN_PERSONS] if len(values) <= FEW_VALUES else ():
            yield ((name, f"{value:g}"), *(side == value for side in numbers))
        k = max(int(TAIL_SHARE * len(known)), MIN_PERSONS)
        if len(known) > 2 * k:
            yield ((name, "highest"), *(side >= known[-k] for side in numbers))
            yield ((name, "lowest"), *(side <= known[k - 1] for side in numbers))


def quantile_of(tests: int) -> float:
    """Return the normal quantile of simultaneous two-sided 95 % intervals (Bonferroni)."""
    return float(-scipy.special.ndtri(0.025 / tests))


def difference(inside: int, n: int, outside: int, m: int, z: float) -> Interval:
    """Return the difference of two shares, with Newcombe's interval."""
    level = 1 - 2 * float(scipy.special.ndtr(-z))
    one, other = inside / n, outside / m
    (low, high), (low_other, high_other) = wilson(one, n, level), wilson(other, m, level)
    excess = one - other
    return (
        excess,
        excess - hypot(one - low, high_other - other),
        excess + hypot(high - one, other - low_other),
    )


def _noticed(share: float, n: int, m: int, z: float) -> float:
    """Return the excess over a holdout share whose interval is above 0 with probability 0.95."""
    excess = 1 / n
    for _ in range(50):  # fixed point: the variance depends on the excess
        share_inside = min(share + excess, 1.0)
        spread = sqrt(share_inside * (1 - share_inside) / n + share * (1 - share) / m)
        floor = z * z / (2 * (m + z * z))  # Wilson's upper end of a share of 0
        excess = (z + float(scipy.special.ndtri(POWER))) * spread + (floor if share == 0 else 0.0)
    return min(excess, 1.0)


MEASURES = (
    Measure(
        "near_verbatim",
        "halves",
        after="trajectories of halves",
        words="training persons to whom synthetic records point, compared with holdout persons",
        needs=("names",),
        stacks=True,
        compute=lambda case: near_verbatim(case.halves, case.drawn, seed=case.seed),
        result=NearVerbatim,
        figures=(NEAR_VERBATIM, MEMBERSHIP),
    ),
)
