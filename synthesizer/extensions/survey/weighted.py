"""Estimates with and without the survey weight, original against synthetic.

Analyses of a survey use its weights: shares of levels, tables of two variables, means and totals
must be right with the weights, which a synthesis draws like any variable. So all estimates are
compared with and without the weights of each file: tables by their total variation, half the sum of
absolute differences of the shares of cells, and by S_pMSE; the regressions that the file suggests;
and the propensity score of a tree.

What is expected follows from the linearised variance of a weighted share p of a cell, sum w^2 (1 in
the cell - p)^2 / (sum w)^2, and of a weighted mean, sum w^2 (x - mean)^2 / (sum w)^2 (Särndal,
Swensson and Wretman 1992, Model assisted survey sampling, section 5.7), records taken as
independent, as they are drawn: with n original and k synthetic records a correct model with fixed
parameters is off by n/k times it, one with parameters drawn anew by 1 + n/k times it. Where samples
are drawn anew by the design of the survey the variance of the design is the 1. S_pMSE is the
squared difference of shares over its pooled share, summed over cells, divided by what n/k times the
variance makes of it: without weights it is that of `utility.tables`, with weights its expectation
is that of Rao and Scott (1984, Annals of Statistics 12).

The standard errors of the original's means and totals are those of its design, by svy, where
strata, units or replicate weights are named and svy is installed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import check_comparable
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, FloatArray, Kind, Table
from synthesizer.measures import survey_design
from synthesizer.measures.figure import Figure, FigureKind, Measured, Row, column
from synthesizer.measures.measure import Case, Measure, is_on
from synthesizer.measures.utility.cells import check_original, table_problems
from synthesizer.measures.utility.compare_fit import design_of
from synthesizer.measures.utility.distributions import pair_groups
from synthesizer.measures.utility.equivalent_sample import MOST_LEVELS, MOST_PAIRS
from synthesizer.measures.utility.propensity import PropensityResult, by_tree
from synthesizer.measures.utility.regressions import RegressionCounter, RegressionRow

MAX_TREE_RECORDS = 5_000
"""Records of either file in a tree that separates them."""
PERMUTATIONS = 5
"""Trees of permuted labels."""
_NORMAL = math.sqrt(2 / math.pi)
"""Mean size of a standard normal error."""


class WeightedTables(Row):
    """Total variation of all tables of one order, means over tables and datasets."""

    ways: int = column("Variables", "count", "order of the tables")
    unweighted: float = column("Unweighted", "share", "total variation; 0 is equal")
    unweighted_right: float = column("Right synthesis", "share", "expected without weights")
    weighted: float = column("Weighted", "share", "total variation of weighted shares")
    weighted_right: float = column("Right synthesis, weighted", "share", "expected with weights")
    unweighted_s_pmse: float = column("S_pMSE, unweighted", "number", "mean; a correct model: 1")
    weighted_s_pmse: float = column("S_pMSE, weighted", "number", "the same by weights")


class WeightedVariable(Row):
    """One variable, means over the datasets; a variable with levels has no mean."""

    variable: str = column("Variable", "text")
    unweighted: float = column("Margin, unweighted", "share", "total variation of its shares")
    weighted: float = column("Margin, weighted", "share", "the same by weights")
    right: float = column("Right synthesis, weighted", "share", "expected with weights")
    original_mean: float | None = column("Original: weighted mean", "number")
    original_error: float | None = column(
        "Original: its standard error", "number", "by the design of the survey, where it is named"
    )
    synthetic_mean: float | None = column("Synthetic: weighted mean", "number")
    unweighted_error: float | None = column(
        "Mean off in SE, unweighted", "number", "mean size, in standard errors of the original"
    )
    weighted_error: float | None = column("Mean off in SE, weighted", "number")
    total_ratio: float | None = column(
        "Total, ratio", "number", "weighted total of the synthetic data over the original's"
    )
    total_error: float | None = column(
        "Total: relative standard error", "number", "of the original's, likewise"
    )


WEIGHTED_TWO_WAY = FigureKind(
    "weighted_two_way",
    "weighted two-way distance",
    "total variation of the tables of all pairs by the survey weight, on average",
    "lower is better",
    on_screen=True,
)
WEIGHTED_S_PMSE = FigureKind(
    "weighted_s_pmse",
    "weighted two-way S_pMSE",
    "S_pMSE of the tables of all pairs by the survey weight, on average",
    "about 1 is good",
    on_screen=True,
)
WEIGHTED_MEANS = FigureKind(
    "weighted_means",
    "weighted means off",
    "mean size of the errors of the weighted means of numbers, in standard errors of the original",
    "lower is better",
    on_screen=True,
)
WEIGHTED_BEYOND = FigureKind(
    "weighted_beyond",
    "weighted coefficients off",
    "share of the coefficients of regressions of one variable on the others, by the survey weight, "
    "that differ from the original's by more than 1.96 of its standard errors (robust ones)",
    "lower is better",
    on_screen=True,
)
WEIGHTED_PMSE_RATIO = FigureKind(
    "weighted_pmse_ratio",
    "weighted pMSE ratio",
    "pMSE by a classification tree that weighs {records} by the survey weight, divided by what is "
    "expected when {records} are called original or synthetic at random",
    "about 1 is good",
)
WEIGHT_TOTAL = FigureKind(
    "weight_total",
    "sum of weights",
    "sum of the survey weights in a synthetic dataset over that in the original; totals of numbers "
    "are off as much",
    "about 1 is good",
)


class WeightedEstimates(Measured):
    """Shares, means and totals with and without the survey weight."""

    weight: str
    """The survey weight."""
    n: int
    """Original records."""
    n_synthetic: tuple[int, ...]
    """Records of each dataset."""
    proper: bool
    """Whether parameters were drawn for each dataset: then a new sample is the reference."""
    total_original: float
    """Sum of the weights in the original: the number of persons it represents."""
    total_synthetic: float
    """The same of the synthetic data, mean over the datasets."""
    tables: tuple[WeightedTables, ...]
    """Tables of one and of two variables."""
    variables: tuple[WeightedVariable, ...]
    """Every variable but the weight."""
    means_right: float | None = None
    """Mean size of the errors of weighted means in a correct model, in standard errors."""
    errors: str = "independent records"
    """Basis of the standard errors of the original's means and totals."""
    regressions: tuple[RegressionRow, ...] = ()
    """The regressions that the file suggests, by weights."""
    beyond: float | None = None
    """Share of their coefficients more than 1.96 standard errors off."""
    beyond_right: float | None = None
    """The same of a correct model."""
    propensity: float | None = None
    """Weighted pMSE of a tree over that of permuted labels; mean over the datasets."""
    notes: tuple[str, ...] = ()
    """Estimates that could not be computed, with reasons."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Weighted tables, means, regressions and propensity, and the sum of the weights."""
        n = self.n + sum(self.n_synthetic)
        return (
            *self._of_pairs(n),
            *self._of_means(n),
            *self._of_models(n),
            WEIGHT_TOTAL.of(self.total_synthetic / self.total_original, n, original=1.0),
        )

    def _of_pairs(self, n: int) -> Iterator[Figure]:
        for row in self.tables:
            if row.ways == 2:
                yield WEIGHTED_TWO_WAY.of(
                    row.weighted,
                    n,
                    f"of a correct model {row.weighted_right:.4f}; without weights "
                    f"{row.unweighted:.4f}, of a correct model {row.unweighted_right:.4f}",
                    chance=row.weighted_right,
                    original=0.0,
                )
                ratio = self.n * len(self.n_synthetic) / sum(self.n_synthetic)
                yield WEIGHTED_S_PMSE.of(
                    row.weighted_s_pmse,
                    n,
                    f"without weights {row.unweighted_s_pmse:.2f}",
                    chance=1 + 1 / ratio if self.proper else 1.0,
                    original=0.0,
                )

    def _of_models(self, n: int) -> Iterator[Figure]:
        if self.beyond is not None:
            yield WEIGHTED_BEYOND.of(self.beyond, n, chance=self.beyond_right, original=0.0)
        if self.propensity is not None:
            yield WEIGHTED_PMSE_RATIO.of(self.propensity, n, chance=1.0)

    def _of_means(self, n: int) -> Iterator[Figure]:
        pairs = [
            (row.weighted_error, row.unweighted_error)
            for row in self.variables
            if row.weighted_error is not None and row.unweighted_error is not None
        ]
        if pairs and self.means_right is not None:
            weighted, plain = np.mean(pairs, axis=0).tolist()
            right = self.means_right
            yield WEIGHTED_MEANS.of(
                weighted,
                n,
                f"errors by {self.errors}; of a correct model {right:.2f}; without weights "
                f"{plain:.2f}",
                chance=right,
                original=0.0,
            )


