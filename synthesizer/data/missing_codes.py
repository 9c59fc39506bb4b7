"""Missing codes of a column: declared, defined in the file, or guessed."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import numpy as np
import pyarrow as pa

from synthesizer.data.errors import listed
from synthesizer.data.sources import Texts
from synthesizer.data.table import BoolArray, FloatArray, Kind, Table, Variable
from synthesizer.data.values import is_number, parse

TEXT_CODES: Final = (
    "", "NA", "N/A", "#N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", ".", "<null>", "NaT",
    "0000-00-00", "0000-00-00 00:00:00", "00/00/0000", "00.00.0000",
)  # fmt: skip
"""Missing codes of any column."""
FEWEST: Final = 5
"""Fewest records with an unusual code that a screen may name."""
NUMBER_CODES: Final = (*TEXT_CODES, "N", "na", "None", "none", "Na", "-", "*", "..", "Null")
"""Missing codes among numbers, where they cannot be values."""
SENTINELS: Final = frozenset(
    {-1, -2, -3, -7, -8, -9, -77, -88, -97, -98, -99, -777, -888, -999, -7777, -8888, -9999}
)
"""Negative numbers that may stand for a missing value."""
LEAST_OF_SCALE: Final = -6
"""Lowest number of a scale with missing codes below it."""
MANY: Final = 12
"""Numbers with more distinct values are no scale."""
LETTER: Final = re.compile(r"\.[A-Za-z_]")
"""An extended missing value of Stata or SAS, with a letter."""
CODE_LOOKS: Final = re.compile(r"-?(9{2,}|9+[78]|7{2,}|8{2,})(\.9+)?")
"""Numbers that people use as missing codes."""
FAR: Final = 0.25
"""Distance of such a code, as a share of the range of other numbers."""
MAX_ZEROS: Final = 6
"""Most zero decimals of a whole-number missing code."""


def missing_codes(
    texts: Texts, kind: Kind | None, declared: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """Return the missing codes of a column: declared, defined in the file, or guessed.

    The order is fixed: as declared, then alphabetical.
    """
    in_file = () if texts.labelling is None else texts.labelling.missing
    if declared is not None:
        letters = [code for code in in_file if LETTER.fullmatch(code)]
        mask = texts.among([*declared, *letters, *_nulls(texts)])
    elif in_file:
        mask = texts.among([*in_file, *_nulls(texts)])
    elif kind is None:
        mask = texts.among(TEXT_CODES) | _codes_among_numbers(texts)
        mask |= _sentinels(texts, mask)
    else:
        mask = texts.among(NUMBER_CODES if kind in (Kind.NUMERIC, Kind.DATE) else TEXT_CODES)
        if kind is not Kind.ID:
            mask |= _sentinels(texts, mask)
        if kind in (Kind.ORDERED, Kind.CATEGORICAL):
            mask |= _codes_among_numbers(texts)
    return tuple(dict.fromkeys([*(declared or ()), *sorted(texts.picked(mask & texts.occurs))]))


def _nulls(texts: Texts) -> list[str]:
    return [""] if texts.null is None else ["", texts.null]


def as_written(texts: Texts, codes: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the missing codes as written in the data: a declared -8 may be -8.0 there."""
    if codes is None:
        return None
    written: list[str] = []
    for code in codes:
        short = code.rstrip("0").rstrip(".") if "." in code else code
        spellings = [code, short, *(f"{short}.{'0' * k}" for k in range(1, MAX_ZEROS + 1))]
        same = texts.picked(texts.among(spellings)) if short.lstrip("-").isdigit() else []
        written += same or [code]
    return tuple(dict.fromkeys(written))


def far_codes(numbers: FloatArray) -> tuple[float, ...]:
    """Return numbers such as 99 or -9999 far outside all others, which may be missing codes.

    Examples
    --------
    >>> far_codes(np.array([20.0, 41.0, 75.0, 98.0, 99.0])), far_codes(np.arange(20.0, 100.0))
    ((98.0, 99.0), ())
    """
    distinct = np.unique(numbers)
    looks = np.array([bool(CODE_LOOKS.fullmatch(f"{x:.10g}")) for x in distinct], dtype=np.bool_)
    ends = (np.cumprod(looks) + np.cumprod(looks[::-1])[::-1]) > 0  # none but codes lie beyond
    others = distinct[~ends]
    if len(others) < 2:
        return ()
    gap = FAR * (others[-1] - others[0])
    far = distinct[(distinct > others[-1] + gap) | (distinct < others[0] - gap)]
    return tuple(far.tolist())


def _codes_among_numbers(texts: Texts) -> BoolArray:
    """Return which texts are missing codes if all others are numbers."""
    codes = texts.among(NUMBER_CODES)
    others = texts.occurs & ~codes
    if others.any() and is_number(texts.values, texts.format)[others].all():
        return codes
    return np.zeros_like(codes)


def _sentinels(texts: Texts, is_code: BoolArray) -> BoolArray:
    """Return which texts are negative numbers that are missing codes.

    All other numbers must be non-negative. Several such codes are accepted if none is -1, since
    real negative numbers come close to zero, or if one is below -6. A scale symmetric about zero
    has none, nor -1 before 0 and 1, unless among many values it is more frequent than 0. One may
    also occur among words. A few words among the numbers change nothing.
    """
    sentinels = np.zeros(len(texts.values), dtype=np.bool_)
    where = np.flatnonzero(texts.occurs & ~is_code)
    values = texts.values.take(pa.array(where))
    number = is_number(values, texts.format)
    numbers = parse(values.filter(pa.array(number)), texts.format)
    negative = np.unique(numbers[numbers < 0]).tolist()
    if not negative or not set(negative) <= SENTINELS or len(where) < 3:
        return sentinels
    scale, rows = np.unique(numbers[numbers >= LEAST_OF_SCALE]), texts.counts[where[number]]
    is_frequent = len(scale) > MANY and rows[numbers == -1].sum() > rows[numbers == 0].sum()
    if negative == [-1] and {0, 1} <= {*scale} and not is_frequent:
        return sentinels
    has_gap = len(negative) == 1 or max(negative) <= -2 or min(negative) < LEAST_OF_SCALE
    are_numbers = 2 * len(numbers) > len(where)
    among_numbers = are_numbers and has_gap and len(numbers) > len(negative) + 1
    among_words = len(numbers) == len(negative) == 1 and not number.all()
    if among_numbers or among_words:
        is_scale = np.array_equal(scale, -scale[::-1])
        sentinels[where[number][numbers < (LEAST_OF_SCALE if is_scale else 0)]] = True
    return sentinels


def reason_codes(variable: Variable) -> list[str]:
    """Return the missing codes that give a reason or are a person's text, unlike a blank."""
    blank = {*NUMBER_CODES, variable.storage.get("null")}
    return [code for code in variable.missing if code not in blank]


def guessed_codes(table: Table, declared: Collection[str] = ()) -> str:
    """Return in words the undeclared values that are taken for missing, without empty cells.

    Unusual codes are named only if several records have them.
    """
    columns_of_code: dict[str, list[str]] = {}
    for column in table.columns:
        if column.name in declared:
            continue
        state = column.missing_state()
        for number, code in enumerate(column.variable.missing, 1):
            is_known = code in NUMBER_CODES or code in map(str, SENTINELS)
            if code and (is_known or (state == number).sum() >= FEWEST):
                columns_of_code.setdefault(code, []).append(column.name)
    return "; ".join(f"{code} in {listed(names)}" for code, names in columns_of_code.items())
