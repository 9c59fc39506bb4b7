"""How the variables of a release were made, in words for researchers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from pydantic import Field

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.plugins import texts_of
from synthesizer.data.table import Kind
from synthesizer.data.values import finite_number
from synthesizer.data.yaml_text import packaged_yaml, parse_yaml
from synthesizer.measures.figure import Result, Row
from synthesizer.report.codebook.datasets import (
    IDENTIFIER,
    ColumnStep,
    Facts,
    Released,
    Seen,
    VariableFacts,
    listed,
)
from synthesizer.report.record import PublicPath, PublicRule


class Imposed(Result):
    """Rules that the data holder imposed on the synthetic records."""

    rules: tuple[str, ...]
    """Values that were set."""
    forbidden: tuple[str, ...]
    """Conditions that no record fulfils."""
    structural_zeros: tuple[str, ...]
    """Combinations that were restricted."""
    paths: tuple[str, ...]
    """Changes between periods that do not occur."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.rules, *self.forbidden, *self.structural_zeros, *self.paths)


class Level(Row):
    """A level of a variable, or a number with a label."""

    level: str
    label: str
    share: float | None
    """Of all records of all datasets; 0 for declared levels without records, null for labelled
    numbers."""


class Code(Row):
    """A missing code of a variable; "" is an empty cell."""

    code: str
    label: str
    share: float


class Range(Result):
    """Smallest and largest value: numbers or ISO dates."""

    low: int | float | str
    high: int | float | str


class Making(Result):
    """How a variable was made."""

    how: str
    """drawn, independent, kept, derived, constant, numbered, or whole (with the whole dataset)."""
    words: str
    model: str | None = None
    base: tuple[str, ...] = ()
    """Models inside it."""
    predictors: tuple[str, ...] = ()
    options: Mapping[str, Any] = Field(default_factory=dict)


class Described(Row):
    """A variable of the release."""

    name: str
    label: str
    """Empty without one, like ``unit``."""
    unit: str
    kind: Kind
    decimals: int | None
    """None: no fixed precision."""
    date_format: str | None
    range: Range | None
    levels: tuple[Level, ...]
    missing: tuple[Code, ...]
    made: Making
    not_modelled_with: tuple[str, ...]
    """Variables that were not modelled together with it."""


def imposed(facts: Facts) -> Imposed:
    """Return the rules that all records follow; empty if records were not drawn from models.

    Such records may break the rules, see `limits`.
    """
    return _imposed(facts) if facts.is_modelled else _NOTHING


_NOTHING = Imposed(rules=(), forbidden=(), structural_zeros=(), paths=())


def limits(facts: Facts) -> tuple[str, ...]:
    """Return the same sentences for records that may break the rules."""
    return _imposed(facts).sentences


def _imposed(facts: Facts) -> Imposed:
    config = facts.config
    in_periods = " in any period" if facts.wide else ""
    return Imposed(
        rules=(
            *(f"In all records: {text}." for text in facts.relations),
            *(
                f"If {rule.condition}, then {values}."
                for rule in _rules(facts)
                if rule.then
                for values in [" and ".join(f"{name} is {v}" for name, v in rule.then.items())]
            ),
        ),
        forbidden=(
            *(f"Always{in_periods}: {rule.always}." for rule in _rules(facts) if rule.always),
            *(
                f"No record has{in_periods}: {condition}."
                for condition in config.forbid
                if is_public(condition, facts)
            ),
        ),
        structural_zeros=tuple(_structural_zeros(facts)),
        paths=tuple(
            sentence
            for path in config.panel.rules
            if facts.knows([path.variable])
            for sentence in _path(path)
        ),
    )


def _structural_zeros(facts: Facts) -> Iterator[str]:
    limited = "were restricted to those that the data holder's setting allows"
    for names in facts.config.structural_zeros:
        if not isinstance(names, str) and names and facts.knows(names):
            yield f"Combinations of {listed(names)} {limited}."
    if "auto" in facts.config.structural_zeros:
        yield f"Combinations of two or three variables, most of which cannot occur, {limited}."


