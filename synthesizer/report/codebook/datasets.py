"""Describe the synthetic datasets of a run from the released files.

Nothing is computed from the confidential data. Kinds and missing codes of the manifest define how
files are read; levels and codes are those that occur in the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synthesizer.data.dialects import RELEASED, FileOptions
from synthesizer.data.errors import DataError
from synthesizer.data.layout import Labelling
from synthesizer.data.missing_codes import missing_codes
from synthesizer.data.panel.forms import PERIOD
from synthesizer.data.plugins import hooks
from synthesizer.data.sources import RawTable, Texts, parquet_files, read_path
from synthesizer.data.spreadsheets import safe_texts
from synthesizer.data.table import BoolArray, FloatArray, Kind
from synthesizer.data.values import (
    MAX_DECIMALS,
    days_of,
    detect_format,
    is_number,
    parse,
    parse_dates,
    rounded,
)
from synthesizer.measures.figure import Result
from synthesizer.report.record import (
    PACKAGES,
    DesignEntry,
    PublicConfig,
    PublicManifest,
    SchemaVariable,
    StepEntry,
    TreesEntry,
)

# Public facts of a manifest.

CAREER = "career."
"""Prefix of attributes of careers, which follow from released variables."""


class ColumnStep(StepEntry):
    """How one column of the files was made; a variable over time has one step per column."""

    of: str
    """The variable of the chain that the column belongs to."""


@dataclass(frozen=True, kw_only=True)
class VariableFacts:
    """How to read a variable, and its declaration."""

    kind: Kind
    """Of the chain; identifiers are not in it."""
    codes: tuple[str, ...] | None = None
    """Missing codes to look for; None if unknown."""
    date_format: str | None = None
    declared: SchemaVariable = field(default_factory=SchemaVariable)
    expression: str = ""
    """Of a derived variable."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The public facts of a run."""

    config: PublicConfig
    steps: tuple[ColumnStep, ...]
    variables: Mapping[str, VariableFacts]
    packages: Mapping[str, str]
    original_rows: int | None
    """Persons of a panel; None unless the steward publishes them."""
    strata: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Steps on each dataset after synthesis."""
    relations: tuple[str, ...] = ()
    """Relations of all rows that synthetic rows keep."""
    differences: tuple[str, ...] = ()
    """How datasets of a low fidelity differ from the original."""
    maker: str | None = None
    """Key of the extension that made whole datasets; None for draws of the chain."""
    extensions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How extensions made datasets, by key."""
    person: str = ""
    """Column of a panel in the long form, like ``time``; of groups, their identifier."""
    unit: str = "person"
    """Unit whose rows belong together."""
    time: str = ""
    career: str = ""
    """Variable of the careers."""
    wide: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of each variable over time in the wide form."""
    design: DesignEntry | None = None
    """Sampling of the records."""

    @property
    def is_redrawn(self) -> bool:
        """Whether each dataset has a new sample by the design of the survey."""
        return self.design is not None and self.design.redrawn

    @property
    def trees(self) -> dict[str, TreesEntry]:
        """How trees drew variables, also inside other models."""
        return {step.variable: step.trees for step in self.steps if step.trees is not None}

    @property
    def is_modelled(self) -> bool:
        """Whether all records were drawn from fitted models, even if changed later."""
        return not any(step.model == self.maker for step in self.steps)

    @cached_property
    def of_extensions(self) -> dict[str, Any]:
        """Facts from the extensions of the run, by name."""
        facts = (hook(self) for _, hook in hooks("codebook", self.extensions))
        return {name: fact for some in facts for name, fact in some.items()}

    @cached_property
    def drawn_after(self) -> list[str]:
        """Numbers and dates that models drew given finished categories."""
        if self.maker is None:
            return []
        drawn = [step for step in self.steps if step.model != self.maker]
        return [step.variable for step in drawn if not Kind(step.kind).is_coded]

    @property
    def copied(self) -> list[str]:
        """Variables with the confidential values."""
        return [step.variable for step in self.steps if step.kept]

    def knows(self, names: Collection[str]) -> bool:
        """Whether all names are released variables, or follow from them."""
        is_panel = self.unit == "person" and bool(self.person or self.wide)
        return all(
            name in self.variables
            or name in self.wide
            or (is_panel and name.startswith(CAREER))
            or (bool(self.wide) and name == self.time)
            for name in names
        )

    def only(self, names: Collection[str]) -> Facts:
        """Return the facts on released variables only."""
        wide = {name: columns for name, columns in self.wide.items() if {*columns} <= {*names}}

        def known(name: str) -> str:
            return name if name in names or name in wide else ""

        return replace(
            self,
            person=known(self.person),
            time=self.time if wide else known(self.time),
            career=known(self.career),
            wide=wide,
            steps=tuple(
                s.model_copy(update={"predictors": tuple(p for p in s.predictors if p in names)})
                for s in self.steps
                if s.variable in names
            ),
            variables={name: facts for name, facts in self.variables.items() if name in names},
            strata=tuple(name for name in self.strata if name in names),
        )


def facts_of(manifest: PublicManifest) -> Facts:
    """Return the facts in the public part of a manifest."""
    panel, groups = manifest.panel, manifest.groups
    wide = {step.variable: step.columns for step in manifest.chain if step.columns}
    chain = manifest.chain
    no_column = wide and panel is not None and panel.career is None  # careers are presence
    if no_column or manifest.groups is not None:  # drop what follows from these
        named = {entry.name for entry in manifest.variables} | {*wide}
        chain = tuple(step for step in chain if step.variable in named)
    steps = tuple(_by_column(chain, wide))
    return Facts(
        config=manifest.config,
        steps=steps,
        variables=_variables(manifest, steps),
        packages={name: manifest.packages[name] for name in PACKAGES if name in manifest.packages},
        original_rows=manifest.original_rows,
        strata=manifest.config.strata,
        after=manifest.after,
        relations=manifest.relations,
        differences=manifest.differences,
        maker=manifest.maker,
        extensions=manifest.extensions,
        person=(groups.column if groups else panel.person if panel else "") or "",
        unit=groups.unit if groups else "person",
        time=(panel.time if panel else None) or (PERIOD if wide else ""),
        career=(panel.career if panel else None) or "",
        wide=wide,
        design=manifest.design,
    )


def _by_column(
    chain: Sequence[StepEntry], wide: Mapping[str, tuple[str, ...]]
) -> Iterator[ColumnStep]:
    """Yield the steps by column; columns of a variable over time follow each other."""
    for step in chain:
        columns_before = [c for name in step.predictors for c in wide.get(name, (name,))]
        columns = wide.get(step.variable, (step.variable,))
        for i, column in enumerate(columns):
            predictors = (*columns_before, *columns[:i])
            changed = {"variable": column, "predictors": predictors, "of": step.variable}
            yield ColumnStep.model_validate(dict(step) | changed)


def _variables(manifest: PublicManifest, steps: Sequence[ColumnStep]) -> dict[str, VariableFacts]:
    """Return the facts on each variable of the manifest."""
    config = manifest.config
    methods = config.method if isinstance(config.method, Mapping) else {}
    entries = {entry.name: entry for entry in manifest.variables}
    kinds = {name: entry.kind for name, entry in entries.items()}
    kinds |= {step.variable: step.kind for step in steps}
    owners = {step.variable: step.of for step in steps}
    variables = {}
    for name, kind in kinds.items():
        of_owner = config.variables.get(owners.get(name, name), SchemaVariable())
        of_column = config.variables.get(name, SchemaVariable())
        declared = of_owner.model_copy(update=of_column.model_dump(exclude_unset=True))
        entry = entries.get(name)
        if entry is not None:
            labels = {**entry.level_labels, **declared.level_labels}
            label = declared.label or entry.label
            declared = declared.model_copy(update={"label": label, "level_labels": labels})
        codes = [*declared.missing, *(entry.missing if entry else ())]
        is_known = entry is not None or "missing" in declared.model_fields_set
        variables[name] = VariableFacts(
            kind=Kind(kind),
            codes=tuple(dict.fromkeys(codes)) if is_known else None,
            date_format=(entry.date_format if entry else None) or declared.date_format,
            declared=declared,
            expression=_expression(declared, str(methods.get(name, ""))),
        )
    return variables


def _expression(declared: SchemaVariable, method: str) -> str:
    """Return the expression of a derived variable, also from a method that begins with ~."""
    methods = (text[1:] for text in (declared.method, method) if text.startswith("~"))
    return (declared.derived or next(methods, "")).strip()


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown, n_more = list(names[:most]), len(names) - most
    if n_more > 0:
        shown.append(f"{n_more} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


IDENTIFIER = VariableFacts(kind=Kind.ID)
"""A column outside the chain."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Content of one variable in one or more datasets."""

    kind: Kind
    levels: Mapping[str, int] = field(default_factory=dict)
    """Records of each level; empty for numbers."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Records of each missing code."""
    low: float | None = None
    """Smallest number, or day since 1970-01-01; None without one."""
    high: float | None = None
    decimals: int | None = None
    """Of the numbers, 0 for integers; None without a fixed precision."""
    date_format: str | None = None
    labelling: Labelling | None = None
    """Labels and codes of a labelled file."""

    def with_(self, second: Seen) -> Seen:
        """Return the content of both datasets together."""
        some = [seen for seen in (self, second) if seen.low is not None]
        fixed = [seen.decimals for seen in some if seen.decimals is not None]
        return Seen(
            kind=self.kind,
            levels=Counter(self.levels) + Counter(second.levels),
            missing=Counter(self.missing) + Counter(second.missing),
            low=min((seen.low for seen in some if seen.low is not None), default=None),
            high=max((seen.high for seen in some if seen.high is not None), default=None),
            decimals=max(fixed) if fixed and len(fixed) == len(some) else None,
            date_format=self.date_format or second.date_format,
            labelling=self.labelling,
        )


