"""Turn data sets that are to be compared (frames or files) into tables with one schema.

Tables of codes pass as they are. Of frames and files only the named columns are read, so that a
fault in another column does not stop a measure.

Values that the synthetic file writes in another way are read as the original writes them. Programs
write a category anew: pandas makes ``3.0`` of the code 3 where a column has empty cells and ``1``
of the code 01, R makes ``TRUE`` of true and ``NA`` of an empty cell, and a file that is safe for
spreadsheets has apostrophes. A text is changed only where the original lacks it and one level, or
one missing code, alone is meant.
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
from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.guessing import Declaration, Inferred, infer
from synthesizer.data.missing_codes import NUMBER_CODES, SENTINELS, TEXT_CODES
from synthesizer.data.sources import RawTable, Texts, from_frame
from synthesizer.data.spreadsheets import without_apostrophes
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import is_number

FEW_RECORDS = 10
NEW_CODES = 5
"""Largest number of texts among numbers that are read as missing codes of this file."""
Data = Table | pd.DataFrame | RawTable
"""What measures accept: a table of codes, a pandas frame, or a file that was read."""


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
    """Return the named columns (those that exist) as a table of codes.

    Identifiers count as categories: what is compared are values, and nothing is synthesised.
    Without ``ids`` they are left out.
    """
    if isinstance(data, Table):
        is_kept = {v.name: ids or v.kind is not Kind.ID for v in data.schema}
        return data if all(is_kept.values()) else data.select(n for n in data if is_kept[n])
    raw = _raw(data, names)
    if raw is None:
        return Table((), len(data))
    declared = {
        name: declaration for name, declaration in (declared or {}).items() if name in raw.names
    }
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

    The synthetic ones are read with the original's kinds; levels and codes that it does not have
    are appended. Only variables under ``persons`` may have no level in common.
    """
    names = tuple(dict.fromkeys(names))
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    table = as_table(original, names, declared)
    tables, problems = [], []
    for number, data in enumerate(several, start=1):
        try:
            tables.append(
                data if isinstance(data, Table) else read_like(data, table, names, persons)
            )
        except SynthesizerError as error:
            problems += [f"synthetic dataset {number}: {problem}" for problem in error.problems]
    if problems:
        raise DataError(dict.fromkeys(problems))
    return table, tuple(tables)


def read_like(
    data: pd.DataFrame | RawTable,
    original: Table,
    names: Iterable[str],
    persons: Collection[str] = (),
) -> Table:
    """Encode the columns that the original has, too; the measure judges missing columns.

    Values are taken as the original writes them. A column that shares no value with the original's
    is refused, unless it is one of ``persons``.
    """
    raw = _raw(data, [name for name in names if name in original])
    if raw is None:
        return Table((), len(data))
    raw, _ = _read_back(raw, original)
    table = encode_like(raw, original.select(raw.names).schema, new_codes=NEW_CODES)
    problems = [
        f"column {name!r} shares no {'level' if original[name].is_coded else 'number'} with the "
        "original: check that both write it alike"
        for name in table.names
        if name not in persons and _is_foreign(original[name], table[name])
    ]
    if problems:
        raise DataError(problems)
    return table


def written_otherwise(data: Data, original: Table) -> tuple[str, ...]:
    """Return columns with values that data write otherwise than the original, such as 3.0 for 3.

    Examples
    --------
    >>> codes = pd.DataFrame({"job": ["01", "02", "11"] * 5})
    >>> written_otherwise(pd.DataFrame({"job": [1, 2, 11]}), as_table(codes, ["job"]))
    ('job',)
    """
    raw = None if isinstance(data, Table) else _raw(data, original.names)
    return () if raw is None else _read_back(raw, original)[1]


def _is_foreign(original: Column, synthetic: Column) -> bool:
    """Whether a variable has no level, or no number, in common: every comparison is then zero.

    A few records may share no value by chance, and other data have other names of persons.
    """
    n = min(len(original), len(synthetic))
    if n < FEW_RECORDS:
        return False
    if not original.is_coded:  # its texts were taken for missing codes
        expected = original.is_observed.mean() * len(synthetic)
        return bool(expected >= _FEW and not synthetic.is_observed.any())
    ours = {original.variable.labels[code] for code in np.unique(original.data)}
    theirs = {synthetic.variable.labels[code] for code in np.unique(synthetic.data)}
    return len(ours) <= n / 2 and not ours & theirs


