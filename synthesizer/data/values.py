"""Text form of numbers and dates: detection, parsing, and writing in the same style.

A style is one of

- ``fixed``: every number with the same decimals (``2.50``);
- ``fixed2``: as ``fixed`` with two decimals, of whole numbers (``2.00``; ``38.0`` of pandas);
- ``plain``: no needless zeros (``2.5``, ``3``);
- ``point``: as ``plain``, but whole numbers end in ``.0`` (Python and pandas);
- ``bare``: as ``plain``, without a zero before the point (``.5``, as Stata and SAS write);
- ``e3`` or ``E3``: all in scientific notation with three decimals; ``e3s``: as 2.125e5, not e+05;
- ``short``: the shorter of ``plain`` and scientific notation (R writes ``1e+05``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.errors import DataError
from synthesizer.data.number_formats import NUMBER, PLAIN, NumberFormat
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Variable

LARGEST: Final = 1e100
"""Larger numbers have squares and sums of squares that overflow."""
MAX_EXACT: Final = 2.0**53
"""Whole numbers up to here are exact in float64."""

MAX_DECIMALS: Final = 6
"""Most decimals of a unit of measurement; more are full precision."""

LEADING_ZERO = r"^[+-]?0\d"
STYLES: Final = ("plain", "point", "bare", "short")


def matches(values: pa.Array, pattern: str) -> BoolArray:
    """Return which texts a pattern matches; nulls do not match."""
    matched = pc.fill_null(pc.match_substring_regex(values, pattern), False)
    return np.asarray(matched.to_numpy(zero_copy_only=False), dtype=np.bool_)


def is_number(values: pa.Array, form: NumberFormat = PLAIN) -> BoolArray:
    """Return which texts are finite decimal numbers."""
    return matches(form.plain(values), NUMBER)


def has_leading_zero(values: pa.Array) -> BoolArray:
    """Return which texts start with a leading zero, such as code ``007``."""
    return matches(values, LEADING_ZERO)


def parse(values: pa.Array, form: NumberFormat = PLAIN) -> FloatArray:
    """Return texts that `is_number` accepts as float64; raise pyarrow.ArrowInvalid on others."""
    plain = form.plain(values)
    if plain.null_count > values.null_count:
        raise pa.ArrowInvalid("texts of another format")
    return np.asarray(pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def finite_number(text: str) -> float | None:
    """Return the finite number of a text, None if it is not one.

    Examples
    --------
    >>> finite_number("-8"), finite_number("inf"), finite_number("x")
    (-8.0, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def style_of(values: pa.Array, form: NumberFormat = PLAIN) -> tuple[int | None, str]:
    """Return decimals (None without fixed ones) and style of distinct numbers."""
    values = form.plain(values)
    numbers = parse(values)
    scientific = matches(values, "[eE]")
    behind = pc.replace_substring_regex(values.filter(pa.array(~scientific)), r"^[^.]*\.?", "")
    written = pc.utf8_length(behind).to_numpy(zero_copy_only=False)
    most = int(written.max(initial=0))
    if not scientific.any():
        if most == written.min() and not matches(values, r"^-?\.").any():
            return most, "fixed"
    elif most <= MAX_DECIMALS:
        texts = [_positional(x) for x in numbers[scientific].tolist()]
        most = max(most, *(len(text.partition(".")[2]) for text in texts))
    decimals = most if most <= MAX_DECIMALS else None
    styles: tuple[str, ...] = STYLES
    if scientific.all() and (first := re.match(r".*?(\.\d*)?([eE])", str(values.slice(0, 1)[0]))):
        digits = f"{first[2]}{max(len(first[1] or '') - 1, 0)}"
        decimals, styles = None, (digits, f"{digits}s", *STYLES)
    few = slice(0, 1000)  # settles which styles are worth a look at all values
    for style in styles:
        if _reproduces(values[few], numbers[few], decimals, style) and _reproduces(
            values, numbers, decimals, style
        ):
            return decimals, style
    with_point, whole = matches(values, r"\.0$"), matches(values, r"^-?\d+(\.0)?$")
    return decimals, "point" if 2 * with_point.sum() > whole.sum() else "plain"


def _reproduces(values: pa.Array, numbers: FloatArray, decimals: int | None, style: str) -> bool:
    return bool(pc.all(pc.equal(format_numbers(numbers, decimals, style), values)).as_py())


def format_numbers(
    numbers: FloatArray, decimals: int | None, style: str = "plain", form: NumberFormat = PLAIN
) -> pa.Array:
    """Return finite numbers as texts in a style, rounded to ``decimals`` unless None."""
    if decimals is not None:
        numbers = rounded(numbers, decimals)
    numbers = numbers + 0.0  # a negative zero becomes a zero
    if style.startswith("fixed") and decimals is not None:
        texts = _fixed(numbers, int(style[5:] or decimals))
    elif style == "short":
        texts = _by_distinct(numbers, _shorter)
    elif style[0] in "eE":
        texts = _by_distinct(numbers, lambda x: f"{x:.{style[1:].rstrip('s')}{style[0]}}")
        if style.endswith("s"):
            texts = pc.replace_substring_regex(texts, r"([eE])\+?(-?)0?(\d)", r"\1\2\3")
    else:
        texts = _plain(numbers, point=style == "point")
    if style == "bare":
        texts = pc.replace_substring_regex(texts, r"^(-?)0\.", r"\1.")
    return form.written(texts)


def rounded(numbers: FloatArray, decimals: int) -> FloatArray:
    """Return rounded numbers; those too large for these decimals in float64 stay."""
    with np.errstate(over="ignore"):
        scaled = numbers * 10.0**decimals
    return np.where(np.abs(scaled) < MAX_EXACT, np.rint(scaled) / 10.0**decimals, numbers)


def _fixed(numbers: FloatArray, decimals: int) -> pa.Array:
    # beyond this many decimals Arrow switches to scientific notation
    if decimals > MAX_DECIMALS or np.abs(numbers).max(initial=0.0) >= MAX_EXACT:
        return pa.array([f"{x:.{decimals}f}" for x in numbers.tolist()], pa.string())
    if decimals == 0:
        return pc.cast(pa.array(numbers.astype(np.int64)), pa.string())
    return pc.cast(pc.cast(pa.array(numbers), pa.decimal128(30, decimals)), pa.string())


def _plain(numbers: FloatArray, *, point: bool) -> pa.Array:
    """Return the shortest text without exponent that reads as the same number."""
    size = np.abs(numbers)
    texts = pc.cast(pa.array(numbers), pa.string())
    if point:
        whole = pa.array(numbers == np.rint(numbers))
        texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    odd = (size >= 1e10) | ((size < 1e-4) & (size > 0))  # Arrow writes exponents there
    if odd.any():
        written = _by_distinct(numbers[odd], repr if point else _positional)
        texts = pc.replace_with_mask(texts, pa.array(odd), written)
    return texts


def _positional(number: float) -> str:
    return np.format_float_positional(number, trim="-")


def _shorter(number: float) -> str:
    plain = _positional(number)
    scientific = np.format_float_scientific(number, trim="-", exp_digits=2)
    return scientific if len(scientific) < len(plain) else plain


def _by_distinct(numbers: FloatArray, write: Callable[[float], str]) -> pa.Array:
    distinct, where = np.unique(numbers, return_inverse=True)
    texts = [write(x) for x in distinct.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(where.ravel()))


MICROSECONDS_A_DAY: Final = 86_400_000_000
RESOLUTIONS: Final = (MICROSECONDS_A_DAY, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)

COMPACT: Final = {
    "%Y%m%d": r"(1[6-9]|2[01])\d{6}",
    "%d%m%Y": r"[0-3]?\d[01]\d(19|20)\d{2}",
    "%m%d%Y": r"[01]?\d[0-3]\d(19|20)\d{2}",
    "%Y%m": r"(19|20)\d{2}[01]\d",
    "%m%Y": r"[01]\d(19|20)\d{2}",
    "%d%m%y": r"[0-3]\d[01]\d{3}",
    "%m%d%y": r"[01]\d[0-3]\d{3}",
    "%y%m%d": r"\d{2}[01]\d[0-3]\d",
}
"""Formats of dates that are whole numbers."""
_DAY_FIRST: Final = ("%d%m%Y", "%m%d%Y")
_SIX_DIGITS: Final = ("%d%m%y", "%m%d%y", "%y%m%d")
_MIN_DATES: Final = 50
"""Fewest distinct six-digit values that are taken for dates."""
_DAYS: Final = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y%m%d",
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%y-%m-%d", "%d-%b-%y",
)  # fmt: skip
_HOURS: Final = (
    "", " %H:%M", "T%H:%M", " %-H:%M", " %H:%M:%S", "T%H:%M:%S", " %-H:%M:%S", " %I:%M %p",
    " %-I:%M %p", " %I:%M:%S %p", " %-I:%M:%S %p",
)  # fmt: skip
_PARTS: Final = tuple(f"%Y-%m-%d{t}%H:%M:%S.%{n}f" for n in (3, 6) for t in " T")
_MONTHS: Final = ("%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y", "%b %Y", "%B %Y", "%Y %b", "%b-%y")