class FileFormat(Result):
    """How to open a dataset; delimiter, encoding and decimal mark are for CSV files."""

    type: str
    delimiter: str | None = None
    encoding: str | None = None
    decimal_mark: str = "."


@dataclass(frozen=True, kw_only=True)
class Released:
    """Content of all datasets: file names, rows of each, format, and variables in order.

    ``units`` are the persons of each if persons have several rows, else its rows.
    """

    files: tuple[str, ...]
    rows: tuple[int, ...]
    units: tuple[int, ...]
    format: FileFormat
    variables: Mapping[str, Seen]


def read_released(paths: Sequence[Path], facts: Facts) -> Released:
    """Return the content of datasets, which are read one after the other to save memory.

    Files that contradict the manifest are one DataError with all problems.
    """
    csv = facts.config.data
    variables: dict[str, Seen] = {}
    rows, units, problems, form = [], [], [], FileFormat(type="csv")
    for path in paths:
        n_rows = n_units = 0
        for piece in parquet_files(path) or [path]:
            # datasets have the declared CSV format of the source
            how = FileOptions(delimiter=csv.delimiter, encoding=csv.encoding)
            raw = read_path(piece, min_rows=1, **(RELEASED | how))
            if variables and set(raw.names) != set(variables):
                problems.append(f"{piece}: has other columns than {paths[0].name}; run again")
                continue
            seen, faults = _dataset(raw, piece, facts)
            problems += faults
            n_rows += raw.n_rows
            n_units += _persons(raw, facts.person) or raw.n_rows
            form = _format(raw) if not variables else form
            variables = {n: variables[n].with_(s) if n in variables else s for n, s in seen.items()}
        rows.append(n_rows)
        units.append(n_units)
    if problems:
        raise DataError(dict.fromkeys(problems))
    names = tuple(path.name for path in paths)
    return Released(
        files=names, rows=tuple(rows), units=tuple(units), format=form, variables=variables
    )