def is_public(expression: str, facts: Facts) -> bool:
    """Whether an expression is valid, and names released variables only."""
    try:
        return facts.knows(Expression.parse(expression).names)
    except SynthesizerError:
        return False


def _rules(facts: Facts) -> Iterator[PublicRule]:
    """Yield the rules that name released variables only."""
    for rule in facts.config.rules:
        if is_public(rule.always or rule.condition, facts) and facts.knows(rule.then.keys()):
            yield rule


def _path(path: PublicPath) -> Iterator[str]:
    """Yield sentences on changes from one row of a person to the next that do not occur."""
    states = path.absorbing
    if states:
        each = f"each of {listed(states, most=len(states))}" if len(states) > 1 else states[0]
        yield f"{path.variable}: {each} is final."
    for before, after in path.never:
        yield f"{path.variable}: {before} is never followed by {after}."
    if path.non_decreasing:
        yield f"{path.variable}: never decreases from one period to the next."


@cache
def sentences() -> dict[str, Any]:
    """Return the sentences of ``sentences.yaml`` by part.

    Extensions add a ``codebook.yaml``: cautions at the start, other sentences at the end.
    """
    parts = packaged_yaml("synthesizer.report.codebook", "sentences.yaml")
    for name, text in texts_of("codebook.yaml"):
        for part, added in parse_yaml(text, origin=f"codebook.yaml of {name!r}").items():
            present = parts.get(part)
            if isinstance(added, list) and isinstance(present, list):
                parts[part] = [*added, *present] if part == "cautions" else [*present, *added]
    return parts


def holds(when: str, facts: Mapping[str, Any]) -> bool:
    """Return whether all conditions are true: names of facts, some after "not", with commas.

    A missing fact is false, such as that of an extension without a part in the run.

    Examples
    --------
    >>> holds("kept, not several", {"kept": "age and sex", "several": False})
    True
    """
    names = when.split(", ") if when else []
    return all(bool(facts.get(n.removeprefix("not "))) != n.startswith("not ") for n in names)


