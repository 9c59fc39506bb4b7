"""The epsilon and the number of groups of a question, chosen from the synthetic data alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from synthesizer.verification.coefficient_questions import OfCoefficient
from synthesizer.verification.query import Query
from synthesizer.verification.verify import Asked

PARTITIONS = (20, 50, 100, 200)
"""Numbers of groups that are tried."""
MOST_UNFITTED = 0.2
"""Share of groups that may have no fit in the synthetic data."""


@dataclass(frozen=True)
class Chosen:
    """A question with its epsilon and number of groups, and what may be expected of it."""

    query: Query
    """With epsilon, partitions and errors, of the same schema and synthetic file."""
    outlook: Literal["decided", "open", "impossible"]
    words: tuple[str, ...]
    """Plain sentences for the researcher."""


def chosen(asked: Asked, most_epsilon: float) -> Chosen:
    """Return a question with epsilon, partitions and errors, chosen from synthetic data alone.

    Raises
    ------
    SynthesizerError
        If the synthetic data do not identify what is asked.
    """
    query = asked.query.model_copy(update={"epsilon": most_epsilon})
    if not isinstance(query.ask, OfCoefficient):
        return Chosen(query, "decided", ())
    if query.ask.reports_errors:
        query = query.model_copy(update={"errors": "report"})
    view = asked.view()
    query.ask.estimate(query, asked.schema, view)
    able = []
    for m in PARTITIONS:
        fits = query.ask.fits(query, asked.schema, view, view.partition(m), m)
        if np.isnan(fits.coefficients).mean() <= MOST_UNFITTED:
            able.append(m)
    if not able:
        words = "Too few groups of persons would have a fit. Ask about a smaller model."
        return Chosen(query, "impossible", (words,))
    best = min(able, key=lambda m: abs(m - 50))
    return Chosen(query.model_copy(update={"partitions": best}), "decided", ())
