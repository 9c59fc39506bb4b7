"""How the variables of a release were made, in words that a researcher understands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthesizer.data.schema import Kind
from synthesizer.release.evolved import number_words, value_words
from synthesizer.release.facts import Facts, StepFacts, VariableFacts
from synthesizer.release.imposed import is_public, rules_for
from synthesizer.release.trees import TILTED

__all__ = ["made", "unmodelled"]

MODELS: Mapping[str, str] = {
    "cart": "a {tree} tree",
    "forest": "a random forest of {tree} trees",
    "bagging": "a set of {tree} trees grown on bootstrap samples",
    "logistic": "a logistic regression",
    "multinomial": "a multinomial logistic regression",
    "ordinal": "a proportional odds regression",
    "normal": "a linear regression with normal residuals",
    "lognormal": "a linear regression of its logarithm",
    "normrank": "a linear regression of its ranks (normal scores)",
    "pmm": "predictive mean matching",
    "sample": "draws from its own distribution",
    "career": "a model of whole careers (number, lengths and states of their spells)",
    "lag_one": "a model of each period's value given the person's value before it",
    "time_invariant": "a model of one value a person",
    "mostly_constant": "a model of whether a person's value ever changes, and of the values",
    "monotone": "a model of values that most persons only ever raise",
    "advance": "a model of the first value, which then advances with time",
    "each_period": "a model of each period by itself",
    "nominal": "copies from records that agree on named variables",
    "grouped": "a model of its own for each group of records",
}
"""What the package's own models are; others are told by their name."""

FEW = 6
"""So many predictors are named in the sentence; the list beside it names all."""


def made(
    name: str,
    step: StepFacts | None,
    known: VariableFacts,
    facts: Facts,
    *,
    has_missing: bool,
    is_tilted: bool = False,
) -> dict[str, Any]:
    """Return how a variable was made: how, words, model, base, predictors and options.

    Parameters
    ----------
    name : str
        The variable.
    step : StepFacts or None
        Its part of the chain; None for an identifier.
    known, facts : VariableFacts, Facts
        What may be told of the variable and of the run.
    has_missing : bool
        Whether missing codes are known to the reader: they occur, or the configuration lists them.
    is_tilted : bool
        Whether its draws from trees were tilted.
    """
    if step is None and name == facts.time and name:
        return _time(facts)
    if step is None:
        return _unmade("numbered", _numbered(name, facts))
    evolution = facts.evolution
    changed = "" if evolution is None else value_words(evolution, has_missing=has_missing)
    if not facts.is_modelled:
        return _unmade("evolved", changed)
    how, words = _how(step, known, facts)
    tilt = f"Draws from its trees were tilted: they {TILTED}." if is_tilted else ""
    missing = _missing_words(step, known) if has_missing and how == "drawn" else ""
    models = [step.model, *step.bases]
    options = {key: v for model in models for key, v in facts.model_options.get(model, {}).items()}
    rules = rules_for(step.of or name, facts)
    return {
        "how": how,
        "words": " ".join(filter(None, [words, tilt, missing, changed, *rules])),
        "model": step.model,
        "base": list(step.bases),
        "predictors": list(step.predictors),
        "options": {**options, **known.options} if step.model in MODELS else {},
    }


