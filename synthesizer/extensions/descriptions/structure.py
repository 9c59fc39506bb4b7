"""Files of structure alone: models of margins, fitted to the example records of a description.

The datasets depend on the confidential data through the description only: names, kinds, levels of
at least five records, rounded ranges, numbers of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.encoding import recoded
from synthesizer.data.errors import Problems
from synthesizer.data.panel.arrangement import Arrangement
from synthesizer.data.table import Column, Table, Variable
from synthesizer.extensions.descriptions.described import example_of
from synthesizer.extensions.descriptions.describing import describe_table
from synthesizer.extensions.descriptions.description import WORDS, problem
from synthesizer.plan.extended import Fitting, Planned, PlanRequest
from synthesizer.plan.findings import Draft, note


@dataclass(frozen=True, kw_only=True, eq=False)
class StructurePlan(Planned):
    """Example records of a description, and the form of the data."""

    example: Table
    units: int
    arrangement: Arrangement
    schema: Sequence[Variable]

    def fitting(self, fitting: Fitting) -> Fitting:
        """Return the input with example records in place of the confidential ones."""
        columns = [_in_codes(self.example[variable.name], variable) for variable in self.schema]
        some = self.arrangement.modelled(Table(columns))
        table = some.take_units(np.arange(self.units) % some.n_units)
        spec = fitting.spec.relearnt(table, fitting.seed)
        return replace(fitting, table=table, spec=spec, fitted=spec)


def _in_codes(column: Column, variable: Variable) -> Column:
    """Return a column in the codes of the data; levels that these lack become others.

    Numbers have the decimals of the description.
    """
    if not variable.is_coded:
        return recoded(column, replace(variable, decimals=column.variable.decimals))
    where = {label: code for code, label in enumerate(variable.labels)}
    codes = [where.get(x, k % len(variable.levels)) for k, x in enumerate(column.variable.labels)]
    return Column(variable, np.array(codes, dtype=np.int32)[column.data])


def plan(request: PlanRequest) -> Draft[StructurePlan | None]:
    """Return the plan of a file of structure."""
    context = request.context
    if context.config.fidelity != "structure":
        return Draft(None, (problem("structure_is_fidelity"),))
    if not request.is_sound:
        return Draft(None)
    data, config, form = context.data, context.config, context.arrangement
    described, problems = describe_table(data.table, data.layout, config, form), Problems()
    example = problems.attempt(example_of, described, context.registry)
    if example is None:
        return Draft(None, tuple(problems))
    made = StructurePlan(
        example=example,
        units=described.rows,
        arrangement=form,
        schema=tuple(data.table.schema),
        differences=(
            WORDS["structure_alone"],
            WORDS["structure_values"],
            note("results_meaningless"),
        ),
    )
    return Draft(made)
