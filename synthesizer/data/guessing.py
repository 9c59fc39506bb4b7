"""The rules that guess a kind and missing codes from the distinct texts of a column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.errors import DataError
from synthesizer.data.sources import RawTable
from synthesizer.data.table import BoolArray, Kind, Variable
from synthesizer.data.texts import Texts
from synthesizer.data.values import (
    MAX_EXACT,
    days_of,
    detect_format,
    has_leading_zero,
    is_number,
    parse,
    parse_dates,
    resolution_of,
    rounded,
    style_of,
)

# From a kind and missing codes to a `Variable`, with everything checked against the texts.

MAX_LEVELS: Final = 100_000
MIN_ROWS: Final = 20
MAX_MISSING: Final = 127
FALSE_WORDS: Final = ("false", "no", "0", "f", "n")


CORRECT: Final = (
    "correct these cells, or leave their rows out of the file; if these are values too, declare "
    "`kind: ordered`, and all `levels` in order"
)
"""Advice where a missing code is none, since every row needs a value."""


class Problem(Exception):  # noqa: N818
    """What is wrong with one column, as the end of a sentence that starts with its name.

    ``every_row`` helps where every row needs a value, if ``remedy`` does not.
    """

    def __init__(self, fault: str, remedy: str = "", *, every_row: str | None = None) -> None:
        super().__init__(f"{fault}; {remedy}" if remedy else fault)
        self.in_every_row = str(self) if every_row is None else f"{fault}; {every_row}"


def infinite(texts: Texts, mask: BoolArray) -> Problem:
    """Return the problem of infinite numbers."""
    return Problem(
        f"has infinite numbers in {texts.where(mask)}",
        "declare them as `missing`",
        every_row=CORRECT,
    )


def empty(what: str = "") -> Problem:
    """Return the problem of a column without values."""
    return Problem(
        f"has no value in any row{what}",
        "drop it",
        every_row="name another column, or fill it in: every row needs a value",
    )


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a variable shall be, declared or guessed."""

    kind: Kind
    missing: tuple[str, ...]
    levels: tuple[str, ...] | None = None
    decimals: int | None = None
    date_format: str | None = None
    is_declared: bool = False


def build(texts: Texts, wanted: Wanted) -> Variable:
    """Make the variable, or raise a Problem where the values contradict what is wanted."""
    rest = texts.occurs & ~texts.among(wanted.missing)
    if not rest.any():
        raise empty(" besides missing codes")
    if len(wanted.missing) > MAX_MISSING:
        raise Problem(
            f"has {len(wanted.missing)} missing codes; at most {MAX_MISSING} are possible"
        )
    storage: dict[str, Any] = {}
    if texts.null is not None:
        storage["null"] = texts.null
    elif texts.source is None and "" in wanted.missing:
        storage["null"] = ""  # what an empty cell becomes in a typed file
    return _BUILDERS[wanted.kind](texts, wanted, rest, storage)


def _coded(texts: Texts, wanted: Wanted, rest: BoolArray, storage: dict[str, Any]) -> Variable:
    levels = wanted.levels
    if levels is None:
        levels = _levels(texts, wanted, rest)
    else:
        _check_levels(texts, wanted, rest)
    n_levels = int(rest.sum())
    if n_levels > MAX_LEVELS:
        raise Problem(f"has {n_levels} levels; at most {MAX_LEVELS}; declare `kind: id` or drop it")
    enough = texts.n_rows >= MIN_ROWS and n_levels > 10
    if enough and texts.counts[rest].max() == 1 and texts.ordered is None:
        raise Problem(
            "is categorical but all its values are distinct",
            "declare `kind: id` or drop it",
            every_row="declare `kind: ordered`, and all `levels` in order",
        )
    return Variable(
        name=texts.name, kind=wanted.kind, levels=levels, missing=wanted.missing, storage=storage
    )


def _levels(texts: Texts, wanted: Wanted, rest: BoolArray) -> tuple[str, ...]:
    if texts.ordered is not None:  # categories of the source, whether they occur or not
        return tuple(texts.picked(~texts.among(wanted.missing)))
    values = texts.values.filter(pa.array(rest))
    found = sorted(values.to_pylist())
    if is_number(values, texts.mark).all():
        mark = texts.mark
        return tuple(sorted(found, key=lambda text: float(text.replace(mark, "."))))
    if wanted.kind is Kind.ORDERED:
        raise Problem("is declared ordered, but its levels are words; declare `levels` in order")
    return tuple(found)


