"""Utility with a holdout: is a synthetic dataset as accurate as a new sample of the population?

An overfitted dataset is near the training records, but not near the population. So the synthetic
records are compared with holdout records. The training records are compared with them, too, as a
new sample of the same population.

*Pairs.* The size of a random sample of the holdout that is as accurate for two-way tables
(`equivalent_sample`); and associations (Cramer's V of the tables behind S_pMSE): the sum of the
smaller V of both files divided by that of the holdout.

*Impossible records.* Records that break a relation of `find_relations`, which all training and
holdout records satisfy, or that are in an empty cell of two variables where 20 records are expected
if the variables are independent. The number for a new sample follows from the cells with one record
(Good 1953, The population frequencies of species, Biometrika 40).

*Tails.* Mean, standard deviation and upper tail of each number, minus those of the holdout, in
standard errors of three samples, since correct models have the error of the training records, too.
The tail is the share of records beyond a quantile of the holdout that 25 records exceed, between 99
and 99.9 %. The limit of 1 is simultaneous for all figures (Bonferroni). More than 10,000 records
count as 10,000: smaller differences do not matter.

*Conditional spread.* For numbers that another number nearly determines. The training records give
means in up to 50 groups of the other number, joined by straight lines. The figure is the ratio of
the median distances from these lines in the synthetic data and in the holdout, at least 1.

Sources: Raab, Nowok and Dibben (2021), Assessing, visualizing and improving the utility of
synthetic data, arXiv 2109.12717; those above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations

import numpy as np
import scipy

from synthesizer.data.randomness import AnySeed
from synthesizer.data.relations import find_relations
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.measures.figure import Direction, Figure, FigureKind, Measured, Row, column
from synthesizer.measures.halves import HalfRun
from synthesizer.measures.measure import Measure
from synthesizer.measures.utility.broken_relations import breaking
from synthesizer.measures.utility.distributions import pair_groups
from synthesizer.measures.utility.equivalent_sample import MOST_LEVELS, SampleScale
from synthesizer.measures.utility.tables import ASSOCIATIONS, table_utility

_SENTENCES: Mapping[str, str] = {
    "unseen_pairs": "Two-way tables are as precise as a random {value}% of the holdout {records}",
    "associations": "{value}% of the associations between variables in the holdout are preserved",
    "impossible_records": "{value}% of the {records} are impossible ({what})",
    "tails": "The {what} differs from the holdout's by {value} times the margin of error",
    "conditional_spread": "The spread of {what} than in the holdout by a factor of {value}",
}
"""Sentence of each comparison, with its {value} and its subject {what}."""


def _kind(
    key: str, title: str, meaning: str, direction: Direction = "lower is better"
) -> FigureKind:
    name = f"{title}, beside the holdout"
    return FigureKind(key, name, meaning, direction, title=title, on_screen=True)


_KINDS = (
    _kind(
        "unseen_pairs",
        "accuracy of two-way tables",
        "two-way tables are as precise as a random sample of the holdout {records} of this share",
        "higher is better",
    ),
    _kind(
        "associations",
        "associations preserved",
        "share of the associations (Cramer's V) between variables of the holdout that the "
        "synthetic data have",
        "higher is better",
    ),
    _kind(
        "impossible_records",
        "impossible records",
        "share of the synthetic {records} that break a relation which holds in all training and "
        "holdout {records}",
    ),
    _kind(
        "tails",
        "means and tails of numbers",
        "difference of a mean, standard deviation or upper tail from the holdout, in multiples of "
        "chance",
    ),
    _kind(
        "conditional_spread",
        "conditional spread",
        "factor by which the spread of a number given another variable differs from the holdout",
    ),
)
LOOKS: Mapping[str, FigureKind] = {kind.key: kind for kind in _KINDS}
"""Kind of figure of each comparison."""
MIN_RECORDS = 50
"""Smallest number of records of each side, and of values of each number."""
MAX_VARIABLES = 60
"""Largest number of variables, taken at equal distances."""
MIN_ASSOCIATION = 0.1
"""Smallest Cramer's V of associated variables: a small effect (Cohen 1988)."""
MIN_EXPECTED = 20
"""Smallest number of records expected under independence in an empty cell that counts."""
TAIL_SHARES = 0.001, 0.01, 25
"""Smallest and largest share of records in the upper tail, and the number of records aimed at."""
WINSORIZED = 5
"""Smallest number of values at each end that are set to the next one."""
MAX_RECORDS = 10_000
"""Largest number of records that count in standard errors."""
MAX_DISTANCE = 0.25
"""Largest mean distance in standard deviations: that of a correlation of .95."""
MAX_GROUPS, GROUP_RECORDS = 50, 20
"""Largest number of groups of the other number, and smallest number of records of each."""
MIN_SPREAD = 1e-3
"""Standard deviations that are added to each spread to avoid division by 0."""
_MAX_ROWS = 5


