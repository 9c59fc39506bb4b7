"""Formats of numbers: money, thousands, units, decimal commas and clock times.

A format is detected from the distinct texts of a column and used for the output. The program
calculates with the plain number: 1328.55 for ``$1,328.55``, 125 minutes for ``02:05``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NUMBER: Final = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$"
MIN_SHARE: Final = 0.9
"""Least share of texts with digits that have the format."""
SAMPLE_TEXTS: Final = 500
"""Texts of a first test."""
SPACES: Final = " \u00a0\u202f\u2009'\u2019"
"""Thousands separators that are never decimal marks."""
MONEY: Final = re.compile(
    r"(?i)[^\d]{0,4}[$\u00a2-\u00a5\u0e3f\u20a0-\u20cf][^\d]{0,4}"
    r"|(eur|usd|gbp|chf|sek|nok|dkk|pln|jpy|cny|inr|aud|cad|kr|rs|fr|rub|zl)\.?\s?"
)
"""Prefixes of amounts; other words before whole numbers are parts of identifiers."""
UNIT: Final = re.compile(r"(?![A-Z]$)\s?[^\s\d.,:;/+<>=()-][^\d()]{0,9}")
"""Suffixes of amounts; one capital letter is part of a code."""
_PARTS: Final = (
    rf"^(?P<before>\D*?)(?P<body>\d(?:[\d.,{SPACES}]*\d)?(?:[eE][+-]?\d+)?)(?P<after>\D*)$"
)
_CLOCK: Final = (
    r"^(?P<sign>-?)(?:(?P<days>\d{1,9})(?P<word> days? ))?(?P<hours>\d{1,9}):(?P<minutes>[0-5]\d)"
    r"(?::(?P<seconds>[0-5]\d)(?P<rest>\.\d{1,6})?)?(?P<half> ?[AP]M| ?[ap]m)?$"
)
_WHOLE: Final = r"^(\d+)(\d{3})(\.|_|$)"


@dataclass(frozen=True, kw_only=True)
class NumberFormat:
    """Format of the numbers of a column.

    Examples
    --------
    >>> money = NumberFormat(prefix="$", thousands=",")
    >>> money.plain(pa.array(["$1,328.55", "-$2", "1 EUR"])).to_pylist()
    ['1328.55', '-2', None]
    >>> money.written(pa.array(["-1234567.5"])).to_pylist()
    ['-$1,234,567.5']
    """

    mark: str = "."
    """Decimal mark."""
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    negative: str = "-0"
    """``-0``: sign before the amount; ``0-``: after it; ``(0)``: brackets."""
    clock: str = ""
    """Such as ``%H:%M``: numbers are minutes, or seconds if it has ``%S``."""
    is_ambiguous: bool = field(default=False, compare=False)
    """Whether 1,234 may be 1234 or 1.234."""

    @classmethod
    def of_storage(cls, storage: Mapping[str, Any]) -> Self:
        """Return the format in a variable's storage."""
        stored: dict[str, Any] = {key: str(storage[key]) for key in _KEYS if key in storage}
        return cls(**stored)

    @property
    def storage(self) -> dict[str, str]:
        """The format for a variable's storage."""
        return {key: getattr(self, key) for key in _KEYS if getattr(self, key) != _KEYS[key]}

    @property
    def description(self) -> str:
        """Description with an example that is not from the data."""
        if self.clock:
            unit = "seconds" if "%S" in self.clock else "minutes"
            return f"times like {self.clock}, counted in {unit}"
        return f"numbers written like {self.written(pa.array(['1234']))[0].as_py()}"

    def for_decimals(self, decimals: int | None) -> NumberFormat:
        """Return the format that reads ambiguous numbers with the declared decimals."""
        if decimals is None or not self.is_ambiguous:
            return self
        mark, thousands = (",", "") if decimals else (".", ",")
        return replace(self, mark=mark, thousands=thousands, is_ambiguous=False)

    def plain(self, values: pa.Array) -> pa.Array:
        """Return texts as plain numbers with a decimal point, null if the format differs."""
        if self == PLAIN:
            return values
        if self.clock:
            return self._ticks(values)
        mark, thousands, prefix, suffix = (
            re.escape(text) for text in (self.mark, self.thousands, self.prefix, self.suffix)
        )
        groups = rf"\d{{1,3}}(?:{thousands}\d{{3}})+|" if thousands else ""
        pattern = (
            rf"^(?P<a>[(]?[+-]?)(?:{prefix})?(?P<b>[+-]?)(?P<whole>{groups}\d*)"
            rf"(?P<rest>(?:{mark}\d*)?(?:[eE][+-]?\d{{1,3}})?)(?:{suffix})?(?P<c>[)-]?)$"
        )
        parts = pc.extract_regex(values, pattern)
        before, inner, whole, rest, after = map(parts.field, ("a", "b", "whole", "rest", "c"))
        whole = pc.replace_substring(whole, self.thousands, "") if thousands else whole
        after = pc.replace_substring(after, ")", "")
        cells = after, pc.replace_substring(before, "(", "-"), inner, whole
        rest = pc.replace_substring(rest, self.mark, ".")
        return pc.if_else(parts.is_valid(), pc.binary_join_element_wise(*cells, rest, ""), None)

    def written(self, texts: pa.Array) -> pa.Array:
        """Return plain numbers as texts of this format."""
        if self == PLAIN:
            return texts
        is_negative = pc.starts_with(texts, "-")
        texts = pc.utf8_ltrim(texts, "-")
        if self.clock:
            texts = self._clocks(texts)
        while self.thousands and pc.any(pc.match_substring_regex(texts, _WHOLE)).as_py():
            texts = pc.replace_substring_regex(texts, _WHOLE, r"\1_\2\3")
        texts = pc.replace_substring(texts, ".", self.mark)
        texts = pc.replace_substring(texts, "_", self.thousands)
        plus = pc.binary_join_element_wise(self.prefix, texts, self.suffix, "")
        before, after = self.negative.split("0")
        minus = pc.binary_join_element_wise(before, plus, after, "")
        return pc.if_else(is_negative, minus, plus)

    def _ticks(self, values: pa.Array) -> pa.Array:
        """Return clock times as minutes, or as seconds if the format has them."""
        parts, has_seconds = pc.extract_regex(values, _CLOCK), "%S" in self.clock
        half = parts.field("half")
        ticks = np.zeros(len(values), dtype=np.int64)
        for name, unit in (("days", 1), ("hours", 24), ("minutes", 60), ("seconds", 60)):
            if name != "seconds" or has_seconds:
                cells = pc.replace_substring_regex(parts.field(name), "^$", "0")
                counts = pc.fill_null(pc.cast(cells, pa.int64()), 0).to_numpy()
                if name == "hours" and "%p" in self.clock.lower():
                    is_late = pc.fill_null(pc.match_substring_regex(half, "[Pp]"), False)
                    counts = counts % 12 + 12 * is_late.to_numpy(zero_copy_only=False)
                ticks = ticks * unit + counts
        whole = pc.cast(pa.array(ticks), pa.string())
        joined = pc.binary_join_element_wise(parts.field("sign"), whole, parts.field("rest"), "")
        wanted = "..$" if has_seconds else "00$" if self.clock.endswith(":00") else "$"
        fits = pc.match_substring_regex(parts.field("seconds"), f"^{wanted}")
        halves = pc.match_substring_regex(half, "." if "%p" in self.clock.lower() else "^$")
        return pc.if_else(pc.and_(pc.and_(fits, halves), parts.is_valid()), joined, None)

    def _clocks(self, texts: pa.Array) -> pa.Array:
        """Return non-negative minutes or seconds as clock times."""
        distinct = texts.dictionary_encode()
        written = [self._clock(text) for text in distinct.dictionary.to_pylist()]
        return pa.array(written, pa.string()).take(distinct.indices)

    def _clock(self, text: str) -> str:
        ticks, point, rest = text.partition(".")
        minutes, seconds = divmod(int(ticks), 60) if "%S" in self.clock else (int(ticks), 0)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24) if "%d" in self.clock else (0, hours)
        half, hour = "PM" if hours % 24 >= 12 else "AM", (hours - 1) % 12 + 1
        parts = {
            "%d": str(days), "%-H": str(hours), "%H": f"{hours:02}", "%-I": str(hour),
            "%I": f"{hour:02}", "%M": f"{minutes:02}", "%S": f"{seconds:02}{point}{rest}",
            "%p": half, "%P": half.lower(),
        }  # fmt: skip
        return re.sub("%-?[a-zA-Z]", lambda match: parts[match[0]], self.clock)


