"""Which runs of a frontier are told apart from their neighbours, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthesizer.report.numbers import plural
from synthesizer.report.record import listed, mappings, words

__all__ = ["standing_words", "standings_by_run"]

MOST_TOLD = 3
"""Runs of a tie that are named; neighbours on the frontier come first."""


def standings_by_run(pair: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return how each run stands on the frontier of a pair of figures.

    Parameters
    ----------
    pair : mapping
        One of ``frontiers`` of ``Comparison.to_dict``.
    """
    return {words(one, "run"): one for one in mappings(pair, "standings")}


def standing_words(standing: Mapping[str, Any]) -> str:
    """Say which runs a run is a tie with, and where that is unknown.

    Parameters
    ----------
    standing : mapping
        What ``Standing.to_dict`` gives.

    Examples
    --------
    >>> standing_words({"run": "a", "ties": [{"run": "b", "in": ["risk"]}], "unknown": []})
    'tie with b in risk'
    >>> standing_words({"run": "a", "ties": [], "unknown": ["risk", "utility"]})
    'spread unknown in risk and utility'
    >>> standing_words({"run": "a", "ties": [], "unknown": []})
    'no tie'
    """
    ties = mappings(standing, "ties")
    told = [
        f"tie with {words(tie, 'run')} in {' and '.join(map(str, listed(tie, 'in')))}"
        for tie in ties[:MOST_TOLD]
    ]
    if len(ties) > MOST_TOLD:
        told.append(f"and with {plural(len(ties) - MOST_TOLD, 'other run')}")
    unknown = " and ".join(map(str, listed(standing, "unknown")))
    if unknown:
        told.append(f"spread unknown in {unknown}")
    return "; ".join(told) or "no tie"