def _unmade(how: str, words: str, predictors: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the entry of a column that no model made."""
    return {
        "how": how, "words": words, "model": None, "base": [], "predictors": list(predictors),
        "options": {},
    }  # fmt: skip


def _numbered(name: str, facts: Facts) -> str:
    if not facts.is_modelled:
        return number_words()
    if name != facts.person:
        return (
            "Numbered anew, in the format of the original: the numbers have no meaning and lead to "
            "no person, here or in other files."
        )
    return (
        "Rows with the same number belong to one synthetic person. Persons were numbered anew, "
        "in the format of the original: that a number occurs in another file too is a "
        "coincidence, and it leads to no person, here or there."
    )


def _time(facts: Facts) -> dict[str, Any]:
    """Return how the column of time was made, which the careers tell."""
    which = f" ({facts.career})" if facts.career else ""
    words = (
        f"Follows from the careers{which}: a person has a row in each period in which the drawn "
        "career has the person present."
    )
    return _unmade("derived", words, (facts.career,) if facts.career else ())


def _how(step: StepFacts, known: VariableFacts, facts: Facts) -> tuple[str, str]:
    if step.kept:
        return "kept", (
            "Copied from the confidential data, record by record: these are real values, not "
            "synthetic ones."
        )
    if step.model == "derived":
        text = f" as {known.expression}" if is_public(known.expression, facts) else ""
        inputs = "" if text else f" from {_names(step, facts)}"
        return "derived", f"Computed{text}{inputs} in every synthetic record, not drawn."
    if step.model == "constant":
        return "constant", "The same value in every record, set by the data holder."
    if step.model == "sample" or not step.predictors:
        how = "independent" if step.model == "sample" else "drawn"
        by = "" if step.model in ("sample", "cart") else f" by {_models(step, known.kind)}"
        first = step is facts.steps[0]
        why = "it was made first" if first else "without regard to variables made before it"
        return how, f"Drawn{by} from its own distribution{';' if first else ','} {why}."
    return "drawn", f"Drawn by {_models(step, known.kind)} from {_names(step, facts)}."


def _models(step: StepFacts, kind: Kind) -> str:
    """Name the model, and those that it wraps."""
    inside = f" (made of {', with '.join(_model(m, kind) for m in step.bases)})"
    return _model(step.model, kind) + (inside if step.bases else "")


def _model(model: str, kind: Kind) -> str:
    tree = "classification" if kind.is_coded else "regression"
    words = MODELS.get(model)
    if words is None:
        return f"the model {model!r} (an extension that is no part of the synthesizer package)"
    return words.format(tree=tree)


def _names(step: StepFacts, facts: Facts) -> str:
    predictors = step.predictors
    if len(predictors) <= FEW:
        return ", ".join(predictors) or "other variables"
    order = [other.variable for other in facts.steps]
    earlier = order[: order.index(step.variable)]
    if set(predictors) == set(earlier):
        return f"the {len(earlier)} variables that were made before it"
    return f"{len(predictors)} of the variables that were made before it"


def _missing_words(step: StepFacts, known: VariableFacts) -> str:
    if known.kind.is_coded:
        return "Missing codes were drawn like levels."
    by = step.missing_model or step.model
    kind = Kind.CATEGORICAL  # whether and how a value is missing is a category
    model = f" by {_model(by, kind)}" if by != "sample" else ""
    return f"Whether the value is missing, and with which code, was drawn first{model}."


def unmodelled(facts: Facts) -> dict[str, list[str]]:
    """Return, for each variable, those whose association with it was not modelled directly.

    Two variables are modelled together if the later one was drawn from the earlier one, if one of
    them tells the strata, or if both are copies. What is computed or constant is left out: its
    associations follow from its inputs. Where no model was fitted nothing was left out of one.

    Examples
    --------
    >>> from synthesizer.release.reading import facts_of
    >>> chain = [("a", []), ("b", ["a"]), ("c", ["b"])]
    >>> steps = [{"variable": n, "kind": "numeric", "model": "cart", "predictors": p}
    ...          for n, p in chain]
    >>> unmodelled(facts_of({"chain": steps}))
    {'a': ['c'], 'b': [], 'c': ['a']}
    """
    drawn = [step for step in facts.steps if step.model not in ("derived", "constant")]
    found: dict[str, list[str]] = {step.variable: [] for step in facts.steps}
    if not facts.is_modelled:
        return found
    for i, later in enumerate(drawn):
        given = {*later.predictors, *facts.strata}
        for earlier in drawn[:i]:
            both_kept = later.kept and earlier.kept
            if both_kept or earlier.variable in given or later.variable in facts.strata:
                continue
            found[later.variable].append(earlier.variable)
            found[earlier.variable].append(later.variable)
    return found
