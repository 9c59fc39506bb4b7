"""Numbers as text: which texts are numbers, how they were written, how to write others alike.

A style is one of

- ``fixed``: every number with the same decimals (``2.50``);
- ``plain``: no needless zeros (``2.5``, ``3``);
- ``point``: as ``plain``, but whole numbers end in ``.0`` (Python and pandas);
- ``bare``: as ``plain``, without a zero before the point (``.5``, as Stata and SAS write);
- ``short``: the shorter of ``plain`` and scientific notation (R writes ``1e+05``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.table import BoolArray, FloatArray

__all__ = [
    "MAX_EXACT",
    "format_numbers",
    "has_leading_zero",
    "is_number",
    "parse",
    "rounded",
    "style_of",
]

MAX_EXACT: Final = 2.0**53
"""Whole numbers up to here are exact in float64."""

MAX_DECIMALS: Final = 6
"""More decimals than this are taken for full precision, not for a unit of measurement."""

NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$"
LEADING_ZERO = r"^[+-]?0\d"
STYLES: Final = ("plain", "point", "bare", "short")


def _with_point(values: pa.Array, mark: str) -> pa.Array:
    return values if mark == "." else pc.replace_substring(values, mark, ".")


def _mask(values: pa.Array, pattern: str) -> BoolArray:
    found = pc.match_substring_regex(values, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def is_number(values: pa.Array, mark: str = ".") -> BoolArray:
    """Tell which texts are finite decimal numbers.

    Examples
    --------
    >>> is_number(pa.array(["12", "-0.5", "1e+05", "N", " 3"])).tolist()
    [True, True, True, False, False]
    """
    if mark == ".":
        return _mask(values, NUMBER)
    return _mask(_with_point(values, mark), NUMBER) & ~_mask(values, r"\.")


def has_leading_zero(values: pa.Array) -> BoolArray:
    """Tell which texts start with a needless zero, as codes such as ``007`` do."""
    return _mask(values, LEADING_ZERO)


def parse(values: pa.Array, mark: str = ".") -> FloatArray:
    """Turn texts that `is_number` accepts into float64."""
    numbers = pc.cast(_with_point(values, mark), pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _decimals_written(values: pa.Array) -> npt.NDArray[np.int64]:
    point = pc.find_substring(values, ".").to_numpy(zero_copy_only=False)
    length = pc.utf8_length(values).to_numpy(zero_copy_only=False)
    return np.where(point < 0, 0, length - point - 1).astype(np.int64)


def _decimals(number: float) -> int:
    return len(_positional(number).partition(".")[2])


def style_of(values: pa.Array, mark: str = ".") -> tuple[int | None, str]:
    """Find how distinct numbers were written.

    Parameters
    ----------
    values : pyarrow.Array of str
        At least one text, all numbers.
    mark : str
        Decimal mark.

    Returns
    -------
    decimals : int or None
        0 for whole numbers; None where the numbers have no fixed precision.
    style : str
        The style that writes the numbers as they were written, if there is one.

    Examples
    --------
    >>> style_of(pa.array(["2.50", "3.00"]))
    (2, 'fixed')
    >>> style_of(pa.array(["2.5", "3", "0.25"]))
    (2, 'plain')
    >>> style_of(pa.array(["100", "1e+05"]))
    (0, 'short')
    """
    values = _with_point(values, mark)
    numbers = parse(values)
    scientific = _mask(values, "[eE]")
    written = _decimals_written(values.filter(pa.array(~scientific)))
    most = int(written.max(initial=0))
    if not scientific.any():
        if most == written.min() and not _mask(values, r"^-?\.").any():
            return most, "fixed"
    elif most <= MAX_DECIMALS:
        most = max(most, *(_decimals(x) for x in numbers[scientific].tolist()))
    decimals = most if most <= MAX_DECIMALS else None
    few = slice(0, 1000)  # settles which styles are worth a look at all values
    for style in STYLES:
        if _reproduces(values[few], numbers[few], decimals, style) and _reproduces(
            values, numbers, decimals, style
        ):
            return decimals, style
    return decimals, "point" if _mask(values, r"\.0$").any() else "plain"


def _reproduces(values: pa.Array, numbers: FloatArray, decimals: int | None, style: str) -> bool:
    return bool(pc.all(pc.equal(format_numbers(numbers, decimals, style), values)).as_py())


def format_numbers(
    numbers: FloatArray, decimals: int | None, style: str = "plain", mark: str = "."
) -> pa.Array:
    """Write finite numbers in a style, rounded to ``decimals`` unless that is None.

    Examples
    --------
    >>> format_numbers(np.array([2.5, 3.0]), 2, "fixed").to_pylist()
    ['2.50', '3.00']
    >>> format_numbers(np.array([2.5, 3.0]), 1, "plain", mark=",").to_pylist()
    ['2,5', '3']
    """
    if decimals is not None:
        numbers = rounded(numbers, decimals)
    numbers = numbers + 0.0  # a negative zero becomes a zero
    if style == "fixed" and decimals is not None:
        texts = _fixed(numbers, decimals)
    elif style == "short":
        texts = _by_distinct(numbers, _shorter)
    else:
        texts = _plain(numbers, point=style == "point")
    if style == "bare":
        texts = pc.replace_substring_regex(texts, r"^(-?)0\.", r"\1.")
    return texts if mark == "." else pc.replace_substring(texts, ".", mark)


def rounded(numbers: FloatArray, decimals: int) -> FloatArray:
    """Round to decimals; a number too large to have that many in float64 stays as it is.

    Examples
    --------
    >>> rounded(np.array([2.345, 360287970189.875]), 6).tolist()
    [2.345, 360287970189.875]
    """
    with np.errstate(over="ignore"):
        scaled = numbers * 10.0**decimals
    return np.where(np.abs(scaled) < MAX_EXACT, np.rint(scaled) / 10.0**decimals, numbers)


def _fixed(numbers: FloatArray, decimals: int) -> pa.Array:
    if len(numbers) and np.abs(numbers).max() >= MAX_EXACT:
        return pa.array([f"{x:.{decimals}f}" for x in numbers.tolist()], pa.string())
    if decimals == 0:
        return pc.cast(pa.array(numbers.astype(np.int64)), pa.string())
    if decimals > MAX_DECIMALS:  # Arrow switches to scientific notation there
        return pa.array([f"{x:.{decimals}f}" for x in numbers.tolist()], pa.string())
    return pc.cast(pc.cast(pa.array(numbers), pa.decimal128(30, decimals)), pa.string())


def _plain(numbers: FloatArray, *, point: bool) -> pa.Array:
    """Write the shortest text that reads as the same number, without an exponent."""
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
