"""Describe the synthetic datasets of a run by reading back the released files.

Nothing is learnt here from the confidential data. What is known of a variable (its kind, its
missing codes) only says how to read it; levels and codes are named because they are in the files.
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
    PublicVariable,
    StepEntry,
    TreesEntry,
)

# The facts of a manifest that researchers who get the datasets may know.

CAREER = "career."
"""Attributes of the careers have names that begin so; they follow from what is released."""


class ColumnStep(StepEntry):
    """How one column of the files was made; columns of one variable over time have a step each."""

    of: str
    """The variable of the chain that the column belongs to."""


@dataclass(frozen=True, kw_only=True)
class VariableFacts:
    """How to read a variable, and what the steward wrote about it."""

    kind: Kind
    """Of the chain; identifiers take no part in it."""
    codes: tuple[str, ...] | None = None
    """Missing codes to look for; they are named only where they occur. None: not known."""
    date_format: str | None = None
    declared: PublicVariable = field(default_factory=PublicVariable)
    expression: str = ""
    """Of a derived variable."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts of a run that researchers may know."""

    config: PublicConfig
    steps: tuple[ColumnStep, ...]
    variables: Mapping[str, VariableFacts]
    packages: Mapping[str, str]
    original_rows: int | None
    """Of a panel it counts persons; None unless the steward publishes them."""
    strata: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """What was done to every dataset after synthesis."""
    maker: str | None = None
    """The key of what made whole datasets; None where the chain's draws are released."""
    extensions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How extensions made datasets, by key."""
    person: str = ""
    """Column of a panel in the long form, as ``time``; of groups, what their persons share."""
    unit: str = "person"
    """Whose rows belong together."""
    time: str = ""
    career: str = ""
    """The variable of its careers."""
    wide: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of each variable over time in the wide form."""
    design: DesignEntry | None = None
    """How the records of the data were sampled."""

    @property
    def is_redrawn(self) -> bool:
        """Whether the sample of every dataset was drawn anew by the design of the survey."""
        return self.design is not None and self.design.redrawn

    @property
    def trees(self) -> dict[str, TreesEntry]:
        """How trees drew the variables that they drew, also inside other models."""
        return {step.variable: step.trees for step in self.steps if step.trees is not None}

    @property
    def is_modelled(self) -> bool:
        """Whether every record was drawn from fitted models, even if it changed later."""
        return not any(step.model == self.maker for step in self.steps)

    @cached_property
    def of_extensions(self) -> dict[str, Any]:
        """What extensions that made the datasets tell researchers, by name."""
        told = (hook(self) for _, hook in hooks("codebook", self.extensions))
        return {name: fact for facts in told for name, fact in facts.items()}

    @cached_property
    def drawn_after(self) -> list[str]:
        """Numbers and dates, which models drew given the categories that had been made."""
        if self.maker is None:
            return []
        drawn = [step for step in self.steps if step.model != self.maker]
        return [step.variable for step in drawn if not Kind(step.kind).is_coded]

    @property
    def kept(self) -> list[str]:
        """Variables whose values are the confidential ones."""
        return [step.variable for step in self.steps if step.kept]

    def knows(self, names: Collection[str]) -> bool:
        """Whether released variables, or what follows from them, have all these names."""
        is_panel = self.unit == "person" and bool(self.person or self.wide)
        return all(
            name in self.variables
            or name in self.wide
            or (is_panel and name.startswith(CAREER))
            or (bool(self.wide) and name == self.time)
            for name in names
        )

    def only(self, names: Collection[str]) -> Facts:
        """Return the facts on released variables, whatever else the manifest names."""
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
                step.model_copy(
                    update={"predictors": tuple(p for p in step.predictors if p in names)}
                )
                for step in self.steps
                if step.variable in names
            ),
            variables={name: facts for name, facts in self.variables.items() if name in names},
            strata=tuple(name for name in self.strata if name in names),
        )


def facts_of(manifest: PublicManifest) -> Facts:
    """Return the facts in the public part of a manifest."""
    panel, groups = manifest.panel, manifest.groups
    wide = {step.variable: step.columns for step in manifest.chain if step.columns}
    chain = manifest.chain
    no_column = wide and panel is not None and panel.career is None  # who is there when
    if no_column or manifest.groups is not None:  # what follows from these
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
    """Yield the steps by column: those of one variable over time were made one after the other."""
    for step in chain:
        columns_before = [c for name in step.predictors for c in wide.get(name, (name,))]
        columns = wide.get(step.variable, (step.variable,))
        for place, column in enumerate(columns):
            predictors = (*columns_before, *columns[:place])
            changed = {"variable": column, "predictors": predictors, "of": step.variable}
            yield ColumnStep.model_validate(dict(step) | changed)


