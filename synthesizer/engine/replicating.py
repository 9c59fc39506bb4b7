"""Replicate weights of a synthetic file, made anew from its own strata, units and weight.

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

from synthesizer.data.table import Column, Schema, Table, Variable
from synthesizer.engine.redrawing import times_drawn, units_of


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
