"""Cells of a CSV file that a spreadsheet would run as formulas.

Source: OWASP, CSV Injection: cells that begin with ``=``, ``+``, ``-``, ``@``, a tab, a carriage
return or a line feed, also in their wide forms. Blanks and quotes before the sign are skipped,
since programs remove them. A sign alone and a number, such as -8, are not formulas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.table import BoolArray, Column, Table
from synthesizer.data.values import is_number

_FORMULA = '(?:[ "]*[=+\\-@\uff1d\uff0b\uff0d\uff20].|[\\t\\r\\n])'


def are_formulas(texts: Sequence[str], before: str = "") -> BoolArray:
    """Return which texts a spreadsheet runs, shape (k,); ``before`` is a pattern before them.

    Examples
    --------
    >>> are_formulas(["=1+1", " @sum(a1)", "-8", "- none", "a=b", "-", "'=1+1"]).tolist()
    [True, True, False, True, False, False, False]
    """
    values = pc.fill_null(pa.array(list(texts), pa.string()), "")  # a null of a typed source
    starts = pc.match_substring_regex(values, f"(?s)^{before}{_FORMULA}")
    numbers = is_number(pc.utf8_trim_whitespace(values))
    return np.asarray(starts.to_numpy(zero_copy_only=False)) & ~numbers


def formula_cells(table: Table) -> Counter[str]:
    """Return the number of formula cells of each variable with any."""
    cells: Counter[str] = Counter()
    for column in table.columns:
        labels = column.variable.labels if column.is_coded else column.variable.missing
        if (runs := are_formulas(labels)).any():
            codes = column.data if column.is_coded else column.missing_state() - 1
            counts = np.bincount(codes[codes >= 0].astype(np.int64), minlength=len(labels))
            if count := int(counts[runs].sum()):
                cells[column.variable.name] = count
    return cells


def spreadsheet_safe(table: Table) -> Table:
    """Return a table with an apostrophe before texts that a spreadsheet runs.

    Texts that already begin so get a second one, so every text can be read back.
    """
    return Table([_safe(column) for column in table.columns], table.n_rows)


def _safe(column: Column) -> Column:
    variable = column.variable
    levels, missing = safe_texts(variable.levels), safe_texts(variable.missing)
    if (levels, missing) == (variable.levels, variable.missing):
        return column
    return Column(replace(variable, levels=levels, missing=missing), column.data, column.states)


def safe_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts as written in a file for spreadsheets.

    Examples
    --------
    >>> safe_texts(["=1+1", "'=1+1", "'tis"])
    ("'=1+1", "''=1+1", "'tis")
    """
    runs = are_formulas(texts, "'*")
    return tuple(f"'{text}" if run else text for text, run in zip(texts, runs, strict=True))


def without_apostrophes(values: Sequence[str], labels: Collection[str]) -> list[str]:
    """Return distinct texts without the apostrophes of `spreadsheet_safe`.

    An apostrophe is removed if ``labels`` of the original contain the text without it, but not
    with it, and ``values`` do not contain the text without it.

    Examples
    --------
    >>> without_apostrophes(["'=1+1", "'=2", "'tis"], ["=1+1", "tis"])
    ['=1+1', "'=2", "'tis"]
    """
    safe = are_formulas(values, "'+")
    if not safe.any():
        return [*values]
    known = {*labels}
    lost = known - {*values}
    return [
        text[1:] if run and text not in known and text[1:] in lost else text
        for text, run in zip(values, safe, strict=True)
    ]


def formula_notes(cells: Counter[str], names: Sequence[str], *, safe: bool) -> Iterator[str]:
    """Yield notes for the steward on cells of CSV files that spreadsheets run."""
    end = (
        "they have an apostrophe before them (spreadsheet_safe)"
        if safe
        else "a spreadsheet that opens the file runs them; `output: {spreadsheet_safe: true}` "
        "writes an apostrophe before them"
    )
    for name, count in cells.items():
        what = "cell begins" if count == 1 else "cells begin"
        yield f"variable {name!r}: {count:,} {what} like a formula: {end}"
    for name, runs in zip(names, are_formulas(names), strict=True):
        if runs:
            yield (
                f"the name of column {name!r} begins like a formula and a spreadsheet runs it: "
                "rename it in the source"
            )
