"""From texts to tables of codes, and notes on what is odd but allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from synthesizer.data.errors import DataError, plural
from synthesizer.data.guessing import Declaration, Inferred, infer
from synthesizer.data.number_formats import NumberFormat
from synthesizer.data.sources import RawTable, Texts
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Schema, Table, Variable
from synthesizer.data.values import days_of, is_number, parse, parse_dates

RARE: Final = 5
"""A level with fewer rows is rare: the smallest cell that statistical offices commonly publish."""
MOST_NAMED: Final = 5
"""Columns that a note names."""
RARE_REMEDY: Final = f"rare: {{min_count: {RARE}, to: other}}"
"""The key of a configuration that groups rare levels."""


def encode(raw: RawTable, declared: Mapping[str, Declaration] | None = None) -> Table:
    """Turn a source into a table of codes."""
    return encode_inferred(raw, infer(raw, declared))


def encode_inferred(raw: RawTable, inferred: Sequence[Inferred]) -> Table:
    """Encode a source whose variables are inferred already, in column order."""
    return Table(
        _column(texts, item.variable) for texts, item in zip(raw.texts, inferred, strict=True)
    )


def encode_like(raw: RawTable, schema: Schema, *, new_codes: int = 0) -> Table:
    """Encode a second file with the variables of a first one.

    Levels and missing codes that the schema does not know are appended to it, hence labels agree
    but codes may not (see `recoded`). In numbers up to ``new_codes`` distinct texts are taken for
    missing codes.
    """
    problems = [
        f"{raw.origin}: column {name!r} is missing"
        for name in schema.names
        if name not in raw.names
    ]
    columns = []
    for texts in raw.texts:
        if texts.name not in schema:
            problems.append(f"{raw.origin}: column {texts.name!r} is not in the original data")
            continue
        try:
            columns.append(_column(texts, _extended(texts, schema[texts.name], new_codes)))
        except ValueError as error:
            problems.append(f"{raw.origin}: column {texts.name!r} {error}")
    if problems:
        raise DataError(problems)
    return Table(columns, raw.n_rows).select(schema.names)


def _extended(texts: Texts, variable: Variable, new_codes: int) -> Variable:
    """Append the levels and missing codes that occur in the texts and are new to the variable."""
    storage = dict(variable.storage)
    if texts.null is not None:
        storage["null"] = texts.null
    elif texts.source is None and texts.among([""])[texts.occurs].any():
        storage["null"] = ""
    new = texts.occurs & ~texts.among(variable.labels)
    empty = [text for text in ("", texts.null) if text is not None]
    blank = new & texts.among(empty)
    missing = variable.missing + tuple(texts.picked(blank))
    new &= ~blank
    if variable.is_coded:
        levels = variable.levels + tuple(sorted(texts.picked(new)))
        return replace(variable, levels=levels, missing=missing, storage=storage)
    if variable.kind is Kind.NUMERIC:
        odd = new.copy()
        values = texts.values.filter(pa.array(new))
        odd[new] = ~is_number(values, _format(values, variable, texts))
        if odd.sum() > new_codes:
            raise ValueError(
                f"is numeric in the original, but not in {texts.where(odd)}; write it alike in "
                "both, or declare its kind or its missing codes"
            )
        missing += tuple(texts.picked(odd))
    return replace(variable, missing=missing, storage=storage)


def recoded(column: Column, joint: Variable) -> Column:
    """Return a column in the codes of a variable that has its labels, and perhaps more."""
    old = column.variable
    if old.is_coded:
        where = {label: code for code, label in enumerate(joint.labels)}
        lookup = np.array([where[label] for label in old.labels], dtype=np.int32)
        return Column(joint, lookup[column.data])
    if not joint.missing:
        return Column(joint, column.data)
    states = np.array([0, *(joint.missing.index(code) + 1 for code in old.missing)], dtype=np.int8)
    return Column(joint, column.data, states[column.missing_state()])


def _column(texts: Texts, variable: Variable) -> Column:
    if variable.is_coded:
        where = {label: code for code, label in enumerate(variable.labels)}
        lookup = np.array([where.get(text, -1) for text in texts.values.to_pylist()], np.int32)
        return Column(variable, lookup[texts.codes])
    state_of = {code: state for state, code in enumerate(variable.missing, start=1)}
    missing = texts.among(variable.missing)
    state = np.zeros(len(texts.values), dtype=np.int8)
    state[missing] = [state_of[text] for text in texts.picked(missing)]
    observed = texts.occurs & ~missing
    data = np.full(len(texts.values), np.nan)
    data[observed] = _numbers(texts, variable, observed)
    states = state[texts.codes] if variable.missing else None
    return Column(variable, data[texts.codes], states)


def _numbers(texts: Texts, variable: Variable, observed: BoolArray) -> FloatArray:
    if variable.kind is Kind.ID:
        return _numbered(texts, observed)
    values = texts.values.filter(pa.array(observed))
    if variable.kind is Kind.NUMERIC:
        return parse(values, _format(values, variable, texts))
    native = texts.native
    if native is not None and (pa.types.is_date(native.type) or pa.types.is_timestamp(native.type)):
        return days_of(native.filter(pa.array(observed)))
    _, days, wrong = parse_dates(values, str(variable.storage.get("date_format", "%Y-%m-%d")))
    if wrong.any():
        odd = observed.copy()
        odd[observed] = wrong
        raise ValueError(f"is a date in the original, but not in {texts.where(odd)}")
    return days


def _format(values: pa.Array, variable: Variable, texts: Texts) -> NumberFormat:
    """Return the variable's format of numbers; another file's own where it has another."""
    form = NumberFormat.of_storage(variable.storage)
    return form if is_number(values, form).all() else texts.format


def _numbered(texts: Texts, observed: BoolArray) -> FloatArray:
    """Number the identifiers 1, 2, ... in the order in which they first appear."""
    first = np.zeros(len(texts.values), dtype=np.int64)
    # The last write wins, so writing backwards leaves the first row of every text.
    first[texts.codes[::-1]] = np.arange(texts.n_rows)[::-1]
    rank = np.empty(int(observed.sum()))
    rank[np.argsort(first[observed], kind="stable")] = np.arange(1, len(rank) + 1)
    return rank


def _shared_labels(named: str, texts: Texts) -> Iterator[str]:
    """Say which labels of a file stand for several values, which stay levels of their own."""
    labels = {} if texts.labelling is None else texts.labelling.labels
    counts = Counter(labels[text] for text in texts.picked(texts.occurs & texts.among(labels)))
    if shared := [label for label, count in counts.items() if count > 1]:
        yield (
            f"{named}: {len(shared)} label{'s' if len(shared) > 1 else ''} of the file, such as "
            f"{shared[0]!r}, stand{'' if len(shared) > 1 else 's'} for several values; each stays "
            "a level of its own"
        )


def data_notes(raw: RawTable, table: Table) -> list[str]:
    """Say what is odd but no error: constant columns, shared labels, missing codes never used."""
    notes: list[str] = []
    constant = []
    for texts in raw.texts:
        variable = table[texts.name].variable
        named = f"column {texts.name!r}"
        if int((texts.occurs & ~texts.among(variable.missing)).sum()) == 1:
            constant.append(texts.name)
        notes += _shared_labels(named, texts)
        unused = [c for c in variable.missing if not texts.counts[texts.among([c])].sum()]
        if unused:
            many = "missing codes never occur" if len(unused) > 1 else "missing code never occurs"
            notes.append(f"{named}: {len(unused)} declared {many}")
    if constant:
        more = len(constant) - MOST_NAMED
        names = ", ".join(map(repr, constant[:MOST_NAMED])) + (f" and {more} more" * (more > 0))
        notes.append(
            f"{plural(len(constant), 'column')} with one value only ({names}): they say nothing "
            "and may be dropped"
        )
    return notes