def _check_levels(texts: Texts, wanted: Wanted, rest: BoolArray) -> None:
    levels = wanted.levels or ()
    if len(set(levels)) != len(levels) or set(levels) & set(wanted.missing):
        raise Problem("has `levels` that are named twice or are missing codes; name each once")
    odd = rest & ~texts.among(levels)
    if odd.any():
        raise Problem(
            f"has {int(odd.sum())} texts that are not in its declared `levels`, in "
            f"{texts.where(odd)}",
            "add them to `levels` or `missing`",
            every_row="add them to `levels`, or correct these cells",
        )


def _boolean(texts: Texts, wanted: Wanted, rest: BoolArray, storage: dict[str, Any]) -> Variable:
    found = texts.picked(rest)
    if texts.source is not None and pa.types.is_boolean(texts.source):
        found = ["false", "true"]
    if len(found) > 2:
        raise Problem(f"is declared boolean but has {len(found)} distinct values")
    for pair in (("false", "true"), ("FALSE", "TRUE"), ("False", "True")):
        if set(found) <= set(pair):
            found = list(pair)
    levels = wanted.levels or tuple(sorted(found, key=lambda t: (t.lower() not in FALSE_WORDS, t)))
    _check_levels(texts, Wanted(kind=wanted.kind, missing=wanted.missing, levels=levels), rest)
    return Variable(
        name=texts.name, kind=wanted.kind, levels=levels, missing=wanted.missing, storage=storage
    )


def _numeric(texts: Texts, wanted: Wanted, rest: BoolArray, storage: dict[str, Any]) -> Variable:
    odd = rest.copy()
    odd[rest] = ~is_number(texts.values.filter(pa.array(rest)), texts.mark)
    infinities = odd & texts.among(("inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity"))
    if infinities.any():
        raise infinite(texts, infinities)
    if odd.any():
        raise Problem(
            f"is numeric, but {texts.where(odd)} are not numbers",
            "declare them as `missing`, or `kind: categorical`",
            every_row=CORRECT,
        )
    values = texts.values.filter(pa.array(rest))
    numbers = parse(values, texts.mark)
    if np.isinf(numbers).any():
        raise infinite(texts, rest)
    large = rest.copy()
    large[rest] = (np.abs(numbers) > MAX_EXACT) & (numbers == np.rint(numbers))
    if large.any() and (texts.source is None or not pa.types.is_floating(texts.source)):
        raise Problem(
            f"has whole numbers beyond 2**53 in {texts.where(large)}, which would be altered; "
            "declare `kind: id` or `kind: categorical`"
        )
    decimals, style = style_of(values, texts.mark)
    if wanted.decimals is not None:
        _check_decimals(texts, rest, numbers, wanted.decimals)
        if style == "fixed" and decimals != wanted.decimals:
            style = "plain"
        decimals = wanted.decimals
    elif decimals and not (rounded(numbers, decimals) == numbers).all():
        decimals, style = None, "plain"  # large numbers that rounding would change
    storage |= {"style": style}
    if texts.mark != ".":
        storage["mark"] = texts.mark
    return Variable(
        name=texts.name, kind=Kind.NUMERIC, missing=wanted.missing, decimals=decimals,
        storage=storage,
    )  # fmt: skip


def _check_decimals(texts: Texts, rest: BoolArray, numbers: Any, decimals: int) -> None:
    if decimals < 0:
        raise Problem("has negative `decimals`; they must be 0 or more")
    fine = rest.copy()
    fine[rest] = np.isclose(np.round(numbers, decimals), numbers, rtol=1e-14, atol=1e-14)
    odd = rest & ~fine
    if odd.any():
        raise Problem(f"has more than the declared {decimals} decimals in {texts.where(odd)}")


def _date(texts: Texts, wanted: Wanted, rest: BoolArray, storage: dict[str, Any]) -> Variable:
    native = texts.native
    if native is not None and (pa.types.is_date(native.type) or pa.types.is_timestamp(native.type)):
        days = days_of(native.filter(pa.array(rest)))
        storage["date_format"] = "%Y-%m-%d"
        if resolution_of(days) < 86_400_000_000:
            storage["date_format"] = "%Y-%m-%dT%H:%M:%S"
    else:
        values = texts.values.filter(pa.array(rest))
        storage["date_format"], days = _dates(texts, wanted, rest, values)
    storage["resolution"] = resolution_of(days)
    return Variable(
        name=texts.name, kind=Kind.DATE, missing=wanted.missing,
        decimals=0 if storage["resolution"] == 86_400_000_000 else None, storage=storage,
    )  # fmt: skip


def _dates(texts: Texts, wanted: Wanted, rest: BoolArray, values: pa.Array) -> tuple[str, Any]:
    form = wanted.date_format
    if form is None:
        forms = detect_format(values)
        if len(forms) != 1:
            raise Problem(
                "is a date, but " + ("more than one" if forms else "no known") + " format fits "
                "all its values; set `date_format`, for example %d/%m/%Y"
            )
        form = forms[0]
    written, days, wrong = parse_dates(values, form)
    if wrong.any():
        odd = rest.copy()
        odd[rest] = wrong
        raise Problem(
            f"has no dates like {form} in {texts.where(odd)}",
            "declare them as `missing`",
            every_row=CORRECT,
        )
    return written, days


