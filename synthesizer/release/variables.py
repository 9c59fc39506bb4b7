"""The variables of a release as entries of its codebook: values, levels, missing codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from synthesizer.data.schema import Kind
from synthesizer.release.facts import Facts, VariableFacts
from synthesizer.release.files import IDENTIFIER, Seen
from synthesizer.release.words import made

__all__ = ["described"]


def described(
    name: str, seen: Seen, rows: int, facts: Facts, *, is_tilted: bool = False
) -> dict[str, Any]:
    """Return the entry of one variable.

    Parameters
    ----------
    name : str
        The variable.
    seen : Seen
        What all datasets together hold of it.
    rows : int
        Records of all datasets together.
    facts : Facts
        What may be told of the run.
    is_tilted : bool
        Whether its draws from trees were tilted.
    """
    known = facts.variables.get(name, IDENTIFIER)
    step = next((step for step in facts.steps if step.variable == name), None)
    codes = _missing(seen, known, rows)
    return {
        "name": name,
        "label": known.label,
        "unit": known.unit,
        "kind": seen.kind.value,
        "decimals": seen.decimals,
        "date_format": seen.date_format,
        "range": _range(seen),
        "levels": _levels(seen, known, rows, {entry["code"] for entry in codes}),
        "missing": codes,
        "made": made(name, step, known, facts, has_missing=bool(codes), is_tilted=is_tilted),
    }


def _range(seen: Seen) -> dict[str, Any] | None:
    if seen.low is None or seen.high is None:
        return None
    if seen.kind is Kind.DATE:
        unit = "D" if seen.decimals == 0 else "s"
        seconds = [round(day * 86_400) for day in (seen.low, seen.high)]
        low, high = (str(np.datetime64(s, "s").astype(f"datetime64[{unit}]")) for s in seconds)
        return {"low": low, "high": high}
    ends = (seen.low, seen.high)
    smallest, largest = map(int, ends) if seen.decimals == 0 else ends
    return {"low": smallest, "high": largest}


def _levels(seen: Seen, known: VariableFacts, rows: int, missing: set[str]) -> list[dict[str, Any]]:
    """Return the levels: those the configuration lists, in its order, then others that occur."""
    labelled = [level for level in known.level_labels if level not in missing]
    if not seen.kind.is_coded:
        named = labelled if seen.kind in (Kind.NUMERIC, Kind.DATE) else []
        return [_entry("level", level, known, None) for level in named]
    others = {*seen.levels, *labelled} - {*known.levels}
    order = [level for level in known.levels if level not in missing]
    return [
        _entry("level", level, known, seen.levels.get(level, 0) / rows)
        for level in [*order, *_sorted(others)]
    ]


def _missing(seen: Seen, known: VariableFacts, rows: int) -> list[dict[str, Any]]:
    """Return the codes that occur, and those the configuration lists in another spelling too."""
    numeric = {_number(code) for code in seen.missing} - {None}
    listed = [
        code
        for code in known.missing
        if code in seen.missing or seen.kind.is_coded or _number(code) not in numeric
    ]
    codes = dict.fromkeys([*listed, *_sorted(seen.missing)])
    return [_entry("code", code, known, seen.missing.get(code, 0) / rows) for code in codes]


def _entry(what: str, value: str, known: VariableFacts, share: float | None) -> dict[str, Any]:
    return {what: value, "label": known.level_labels.get(value, ""), "share": share}


def _sorted(texts: Iterable[str]) -> list[str]:
    """Return numbers by size, before words by alphabet."""
    return sorted(texts, key=lambda text: (_number(text) is None, _number(text) or 0.0, text))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None