class UnseenLook(Row):
    """Comparisons with the holdout, the worst of each kind first"""

    key: str = column("Kind", "text", show=lambda key: LOOKS[key].title)
    what: str = column("What", "text")
    value: float = column("Synthetic", "number")
    fresh: float = column("New sample", "number", "of the size of the training records")

    @property
    def sentence(self) -> str:
        """Its sentence, with {value}."""
        return _SENTENCES[self.key].replace("{what}", self.what)


class Unseen(Measured):
    """Utility of a synthetic dataset, compared with holdout records."""

    n: int = column("holdout records", "count")
    n_synthetic: int = column("synthetic records", "count")
    s_pmse: float = column("mean S_pMSE of pairs", "number", "synthetic and holdout records")
    s_pmse_training: float = column(
        "mean S_pMSE of pairs, training records", "number", "training and holdout records"
    )
    looks: tuple[UnseenLook, ...]

    @property
    def worst(self) -> tuple[UnseenLook, ...]:
        """The first comparison of each kind."""
        return tuple({look.key: look for look in reversed(self.looks)}.values())[::-1]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The worst comparison of each kind."""
        return tuple(
            LOOKS[look.key].of(look.value, self.n + self.n_synthetic, look.what, chance=look.fresh)
            for look in self.worst
        )


def unseen(
    run: HalfRun, names: Sequence[str], *, groups: int = 5, seed: AnySeed = 0
) -> Unseen | None:
    """Return the comparison of a synthetic dataset and of the training records with the holdout.

    Parameters
    ----------
    run : HalfRun
        Training records, holdout records, and the first dataset made from the training records.
    names : sequence of str
        Variables that are compared.
    groups : int
        Quantile groups of numbers in tables, at least 2.
    seed : int or Seed
        Seed of the samples of the holdout.

    Returns
    -------
    Unseen or None
        None with fewer than two comparable variables, or fewer than 50 records on a side.

    Raises
    ------
    DataError
        If the tables cannot be compared.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> from synthesizer.measures.halves import control_run
    >>> rng = np.random.default_rng(1)
    >>> def people(n):
    ...     age = rng.normal(size=n)
    ...     return Table([Column(Variable(name=name, kind=Kind.NUMERIC), age) for name in "ab"])
    >>> found = unseen(control_run(people(200), people(200), (people(200),)), "ab")
    >>> [(look.key, look.value) for look in found.worst if look.key != "tails"][1:]
    [('associations', 1.0), ('impossible_records', 0.0), ('conditional_spread', 1.0)]
    """
    sides = (run.synthetic[0], run.fitted, run.unseen)
    shared = [name for name in names if all(name in side for side in sides)]
    few = np.linspace(0, len(shared) - 1, min(len(shared), MAX_VARIABLES)).astype(int)
    if len(shared) < 2 or min(side.n_rows for side in sides) < MIN_RECORDS:
        return None
    tables = [Table([side[shared[position]] for position in few]) for side in sides]
    numbers = [
        {c.name: np.where(c.is_observed, c.data, np.nan) for c in table.columns if not c.is_coded}
        for table in tables
    ]
    looks, s_pmse = _pairs(tables, groups, seed)
    looks += _impossible(tables, groups)
    for of_numbers in (_tails(numbers), _spreads(numbers)):
        looks += sorted(of_numbers, key=lambda look: -look.value)[:_MAX_ROWS]
    return Unseen(
        n=tables[2].n_rows, n_synthetic=tables[0].n_rows, s_pmse=s_pmse[0],
        s_pmse_training=s_pmse[1], looks=tuple(looks),
    )  # fmt: skip


def kept_share(pairs: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the sum of the smaller associations of both files divided by that of the first file.

    Associations below 0.1 in the first file are left out; None without others.

    Examples
    --------
    >>> kept_share([(0.5, 0.4), (0.5, 0.9), (0.05, 0.0)])
    0.9
    """
    some = [(holdout, made or 0.0) for holdout, made in pairs if holdout >= MIN_ASSOCIATION]
    return sum(map(min, some)) / sum(holdout for holdout, _ in some) if some else None


