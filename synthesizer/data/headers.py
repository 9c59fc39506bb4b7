"""The row of a file that holds the names of its columns, and whether it is a row of data.

A first person whose cells become names would be in the configuration, the release and the
codebook. A row is taken for data if no cell of it is a word above a column of numbers, and some
cells are like those below: a number within the range of the column, a text that occurs again, or a
text of the same pattern of digits. Years and numbers in even steps may be names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from synthesizer.data.errors import DataError

SAMPLE_ROWS: Final = 200
"""Rows that the first one is compared with."""
MAX_TITLE_ROWS: Final = 30
_YEARS: Final = range(1800, 2101)
_NUMBER: Final = re.compile(
    r"[-+(]?[€$£¥]?\s?[-+]?(?:\d[\d.,' \u00a0]*|[.,]\d+)(?:[eE][-+]?\d+)?\s?[)%€$£¥]?"
)
_DECIMAL: Final = re.compile(r"\d[.,]\d")
_EMPTY: Final = frozenset({"", "na", "n/a", "nan", "null", "none", ".", "-", "inf", "-inf"})
_REMEDY: Final = (
    "name the columns (data.names: [A, B, ...]), or write that this row "
    "holds the names (data.header_row: {row})"
)
ELSEWHERE: Final = "if the names are in another row, write its number (data.header_row: N)"

Row = Sequence[str]


def find_header(rows: Sequence[Row]) -> int:
    """Return the place of the row that holds the names, counted from 0.

    Rows above it are titles: at most half filled, or followed by a blank row. They are passed over
    only if a name stands above numbers, or if a blank row ends the titles.

    Examples
    --------
    >>> find_header([["Table 3", "", ""], ["age", "sex", "pay"], ["34", "m", "9"], ["9", "f", "7"]])
    1
    """
    filled_rows = [row for row in rows if _filled(row)]
    if not filled_rows:
        return 0
    width = Counter(map(len, filled_rows)).most_common(1)[0][0]
    below = [row for row in filled_rows if len(row) == width]
    used = sum(any(row[j].strip() for row in below) for j in range(width))
    for place, row in enumerate(rows[:MAX_TITLE_ROWS] if used > 1 else ()):
        filled, after = _filled(row), [r for r in rows[place + 1 :] if len(r) == width]
        if 2 * filled <= used or _is_title(rows[place + 1 :]):
            continue
        is_full = filled == used or (filled == used - 1 and not row[0].strip())
        is_apart = place > 1 and not _filled(rows[place - 1])
        is_header = is_full and (is_apart or _votes(row, after)[1])
        return place if is_header else first_filled(rows)
    return first_filled(rows)


def _filled(row: Row) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_title(after: Sequence[Row]) -> bool:
    """Whether a blank row follows, and then one of words alone above numbers."""
    if len(after) < 2 or _filled(after[0]):
        return False
    like, words = _votes(after[1], after[2:])
    return bool(words) and not like


def first_filled(rows: Sequence[Row]) -> int:
    """Return the place of the first row that has a cell; 0 where none has."""
    return next((place for place, row in enumerate(rows) if any(row)), 0)


def refuse_data(row: Row, below: Sequence[Row], origin: str, number: int) -> None:
    """Raise DataError where the row of names, in line ``number``, looks like data."""
    like, words = _votes(row, below)
    names = [row[j].strip() for j in like]
    if words or not like or _may_be_names(names):
        return
    which = "the first row" if number == 1 else f"row {number}, the first full one,"
    raise DataError(
        f"{origin}: {which} looks like data, not like names ({len(like)} of {len(row)} cells are "
        f"like those below); {_REMEDY.format(row=number)}"
    )


def _votes(row: Row, below: Sequence[Row]) -> tuple[list[int], int]:
    """Return the places of cells that are like those below, and how many words head numbers."""
    like, words = [], 0
    for j, cell in enumerate(map(str.strip, row)):
        column = [r[j].strip() for r in below[:SAMPLE_ROWS] if j < len(r)]
        column = [text for text in column if text.lower() not in _EMPTY]
        if not column or cell.lower() in _EMPTY:
            continue
        numbers = [text for text in column if _NUMBER.fullmatch(text)]
        is_number = bool(_NUMBER.fullmatch(cell))
        if len(numbers) >= 0.9 * len(column) and (is_number or cell not in column):
            words += not is_number
            if is_number and _is_near(cell, numbers):
                like.append(j)
        elif cell in column or _is_alike(cell, column):
            like.append(j)
    return like, words


def _is_near(cell: str, numbers: Sequence[str]) -> bool:
    """Whether a number is within a range of those below, or one width of it beyond.

    Whatever its size, no name is a number with decimals above such numbers.
    """
    if _DECIMAL.search(cell) and any(map(_DECIMAL.search, numbers)):
        return True
    try:
        value, values = float(cell), [*map(float, numbers)]
    except ValueError:
        return True
    low, high = min(values), max(values)
    return 2 * low - high <= value <= 2 * high - low


def _is_alike(cell: str, column: Sequence[str]) -> bool:
    """Whether half of a column has the cell's pattern of digits, or e-mail addresses as it is."""
    if "@" in cell:
        return 2 * sum("@" in text for text in column) >= len(column)
    pattern = re.sub(r"\d", "9", cell)
    alike = sum(re.sub(r"\d", "9", text) == pattern for text in column)
    return "9" in pattern and 2 * alike >= len(column)


def _may_be_names(names: Sequence[str]) -> bool:
    """Whether numbers are years, or go up in even steps, as names of periods or of R's columns."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    numbers = [*map(int, names)]
    steps = {after - before for before, after in pairwise(numbers)}
    is_years = all(number in _YEARS for number in numbers)
    return min(steps) > 0 and (is_years or (len(steps) == 1 and len(names) > 2))


def unnamed(names: Sequence[str | None], origin: str) -> Iterator[str]:
    """Yield which columns have no name, or one name, by their places: names may be data."""
    if empty := [str(j) for j, name in enumerate(names, 1) if not (name or "").strip()]:
        yield f"{origin}: column {', '.join(empty)} has no name; name every column; {ELSEWHERE}"
    for name, count in Counter(filter(None, names)).items():
        if count > 1:
            places = [str(j) for j, other in enumerate(names, 1) if other == name]
            yield f"{origin}: columns {', '.join(places)} have the same name; rename all but one"