def _shape(form: str) -> str:
    """Return a regular expression of dates in a format."""
    is_short = form.startswith(("%d", "%m", "%b", "%B")) and "-%b" not in form  # 1/5/2019
    kinds = {
        "%Y": r"\d{4}", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}", "%p": "[AP]M",
        "%3f": r"\d{3}", "%6f": r"\d{6}", "%-H": r"\d{1,2}", "%-I": r"\d{1,2}",
    } | dict.fromkeys(("%d", "%m"), r"\d{1,2}" if is_short else r"\d{2}")  # fmt: skip
    shape = re.sub(r"%[-36]?\w", lambda m: kinds.get(m[0], r"\d{2}"), form.replace(".", r"\."))
    return f"^{COMPACT.get(form, shape)}$"


_SHAPES: Final = {
    form: _shape(form)
    for form in (
        *_DAYS, *(day + hour for day in _DAYS for hour in _HOURS), *_PARTS, *_MONTHS, *COMPACT
    )
}  # fmt: skip
_BEGINNING: Final = r"^(\d{4}[-/. ]|\d{1,2}[-/. ]|\d{6,8}( |T|$)|[A-Za-z]{3,9}[ -]\d)"
"""Beginning of all these shapes."""
_SHORT_HOUR: Final = re.compile("%-([HI])")
"""An hour without a leading zero, as in 1/5/2019 9:05."""
_LEADING_ZEROS = r"^0?(\d{1,2})([/.-])0?(\d{1,2})([/.-])"
_ZERO_BY_NAME: Final = r"(^|[a-z] )0(\d[ ,])"
_ZONE: Final = re.compile(r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:[\d:.]*(Z|[+-]\d{2}:?\d{2})$")
_OFFSET: Final = r"[+-]\d{2}:?\d{2}$"
_MIXED: Final = re.compile(r"\{(.*)\}$")
"""End of a format with differing time zones: the most frequent offset."""
CENTURY: Final = 36_525
LAST_SHORT_YEAR: Final = 2040
"""Last year of two digits, which are 1941 to 2040."""
_FRACTION: Final = re.compile(r"\.%([36])f")
UNPADDED: Final = "unpadded:"
"""Prefix of a format with days and months without leading zeros, as in 1/5/2019."""


def _equal(first: pa.Array, second: pa.Array) -> BoolArray:
    same = pc.fill_null(pc.equal(first, second), False)
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.bool_)


