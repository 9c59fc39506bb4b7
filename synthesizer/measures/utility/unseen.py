"""Use beside the holdout: is a synthetic dataset as good as a new sample of the population?

A dataset that repeats the accidents of the training records is near to these, and no nearer to
anybody else. So the synthetic records are compared with holdout records, which the synthesis never
saw. The training records are compared with them, too: they are a new sample beside the holdout.

*Pairs.* The share of the holdout that, drawn at random, tells as much of all pairs of variables
(`equivalent_sample`); and associations (Cramer's V of the tables behind S_pMSE): the sum of the
lesser V of both files over that of the holdout.

*Impossible records.* They do what no training and no holdout record does, and not by accident: they
break a relation that `find_relations` finds, or are in a cell of two variables that is empty though
20 records are expected there if the variables are independent. How many impossible records a new
sample has follows from the cells with one record (Good 1953, The population frequencies of species,
Biometrika 40).

*Tails.* Mean, standard deviation and upper tail of each number, less those of the holdout, in
standard errors of three samples: a right synthesis has the error of the training records, too. The
tail is the share of records beyond the quantile of the holdout that 25 records exceed, between 99
and 99.9 %. The limit of 1 holds for all figures together (Bonferroni). More than 10,000 records
count as 10,000: what only these show is too small to matter.

*Conditional spread.* Numbers that another number nearly determines. The training records give their
mean in up to 50 groups of the other number, and straight lines between. The median distance of the
synthetic values from these lines is divided by that of the holdout, or that by it.

Sources: Raab, Nowok and Dibben (2021), Assessing, visualizing and improving the utility of
synthetic data, arXiv 2109.12717; those above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import scipy

from synthesizer.data.codes import column_values
from synthesizer.data.expressions import Expression
from synthesizer.data.randomness import AnySeed
from synthesizer.data.relations import Relation, find_relations, has_code, rows_off
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.measures.figure import Direction, Figure, FigureKind, Measured, Row, column
from synthesizer.measures.halves import HalfRun
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import stacked_columns
from synthesizer.measures.utility.distributions import pair_groups
from synthesizer.measures.utility.equivalent_sample import MOST_LEVELS, SampleScale
from synthesizer.measures.utility.tables import ASSOCIATIONS, table_utility

_SENTENCES: Mapping[str, str] = {
    "unseen_pairs": "Pairs of variables are as accurate as in a random {value}% of the holdout",
    "associations": "{value}% of the associations between variables in the holdout are kept",
    "impossible_records": "{value}% of the {records} are impossible ({what})",
    "tails": "The {what} differs from the holdout by {value} times what chance explains",
    "conditional_spread": "The spread of {what} than in the holdout by a factor of {value}",
}
"""What the value of each look is, with places for it and for what was compared."""


def _kind(
    key: str, title: str, meaning: str, direction: Direction = "lower is better"
) -> FigureKind:
    name = f"{title}, beside the holdout"
    return FigureKind(key, name, meaning, direction, title=title, on_screen=True)


_KINDS = (
    _kind(
        "unseen_pairs",
        "accuracy of pairs",
        "share of the holdout that, drawn at random, is as accurate for pairs of variables",
        "higher is better",
    ),
    _kind(
        "associations",
        "associations kept",
        "share of the associations between variables in the holdout that are kept",
        "higher is better",
    ),
    _kind(
        "impossible_records",
        "impossible records",
        "share of the {records} that do what no training and no holdout {record} does",
    ),
    _kind(
        "tails",
        "means and tails of numbers",
        "difference from the holdout, in multiples of what chance explains",
    ),
    _kind(
        "conditional_spread",
        "conditional spread",
        "factor by which the spread given another variable differs from that in the holdout",
    ),
)
LOOKS: Mapping[str, FigureKind] = {kind.key: kind for kind in _KINDS}
"""The figure of each look."""
FEWEST = 50
"""Records of each side, and values of each number, that are compared at least."""
MOST_VARIABLES = 60
"""Variables that are compared; of more, so many at equal distances in their order."""
ASSOCIATED = 0.1
"""Cramer's V from which on two variables go together: a small effect (Cohen 1988)."""
EXPECTED = 20
"""Records that a cell of independent variables would have, from which on an empty one counts."""
TOP = 0.001, 0.01, 25
"""Share of records in the upper tail, at least and at most, and the records that it aims at."""
OUTER = 5
"""Values at either end, at least, that count as the next ones do."""
MOST_RECORDS = 10_000
"""Records from which on standard errors fall no more."""
DETERMINED = 0.25
"""Mean distance over the standard deviation, at most: of a correlation of .95."""
MOST_GROUPS, IN_GROUP = 50, 20
"""Groups of the other number, at most, and records of each, at least."""
EXACT = 1e-3
"""Standard deviations that are added to each spread: none at all is no divisor."""
_SHOWN = 5


