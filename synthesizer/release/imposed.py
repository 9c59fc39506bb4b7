"""What the data holder imposed on every synthetic record, in sentences.

Conditions and levels stand as the configuration has them. What names a variable that is not
released is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.data.expressions import Expression
from synthesizer.errors import SynthesizerError
from synthesizer.release.facts import Facts, PathFacts
from synthesizer.release.names import listed

__all__ = ["imposed", "is_public", "limits", "rules_for"]


def imposed(facts: Facts) -> dict[str, list[str]]:
    """Return sentences: ``rules`` that set values, ``forbidden``, ``support`` and ``paths``.

    All are empty where datasets were evolved from records that no model drew: these may break
    them, see `limits`.

    Examples
    --------
    >>> from synthesizer.release.reading import facts_of
    >>> chain = [{"variable": "grade", "kind": "categorical"}]
    >>> rule = {"variable": "grade", "absorbing": ["E"], "never": [["A", "C"]]}
    >>> config = {"forbid": ["grade == 'B'"], "panel": {"rules": [rule]}}
    >>> told = imposed(facts_of({"chain": chain, "config": config}))
    >>> told["forbidden"]
    ["No record has: grade == 'B'."]
    >>> told["paths"]
    ['grade: E is never left again.', 'grade: A is never followed by C.']
    """
    told = _sentences(facts)
    return told if facts.is_modelled else {kind: [] for kind in told}


def limits(facts: Facts) -> list[str]:
    """Return the same sentences as limits of what an evolution may change.

    Examples
    --------
    >>> from synthesizer.release.reading import facts_of
    >>> chain = [{"variable": "grade", "kind": "categorical"}]
    >>> manifest = {"chain": chain, "config": {"forbid": ["grade == 'B'"]}}
    >>> facts = facts_of({**manifest, "genetic": {"start": "mutants"}})
    >>> limits(facts), imposed(facts)["forbidden"]
    (["No record has: grade == 'B'."], [])
    """
    return [sentence for sentences in _sentences(facts).values() for sentence in sentences]


def _sentences(facts: Facts) -> dict[str, list[str]]:
    return {
        "rules": [
            f"If {condition}, then {' and '.join(f'{n} is {v}' for n, v in then.items())}."
            for condition, then in _rules(facts)
        ],
        "forbidden": [
            f"No record has{' in any period' if facts.wide else ''}: {condition}."
            for condition in facts.forbid
            if is_public(condition, facts)
        ],
        "support": [
            f"Combinations of {listed(names)} were limited: others than those that the data "
            "holder's setting allows were not drawn."
            for names in facts.support
            if names and facts.knows(names)
        ],
        "paths": [
            sentence
            for path in facts.paths
            if path.variable and facts.knows([path.variable])
            for sentence in _path(path)
        ],
    }


def rules_for(variable: str, facts: Facts) -> Iterator[str]:
    """Yield where a rule sets a variable, as sentences."""
    if not facts.is_modelled:
        return
    for condition, then in _rules(facts):
        if variable in then:
            yield f"Where {condition}, it is set to {then[variable]}."


def is_public(expression: str, facts: Facts) -> bool:
    """Whether an expression can be read, and names released variables only."""
    try:
        names: Any = Expression.parse(expression).names
    except SynthesizerError:
        return False
    return facts.knows(names)


def _rules(facts: Facts) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rules that speak of released variables only."""
    for condition, then in facts.rules:
        if is_public(condition, facts) and facts.knows(then.keys()):
            yield condition, then


def _path(path: PathFacts) -> Iterator[str]:
    """Yield what does not happen from one row of a person to the next."""
    states = path.absorbing
    if states:
        each = f"each of {listed(states, most=len(states))}" if len(states) > 1 else states[0]
        yield f"{path.variable}: {each} is never left again."
    for before, after in path.never:
        yield f"{path.variable}: {before} is never followed by {after}."
    if path.non_decreasing:
        yield f"{path.variable}: never falls from one period to the next."
