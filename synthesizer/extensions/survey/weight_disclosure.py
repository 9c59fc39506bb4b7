"""Disclosure by a survey weight: rare weights, totals of few persons, and the weight as a key.

A weight is a function of the design: of strata, response classes, and margins of raking. With
knowledge of the population an intruder can infer the stratum of a weight, even if the release does
not name strata, and so learns variables that should be hidden (de Waal and Willenborg 1997,
Statistical disclosure control and sampling weights, JOS 13(4)). A weight of one person identifies
that person. Fienberg (2009), The relevance or irrelevance of weights for confidentiality and
statistical analyses, JPC 1(2), reviews both sides.

The reference is a new sample of the population, which has weights of original persons by chance,
too. A record left out of the sample is such a new record for the others (Good 1953, The population
frequencies of species, Biometrika 40): its value occurs r times among the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import plural
from synthesizer.data.panel.view import groups_of
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table
from synthesizer.measures.figure import (
    TWO_SIDED,
    Figure,
    FigureKind,
    Limit,
    Measured,
    Row,
    column,
    side_of,
)
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.cap import cap_scores
from synthesizer.measures.risk.comparable import OfTarget, SharedCoder
from synthesizer.measures.risk.rare_values import MIN_HOLDERS
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.survey_design import weights_of

_Level = tuple[str, str]
"""A variable and a label of it."""
FEWER_THAN = (2, 3, MIN_HOLDERS)
"""Thresholds: fewer than 2 persons, 3 (cells) and 5 (rare levels)."""


class RareWeightRow(Row):
    """Records with a weight of few original persons: original, synthetic, new sample."""

    fewer_than: int = column("Weights of fewer than", "count", "original persons")
    original: float = column("Original released", "share", "of its records have such a weight")
    synthetic: float = column(
        "Synthetic", "share", "of its records have exactly such a weight; mean over the datasets"
    )
    fresh: float = column("New sample", "share", "the same of a new sample of the population")


RARE_WEIGHTS = FigureKind(
    "rare_weights",
    "rare weights",
    "share of the synthetic {records} whose weight is exactly one that few original {records} "
    "have, which names a small stratum or a person; chance: in a new sample; original: if its "
    "weights went out",
    limit=Limit(),
)
TOTALS_OF_FEW = FigureKind(
    "totals_of_few",
    "totals of few",
    "levels of few original {records} whose weights add up in a dataset to exactly what they do in "
    "the original: the weights of single persons divided among few, as after raking to such "
    "totals; chance: with the weights in random order",
    "a count",
    on_screen=True,
)
WEIGHT_GAIN = FigureKind(
    "weight_gain",
    "gain by the weight",
    "how much more often an intruder who knows the weight beside the keys reads off the right "
    "target from a dataset; chance: from a new sample; original: from the original itself",
    on_screen=True,
)
WEIGHT_MATCHES = FigureKind(
    "weight_matches",
    "matches by keys and weight",
    "share of the synthetic {records} that equal exactly one original {record} in all keys and the "
    "weight; chance: in a new sample; original: if it were released",
)


class WeightsShown(Measured):
    """Weights and totals of few original persons in synthetic datasets."""

    weight: str
    """The survey weight."""
    n: int
    """Original persons; of members with one weight the household counts once."""
    n_synthetic: int
    """Synthetic ones, of all datasets."""
    values: int
    """Distinct weights in the original."""
    rows: tuple[RareWeightRow, ...]
    """By what few means."""
    levels_of_few: int
    """Levels of coded variables that one to four original records have."""
    totals: int
    """Those of them whose weights add up in a dataset exactly to what they do in the original."""
    totals_by_chance: int
    """The same where the weights of each dataset are put in random order."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """Warnings if datasets show more than a new sample, or than chance."""
        row = self.rows[-1]
        cautions = []
        if side_of(row.synthetic, row.fresh, self.n_synthetic, errors=3) == "above":
            cautions.append(
                f"{row.synthetic:.1%} of the synthetic {{records}} have exactly a weight that "
                f"fewer than {row.fewer_than} original ones have, of a new sample "
                f"{row.fresh:.1%}: round {self.weight!r} (after: round), or model it with fewer "
                "distinct values"
            )
        if self.totals > self.totals_by_chance:
            cautions.append(
                f"the weights of {plural(self.totals, 'level')} that fewer than {MIN_HOLDERS} "
                "{records} have add up to exactly the original's: group rare levels before weights "
                "are raked to their totals"
            )
        return tuple(cautions)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Share of synthetic records with a rare weight, and number of totals of few."""
        row = self.rows[-1]
        return (
            RARE_WEIGHTS.of(
                row.synthetic,
                self.n_synthetic,
                f"weight: {self.weight}, few: fewer than {row.fewer_than}",
                chance=row.fresh,
                original=row.original,
            ),
            TOTALS_OF_FEW.of(
                self.totals,
                self.n,
                f"of {self.levels_of_few} levels that fewer than {MIN_HOLDERS} {{records}} have",
                chance=self.totals_by_chance,
                original=self.levels_of_few,
            ),
        )


