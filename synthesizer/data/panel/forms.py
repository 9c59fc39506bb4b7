"""The forms in which a source may hold its units, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthesizer.data.panel.arrangement import PLAIN, Arrangement
from synthesizer.data.panel.long_form import LongForm
from synthesizer.data.panel.wide_form import WideForm


def read_arrangement(state: Mapping[str, Any]) -> Arrangement:
    """Rebuild an arrangement of a saved model.

    Raises
    ------
    ValueError
        If there is no such form, or its parts do not fit together.

    Examples
    --------
    >>> type(read_arrangement({"form": "plain"})).__name__
    'Plain'
    """
    form = state["form"]
    if form == "plain":
        return PLAIN
    if form == "long":
        return LongForm.from_dict(state)
    if form == "wide":
        return WideForm.from_dict(state)
    raise ValueError("unknown form of a source")