def _off(n: int, sizes: Sequence[int], *, proper: bool) -> float:
    """Return the variance of an estimate about the original's, in variances of the original's."""
    ratio = n * len(sizes) / sum(sizes)
    return 1 + ratio if proper else ratio


def design_mean(
    values: FloatArray, rows: BoolArray, weights: FloatArray, design: survey_design.SurveyDesign
) -> tuple[float, float, float]:
    """Return the weighted mean of some records, its standard error, and that of the total.

    Records without a value are outside the domain, and their units still count. Shapes (n,).

    Raises
    ------
    DataError
        If svy is not installed, or has no estimate.
    """
    survey_design.check_svy()
    from svy import col
    from svy.errors import SvyError

    method = "taylor" if design.replicates is None else "replication"
    columns = {"y": np.where(rows, values, 0.0), "ok": rows.astype(np.float64)}
    try:
        sample = survey_design.svy_sample(columns, weights, design)
        domain = {"where": col("ok") == 1.0, "method": method}
        mean = sample.estimation.mean("y", **domain).to_polars()
        total = sample.estimation.total("y", **domain).to_polars()
    except (SvyError, np.linalg.LinAlgError, ValueError) as error:
        raise DataError(f"svy has no mean: {survey_design.first_line(error)}") from error
    return float(mean["est"][0]), float(mean["se"][0]), float(total["se"][0])


