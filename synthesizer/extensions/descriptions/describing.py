"""Descriptions of data, configurations and codebooks: declared facts, and facts of many records.

A level or missing code from the data needs five records (persons of a panel). A range is rounded
outwards from the fifth smallest and largest value, as in top and bottom coding (Hundepool et al.
2012, Statistical Disclosure Control, section 3.3), so no end is the value of a record. Numbers of
one sign keep it: what divides by them, or takes logarithms, runs on both files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from synthesizer.config.keys import ChainConfig, Config, RareConfig, RelationsConfig, VariableConfig
from synthesizer.config.reading import load_config
from synthesizer.data.after import with_blank
from synthesizer.data.errors import DataError
from synthesizer.data.expressions import Expression
from synthesizer.data.id_patterns import IdPattern
from synthesizer.data.layout import CsvLayout, Labelling, Layout
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, Frame
from synthesizer.data.panel.view import period_labels
from synthesizer.data.relations import Relation
from synthesizer.data.sources import RawTable, from_frame
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table
from synthesizer.data.values import finite_number, format_numbers, rounded, single_value
from synthesizer.extensions.descriptions.description import (
    MIN_HOLDERS,
    ColumnFacts,
    Description,
    FileFacts,
    RangeFacts,
    VariableFacts,
    variable_of,
)
from synthesizer.jobs.starter import relations_of
from synthesizer.measures.measure_options import Part
from synthesizer.models.histories.history import panel_of
from synthesizer.plan.arrange import form_of
from synthesizer.plan.inputs import Input, by_column, read_frame, read_input, read_to_describe

SEEN = "as written in the data"
HELD = f"in all rows of the data, at least {MIN_HOLDERS} of them"
BANDS = ((5, "1 to 4"), (20, "5 to 19"), (100, "20 to 99"))
"""Upper limit and words of numbers of levels that are left out."""
MIN_YEARS = 2
"""Range of dates, in years, that is rounded to years instead of months."""
DAYS_A_YEAR = 365.25
MAX_DIGITS = 15
"""Most decimals of a range."""


def describe(data: Any, *, codebook: bool = False) -> Description:
    """Return the description of a file, a frame, a configuration or a codebook.

    Parameters
    ----------
    data : path, DataFrame or Config
        A data file; a configuration (YAML), whose declarations count as declared; a frame; or, with
        ``codebook``, a codebook.json of a run or a CSV file of variable, label and levels.

    Raises
    ------
    DataError, ConfigError
        With every problem of the data or of the configuration.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": list("fm") * 30, "age": [*range(20, 80)]})
    >>> described = describe(people)
    >>> described.variables["age"].range, described.variables["sex"].levels
    (RangeFacts(low=20.0, high=80.0), ('f', 'm'))
    """
    if codebook:
        from synthesizer.extensions.descriptions.codebooks import of_codebook

        return of_codebook(Path(data))
    if isinstance(data, str | Path):
        path = Path(data)
        is_config = path.suffix.lower() in (".yaml", ".yml")
        data = load_config(path) if is_config else read_to_describe(path)[0]
    if isinstance(data, Config):
        return _of_input(ungrouped(read_input, data), data)
    raw = data if isinstance(data, RawTable) else from_frame(data)
    return _of_input(ungrouped(partial(read_frame, raw), ChainConfig()), ChainConfig())


def ungrouped(read: Callable[[Any], Input], config: ChainConfig) -> Input:
    """Return the data as read, with all levels and missing codes: a run would group rare ones."""
    return read(config.model_copy(update={"rare": RareConfig.model_construct(min_count=0)}))


def _of_input(read: Input, config: ChainConfig) -> Description:
    """Return the description of data as read.

    Raises
    ------
    DataError
        With every problem of the data.
    """
    if read.problems:
        raise DataError(read.problems)
    dropped = {*config.dropped(read.columns.names or ()), *read.left_out}
    table = read.table.select(n for n in read.table.names if n not in dropped)
    arrangement = form_of(config, table)
    relations = _relations(table, arrangement, config)
    described = describe_table(table, read.layout, config, arrangement, relations)
    how = {"columns": f"without {', '.join(sorted(dropped))}"} if dropped else {}
    return described.model_copy(update={"from_data": {**described.from_data, **how}})


def _relations(table: Table, arrangement: Arrangement, config: ChainConfig) -> Sequence[Relation]:
    """Return the relations of all rows, of a table or between the variables of a panel."""
    panel_keys, is_plain = config.panel, config.arranging is None
    # relations of longitudinal variables concern no column of a wide file
    if config.relations == "none" or not (is_plain or (panel_keys and not panel_keys.wide)):
        return ()
    declared = {n for n, one in config.variables.items() if one.derived or one.follows}
    for one in config.variables.values():  # no relation the other way round
        declared |= {one.follows or ""}
        declared |= Expression.parse(one.derived).names if one.derived else set()
    free = config.relations.free if isinstance(config.relations, RelationsConfig) else ()
    return relations_of(table, arrangement, panel_keys, drawn={*declared, *free})[0]


def describe_table(
    table: Table,
    layout: Layout,
    config: ChainConfig,
    arrangement: Arrangement = PLAIN,
    relations: Iterable[Relation] = (),
) -> Description:
    """Return the description of an encoded table in the form of its source.

    ``relations`` hold in all rows. What ``config`` declares, such as the key that groups rows, is
    declared; all else is from the data.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> year = Variable(name="year", kind=Kind.NUMERIC, decimals=0)
    >>> table = Table([Column(year, np.arange(1950.0, 2010.0))])
    >>> layout = Layout(form="csv", names=("year",))
    >>> describe_table(table, layout, ChainConfig()).variables["year"].range
    RangeFacts(low=1950.0, high=2010.0)
    """
    person, time = arrangement.person_column, arrangement.frame.time
    owners = None if person is None else np.unique(table[person].data, return_inverse=True)[1]
    settings = by_column(config, config.variables, table.names)
    layout = layout.select(table.names)
    columns = _columns(layout, table, owners)
    same = getattr(arrangement, "constant", ()) if owners is not None else ()
    variables = {}
    for column in table.columns:
        declared = settings.get(column.name) or VariableConfig()
        labels = layout.labellings.get(column.name) or Labelling()
        facts = _variable(column, owners, declared, labels)
        if column.name == time:
            facts["range"] = None
            facts["from_data"].pop("range", None)
        if column.name in same:
            facts["constant"], facts["from_data"]["constant"] = True, "in all rows of each"
        facts["column"] = columns[column.name]
        variables[column.name] = VariableFacts.model_validate(facts)
    public = [r for r in relations if r.names <= {*table.names} and _is_public(r, variables)]
    for one in public:
        facts_of = variables[one.name]
        if one.key in ("derived", "follows") and getattr(facts_of, one.key) is None:
            variables[one.name] = _related(facts_of, one, table, owners)
    rules = [
        {"if": r.text, "then": {r.name: r.value}}
        for r in public
        if r.key == "rules" and not any(variables[n].follows == r.name for n in r.names)
    ]
    forbid = [r.text for r in public if r.key == "forbid"]
    shape = _shape(table, arrangement, config)
    how = shape.pop("from_data", {}) | {"rows": "rounded", "file": "as read", "column": "as read"}
    how |= {k: HELD for k, entries in (("rules", rules), ("forbid", forbid)) if entries}
    of_file = {
        "rows": _rounded(table.n_rows if owners is None else int(owners.max()) + 1),
        "file": _file(layout),
        "variables": variables,
        "rules": (*config.rules, *rules),
        "forbid": (*config.forbid, *forbid),
        "from_data": how,
    }
    return Description.model_validate(of_file | shape)


def _is_public(relation: Relation, variables: Mapping[str, VariableFacts]) -> bool:
    """Whether a relation can be written, and names no level that is left out."""
    table = Table(Column.zeros(variable_of(n, variables[n]), 1) for n in relation.names)
    variable = table[relation.name].variable
    try:
        if relation.key == "derived":
            Expression.parse(relation.text).derive(table, with_blank(variable))
        elif relation.key in ("forbid", "rules"):
            Expression.parse(relation.text).condition(table)
        if relation.key == "rules":
            single_value(variable, relation.value)
    except DataError:
        return False
    return relation.key != "steps"


def _rounded(count: int) -> int:
    """Return a count rounded to two digits, at least to tens.

    Examples
    --------
    >>> [_rounded(count) for count in (3, 87, 1_234, 20_190)]
    [10, 90, 1200, 20000]
    """
    unit = int(10 ** max(1, len(str(count)) - 2))
    return max(unit, round(count / unit) * unit)


def _facts(part: Any, kind: type[Part]) -> dict[str, Any]:
    """Return the facts of a part of a layout that a description has, too."""
    return {key: value for key, value in vars(part).items() if key in kind.model_fields}


def _file(layout: Layout) -> FileFacts:
    csv = layout.csv or CsvLayout()
    facts = _facts(layout, FileFacts) | _facts(csv, FileFacts)
    facts["labelled"] = bool(layout.labelled)
    facts["quoted_names"] = bool(csv.header) and all(one.always for one in csv.header)
    return FileFacts(**facts)


def _columns(layout: Layout, table: Table, owners: IntArray | None) -> dict[str, dict[str, Any]]:
    """Return how each column is stored; codes are missing codes that are public, too."""
    stored: dict[str, dict[str, Any]] = {name: {} for name in layout.names}
    quoting = layout.csv.quoting if layout.csv is not None else ()
    parts: list[Sequence[Any]] = [layout.frame, layout.labelled, quoting]
    for part in parts:
        for name, one in zip(layout.names, part, strict=False):
            facts = _facts(one, ColumnFacts)
            codes = {*_held_codes(table[name], owners), *getattr(one, "labels", ())}
            for key in {"bare", "missing"} & facts.keys():
                facts[key] = [code for code in facts[key] if code in codes]
            stored[name] |= facts
    for field in layout.types or ():
        stored[field.name]["type"] = str(field.type)
    return stored


def _held_codes(column: Column, owners: IntArray | None) -> set[str]:
    """Return the missing codes of at least `MIN_HOLDERS` records, or persons."""
    codes = column.variable.missing
    counts = _counts(column.missing_state(), owners, 1 + len(codes))[1:]
    return {codes[k] for k in np.flatnonzero(counts >= MIN_HOLDERS)}


def _counts(codes: IntArray, owners: IntArray | None, size: int) -> IntArray:
    """Return the number of records, or of persons, with each code."""
    if owners is not None:
        codes = np.unique(np.stack([codes, owners]), axis=1)[0]
    return np.bincount(codes, minlength=size)


def _variable(
    column: Column, owners: IntArray | None, declared: VariableConfig, labels: Labelling
) -> dict[str, Any]:
    """Return the facts of one variable, each declared or with its origin."""
    column = column if declared.decimals is not None else _of_many(column, owners)
    variable = column.variable
    how = {} if declared.kind is not None else {"kind": "inferred from the values"}
    low, high = labels.missing_range or (math.inf, -math.inf)
    in_range = {x for x in labels.missing if low <= (finite_number(x) or 0.0) <= high}
    known = {*(declared.missing or ()), *({*labels.missing} - in_range), *labels.labels}
    numbers = {finite_number(code) for code in known} - {None}  # -8 is written as -8.0
    known |= {code for code in variable.missing if finite_number(code) in numbers}
    held = known | _held_codes(column, owners)
    missing = [code for code in variable.missing if code in held]
    if not {*missing} <= known:
        how["missing"] = f"of at least {MIN_HOLDERS} records"
    usual = {"style": "fixed" if variable.decimals == 0 else "plain"}
    storage = {k: str(v) for k, v in variable.storage.items() if usual.get(k) != v}
    if storage.get("null") not in missing:
        storage.pop("null", None)
    storage.pop("pattern", None)
    written: dict[str, Any] = {"date_format": storage.pop("date_format", None), "style": storage}
    written["decimals"] = variable.decimals if variable.kind is Kind.NUMERIC else None
    how |= {
        key: SEEN
        for key, value in written.items()
        if value not in (None, {}) and getattr(declared, key, None) is None
    }
    facts: dict[str, Any] = {"levels": (), "range": None, **written}
    if variable.is_coded:
        facts["levels"], how["levels"] = _levels(column, owners, declared, {*labels.labels})
    elif variable.kind is not Kind.ID and not declared.derived:
        facts["range"], how["range"] = _range(column, owners)
    elif pattern := IdPattern.of_storage(variable.storage):
        facts["pattern"], how["pattern"] = pattern.parts, "of nearly all identifiers"
    shown = {*missing, *facts["levels"], *labels.labels}
    named = {**labels.labels, **declared.level_labels}
    return facts | {
        "kind": variable.kind,
        "label": declared.label or labels.label,
        "unit": declared.unit or "",
        "missing": missing,
        "level_labels": {code: text for code, text in named.items() if code in shown},
        "derived": declared.derived,
        "follows": declared.follows,
        "from_data": {key: words for key, words in how.items() if words},
    }


def _of_many(column: Column, owners: IntArray | None) -> Column:
    """Return a column with the decimals and style of at least `MIN_HOLDERS` records, or persons.

    The form of all cells may be that of one: 5,000 whole numbers and 12.345 have three decimals.
    """
    variable, style = column.variable, str(column.variable.storage.get("style", "plain"))
    if variable.kind is not Kind.NUMERIC or style.startswith(("fixed", "e", "E")):
        return column
    rows = column.is_observed
    values: FloatArray = np.asarray(column.data, dtype=np.float64)[rows]
    owners = None if owners is None else owners[rows]
    written = np.sum([rounded(values, d) != values for d in range(MAX_DIGITS + 1)], axis=0)
    most = -_fifth(-written, owners)
    decimals = int(most) if most <= MAX_DIGITS else None
    texts = [format_numbers(values, decimals, one) for one in (style, "plain")]
    odd = np.asarray(pc.not_equal(*texts))
    if math.isnan(_fifth(values[odd], None if owners is None else owners[odd])):
        style = "fixed" if decimals == 0 else "plain"
    storage = {**variable.storage, "style": style}
    return replace(column, variable=replace(variable, decimals=decimals, storage=storage))


def _levels(
    column: Column, owners: IntArray | None, declared: VariableConfig, labelled: set[str]
) -> tuple[list[str], str]:
    """Return the levels that are declared or of many, and the origin of the others in words."""
    levels = column.variable.levels
    if declared.levels is not None or declared.public or column.variable.kind is Kind.BOOLEAN:
        return [*levels], "" if declared.levels or declared.public else "of a yes-no variable"
    codes: IntArray = column.data.astype(np.int64)[column.is_observed]
    counts = _counts(codes, None if owners is None else owners[column.is_observed], len(levels))
    known = labelled | {levels[code] for code in np.flatnonzero(counts >= MIN_HOLDERS)}
    shown = [level for level in levels if level in known]
    shown += sorted(labelled - {*levels, *column.variable.missing})
    gone = sum(level not in shown for level in levels)
    if not gone and {*shown} <= labelled:
        return shown, ""
    band = next((words for most, words in BANDS if gone < most), "100 or more")
    words = f"of at least {MIN_HOLDERS} records"
    return shown, f"{words}; {band} rare levels are left out" if gone else words


def _range(column: Column, owners: IntArray | None) -> tuple[RangeFacts | None, str]:
    """Return the range rounded outwards from the fifth values of either end, and how."""
    rows = column.is_observed
    values = np.asarray(column.data, dtype=np.float64)[rows]
    owners = None if owners is None else owners[rows]
    low, high = sorted((_fifth(values, owners), -_fifth(-values, owners)))
    if math.isnan(low):
        return None, f"fewer than {MIN_HOLDERS} records; declare it"
    if column.variable.kind is Kind.DATE:
        return _date_range(low, high)
    span = high - low or abs(low)
    unit = 10.0 ** math.floor(math.log10(span)) if span else 1.0
    decimals = column.variable.decimals
    unit = max(unit, 10.0 ** -(MAX_DIGITS if decimals is None else decimals))
    first, last = math.floor(low / unit), math.ceil(high / unit)
    last += first == last
    ends = [first * unit, last * unit]
    if ends[0] <= 0 < values.min():
        ends[0] = 10.0 ** math.floor(math.log10(low))
    if values.max() < 0 <= ends[1]:
        ends[1] = -(10.0 ** math.floor(math.log10(-high)))
    low, high = (float(f"{end:.15g}") for end in ends)
    return RangeFacts(low=low, high=high), f"rounded outwards to {unit:,.12g}"


def _fifth(values: FloatArray, owners: IntArray | None) -> float:
    """Return the fifth smallest value, of one a person; NaN with fewer."""
    if owners is not None:
        smallest = np.full(int(owners.max(initial=-1)) + 1, np.inf)
        np.minimum.at(smallest, owners, values)
        values = smallest[np.isfinite(smallest)]
    is_short = len(values) < MIN_HOLDERS
    return math.nan if is_short else float(np.partition(values, MIN_HOLDERS - 1)[MIN_HOLDERS - 1])


def _date_range(low: float, high: float) -> tuple[RangeFacts, str]:
    """Return days since 1970 as dates rounded outwards to years, or to months if they are few."""
    unit, words = ("Y", "years") if high - low > MIN_YEARS * DAYS_A_YEAR else ("M", "months")
    ends = np.floor([low, high]).astype("datetime64[D]").astype(f"datetime64[{unit}]")
    last = (ends[1] + 1).astype("datetime64[D]") - 1
    bounds = RangeFacts(low=str(ends[0].astype("datetime64[D]")), high=str(last))
    return bounds, f"rounded outwards to {words}"


def _related(
    facts: VariableFacts, one: Relation, table: Table, owners: IntArray | None
) -> VariableFacts:
    """Return the facts of a variable that a relation of all rows computes."""
    how = {**facts.from_data, one.key: HELD}
    update: dict[str, Any] = {one.key: one.text, "from_data": how}
    if one.key == "derived":
        update["range"] = None
        how.pop("range", None)
    elif pairs := _pairs(table[one.text], table[one.name], owners):
        update["pairs"], how["pairs"] = pairs, f"of at least {MIN_HOLDERS} records"
    return facts.model_copy(update=update)


def _pairs(code: Column, label: Column, owners: IntArray | None) -> dict[str, str]:
    """Return the level or missing code of each code that many records, or persons, have.

    Missing codes of the first variable may have several.
    """
    if not (code.is_coded and label.is_coded):
        return {}
    rows = np.stack([code.data, label.data, np.arange(len(code)) if owners is None else owners])
    pairs, counts = np.unique(np.unique(rows, axis=1)[:2], axis=1, return_counts=True)
    single = np.bincount(pairs[0])[pairs[0]] == 1
    labels, others = code.variable.labels, label.variable.labels
    return {labels[i]: others[j] for i, j in pairs[:, single & (counts >= MIN_HOLDERS)].T}


def _shape(table: Table, arrangement: Arrangement, config: ChainConfig) -> dict[str, Any]:
    """Return the key that groups rows, the sizes of units and the periods; {} of single rows."""
    frame = arrangement.frame
    if not isinstance(frame, Frame):
        return {}
    index, how = panel_of(arrangement.modelled(table)).index, {"groups": "as read"}
    key = config.arranged_by or "panel"
    options = getattr(config, key).model_dump(mode="json", by_alias=True, exclude_unset=True)
    facts: dict[str, Any] = {"groups": {key: options}, "from_data": how}
    common = np.flatnonzero(np.bincount(index.counts) >= MIN_HOLDERS)
    if len(common):
        facts["rows_per_unit"] = {"low": int(common[0]), "high": int(common[-1])}
        how["rows_per_unit"] = f"sizes of at least {MIN_HOLDERS} {arrangement.unit}s"
    if frame.time in table.names:
        counts = np.bincount(index.period, minlength=index.n_periods)
        texts = zip(_texts(frame.periods), counts, strict=True)
        facts["periods"] = [text for text, n in texts if n >= MIN_HOLDERS]
        how["periods"] = f"of at least {MIN_HOLDERS} {arrangement.unit}s"
    return facts


def _texts(periods: Column) -> Sequence[str]:
    """Return periods as labels, numbers or dates YYYY-MM-DD."""
    if periods.variable.kind is Kind.DATE:
        return [str(day) for day in np.floor(periods.data).astype("datetime64[D]")]
    return period_labels(periods) if periods.is_coded else [f"{x:.15g}" for x in periods.data]