def written_words(
    part: str | Sequence[str | Mapping[str, str]], facts: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the sentences of a part with true conditions, with their facts."""
    for entry in sentences()[part] if isinstance(part, str) else part:
        pairs = {"": entry} if isinstance(entry, str) else entry
        yield from (text.format_map(facts) for when, text in pairs.items() if holds(when, facts))


def of_trees(regressed: Sequence[str], *, others: bool, even: bool) -> dict[str, Any]:
    """Return facts on the trees of a release, and the assumptions of intervals (``narrow``).

    ``regressed`` are the variables with leaf regression.
    """
    named = {
        "trees": bool(regressed) or others,
        "leaf_regression": listed(regressed),
        "no_leaf_regression": others and ("Other trees" if regressed else "Trees"),
        "even": even,
    }
    return named | {"narrow": " ".join(written_words("narrow", named))}


_MAX_NAMES = 6
"""Predictors in a sentence; the list below has all."""


def with_leaf_regression(facts: Facts, released: Released) -> list[str]:
    """Return the columns whose trees have leaf regression."""
    return [
        name
        for name, trees in facts.trees.items()
        if trees.leaf_regression and name in released.variables
    ]


def making(
    name: str, step: ColumnStep | None, facts: Facts, *, has_missing: bool, leaf_regression: bool
) -> Making:
    """Return how a variable was made; ``step`` is None for variables outside the chain."""
    how = _how(name, step, facts)
    career = facts.career if how == "time" else ""
    named: dict[str, Any] = (
        facts.of_extensions
        | dict.fromkeys(_HOW, False)
        | {
            how: True,
            "modelled": facts.is_modelled,
            "is_person": name == facts.person,
            "unit": facts.unit,
            "of_career": f" ({career})" if career else "",
            "has_missing": has_missing,
            "leaf_regression": leaf_regression,
            "drawn_after": name in facts.drawn_after,
            **dict.fromkeys(("alone", "given"), False),
        }
    )
    shown: dict[str, Any] = {"predictors": (career,) if career else ()}
    parts = []
    if step is not None and how != "whole":
        named |= _of_step(step, facts, how)
        parts = [
            f"If {rule.condition}, it is set to {rule.then[step.of]}."
            for rule in _rules(facts)
            if step.of in rule.then
        ]
        shown = {key: getattr(step, key) for key in ("model", "base", "predictors", "options")}
    words = " ".join([*written_words("variable", named), *parts])
    return Making(how=_HOW[how], words=words, **shown)


_HOW = {"time": "derived", "label": "constant"} | {
    how: how for how in ("drawn", "independent", "kept", "derived", "constant", "numbered", "whole")
}
"""How variables are made, by the name in the sentences."""


def _how(name: str, step: ColumnStep | None, facts: Facts) -> str:
    if step is None and name == facts.time and name:
        return "time"
    if step is None:
        return "label" if name in facts.config.after.label else "numbered"
    if step.model == facts.maker:
        return "whole"
    if step.kept:
        return "kept"
    others = {"derived": "derived", "constant": "constant", "sample": "independent"}
    return others.get(step.model, "drawn")


def _of_step(step: ColumnStep, facts: Facts, how: str) -> dict[str, Any]:
    """Return the facts of a step: models and predictors in words."""
    variable = facts.variables[step.variable]
    is_drawn = how in ("drawn", "independent")
    is_alone = how == "independent" or not (step.predictors or step.closest)
    by = step.model_of_missing_codes or step.model
    return {
        "alone": is_drawn and is_alone,
        "given": is_drawn and not is_alone,
        "is_first": step is facts.steps[0],
        "by": "" if step.model in ("sample", "cart") else f" by {_models(step)}",
        "models": _models(step),
        "inputs": _inputs(step, facts),
        "expression": variable.expression if is_public(variable.expression, facts) else "",
        "is_coded": variable.kind.is_coded,
        "by_missing": "" if by == "sample" else f" by {_model(by, step.missing_in_words)}",
    }


def _models(step: ColumnStep) -> str:
    """Return the model, and those inside it, in words."""
    names = [step.model, *step.base]
    words = [*step.in_words, *[""] * len(names)]
    outer, *inside = (_model(name, one) for name, one in zip(names, words, strict=False))
    return outer + (f" (made of {', with '.join(inside)})" if inside else "")


def _model(name: str, in_words: str | None) -> str:
    """Return the words of a model; for models of other packages the name."""
    return in_words or (f"the model {name!r} (of an extension of the synthesizer package)")


def _inputs(step: ColumnStep, facts: Facts) -> str:
    predictors = step.predictors
    if len(predictors) <= _MAX_NAMES and step.closest is None:
        return ", ".join(predictors) or "other variables"
    order = [earlier_step.variable for earlier_step in facts.steps]
    earlier = order[: order.index(step.variable)]
    if step.closest is not None:
        return (
            f"the {step.closest} most closely associated of the {len(earlier)} earlier variables; "
            "relations with the others are preserved as far as they follow from these"
        )
    if set(predictors) == set(earlier):
        return f"all {len(earlier)} earlier variables"
    return f"{len(predictors)} of the earlier variables"


def unmodelled(facts: Facts) -> dict[str, list[str]]:
    """Return, for each variable, those that were not modelled together with it.

    Two variables are modelled together if the later one was drawn from the earlier one, if one of
    them is a stratum, or if both are copies. Computed and constant variables are left out, since
    their associations follow from their inputs; so are datasets without fitted models.
    """
    drawn = [step for step in facts.steps if step.model not in ("derived", "constant")]
    apart: dict[str, list[str]] = {step.variable: [] for step in facts.steps}
    for i, later in enumerate(drawn):
        if not facts.is_modelled and later.variable not in facts.drawn_after:
            continue
        conditions = {*later.predictors, *facts.strata}
        for earlier in drawn[:i]:
            both_kept = later.kept and earlier.kept
            if (
                later.closest
                or both_kept
                or earlier.variable in conditions
                or later.variable in facts.strata
            ):
                continue
            apart[later.variable].append(earlier.variable)
            apart[earlier.variable].append(later.variable)
    return apart


def described(released: Released, facts: Facts) -> Iterator[Described]:
    """Yield the codebook's entry of each variable, in file order."""
    rows, apart = sum(released.rows), unmodelled(facts)
    regressed = with_leaf_regression(facts, released)
    steps = {step.variable: step for step in facts.steps}
    for name, seen in released.variables.items():
        variable = _as_written(facts.variables.get(name, IDENTIFIER), seen)
        codes = tuple(_missing(seen, variable, rows))
        yield Described(
            name=name,
            label=variable.declared.label,
            unit=variable.declared.unit,
            kind=seen.kind,
            decimals=seen.decimals,
            date_format=seen.date_format,
            range=_range(seen),
            levels=tuple(_levels(seen, variable, rows, {code.code for code in codes})),
            missing=codes,
            made=making(
                name,
                steps.get(name),
                facts,
                has_missing=bool(codes),
                leaf_regression=name in regressed,
            ),
            not_modelled_with=tuple(apart.get(name, ())),
        )


def _as_written(variable: VariableFacts, seen: Seen) -> VariableFacts:
    """Return the facts with codes and labels of a labelled file.

    Such a file may have the missing code 98 as .a, and no labels for texts.
    """
    about = seen.labelling
    if about is None:
        return variable
    declared = variable.declared
    changed: dict[str, Any] = {"label": declared.label or about.label}
    if not about.is_text:
        changed |= {"level_labels": about.labels, "missing": about.missing}
    return replace(variable, declared=declared.model_copy(update=changed))


def _range(seen: Seen) -> Range | None:
    if seen.low is None or seen.high is None:
        return None
    if seen.kind is Kind.DATE:
        unit = "D" if seen.decimals == 0 else "s"
        seconds = [round(day * 86_400) for day in (seen.low, seen.high)]
        low, high = (str(np.datetime64(s, "s").astype(f"datetime64[{unit}]")) for s in seconds)
        return Range(low=low, high=high)
    if seen.decimals == 0:
        return Range(low=int(seen.low), high=int(seen.high))
    return Range(low=seen.low, high=seen.high)


def _levels(seen: Seen, variable: VariableFacts, rows: int, missing: set[str]) -> Iterator[Level]:
    """Yield the levels that occur, in the order of the configuration; all of a public list."""
    labels = variable.declared.level_labels
    labelled = [level for level in labels if level not in missing]
    if not seen.kind.is_coded:
        named = labelled if seen.kind in (Kind.NUMERIC, Kind.DATE) else []
        yield from (Level(level=level, label=labels[level], share=None) for level in named)
        return
    others = {*seen.levels, *labelled} - {*variable.declared.levels}
    listed = variable.declared.levels if variable.declared.public else seen.levels
    order = [x for x in variable.declared.levels if x not in missing and x in listed]
    for level in (*order, *_sorted(others)):
        share = seen.levels.get(level, 0) / rows
        yield Level(level=level, label=labels.get(level, ""), share=share)


def _missing(seen: Seen, variable: VariableFacts, rows: int) -> Iterator[Code]:
    """Yield the codes that occur, and declared codes that do not."""
    numeric = {finite_number(code) for code in seen.missing} - {None}
    declared = [
        code
        for code in variable.declared.missing
        if code in seen.missing
        or seen.kind.is_coded
        or (finite_number(code) is not None and finite_number(code) not in numeric)
    ]
    for code in dict.fromkeys([*declared, *_sorted(seen.missing)]):
        label = variable.declared.level_labels.get(code, "")
        yield Code(code=code, label=label, share=seen.missing.get(code, 0) / rows)


def _sorted(texts: Iterable[str]) -> list[str]:
    """Return numbers by size, before words by alphabet."""
    return sorted(texts, key=lambda t: (finite_number(t) is None, finite_number(t) or 0.0, t))
