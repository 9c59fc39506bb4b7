"""What was set differently in runs that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from json import dumps
from typing import Any

from synthesizer.runs.key_paths import KeyPath
from synthesizer.runs.points import RunPoint

__all__ = ["differing_settings", "is_of_a_variable", "not_listed"]


def differing_settings(points: Sequence[RunPoint]) -> dict[KeyPath, tuple[Any, ...]]:
    """Return the settings that are not the same in all runs, and their value in each."""
    paths = dict.fromkeys(path for point in points for path in point.settings)
    values = {path: tuple(point.settings.get(path) for point in points) for path in paths}
    return {path: given for path, given in values.items() if len(set(map(_text, given))) > 1}


def is_of_a_variable(path: KeyPath) -> bool:
    """Whether a setting is about one variable: what it is, its model, its predictors.

    Examples
    --------
    >>> paths = [("variables", "age", "kind"), ("method", "age"), ("method",), ("m",)]
    >>> [is_of_a_variable(path) for path in paths]
    [True, True, False, False]
    """
    return path[0] == "variables" or (path[0] in ("method", "predictor_matrix") and len(path) > 1)


def not_listed(left_out: Iterable[KeyPath]) -> list[str]:
    """Say which declarations differ and are not listed, in one line."""
    names = dict.fromkeys(path[1] for path in left_out if len(path) > 1)
    if not names:
        return []
    return [
        f"What the configurations declare of single variables differs ({len(names)} variables) and "
        "is not listed, because the runs were made from different data; the manifest of each run "
        "has it."
    ]


def _text(value: object) -> str:
    return dumps(value, sort_keys=True, default=str)