def _pairs(
    tables: Sequence[Table], groups: int, seed: AnySeed
) -> tuple[list[UnseenLook], list[float]]:
    """Return the comparisons of pairs, and the mean S_pMSE of synthetic and training records."""
    *sides, holdout = tables
    scale = SampleScale(holdout, holdout.names, groups=groups, seed=seed)
    measured = table_utility(holdout, sides, ways=(2,), groups=groups, quantiles_of="original")
    shares, s_pmse = [], []
    by_dataset = measured.by_dataset.groupby("dataset")
    for side, (_, rows) in zip(sides, by_dataset, strict=True):
        scale.add(side)
        shares.append(kept_share(rows[[*ASSOCIATIONS]].fillna(0.0).itertuples(index=False)))
        s_pmse.append(float(rows["S_pMSE"].mean()))
    result = scale.result()
    samples = [] if result is None else [row.sample for row in result.datasets]
    # the expected share depends on the size of the new sample
    made, training = (1 / (2 + holdout.n_rows / side.n_rows) for side in sides)
    looks = [UnseenLook(key="unseen_pairs", what="all pairs", value=samples[0],
                  fresh=samples[1] * made / training)]  # fmt: skip
    if shares[0] is not None and shares[1] is not None:
        looks.append(
            UnseenLook(key="associations", what="all pairs", value=shares[0], fresh=shares[1])
        )
    return looks, s_pmse


def _impossible(tables: Sequence[Table], groups: int) -> Iterator[UnseenLook]:
    """Yield the share of impossible records, then those of single relations and cells."""
    made, training, holdout = tables
    rows = {
        f"broken: {relation.sentence}": breaking(relation, training, made)
        for relation in find_relations(training)
        if not breaking(relation, training, holdout).any()
    }
    cells = {c.name: pair_groups(c, groups, MOST_LEVELS) for c in training.columns}
    codes = {n: [cells[n].codes(t[n]).astype(int) for t in tables] for n in cells}
    alone: BoolArray = np.zeros(training.n_rows + holdout.n_rows, bool)
    for one, other in combinations(cells, 2):
        size = cells[other].size
        of_holdout, *known = (a * size + b for a, b in zip(codes[one], codes[other], strict=True))
        theirs = np.concatenate(known)
        counts = np.bincount(theirs, minlength=cells[one].size * size).reshape(-1, size)
        margins = np.outer(counts.sum(axis=1), counts.sum(axis=0))
        is_common = (margins >= MIN_EXPECTED * len(alone)).ravel()
        alone |= (is_common & (counts.ravel() == 1))[theirs]
        empty = (is_common & (counts.ravel() == 0))[of_holdout]
        if empty.any():
            first, second = divmod(int(np.bincount(of_holdout[empty]).argmax()), size)
            labels = cells[one].labels[first], cells[other].labels[second]
            rows[f"combined: {one} {labels[0]} and {other} {labels[1]}"] = empty
    broken = sorted(((float(r.mean()), what) for what, r in rows.items() if r.any()), reverse=True)
    every = np.any([np.zeros(made.n_rows, bool), *rows.values()], axis=0)
    worst = f"most often {broken[0][1]}" if broken else "all relations and pairs"
    for share, what in [(float(every.mean()), worst), *broken[:_MAX_ROWS]]:
        yield UnseenLook(
            key="impossible_records", what=what, value=share, fresh=float(alone.mean())
        )


