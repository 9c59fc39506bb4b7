"""From a kind and missing codes to a `Variable`, with everything checked against the texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.dates import days_of, detect_format, parse_dates, resolution_of
from synthesizer.data.numbers import (
    MAX_EXACT,
    has_leading_zero,
    is_number,
    parse,
    rounded,
    style_of,
)
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import BoolArray
from synthesizer.data.texts import Texts

__all__ = ["CORRECT", "MAX_LEVELS", "Problem", "Wanted", "build", "empty", "infinite"]

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

    Parameters
    ----------
    fault, remedy : str
        What is wrong, and what helps.
    every_row : str, optional
        What helps where every row needs a value, if that is something else.
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
    """Make the variable.

    Raises
    ------
    Problem
        If the values contradict what is wanted.
    """
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