class UnseenLook(Row):
    """What was compared with the holdout, the worst first of each kind"""

    key: str = column("Kind", "text", show=lambda key: LOOKS[key].title)
    what: str = column("What", "text")
    value: float = column("Synthetic", "number")
    fresh: float = column("New sample", "number", "of the size of the training records")

    @property
    def sentence(self) -> str:
        """What was compared, with a place for the {value}."""
        return _SENTENCES[self.key].replace("{what}", self.what)


class Unseen(Measured):
    """How good a synthetic dataset is beside records that the synthesis never saw."""

    n: int = column("holdout records", "count")
    n_synthetic: int = column("synthetic records", "count")
    s_pmse: float = column("mean S_pMSE of pairs", "number", "beside the holdout")
    s_pmse_training: float = column("of the training records", "number", "the same")
    looks: tuple[UnseenLook, ...]

    @property
    def worst(self) -> tuple[UnseenLook, ...]:
        """The first look of each kind."""
        return tuple({look.key: look for look in reversed(self.looks)}.values())[::-1]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The worst of each kind."""
        return tuple(
            LOOKS[look.key].of(look.value, self.n + self.n_synthetic, look.what, chance=look.fresh)
            for look in self.worst
        )


def unseen(
    run: HalfRun, names: Sequence[str], *, groups: int = 5, seed: AnySeed = 0
) -> Unseen | None:
    """Compare a synthetic dataset with holdout records, beside the training records.

    Parameters
    ----------
    run : HalfRun
        Training records, the holdout, and the first dataset that was made of the training records.
    names : sequence of str
        Variables that are compared.
    groups : int
        Quantile groups of numbers in tables, at least 2.
    seed : int or Seed
        Draws the samples of the holdout.

    Returns
    -------
    Unseen or None
        None where fewer than two variables can be compared, or fewer than 50 records of a side.

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
    few = np.linspace(0, len(shared) - 1, min(len(shared), MOST_VARIABLES)).astype(int)
    if len(shared) < 2 or min(side.n_rows for side in sides) < FEWEST:
        return None
    tables = [Table([side[shared[place]] for place in few]) for side in sides]
    numbers = [
        {c.name: np.where(c.is_observed, c.data, np.nan) for c in table.columns if not c.is_coded}
        for table in tables
    ]
    looks, s_pmse = _pairs(tables, groups, seed)
    looks += _impossible(tables, groups)
    for found in (_tails(numbers), _spreads(numbers)):
        looks += sorted(found, key=lambda look: -look.value)[:_SHOWN]
    return Unseen(
        n=tables[2].n_rows, n_synthetic=tables[0].n_rows, s_pmse=s_pmse[0],
        s_pmse_training=s_pmse[1], looks=tuple(looks),
    )  # fmt: skip


def kept_share(pairs: Iterable[tuple[float, float | None]]) -> float | None:
    """Return how much is left of associations: the lesser of both files over the first one's.

    Associations below 0.1 in the first file are left out; None where there are no others.

    Examples
    --------
    >>> kept_share([(0.5, 0.4), (0.5, 0.9), (0.05, 0.0)])
    0.9
    """
    some = [(ours, theirs or 0.0) for ours, theirs in pairs if ours >= ASSOCIATED]
    return sum(map(min, some)) / sum(ours for ours, _ in some) if some else None


