"""Numbers as a reader meets them: enough digits to compare, none that pretend more."""

from __future__ import annotations

import math

from synthesizer.report.parts import Cell, Form

__all__ = ["DASH", "interval", "plural", "stopped", "written"]

DASH = "–"
_MINUS = "−"


def written(value: Cell, form: Form = "figure") -> str:
    """Write a value in one of the forms of a table.

    Parameters
    ----------
    value : str, int, float or None
        None and numbers that are not finite are shown as a dash; text stays as it is.
    form : Form
        ``count``: 1,234; ``figure``: four significant digits, whole numbers as they are;
        ``share``: three decimals, never percent; ``p``: three decimals, or that it
        is below 0.001; ``text``: as it is.

    Returns
    -------
    str
        What is shown, not yet escaped.

    Examples
    --------
    >>> written(7634, "count"), written(1.63451), written(0.000262, "share"), written(2e-9, "p")
    ('7,634', '1.635', '0.00026', '<0.001')
    >>> written(None), written("Jul.93", "text"), written(-0.25, "share")
    ('–', 'Jul.93', '−0.250')
    """
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return DASH
    shown = _FORMS[form](abs(value))
    return f"{_MINUS}{shown}" if value < 0 and any(c in "123456789" for c in shown) else shown


def _count(size: float) -> str:
    return f"{size:,.0f}"


def _figure(size: float) -> str:
    """Four significant digits; at least the whole part of large ones, nothing after whole ones."""
    if size >= 1000 or size % 1 == 0:
        return f"{size:,.0f}"
    if size < 0.001:
        return _tiny(size)
    decimals = 3 - math.floor(math.log10(size))
    return f"{size:.{min(decimals, 4)}f}"


def _share(size: float) -> str:
    if 0 < size < 0.001:
        return _tiny(size)
    return f"{size:.3f}"


def _tiny(size: float) -> str:
    """Two significant digits, as a power of ten from a hundred-thousandth down."""
    if size >= 1e-5:
        return f"{size:.{1 - math.floor(math.log10(size))}f}"
    digits, _, power = f"{size:.1e}".partition("e-")
    return f"{digits}e{_MINUS}{int(power)}"


def _p(size: float) -> str:
    return "<0.001" if size < 0.001 else f"{size:.3f}"


def _text(size: float) -> str:
    return f"{size:g}" if size % 1 else f"{size:.0f}"


_FORMS = {"text": _text, "count": _count, "figure": _figure, "share": _share, "p": _p}


def interval(low: float | None, high: float | None, form: Form = "figure") -> str:
    """Write an interval; a dash where an end is missing.

    Examples
    --------
    >>> interval(0.009, 0.041, "share"), interval(None, 1.0)
    ('0.009 to 0.041', '–')
    """
    if low is None or high is None:
        return DASH
    return f"{written(low, form)} to {written(high, form)}"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> plural(1, "record"), plural(1200, "record"), plural(2, "category", "categories")
    ('1 record', '1,200 records', '2 categories')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def stopped(told: str) -> str:
    """End a sentence with one full stop, whether or not it has one.

    Reasons of failures come from many places and may end in a full stop or not.

    Examples
    --------
    >>> stopped("too few records"), stopped("too few records."), stopped("why?")
    ('too few records.', 'too few records.', 'why?')
    """
    told = told.rstrip()
    bare = told.rstrip(".")
    return told if told.endswith(("!", "?", "…")) or not bare else f"{bare}."
