"""Which texts of a column stand for a missing value: declared, named by the file, or guessed."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import numpy as np
import pyarrow as pa

from synthesizer.data.errors import listed
from synthesizer.data.sources import Texts
from synthesizer.data.table import BoolArray, FloatArray, Kind, Table
from synthesizer.data.values import is_number, parse

TEXT_CODES: Final = (
    "", "NA", "N/A", "#N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", ".", "<null>", "NaT",
    "0000-00-00", "0000-00-00 00:00:00", "00/00/0000", "00.00.0000",
)  # fmt: skip
"""Missing codes of any column."""
FEWEST: Final = 5
"""Records that have a code which is no usual one, for it to be named on a screen."""
NUMBER_CODES: Final = (*TEXT_CODES, "N", "na", "None", "none", "Na", "-", "*", "..", "Null")
"""Missing codes among numbers, where they cannot be answers."""
SENTINELS: Final = frozenset(
    {-1, -2, -3, -7, -8, -9, -77, -88, -97, -98, -99, -777, -888, -999, -7777, -8888, -9999}
)
"""Negative numbers that may stand for a missing value."""
LETTER: Final = re.compile(r"\.[A-Za-z_]")
"""A missing value of Stata or SAS, which is told apart by a letter."""
CODE_LOOKS: Final = re.compile(r"-?(9{2,}|9+[78]|7{2,}|8{2,})(\.9+)?")
"""Numbers that people write where a value is missing."""
FAR: Final = 0.25
"""Range of the other numbers, beyond which such a number lies far outside."""
MAX_ZEROS: Final = 6
"""Decimals of a missing code that is a whole number."""


def missing_codes(
    texts: Texts, kind: Kind | None, declared: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """Return the missing codes of a column: declared, named by the file, or guessed.

    In a fixed order: as declared, then alphabetically.
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
    """Return the missing codes as the data write them: a declared -8 may be -8.0 in the data."""
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
    """Return numbers such as 99 or -9999 that lie far outside all others, as missing codes do.

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
    """Return which texts are missing codes if all other values are numbers."""
    codes = texts.among(NUMBER_CODES)
    others = texts.occurs & ~codes
    if others.any() and is_number(texts.values, texts.format)[others].all():
        return codes
    return np.zeros_like(codes)


def _sentinels(texts: Texts, is_code: BoolArray) -> BoolArray:
    """Return which texts are negative numbers that stand for a missing value.

    They must stand alone: one negative number among others that are not negative, several only
    if none is -1 (numbers that are really negative come close to zero), or one among words. A few
    words among the numbers change nothing.
    """
    sentinels = np.zeros(len(texts.values), dtype=np.bool_)
    where = np.flatnonzero(texts.occurs & ~is_code)
    values = texts.values.take(pa.array(where))
    number = is_number(values, texts.format)
    numbers = parse(values.filter(pa.array(number)), texts.format)
    negative = np.unique(numbers[numbers < 0]).tolist()
    if not negative or not set(negative) <= SENTINELS or len(where) < 3:
        return sentinels
    is_alone = len(negative) == 1 or max(negative) <= -2
    are_numbers = 2 * len(numbers) > len(where)
    among_numbers = are_numbers and is_alone and len(numbers) > len(negative) + 1
    among_words = len(numbers) == len(negative) == 1 and not number.all()
    if among_numbers or among_words:
        sentinels[where[number][numbers < 0]] = True
    return sentinels


def guessed_codes(table: Table, declared: Collection[str] = ()) -> str:
    """Return a note on undeclared values that are read as missing, without empty cells.

    Others than the usual codes are named where several records have them.
    """
    found: dict[str, list[str]] = {}
    for column in table.columns:
        if column.name in declared:
            continue
        state = column.missing_state()
        for number, code in enumerate(column.variable.missing, 1):
            is_known = code in NUMBER_CODES or code in map(str, SENTINELS)
            if code and (is_known or (state == number).sum() >= FEWEST):
                found.setdefault(code, []).append(column.name)
    return "; ".join(f"{code} in {listed(names)}" for code, names in found.items())