_FEW = 10
"""Records with a code, or expected with it, from which on its absence is no chance."""
_ALIKE = 2.0
"""Times one share the other may be, where a level may stand for a missing value."""
_MISSING = frozenset((*NUMBER_CODES, *map(str, SENTINELS)))


def missing_otherwise(
    original: Table, other: Table, names: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """Return variables whose missing values two files write in different ways, and both codes.

    A missing code of one file never occurs in the other, which has another missing code in its
    place or, among levels, a text that may stand for a missing value and is about as frequent.

    Examples
    --------
    >>> codes = Variable(name="pay", kind=Kind.CATEGORICAL, levels=("low", "high"), missing=("",))
    >>> pay = Column(codes, np.repeat([0, 1, 2], 20).astype(np.int32))
    >>> written = replace(codes, levels=("low", "high", "N"), missing=())
    >>> missing_otherwise(Table([pay]), Table([Column(written, pay.data)]), ["pay"])
    {'pay': ('', 'N')}
    """
    found = {}
    for name in names:
        if name not in original or name not in other:
            continue
        ours, theirs = _codes(original[name]), _codes(other[name])
        least = _FEW / min(original.n_rows, other.n_rows)
        both = {code.text for code in ours} & {code.text for code in theirs}
        gone, new = (
            [code for code in codes if code.share >= least and code.text not in both]
            for codes in (ours, theirs)
        )
        pairs = [pair for pair in product(gone, new) if _is_one_code(*pair)]
        if pairs:
            one, two = min(pairs, key=lambda pair: abs(pair[0].share - pair[1].share))
            found[name] = (one.text, two.text)
    return found


class _Code(NamedTuple):
    """A text that occurs in a column and may stand for a missing value."""

    text: str
    share: float
    is_missing: bool
    """Whether it is a missing code, and not a level."""
    stands_for_missing: bool


def _codes(column: Column) -> list[_Code]:
    """Return levels and missing codes that occur; of numbers missing codes, and -9 and its like."""
    variable, coded = column.variable, column.is_coded
    texts = variable.labels if coded else ("", *variable.missing)
    counts = np.bincount(column.data if coded else column.missing_state(), minlength=len(texts))
    levels = len(variable.levels) if coded else 1
    found = list(zip(texts, counts.tolist(), np.arange(len(texts)) >= levels, strict=True))
    if not coded:
        found = found[1:]
    if variable.kind is Kind.NUMERIC:
        found += [(str(code), int((column.data == code).sum()), False) for code in SENTINELS]
    return [
        _Code(text, count / len(column), bool(is_missing), text in _MISSING)
        for text, count, is_missing in found
        if count
    ]


def _is_one_code(ours: _Code, theirs: _Code) -> bool:
    """Whether both may be the same missing value: two codes, or about as frequent texts."""
    if ours.is_missing and theirs.is_missing:
        return True
    may_be = all(code.is_missing or code.stands_for_missing for code in (ours, theirs))
    return may_be and max(ours.share, theirs.share) <= _ALIKE * min(ours.share, theirs.share)


def _raw(data: pd.DataFrame | RawTable, names: Iterable[str]) -> RawTable | None:
    """Return the named columns that exist, None where there are none."""
    if not isinstance(data, pd.DataFrame | RawTable):
        raise DataError(f"a pandas DataFrame is needed, not {type(data).__name__}")
    if not len(data):
        raise DataError("the data have no records: give at least one")
    columns = data.names if isinstance(data, RawTable) else data.columns
    present = [name for name in dict.fromkeys(names) if name in columns]
    if not present:
        return None
    picked = data.select(present) if isinstance(data, RawTable) else data[present]
    return from_frame(picked, min_rows=1)


def _compared(item: Inferred, texts: Texts) -> Inferred:
    """Treat an identifier as a number or a category, since its values are compared here."""
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
    """Raise one DataError that lists every problem of keys, target and groups.

    ``constant_target`` allows a target with one value, for parts of a table that has more.

    Examples
    --------
    >>> check_keys(Table([], n_rows=3), keys=["age"])
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.DataError: key 'age' is not in the data: name one of its columns
    """
    problems = [*_key_problems(table, keys, target), *_group_problems(table, groups or {})]
    target_column = None if target is None else table.get(target)
    if target_column is not None and not constant_target and _is_constant(target_column):
        problems.append(f"target {target!r} has only one value: choose one with at least two")
    if problems:
        raise DataError(problems)


def check_comparable(
    original: Table,
    synthetic: Sequence[Table],
    names: Sequence[str] | None = None,
    *,
    first: int = 1,
) -> None:
    """Raise one DataError that lists every reason why tables cannot be compared.

    Levels and missing codes may differ, since values are matched by label; kinds may not.
    """
    problems = [] if original.n_rows else ["the original has no records: give it some"]
    if not synthetic:
        problems.append("there is no synthetic dataset: generate at least one")
    names = original.names if names is None else names
    for number, table in enumerate(synthetic, start=first):
        if not table.n_rows:
            problems.append(f"synthetic dataset {number} has no records: generate it again")
        problems.extend(_column_problems(original, table, names, number))
    if problems:
        raise DataError(dict.fromkeys(problems))


def list_problems(role: str, names: Any) -> tuple[str, ...]:
    """Refuse a text alone, whose letters would be taken for names.

    Examples
    --------
    >>> list_problems("keys", "sex")
    ("keys must be a list of names, not one text: write ['sex']",)
    """
    if not isinstance(names, str):
        return ()
    return (f"{role} must be a list of names, not one text: write [{names!r}]",)


def check_lists(**names: Any) -> None:
    """Raise one DataError that refuses every text in place of a list of names."""
    if problems := [text for role, listed in names.items() for text in list_problems(role, listed)]:
        raise DataError(problems)


def _key_problems(table: Table, keys: Sequence[str], target: str | None) -> Iterator[str]:
    if isinstance(keys, str):
        yield from list_problems("keys", keys)
        return
    if not len(keys):
        yield "there are no keys: name at least one variable that an intruder may know"
    for key in dict.fromkeys(keys):
        if key not in table:
            yield f"key {key!r} is not in the data: name one of its columns"
        if list(keys).count(key) > 1:
            yield f"key {key!r} is named twice: name it once"
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
            yield f"column {name!r} is not in synthetic dataset {number}: generate it too"
            continue
        ours, theirs = original[name].variable.kind, table[name].variable.kind
        if ours != theirs and not (ours.is_coded and theirs.is_coded):
            yield (
                f"column {name!r} is {ours} in the original and {theirs} in synthetic dataset "
                f"{number}: read both with the same schema"
            )


_WHOLE = r"^[+-]?[0-9]{1,18}(\.0*)?$"
"""Whole numbers of up to 18 digits, with a decimal point or without."""
_TRUTH = pa.array(["false", "true"])


def _read_back(raw: RawTable, original: Table) -> tuple[RawTable, tuple[str, ...]]:
    """Return data as the original writes them, and the columns with values written otherwise.

    Cells with an apostrophe that `spreadsheet_safe` wrote are no values written otherwise.
    """
    arrow, names = raw.arrow, []
    for place, texts in enumerate(raw.texts):
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
            arrow = arrow.set_column(place, arrow.schema.names[place], cells)
    same = arrow is raw.arrow
    return raw if same else RawTable(arrow, raw.layout, raw.origin), tuple(names)


def _other_spellings(values: pa.Array, labels: Sequence[str]) -> dict[str, str]:
    """Return the label of each text that is none of them, where one label has the same value.

    Source: the grammars of whole numbers and truth values that pandas, R and Stata write.
    """
    own = pa.array(labels, pa.string())
    new = values.filter(pc.invert(pc.is_in(values, own)))
    whole, codes = (part.filter(pc.match_substring_regex(part, _WHOLE)) for part in (new, own))
    found = _meant(whole, codes, lambda text: int(text.partition(".")[0])) if len(codes) else {}
    words, truths = (part.filter(pc.is_in(pc.utf8_lower(part), _TRUTH)) for part in (new, own))
    return found | _meant(words, truths, str.lower)


def _other_code(texts: Texts, missing: Sequence[str]) -> dict[str, str]:
    """Return the only code of an empty cell with that of the original, which the other file lacks.

    Both are texts that no column has as a value, such as ``NA`` and nothing.
    """
    ours = [code for code in missing if code in TEXT_CODES]
    theirs = texts.picked(texts.among(TEXT_CODES) & texts.occurs)
    return {theirs[0]: ours[0]} if len(ours) == len(theirs) == 1 and ours != theirs else {}


def _meant(texts: pa.Array, labels: pa.Array, value: Callable[[str], object]) -> dict[str, str]:
    """Return the label of the same value for each text; none where several labels have it."""
    by_value: dict[object, list[str]] = {}
    for label in labels.to_pylist():
        by_value.setdefault(value(label), []).append(label)
    meant = {text: by_value.get(value(text), []) for text in texts.to_pylist()}
    return {text: found[0] for text, found in meant.items() if len(found) == 1}