class WeightsSeen:
    """Counts weights and totals of few persons, dataset by dataset.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> weight = Column(Variable(name="w", kind=Kind.NUMERIC), np.array([1.0, 1, 1, 1, 1, 7]))
    >>> table = Table([weight])
    >>> seen = WeightsSeen(table, ["w"], "w", seed=1)
    >>> seen.add(table)
    >>> seen.add(table.take([0, 1, 2]))
    >>> [(row.fewer_than, round(row.synthetic, 3)) for row in seen.result().rows]
    [(2, 0.083), (3, 0.083), (5, 0.083)]
    """

    def __init__(
        self, original: Table, names: Sequence[str], weight: str, *, seed: AnySeed = 0
    ) -> None:
        self._weight, self._rng = weight, seeded(seed).generator("weights")
        held = _held(original, weight)
        self._values, index, self._counts = np.unique(held, return_inverse=True, return_counts=True)
        self._own = self._counts[index]
        self._totals = _totals_of_few(original, names, weight)
        self._sizes: list[int] = []
        self._shares: list[list[float]] = []
        self._shown: set[tuple[str, str]] = set()
        self._by_chance: set[tuple[str, str]] = set()

    def add(self, synthetic: Table) -> None:
        """Count the next dataset."""
        held = _held(synthetic, self._weight)
        index = np.minimum(np.searchsorted(self._values, held), len(self._values) - 1)
        holders = np.where(self._values[index] == held, self._counts[index], 0)
        self._sizes.append(len(held))
        self._shares.append([_mean((holders > 0) & (holders < few)) for few in FEWER_THAN])
        weights = weights_of(synthetic, self._weight)
        self._shown |= self._equal(synthetic, weights)
        self._by_chance |= self._equal(synthetic, self._rng.permutation(weights))

    def _equal(self, table: Table, weights: FloatArray) -> set[tuple[str, str]]:
        """Return the rare levels whose weights have the same sum as in the original."""
        sums = _totals(table, {name for name, _ in self._totals}, weights)
        return {
            level
            for level, total in self._totals.items()
            if np.isclose(sums.get(level, 0.0), total, rtol=1e-9, atol=0.0)
        }

    def result(self) -> WeightsShown:
        """Return the result of the datasets so far, at least one."""
        shares = np.mean(self._shares, axis=0).tolist()
        return WeightsShown(
            weight=self._weight,
            n=len(self._own),
            n_synthetic=sum(self._sizes),
            values=len(self._values),
            rows=tuple(
                RareWeightRow(
                    fewer_than=few,
                    original=_mean(self._own < few),
                    synthetic=share,
                    fresh=_mean((self._own > 1) & (self._own <= few)),
                )
                for few, share in zip(FEWER_THAN, shares, strict=True)
            ),
            levels_of_few=len(self._totals),
            totals=len(self._shown),
            totals_by_chance=len(self._by_chance),
        )