class _Shares(NamedTuple):
    """Shares of cells and their variances, shape (cells,)."""

    shares: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, codes: Codes, size: int, weights: FloatArray) -> _Shares:
        total = weights.sum()
        shares = np.bincount(codes, weights=weights, minlength=size) / total
        squares = np.bincount(codes, weights=weights**2, minlength=size) / total**2
        return cls(shares, (1 - 2 * shares) * squares + shares**2 * squares.sum())

    def distance(self, other: _Shares) -> float:
        """Return half the sum of absolute differences, in [0, 1]."""
        return float(np.abs(self.shares - other.shares).sum() / 2)

    def s_pmse(self, other: _Shares, n: int, k: int) -> float:
        """Return S_pMSE of k records by n of these; 0 where nothing varies."""
        pooled = (n * self.shares + k * other.shares) / (n + k)
        use = pooled > 0
        squares = ((self.shares - other.shares)[use] ** 2 / pooled[use]).sum()
        noise = (np.maximum(self.variances[use], 0.0) / pooled[use]).sum() * n / k
        return float(squares / noise) if noise > 0 else 0.0

    @property
    def expected(self) -> float:
        """Expected distance of shares with errors of these variances."""
        return float(_NORMAL * np.sqrt(np.maximum(self.variances, 0.0)).sum() / 2)


class _Mean(NamedTuple):
    """A mean, its standard error with independent records, and the total."""

    mean: float
    error: float
    total: float
    random: float
    """Standard error in a simple random sample of as many of the population."""

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> _Mean | None:
        total = weights.sum()
        if not total > 0:
            return None
        mean = float(weights @ values / total)
        spread = weights**2 @ (values - mean) ** 2
        error = math.sqrt(spread * len(values) / max(len(values) - 1, 1)) / total
        random = math.sqrt(float(weights @ (values - mean) ** 2) / float(total) / len(values))
        return cls(mean, error, mean * float(total), random)


