"""Which combining rule is for which synthetic data, and why another one does not apply.

=========  ======================================  ==============================================
rule       for data whose                          because the rule adds to the original's error
=========  ======================================  ==============================================
simple     values are all drawn, parameters fixed  sampling of the synthetic records
proper     values are all drawn, parameters drawn  that, and the parameters' own spread
           anew for each dataset
fully      as proper, with many datasets           what the datasets show between them, from which
                                                   it takes the original's error too
partially  values are drawn in part, or as many    what the datasets show between them
           records as in the original
=========  ======================================  ==============================================

``partially`` needs no parameters drawn anew (Reiter and Kinney 2012, Inferentially valid, partially
synthetic data: generating from posterior predictive distributions not necessary, JOS 28(4)), and
holds where nothing was kept as long as there are as many records as in the original.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, get_args

__all__ = ["Rule", "kind_problems", "rule_for", "rule_problems"]

Rule = Literal["fully", "partially", "simple", "proper"]


def rule_for(*, proper: bool, keeps: bool) -> Rule:
    """Return the rule for data of a kind; it applies to one dataset unless something was kept.

    Parameters
    ----------
    proper : bool
        Whether parameters were drawn anew for each dataset (from their posterior distribution, or
        by a refit to a bootstrap sample).
    keeps : bool
        Whether some values are the original's own (partial synthesis).

    Examples
    --------
    >>> rule_for(proper=False, keeps=False), rule_for(proper=False, keeps=True)
    ('simple', 'partially')
    """
    if keeps:
        return "partially"
    return "proper" if proper else "simple"


def kind_problems(rule: Rule, *, proper: bool, keeps: bool) -> list[str]:
    """Return why a rule does not fit data of a kind, in plain words; empty where it does.

    Parameters
    ----------
    rule : str
        The rule that was asked for.
    proper, keeps : bool
        The kind of synthesis, as in `rule_for`.

    Examples
    --------
    >>> kind_problems("fully", proper=True, keeps=False)
    []
    >>> kind_problems("simple", proper=True, keeps=False)[0][:70]
    "rule 'simple' is for data drawn with fixed parameters, and these were "
    """
    best = rule_for(proper=proper, keeps=keeps)
    if keeps and rule != "partially":
        return [
            f"rule '{rule}' is for data in which every value is synthetic, and these keep original "
            "values: its intervals would be of the wrong width; use rule 'partially'"
        ]
    if rule in ("fully", "proper") and not proper:
        return [
            f"rule '{rule}' is for data whose parameters were drawn anew for each dataset, and "
            f"these were fixed (proper: false): use rule '{best}', or synthesise with proper: true"
        ]
    if rule == "simple" and proper:
        return [
            "rule 'simple' is for data drawn with fixed parameters, and these were drawn anew for "
            f"each dataset (proper: true), so that its intervals would be too narrow: use rule "
            f"'{best}'"
        ]
    return []


def rule_problems(
    rule: str, m: int, *, n: float | None = None, k: float | None = None, level: float = 0.95
) -> Iterator[str]:
    """Yield why a rule does not apply to m datasets of k records from n original ones.

    Examples
    --------
    >>> [problem[:55] for problem in rule_problems("fully", 1)]
    ["rule 'fully' needs at least two synthetic datasets, the"]
    """
    if rule not in get_args(Rule):
        yield f"rule ({rule!r}) must be one of {', '.join(get_args(Rule))}"
    if rule in ("fully", "partially") and m == 1:
        yield (
            f"rule '{rule}' needs at least two synthetic datasets, there is one: generate more, "
            "or use rule 'simple' if all values were drawn with fixed parameters, 'proper' if "
            "with parameters drawn anew"
        )
    if not 0 < level < 1:
        yield f"level ({level}) must be between 0 and 1"
    for name, value in (("n", n), ("k", k)):
        if value is not None and not 0 < value < math.inf:
            yield f"{name} ({value}) must be a positive number of records"
    if rule in ("simple", "proper") and (n is None or k is None):
        yield (
            f"rule '{rule}' needs n, the number of original records, and k, the number of records "
            "of each synthetic dataset: give both"
        )
    if rule == "partially" and n is not None and k is not None and n != k:
        yield (
            f"rule 'partially' is for datasets with as many records as the original, not {k:g} "
            f"from {n:g}: use 'fully', 'simple' or 'proper', as the data were made"
        )
