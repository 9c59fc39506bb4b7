"""How the variables of a release were made, in words that a researcher understands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Kind
from synthesizer.data.values import finite_number
from synthesizer.measures.figure import Result, Row
from synthesizer.report.codebook.datasets import IDENTIFIER, Released, Seen
from synthesizer.report.codebook.facts import ColumnStep, Facts, VariableFacts, listed
from synthesizer.report.record import PublicPath, PublicRule


class Imposed(Result):
    """Sentences on what the data holder imposed on the synthetic records."""

    rules: tuple[str, ...]
    """Values that were set."""
    forbidden: tuple[str, ...]
    """Conditions that no record fulfils."""
    support: tuple[str, ...]
    """Combinations that were limited."""
    paths: tuple[str, ...]
    """What no person does from period to period."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.rules, *self.forbidden, *self.support, *self.paths)


class Level(Row):
    """A level of a variable, or a number with a label."""

    level: str
    label: str
    share: float | None
    """Of all records of all datasets; 0 for what the configuration lists and no record has, null
    for labelled numbers."""


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
    """drawn, independent, kept, derived, constant, numbered or evolved."""
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
    """Empty where the configuration has none, as ``unit``."""
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
    """Variables whose association with it was not modelled directly."""


def imposed(facts: Facts) -> Imposed:
    """Return what was imposed on every record.

    Nothing where datasets were evolved from records that no model drew: these may break the rules,
    which only limited what the evolution may change, see `limits`.
    """
    return _imposed(facts) if facts.is_modelled else _NOTHING


_NOTHING = Imposed(rules=(), forbidden=(), support=(), paths=())


def limits(facts: Facts) -> tuple[str, ...]:
    """Return the same sentences as limits of what an evolution may change."""
    return _imposed(facts).sentences


def _imposed(facts: Facts) -> Imposed:
    config = facts.config
    in_periods = " in any period" if facts.wide else ""
    return Imposed(
        rules=tuple(
            f"If {rule.condition}, then {values}."
            for rule in _rules(facts)
            if rule.then
            for values in [" and ".join(f"{name} is {v}" for name, v in rule.then.items())]
        ),
        forbidden=(
            *(f"Always{in_periods}: {rule.always}." for rule in _rules(facts) if rule.always),
            *(
                f"No record has{in_periods}: {condition}."
                for condition in config.forbid
                if is_public(condition, facts)
            ),
        ),
        support=tuple(_support(facts)),
        paths=tuple(
            sentence
            for path in config.panel.rules
            if facts.knows([path.variable])
            for sentence in _path(path)
        ),
    )


def _support(facts: Facts) -> Iterator[str]:
    limited = "were limited: others than those that the data holder's setting allows were not drawn"
    for names in facts.config.support:
        if not isinstance(names, str) and names and facts.knows(names):
            yield f"Combinations of {listed(names)} {limited}."
    if "auto" in facts.config.support:
        yield f"Combinations of two or three variables of which most cannot occur {limited}."


def is_public(expression: str, facts: Facts) -> bool:
    """Whether an expression can be read, and names released variables only."""
    try:
        return facts.knows(Expression.parse(expression).names)
    except SynthesizerError:
        return False


def _rules(facts: Facts) -> Iterator[PublicRule]:
    """Yield the rules that speak of released variables only."""
    for rule in facts.config.rules:
        if is_public(rule.always or rule.condition, facts) and facts.knows(rule.then.keys()):
            yield rule


def _path(path: PublicPath) -> Iterator[str]:
    """Yield what does not happen from one row of a person to the next."""
    states = path.absorbing
    if states:
        each = f"each of {listed(states, most=len(states))}" if len(states) > 1 else states[0]
        yield f"{path.variable}: {each} is never left again."
    for before, after in path.never:
        yield f"{path.variable}: {before} is never followed by {after}."
    if path.non_decreasing:
        yield f"{path.variable}: never falls from one period to the next."


