"""Patterns of identifiers: 013-72-4830 becomes another number of the same form.

Letters become letters and digits digits. A character stays if nearly all identifiers, and at least
five, share it. The others number the rows: number k is step k of a fixed walk through all codes of
the pattern, which meets each code once. Of a hundred walks the first that avoids all identifiers of
the data is used, so none of these is written again. Numbers beyond the walk get more digits than
any identifier of the data. A saved model contains the pattern, the walk's number and its length,
but no identifier.

If all identifiers have right check digits, so have those written. Names and e-mail addresses are
two words of the lists of Faker. Both give a limited number of identifiers (`IdPattern.most`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.check_digits import RULES, check_rule, with_check_digits
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.data.values import matches

MIN_HOLDERS: Final = 5
"""Fewest identifiers with the same character for it to stay."""
MIN_SHARE: Final = 0.95
"""Least share of identifiers with the pattern, and with a character that stays."""
SAMPLE_IDS: Final = 100_000
MAX_WALKS: Final = 100
MAX_HITS: Final = 5
"""Most identifiers that a walk may be expected to meet."""
MAX_LENGTH: Final = 64
MAX_CODES: Final = 2**62
GOLDEN: Final = (math.sqrt(5) - 1) / 2
EMAIL: Final = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"
_ALPHABETS: Final = {
    "d": digits, "a": ascii_lowercase, "A": ascii_uppercase,
    "h": digits + "abcdef", "H": digits + "ABCDEF",
    "x": digits + ascii_lowercase, "X": digits + ascii_uppercase,
    "m": digits + ascii_uppercase + ascii_lowercase, "D": digits[1:],
}  # fmt: skip

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class IdPattern:
    """A numbering that writes row numbers as identifiers of one form.

    Examples
    --------
    >>> IdPattern(parts=("=P", *"ddddd"), steps=9).texts(np.array([1.0, 2.0])).to_pylist()
    ['P61803', 'P85410']
    """

    parts: tuple[str, ...]
    """``=P`` a text, ``n256`` a number below 256, ``d`` or ``h`` a character set, ``wfirst`` a
    word, ``c0`` a check digit."""
    walk: int = 0
    steps: int = 0
    """Length of the walk without the data's identifiers; 0: always further digits."""
    further: int = 4
    """Further digits of numbers beyond the walk."""
    check: str = ""
    """Rule of its check digits; see `RULES`."""

    @property
    def most(self) -> int | None:
        """Number of identifiers of this form that are none of the data's; None without limit."""
        return self.steps if self.check or any(part[0] == "w" for part in self.parts) else None

    @classmethod
    def of_storage(cls, storage: Mapping[str, Any]) -> Self | None:
        """Return the pattern in a variable's storage, None where rows are numbered 1, 2, ..."""
        stored = storage.get("pattern")
        return None if stored is None else cls(**{**stored, "parts": tuple(stored["parts"])})

    @property
    def storage(self) -> dict[str, Any]:
        """The pattern for a variable's storage."""
        return {"pattern": asdict(self) | {"parts": list(self.parts)}}

    @property
    def size(self) -> int:
        """Number of different identifiers without further digits."""
        return self._positions()[1]

    def texts(self, numbers: FloatArray) -> pa.Array:
        """Return the identifiers of numbers 1, 2, ..., shape (n,)."""
        positions, size = self._positions()
        span = self.steps or size
        turn, step = np.divmod(np.asarray(numbers, dtype=np.int64) - 1, span)
        turn += not self.steps
        start, stride = _walk(self.walk, size)
        codes = np.asarray((start + step.astype(object) * stride) % size, dtype=np.int64)
        cells: list[Any] = []
        for position in reversed(range(len(self.parts))):
            part = self.parts[position]
            if part[0] in "=c":
                cells.insert(0, part[1:])
                continue
            if position in positions:
                codes, values = np.divmod(codes, _radix(part))
            else:
                values = _mixed(step, position) % _radix(part)
            cells.insert(0, _written(part, values))
            if position == max(positions) and turn.any():
                more = pc.utf8_lpad(pc.cast(pa.array(turn), pa.string()), self.further, "0")
                cells.insert(1, pc.if_else(pa.array(turn > 0), more, ""))
        texts = pc.binary_join_element_wise(*cells, "")
        return with_check_digits(self.check, texts) if self.check else texts

    def fitted(self, values: pa.Array) -> IdPattern:
        """Return the numbering that avoids the data's identifiers ``values``, shape (k,)."""
        numbers = [len(part) - 1 for part in self.parts if part[0] == "n"]
        shortest = sum(len(part) - 1 if part[0] == "=" else 1 for part in self.parts)
        longest = max(pc.max(pc.utf8_length(values)).as_py(), shortest + sum(numbers))
        further = 4 * math.ceil((longest - shortest + 1) / 4)
        codes, size = self._codes(values)
        wanted, longest = 10 * len(values), replace(self, further=further)
        for walk in range(0 if self.most is None else MAX_WALKS):
            steps = min(_taken(walk, size, codes), default=size)
            if longest.steps < min(steps, wanted):
                longest = replace(longest, walk=walk, steps=steps)
        for steps in () if longest.steps else (wanted, len(values)):
            is_crowded = steps > size or len(codes) * steps > MAX_HITS * size
            for walk in range(0 if is_crowded else MAX_WALKS):
                if not (_taken(walk, size, codes) < steps).any():
                    return replace(longest, walk=walk, steps=steps)
        return longest

    def _positions(self) -> tuple[list[int], int]:
        """Return the positions of the parts that number the rows, and their number of codes."""
        positions, size = [], 1
        for position in reversed(range(len(self.parts))):
            part = self.parts[position]
            if part[0] not in "=c" and size * _radix(part) <= MAX_CODES:
                positions.append(position)
                size *= _radix(part)
        return positions, size

    def _codes(self, values: pa.Array) -> tuple[Codes, int]:
        """Return the codes of the identifiers with the pattern, and the number of all codes."""
        pattern = "".join(_regex(position, part) for position, part in enumerate(self.parts))
        groups = pc.extract_regex(values, f"^{pattern}$")
        groups = groups.filter(groups.is_valid())
        positions, size = self._positions()
        codes = np.zeros(len(groups), dtype=np.int64)
        for position in reversed(positions):
            part, cells = self.parts[position], groups.field(f"p{position}")
            if part[0] == "n":
                numbers = pc.cast(cells, pa.int64()).to_numpy(zero_copy_only=False) % _radix(part)
            else:
                numbers = pc.index_in(cells, pa.array(_alphabet(part))).fill_null(-1).to_numpy()
            codes = np.where((codes < 0) | (numbers < 0), -1, codes * _radix(part) + numbers)
        return codes[codes >= 0], size


