"""The design of a survey: samples drawn anew by it, and replicate weights made anew.

Mathur, Si and Reiter (arXiv 2309.09115) synthesise simple random samples of pseudo-populations.
Here a pseudo-population is made by the rescaling bootstrap of Rao, Wu and Yue (1992, Survey
Methodology 18), which takes strata and clusters into account: of the a primary sampling units of a
stratum a - 1 are drawn with replacement, and the weights of those drawn are multiplied by how often
they were, times a / (a - 1). The variance of a weighted total over such draws is the design-based
one (first stage with replacement). A simple random sample of the pseudo-population, in which every
record stands for as many persons as its weight then says, is what the models are fitted to. The
Polya urn of the paper is left out: it would add to the variance between datasets what the
combining rule would have to take off again.

The original's replicate weights say which persons were sampled together, and are not modelled. A
synthetic file that has strata or primary sampling units gets columns of the same names that serve
the same analysis: Rao, Wu and Yue's rescaling bootstrap (1992, Survey Methodology 18) multiplies
the weights of units by b, whose spread over replicates is the design-based variance, and
1 + f (b - 1) by f^2 times it (Beaumont and Patak 2012, On the generalized bootstrap for sample
surveys, ISR 80(1)). With R replicates and c_r the scales of the original's method,
f_r = 1 / sqrt(c_r R), so that sum c_r (t_r - mean)^2 is right: what is written for the original
runs on the synthetic file, whatever its method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.table import Column, FloatArray, IntArray, Schema, Table, Variable


@dataclass(frozen=True, kw_only=True)
class Redrawing:
    """The design by which samples are drawn anew, in which all records then weigh alike."""

    weight: str
    strata: str | None = None
    """Variable of the strata; one stratum when None."""
    psu: str | None = None
    """Variable of the primary sampling units, whose codes count within strata; records when
    None."""

    def applied(self, table: Table, rng: np.random.Generator) -> Table:
        """Return a new sample of as many records, which weigh alike."""
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
class Replicating:
    """The replicate weights that every dataset gets."""

    weight: str
    strata: str | None = None
    psu: str | None = None
    """As in `Redrawing`; one of them is there."""
    variables: tuple[Variable, ...]
    """The columns, numbers."""
    spreads: tuple[float, ...]
    """f of each column, in (0, 1]."""

    def check_against(self, schema: Schema) -> None:
        """Raise ValueError unless weight and design are those of a schema; for files."""
        names = {variable.name for variable in schema}
        design = {name for name in (self.strata, self.psu) if name is not None}
        columns = {variable.name for variable in self.variables}
        if not design or not {self.weight, *design} <= names or columns & names:
            raise ValueError("replicate weights need a weight and a design")
        if len(self.spreads) != len(columns) or not all(0 < f <= 1 for f in self.spreads):
            raise ValueError("every column of replicate weights needs a spread in (0, 1]")

    def applied(self, table: Table, rng: np.random.Generator) -> Table:
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
    """Return what the weights of each primary sampling unit are multiplied by, shape (a,).

    A unit that is alone in its stratum, as in a half of the data, stays as it is.

    Examples
    --------
    >>> times_drawn(np.array([0, 0, 1, 1]), np.random.default_rng(1)).tolist()
    [2.0, 0.0, 2.0, 0.0]
    """
    factors = np.ones(len(stratum))
    for h in np.unique(stratum):
        own = np.flatnonzero(stratum == h)
        if len(own) > 1:
            drawn = rng.multinomial(len(own) - 1, np.full(len(own), 1 / len(own)))
            factors[own] = drawn * len(own) / (len(own) - 1)
    return factors


def _codes(table: Table, name: str) -> IntArray:
    column = table[name]
    states = column.missing_state()
    values = np.where(column.is_observed, column.data, 0)
    found = np.unique(np.stack([values, states]), axis=1, return_inverse=True)[1]
    return np.asarray(found).reshape(-1)