_BEGINNINGS: Mapping[str, str] = {
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
_SELECTED = (
    "Datasets were selected by how close their tables are to those of the confidential data, and "
    "by how low their disclosure risk is. Each dataset of this release is one that was selected in "
    "the end."
)
_ENDS: Mapping[str, str] = {
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


def synthesis_words(facts: Facts) -> Iterator[str]:
    """Yield paragraphs on how the datasets as a whole were made."""
    if (rare := facts.config.rare) is not None:
        became = (
            "a missing code"
            if rare.to == "missing"
            else f"'{rare.to}', or, where levels have an order, one with the level beside them"
        )
        yield (
            f"Levels that fewer than {rare.min_count} confidential records, or persons, have were "
            f"taken out first: they became {became}."
        )
    if facts.is_modelled:
        yield from _chain_words(facts)
    if facts.start is not None:
        yield from _evolution_words(facts, facts.start)


def _chain_words(facts: Facts) -> Iterator[str]:
    yield (
        "The variables were made one after the other. For each one a model was fitted to the "
        "confidential data that tells it from variables before it; then values were drawn from "
        "that model, given the synthetic values so far."
    )
    if kept := facts.kept:
        yield (
            f"Partial synthesis: {listed(kept)} {'is' if len(kept) == 1 else 'are'} copied from "
            "the confidential data. The other variables are synthetic."
        )
    if facts.strata:
        each = "Every combination" if len(facts.strata) > 1 else "Every value"
        yield f"{each} of {listed(facts.strata)} had models of its own."
    if any(trees.even for trees in facts.trees.values()):
        yield (
            "Draws from trees were even: spread over the records of a leaf instead of drawn "
            "independently. This removes chance, so that the datasets vary less than independent "
            "draws would."
        )
    if facts.is_redrawn:
        yield (
            "For every dataset a sample was drawn anew by the design of the survey, as if all "
            "persons had had the same chance, and the models were fitted to it."
        )
        return
    yield (
        "For every dataset the models were fitted anew, on a bootstrap sample of the confidential "
        "records (proper synthesis)."
        if facts.config.proper
        else "All datasets were drawn from the same fitted models (no proper synthesis)."
    )


def _evolution_words(facts: Facts, start: str) -> Iterator[str]:
    after = facts.drawn_after
    begun, end = _BEGINNINGS[start], _ENDS[start]
    if after:
        begun = begun.replace("no model was fitted", "no model was fitted for its categories")
        end = end.replace("So a record is", "So in its categories a record is")
    yield begun
    moves = listed([*_moves(facts)])
    changes = f"From one generation to the next {moves}. " if moves else ""
    yield f"{changes}{_SELECTED}"
    yield end
    if after:
        yield (
            f"{listed(after, most=len(after))} did not evolve: models that were fitted to the "
            "confidential data drew the values in the end, given the categories of each record."
        )
    if not facts.is_modelled and (rules := limits(facts)):
        yield (
            "A value was not changed, and a record not replaced, where the new record would have "
            "broken a rule of the data holder; records that broke one from the beginning were "
            f"replaced by others. The rules: {' '.join(rules)}"
        )


def _moves(facts: Facts) -> Iterator[str]:
    moves = facts.config.genetic
    if moves.crossover != 0:
        yield "pairs of datasets swapped whole records"
    if moves.mutation != 0:
        yield "single values were drawn anew"
    if moves.aimed != 0:
        yield "records that carried a disclosure risk were replaced by others of the same dataset"


TILTED = "follow a regression that all records fit together"
"""What tilted draws do."""
_FEW = 6
"""So many predictors are named in the sentence; the list beside it names all."""


def tilted(facts: Facts, released: Released) -> list[str]:
    """Return the columns whose draws from trees were tilted."""
    return [
        name for name, trees in facts.trees.items() if trees.tilt and name in released.variables
    ]


def making(
    name: str, step: ColumnStep | None, facts: Facts, *, has_missing: bool, is_tilted: bool
) -> Making:
    """Return how a variable was made; ``step`` is None for what takes no part in the chain."""
    if step is None:
        return _unmodelled(name, facts)
    after = name in facts.drawn_after
    if not facts.is_modelled and not after:
        return Making(how="evolved", words=_evolved(facts, has_missing=has_missing))
    variable = facts.variables[name]
    how, words = _how(step, variable, facts)
    parts = [words]
    if is_tilted:
        parts.append(f"Draws from its trees were tilted: they {TILTED}.")
    if has_missing and how == "drawn":
        parts.append(_missing_words(step, variable))
    if after:
        parts.append("This happened in the end, given the categories that had evolved.")
    elif facts.start is not None and facts.config.genetic.mutation != 0:
        parts.append("Afterwards, when whole datasets were evolved, single values were drawn anew.")
    for rule in _rules(facts):
        if step.of in rule.then:
            parts.append(f"Where {rule.condition}, it is set to {rule.then[step.of]}.")
    return Making(
        how=how,
        words=" ".join(parts),
        model=step.model,
        base=step.base,
        predictors=step.predictors,
        options=step.options,
    )


def _unmodelled(name: str, facts: Facts) -> Making:
    """Return how a variable that takes no part in the chain was made."""
    if name == facts.time and name:
        return _time(facts)
    if name in facts.config.after.label:
        return Making(how="constant", words="Says in every record that the data are synthetic.")
    return Making(how="numbered", words=_numbered(name, facts))


def _evolved(facts: Facts, *, has_missing: bool) -> str:
    """Return how values were made where no model drew them."""
    mutants = facts.start == "mutants"
    redrawn = mutants or facts.config.genetic.mutation != 0
    origin = "the confidential data" if mutants else "the files that the datasets began as"
    single = "single ones that were drawn anew, and for " if redrawn else ""
    missing = " Missing codes were treated like levels." if has_missing else ""
    return (
        f"The values of {origin}, but for {single}those that changed with their whole record. No "
        f"model was fitted.{missing}"
    )


def _numbered(name: str, facts: Facts) -> str:
    if not facts.is_modelled:
        return (
            "Running numbers in the format of the original, given anew. Do not look for a number "
            "in other files: the record beside it may be that of a real person."
        )
    if name != facts.person:
        return (
            "Numbered anew, in the format of the original: the numbers have no meaning and lead to "
            "no person, here or in other files."
        )
    return (
        f"Rows with the same number belong to one synthetic {facts.unit}. "
        f"{facts.unit.capitalize()}s were numbered anew, "
        "in the format of the original: that a number occurs in another file too is a "
        "coincidence, and it leads to no person, here or there."
    )


def _time(facts: Facts) -> Making:
    """Return how the column of time was made; its values come from the careers."""
    which = f" ({facts.career})" if facts.career else ""
    return Making(
        how="derived",
        words=f"Follows from the careers{which}: a person has a row in each period in which the "
        "drawn career has the person present.",
        predictors=(facts.career,) if facts.career else (),
    )


def _how(step: ColumnStep, variable: VariableFacts, facts: Facts) -> tuple[str, str]:
    if step.kept:
        return "kept", (
            "Copied from the confidential data, record by record: these are real values, not "
            "synthetic ones."
        )
    if step.model == "derived":
        expression = variable.expression
        source = (
            f"as {expression}" if is_public(expression, facts) else f"from {_inputs(step, facts)}"
        )
        return "derived", f"Computed {source} in every synthetic record, not drawn."
    if step.model == "constant":
        return "constant", "The same value in every record, set by the data holder."
    if step.model == "sample" or not (step.predictors or step.closest):
        how = "independent" if step.model == "sample" else "drawn"
        by = "" if step.model in ("sample", "cart") else f" by {_models(step)}"
        first = step is facts.steps[0]
        why = "it was made first" if first else "without regard to variables made before it"
        return how, f"Drawn{by} from its own distribution{';' if first else ','} {why}."
    return "drawn", f"Drawn by {_models(step)} from {_inputs(step, facts)}."


def _models(step: ColumnStep) -> str:
    """Name the model, and those that it wraps."""
    names = [step.model, *step.base]
    words = [*step.in_words, *[""] * len(names)]
    outer, *inside = (
        _model(name, words_of_model) for name, words_of_model in zip(names, words, strict=False)
    )
    return outer + (f" (made of {', with '.join(inside)})" if inside else "")


def _model(name: str, in_words: str | None) -> str:
    """Return a model's own words for itself; models of other packages have a name only."""
    return in_words or (
        f"the model {name!r} (an extension that is no part of the synthesizer package)"
    )


def _inputs(step: ColumnStep, facts: Facts) -> str:
    predictors = step.predictors
    if len(predictors) <= _FEW and step.closest is None:
        return ", ".join(predictors) or "other variables"
    order = [earlier_step.variable for earlier_step in facts.steps]
    earlier = order[: order.index(step.variable)]
    if step.closest is not None:
        return (
            f"the {step.closest} that go with it most closely, of the {len(earlier)} variables "
            "that were made before it; relations with the others are kept as far as these tell them"
        )
    if set(predictors) == set(earlier):
        return f"the {len(earlier)} variables that were made before it"
    return f"{len(predictors)} of the variables that were made before it"


def _missing_words(step: ColumnStep, variable: VariableFacts) -> str:
    if variable.kind.is_coded:
        return "Missing codes were drawn like levels."
    by = step.model_of_missing_codes or step.model
    model = "" if by == "sample" else f" by {_model(by, step.missing_in_words)}"
    return f"Whether the value is missing, and with which code, was drawn first{model}."


def unmodelled(facts: Facts) -> dict[str, list[str]]:
    """Return, for each variable, those whose association with it was not modelled directly.

    Two variables are modelled together if the later one was drawn from the earlier one, if one of
    them tells the strata, or if both are copies. What is computed or constant is left out: its
    associations follow from its inputs. Where no model was fitted nothing was left out of one.
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
    rows, apart, leaning = sum(released.rows), unmodelled(facts), tilted(facts, released)
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
                is_tilted=name in leaning,
            ),
            not_modelled_with=tuple(apart.get(name, ())),
        )


def _as_written(variable: VariableFacts, seen: Seen) -> VariableFacts:
    """Return the facts with codes and labels as a file of SPSS or Stata has them, where it is one.

    It may hold the missing code 98 as .a. Stata has no labels for texts: these are told here.
    """
    about = seen.labelling
    if about is None:
        return variable
    said = variable.declared
    changed: dict[str, Any] = {"label": said.label or about.label}
    if not about.is_text:
        changed |= {"level_labels": about.labels, "missing": about.missing}
    return replace(variable, declared=said.model_copy(update=changed))


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
    """Yield the levels that occur, in the order of the configuration; of a public list all."""
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
    """Yield the codes that occur, and those the configuration lists in another spelling too."""
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
    return sorted(
        texts, key=lambda text: (finite_number(text) is None, finite_number(text) or 0.0, text)
    )