def _persons(raw: RawTable, person: str) -> int:
    """Return the number of synthetic persons; 0 without a column of persons."""
    return next((int(t.occurs.sum()) for t in raw.texts if t.name == person), 0)


def _format(raw: RawTable) -> FileFormat:
    csv = raw.layout.csv
    if csv is None:
        return FileFormat(type=raw.layout.form)
    marks = {texts.format.mark for texts in raw.texts}
    kind = "csv.gz" if raw.layout.compressed else "csv"
    mark = "," if "," in marks else "."
    return FileFormat(type=kind, delimiter=csv.delimiter, encoding=csv.encoding, decimal_mark=mark)


def _dataset(raw: RawTable, path: Path, facts: Facts) -> tuple[dict[str, Seen], list[str]]:
    """Return the content of each column, and columns that contradict the manifest."""
    absent = [step.variable for step in facts.steps if step.variable not in raw.names]
    problems = [f"{path}: column {name!r} of the manifest is missing; run again" for name in absent]
    seen = {}
    for texts in raw.texts:
        try:
            content = look(texts, facts.variables.get(texts.name, IDENTIFIER))
            seen[texts.name] = replace(content, labelling=texts.labelling)
        except ValueError as error:
            problems.append(f"{path}: column {texts.name!r} {error}; run again")
    return seen, problems