_KEYS: Final = {f.name: f.default for f in fields(NumberFormat) if f.compare}
PLAIN: Final = NumberFormat()


def find_format(values: pa.Array, delimiter: str = "") -> NumberFormat:
    """Return the format of most distinct texts with a digit; plain if there is none.

    The ``delimiter`` of a CSV file decides ambiguous cases: files with semicolons often have
    decimal commas.

    Examples
    --------
    >>> find_format(pa.array(["1.234,50", "2"])) == NumberFormat(mark=",", thousands=".")
    True
    >>> find_format(pa.array(["P00164", "P00165"])) == PLAIN
    True
    """
    values = values.filter(pc.match_substring_regex(values, r"\d"))
    odd = values.filter(pc.invert(pc.match_substring_regex(values, NUMBER)))
    if not len(odd) and not _share(values, r"^[1-9]\d{0,2}\.\d{2}0$"):
        return PLAIN
    form = PLAIN
    for some in (odd.slice(0, SAMPLE_TEXTS), values) if len(odd) else (values,):
        form = _clock_format(some) or _amount_format(some, delimiter)
        if form == PLAIN or _share(form.plain(some), NUMBER) < MIN_SHARE:
            return PLAIN
    return form


def _share(values: pa.Array, pattern: str) -> float:
    """Return the share of texts that a pattern matches; nulls do not."""
    matches = pc.sum(pc.match_substring_regex(values, pattern)).as_py() or 0
    return float(matches) / max(len(values), 1)