def detect_format(values: pa.Array) -> tuple[str, ...]:
    """Return the known formats in which every text is a date; two if ambiguous."""
    if zone := _zone(values):
        bare = pc.replace_substring_regex(values, rf"{_OFFSET}|Z$", "")
        return tuple(form + zone for form in detect_format(bare))
    formats: list[str] = []
    first = values.slice(0, 100)  # nearly always settles it
    if not matches(first, _BEGINNING).all():
        return ()
    for form, shape in _SHAPES.items():
        if _SHORT_HOUR.sub(r"%\1", form) in (f.removeprefix(UNPADDED) for f in formats):
            continue  # all hours have two digits anyway
        if form in _SIX_DIGITS and (len(values) < _MIN_DATES or {*formats} - {*_SIX_DIGITS}):
            continue  # codes, or months of a whole year
        shaped = (pc.all(pc.match_substring_regex(x, shape)).as_py() for x in (first, values))
        if not all(shaped):
            continue
        written, _, wrong = parse_dates(values, form)
        if not wrong.any():
            formats.append(written)
    return tuple(formats)


def mixed_formats(values: pa.Array) -> list[tuple[str, BoolArray]]:
    """Return up to two formats, the most frequent first, with their texts."""
    formats: list[tuple[str, BoolArray]] = []
    if not len(values) or 2 * matches(values, _BEGINNING).sum() <= len(values):
        return formats
    rest = np.ones(len(values), dtype=np.bool_)
    while len(formats) < 2 and rest.any():
        first = values.filter(pa.array(rest)).slice(0, 500)
        counts = {form: matches(first, shape).sum() for form, shape in _SHAPES.items()}
        most = max(counts.values())
        best = np.zeros(len(values), dtype=np.bool_), ""
        for form in (form for form, count in counts.items() if count == most and most):
            fits = rest & matches(values, _SHAPES[form])
            fits[fits] = ~parse_dates(values.filter(pa.array(fits)), form)[2]
            best = max(best, (fits, form), key=lambda each: each[0].sum())
        if not best[0].any():
            break
        formats.append((best[1], best[0]))
        rest &= ~best[0]
    return formats


