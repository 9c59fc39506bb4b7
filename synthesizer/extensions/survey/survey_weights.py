"""Survey weights of datasets: raked to public totals, and samples and replicates of the design.

Iterative proportional fitting (Deming and Stephan 1940) multiplies the weights of a level by one
factor, margin after margin, until all totals are met. Records with the same levels share a factor,
so the work is done on the cells that occur. Weights with decimals are then rounded so that the
written values meet the totals: an integer program chooses the cells that are rounded up (controlled
rounding, Cox 1987), and within a cell the largest remainders are.

Mathur, Si and Reiter (arXiv 2309.09115) synthesise simple random samples of pseudo-populations.
Here a pseudo-population is made by the rescaling bootstrap of Rao, Wu and Yue (1992, Survey
Methodology 18), which takes strata and clusters into account: of the a primary sampling units of a
stratum a - 1 are drawn with replacement, and the weights of a drawn unit are multiplied by its
number of draws and by a / (a - 1). The variance of a weighted total over such draws is the
design-based one (first stage with replacement). The models are fitted to a simple random sample of
the pseudo-population, in which every record represents as many persons as its weight. The Polya urn
of the paper is left out: it would add a variance between datasets that the combining rule would
have to subtract.

The original's replicate weights show which persons were sampled together, and are not modelled. A
synthetic file with strata or primary sampling units gets columns of the same names for the same
analysis: the rescaling bootstrap multiplies the weights of units by b, whose variance over
replicates is the design-based variance, and 1 + f (b - 1) has f^2 times it (Beaumont and Patak
2012, On the generalized bootstrap for sample surveys, ISR 80(1)). With R replicates and c_r the
scales of the original's method, f_r = 1 / sqrt(c_r R), so that sum c_r (t_r - mean)^2 is right:
code for the original runs on the synthetic file, for every method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Schema, Table, Variable
from synthesizer.engine.candidate_choice import fitted_sums
from synthesizer.engine.chain import Finisher
from synthesizer.models.fixed import FittedDerived
from synthesizer.models.step import FittedStep

MAX_ROUNDS = 10_000
"""Rounds over all margins; usually tens are enough."""
TOTALS_TOLERANCE = 1e-10
"""Relative distance from the totals that ends the rounds."""
MAX_NODES = 100
"""Nodes of the search for a rounding; two margins need one."""
_ROUNDING_ERROR = 1e-6


@dataclass(frozen=True, kw_only=True)
class Margin:
    """The totals of a coded variable."""

    variable: str
    totals: FloatArray
    """Sum of the weights of each code, shape (n_codes,); 0 for impossible codes."""

    def __post_init__(self) -> None:
        if self.totals.ndim != 1 or not (self.totals >= 0).all() or not self.totals.any():
            raise ValueError("totals must be a list of numbers, 0 or above")


@dataclass(frozen=True, kw_only=True)
class Raking(Finisher):
    """The weight of a chain, and its totals in every dataset."""

    name = "raking"
    variable: str
    margins: tuple[Margin, ...]
    total: float | None = None
    """Sum of all weights if there are no margins."""

    @property
    def needs(self) -> frozenset[str]:
        """The weight."""
        return frozenset((self.variable,))

    @property
    def changed(self) -> frozenset[str]:
        """The weight."""
        return self.needs

    def check_against(self, schema: Schema) -> None:
        """Raise ValueError unless weight and totals are those of a schema; for files."""
        if bool(self.margins) == (self.total is not None) or schema[self.variable].is_coded:
            raise ValueError("a number must be raked to totals")
        for margin in self.margins:
            variable = schema[margin.variable]
            if not variable.is_coded or len(margin.totals) != variable.n_codes:
                raise ValueError("every code must have a total")

    def applied(self, table: Table, steps: Sequence[FittedStep], rng: np.random.Generator) -> Table:
        """Return a dataset whose weights have the totals, with recomputed variables.

        Raises
        ------
        RuleError
            If a level that has a total has no record with a weight, or the totals contradict each
            other in the cells that occur.
        """
        column = table[self.variable]
        codes = [np.asarray(table[margin.variable].data, dtype=np.intp) for margin in self.margins]
        problems = list(self._problems(table, codes))
        if problems:
            raise RuleError(problems)
        totals = [margin.totals for margin in self.margins]
        if self.total is not None:
            codes, totals = [np.zeros(table.n_rows, dtype=np.intp)], [np.array([self.total])]
        cells, index = np.unique(np.stack(codes), axis=1, return_inverse=True)
        index = np.asarray(index).reshape(-1)
        values = np.asarray(column.data, dtype=np.float64)
        sums = np.asarray(np.bincount(index, weights=values), dtype=np.float64)
        raked = raked_cells(sums, cells, totals)
        if raked is None:
            names = ", ".join(repr(margin.variable) for margin in self.margins)
            raise RuleError(
                f"weights.totals: no weights of this dataset have the totals of {names}, which "
                "contradict each other where few levels occur together; name fewer totals, or "
                "group rare levels"
            )
        weights = values * np.divide(raked, sums, out=np.zeros_like(raked), where=sums > 0)[index]
        if column.variable.decimals is not None:
            unit = 10.0**-column.variable.decimals
            whole = rounded_cells(weights / unit, index, cells, [t / unit for t in totals])
            weights = whole / 10.0**column.variable.decimals
        table = table.with_column(Column(column.variable, weights, column.states))
        return recomputed(table, {self.variable}, steps)

    def _problems(self, table: Table, codes: Sequence[IntArray]) -> Iterator[str]:
        weights = np.asarray(table[self.variable].data, dtype=np.float64)
        for margin, code in zip(self.margins, codes, strict=True):
            sums = np.bincount(code, weights=weights, minlength=len(margin.totals))
            labels = table[margin.variable].variable.labels
            absent = np.flatnonzero((margin.totals > 0) & (sums <= 0))
            if len(absent):
                names = ", ".join(repr(labels[code]) for code in absent[:5])
                yield (
                    f"weights.totals.{margin.variable}: level {names} has a total, and no synthetic"
                    " record has it; group rare levels, or take the total out"
                )
            extra = np.flatnonzero((margin.totals == 0) & (sums > 0))
            if len(extra):
                names = ", ".join(repr(labels[code]) for code in extra[:5])
                yield (
                    f"weights.totals.{margin.variable}: synthetic records have level {names}, "
                    "which has no total; give it one, or forbid it"
                )


def recomputed(table: Table, changed: set[str], steps: Sequence[FittedStep]) -> Table:
    """Return a dataset with variables recomputed from changed ones."""
    names = set(changed)
    for step in steps:
        model = step.value_model
        if isinstance(model, FittedDerived) and names.intersection(step.predictors):
            predictors = table.select(step.predictors)
            table = table.with_column(model.expression.derive(predictors, model.variable))
            names.add(step.variable.name)
    return table


def raked_cells(
    sums: FloatArray, cells: IntArray, totals: Sequence[FloatArray]
) -> FloatArray | None:
    """Return the sums of cells, shape (c,), raked to totals; None if that is impossible.

    ``cells`` are the codes of each cell in each margin, shape (margins, c).

    Examples
    --------
    >>> cells = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> totals = [np.array([4.0, 6.0]), np.array([5.0, 5.0])]
    >>> raked_cells(np.ones(4), cells, totals).tolist()
    [2.0, 2.0, 3.0, 3.0]
    """
    raked, distance = fitted_sums(sums, cells, totals, MAX_ROUNDS, TOTALS_TOLERANCE)
    return raked if distance <= TOTALS_TOLERANCE else None


def rounded_cells(
    weights: FloatArray, cell: IntArray, cells: IntArray, totals: Sequence[FloatArray]
) -> FloatArray:
    """Return weights, shape (n,), rounded to the nearest whole numbers that keep totals.

    ``cell`` is that of each weight. A total that is no whole number is rounded, too. If no rounding
    keeps all totals of three or more margins, the search minimises the sum of the distances.
    """
    sums = np.bincount(cell, weights=weights)
    below = np.floor(sums + _ROUNDING_ERROR)
    up = below + _rounded_up(sums - below, below, cells, totals)
    floors = np.floor(weights + _ROUNDING_ERROR)
    rest = weights - floors
    # within a cell the largest remainders are rounded up
    order = np.lexsort((-rest, cell))
    first = np.searchsorted(cell[order], np.arange(len(sums)))
    more = np.rint(up - np.bincount(cell, weights=floors))
    floors[order] += (np.arange(len(order)) - first[cell[order]]) < more[cell[order]]
    return floors


def _rounded_up(
    rest: FloatArray, below: FloatArray, cells: IntArray, totals: Sequence[FloatArray]
) -> BoolArray:
    """Return which cells are rounded up, shape (c,)."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    n = len(rest)
    rows, wanted = [], []
    for codes, total in zip(cells, totals, strict=True):
        rows.append(csr_array((np.ones(n), (codes, np.arange(n))), shape=(len(total), n)))
        wanted.append(np.rint(total) - np.bincount(codes, weights=below, minlength=len(total)))
    margins, goals = vstack(rows), np.concatenate(wanted)
    k = len(goals)
    apart = hstack([margins, eye_array(k), -eye_array(k)]).tocsr()
    solution = milp(
        np.concatenate([np.zeros(n), np.ones(2 * k)]),
        integrality=np.concatenate([np.ones(n), np.zeros(2 * k)]),
        bounds=Bounds(0, np.concatenate([rest > _ROUNDING_ERROR, np.full(2 * k, np.inf)])),
        constraints=LinearConstraint(apart, goals, goals),
        options={"node_limit": MAX_NODES},
    )
    if solution.x is None:
        return np.asarray(rest >= 0.5)
    return np.asarray(solution.x[:n] > 0.5)


