"""Members of a household beside each other: is a child as old as its parents allow, and who lives
with whom?

Every pair of members is one row of a table: the head with each spouse, child or other member, and
successive members of one kind, such as siblings. The tables of a variable with itself, and of two
variables, are compared as in `utility.tables`. A household with many children has many pairs, so
the expected S_pMSE is not 1. It is estimated by bootstraps of the original's households (Efron
1979; Davison and Hinkley 1997, section 3.8, resampling of clusters). A new sample of the population
has about twice the distance of a bootstrap, since both samples vary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table
from synthesizer.extensions.households.member_view import TAKEN, MemberView, members_of
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, column, shown
from synthesizer.measures.measure import Measure
from synthesizer.measures.utility.cells import Codes
from synthesizer.measures.utility.distributions import pair_groups
from synthesizer.measures.utility.tables import CELL_MEASURES, cell_measures

MIN_PAIRS = 30
"""Fewest pairs of a kind for a comparison."""
MAX_KINDS = 6
"""Most frequent kinds of members; the others form one group."""
MAX_CROSSED_TABLES = 10
"""Reported tables of two variables, the worst ones."""
MAX_VARIABLES = 20
"""Crossed variables, the first ones."""
MAX_LEVELS = 12
MAX_PATTERNS = 12
MIN_PATTERN_HOUSEHOLDS = 5
"""Fewest households with a separate pattern of members."""
MAX_SIZE = 7
BOOTSTRAPS = 20
OTHERS = "others"


class MemberRow(Row):
    """Values of two members of a household; means over the datasets."""

    members: str = column("Members", "text")
    variables: str = column("Variables", "text", "of the first member, and of the second")
    pairs: int = column("Pairs", "count", "of such members in the original")
    s_pmse: float | None = column("S_pMSE", "number", "of the table; None for a single cell")
    bootstrap: float | None = column("Bootstrap", "number", "S_pMSE of bootstrapped households")
    distance: float = column("TV", "share", "total-variation distance of the two tables")
    distance_bootstrap: float = column("TV, bootstrap", "share")

    @property
    @shown("Ratio", "number", "S_pMSE over that of a bootstrap; a new sample has about 2")
    def ratio(self) -> float | None:
        """S_pMSE over that of a bootstrap."""
        if self.s_pmse is None or not self.bootstrap:
            return None
        return self.s_pmse / self.bootstrap


class CompositionRow(Row):
    """A share of the households; mean over the datasets."""

    households: str = column("Households", "text")
    original: float = column("Original", "share")
    synthetic: float = column("Synthetic", "share")


_GOOD = "a bootstrap has 1, a new sample of the population about 2"
HOUSEHOLD_PAIRS = FigureKind(
    "household_pairs",
    "pairs in households: ratio to a bootstrap",
    "mean distance of synthetic from original tables of what two members of a household have, over "
    f"that of bootstraps of the original's households; {_GOOD}",
    "lower is better",
    limit=Limit(high=None),
)
HOUSEHOLD_PAIRS_WORST = FigureKind(
    "household_pairs_worst",
    "worst pair in households: ratio to a bootstrap",
    f"the same of the table where it is largest; {_GOOD}",
    "lower is better",
    limit=Limit(high=None),
)
HOUSEHOLD_COMPOSITION = FigureKind(
    "household_composition",
    "composition of households",
    "share of the households that would have to have another size, or other members, for both "
    "files to be alike; the chance is what bootstraps of the original's households give",
    "lower is better",
    on_screen=True,
)


class HouseholdPairs(Measured):
    """Joint values of household members, and the composition of households."""

    n: int
    """Persons of all files."""
    relation: str
    """Variable of the relation to the head; empty if there is none."""
    same: tuple[MemberRow, ...]
    """Each variable with itself."""
    crossed: tuple[MemberRow, ...]
    """The worst tables of two variables."""
    sizes: tuple[CompositionRow, ...]
    patterns: tuple[CompositionRow, ...]
    """Shares of households by the kinds of members besides the head."""
    composition: tuple[float, float]
    """Total-variation distance of sizes and patterns together, and that of a bootstrap."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Mean and largest ratio of the tables of one variable, and the composition."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[Figure]:
        rows = [(row.ratio, row) for row in self.same if row.ratio is not None]
        if rows:
            largest, worst = max(rows, key=lambda pair: pair[0])
            mean = float(np.mean([ratio for ratio, _ in rows]))
            here = f"here {worst.variables} of {worst.members}"
            marks: dict[str, Any] = {"chance": 1.0, "original": 0.0}
            yield HOUSEHOLD_PAIRS.of(mean, self.n, f"{len(rows)} tables", **marks)
            yield HOUSEHOLD_PAIRS_WORST.of(largest, self.n, here, **marks)
        distance, usual = self.composition
        yield HOUSEHOLD_COMPOSITION.of(distance, self.n, chance=usual, original=0.0)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Rows of two members each, by relation."""

    first: IntArray
    second: IntArray
    household: IntArray


@dataclass(frozen=True, eq=False)
class _Households:
    """One file: groups of every variable, pairs, and composition of households."""

    codes: dict[str, Codes]
    pairs: dict[str, _Pairs]
    sizes: IntArray
    patterns: IntArray
    """Bits of the kinds of members besides the head, shape (n_households,)."""


class HouseholdPairCounter:
    """Compares households of one dataset after the other.

    Parameters
    ----------
    original : MemberView
        Persons of the confidential households.
    names : sequence of str
        Variables to compare, without those that all members share.
    groups : int
        Quantile groups of numeric variables, at least 2.
    seed : int or Seed
        Draws the bootstraps.
    """

    def __init__(
        self, original: MemberView, names: Sequence[str], *, groups: int = 5, seed: AnySeed = 0
    ) -> None:
        self._rng = seeded(seed).generator("household pairs")
        self._relation = original.relation
        self._names = [
            name
            for name in names
            if name not in {*original.shared, self._relation} and not name.startswith(TAKEN)
        ]
        self._groups = {
            name: pair_groups(original[name], groups, MAX_LEVELS) for name in self._names
        }
        self._kinds = _kinds(original)
        self._ours = self._of(original)
        self._pairs = [
            who for who, pairs in self._ours.pairs.items() if len(pairs.first) >= MIN_PAIRS
        ]
        crossed = self._names[:MAX_VARIABLES]
        self._tables = [(who, name, name) for who in self._pairs for name in self._names]
        self._tables += [
            (who, a, b) for who in self._pairs for a, b in product(crossed, crossed) if a != b
        ]
        self._counts = [self._table(self._ours, *table) for table in self._tables]
        self._values: list[list[tuple[float, float]]] = []
        self._made: list[_Households] = []
        self._n = original.n_rows

    def add(self, synthetic: Table) -> None:
        """Compare the next dataset."""
        theirs = self._of(members_of(synthetic))
        self._n += synthetic.n_rows
        self._values.append(
            [
                _distances(original, self._table(theirs, *table))
                for table, original in zip(self._tables, self._counts, strict=True)
            ]
        )
        self._made.append(_Households({}, {}, theirs.sizes, theirs.patterns))

    def result(self) -> HouseholdPairs:
        """Return the comparison of the datasets so far."""
        means = np.array(self._values).reshape(len(self._values), -1, 2).mean(axis=0)
        n_same = len(self._pairs) * len(self._names)
        order = np.argsort(-np.nan_to_num(means[n_same:, 0], nan=-1.0), kind="stable")
        chosen = [*range(n_same), *(n_same + order[:MAX_CROSSED_TABLES]).tolist()]
        n_households = len(self._ours.sizes)
        weights = self._rng.multinomial(
            n_households, np.full(n_households, 1 / n_households), size=BOOTSTRAPS
        )
        rows = [self._row(number, means[number], weights) for number in chosen]
        labels, cells = self._composition()
        original = _counted(cells[0], len(labels))
        made = [_counted(one, len(labels)) for one in cells[1:]]
        drawn = [_counted(cells[0], len(labels), w) for w in weights]
        apart, usual = (
            float(np.mean([_distances(original, o)[1] for o in others])) for others in (made, drawn)
        )
        return HouseholdPairs(
            n=self._n,
            relation=self._relation,
            same=tuple(rows[:n_same]),
            crossed=tuple(rows[n_same:]),
            sizes=_shares([size for size, _ in labels], original, made),
            patterns=_shares([pattern for _, pattern in labels], original, made),
            composition=(apart, usual),
        )

    def _of(self, view: MemberView) -> _Households:
        codes = {name: groups.codes(view[name]) for name, groups in self._groups.items()}
        starts = np.flatnonzero(np.diff(view.households, prepend=-1) != 0)
        household = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, view.n_rows)))
        is_head = np.zeros(view.n_rows, dtype=bool)
        is_head[starts] = True
        pairs: dict[str, _Pairs] = {}
        patterns = np.zeros(len(starts), dtype=np.int64)
        others = ~is_head
        for number, (kind, label) in enumerate(self._kinds.items()):
            rows = np.flatnonzero(~is_head & _has(view, self._relation, label))
            others[rows] = False
            patterns[household[rows]] |= 1 << number
            pairs |= _pairs_of(kind, rows, starts, household)
        rows = np.flatnonzero(others)
        patterns[household[rows]] |= 1 << len(self._kinds)
        if not self._kinds:
            pairs = _pairs_of(OTHERS, rows, starts, household)
        return _Households(codes, pairs, np.bincount(household), patterns)

    def _table(
        self, file: _Households, who: str, a: str, b: str, weights: IntArray | None = None
    ) -> FloatArray:
        """Return the counts of a table, flat; ``weights`` are repetitions of households."""
        pairs, width = file.pairs[who], self._groups[b].size
        joint = file.codes[a][pairs.first].astype(np.int64) * width + file.codes[b][pairs.second]
        repeats = None if weights is None else weights[pairs.household]
        return _counted(joint, self._groups[a].size * width, repeats)

    def _row(self, number: int, means: FloatArray, weights: IntArray) -> MemberRow:
        who, a, b = self._tables[number]
        original = self._counts[number]
        drawn = [_distances(original, self._table(self._ours, who, a, b, w)) for w in weights]
        usual, apart = np.mean(drawn, axis=0).tolist()
        return MemberRow(
            members=who,
            variables=a if a == b else f"{a} and {b}",
            pairs=int(original.sum()),
            s_pmse=float(means[0]) if np.isfinite(means[0]) else None,
            bootstrap=usual if np.isfinite(usual) else None,
            distance=float(means[1]),
            distance_bootstrap=apart,
        )

    def _composition(self) -> tuple[list[tuple[str, str]], list[IntArray]]:
        """Return sizes and patterns, and those of every household of each file."""
        original = self._ours.patterns
        values, counts = np.unique(original, return_counts=True)
        frequent = values[np.argsort(-counts, kind="stable")][:MAX_PATTERNS]
        frequent = frequent[np.isin(frequent, values[counts >= MIN_PATTERN_HOUSEHOLDS])]
        words = [*(self._words(int(pattern)) for pattern in frequent), "all other"]
        sizes = [*map(str, range(1, MAX_SIZE)), f"{MAX_SIZE} and more"]
        index = {int(pattern): number for number, pattern in enumerate(frequent)}
        cells = [
            (np.minimum(one.sizes, MAX_SIZE) - 1) * len(words)
            + np.array([index.get(p, len(frequent)) for p in one.patterns.tolist()])
            for one in (self._ours, *self._made)
        ]
        return list(product(sizes, words)), cells

    def _words(self, pattern: int) -> str:
        names = [*self._kinds, OTHERS]
        there = [name for number, name in enumerate(names) if pattern >> number & 1]
        return f"head with {', '.join(there)}" if there else "head alone"


def _kinds(original: MemberView) -> dict[str, str]:
    """Return the frequent levels of the relation, by label."""
    if not original.relation:
        return {}
    relation = original[original.relation]
    is_head = np.diff(original.households, prepend=-1) != 0
    counts = np.bincount(relation.data[~is_head], minlength=relation.variable.n_codes)
    order = np.argsort(-counts, kind="stable")[:MAX_KINDS]
    labels = relation.variable.labels
    chosen = [labels[code] for code in sorted(order.tolist()) if counts[code] >= MIN_PAIRS]
    return {f"{original.relation} {label}": label for label in chosen}


def _has(view: MemberView, relation: str, label: str) -> BoolArray:
    """Return the members with a level, in a file that may have other levels."""
    members: Column = view[relation]
    labels = members.variable.labels
    return np.asarray(members.data == (labels.index(label) if label in labels else -1))


def _pairs_of(
    kind: str, rows: IntArray, starts: IntArray, household: IntArray
) -> dict[str, _Pairs]:
    """Return pairs of the head with each member of a kind, and of successive members."""
    households = household[rows]
    same = households[1:] == households[:-1]
    return {
        f"head and {kind}": _Pairs(starts[households], rows, households),
        f"{kind}, one after the other": _Pairs(
            rows[:-1][same], rows[1:][same], households[1:][same]
        ),
    }


def _counted(cells: IntArray, n_cells: int, weights: IntArray | None = None) -> FloatArray:
    return np.bincount(cells, weights=weights, minlength=n_cells).astype(np.float64)


def _distances(original: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    """Return S_pMSE and the total-variation distance of two tables of counts."""
    if not theirs.any():
        return float("nan"), 1.0
    measures = dict(zip(CELL_MEASURES, cell_measures(original, theirs), strict=True))
    return measures["S_pMSE"], measures["SPECKS"]


def _shares(
    labels: Sequence[str], mine: FloatArray, made: Sequence[FloatArray]
) -> tuple[CompositionRow, ...]:
    """Return the shares of the households that have a label, of both files together; all labels."""
    rows = []
    for label in dict.fromkeys(labels):
        chosen = np.array([one == label for one in labels])
        original = float(mine[chosen].sum() / mine.sum())
        synthetic = float(np.mean([one[chosen].sum() / one.sum() for one in made]))
        if original or synthetic:
            rows.append(CompositionRow(households=label, original=original, synthetic=synthetic))
    return tuple(rows)


MEASURES = (
    Measure(
        "household_pairs",
        "datasets",
        axis="utility",
        after="conditional_tables",
        words="households: tables of what two members have, and who lives together",
        needs=("names",),
        view=MemberView,
        compute=lambda case: HouseholdPairCounter(
            members_of(case.original), case.names, groups=case.settings.table_groups, seed=case.seed
        ),
        result=HouseholdPairs,
        figures=(HOUSEHOLD_PAIRS, HOUSEHOLD_PAIRS_WORST, HOUSEHOLD_COMPOSITION),
    ),
)