def _variables(manifest: PublicManifest, steps: Sequence[ColumnStep]) -> dict[str, VariableFacts]:
    """Return the facts on every variable in the manifest."""
    config = manifest.config
    methods = config.method if isinstance(config.method, Mapping) else {}
    entries = {entry.name: entry for entry in manifest.variables}
    kinds = {name: entry.kind for name, entry in entries.items()}
    kinds |= {step.variable: step.kind for step in steps}
    owners = {step.variable: step.of for step in steps}
    variables = {}
    for name, kind in kinds.items():
        of_owner = config.variables.get(owners.get(name, name), PublicVariable())
        of_column = config.variables.get(name, PublicVariable())
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


def _expression(declared: PublicVariable, method: str) -> str:
    """Return the expression of a derived variable, which may stand as its method after a ~."""
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
"""A column that takes no part in the chain."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One variable in one or more datasets."""

    kind: Kind
    levels: Mapping[str, int] = field(default_factory=dict)
    """Records with each level that occurs; none of numbers."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Records with each missing code that occurs."""
    low: float | None = None
    """Smallest number, or day since 1970-01-01; None where there is none."""
    high: float | None = None
    decimals: int | None = None
    """Of the numbers, 0 for whole ones; None where they have no fixed precision."""
    date_format: str | None = None
    labelling: Labelling | None = None
    """What a file with labels says of it."""

    def with_(self, second: Seen) -> Seen:
        """Return both datasets together."""
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
    """How to open a dataset; delimiter, encoding and decimal mark are those of CSV files."""

    type: str
    delimiter: str | None = None
    encoding: str | None = None
    decimal_mark: str = "."


@dataclass(frozen=True, kw_only=True)
class Released:
    """What all datasets hold: file names, rows of each, format, and the variables in order.

    ``units`` are the persons of each where a person has several rows, else its rows.
    """

    files: tuple[str, ...]
    rows: tuple[int, ...]
    units: tuple[int, ...]
    format: FileFormat
    variables: Mapping[str, Seen]


def read_released(paths: Sequence[Path], facts: Facts) -> Released:
    """Read datasets one after the other, and parts of one, so that memory does not grow with them.

    Files that do not hold what the manifest says are one DataError with every problem.
    """
    csv = facts.config.data
    variables: dict[str, Seen] = {}
    rows, units, problems, form = [], [], [], FileFormat(type="csv")
    for path in paths:
        n_rows = n_units = 0
        for piece in parquet_files(path) or [path]:
            # a CSV source that was declared to be odd has datasets of the same kind
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
    """Return the synthetic persons of a dataset; 0 where no column tells them."""
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
    """Describe every column, and report columns that contradict the manifest."""
    absent = [step.variable for step in facts.steps if step.variable not in raw.names]
    problems = [f"{path}: column {name!r} of the manifest is missing; run again" for name in absent]
    seen = {}
    for texts in raw.texts:
        try:
            found = look(texts, facts.variables.get(texts.name, IDENTIFIER))
            seen[texts.name] = replace(found, labelling=texts.labelling)
        except ValueError as error:
            problems.append(f"{path}: column {texts.name!r} {error}; run again")
    return seen, problems


def look(texts: Texts, variable: VariableFacts) -> Seen:
    """Describe one column of one dataset; raise ValueError if it does not hold its kind."""
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
    """Return the missing codes to look for; an empty cell always is one."""
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
        raise ValueError("is numeric by the manifest and holds other texts") from None
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
        raise ValueError("holds infinite numbers")
    return Seen(kind=Kind.NUMERIC, missing=counts, low=low, high=high, decimals=_decimals(numbers))


def _counts(texts: Texts, mask: BoolArray) -> dict[str, int]:
    """Return the records of each text that occurs; an absent value is an empty text."""
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
    """Return days since 1970-01-01, and how they are written in a text file."""
    native = texts.native
    if native is not None and (pa.types.is_date(native.type) or pa.types.is_timestamp(native.type)):
        return days_of(native.filter(pa.array(observed))), None
    values = texts.values.filter(pa.array(observed))
    if form is None or texts.labelling is not None:
        form = next(iter(detect_format(values)), "%Y-%m-%d")
    _, days, wrong = parse_dates(values, form)
    if wrong.any():
        raise ValueError("is a date by the manifest and holds other texts")
    return days, form.removeprefix("unpadded:")
