"""Patterns of identifiers: 013-72-4830 becomes another number of the same form.

Letters become letters and digits digits. A character stays if nearly all identifiers, and at least
five, share it. The others number the rows: number k is step k of a fixed walk through all codes of
the pattern, which meets each code once. Of a hundred walks the first that avoids all identifiers of
the data is used, so none of these is written again. Numbers beyond the walk get more digits than
any identifier of the data. A saved model contains the pattern, the walk's number and its length,
but no identifier.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
    "m": digits + ascii_uppercase + ascii_lowercase,
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
    """``=P`` a text, ``n256`` a number below 256, ``d`` or ``h`` a character set."""
    walk: int = 0
    steps: int = 0
    """Length of the walk without the data's identifiers; 0: always further digits."""
    further: int = 4
    """Further digits of numbers beyond the walk."""

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
            if part[0] == "=":
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
        return pc.binary_join_element_wise(*cells, "")

    def fitted(self, values: pa.Array) -> IdPattern:
        """Return the numbering that avoids the data's identifiers ``values``, shape (k,)."""
        numbers = [len(part) - 1 for part in self.parts if part[0] == "n"]
        shortest = sum(len(part) - 1 if part[0] == "=" else 1 for part in self.parts)
        longest = max(pc.max(pc.utf8_length(values)).as_py(), shortest + sum(numbers))
        further = 4 * math.ceil((longest - shortest + 1) / 4)
        codes, size = self._codes(values)
        for steps in (10 * len(values), len(values)):
            is_crowded = steps > size or len(codes) * steps > MAX_HITS * size
            for walk in range(0 if is_crowded else MAX_WALKS):
                start, stride = _walk(walk, size)
                taken = (codes.astype(object) - start) * pow(stride, -1, size) % size
                if not (taken < steps).any():
                    return IdPattern(parts=self.parts, walk=walk, steps=steps, further=further)
        return IdPattern(parts=self.parts, further=further)

    def _positions(self) -> tuple[list[int], int]:
        """Return the positions of the parts that number the rows, and their number of codes."""
        positions, size = [], 1
        for position in reversed(range(len(self.parts))):
            if self.parts[position][0] != "=" and size * _radix(self.parts[position]) <= MAX_CODES:
                positions.append(position)
                size *= _radix(self.parts[position])
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
                numbers = pc.index_in(cells, pa.array([*_ALPHABETS[part]])).to_numpy()
            codes = codes * _radix(part) + numbers
        return codes, size


def _radix(part: str) -> int:
    return int(part[1:]) if part[0] == "n" else len(_ALPHABETS[part])


def _regex(position: int, part: str) -> str:
    if part[0] == "=":
        return re.escape(part[1:])
    shape = r"\d{1,18}" if part[0] == "n" else f"[{_ALPHABETS[part]}]"
    return f"(?P<p{position}>{shape})"


def _written(part: str, values: Codes) -> pa.Array:
    if part[0] == "n":
        return pc.cast(pa.array(values), pa.string())
    return pa.array(list(_ALPHABETS[part])).take(pa.array(values))


def _walk(number: int, size: int) -> tuple[int, int]:
    """Return the start and the stride of a walk through all codes."""
    start, stride = (int(size * ((2 * number + k) * GOLDEN % 1)) for k in (1, 2))
    while math.gcd(stride, size) != 1:
        stride += 1
    return start, stride


def _mixed(steps: Codes, position: int) -> Codes:
    """Return a pseudo-random number for each step."""
    mixed = (steps.astype(np.uint64) + np.uint64(position + 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(33), dtype=np.int64)


def find_pattern(values: pa.Array) -> IdPattern | None:
    """Return the pattern of nearly all distinct identifiers, None without a pattern.

    Whole numbers without leading zeros have no pattern: they are numbered 1, 2, ...
    """
    some = values.slice(0, SAMPLE_IDS)
    is_number = _is_shared(matches(some, r"^\d+$")) and not matches(some, r"^0\d").any()
    if len(some) < MIN_HOLDERS or is_number:
        return None
    if _is_shared(matches(some, EMAIL)):
        parts: Sequence[str] | None = ["=person", "n1000000", "=@example.org"]
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