def _zone(values: pa.Array) -> str:
    """Return the time zone at the end of all texts, such as Z or +00:00, or a mixture."""
    zone = _ZONE.match(values[0].as_py() or "") if len(values) else None
    if zone is None:
        return ""
    if pc.all(pc.ends_with(values, zone[1])).as_py():
        return zone[1]
    if zone[1] == "Z" or not matches(values, _ZONE.pattern.replace("Z|", "")).all():
        return ""
    offsets = pc.utf8_slice_codeunits(values, -len(zone[1]))
    return f"{{{Counter(offsets.to_pylist()).most_common(1)[0][0]}}}"


def parse_dates(values: pa.Array, form: str) -> tuple[str, FloatArray, BoolArray]:
    """Return distinct texts in a ``strptime`` format as dates.

    The result is the format for writing (marked if days and months have no leading zeros), days
    since 1970-01-01, and which texts are no such dates.
    """
    plain = form.removeprefix(UNPADDED)
    if mixed := _MIXED.search(plain):
        bare = pc.replace_substring_regex(values, _OFFSET, "")
        written, days, wrong = parse_dates(bare, plain[: mixed.start()])
        return written + mixed[0], days, wrong | ~matches(values, _OFFSET)
    if fraction := _FRACTION.search(plain):
        zone = len(plain) - fraction.end()
        bare = pc.utf8_slice_codeunits(values, 0, -zone) if zone else values
        stamps = pc.cast(bare, pa.timestamp("us"))
    else:
        form_read = _SHORT_HOUR.sub(r"%\1", plain)
        padded = pc.utf8_lpad(values, 8, "0") if plain in _DAY_FIRST else values
        stamps = pc.strptime(padded, format=form_read, unit="s", error_is_null=True)
    days = days_of(stamps)
    if "%y" in plain:
        days = np.where(days >= _day(LAST_SHORT_YEAR + 1), days - CENTURY, days)
    for candidate in (plain, UNPADDED + plain):
        right = _equal(_write(stamps, candidate), values)
        if right.all():
            return candidate, days, ~right
    return plain, days, ~_equal(_write(stamps, plain), values)


def _day(year: int) -> int:
    """Return the first day of a year since 1970."""
    return (date(year, 1, 1) - date(1970, 1, 1)).days


