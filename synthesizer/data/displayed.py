"""What a notebook shows of a result: a short text, HTML, a frame of its rows, a picture.

How is a matter of the report, some floors above: the package sets `data.view`, which loads the
printer for notebooks when somebody looks. All results are shown by the same code, from what their
their fields, rows and figures declare.
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
        """Write them to a file that is named .svg or .html."""

    def _repr_html_(self) -> str: ...

    def _repr_svg_(self) -> str: ...


class Displayed:
    """A result that can be looked at: nothing is shown that the steward's report does not show.

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
        """What has its tables and pictures: the result itself, or a part of it."""
        return self

    @public
    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one of its tables: its figures, or its rows where it has none.

        Parameters
        ----------
        table : str, optional
            Which one, such as ``"datasets"``; the text of the result lists them.

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
            If it has nothing that can be drawn.
        """
        picture: Picture = data.view().picture_of(self._displayed)
        return picture


_SHORT = Repr()
_SHORT.maxlevel = 3
_SHORT.maxtuple = _SHORT.maxlist = _SHORT.maxdict = 6
_SHORT.maxstring = _SHORT.maxother = 60


def in_short(value: object) -> str:
    """Return a value in short: long texts and lists are cut.

    Examples
    --------
    >>> in_short(list(range(9)))
    '[0, 1, 2, 3, 4, 5, ...]'
    """
    return _SHORT.repr(value)