def _held(table: Table, weight: str) -> FloatArray:
    """Return the weights of persons; those of one group with the same weight count once."""
    has_one, values = table[weight].is_observed, weights_of(table, weight)
    if (groups := groups_of(table)) is not None:
        return np.unique(np.column_stack([groups, values])[has_one], axis=0)[:, 1]
    return values[has_one]


def _totals(table: Table, names: Iterable[str], weights: FloatArray) -> dict[_Level, float]:
    """Return the sum of the weights of each level of the variables that have levels."""
    totals: dict[_Level, float] = {}
    for coded in (table[name] for name in names if table[name].is_coded):
        sums = np.bincount(coded.data, weights=weights, minlength=coded.variable.n_codes)
        levels = ((coded.name, label) for label in coded.variable.labels)
        totals |= zip(levels, sums.tolist(), strict=True)
    return totals


def _totals_of_few(table: Table, names: Sequence[str], weight: str) -> dict[_Level, float]:
    """Return every rare level with the sum of its weights."""
    counts = _totals(table, names, np.ones(table.n_rows))
    totals = _totals(table, names, weights_of(table, weight))
    return {x: total for x, total in totals.items() if 0 < counts[x] < MIN_HOLDERS and total > 0}


class WeightRow(Row):
    """An intruder with some variables: synthetic, new sample, original."""

    known: str = column("Known", "text")
    unique: float = column("Unique", "share", "of the original records, by what is known")
    matches: float = column(
        "Synthetic: one match", "share", "of the synthetic records that equal one original record"
    )
    fresh_matches: float = column("New sample: one match", "share", "the same of a new sample")
    cap: float = column("Synthetic: CAP", "share", "mean over the datasets; no match counts as 0")
    fresh_cap: float = column("Fresh: CAP", "share", "the same of a new sample")
    original_cap: float = column("Original: CAP", "share", "if the original were released")


class WeightAsKey(OfTarget, Measured):
    """The gain of an intruder by the survey weight as a further key."""

    weight: str
    """The survey weight."""
    n: int
    """Original records."""
    rows: tuple[WeightRow, ...]
    """Without and with the weight; without a match by both, the keys alone count."""
    gain: float
    """Increase of the share of right targets by the weight."""
    gain_error: float
    """Its standard error."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Increase of CAP by the weight, and records that match one person by keys and weight."""
        without, knowing = self.rows
        return (
            WEIGHT_GAIN.of(
                self.gain,
                self.n,
                f"weight: {self.weight}, target: {self.target}",
                low=self.gain - TWO_SIDED * self.gain_error,
                high=self.gain + TWO_SIDED * self.gain_error,
                chance=knowing.fresh_cap - without.fresh_cap,
                original=knowing.original_cap - without.original_cap,
            ),
            WEIGHT_MATCHES.of(
                knowing.matches,
                self.n,
                f"by the keys alone {without.matches:.3f}",
                chance=knowing.fresh_matches,
                original=knowing.unique,
            ),
        )


def weight_as_key(
    original: Table, synthetic: Sequence[Table], scenario: Scenario, weight: str
) -> WeightAsKey | None:
    """Return the gain by a survey weight; None if it is a key or the target.

    The weight counts by its exact value. A new sample is as large as the original: CAP of each
    record is computed from the others, and uniques of the others are matched.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> ill = Column(Variable(name="ill", kind=Kind.CATEGORICAL, levels=("no", "yes")),
    ...              np.array([0, 1, 0, 1], dtype=np.int32))
    >>> one = Column(Variable(name="a", kind=Kind.CATEGORICAL, levels=("x",)),
    ...              np.zeros(4, np.int32))
    >>> weight = Column(Variable(name="w", kind=Kind.NUMERIC), np.array([5.0, 9, 5, 9]))
    >>> table = Table([one, weight, ill])
    >>> weight_as_key(table, [table], Scenario(keys=("a",), target="ill"), "w").gain
    0.5
    """
    if weight in scenario.names:
        return None
    without = _WeightAttack.of(original, synthetic, scenario, scenario.keys)
    knowing = _WeightAttack.of(original, synthetic, scenario, (*scenario.keys, weight), without)
    gains = knowing.synthetic.mean(axis=0) - without.synthetic.mean(axis=0)
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return WeightAsKey(
        keys=scenario.keys,
        target=scenario.target,
        weight=weight,
        n=original.n_rows,
        rows=(without.row("the keys"), knowing.row("keys and weight")),
        gain=float(gains.mean()),
        gain_error=float(error),
    )