def days_of(stamps: pa.Array) -> FloatArray:
    """Return Arrow dates or timestamps as float days since 1970-01-01 (NaN where null)."""
    micro = pc.cast(pc.cast(stamps, pa.timestamp("us"), safe=False), pa.int64())
    ticks = pc.fill_null(micro, 0).to_numpy(zero_copy_only=False)
    # Whole days and the rest apart: a float64 count of microseconds / 86.4e9 alone is as exact.
    days = ticks / MICROSECONDS_A_DAY
    return np.where(pc.is_null(micro).to_numpy(zero_copy_only=False), np.nan, days)


def instants(days: FloatArray, resolution: int = 1) -> pa.Array:
    """Return float days as Arrow timestamps, rounded to ``resolution`` microseconds."""
    ticks = np.rint(days * (MICROSECONDS_A_DAY / resolution)).astype(np.int64) * resolution
    return pa.array(ticks).cast(pa.timestamp("us"))


def resolution_of(days: FloatArray) -> int:
    """Return the coarsest unit, in microseconds, of which all dates are multiples."""
    ticks: npt.NDArray[np.int64] = np.rint(days * MICROSECONDS_A_DAY).astype(np.int64)
    return next(unit for unit in RESOLUTIONS if not (ticks % unit).any())


def is_of_months(form: str) -> bool:
    """Whether dates in a format have no day."""
    return not re.search("%[djex]", form)


def format_dates(days: FloatArray, form: str, resolution: int = 1) -> pa.Array:
    """Return float days as texts in a format; months are rounded to the nearest first day."""
    if is_of_months(form):
        days = days + 14
    return _write(instants(days, resolution), form)


def _write(stamps: pa.Array, form: str) -> pa.Array:
    plain = form.removeprefix(UNPADDED)
    if mixed := _MIXED.search(plain):
        texts = _write(stamps, form[: form.index("{")])
        return pc.binary_join_element_wise(texts, mixed[1], "")
    fraction = _FRACTION.search(plain)
    unit = {"3": "ms", "6": "us"}[fraction[1]] if fraction else "s"
    # %S of Arrow writes the fraction that the unit of the timestamp has.
    written = _SHORT_HOUR.sub(r"%\1", _FRACTION.sub("", plain))
    texts = pc.strftime(pc.cast(stamps, pa.timestamp(unit), safe=False), format=written)
    if _SHORT_HOUR.search(plain):
        texts = pc.replace_substring_regex(texts, r" 0(\d:)", r" \1")
    if plain in _DAY_FIRST:
        return pc.utf8_ltrim(texts, "0") if form.startswith(UNPADDED) else texts
    if form.startswith(UNPADDED):
        texts = pc.replace_substring_regex(texts, _ZERO_BY_NAME, r"\1\2")
        return pc.replace_substring_regex(texts, _LEADING_ZEROS, r"\1\2\3\4")
    return texts


def single_value(variable: Variable, text: str) -> Column:
    """Return the value of ``text`` as a column with one row.

    Examples
    --------
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"), missing=("",))
    >>> single_value(sex, "m").data.tolist(), single_value(sex, "").data.tolist()
    ([1], [2])
    """
    if variable.is_coded:
        if text not in variable.labels:
            raise DataError(
                f"{text!r} is neither a level nor a missing code of variable {variable.name!r}; "
                "write a label as in the data"
            )
        return Column(variable, np.array([variable.labels.index(text)], dtype=np.int32))
    if text in variable.missing:
        state = variable.missing.index(text) + 1
        return Column(variable, np.array([np.nan]), np.array([state], dtype=np.int8))
    states = np.zeros(1, dtype=np.int8) if variable.missing else None
    return Column(variable, np.array([_number(variable, text)]), states)


def _number(variable: Variable, text: str) -> float:
    try:
        if variable.kind is Kind.DATE:
            # NumPy would read "today" and "NaT", too
            return float((date.fromisoformat(text) - date(1970, 1, 1)).days)
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        wanted = "date (YYYY-MM-DD)" if variable.kind is Kind.DATE else "number"
        raise DataError(
            f"{text!r} is neither a {wanted} nor a missing code of variable {variable.name!r}"
        )
    return value
