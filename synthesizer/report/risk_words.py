"""Sentences that the parts about risk share."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from synthesizer.report.numbers import interval, written
from synthesizer.report.parts import Form
from synthesizer.report.risk_reading import Rate, ScenarioPart

__all__ = ["COUNT", "FIGURE", "TEXT", "heading", "said", "span"]

COUNT: Form = "count"
FIGURE: Form = "figure"
TEXT: Form = "text"


def heading(scenario: ScenarioPart) -> Iterator[Markup]:
    """Yield a heading that names keys and target."""
    yield Markup("<h3>{}</h3>").format(scenario.heading)


def span(low: float | None, high: float | None) -> str:
    """Write the ends of an interval, or that they are not known.

    Examples
    --------
    >>> span(0.003, 0.0172), span(None, 0.1)
    ('0.003 to 0.017', 'not known')
    """
    return "not known" if low is None or high is None else interval(low, high, "share")


def said(rate: Rate) -> str:
    """Say a figure in one line with its interval, baseline and original."""
    value = "not computed" if rate.value is None else written(rate.value, "share")
    marks = (
        [] if rate.low is None or rate.high is None else [f"interval {span(rate.low, rate.high)}"]
    )
    if rate.baseline is not None:
        marks.append(f"baseline {written(rate.baseline, 'share')}")
    if rate.original is not None:
        marks.append(f"original {written(rate.original, 'share')}")
    return f"{rate.name} {value}" + (f" ({', '.join(marks)})" if marks else "")
