"""Conversion of data to compare (frames or files) to tables of codes with one schema.

Tables of codes stay as they are. Of frames and files only the named columns are read, so an error
in another column does not stop a measure.

Values that the synthetic file writes differently are read as in the original. pandas writes
``3.0`` for code 3 in a column with empty cells, and ``1`` for code 01. R writes ``TRUE`` for true
and ``NA`` for an empty cell. A file that is safe for spreadsheets has apostrophes. A text changes
only if the original lacks it and exactly one level, or one missing code, has the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.codes import Groups
from synthesizer.data.encoding import encode_inferred, encode_like
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.guessing import Declaration, Inferred, infer
from synthesizer.data.missing_codes import NUMBER_CODES, SENTINELS, TEXT_CODES
from synthesizer.data.sources import RawTable, Texts, from_frame
from synthesizer.data.spreadsheets import without_apostrophes
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import is_number

FEW_RECORDS = 10
NEW_CODES = 5
"""Most texts among numbers that are read as new missing codes."""
Data = Table | pd.DataFrame | RawTable
"""Input of measures: a table of codes, a pandas frame, or a file that was read."""


def column_names(data: Data) -> tuple[str, ...]:
    """Return the names of the columns of a table, a frame or a file."""
    return tuple(data.columns) if isinstance(data, pd.DataFrame) else data.names


def as_table(
    data: Data,
    names: Iterable[str],
    declared: Mapping[str, Declaration] | None = None,
    *,
    ids: bool = True,
) -> Table:
    """Return the named columns that exist as a table of codes.

    Identifiers become categories, because values are compared. Without ``ids`` they are excluded.
    """
    if isinstance(data, Table):
        is_kept = {v.name: ids or v.kind is not Kind.ID for v in data.schema}
        return data if all(is_kept.values()) else data.select(n for n in data if is_kept[n])
    raw = _raw(data, names)
    if raw is None:
        return Table((), len(data))
    declared = {name: one for name, one in (declared or {}).items() if name in raw.names}
    inferred = infer(raw, declared)
    if not ids:
        inferred = tuple(item for item in inferred if item.variable.kind is not Kind.ID)
        raw = raw.select([item.variable.name for item in inferred])
    if not inferred:
        return Table((), len(data))
    return encode_inferred(
        raw, [_compared(item, texts) for item, texts in zip(inferred, raw.texts, strict=True)]
    )


def as_tables(
    original: Data,
    synthetic: Data | Sequence[Data],
    names: Iterable[str],
    declared: Mapping[str, Declaration] | None = None,
    *,
    persons: Collection[str] = (),
) -> tuple[Table, tuple[Table, ...]]:
    """Return the original and every synthetic data set as tables of codes.

    Synthetic data are read with the kinds of the original; new levels and codes are appended. Only
    variables in ``persons`` may have no common level.
    """
    names = tuple(dict.fromkeys(names))
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    table = as_table(original, names, declared)
    tables, problems = [], Problems()
    for number, one in enumerate(several, start=1):
        with problems.gathered(f"synthetic dataset {number}"):
            tables.append(one if isinstance(one, Table) else read_like(one, table, names, persons))
    problems.settle(DataError)
    return table, tuple(tables)


def read_like(
    data: pd.DataFrame | RawTable,
    original: Table,
    names: Iterable[str],
    persons: Collection[str] = (),
) -> Table:
    """Return the columns that the original has, too, with values written as in the original.

    The measure handles missing columns. A column without any value of the original is refused,
    unless it is one of ``persons``.
    """
    raw = _raw(data, [name for name in names if name in original])
    if raw is None:
        return Table((), len(data))
    raw, _ = _read_back(raw, original)
    table = encode_like(raw, original.select(raw.names).schema, new_codes=NEW_CODES)
    Problems(
        f"column {name!r} has no {'level' if original[name].is_coded else 'number'} of the "
        "original: write it alike in both files"
        for name in table.names
        if name not in persons and _is_foreign(original[name], table[name])
    ).settle(DataError)
    return table


def written_otherwise(data: Data, original: Table) -> tuple[str, ...]:
    """Return columns with values in another format than in the original, such as 3.0 for 3.

    Examples
    --------
    >>> codes = pd.DataFrame({"job": ["01", "02", "11"] * 5})
    >>> written_otherwise(pd.DataFrame({"job": [1, 2, 11]}), as_table(codes, ["job"]))
    ('job',)
    """
    raw = None if isinstance(data, Table) else _raw(data, original.names)
    return () if raw is None else _read_back(raw, original)[1]


def _is_foreign(original: Column, synthetic: Column) -> bool:
    """Whether a variable has no common level or number, so that every comparison would be zero.

    A few records may have no common value by chance; names of persons always differ.
    """
    n = min(len(original), len(synthetic))
    if n < FEW_RECORDS:
        return False
    if not original.is_coded:  # its texts were taken for missing codes
        expected = original.is_observed.mean() * len(synthetic)
        return bool(expected >= _MIN_RECORDS and not synthetic.is_observed.any())
    first = {original.variable.labels[code] for code in np.unique(original.data)}
    second = {synthetic.variable.labels[code] for code in np.unique(synthetic.data)}
    return len(first) <= n / 2 and not first & second


_MIN_RECORDS = 10
"""Records, observed or expected, from which a code's absence is not chance."""
_MAX_RATIO = 2.0
"""Largest ratio of the shares of a level and a missing code that match."""
_MISSING = frozenset((*NUMBER_CODES, *map(str, SENTINELS)))


