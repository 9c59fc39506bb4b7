"""Display of results in a notebook: a short text, HTML, a frame of rows, charts.

The report, on a higher floor, draws them: the package sets `data.view`, which loads the notebook
printer at first use. The same code shows all results, from their fields, rows and figures.
"""

from __future__ import annotations

from pathlib import Path
from reprlib import Repr
from typing import TYPE_CHECKING, Protocol

from synthesizer import data
from synthesizer.data.options import public

if TYPE_CHECKING:
    import pandas as pd


class Picture(Protocol):
    """The charts of a result."""

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write them to a file that ends in .svg or .html."""

    def _repr_html_(self) -> str: ...

    def _repr_svg_(self) -> str: ...


class Displayed:
    """A result that a notebook can show; it shows nothing beyond the steward's report.

    It is confidential like the report, since figures are computed from the original.
    """

    def __repr__(self) -> str:
        return str(data.view().text_of(self))

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return str(data.view().html_of(self._displayed))

    @property
    def _displayed(self) -> object:
        """The object with tables and charts: the result itself, or a part of it."""
        return self

    @public
    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return a table of the result: by default its figures, or its rows if it has none.

        Parameters
        ----------
        table : str, optional
            Name of the table, such as ``"datasets"``; the text of the result lists them.

        Raises
        ------
        DataError
            If it has no such table.
        """
        frame: pd.DataFrame = data.view().frame_of(self._displayed, table)
        return frame

    def plot(self) -> Picture:
        """Return the charts of its figures and rows; ``save(path)`` writes them as SVG or HTML.

        Raises
        ------
        DataError
            If it has nothing to draw.
        """
        picture: Picture = data.view().picture_of(self._displayed)
        return picture


_SHORT = Repr()
_SHORT.maxlevel = 3
_SHORT.maxtuple = _SHORT.maxlist = _SHORT.maxdict = 6
_SHORT.maxstring = _SHORT.maxother = 60


def in_short(value: object) -> str:
    """Return a value as a short text: long texts and lists are cut.

    Examples
    --------
    >>> in_short(list(range(9)))
    '[0, 1, 2, 3, 4, 5, ...]'
    """
    return _SHORT.repr(value)
