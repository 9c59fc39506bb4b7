"""Dates as text: the formats that are recognised, reading and writing them.

Dates are held as float64 days since 1970-01-01; times of day are fractions of a day, exact to a
microsecond.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.table import BoolArray, FloatArray

__all__ = [
    "days_of",
    "detect_format",
    "format_dates",
    "instants",
    "parse_dates",
    "resolution_of",
]

MICROSECONDS_A_DAY: Final = 86_400_000_000
RESOLUTIONS: Final = (MICROSECONDS_A_DAY, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)

_SHAPES: Final = {
    "%Y-%m-%d": r"^\d{4}-\d{2}-\d{2}$",
    "%Y/%m/%d": r"^\d{4}/\d{2}/\d{2}$",
    "%Y.%m.%d": r"^\d{4}\.\d{2}\.\d{2}$",
    "%d.%m.%Y": r"^\d{1,2}\.\d{1,2}\.\d{4}$",
    "%d/%m/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%m/%d/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%d-%m-%Y": r"^\d{1,2}-\d{1,2}-\d{4}$",
    "%m-%d-%Y": r"^\d{1,2}-\d{1,2}-\d{4}$",
    "%Y-%m-%d %H:%M": r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$",
    "%Y-%m-%dT%H:%M": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$",
    "%Y-%m-%d %H:%M:%S": r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$",
    "%Y-%m-%dT%H:%M:%S": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$",
    "%Y-%m-%d %H:%M:%S.%3f": r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3}$",
    "%Y-%m-%dT%H:%M:%S.%3f": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}$",
    "%Y-%m-%d %H:%M:%S.%6f": r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{6}$",
    "%Y-%m-%dT%H:%M:%S.%6f": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}$",
}
_LEADING_ZEROS = r"^0?(\d{1,2})([/.-])0?(\d{1,2})([/.-])"
_ZONE: Final = re.compile(r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:[\d:.]*(Z|[+-]\d{2}:?\d{2})$")
_FRACTION: Final = re.compile(r"\.%([36])f")
UNPADDED: Final = "unpadded:"
"""Marks a format whose days and months are written without leading zeros, as in 1/5/2019."""


def _equal(left: pa.Array, right: pa.Array) -> BoolArray:
    same = pc.fill_null(pc.equal(left, right), False)
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.bool_)


def detect_format(values: pa.Array) -> tuple[str, ...]:
    """Return the known formats in which every text is a date; two where it is ambiguous.

    Examples
    --------
    >>> detect_format(pa.array(["2019-02-28", "2020-02-29"]))
    ('%Y-%m-%d',)
    >>> detect_format(pa.array(["05/01/2019", "06/02/2019"]))
    ('%d/%m/%Y', '%m/%d/%Y')
    >>> detect_format(pa.array(["2019-02-31"]))
    ()

    A time zone is a part of the format if it is the same everywhere:

    >>> detect_format(pa.array(["2020-01-07T10:25:00Z", "2020-01-08T11:00:00Z"]))
    ('%Y-%m-%dT%H:%M:%SZ',)
    """
    if zone := _zone(values):
        bare = pc.utf8_slice_codeunits(values, 0, -len(zone))
        return tuple(form + zone for form in detect_format(bare))
    found = []
    first = values.slice(0, 100)  # nearly always settles it
    for form, shape in _SHAPES.items():
        if not pc.all(pc.match_substring_regex(first, shape)).as_py():
            continue
        if not pc.all(pc.match_substring_regex(values, shape)).as_py():
            continue
        written, _, wrong = parse_dates(values, form)
        if not wrong.any():
            found.append(written)
    return tuple(found)


def _zone(values: pa.Array) -> str:
    """Return the time zone that every text ends with, such as Z or +00:00."""
    found = _ZONE.match(values[0].as_py() or "") if len(values) else None
    if found is None or not pc.all(pc.ends_with(values, found[1])).as_py():
        return ""
    return found[1]


def parse_dates(values: pa.Array, form: str) -> tuple[str, FloatArray, BoolArray]:
    """Read distinct texts in a ``strptime`` format.

    Returns
    -------
    form : str
        The format to write with (marked where days and months have no leading zeros).
    days : ndarray of float64
        Days since 1970-01-01.
    wrong : ndarray of bool
        Texts that are not dates in this format.
    """
    plain = form.removeprefix(UNPADDED)
    if fraction := _FRACTION.search(plain):
        zone = len(plain) - fraction.end()
        bare = pc.utf8_slice_codeunits(values, 0, -zone) if zone else values
        stamps = pc.cast(bare, pa.timestamp("us"))
    else:
        stamps = pc.strptime(values, format=plain, unit="s", error_is_null=True)
    days = days_of(stamps)
    for candidate in (plain, UNPADDED + plain):
        right = _equal(_write(stamps, candidate), values)
        if right.all():
            return candidate, days, ~right
    return plain, days, ~_equal(_write(stamps, plain), values)


def days_of(stamps: pa.Array) -> FloatArray:
    """Turn Arrow dates or timestamps into float days since 1970-01-01 (NaN where null)."""
    micro = pc.cast(pc.cast(stamps, pa.timestamp("us"), safe=False), pa.int64())
    ticks = pc.fill_null(micro, 0).to_numpy(zero_copy_only=False)
    # Whole days and the rest apart: a float64 count of microseconds / 86.4e9 alone is as exact.
    days = ticks / MICROSECONDS_A_DAY
    return np.where(pc.is_null(micro).to_numpy(zero_copy_only=False), np.nan, days)


def instants(days: FloatArray, resolution: int = 1) -> pa.Array:
    """Turn float days into Arrow timestamps, rounded to ``resolution`` microseconds."""
    ticks = np.rint(days * (MICROSECONDS_A_DAY / resolution)).astype(np.int64) * resolution
    return pa.array(ticks).cast(pa.timestamp("us"))


def resolution_of(days: FloatArray) -> int:
    """Return the coarsest unit in microseconds that all dates are multiples of.

    Examples
    --------
    >>> resolution_of(np.array([0.0, 17000.0])) == MICROSECONDS_A_DAY
    True
    """
    ticks: npt.NDArray[np.int64] = np.rint(days * MICROSECONDS_A_DAY).astype(np.int64)
    return next(unit for unit in RESOLUTIONS if not (ticks % unit).any())


def format_dates(days: FloatArray, form: str, resolution: int = 1) -> pa.Array:
    """Write float days in a format.

    Examples
    --------
    >>> format_dates(np.array([17000.0]), "%d.%m.%Y").to_pylist()
    ['18.07.2016']
    """
    return _write(instants(days, resolution), form)


def _write(stamps: pa.Array, form: str) -> pa.Array:
    plain = form.removeprefix(UNPADDED)
    fraction = _FRACTION.search(plain)
    unit = {"3": "ms", "6": "us"}[fraction[1]] if fraction else "s"
    # %S of Arrow writes the fraction that the unit of the timestamp has.
    texts = pc.strftime(
        pc.cast(stamps, pa.timestamp(unit), safe=False), format=_FRACTION.sub("", plain)
    )
    if form.startswith(UNPADDED):
        return pc.replace_substring_regex(texts, _LEADING_ZEROS, r"\1\2\3\4")
    return texts