def missing_otherwise(
    original: Table, other: Table, names: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """Return variables with different missing codes in two files, with both codes.

    A missing code of one file never occurs in the other. The other file has another missing code,
    or a level that may be one and is about as frequent.

    Examples
    --------
    >>> codes = Variable(name="pay", kind=Kind.CATEGORICAL, levels=("low", "high"), missing=("",))
    >>> pay = Column(codes, np.repeat([0, 1, 2], 20).astype(np.int32))
    >>> written = replace(codes, levels=("low", "high", "N"), missing=())
    >>> missing_otherwise(Table([pay]), Table([Column(written, pay.data)]), ["pay"])
    {'pay': ('', 'N')}
    """
    renamed = {}
    for name in names:
        if name not in original or name not in other:
            continue
        first, second = _codes(original[name]), _codes(other[name])
        least = _MIN_RECORDS / min(original.n_rows, other.n_rows)
        both = {code.text for code in first} & {code.text for code in second}
        gone, new = (
            [code for code in codes if code.share >= least and code.text not in both]
            for codes in (first, second)
        )
        pairs = [pair for pair in product(gone, new) if _is_one_code(*pair)]
        if pairs:
            one, two = min(pairs, key=lambda pair: abs(pair[0].share - pair[1].share))
            renamed[name] = (one.text, two.text)
    return renamed


class _Code(NamedTuple):
    """A text in a column that may be a missing code."""

    text: str
    share: float
    is_missing: bool
    """Whether it is a missing code, not a level."""
    stands_for_missing: bool


def _codes(column: Column) -> list[_Code]:
    """Return the levels and missing codes that occur; for numbers also values such as -9."""
    variable, coded = column.variable, column.is_coded
    texts = variable.labels if coded else ("", *variable.missing)
    counts = np.bincount(column.data if coded else column.missing_state(), minlength=len(texts))
    levels = len(variable.levels) if coded else 1
    counted = list(zip(texts, counts.tolist(), np.arange(len(texts)) >= levels, strict=True))
    if not coded:
        counted = counted[1:]
    if variable.kind is Kind.NUMERIC:
        counted += [(str(code), int((column.data == code).sum()), False) for code in SENTINELS]
    return [
        _Code(text, count / len(column), bool(is_missing), text in _MISSING)
        for text, count, is_missing in counted
        if count
    ]


def _is_one_code(first: _Code, second: _Code) -> bool:
    """Whether both may be the same missing value: two missing codes, or similar shares."""
    if first.is_missing and second.is_missing:
        return True
    may_be = all(code.is_missing or code.stands_for_missing for code in (first, second))
    return may_be and max(first.share, second.share) <= _MAX_RATIO * min(first.share, second.share)


def _raw(data: pd.DataFrame | RawTable, names: Iterable[str]) -> RawTable | None:
    """Return the named columns that exist, None if there are none."""
    if not isinstance(data, pd.DataFrame | RawTable):
        raise DataError(f"a pandas DataFrame is needed, not {type(data).__name__}")
    if not len(data):
        raise DataError("the data have no records: use data with at least one")
    columns = data.names if isinstance(data, RawTable) else data.columns
    present = [name for name in dict.fromkeys(names) if name in columns]
    if not present:
        return None
    picked = data.select(present) if isinstance(data, RawTable) else data[present]
    return from_frame(picked, min_rows=1)


def _compared(item: Inferred, texts: Texts) -> Inferred:
    """Return an identifier as a number or a category, since its values are compared."""
    variable = item.variable
    if variable.kind is not Kind.ID:
        return item
    observed = texts.occurs & ~texts.among(variable.missing)
    levels = tuple(texts.picked(observed))
    if is_number(pa.array(levels, pa.string()), texts.format).all():
        numeric = Variable(name=variable.name, kind=Kind.NUMERIC, missing=variable.missing)
        return Inferred(numeric, item.reason)
    return Inferred(replace(variable, kind=Kind.CATEGORICAL, levels=levels), item.reason)


def check_keys(
    table: Table,
    *,
    keys: Sequence[str],
    target: str | None = None,
    groups: Mapping[str, Groups] | None = None,
    constant_target: bool = False,
) -> None:
    """Raise one DataError with every problem of keys, target and groups.

    ``constant_target`` allows a target with one value, for parts of a table.

    Examples
    --------
    >>> check_keys(Table([], n_rows=3), keys=["age"])
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.DataError: key 'age' is not in the data: name one of its columns
    """
    problems = Problems(_key_problems(table, keys, target))
    problems += _group_problems(table, groups or {})
    target_column = None if target is None else table.get(target)
    if target_column is not None and not constant_target and _is_constant(target_column):
        problems.append(f"target {target!r} has only one value: choose one with at least two")
    problems.settle(DataError)


def check_comparable(
    original: Table,
    synthetic: Sequence[Table],
    names: Sequence[str] | None = None,
    *,
    first: int = 1,
) -> None:
    """Raise one DataError with every reason why tables cannot be compared.

    Levels and missing codes may differ, since values are matched by label; kinds may not.
    """
    problems = Problems()
    if not original.n_rows:
        problems.append("the original has no records: use a file with records")
    if not synthetic:
        problems.append("there is no synthetic dataset: generate at least one")
    names = original.names if names is None else names
    for number, table in enumerate(synthetic, start=first):
        if not table.n_rows:
            problems.append(f"synthetic dataset {number} has no records: generate it again")
        problems += _column_problems(original, table, names, number)
    problems.settle(DataError)


def list_problems(role: str, names: Any) -> tuple[str, ...]:
    """Return the problem of one text in place of a list of names.

    Examples
    --------
    >>> list_problems("keys", "sex")
    ("keys must be a list of names, not one text: write ['sex']",)
    """
    if not isinstance(names, str):
        return ()
    return (f"{role} must be a list of names, not one text: write [{names!r}]",)


def check_lists(**names: Any) -> None:
    """Raise one DataError with every text in place of a list of names."""
    texts = (text for role, listed in names.items() for text in list_problems(role, listed))
    Problems(texts).settle(DataError)


def unknown_or_twice(role: str, names: Sequence[str], table: Table) -> Iterator[str]:
    """Yield the names that are not in the data, or are named twice."""
    for name in dict.fromkeys(names):
        if name not in table:
            yield f"{role} {name!r} is not in the data: name one of its columns"
        if list(names).count(name) > 1:
            yield f"{role} {name!r} is named twice: name it once"


def _key_problems(table: Table, keys: Sequence[str], target: str | None) -> Iterator[str]:
    if isinstance(keys, str):
        yield from list_problems("keys", keys)
        return
    if not len(keys):
        yield "there are no keys: name at least one variable that an intruder may know"
    yield from unknown_or_twice("key", keys, table)
    if target is None:
        return
    if target in keys:
        yield f"target {target!r} is also a key: remove it from the keys or choose another target"
    if target not in table:
        yield f"target {target!r} is not in the data: name one of its columns"


def _group_problems(table: Table, groups: Any) -> Iterator[str]:
    if not isinstance(groups, Mapping):
        yield "groups must be a map from variable to a number of groups or cut points"
        return
    for name, wanted in groups.items():
        if name not in table:
            yield f"groups name {name!r}, which is not in the data: name one of its columns"
        elif table[name].is_coded:
            yield f"groups name {name!r}, which is not numeric: remove it from the groups"
        yield from (f"groups of {name!r} {problem}" for problem in _size_problems(wanted))


def _size_problems(wanted: object) -> Iterator[str]:
    if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer | Sequence | np.ndarray):
        yield "must be a whole number or a list of cut points"
    elif isinstance(wanted, str):
        yield "must be a whole number or a list of cut points, not text"
    elif isinstance(wanted, int | np.integer):
        if wanted < 1:
            yield f"({wanted}) must be at least 1"
    elif not all(isinstance(cut, int | float | np.number) and np.isfinite(cut) for cut in wanted):
        yield "must be a whole number or a list of cut points, finite numbers"


