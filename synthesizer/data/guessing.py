"""The rules that guess a kind and missing codes from the distinct texts of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.dates import detect_format
from synthesizer.data.numbers import MAX_EXACT, has_leading_zero, is_number, parse
from synthesizer.data.schema import Kind
from synthesizer.data.table import BoolArray
from synthesizer.data.texts import Texts
from synthesizer.data.variables import CORRECT, Problem, empty, infinite

__all__ = ["Guess", "guess", "is_empty"]

TEXT_CODES: Final = (
    "", "NA", "N/A", "#N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", ".", "<null>",
)  # fmt: skip
"""Missing codes of any column."""

NUMBER_CODES: Final = (*TEXT_CODES, "N", "na", "None", "none", "Na", "-", "*", "..", "Null")
"""Missing codes among numbers, where they cannot be answers."""

SENTINELS: Final = frozenset(
    {-1, -2, -3, -7, -8, -9, -77, -88, -97, -98, -99, -777, -888, -999, -7777, -8888, -9999}
)
BOOLEANS: Final = (("false", "true"), ("FALSE", "TRUE"), ("False", "True"))
ID_NAME: Final = re.compile(
    r"(?i:(^|[_.\- ])(id|ids|uid|uuid|guid)([_.\- ]|$))|[a-z](ID|Id)$|^(ID|Id)[A-Z]"
    r"|(?i:^(pid|hid|hhid|caseid|pers_?nr|hh_?nr|serial)$)"
)
"""Names of identifiers and hardly of anything else."""
MAYBE_ID_NAME: Final = re.compile(
    r"(?i)^id(?!l|ea|eo|io|ad)|(^|[_.\- ])ident|(^|[_.\- ])key$|(nr|nummer|number)$"
    r"|(case|pers|serial)_?no$|ids?$"
)
"""Names that also begin or end like other words: most values must be distinct too."""
NO_ID_NAME: Final = re.compile(
    r"(?i)(^|[_.\- ])((un|pre|re|over)?paid|said|laid|aid|medicaid|bid|kid|mid|acid|hybrid|grid"
    r"|rapid|lipid|(in)?valid|covid|solid|liquid|fluid|a?void|humid)s?$"
)

FEW_INTEGERS: Final = 10
"""Whole numbers with at most so many distinct values are taken for codes."""
MIN_ROWS: Final = 20
"""Below so many rows, distinct values prove nothing."""
MANY_IDS: Final = 50
"""An identifier has more distinct values than this."""
MOST_IDS: Final = 0.5
MANY_LEVELS: Final = 100
MOSTLY: Final = 0.9
NEARLY_ALL: Final = 0.8
LARGE: Final = 1000


@dataclass(frozen=True)
class Guess:
    """Kind and missing codes, and why."""

    kind: Kind
    missing: tuple[str, ...]
    reason: str

    @classmethod
    def declared(cls, texts: Texts, kind: Kind, missing: tuple[str, ...] | None) -> Self:
        """Take the declared kind; guess the missing codes unless they are declared too."""
        if missing is None:
            codes = NUMBER_CODES if kind in (Kind.NUMERIC, Kind.DATE) else TEXT_CODES
            mask = texts.among(codes)
            mask |= _sentinels(texts, mask) if kind is not Kind.ID else False
            if kind is Kind.ORDERED or kind is Kind.CATEGORICAL:
                mask |= _codes_among_numbers(texts)
        else:
            mask = texts.among([*missing, *_nulls(texts)])
        return cls(kind, _codes(texts, mask, missing), "declared")


def guess(texts: Texts, missing: tuple[str, ...] | None = None) -> Guess:
    """Guess what a column is.

    Raises
    ------
    Problem
        If there is no safe guess: no value at all, numbers mixed with text, infinite or very
        large numbers, free text.
    """
    if missing is None:
        mask = texts.among(TEXT_CODES) | _codes_among_numbers(texts)
        mask |= _sentinels(texts, mask)
    else:
        mask = texts.among([*missing, *_nulls(texts)])
    rest = texts.occurs & ~mask
    if not rest.any():
        raise empty()
    kind, reason = _kind(texts, rest)
    return Guess(kind, _codes(texts, mask, missing), reason)


def is_empty(texts: Texts) -> bool:
    """Tell whether a column has no value in any row, only missing codes."""
    return not (texts.occurs & ~texts.among([*TEXT_CODES, *_nulls(texts)])).any()


def _nulls(texts: Texts) -> list[str]:
    return [""] if texts.null is None else ["", texts.null]


def _codes(texts: Texts, mask: BoolArray, declared: Iterable[str] | None) -> tuple[str, ...]:
    """Return the missing codes in a fixed order: as declared, then alphabetically."""
    found = sorted(texts.picked(mask & texts.occurs))
    return tuple(dict.fromkeys([*(declared or ()), *found]))


def _codes_among_numbers(texts: Texts) -> BoolArray:
    """Tell which texts are missing codes if everything else is a number."""
    codes = texts.among(NUMBER_CODES)
    others = texts.occurs & ~codes
    if others.any() and is_number(texts.values, texts.mark)[others].all():
        return codes
    return np.zeros_like(codes)


def _sentinels(texts: Texts, known: BoolArray) -> BoolArray:
    """Tell which texts are negative numbers that stand for a missing value.

    They must stand alone: one negative number among others that are not negative, several only
    if none is -1 (numbers that are really negative come close to zero), or one among words.
    """
    found = np.zeros(len(texts.values), dtype=np.bool_)
    where = np.flatnonzero(texts.occurs & ~known)
    values = texts.values.take(pa.array(where))
    number = is_number(values, texts.mark)
    if not number.any():
        return found
    numbers = parse(values.filter(pa.array(number)), texts.mark)
    negative = np.unique(numbers[numbers < 0]).tolist()
    if not negative or not set(negative) <= SENTINELS or len(where) < 3:
        return found
    is_alone = len(negative) == 1 or max(negative) <= -2
    among_numbers = bool(number.all()) and is_alone and len(numbers) > len(negative) + 1
    among_words = len(numbers) == len(negative) == 1 and not number.all()
    if among_numbers or among_words:
        found[where[number][numbers < 0]] = True
    return found


def _kind(texts: Texts, rest: BoolArray) -> tuple[Kind, str]:
    typed = _typed_kind(texts)
    if typed is not None:
        return typed
    values = texts.values.filter(pa.array(rest))
    number = is_number(values, texts.mark)
    if number.all():
        return _number_kind(texts, rest, values)
    words = set(values.slice(0, 3).to_pylist())
    if any(words <= set(pair) for pair in BOOLEANS):
        return Kind.BOOLEAN, "true and false"
    forms = detect_format(values)
    if len(forms) == 1:
        return Kind.DATE, f"all values are dates like {forms[0].removeprefix('unpadded:')}"
    if forms:
        raise Problem("may be dates, but day and month cannot be told apart; set `date_format`")
    _refuse_mixed(texts, rest, number)
    return _text_kind(texts, rest)


def _typed_kind(texts: Texts) -> tuple[Kind, str] | None:
    if texts.ordered is not None:
        kind = Kind.ORDERED if texts.ordered else Kind.CATEGORICAL
        return kind, f"the source has {'ordered ' if texts.ordered else ''}categories"
    if texts.source is None:
        return None
    if pa.types.is_boolean(texts.source):
        return Kind.BOOLEAN, "the source says so"
    if pa.types.is_date(texts.source) or pa.types.is_timestamp(texts.source):
        return Kind.DATE, "the source says so"
    return None


def _is_text(texts: Texts) -> bool:
    return texts.source is not None and (
        pa.types.is_string(texts.source) or pa.types.is_large_string(texts.source)
    )


def _number_kind(texts: Texts, rest: BoolArray, values: pa.Array) -> tuple[Kind, str]:
    all_distinct = _all_distinct(texts, rest)
    if has_leading_zero(values).any():
        why = "numbers with leading zeros are codes"
        return (Kind.ID, f"{why}, all distinct") if all_distinct else (Kind.CATEGORICAL, why)
    if texts.quoted or _is_text(texts):
        why = "numbers stored as text" if _is_text(texts) else "numbers in quotes are codes here"
        is_id = all_distinct or _named_like_id(texts, rest)
        return (Kind.ID, f"{why}, all distinct") if is_id else (Kind.CATEGORICAL, why)
    numbers = parse(values, texts.mark)
    if np.isinf(numbers).any():
        raise infinite(texts, rest)
    whole = bool((numbers == np.rint(numbers)).all())
    if not whole:
        return Kind.NUMERIC, "numbers with decimals"
    if _named_like_id(texts, rest) or (all_distinct and _is_numbering(texts, rest, numbers)):
        return Kind.ID, "numbers the rows, or is named like an identifier"
    if all_distinct and np.abs(numbers).max() > MAX_EXACT:
        return Kind.ID, "very large whole numbers, all distinct"
    few = len(numbers) <= FEW_INTEGERS and texts.n_rows >= 2 * len(numbers)
    if few and not _written_with_point(texts, values):
        return Kind.CATEGORICAL, f"whole numbers with only {len(numbers)} distinct values"
    return Kind.NUMERIC, _of_whole(texts, rest, numbers)


def _of_whole(texts: Texts, rest: BoolArray, numbers: np.ndarray) -> str:
    if _share_distinct(texts, rest) > NEARLY_ALL and np.abs(numbers).max() >= LARGE:
        return "whole numbers, nearly all distinct: declare id if it is an identifier"
    return "whole numbers"


def _written_with_point(texts: Texts, values: pa.Array) -> bool:
    return texts.source is None and bool(pc.any(pc.match_substring(values, texts.mark)).as_py())


def _all_distinct(texts: Texts, rest: BoolArray) -> bool:
    return texts.n_rows >= MIN_ROWS and bool(texts.counts[rest].max() == 1 and rest.sum() > 10)


def _named_like_id(texts: Texts, rest: BoolArray) -> bool:
    distinct = int(rest.sum())
    if ID_NAME.search(texts.name) is not None:
        return _all_distinct(texts, rest) or distinct >= max(MANY_IDS, texts.n_rows // 25)
    maybe = MAYBE_ID_NAME.search(texts.name) and not NO_ID_NAME.search(texts.name)
    return bool(maybe) and _share_distinct(texts, rest) >= MOST_IDS


def _share_distinct(texts: Texts, rest: BoolArray) -> float:
    """Return distinct values per row that is not missing; 0 where they are too few to tell."""
    distinct = int(rest.sum())
    return distinct / int(texts.counts[rest].sum()) if distinct > MANY_IDS else 0.0


def _is_numbering(texts: Texts, rest: BoolArray, numbers: np.ndarray) -> bool:
    """Tell whether the numbers count the rows, in the order of the file."""
    of_text = np.full(len(texts.values), np.nan)
    of_text[rest] = numbers
    steps = np.diff(of_text[texts.codes])
    return bool((steps == 1).all())


def _refuse_mixed(texts: Texts, rest: BoolArray, number: BoolArray) -> None:
    """Refuse a column of numbers with some text: it is not ours to decide what the text means."""
    odd = rest.copy()
    odd[rest] = ~number
    infinities = texts.among(("inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity")) & odd
    if infinities.any() and (infinities == odd).all():
        raise infinite(texts, infinities)
    share = texts.counts[rest & ~odd].sum() / texts.counts[rest].sum()
    values = texts.values.filter(pa.array(rest))
    is_code = has_leading_zero(values).any() or texts.quoted or _is_text(texts)
    if share >= MOSTLY and number.sum() > FEW_INTEGERS and not is_code:
        raise Problem(
            f"mixes numbers with text in {texts.where(odd)}",
            "declare the texts as `missing`, or `kind: categorical`",
            every_row=CORRECT,
        )


def _text_kind(texts: Texts, rest: BoolArray) -> tuple[Kind, str]:
    if _all_distinct(texts, rest):
        return Kind.ID, "text, all distinct"
    if _named_like_id(texts, rest):
        return Kind.ID, "named like an identifier"
    distinct = int(rest.sum())
    if distinct > max(MANY_LEVELS, texts.n_rows / 2):
        raise Problem(
            f"has {distinct} distinct texts in {texts.n_rows} rows",
            "drop it, or declare `kind: id` or `kind: categorical`",
            every_row="declare `date_format`, or `kind: ordered` and all `levels` in order",
        )
    return Kind.CATEGORICAL, "text"