def by_weighted_tree(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    weight: str,
    *,
    rng: np.random.Generator,
    n_jobs: int = 1,
) -> PropensityResult:
    """Return the measures of one dataset by a tree that weighs records by the survey weight.

    Each file counts as much as it has records.
    """
    both = [survey_design.weights_of(table, weight) for table in (original, synthetic)]
    return by_tree(
        *(original, synthetic, names),
        rng=rng,
        permutations=PERMUTATIONS,
        min_leaf=20,
        n_jobs=n_jobs,
        weights=np.concatenate([weights / weights.mean() for weights in both]),
    )


class Models:
    """Regressions and propensity scores of one dataset after the other, by the survey weight."""

    def __init__(
        self,
        original: Table,
        names: Sequence[str],
        weight: str,
        *,
        proper: bool,
        seed: Seed,
        regressions: bool,
        propensity: bool,
        workers: int = 1,
    ) -> None:
        self._names, self._weight = [name for name in names if name != weight], weight
        self._counter = None
        if regressions:
            self._counter = RegressionCounter(
                original, names, proper=proper, seed=seed, weight=weight
            )
        self._rng = seed.generator("weighted propensity")
        self._original = self._sample(original) if propensity else None
        self._workers = workers
        self._ratios: list[float] = []

    def _sample(self, table: Table) -> Table:
        if table.n_rows <= MAX_TREE_RECORDS:
            return table
        return table.take(np.sort(self._rng.permutation(table.n_rows)[:MAX_TREE_RECORDS]))

    def add(self, synthetic: Table) -> None:
        """Fit the models of the next dataset."""
        if self._counter is not None:
            self._counter.add(synthetic)
        if self._original is None:
            return
        score = by_weighted_tree(
            *(self._original, self._sample(synthetic), self._names, self._weight),
            rng=self._rng,
            n_jobs=self._workers,
        )
        if score.s_pmse is not None:
            self._ratios.append(score.s_pmse)

    @property
    def fields(self) -> dict[str, Any]:
        """Values for the fields of `WeightedEstimates`."""
        fields: dict[str, Any] = {}
        if self._counter is not None:
            result = self._counter.result()
            fields |= {"regressions": result.rows, "beyond": result.beyond}
            fields["beyond_right"] = result.expected_shares[0] if result.rows else None
        if self._ratios:
            fields["propensity"] = float(np.mean(self._ratios))
        return fields


