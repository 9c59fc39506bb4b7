"""Where the cells of CSV text start and end, and which columns are quoted."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from synthesizer.data.layout import Quoting
from synthesizer.data.table import BoolArray

__all__ = ["CR", "LF", "QUOTE", "Bytes", "Fields"]

BARE: Final = ("NA", "NaN", "N/A", "NULL", "null", "nan", ".")
"""Texts that stay unquoted where everything else is quoted."""
QUOTE, LF, CR = 34, 10, 13

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Fields:
    """Where the cells of the first rows start and end, and which of them are quoted.

    ``starts`` and ``ends`` have shape (rows, columns), the header row first.
    """

    text: Bytes
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, head: Bytes, delimiter: str) -> Fields:
        """Find the cells; rows of another length than the header are left out."""
        if head[-1] != LF:
            head = np.append(head, np.uint8(LF))
        outside = (np.cumsum(head == QUOTE) & 1) == 0
        newline = (head == LF) | ((head == CR) & (np.append(head[1:], LF) != LF))
        stop = np.flatnonzero(outside & (newline | (head == ord(delimiter))))
        start = np.append(0, stop[:-1] + 1)
        is_last = newline[stop]
        end = np.where(is_last & (stop > start) & (head[stop - 1] == CR), stop - 1, stop)
        row = np.append(0, np.cumsum(is_last)[:-1])
        per_row = np.bincount(row)
        blank = (per_row[row] == 1) & (end == start)
        start, end, row = start[~blank], end[~blank], row[~blank]
        width = int((row == row[0]).sum())
        keep = per_row[row] == width
        return cls(head, start[keep].reshape(-1, width), end[keep].reshape(-1, width))

    @property
    def is_quoted(self) -> BoolArray:
        """Whether each cell is quoted."""
        first = self.text[np.minimum(self.starts, len(self.text) - 1)]
        return np.asarray((first == QUOTE) & (self.ends - self.starts >= 2))

    def names(self, delimiter: str) -> list[str]:
        """Return the column names."""
        raw = self.text[self.starts[0, 0] : self.ends[0, -1]].tobytes()
        return next(
            csv.reader(io.StringIO(raw.decode(errors="replace"), newline=""), delimiter=delimiter)
        )

    def header_quoting(self) -> tuple[Quoting, ...]:
        """Return the quoting of the column names."""
        return tuple(Quoting(always=bool(quoted)) for quoted in self.is_quoted[0])

    def quoting(self) -> tuple[Quoting, ...]:
        """Return when the cells of each column are quoted."""
        quoted, length = self.is_quoted[1:], (self.ends - self.starts)[1:]
        filled = (length > 0) & ~(quoted & (length == 2))
        found = []
        for j in range(quoted.shape[1]):
            empty = bool((quoted[:, j] & ~filled[:, j]).any())
            loose = np.flatnonzero(filled[:, j] & ~quoted[:, j])
            bare = self._distinct(loose + 1, j)
            always = bool((filled & quoted)[:, j].any()) and set(bare) <= set(BARE)
            found.append(Quoting(always=always, empty=empty, bare=bare if always else ()))
        # A column without a filled cell follows the custom of the file.
        custom = any(quoting.always for quoting in found)
        return tuple(
            q if filled[:, j].any() else Quoting(always=custom, empty=q.empty)
            for j, q in enumerate(found)
        )

    def _distinct(self, rows: npt.NDArray[np.int64], column: int) -> tuple[str, ...]:
        """Return up to a few distinct texts; numbers fill the limit soon."""
        texts: dict[str, None] = {}
        for row in rows.tolist():
            begin, end = self.starts[row, column], self.ends[row, column]
            texts[self.text[begin:end].tobytes().decode(errors="replace")] = None
            if len(texts) > len(BARE) or not set(texts) <= set(BARE):
                break
        return tuple(texts)
