"""Comparison of a description with data: columns, levels and ranges that differ, as counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import Problem
from synthesizer.data.sources import from_frame
from synthesizer.data.table import Column, Kind
from synthesizer.data.values import single_value
from synthesizer.extensions.descriptions.describing import ungrouped
from synthesizer.extensions.descriptions.description import Description, VariableFacts, problem
from synthesizer.plan.inputs import read_frame, read_to_describe


def differences(description: Description, data: Any) -> tuple[Problem, ...]:
    """Return how a file or frame differs from a description, without values of the data.

    Examples
    --------
    >>> import pandas as pd
    >>> age = {"kind": "numeric", "range": {"low": 0, "high": 9}}
    >>> data = pd.DataFrame({"age": [1, 2, 30], "sex": ["f", "m", "m"]})
    >>> differences(Description(variables={"age": age}), data)
    ('age: 1 records above the range', 'sex: is not described')
    """
    is_path = isinstance(data, str | Path)
    raw = read_to_describe(Path(data))[0] if is_path else from_frame(data)
    declared: dict[str, Any] = {
        name: facts.model_dump(include={"kind", "date_format"}, exclude_none=True)
        for name, facts in description.variables.items()
        if name in raw.names
    }
    read_with = partial(ungrouped, partial(read_frame, raw))
    encoded = read_with(read_chain_config({"variables": declared})).table
    for name in declared.keys() & {*encoded.names}:  # codes that are not described are no values
        facts, codes = description.variables[name], encoded[name].variable.missing
        codes = (*facts.missing, *(code for code in codes if code not in facts.levels))
        declared[name]["missing"] = [*dict.fromkeys(codes)]
    read = read_with(read_chain_config({"variables": declared}))
    listed: list[Problem] = [*map(Problem.of, read.problems)]
    for name, facts in description.variables.items():
        if name not in raw.names:
            listed.append(problem("absent_column", name=name))
        elif name in read.table:
            listed += _of_column(read.table[name], facts)
    new = (name for name in raw.names if name not in description.variables)
    return (*listed, *(problem("new_column", name=name) for name in new))


def _of_column(column: Column, facts: VariableFacts) -> Iterator[Problem]:
    variable, name = column.variable, column.name
    states = column.missing_state()
    codes = [k for k, code in enumerate(variable.missing, 1) if code not in facts.missing]
    if n := int(np.isin(states, codes).sum()):
        yield problem("unlisted_codes", name=name, count=n)
    values = column.data[column.is_observed]
    if variable.is_coded:
        unlisted = [k for k, x in enumerate(variable.levels) if x not in facts.levels]
        if n := int(np.isin(values, unlisted).sum()):
            yield problem("unlisted_levels", name=name, levels=len(unlisted), count=n)
        if unused := len({*facts.levels} - {*variable.levels}):
            yield problem("unused_levels", name=name, levels=unused)
    elif facts.range is not None:
        low, high = (
            single_value(variable.observed(), str(bound)).data[0]
            for bound in (facts.range.low, facts.range.high)
        )
        high = high + 1 if variable.kind is Kind.DATE else np.nextafter(high, np.inf)
        for code, outside in (("below_range", values < low), ("above_range", values >= high)):
            if n := int(outside.sum()):
                yield problem(code, name=name, count=n)
