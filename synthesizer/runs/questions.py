"""What the figures of a run depend on besides the synthesis itself: when two runs share an axis."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from synthesizer.report.record import dig, listed, mappings

__all__ = ["questions_of"]

_OF_FIT = ("formula", "family", "clusters", "weights", "offset", "level")
"""What makes two fits the same model, besides the data."""


def questions_of(
    manifest: Mapping[str, Any], checks: Mapping[str, Any], m: int | None
) -> dict[str, str]:
    """Return, for every scope of a measure, what two runs must have in common.

    Parameters
    ----------
    manifest, checks : mapping
        The files of a run.
    m : int or None
        Its number of datasets.

    Examples
    --------
    >>> first, second = (questions_of({"data": {"sha256": "a"}}, {}, m) for m in (1, 5))
    >>> first["data"] == second["data"], first["pooled"] == second["pooled"]
    (True, False)
    """
    data = dig(manifest, "data", "sha256")
    # a query has no hash: origin and size must do
    known = data or [dig(manifest, "data", part) for part in ("origin", "rows", "columns")]
    panel = _panel(manifest)
    known = [known, panel] if panel else known
    scenarios = mappings(checks, "risk", "scenarios")
    first = dig(scenarios, 0, "scenario")
    is_map = isinstance(first, Mapping)
    asked = {key: v for key, v in first.items() if key != "reason"} if is_map else {}
    asked["keys"] = sorted(map(str, listed(first, "keys")))
    inference = [
        {key: part.get(key) for key in ("sensitive", "public", "positive")}
        for part in mappings(checks, "risk", "inference")
    ]
    scores = mappings(checks, "utility", "propensity")
    models = [[score.get("model"), score.get("interactions")] for score in scores]
    fits = [[fit.get(key) for key in _OF_FIT] for fit in mappings(checks, "utility", "fits")]
    parts = {
        "panel": panel,
        "data": known,
        "datasets": [known, m],
        "scenario": [known, asked],
        "pooled": [known, asked, m],
        "inference": [known, inference],
        "propensity": [known, models],
        # the mean of more datasets is nearer to the original's estimate
        "fits": [known, fits, m],
    }
    return {scope: json.dumps(part, sort_keys=True, default=str) for scope, part in parts.items()}


def _panel(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is one person, one period and one career; empty where records count."""
    if not dig(manifest, "panel"):
        return {}
    told = dig(manifest, "config", "panel")
    return {key: told[key] for key in told if key != "rules"} if isinstance(told, Mapping) else {}
