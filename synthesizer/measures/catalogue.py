"""All installed measures, by entry point, and their checks, figures and limits.

Every measure enters through the entry-point group ``synthesizer.measures``, the built-in ones as
well as those of other packages. From them follow the switches under ``checks:``, the keys under
``limits:``, the refusal of a limit whose check is off, the summary and the screen of a run, and
the axes by which runs are compared.

A figure belongs to its data, keys, target and groups. Runs that differ in these are never compared
by it, nor are runs whose datasets differ in size: S_pMSE grows with the number of synthetic
records, and risk falls with it, so that the smallest file would seem the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Annotated, Any

from pydantic import BeforeValidator, SerializeAsAny

from synthesizer.data.errors import ConfigError
from synthesizer.data.plugins import EXTENSIONS, entries, installed
from synthesizer.measures.figure import FigureKind, Limit, Measured, Result, typed
from synthesizer.measures.measure import Axis, Measure

GROUP = "synthesizer.measures"

NO_MEASURES = (
    f"no measure is installed: no package declares entry points {GROUP!r}; reinstall synthesizer "
    "(a source folder alone declares none: pip install .)"
)


def in_order(measures: Iterable[Measure]) -> Iterator[Measure]:
    """Yield the measures in the order of ``after``, those of risk first.

    Measures of extensions and other packages without ``after`` come last.

    Raises
    ------
    ConfigError
        If two have the same key, check or figure, or ``after`` names no measure.
    """
    entries = [*measures]
    _refuse_doubles(entries)
    known = {measure.key for measure in entries}
    following: dict[str, list[Measure]] = {}
    for measure in entries:
        if measure.after and measure.after not in known:
            raise ConfigError(
                f"measure {measure.key!r}: after names {measure.after!r}, which is no measure"
            )
        following.setdefault(measure.after, []).append(measure)

    def followed(measure: Measure) -> Iterator[Measure]:
        yield measure
        for other in sorted(following.get(measure.key, ()), key=is_of_core):
            yield from followed(other)

    def is_of_core(measure: Measure) -> bool:
        return measure.compute.__module__.startswith("synthesizer.measures.")

    def rank(measure: Measure) -> tuple[Axis, bool]:
        return measure.axis, not is_of_core(measure)

    first = sorted(following.get("", ()), key=rank)
    ordered = [measure for root in first for measure in followed(root)]
    if len(ordered) < len(entries):
        names = ", ".join(sorted(known - {measure.key for measure in ordered}))
        raise ConfigError(f"measures {names}: their after names form a circle")
    yield from ordered


def _refuse_doubles(measures: list[Measure]) -> None:
    declared = Counter(
        [f"measure {measure.key!r}" for measure in measures]
        + [f"check {measure.check!r}" for measure in measures if measure.words]
        + [f"figure {kind.key!r}" for measure in measures for kind in measure.figures]
    )
    if twice := [what for what, times in declared.items() if times > 1]:
        raise ConfigError(f"{what} is declared twice; remove a package" for what in twice)


def load() -> dict[str, Measure]:
    """Return the measures that installed packages declare, by key, in the order of computation."""
    by_entry_point = entries(GROUP, tuple, removable=f"{EXTENSIONS}.")
    if not by_entry_point:
        raise ConfigError(NO_MEASURES)
    for name, measures in by_entry_point.items():
        if not all(isinstance(measure, Measure) for measure in measures):
            raise ConfigError(f"entry point {name!r} of {GROUP}: is not a tuple of Measure")
    return {
        measure.key: measure for measure in in_order(chain.from_iterable(by_entry_point.values()))
    }


MEASURES: Mapping[str, Measure] = load()
"""Every measure, in the order of computation."""

CHECKS: Mapping[str, Measure] = {
    measure.check: measure for measure in MEASURES.values() if measure.check and measure.words
}
"""The measure that describes each switch under ``checks:``."""

FIGURES: Mapping[str, FigureKind] = {
    kind.key: kind for measure in MEASURES.values() for kind in measure.figures
}
LIMITS: Mapping[str, tuple[Measure, FigureKind, Limit]] = {
    kind.key: (measure, kind, kind.limit)
    for measure in MEASURES.values()
    for kind in measure.figures
    if kind.limit is not None
}
"""Measure, figure and range of each key under ``limits:``."""

AXES: Mapping[str, FigureKind] = {key: kind for key, kind in FIGURES.items() if kind.is_axis}
"""Figures by which runs can be compared; the first of each axis is the default."""

SUMMARY: Mapping[str, tuple[FigureKind, str]] = {
    key: (kind, of) for kind in FIGURES.values() for key, of in kind.in_summary.items()
}
"""Figure, and field of the figure, of each key of the summary."""


def axes(axis: Axis) -> tuple[FigureKind, ...]:
    """Return the figures of risk or of utility by which runs can be compared.

    Examples
    --------
    >>> axes("risk")[0].key, axes("utility")[0].key
    ('cap', 'mean_two_way')
    """
    measures = (measure for measure in MEASURES.values() if measure.axis == axis)
    return tuple(kind for measure in measures for kind in measure.figures if kind.is_axis)


def axis_problems(risk: str | None, utility: str | None) -> list[str]:
    """Return a problem for each name that is not a figure of its axis."""
    wanted: tuple[tuple[Axis, str | None], ...] = (("risk", risk), ("utility", utility))
    return [
        f"--{axis} {key}: is not a figure of {axis}; choose one of "
        f"{', '.join(kind.key for kind in axes(axis))}"
        for axis, key in wanted
        if key is not None and key not in {kind.key for kind in axes(axis)}
    ]


def _read(content: Mapping[str, Any]) -> dict[str, Result]:
    """Return results by key, each with the type of its measure."""
    if gone := ", ".join(sorted(content.keys() - MEASURES.keys())):
        raise ValueError(f"{gone}: add the package with this measure; {installed()}")
    return {
        key: result if isinstance(result, Result) else typed(MEASURES[key].result, result)
        for key, result in content.items()
    }


Further = Annotated[Mapping[str, SerializeAsAny[Measured]], BeforeValidator(_read)]
"""Results without a field of their own, by the keys of their measures."""