def _clock_format(values: pa.Array) -> NumberFormat | None:
    if _share(values, _CLOCK) < MIN_SHARE:
        return None
    parts = pc.extract_regex(values, _CLOCK)
    parts = parts.filter(parts.is_valid())
    is_short = 1 in pc.utf8_length(parts.field("hours")).to_pylist()
    ends = set(parts.field("seconds").to_pylist())
    seconds = "" if "" in ends else ":00" if ends == {"00"} else ":%S"
    words = set(parts.field("word").to_pylist())
    days = f"%d{min(words)}" if len(words) == 1 and "" not in words else ""
    half = min(parts.field("half").to_pylist())
    half = re.sub("[ap]m", "%P", re.sub("[AP]M", "%p", half))
    hour = f"%{'-' * is_short}{'I' if half else 'H'}"
    return NumberFormat(clock=f"{days}{hour}:%M{seconds}{half}")


def _amount_format(values: pa.Array, delimiter: str) -> NumberFormat:
    parts = pc.extract_regex(values, _PARTS)
    parts = parts.filter(parts.is_valid())
    if not len(parts) or len(parts) < MIN_SHARE * len(values):
        return PLAIN
    before, after = (parts.field(name).to_pylist() for name in ("before", "after"))
    pairs = zip(before, after, strict=True)
    affixes = Counter((re.sub("[+(-]", "", a), re.sub("[)-]$", "", b)) for a, b in pairs)
    usual, count = affixes.most_common(1)[0]
    prefix, suffix = ("" if affix in (".", ",") else affix for affix in usual)
    is_known = (not prefix or MONEY.fullmatch(prefix)) and (not suffix or UNIT.fullmatch(suffix))
    if not is_known or ((prefix or suffix) and count < MIN_SHARE * len(values)):
        return PLAIN
    bodies = parts.field("body") if prefix or suffix else values
    mark, thousands, is_ambiguous = _marks(bodies, delimiter)
    before_all, after_all = "".join(before), "".join(after)
    signs = {"-0": before_all.count("-"), "0-": after_all.count("-"), "(0)": before_all.count("(")}
    return NumberFormat(
        mark=mark, thousands=thousands, prefix=prefix, suffix=suffix, is_ambiguous=is_ambiguous,
        negative=max(signs, key=lambda sign: signs[sign]),
    )  # fmt: skip


def _marks(bodies: pa.Array, delimiter: str) -> tuple[str, str, bool]:
    """Return decimal mark, thousands separator, and whether they may be exchanged."""
    text = "".join(bodies.to_pylist())
    marks = [mark for mark in ",." if mark in text]
    usual = "," if delimiter == ";" else "."
    if spaces := [mark for mark in SPACES if mark in text]:
        whole = pc.replace_substring_regex(bodies, r"[.,]\d*$", "")
        is_code = _are_thousands(whole, spaces[0]) is False
        return (marks or [usual])[0], "" if is_code else spaces[0], False
    if not marks:
        return ".", "", False
    if len(marks) == 2:
        return *_both(bodies, usual), False
    (mark,) = marks
    grouped = _are_thousands(bodies, mark)
    is_ambiguous = grouped is None and mark == ","
    if grouped or (is_ambiguous and usual == "."):
        return "." if mark == "," else ",", mark, is_ambiguous
    return mark, "", is_ambiguous


def _both(bodies: pa.Array, usual: str) -> tuple[str, str]:
    """Return decimal mark and thousands separator of numbers with commas and points."""
    if _share(bodies, r"\..*,") or _share(bodies, r",.*\."):
        return (",", ".") if _share(bodies, r"\.[^,]*,[^.,]*$") else (".", ",")
    comma, point = (_are_thousands(bodies, mark) is not False for mark in ",.")
    if comma != point:
        return (".", ",") if comma else (",", ".")
    return usual, "," if usual == "." else "."


def _are_thousands(bodies: pa.Array, mark: str) -> bool | None:
    """Return whether a mark separates thousands, not decimals; None if both are possible."""
    bodies = pc.utf8_trim(bodies, "+-()")
    marked = bodies.filter(pc.match_substring(bodies, mark))
    others = bodies.filter(pc.invert(pc.match_substring(bodies, mark)))
    point = re.escape(mark)
    has_groups = _share(marked, rf"^[1-9]\d{{0,2}}({point}\d{{3}})+$") == 1
    if not has_groups or _share(others, r"^\d{4}") > 1 - MIN_SHARE:
        return False
    if mark in SPACES or _share(marked, rf"{point}.*{point}"):
        return _share(bodies, rf"^\d{{3}}{point}") < 1  # else parts of an identifier
    # Decimals without needless zeros never end in 0; fixed decimals leave no text without a mark.
    return True if len(others) and _share(marked, "0$") else None