def _pairs(
    tables: Sequence[Table], groups: int, seed: AnySeed
) -> tuple[list[UnseenLook], list[float]]:
    """Return the looks at pairs, and the mean S_pMSE of synthetic and of training records."""
    *sides, holdout = tables
    scale = SampleScale(holdout, holdout.names, groups=groups, seed=seed)
    measured = table_utility(holdout, sides, ways=(2,), groups=groups, quantiles_of="original")
    kept, s_pmse = [], []
    by_dataset = measured.by_dataset.groupby("dataset")
    for side, (_, rows) in zip(sides, by_dataset, strict=True):
        scale.add(side)
        kept.append(kept_share(rows[[*ASSOCIATIONS]].fillna(0.0).itertuples(index=False)))
        s_pmse.append(float(rows["S_pMSE"].mean()))
    result = scale.result()
    samples = [] if result is None else [row.sample for row in result.datasets]
    # a new sample of another size than the training records' is as good as another share
    made, training = (1 / (2 + holdout.n_rows / side.n_rows) for side in sides)
    looks = [UnseenLook(key="unseen_pairs", what="all pairs", value=samples[0],
                  fresh=samples[1] * made / training)]  # fmt: skip
    if kept[0] is not None and kept[1] is not None:
        looks.append(UnseenLook(key="associations", what="all pairs", value=kept[0], fresh=kept[1]))
    return looks, s_pmse


def _impossible(tables: Sequence[Table], groups: int) -> Iterator[UnseenLook]:
    """Yield the share of impossible records, then those of single relations and cells."""
    made, training, holdout = tables
    rows = {
        f"broken: {relation.sentence}": _breaking(relation, training, made)
        for relation in find_relations(training)
        if not _breaking(relation, training, holdout).any()
    }
    cells = {c.name: pair_groups(c, groups, MOST_LEVELS) for c in training.columns}
    codes = {n: [cells[n].codes(t[n]).astype(int) for t in tables] for n in cells}
    alone: BoolArray = np.zeros(training.n_rows + holdout.n_rows, bool)
    for one, other in combinations(cells, 2):
        size = cells[other].size
        ours, *known = (a * size + b for a, b in zip(codes[one], codes[other], strict=True))
        theirs = np.concatenate(known)
        counts = np.bincount(theirs, minlength=cells[one].size * size).reshape(-1, size)
        margins = np.outer(counts.sum(axis=1), counts.sum(axis=0))
        is_common = (margins >= EXPECTED * len(alone)).ravel()
        alone |= (is_common & (counts.ravel() == 1))[theirs]
        empty = (is_common & (counts.ravel() == 0))[ours]
        if empty.any():
            first, second = divmod(int(np.bincount(ours[empty]).argmax()), size)
            labels = cells[one].labels[first], cells[other].labels[second]
            rows[f"combined: {one} {labels[0]} and {other} {labels[1]}"] = empty
    broken = sorted(((float(r.mean()), what) for what, r in rows.items() if r.any()), reverse=True)
    every = np.any([np.zeros(made.n_rows, bool), *rows.values()], axis=0)
    worst = f"most often {broken[0][1]}" if broken else "all relations and pairs"
    found = [(float(every.mean()), worst), *broken[:_SHOWN]]
    for share, what in found:
        yield UnseenLook(
            key="impossible_records", what=what, value=share, fresh=float(alone.mean())
        )