@dataclass(frozen=True, kw_only=True)
class Redrawing:
    """The design for new samples, in which all records have the same weight."""

    weight: str
    strata: str | None = None
    """Variable of the strata; one stratum when None."""
    psu: str | None = None
    """Variable of the primary sampling units, whose codes count within strata; records when
    None."""

    def applied(self, table: Table, rng: np.random.Generator) -> Table:
        """Return a new sample of the same size with equal weights."""
        weights = np.asarray(table[self.weight].data, dtype=np.float64)
        stratum, unit = units_of(table, self.strata, self.psu)
        chances = weights * times_drawn(stratum, rng)[unit]
        rows = rng.choice(table.n_rows, size=table.n_rows, p=chances / chances.sum())
        sample = table.resampled(rows)
        variable = table[self.weight].variable
        each = weights.sum() / table.n_rows
        each = each if variable.decimals is None else round(each, variable.decimals)
        return sample.with_column(Column(variable, np.full(table.n_rows, each)))


@dataclass(frozen=True, kw_only=True)
class Replicating(Finisher):
    """The replicate weights of every dataset."""

    name = "replicates"
    weight: str
    strata: str | None = None
    psu: str | None = None
    """As in `Redrawing`; one of them is there."""
    variables: tuple[Variable, ...]
    """The columns, numbers."""
    spreads: tuple[float, ...]
    """f of each column, in (0, 1]."""

    @property
    def needs(self) -> frozenset[str]:
        """The weight, and strata and units of the sample."""
        return frozenset(filter(None, (self.weight, self.strata, self.psu)))

    def check_against(self, schema: Schema) -> None:
        """Raise ValueError unless weight and design are those of a schema; for files."""
        names = {variable.name for variable in schema}
        columns = {variable.name for variable in self.variables}
        if self.needs == {self.weight} or not self.needs <= names or columns & names:
            raise ValueError("replicate weights need a weight and a design")
        if len(self.spreads) != len(columns) or not all(0 < f <= 1 for f in self.spreads):
            raise ValueError("every column of replicate weights needs a spread in (0, 1]")

    def applied(self, table: Table, steps: Sequence[FittedStep], rng: np.random.Generator) -> Table:
        """Return a dataset with its replicate weights behind its other columns."""
        weights = np.asarray(table[self.weight].data, dtype=np.float64)
        stratum, unit = units_of(table, self.strata, self.psu)
        columns = []
        for variable, spread in zip(self.variables, self.spreads, strict=True):
            values = weights * (1 + spread * (times_drawn(stratum, rng)[unit] - 1))
            if variable.decimals is not None:
                values = np.round(values, variable.decimals)
            columns.append(Column(variable, values))
        return table.with_columns(columns)


