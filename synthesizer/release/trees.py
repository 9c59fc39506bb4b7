"""What the trees of a run do to relations and to intervals, in words for researchers."""

from __future__ import annotations

from collections.abc import Iterable

from synthesizer.release.facts import Facts
from synthesizer.release.files import Released
from synthesizer.release.names import listed
from synthesizer.report.trees import tilts

__all__ = ["TILTED", "lost_relations", "tilted", "too_narrow"]

TILTED = "follow a linear regression of what the tree leaves unexplained"
"""What tilted draws do."""


def tilted(facts: Facts, released: Released) -> list[str]:
    """Return the columns whose draws from trees were tilted, which two or ordered levels allow.

    Levels are counted in the synthetic files.
    """
    return [
        name
        for name, trees in facts.trees().items()
        if trees.tilt and name in released.variables
        for seen in [released.variables[name]]
        if tilts(seen.kind.value, len(seen.levels) + len(seen.missing))
    ]


def too_narrow(facts: Facts, released: Released) -> list[str]:
    """Return why intervals from data of trees may be too narrow; empty where no tree was used."""
    trees = facts.trees()
    if not trees:
        return []
    leaning = tilted(facts, released)
    found = [
        "The rule assumes independent draws from a right model. Some variables here were made by "
        "trees."
    ]
    if set(trees) - set(leaning):
        found.append(
            f"{'Other trees' if leaning else 'Trees'} with large leaves pull relations between "
            "variables towards zero, so that intervals for regression coefficients can cover the "
            "true value well below 95 % of the time: 0.85 in a simulation with the default tree "
            "and 1,000 records."
        )
    if leaning:
        found.insert(
            1,
            f"The draws of {_owners(facts, leaning)} were tilted: they {TILTED}, which keeps weak "
            "linear effects of the predictors on them. Interactions and curved relations can still "
            "be flattened.",
        )
    if any(own.even for own in trees.values()):
        found.append(
            "The draws from the trees were spread evenly over the records of a leaf (even draws). "
            "Therefore the datasets differ less from each other than independent draws would, and "
            "agreement between them does not show how sure a result is."
        )
    found.append("Have every result verified on the confidential data before you rely on it.")
    return found


def lost_relations(facts: Facts, released: Released) -> str:
    """Return which relations are the first to be lost, a sentence or two."""
    leaning = tilted(facts, released)
    drawn = [
        step.variable
        for step in facts.steps
        if step.predictors and not step.kept and step.model not in ("derived", "constant", "sample")
    ]
    first = "Even where a model was given a variable, it may have found only a part of the relation"
    if drawn and set(drawn) <= set(leaning):
        return f"{first}: interactions and curved relations are the first to be lost."
    words = f"{first}: weak effects, interactions and curved relations are the first to be lost."
    if leaning:
        words += f" Weak linear effects on {_owners(facts, leaning)} were kept: see there (tilted)."
    return words


def _owners(facts: Facts, names: Iterable[str]) -> str:
    """Name variables; columns of one variable over time by its name."""
    owner = {step.variable: step.of or step.variable for step in facts.steps}
    return listed(list(dict.fromkeys(owner[name] for name in names)))