def _is_constant(column: Column) -> bool:
    if len(column) == 0:
        return False
    states = column.missing_state()
    if (states != states[0]).any():
        return False
    return bool(states[0] > 0 or (column.data == column.data[0]).all())


def _column_problems(
    original: Table, table: Table, names: Sequence[str], number: int
) -> Iterator[str]:
    for name in names:
        if name not in table:
            yield f"column {name!r} is not in synthetic dataset {number}: generate it, too"
            continue
        first, second = original[name].variable.kind, table[name].variable.kind
        if first != second and not (first.is_coded and second.is_coded):
            yield (
                f"column {name!r} is {first} in the original and {second} in synthetic dataset "
                f"{number}: read both with the same schema"
            )


_WHOLE = r"^[+-]?[0-9]{1,18}(\.0*)?$"
"""Whole numbers of up to 18 digits, with a decimal point or without."""
_TRUTH = pa.array(["false", "true"])


def _read_back(raw: RawTable, original: Table) -> tuple[RawTable, tuple[str, ...]]:
    """Return data written as in the original, and the columns that were written differently.

    Apostrophes of `spreadsheet_safe` do not count as a difference.
    """
    arrow, names = raw.arrow, []
    for position, texts in enumerate(raw.texts):
        if texts.name not in original:
            continue
        variable, written = original[texts.name].variable, texts.values.to_pylist()  # noqa: PD011
        labels = variable.labels if variable.is_coded else variable.missing
        spelled = without_apostrophes(written, labels)
        meant = _other_spellings(texts.values, labels) | _other_code(texts, variable.missing)
        if meant:
            names.append(texts.name)
            spelled = [meant.get(text, text) for text in spelled]
        if spelled != written:
            values = pa.array([None if t == texts.null else t for t in spelled], pa.string())
            cells = values.take(pa.array(texts.codes))
            arrow = arrow.set_column(position, arrow.schema.names[position], cells)
    same = arrow is raw.arrow
    return raw if same else RawTable(arrow, raw.layout, raw.origin), tuple(names)