Numbers = Sequence[Mapping[str, FloatArray]]


def _tails(numbers: Numbers) -> Iterator[UnseenLook]:
    """Yield three figures of each number, in units of the limit for all of them."""
    limit = -scipy.special.ndtri(0.025 / max(3 * len(numbers[0]), 1))
    for name in numbers[0]:
        sides = [side[name][~np.isnan(side[name])] for side in numbers]
        if min(map(len, sides)) < MIN_RECORDS:
            continue
        # more extreme numbers belong to few persons, and no release should contain them
        ends = np.sort(sides[2])[
            [k := max(WINSORIZED, int(TAIL_SHARES[0] * len(sides[2]))), -k - 1]
        ]
        sides = [np.clip(side, *ends) for side in sides]
        every = np.concatenate(sides)
        if every.std() == 0:
            continue
        share = max(TAIL_SHARES[0], min(TAIL_SHARES[1], TAIL_SHARES[2] / len(sides[2])))
        top = np.quantile(sides[2], 1 - share)
        made, training, of_holdout = (
            np.array([side.mean(), side.std(), (side > top).mean()]) for side in sides
        )
        variance, fourth = every.var(), ((every - every.mean()) ** 4).mean()
        n = np.minimum([min(len(sides[0]), len(sides[1])), *map(len, sides[1:])], MAX_RECORDS)
        errors = []
        for side in (made, training):
            beyond = (side[2] + of_holdout[2]) / 2
            squares = [variance, (fourth / variance - variance) / 4, beyond * (1 - beyond)]
            error = np.sqrt(np.maximum(squares, 1e-12 * variance) * (1 / n).sum())
            errors.append(np.abs(side - of_holdout) / error / limit)
        for position, figure in enumerate(("mean", "standard deviation", "upper tail")):
            yield UnseenLook(
                key="tails", what=f"{figure} of {name}", value=errors[0][position],
                fresh=errors[1][position],
            )  # fmt: skip


def _spreads(numbers: Numbers) -> Iterator[UnseenLook]:
    """Yield the conditional spread of each number that another one nearly determines."""
    for given, name in permutations(numbers[0], 2):
        sides = [(side[given], side[name]) for side in numbers]
        sides = [(x[there], y[there]) for x, y in sides for there in (~np.isnan(x + y),)]
        if min(len(x) for x, _ in sides) < MIN_RECORDS:
            continue
        # means of the number in groups of the other, joined by straight lines
        x, y = (values[np.argsort(sides[1][0], kind="stable")] for values in sides[1])
        parts = min(MAX_GROUPS, len(x) // GROUP_RECORDS)
        starts = np.linspace(0, len(x), parts, endpoint=False).astype(int)
        n = np.diff(starts, append=len(x))
        at, means = (np.add.reduceat(values, starts) / n for values in (x, y))
        apart = [np.abs(y - np.interp(x, at, means)) for x, y in sides]
        unit = y.std()
        if unit > 0 and apart[1].mean() <= MAX_DISTANCE * unit:
            made, training, of_holdout = (float(np.median(x)) + MIN_SPREAD * unit for x in apart)
            value, fresh = (max(one / of_holdout, of_holdout / one) for one in (made, training))
            what = f"{name} given {given} is {'wider' if made > of_holdout else 'narrower'}"
            yield UnseenLook(key="conditional_spread", what=what, value=value, fresh=fresh)


MEASURES = (
    Measure(
        "unseen",
        "halves",
        axis="utility",
        after="equivalent_sample",
        words="pairs, impossible records, tails and spread compared with holdout records",
        needs=("names",),
        compute=lambda case: unseen(
            case.halves, case.drawn, groups=case.settings.table_groups, seed=case.seed
        ),
        result=Unseen,
        figures=tuple(LOOKS.values()),
    ),
)