def _radix(part: str) -> int:
    return int(part[1:]) if part[0] == "n" else len(_alphabet(part))


@cache
def _alphabet(part: str) -> list[str]:
    """Return the characters or words of a part."""
    if part[0] != "w":
        return [*_ALPHABETS[part]]
    from faker.providers.person.en_US import Provider

    words = Provider.last_names if "last" in part else Provider.first_names
    return list(dict.fromkeys(word.lower() if "small" in part else word for word in words))


def _regex(position: int, part: str) -> str:
    if part[0] in "=c":
        return re.escape(part[1:]) if part[0] == "=" else "[0-9X]"
    shape = {"n": r"\d{1,18}", "w": r"[^\s.@]+"}.get(part[0]) or f"[{''.join(_alphabet(part))}]"
    return f"(?P<p{position}>{shape})"


def _written(part: str, values: Codes) -> pa.Array:
    if part[0] == "n":
        return pc.cast(pa.array(values), pa.string())
    return pa.array(_alphabet(part)).take(pa.array(values))


def _walk(number: int, size: int) -> tuple[int, int]:
    """Return the start and the stride of a walk through all codes."""
    start, stride = (int(size * ((2 * number + k) * GOLDEN % 1)) for k in (1, 2))
    while math.gcd(stride, size) != 1:
        stride += 1
    return start, stride


def _taken(walk: int, size: int, codes: Codes) -> npt.NDArray[np.object_]:
    """Return the step of a walk at which it meets each code."""
    start, stride = _walk(walk, size)
    return (codes.astype(object) - start) * pow(stride, -1, size) % size