@dataclass(frozen=True, eq=False)
class _WeightAttack:
    """Success of an intruder with some keys, for each original record."""

    synthetic: FloatArray
    """From each dataset, shape (M, n); without a match that of fewer keys, else 0."""
    fresh: FloatArray
    """From all other original records, likewise, shape (n,)."""
    original: FloatArray
    """From all original records, shape (n,)."""
    sizes: IntArray
    """Original records with the same keys, shape (n,)."""
    matches: float
    """Share of synthetic records that equal one original record in the keys."""

    @classmethod
    def of(
        cls,
        original: Table,
        synthetic: Sequence[Table],
        scenario: Scenario,
        keys: Sequence[str],
        fewer: _WeightAttack | None = None,
    ) -> _WeightAttack:
        """Return the attack by keys; ``fewer`` is the attack by fewer of them."""
        coder = SharedCoder(original, keys, scenario.groups)
        sizes = np.bincount(coder.codes)[coder.codes]
        settings = scenario.settings | {"keys": keys, "constant_target": True}
        scores = cap_scores(original, synthetic, **settings)
        fresh = np.full(original.n_rows, np.nan)
        np.divide(scores.original * sizes - 1, sizes - 1, out=fresh, where=sizes > 1)
        counts = [mine[codes] for codes, mine, _ in map(coder.counts, synthetic)]
        return cls(
            synthetic=_filled(scores.singles, None if fewer is None else fewer.synthetic),
            fresh=_filled(fresh, None if fewer is None else fewer.fresh),
            original=scores.original,
            sizes=sizes,
            matches=float(np.mean([_mean(matched == 1) for matched in counts])),
        )

    def row(self, known: str) -> WeightRow:
        """Return the means; a record left out has one match if two records agree."""
        return WeightRow(
            known=known,
            unique=_mean(self.sizes == 1),
            matches=self.matches,
            fresh_matches=_mean(self.sizes == 2),
            cap=float(self.synthetic.mean()),
            fresh_cap=float(self.fresh.mean()),
            original_cap=float(self.original.mean()),
        )


def _filled(scores: FloatArray, others: FloatArray | None) -> FloatArray:
    """Return scores with those of others, or 0, if there is no match (NaN)."""
    return np.where(np.isnan(scores), 0.0 if others is None else others, scores)


def _mean(values: BoolArray) -> float:
    """Return a share; 0 of nothing."""
    return float(values.mean()) if len(values) else 0.0


MEASURES = (
    Measure(
        "weight_disclosure",
        "datasets",
        after="replicated_careers",
        words="what the survey weight gives away: rare weights, totals of few, a further key",
        needs=("weight", "names"),
        compute=lambda case: WeightsSeen(
            case.original, case.names, case.settings.weight, seed=case.seed
        ),
        result=WeightsShown,
        figures=(RARE_WEIGHTS, TOTALS_OF_FEW),
    ),
    Measure(
        "weight as a key",
        "scenario",
        after="weight_disclosure",
        switch="weight_disclosure",
        needs=("weight",),
        compute=lambda case: weight_as_key(
            *case.pair, case.required_scenario, case.settings.weight
        ),
        result=WeightAsKey,
        figures=(WEIGHT_GAIN, WEIGHT_MATCHES),
    ),
)
