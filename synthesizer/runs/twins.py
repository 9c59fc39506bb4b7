"""Settings of a grid that make the same data as another one: run, or shown, once is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synthesizer.config import ChainConfig
from synthesizer.plan import Plan
from synthesizer.runs.grid import Setting
from synthesizer.runs.points import RunPoint

__all__ = ["dropped_notes", "made_twins", "planned_twin"]


def planned_twin(
    setting: Setting, plan: Plan, others: Mapping[str, tuple[Setting, Plan]]
) -> str | None:
    """Return which other setting makes the same data, as when no variable uses a varied model.

    Parameters
    ----------
    setting : Setting
        One of a grid.
    plan : Plan
        What would be fitted for it.
    others : mapping of str to tuple of Setting and Plan
        By name.
    """
    for name, (other, made) in others.items():
        chains = [p.spec for p in (plan, made) if p.genetic is None or p.genetic.start == "chain"]
        same = all(c.steps == plan.spec.steps and c.strata == plan.spec.strata for c in chains)
        if same and _rest(setting.config) == _rest(other.config):
            return name
    return None


def _rest(config: ChainConfig) -> dict[str, Any]:
    """Return what decides about the data besides the steps of the chain."""
    return {
        "m": config.m,
        "rows": config.rows,
        "proper": config.proper,
        "drop": config.drop,
        "keep": config.keep,
        "rules": config.rules,
        "forbid": config.forbid,
        "on_violation": config.on_violation,
        "genetic": config.genetic,
        "declared": config.declarations(),
    }


def made_twins(points: Sequence[RunPoint]) -> dict[str, str]:
    """Return finished runs with the datasets and the figures of an earlier one, and of which.

    Leaves larger than the data allow are an example. Where a figure differs both runs stay: it
    may come from another fit, as that of half of the data.

    Parameters
    ----------
    points : sequence of RunPoint
        The runs.
    """
    found: dict[str, str] = {}
    for number, point in enumerate(points):
        for other in points[:number]:
            if point.datasets and other.name not in found and _found_alike(point, other):
                found[point.name] = other.name
                break
    return found


def _found_alike(one: RunPoint, other: RunPoint) -> bool:
    return all(
        getattr(one, part) == getattr(other, part)
        for part in ("datasets", "figures", "questions", "exceeded", "failed", "gaps")
    )


def dropped_notes(planned: Mapping[str, str], made: Mapping[str, str]) -> list[str]:
    """Say which settings are left out, one sentence for each that stands for them.

    Parameters
    ----------
    planned : mapping of str to str
        Settings that were not run, and which one makes the same data.
    made : mapping of str to str
        Settings that turned out to have made the same data and figures as another.

    Examples
    --------
    >>> for note in dropped_notes({"b": "a", "c": "a"}, {"e": "d"}):
    ...     print(note)
    b and c: left out, as they would make the same data as a: what is varied has no effect there.
    e: left out, as it made the same datasets and figures as d: what is varied had no effect there.
    """
    return [
        *(
            f"{_listed(names)}: left out, as {_they(names)} would make the same data as {kept}: "
            "what is varied has no effect there."
            for kept, names in _by_twin(planned).items()
        ),
        *(
            f"{_listed(names)}: left out, as {_they(names)} made the same datasets and figures "
            f"as {kept}: what is varied had no effect there."
            for kept, names in _by_twin(made).items()
        ),
    ]


def _listed(names: Sequence[str]) -> str:
    """Join names that may hold commas themselves."""
    return " and ".join(["; ".join(names[:-1]), names[-1]] if names[1:] else names)


def _they(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "they"


def _by_twin(dropped: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, kept in dropped.items():
        found.setdefault(kept, []).append(name)
    return found