def units_of(table: Table, strata: str | None, psu: str | None) -> tuple[IntArray, IntArray]:
    """Return the stratum of each primary sampling unit, shape (a,), and the unit of each record.

    Missing codes are strata and units like others.
    """
    h = _codes(table, strata) if strata is not None else np.zeros(table.n_rows, dtype=np.intp)
    i = _codes(table, psu) if psu is not None else np.arange(table.n_rows)
    pairs, unit = np.unique(np.stack([h, i]), axis=1, return_inverse=True)
    return np.asarray(pairs[0]), np.asarray(unit).reshape(-1)


def times_drawn(stratum: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return the factor of the weights of each primary sampling unit, shape (a,).

    A single unit of a stratum, as in half of the data, has the factor 1.

    Examples
    --------
    >>> times_drawn(np.array([0, 0, 1, 1]), np.random.default_rng(1)).tolist()
    [2.0, 0.0, 2.0, 0.0]
    """
    factors = np.ones(len(stratum))
    for h in np.unique(stratum):
        units = np.flatnonzero(stratum == h)
        if len(units) > 1:
            drawn = rng.multinomial(len(units) - 1, np.full(len(units), 1 / len(units)))
            factors[units] = drawn * len(units) / (len(units) - 1)
    return factors


def _codes(table: Table, name: str) -> IntArray:
    column = table[name]
    states = column.missing_state()
    values = np.where(column.is_observed, column.data, 0)
    codes = np.unique(np.stack([values, states]), axis=1, return_inverse=True)[1]
    return np.asarray(codes).reshape(-1)
