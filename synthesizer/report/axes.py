"""The axes of the risk-utility map: what they span, and where every run stands on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from synthesizer.report.charts import Scale
from synthesizer.report.page import written

Places = tuple[float | None, ...]

MOST_STRETCH = 1.7
"""How many times the span of the runs an axis may be, to show a mark as well."""
MARGIN = 0.07
MAX_DOTS_OF_RUN = 50


@dataclass(frozen=True)
class Mark:
    """A line of reference: where it is, what it is, and its class."""

    value: float
    words: str
    look: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One figure as an axis.

    Parameters
    ----------
    key, title, meaning : str
        The figure.
    scale : Scale
        From values to places.
    values, places : tuple of (float or None)
        Of every run.
    ends : tuple of (low, high)
        Places of the ends of the interval of every run, None where there is none.
    dots : tuple of tuple of (float or None)
        Places of the datasets of every run.
    marks : tuple of Mark
        Lines of reference that are within reach.
    far : tuple of Mark
        Those that are not.
    """

    key: str
    title: str
    meaning: str
    scale: Scale
    values: Places
    places: Places
    ends: tuple[tuple[float | None, float | None], ...]
    dots: tuple[Places, ...]
    marks: tuple[Mark, ...]
    far: tuple[Mark, ...]

    def dot(self, run: int, dataset: int) -> float | None:
        """Return the place of a dataset of a run."""
        own = self.dots[run]
        return own[dataset] if dataset < len(own) else None

    def to_dict(self) -> dict[str, Any]:
        """Return what the page's script needs."""
        return {
            "key": self.key,
            "title": self.title,
            "places": list(self.places),
            "ends": [list(pair) for pair in self.ends],
            "dots": [list(own) for own in self.dots],
        }


def axes_of(
    runs: Sequence[Mapping[str, Any]],
    measures: Mapping[str, Mapping[str, Any]],
    keys: Sequence[str],
    ends: tuple[float, float],
    most_dots: int,
) -> dict[str, Axis]:
    """Return the axis of every figure that some run has.

    Parameters
    ----------
    runs : sequence of mapping
        As ``Comparison.to_dict`` gives them.
    measures : mapping of str to mapping
        What the figures are, by key.
    keys : sequence of str
        Which figures.
    ends : tuple of float
        Places of the axis' ends.
    most_dots : int
        Datasets of a run that are shown at most.
    """
    found = (_axis(runs, measures[key], key, ends, most_dots) for key in keys)
    return {axis.key: axis for axis in found if axis is not None}


def _axis(
    runs: Sequence[Mapping[str, Any]],
    measure: Mapping[str, Any],
    key: str,
    ends: tuple[float, float],
    most_dots: int,
) -> Axis | None:
    values = [run["figures"][key]["value"] for run in runs]
    if not any(value is not None for value in values):
        return None
    most = min(most_dots, MAX_DOTS_OF_RUN)
    dots = [run["figures"][key]["datasets"][:most] for run in runs]
    lows, highs = ([run["figures"][key][end] for run in runs] for end in ("low", "high"))
    inside = [v for part in (values, lows, highs, *dots) for v in part if v is not None]
    domain, marks, far = _domain(inside, _marks(runs, key))
    scale = Scale(domain=domain, range=ends)
    return Axis(
        key=key,
        title=measure["title"],
        meaning=measure["meaning"],
        scale=scale,
        values=tuple(values),
        places=_placed(values, scale),
        ends=tuple(zip(_placed(lows, scale), _placed(highs, scale), strict=True)),
        dots=tuple(_placed(own, scale) for own in dots),
        marks=marks,
        far=far,
    )


def _placed(values: Sequence[float | None], scale: Scale) -> Places:
    return tuple(None if value is None else round(scale(value), 1) for value in values)


def _marks(runs: Sequence[Mapping[str, Any]], key: str) -> list[Mark]:
    """Return the lines of reference: the means over runs, which hardly differ."""
    found = []
    for part, what in (("baseline", "nothing learnt"), ("original", "original released")):
        known = [v for run in runs if (v := run["figures"][key][part]) is not None]
        if known:
            value = fmean(known)
            found.append(Mark(value, f"{what} ({written(value, 'share')})", part))
    return found


def _domain(
    inside: Sequence[float], marks: Sequence[Mark]
) -> tuple[tuple[float, float], tuple[Mark, ...], tuple[Mark, ...]]:
    """Return the ends of an axis, the marks on it, and those out of reach.

    A mark that would squeeze the runs into a corner is told at the edge, not drawn in its place.
    """
    low, high = min(inside), max(inside)
    # without a spread the values stand in the middle of a tenth of their size
    reach = MOST_STRETCH * (high - low or 0.1 * abs(high) or 0.1)
    on: list[Mark] = []
    far: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: max(low - mark.value, mark.value - high)):
        first, last = min(low, mark.value), max(high, mark.value)
        if last - first <= reach:
            low, high = first, last
            on.append(mark)
        else:
            far.append(mark)
    pad = MARGIN * (high - low) or 0.05 * abs(high) or 0.05
    return (low - pad, high + pad), tuple(on), tuple(far)