def _breaking(relation: Relation, training: Table, table: Table) -> BoolArray:
    """Return the records of a table that break a relation of the training records."""
    column = table[relation.name]
    if relation.key == "forbid":
        return Expression.parse(relation.text).condition(table)
    if relation.key == "derived":
        variable = replace(column.variable, missing=column.variable.missing or ("",))
        derived = Expression.parse(relation.text).derive(table, variable)
        is_near = np.isclose(column_values(derived), column_values(column), rtol=1e-6)
        return derived.is_observed & column.is_observed & ~is_near
    both = [
        stacked_columns([t[name] for t in (training, table)])
        for name in (relation.text, relation.name)
    ]
    return rows_off(*both)[training.n_rows :] & has_code(table[relation.text], "")


Numbers = Sequence[Mapping[str, FloatArray]]


def _tails(numbers: Numbers) -> Iterator[UnseenLook]:
    """Yield three figures of each number, in units of the limit for all of them."""
    limit = -scipy.special.ndtri(0.025 / max(3 * len(numbers[0]), 1))
    for name in numbers[0]:
        sides = [side[name][~np.isnan(side[name])] for side in numbers]
        if min(map(len, sides)) < FEWEST:
            continue
        # beyond them are numbers of few persons, which no release should show
        ends = np.sort(sides[2])[[k := max(OUTER, int(TOP[0] * len(sides[2]))), -k - 1]]
        sides = [np.clip(side, *ends) for side in sides]
        every = np.concatenate(sides)
        if every.std() == 0:
            continue
        share = max(TOP[0], min(TOP[1], TOP[2] / len(sides[2])))
        top = np.quantile(sides[2], 1 - share)
        made, training, ours = (
            np.array([side.mean(), side.std(), (side > top).mean()]) for side in sides
        )
        variance, fourth = every.var(), ((every - every.mean()) ** 4).mean()
        n = np.minimum([min(len(sides[0]), len(sides[1])), *map(len, sides[1:])], MOST_RECORDS)
        errors = []
        for side in (made, training):
            beyond = (side[2] + ours[2]) / 2
            squares = [variance, (fourth / variance - variance) / 4, beyond * (1 - beyond)]
            error = np.sqrt(np.maximum(squares, 1e-12 * variance) * (1 / n).sum())
            errors.append(np.abs(side - ours) / error / limit)
        for place, figure in enumerate(("mean", "standard deviation", "upper tail")):
            yield UnseenLook(
                key="tails", what=f"{figure} of {name}", value=errors[0][place],
                fresh=errors[1][place],
            )  # fmt: skip


def _spreads(numbers: Numbers) -> Iterator[UnseenLook]:
    """Yield the conditional spread of each number that another one nearly determines."""
    for given, name in permutations(numbers[0], 2):
        sides = [(side[given], side[name]) for side in numbers]
        sides = [(x[there], y[there]) for x, y in sides for there in (~np.isnan(x + y),)]
        if min(len(x) for x, _ in sides) < FEWEST:
            continue
        # the mean of the number in groups of the other, and straight lines between
        x, y = (values[np.argsort(sides[1][0], kind="stable")] for values in sides[1])
        parts = min(MOST_GROUPS, len(x) // IN_GROUP)
        starts = np.linspace(0, len(x), parts, endpoint=False).astype(int)
        n = np.diff(starts, append=len(x))
        at, means = (np.add.reduceat(values, starts) / n for values in (x, y))
        apart = [np.abs(y - np.interp(x, at, means)) for x, y in sides]
        unit = y.std()
        if unit > 0 and apart[1].mean() <= DETERMINED * unit:
            made, training, ours = (float(np.median(one)) + EXACT * unit for one in apart)
            value, fresh = (max(one / ours, ours / one) for one in (made, training))
            what = f"{name} given {given} is {'wider' if made > ours else 'narrower'}"
            yield UnseenLook(key="conditional_spread", what=what, value=value, fresh=fresh)


MEASURES = (
    Measure(
        "unseen",
        "halves",
        axis="utility",
        after="equivalent_sample",
        words="pairs, impossible records, tails and spread beside records held out",
        needs=("names",),
        compute=lambda case: unseen(
            case.halves, case.drawn, groups=case.settings.table_groups, seed=case.seed
        ),
        result=Unseen,
        figures=tuple(LOOKS.values()),
    ),
)