class WeightedCounter:
    """Compares one dataset after the other; stores only shares and means.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Variable
    >>> sex = Column(Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m")),
    ...              np.array([0, 1, 1, 1], dtype=np.int32))
    >>> weight = Column(Variable(name="w", kind=Kind.NUMERIC), np.array([3.0, 1, 1, 1]))
    >>> table = Table([sex, weight])
    >>> counter = WeightedCounter(table, table.names, "w")
    >>> counter.add(Table([sex, Column(weight.variable, np.ones(4))]))
    >>> row = counter.result().variables[0]
    >>> row.unweighted, row.weighted
    (0.0, 0.25)
    """

    def __init__(
        self,
        original: Table,
        names: Sequence[str],
        weight: str,
        *,
        groups: int = 5,
        proper: bool = False,
        redrawn: bool = False,
        design: survey_design.SurveyDesign | None = None,
        design_in_words: str = "",
        models: Models | None = None,
    ) -> None:
        self._names = [name for name in dict.fromkeys(names) if name != weight]
        check_original(original, self._names, table_problems([2], groups))
        self._original, self._weight = original, weight
        self._proper, self._redrawn = proper, redrawn
        self._groups = {n: pair_groups(original[n], groups, MOST_LEVELS) for n in self._names}
        pairs = list(combinations(self._names, 2))
        chosen = np.unique(np.linspace(0, len(pairs) - 1, min(MOST_PAIRS, len(pairs))).astype(int))
        self._cells = [*((name,) for name in self._names), *(pairs[index] for index in chosen)]
        self._ours = self._look(original)
        self._theirs: list[_FileEstimates] = []
        self._apart: list[FloatArray] = []
        self._notes: list[str] = []
        self._design, self._how = design, design_in_words
        self._errors = dict(self._by_design())
        self._models = models

    def add(self, synthetic: Table) -> None:
        """Compare the next dataset."""
        names = [*self._names, self._weight]
        check_comparable(self._original, [synthetic], names, first=len(self._theirs) + 1)
        look = self._look(synthetic)
        apart, sizes = list[list[float]](), (self._ours.n, look.n)
        for both in zip(self._ours.shares, look.shares, strict=True):
            files = [*zip(*both, strict=True)]
            apart.append([x for a, b in files for x in (a.distance(b), a.s_pmse(b, *sizes))])
        self._apart.append(np.array(apart))
        self._theirs.append(look._replace(shares=[]))
        if self._models is not None:
            self._models.add(synthetic)

    def result(self) -> WeightedEstimates:
        """Return the comparison of the datasets so far, at least one."""
        sizes = [look.n for look in self._theirs]
        off = math.sqrt(_off(self._ours.n, sizes, proper=self._proper))
        apart = np.mean(self._apart, axis=0)
        right = off * np.array([[share.expected for share in both] for both in self._ours.shares])
        rights = [
            _NORMAL * self._right(name, sizes)
            for name, both in self._ours.means.items()
            if both[1] is not None and both[1].error > 0
        ]
        return WeightedEstimates(
            weight=self._weight,
            n=self._ours.n,
            n_synthetic=tuple(sizes),
            proper=self._proper,
            total_original=self._ours.total,
            total_synthetic=float(np.mean([look.total for look in self._theirs])),
            tables=tuple(self._tables(apart, right)),
            variables=tuple(
                self._variable(name, *values)
                for name, *values in zip(self._names, apart.tolist(), right.tolist(), strict=False)
            ),
            means_right=float(np.mean(rights)) if rights else None,
            errors=self._how if self._errors else "independent records",
            notes=tuple(self._notes),
            **({} if self._models is None else self._models.fields),
        )

    def _by_design(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield the standard errors of the original's weighted means and totals by its design."""
        if self._design is None:
            return
        weights = survey_design.weights_of(self._original, self._weight)
        for name in self._ours.means:
            column = self._original[name]
            rows = column.is_observed
            values = np.asarray(column.data, dtype=np.float64)
            if not weights[rows].sum() > 0:
                continue
            try:
                _, mean, total = design_mean(values, rows, weights, self._design)
            except DataError as error:
                self._notes.append(
                    f"standard errors of means are those of independent records: {error}"
                )
                return
            yield name, (mean, total)

    def _error(self, name: str) -> float:
        """Return the standard error of an original's weighted mean."""
        mean = self._ours.means[name][1]
        return self._errors[name][0] if name in self._errors else (mean.error if mean else 0.0)

    def _right(self, name: str, sizes: Sequence[int]) -> float:
        """Return the standard deviation of an error in a correct model, in standard errors."""
        mean, error = self._ours.means[name][1], self._error(name)
        if mean is None or not error > 0:
            return 0.0
        ratio = _off(self._ours.n, sizes, proper=False)
        variance = _off(self._ours.n, sizes, proper=self._proper) * mean.error**2
        if self._redrawn:  # by the design, and twice as a simple random sample
            variance = error**2 + (1 + ratio) * mean.random**2
        return math.sqrt(variance) / error

    def _look(self, table: Table) -> _FileEstimates:
        weights = survey_design.weights_of(table, self._weight)
        both = (np.ones(table.n_rows), weights)
        codes = {name: each.codes(table[name]) for name, each in self._groups.items()}
        shares = []
        for names in self._cells:
            joint, size = np.zeros(table.n_rows, dtype=np.int64), 1
            for name in names:
                joint = joint * self._groups[name].size + codes[name]
                size *= self._groups[name].size
            shares.append([_Shares.of(joint, size, each) for each in both])
        means = {}
        for name in self._names:
            column = table[name]
            if column.variable.kind is Kind.NUMERIC:
                rows = column.is_observed
                values = np.asarray(column.data[rows], dtype=np.float64)
                means[name] = [_Mean.of(values, each[rows]) for each in both]
        return _FileEstimates(table.n_rows, float(weights.sum()), shares, means)

    def _tables(self, apart: FloatArray, right: FloatArray) -> Iterator[WeightedTables]:
        orders = np.array([len(names) for names in self._cells])
        for ways in sorted(set(orders.tolist())):
            is_order = orders == ways
            plain, plain_ratio, weighted, ratio = apart[is_order].mean(axis=0).tolist()
            plain_right, weighted_right = right[is_order].mean(axis=0).tolist()
            yield WeightedTables(
                ways=ways,
                unweighted=plain,
                unweighted_right=plain_right,
                weighted=weighted,
                weighted_right=weighted_right,
                unweighted_s_pmse=plain_ratio,
                weighted_s_pmse=ratio,
            )

    def _variable(self, name: str, apart: list[float], right: list[float]) -> WeightedVariable:
        means = self._ours.means.get(name, [None, None])
        theirs = [look.means.get(name, [None, None]) for look in self._theirs]
        scales = [estimate.error if estimate else 0.0 for estimate in means]
        if name in self._ours.means:
            scales[1] = self._error(name)
        errors = [
            _mean_error(estimate, scale, [both[i] for both in theirs])
            for i, (estimate, scale) in enumerate(zip(means, scales, strict=True))
        ]
        mean, total = (
            np.mean([getattr(both[1], of) for both in theirs if both[1]] or [np.nan])
            for of in ("mean", "total")
        )
        has_both = means[1] is not None and bool(np.isfinite(mean))
        return WeightedVariable(
            variable=name,
            unweighted=apart[0],
            weighted=apart[2],
            right=right[1],
            original_mean=None if means[1] is None else means[1].mean,
            original_error=None if means[1] is None else scales[1],
            synthetic_mean=float(mean) if has_both else None,
            unweighted_error=errors[0],
            weighted_error=errors[1],
            total_ratio=(
                float(total / means[1].total) if has_both and means[1] and means[1].total else None
            ),
            total_error=(
                self._errors[name][1] / abs(means[1].total)
                if name in self._errors and means[1] and means[1].total
                else None
            ),
        )


class _FileEstimates(NamedTuple):
    """Shares and means of a file, each without and with weights."""

    n: int
    total: float
    shares: list[list[_Shares]]
    means: dict[str, list[_Mean | None]]


def _mean_error(
    original: _Mean | None, scale: float, theirs: Sequence[_Mean | None]
) -> float | None:
    """Return the mean size of the errors of a mean, in standard errors of the original."""
    if original is None or not scale > 0:
        return None
    sizes = [abs(one.mean - original.mean) / scale for one in theirs if one is not None]
    return float(np.mean(sizes)) if sizes else None


def _counter(case: Case) -> WeightedCounter:
    settings, synthesis, weight = case.settings, case.synthesis, case.settings.weight
    strata, psu = (n if n in case.original else None for n in (settings.strata, settings.psu))
    by = " and ".join(name for name in (strata, psu) if name is not None)
    models = Models(
        *(case.original, case.names, weight),
        proper=synthesis.proper,
        seed=case.seed,
        regressions=is_on(settings, "regressions"),
        propensity=is_on(settings, "propensity"),
        workers=case.workers,
    )
    has_replicates = settings.replicates is not None
    return WeightedCounter(
        *(case.original, case.names, weight),
        groups=settings.table_groups,
        proper=synthesis.proper,
        redrawn=synthesis.redrawn,
        design=design_of(case.with_aside, weight, strata, psu, settings.replicates),
        design_in_words="by replicate weights" if has_replicates else f"by {by}",
        models=models,
    )


MEASURES = (
    Measure(
        "weighted_estimates",
        "datasets",
        axis="utility",
        after="unseen",
        words="shares, tables of pairs, means and totals by the survey weight and without it",
        needs=("names", "weight"),
        compute=_counter,
        result=WeightedEstimates,
        figures=(
            WEIGHTED_TWO_WAY,
            WEIGHTED_S_PMSE,
            WEIGHTED_MEANS,
            WEIGHTED_BEYOND,
            WEIGHTED_PMSE_RATIO,
            WEIGHT_TOTAL,
        ),
    ),
)
