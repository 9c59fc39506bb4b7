"""How the variables of a release were made, in words that a researcher understands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Kind
from synthesizer.report.codebook.datasets import IDENTIFIER, Released, Seen
from synthesizer.report.codebook.facts import (
    Evolution,
    Facts,
    PathFacts,
    StepFacts,
    VariableFacts,
    listed,
    tilts,
)

# What the data holder imposed on every synthetic record, in sentences.


def imposed(facts: Facts) -> dict[str, list[str]]:
    """Return sentences: ``rules`` that set values, ``forbidden``, ``support`` and ``paths``.

    All are empty where datasets were evolved from records that no model drew: these may break
    them, see `limits`.

    Examples
    --------
    >>> from synthesizer.report.codebook.facts import facts_of
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
    >>> from synthesizer.report.codebook.facts import facts_of
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


# How evolved datasets were made, in words that a researcher understands.

BEGINNINGS: Mapping[str, str] = {
    "mutants": (
        "The datasets were evolved from the confidential data by a genetic algorithm; no model was "
        "fitted. A whole population of datasets began as versions of the confidential data, in "
        "each of which some values had been drawn anew."
    ),
    "files": (
        "The datasets were evolved by a genetic algorithm; no model was fitted here. A whole "
        "population of datasets began as files that the data holder chose, and as versions of "
        "them. How these files were made is not told here: ask the data holder."
    ),
    "chain": (
        "Then the datasets were evolved by a genetic algorithm. A whole population of datasets had "
        "been drawn as told above."
    ),
}
SELECTED = (
    "Datasets were selected by how close their tables are to those of the confidential data, and "
    "by how low their disclosure risk is. Each dataset of this release is one that was selected in "
    "the end."
)
ENDS: Mapping[str, str] = {
    "mutants": (
        "So a record is one of the confidential data as it is, unless something in it was changed "
        "or another record took its place. Usually most records are unchanged; which ones is not "
        "told. These are perturbed data rather than draws from a model."
    ),
    "files": (
        "Whether records are those of real persons depends on the files that the datasets began as."
    ),
    "chain": (
        "So it can be closer to the confidential data than a fresh draw from the models would be."
    ),
}
ORIGINS: Mapping[str, str] = {
    "mutants": "the confidential data",
    "files": "the files that the datasets began as",
}


def evolution_words(facts: Facts) -> Iterator[str]:
    """Yield paragraphs on how whole datasets were evolved; none where they were not."""
    evolution = facts.evolution
    if evolution is None:
        return
    yield BEGINNINGS[evolution.start]
    moves = listed([*_moves(evolution)])
    changes = f"From one generation to the next {moves}. " if moves else ""
    yield f"{changes}{SELECTED}"
    yield ENDS[evolution.start]
    if not facts.is_modelled and (rules := limits(facts)):
        yield (
            "A value was not changed, and a record not replaced, where the new record would have "
            "broken a rule of the data holder; records that broke one from the beginning were "
            f"replaced by others. The rules: {' '.join(rules)}"
        )


def _moves(evolution: Evolution) -> Iterator[str]:
    if evolution.swapped:
        yield "pairs of datasets swapped whole records"
    if evolution.redrawn:
        yield "single values were drawn anew"
    if evolution.replaced:
        yield "records that carried a disclosure risk were replaced by others of the same dataset"


def value_words(evolution: Evolution, *, has_missing: bool) -> str:
    """Return how the values of a variable were made.

    Parameters
    ----------
    evolution : Evolution
        How whole datasets were evolved.
    has_missing : bool
        Whether missing codes are known to the reader.

    Examples
    --------
    >>> value_words(Evolution(start="chain"), has_missing=False)
    'Afterwards, when whole datasets were evolved, single values were drawn anew.'
    """
    if evolution.start == "chain":
        again = "Afterwards, when whole datasets were evolved, single values were drawn anew."
        return again if evolution.redrawn else ""
    missing = " Missing codes were treated like levels." if has_missing else ""
    redrawn = evolution.redrawn or evolution.start == "mutants"
    single = "single ones that were drawn anew, and for " if redrawn else ""
    return (
        f"The values of {ORIGINS[evolution.start]}, but for {single}those that changed with their "
        f"whole record. No model was fitted.{missing}"
    )


def number_words() -> str:
    """Return what the numbers of an identifier are, where records may be those of real persons."""
    return (
        "Running numbers in the format of the original, given anew. Do not look for a number in "
        "other files: the record beside it may be that of a real person."
    )


# What the trees of a run do to relations and to intervals, in words for researchers.

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
    rules = rules_for(step.of or name, facts)
    return {
        "how": how,
        "words": " ".join(filter(None, [words, tilt, missing, changed, *rules])),
        "model": step.model,
        "base": list(step.bases),
        "predictors": list(step.predictors),
        "options": dict(step.options),
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
    names = [step.model, *step.bases]
    words = [*step.in_words, *[""] * len(names)]
    outer, *inside = (_model(name, own, kind) for name, own in zip(names, words, strict=False))
    return outer + (f" (made of {', with '.join(inside)})" if inside else "")


def _model(name: str, in_words: str, kind: Kind) -> str:
    """Call a model as it calls itself; one of another package has its name only."""
    if not in_words:
        return f"the model {name!r} (an extension that is no part of the synthesizer package)"
    return in_words.format(tree="classification" if kind.is_coded else "regression")


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
    is_another = by != step.model
    words = step.missing_in_words if is_another else next(iter(step.in_words), "")
    # whether and how a value is missing is a category
    model = f" by {_model(by, words, Kind.CATEGORICAL)}" if by != "sample" else ""
    return f"Whether the value is missing, and with which code, was drawn first{model}."


def unmodelled(facts: Facts) -> dict[str, list[str]]:
    """Return, for each variable, those whose association with it was not modelled directly.

    Two variables are modelled together if the later one was drawn from the earlier one, if one of
    them tells the strata, or if both are copies. What is computed or constant is left out: its
    associations follow from its inputs. Where no model was fitted nothing was left out of one.

    Examples
    --------
    >>> from synthesizer.report.codebook.facts import facts_of
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


# The variables of a release as entries of its codebook: values, levels, missing codes.


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