def _mixed(steps: Codes, position: int) -> Codes:
    """Return a pseudo-random number for each step."""
    mixed = (steps.astype(np.uint64) + np.uint64(position + 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(33), dtype=np.int64)


def find_pattern(values: pa.Array) -> IdPattern | None:
    """Return the pattern of nearly all distinct identifiers, None without a pattern.

    Whole numbers without leading zeros or check digits have no pattern: they are numbered 1, 2, ...
    """
    some = values.slice(0, SAMPLE_IDS)
    if (pattern := _checked(some, check_rule(some))) is not None:
        return pattern.fitted(values)
    is_number = _is_shared(matches(some, r"^\d+$")) and not matches(some, r"^0\d").any()
    if len(some) < MIN_HOLDERS or is_number:
        return None
    if _is_shared(matches(some, EMAIL)):
        parts: list[str] | None = ["=person", "n1000000", "=@example.org"]
    else:
        parts = _digit_parts(some) or _fixed_parts(some)
    if parts is None or all(part[0] == "=" for part in parts):
        return None
    pattern = IdPattern(parts=_joined(parts)).fitted(values)
    if not pattern.steps:  # use fixed digits for numbering, too
        freed = [["d" if c in digits else f"={c}" for c in part[1:]] for part in parts]
        cells = [free if p[0] == "=" else [p] for p, free in zip(parts, freed, strict=True)]
        pattern = IdPattern(parts=_joined([*chain(*cells)])).fitted(values)
    return pattern


Form = Literal["name", "email", "phone"]
_FORMS: Final[Mapping[Form, tuple[str, ...]]] = {
    "name": ("wfirst", "= ", "wlast"),
    "email": ("wfirst small", "=.", "wlast small", "=@example.org"),
    "phone": ("=(555) ", *"ddd", "=-", *"dddd"),  # no region has this code
}


def pattern_of_form(form: Form | None, values: pa.Array, *, may_repeat: bool) -> IdPattern | None:
    """Return the pattern of a form, such as names; that of the data by default.

    ``may_repeat``: whether identifiers of the data may be written again.

    Raises
    ------
    ImportError
        If Faker, which has the words of names, is not installed.
    """
    if form is None:
        return find_pattern(values)
    pattern = IdPattern(parts=_FORMS[form])
    return replace(pattern, steps=pattern.size) if may_repeat else pattern.fitted(values)


def _checked(values: pa.Array, rule: str) -> IdPattern | None:
    """Return the pattern of identifiers of equal length with check digits; None for others."""
    parts = _fixed_parts(values) if rule else None
    if parts is None:
        return None
    position = RULES[rule].position
    parts[position] = ["c0"] * len(parts[position])
    is_number = matches(values, r"^[1-9]\d*$").all()
    parts[0] = "D" if is_number and parts[0] == "d" else parts[0]
    return IdPattern(parts=_joined(parts), check=rule)


def _is_shared(mask: BoolArray) -> bool:
    return bool(mask.sum() >= max(MIN_HOLDERS, MIN_SHARE * len(mask)))


def _digit_parts(values: pa.Array) -> list[str] | None:
    """Return the parts of identifiers with equal text around numbers: 10.0.118.16, P00164."""
    skeletons = pc.replace_substring_regex(values, r"\d+", "0")
    skeleton = Counter(skeletons.to_pylist()).most_common(1)[0][0]
    fits = np.asarray(pc.equal(skeletons, skeleton))
    if "0" not in skeleton or not _is_shared(fits):
        return None
    texts = skeleton.split("0")
    pattern = "".join(f"{re.escape(text)}(?P<p{k}>\\d+)" for k, text in enumerate(texts[:-1]))
    groups = pc.extract_regex(values.filter(pa.array(fits)), f"^{pattern}{re.escape(texts[-1])}$")
    radix = 256 if texts == ["", ".", ".", ".", ""] else None
    parts = [f"={texts[0]}"]
    for k, text in enumerate(texts[1:]):
        parts += [*_number_parts(groups.field(f"p{k}"), radix), f"={text}"]
    return parts


def _number_parts(cells: pa.Array, radix: int | None) -> list[str]:
    """Return the parts of the numbers at one position; in IP addresses below ``radix``."""
    widths = np.bincount(pc.utf8_length(cells).to_numpy())
    value, count = Counter(cells.to_pylist()).most_common(1)[0]
    if count >= max(MIN_HOLDERS, MIN_SHARE * len(cells)):
        return [f"={value}"]
    if radix is None and widths.max() >= max(MIN_HOLDERS, MIN_SHARE * len(cells)):
        return _fixed_parts(cells) or [f"n{10 ** min(int(widths.argmax()), 9)}"]
    widest = max(np.flatnonzero(widths >= MIN_HOLDERS), default=widths.argmax())
    return [f"n{radix or 10 ** min(int(widest), 9)}"]


def _fixed_parts(values: pa.Array) -> list[str] | None:
    """Return one part per character of texts of equal length."""
    lengths = pc.utf8_length(values).to_numpy()
    length = int(np.bincount(lengths).argmax())
    fits = lengths == length
    if not _is_shared(fits) or not 0 < length <= MAX_LENGTH:
        return None
    letters = np.array(values.filter(pa.array(fits)).to_pylist(), dtype=f"U{length}")
    parts = []
    for column in letters.view("U1").reshape(-1, length).T:
        seen, counts = np.unique(column, return_counts=True)
        if counts.max() >= max(MIN_HOLDERS, MIN_SHARE * len(column)):
            parts.append(f"={seen[counts.argmax()]}")
            continue
        common = set(seen[counts >= MIN_HOLDERS].tolist() or seen.tolist())
        classes = (name for name, alphabet in _ALPHABETS.items() if common <= set(alphabet))
        if (name := next(classes, None)) is None:
            return None
        parts.append(name)
    return parts


def _joined(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts with adjacent texts joined."""
    joined: list[str] = []
    for part in parts:
        if part[0] == "=" and joined and joined[-1][0] == "=":
            joined[-1] += part[1:]
        elif part != "=":
            joined.append(part)
    return tuple(joined)