def look(texts: Texts, variable: VariableFacts) -> Seen:
    """Return the content of one column; raise ValueError if it is of another kind."""
    codes = _codes(texts, variable)
    missing = texts.among(codes)
    if variable.kind is Kind.NUMERIC:
        return _numeric(texts, missing, codes)
    counts = _counts(texts, missing)
    observed = texts.occurs & ~missing
    if variable.kind is Kind.ID:
        return Seen(kind=variable.kind, missing=counts)
    if variable.kind.is_coded:
        return Seen(kind=variable.kind, levels=_counts(texts, observed), missing=counts)
    if not observed.any():
        return Seen(kind=variable.kind, missing=counts)
    days, form = _days(texts, observed, variable.date_format)
    whole = bool((days == np.floor(days)).all())
    low, high = float(days.min()), float(days.max())
    decimals = 0 if whole else None
    return Seen(
        kind=variable.kind, missing=counts, low=low, high=high, decimals=decimals, date_format=form
    )


def _codes(texts: Texts, variable: VariableFacts) -> list[str]:
    """Return the missing codes to look for, always with the empty cell."""
    codes = variable.codes
    if codes is None:
        codes = missing_codes(texts, variable.kind)
    in_file = () if texts.labelling is None else texts.labelling.missing
    nulls = [] if texts.null is None else [texts.null]
    return [*codes, *safe_texts(codes), *in_file, "", *nulls]


def _numeric(texts: Texts, missing: BoolArray, codes: Sequence[str]) -> Seen:
    observed = texts.occurs & ~missing
    try:
        numbers = parse(texts.values.filter(pa.array(observed)), texts.format)
    except pa.ArrowInvalid:
        raise ValueError("is numeric by the manifest but contains other texts") from None
    written = pa.array(codes, pa.string())
    numeric = parse(written.filter(pa.array(is_number(written, texts.format))), texts.format)
    same = np.isin(numbers, numeric)  # a typed file writes the code -8.0 as -8
    if same.any():
        missing, numbers = missing.copy(), numbers[~same]
        missing[np.flatnonzero(observed)[same]] = True
    counts = _counts(texts, missing)
    if not len(numbers):
        return Seen(kind=Kind.NUMERIC, missing=counts)
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite([low, high]).all():
        raise ValueError("contains infinite numbers")
    return Seen(kind=Kind.NUMERIC, missing=counts, low=low, high=high, decimals=_decimals(numbers))


def _counts(texts: Texts, mask: BoolArray) -> dict[str, int]:
    """Return the records of each text; an absent value is an empty text."""
    mask = mask & texts.occurs
    counts = texts.counts[mask].tolist()
    records: Counter[str] = Counter()
    for text, count in zip(texts.picked(mask), counts, strict=True):
        records["" if text == texts.null else text] += count
    return dict(records)


def _decimals(values: FloatArray) -> int | None:
    fits = (d for d in range(MAX_DECIMALS + 1) if (rounded(values, d) == values).all())
    return next(fits, None)


def _days(texts: Texts, observed: BoolArray, form: str | None) -> tuple[FloatArray, str | None]:
    """Return days since 1970-01-01, and the date format of a text file."""
    native = texts.native
    if native is not None and (pa.types.is_date(native.type) or pa.types.is_timestamp(native.type)):
        return days_of(native.filter(pa.array(observed))), None
    values = texts.values.filter(pa.array(observed))
    if form is None or texts.labelling is not None:
        form = next(iter(detect_format(values)), "%Y-%m-%d")
    _, days, wrong = parse_dates(values, form)
    if wrong.any():
        raise ValueError("is a date by the manifest but contains other texts")
    return days, form.removeprefix("unpadded:")