def _id(texts: Texts, wanted: Wanted, rest: BoolArray, storage: dict[str, Any]) -> Variable:
    """Remember how identifiers look, never one of them."""
    values = texts.values.filter(pa.array(rest))
    parts = pc.extract_regex(values, r"^(?P<prefix>\D{0,10})(?P<digits>\d+)$")
    prefix, width = "", 0
    if not parts.null_count and len(pc.unique(parts.field("prefix"))) == 1:
        digits = parts.field("digits")
        prefix = parts.field("prefix")[0].as_py()
        lengths = pc.unique(pc.utf8_length(digits))
        if len(lengths) == 1 and has_leading_zero(digits).any():
            width = lengths[0].as_py()
    storage |= {"prefix": prefix, "width": width}
    return Variable(name=texts.name, kind=Kind.ID, missing=wanted.missing, decimals=0,
                    storage=storage)  # fmt: skip


_BUILDERS: Final[dict[Kind, Callable[..., Variable]]] = {
    Kind.CATEGORICAL: _coded,
    Kind.ORDERED: _coded,
    Kind.BOOLEAN: _boolean,
    Kind.NUMERIC: _numeric,
    Kind.DATE: _date,
    Kind.ID: _id,
}

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
    """Guess what a column is, or raise a Problem where there is no safe guess."""
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


# What every column is: declared, or inferred from its distinct texts.


MAX_ZEROS = 6  # decimals of a missing code that is a whole number


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a configuration may say of a variable; None leaves it to inference."""

    kind: Kind | None = None
    missing: tuple[str, ...] | None = None
    """Missing codes as they are written; an empty cell is always one."""
    levels: tuple[str, ...] | None = None
    decimals: int | None = None
    date_format: str | None = None
    """A ``strptime`` format such as ``%d/%m/%Y``."""
    every_row: bool = False
    """Whether no row may lack a value: persons and periods of a panel. Decides what is advised
    where something is wrong."""


@dataclass(frozen=True)
class Inferred:
    """A variable and, in plain words, why it is of its kind."""

    variable: Variable
    reason: str


def infer(raw: RawTable, declared: Mapping[str, Declaration] | None = None) -> tuple[Inferred, ...]:
    """Decide the kind, levels, missing codes and decimals of every column.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthesizer.data.sources import from_pandas
    >>> raw = from_pandas(pd.DataFrame({"sex": ["f", "m"] * 9, "pay": range(0, 1800, 100)}))
    >>> [str(item.variable.kind) for item in infer(raw)]
    ['categorical', 'numeric']
    """
    declared = declared or {}
    problems = [
        f"{raw.origin}: no column {name!r}; declare only columns that exist"
        for name in declared
        if name not in raw.names
    ]
    found = []
    for texts in raw.texts:
        said = declared.get(texts.name, Declaration())
        try:
            found.append(_infer_one(texts, said))
        except Problem as problem:
            told = problem.in_every_row if said.every_row else str(problem)
            problems.append(f"{raw.origin}: column {texts.name!r} {told}")
    if problems:
        raise DataError(problems)
    return tuple(found)


def _as_written(texts: Texts, codes: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the missing codes as the data write them: a declared -8 may stand there as -8.0."""
    if codes is None:
        return None
    found: list[str] = []
    for code in codes:
        short = code.rstrip("0").rstrip(".") if "." in code else code
        spellings = [code, short, *(f"{short}.{'0' * k}" for k in range(1, MAX_ZEROS + 1))]
        same = texts.picked(texts.among(spellings)) if short.lstrip("-").isdigit() else []
        found += same or [code]
    return tuple(dict.fromkeys(found))


def _infer_one(texts: Texts, said: Declaration) -> Inferred:
    said = replace(said, missing=_as_written(texts, said.missing))
    found = _declared(texts, said) or guess(texts, said.missing)
    wanted = Wanted(
        kind=found.kind,
        missing=found.missing,
        levels=said.levels,
        decimals=said.decimals,
        date_format=said.date_format,
        is_declared=said.kind is not None or said.levels is not None,
    )
    return Inferred(build(texts, wanted), found.reason)


def _declared(texts: Texts, said: Declaration) -> Guess | None:
    kind = said.kind
    if kind is None and said.levels is not None:
        kind = Kind.CATEGORICAL
    if kind is None and said.date_format is not None:
        kind = Kind.DATE
    if kind is None:
        return None
    return Guess.declared(texts, kind, said.missing)