def _other_spellings(values: pa.Array, labels: Sequence[str]) -> dict[str, str]:
    """Return the label of each other text, if exactly one label has the same value.

    Source: the formats of whole numbers and truth values in pandas, R and Stata.
    """
    known = pa.array(labels, pa.string())
    new = values.filter(pc.invert(pc.is_in(values, known)))
    whole, codes = (part.filter(pc.match_substring_regex(part, _WHOLE)) for part in (new, known))
    meanings = _meant(whole, codes, lambda text: int(text.partition(".")[0])) if len(codes) else {}
    words, truths = (part.filter(pc.is_in(pc.utf8_lower(part), _TRUTH)) for part in (new, known))
    return meanings | _meant(words, truths, str.lower)


def _other_code(texts: Texts, missing: Sequence[str]) -> dict[str, str]:
    """Return the file's only code of empty cells with that of the original, if they differ.

    Both are texts that no column has as a value, such as ``NA`` and the empty text.
    """
    first = [code for code in missing if code in TEXT_CODES]
    second = texts.picked(texts.among(TEXT_CODES) & texts.occurs)
    return {second[0]: first[0]} if len(first) == len(second) == 1 and first != second else {}


def _meant(texts: pa.Array, labels: pa.Array, value: Callable[[str], object]) -> dict[str, str]:
    """Return the label with the same value for each text; texts with several are left out."""
    by_value: dict[object, list[str]] = {}
    for label in labels.to_pylist():
        by_value.setdefault(value(label), []).append(label)
    meant = {text: by_value.get(value(text), []) for text in texts.to_pylist()}
    return {text: same[0] for text, same in meant.items() if len(same) == 1}
