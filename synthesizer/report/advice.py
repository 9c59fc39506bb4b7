"""What is worst about datasets, and what to try: for the page and for the screen."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from synthesizer.data.errors import plural
from synthesizer.measures.verdict import HALVES, TITLES, Evidence, Subject, Verdict
from synthesizer.report.expected import expected_of, table_mark, tables_of
from synthesizer.report.page import joined, written
from synthesizer.report.record import Record, StepEntry

SUBJECTS = tuple(TITLES)
_CLEARLY = 1.5
"""Times the other's mean S_pMSE over its other pairs: the one that is off in general."""
_NAMED = 4
_TREES = ("cart", "forest", "bagging")


class Advice(NamedTuple):
    """What is not as it should be, and what to try; findings with one remedy are together."""

    remedy: str
    findings: tuple[tuple[Subject, Evidence], ...]
    """Tests and the lines of the verdict that they belong to, the gravest first."""

    @property
    def tests(self) -> str:
        """Names of the tests, each once."""
        names = dict.fromkeys(e.test for _, e in self.findings)
        return f"{'' if self.measured else 'not measured: '}{'; '.join(names)}"

    @property
    def measured(self) -> bool:
        """Whether the tests were made."""
        return self.findings[0][1].measured


def worst_things(
    verdict: Verdict, record: Record | None = None, *, subjects: Collection[Subject] = SUBJECTS
) -> list[Advice]:
    """Return the worst things about datasets with what to try, the gravest first.

    Parameters
    ----------
    verdict : Verdict
        Whose tests are not all safe; of a verdict that is nothing is worst.
    record : Record, optional
        How the datasets were made, which decides what helps; None of files that somebody else made.
    subjects : collection of str
        Lines of the verdict that are looked at.
    """
    by_remedy: dict[str, list[tuple[Subject, Evidence]]] = {}
    found = [(subject, e) for subject, e in verdict.findings if subject in subjects]
    for subject, e in found:
        if e.measured:
            by_remedy.setdefault(_remedy(subject, e, record), []).append((subject, e))
    missing = [(subject, e) for subject, e in found if not e.measured]
    of_files = record is None or record.of_files
    no_control = of_files and {*HALVES} <= {e.key for _, e in missing}
    halves = [(subject, e) for subject, e in missing if no_control and e.key in HALVES]
    if halves:
        by_remedy["name data that the synthesis never saw as control"] = halves
    if others := [item for item in missing if item not in halves]:
        by_remedy[f"turn on {', '.join(e.sentence for _, e in others)}"] = others
    return [Advice(remedy, tuple(findings)) for remedy, findings in by_remedy.items()]


def _remedy(subject: Subject, e: Evidence, record: Record | None) -> str:
    """Return what to try against a finding, by what made the datasets."""
    of_files = record is None or record.of_files
    if words := _of_test(e, of_files):
        return words
    if subject == "use":
        return _of_use(e, record)
    if record is None or of_files:
        return _of_file(subject)
    if e.key in _CAREERS:
        return f"a smaller theta of the model of careers; {_of_memory(record)}"
    narrower = ""
    if e.key == "differential_confidentiality" and e.word == "unclear":
        narrower = "more splits: checks: {differential_confidentiality: {repeats: 5}}; else "
    if e.key in _NEAR and _has_small_levels(record, panel=e.key == "near_verbatim"):
        return (
            f"rare: {{min_count: {_GROUPED}, to: other}}, which groups levels; "
            "more persons help, too"
        )
    if e.key == "near_verbatim" and _bends_large_leaves(record):
        return "the plain tree, at some loss: models: {cart: {tilt: false}}; more persons help, too"
    return f"{narrower}{_of_memory(record)}"


def _of_test(e: Evidence, of_files: bool) -> str:
    """Return what helps a test that could not tell, whatever made the data."""
    if e.key in _OF_FILES:
        return _OF_FILES[e.key]
    if e.is_weak:
        return f"name keys that tell more: {'--keys' if of_files else 'checks: {keys: [...]}'}"
    if e.key == "attack_risk" and e.value is None:
        return "more conditions: checks: {attacks: {attempts: 2000}}"
    return ""


_OF_FILES = {
    "unlike": "write missing values with the same codes in all files, and compare again",
    "columns": "give columns the same names and codes in all files, and compare again",
    "control": "name a control of other persons",
    "few_records": "look at more records",
    "releases": "given_out: false in the ledger for releases that nobody got; else fewer releases",
}
"""What helps where files do not go together, or are too small."""
_CAREERS = ("replicated_careers", "careers_beyond", "moves_beyond")
_NEAR = ("near_copies", "near_verbatim")
_GROUPED = 20
"""Records that a level should have where levels of fewer bring records near to single ones."""
_MANY_LEVELS = 40
_GROUPABLE = ("categorical", "ordered")
_LARGE = 100
_SMALL = {"cap": 15, "min_leaf": 10}
"""What is offered in place of defaults, which are 30 and from 20 to 50."""


def _of_file(subject: Subject) -> str:
    """Return what lowers the risk of a file whose model nobody knows."""
    if subject == "anybody":
        return "'synthesizer refine', which lowers what keys tell about a target"
    return "ask for a synthesis that smooths more (larger leaves, groups, fewer digits)"


def _of_memory(record: Record) -> str:
    """Return what lets the datasets of a run remember less of single persons."""
    if _is_evolved(record):
        return "genetic: {start: chain}, since mutants of the original are its records"
    leaves = _leaves(record, larger=True)
    if leaves:
        return f"larger leaves, at some loss: {leaves}"
    return "fewer predictors (max_predictors), or rare: to group levels of few persons"


def _has_small_levels(record: Record, *, panel: bool) -> bool:
    """Return whether a column has many levels of few records that are not grouped.

    Persons of a panel may have such in any column.
    """
    facts = record.manifest
    if (facts.config.get("rare") or {}).get("min_count", 0) >= _GROUPED:
        return False
    codes = [step.codes or 0 for step in facts.chain if step.kind in _GROUPABLE and not step.kept]
    many = max(codes, default=0)
    small = many > _MANY_LEVELS and facts.data.rows < 2 * _GROUPED * many
    return small or (panel and facts.config.get("panel") is not None)


def _bends_large_leaves(record: Record) -> bool:
    """Return whether a regression on all predictors knows more of persons than the leaves do."""
    tree, options = _tree(record)
    leaf = options.get("min_leaf")
    is_large = leaf is None or leaf >= _SMALL["min_leaf"]
    return tree == "cart" and options.get("tilt", True) and is_large and not _is_evolved(record)


def _of_use(e: Evidence, record: Record | None) -> str:
    """Return what brings datasets nearer to the original."""
    if record is None or record.of_files:
        return "see the worst variables and pairs (synthesizer utility --all)"
    if _is_evolved(record):
        return "more generations, a higher risk_at_most or weight, or a lower aimed"
    worst = next(iter(tables_of(record, 2)), None)
    if e.key == "worst_two_way" and worst is not None and (words := blame(record, worst.variables)):
        return f"{words[:1].lower()}{words[1:]}".rstrip(".")
    leaves = _leaves(record, larger=False)
    if leaves:
        return f"smaller leaves, at some risk: {leaves}"
    return "trees, which follow more relations: default_method: cart"


def _leaves(record: Record, *, larger: bool) -> str:
    """Return the option that makes leaves larger or smaller; nothing where no trees were used."""
    tree, options = _tree(record)
    if not tree:
        return ""
    has_cap = tree == "cart" and options.get("tilt", True) and options.get("min_leaf") is None
    key = "cap" if has_cap else "min_leaf"
    now = options.get(key)
    small = _SMALL[key]
    if larger:
        value = max(_LARGE, 2 * now) if isinstance(now, int) else _LARGE
    else:
        value = max(1, min(small, now // 2)) if isinstance(now, int) else small
    return f"models: {{{tree}: {{{key}: {value}}}}}"


def _tree(record: Record) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of tree that most variables have, empty for none, and its options."""
    names = [name for step in record.manifest.chain for name in (step.model, *step.base)]
    tree = max({*names} & {*_TREES}, key=lambda name: (names.count(name), name), default="")
    return tree, (record.manifest.config.get("models") or {}).get(tree) or {}


def _is_evolved(record: Record) -> bool:
    """Return whether datasets began as mutants of the original."""
    genetic = record.manifest.genetic
    return genetic is not None and genetic.start != "chain"


def blame(record: Record, names: Sequence[str]) -> str:
    """Say whose model is probably to blame where these variables are off; empty where unknown.

    A variable whose own distribution is far off comes first. Of two others it is the later one if
    its model does not see the earlier; else the one that is clearly worse in its other pairs; else
    the later one, since its model has to carry the relation.
    """
    chain = record.manifest.chain
    # copies of the original are never to blame
    steps = {
        step.variable: step
        for step in chain
        if step.variable in names and step.kind != "id" and not step.kept
    }
    margins = _margins(record, steps)
    if margins:
        return _of_margin(*max(margins, key=lambda margin: margin[0]))
    able = [step for step in steps.values() if step is not chain[0]]
    if not able:
        return ""
    step = _one(record, able, names)
    earlier = [name for name in names if name in _before(record, step)]
    return _in_words(step, earlier, worse=step is not able[-1])


def _before(record: Record, step: StepEntry) -> list[str]:
    """Return the variables that are made before a step."""
    names = [step.variable for step in record.manifest.chain]
    return names[: names.index(step.variable)]


def _margins(record: Record, steps: Mapping[str, StepEntry]) -> list[tuple[float, StepEntry]]:
    """Return the steps whose own distribution is far off, with S_pMSE."""
    mark = table_mark(expected_of(record))
    return [
        (row.s_pmse, steps[row.variables[0]])
        for row in tables_of(record, 1)
        if row.variables[0] in steps and row.s_pmse is not None and row.s_pmse > mark
    ]


def _one(record: Record, able: Sequence[StepEntry], names: Sequence[str]) -> StepEntry:
    last = able[-1]
    unseen = {*names} & {*_before(record, last)} - {*last.predictors}
    if len(able) == 1 or unseen:
        return last
    burdens = [(_burden(record, step.variable, names), step) for step in able]
    burden, worst = max(burdens, key=lambda item: item[0])
    others = [value for value, step in burdens if step is not worst]
    return worst if burden > _CLEARLY * max(others) else last


def _burden(record: Record, name: str, names: Sequence[str]) -> float:
    """Return the mean S_pMSE of a variable's pairs with the other variables."""
    values = [
        row.s_pmse
        for row in tables_of(record, 2)
        if name in row.variables and not {*row.variables} <= {*names} and row.s_pmse is not None
    ]
    return sum(values) / len(values) if values else 0.0


def _of_margin(value: float, step: StepEntry) -> str:
    return (
        f"Probably {step.variable} itself is to blame: its own distribution is far off already "
        f"(S_pMSE {written(value)}; it was made by {step.model}). Mend that first."
    )


def _in_words(step: StepEntry, earlier: Sequence[str], *, worse: bool) -> str:
    name, model = step.variable, step.model
    start = f"Probably the model of {name} is to blame"
    if model == "derived":
        sources = ", ".join(step.predictors)
        which = f" ({sources})" if sources else ""
        return f"{name} is computed from other variables: look at those{which} and at its formula."
    if not step.predictors:
        return (
            f"{start}: the model {model} draws it without any predictor, so that it keeps no "
            "relation. Give it a model with predictors, for example "
            f"variables: {{{_yaml_key(name)}: {{method: cart}}}}."
        )
    unseen = [variable for variable in earlier if variable not in step.predictors]
    if unseen:
        wanted = [*step.predictors, *unseen]
        more = "..., " if len(wanted) > _NAMED else ""
        listed = ", ".join(map(_yaml_key, wanted[-_NAMED:]))
        return (
            f"{start}: the model {model} draws it without {joined(unseen)} among its predictors. "
            f"Add it, as in variables: {{{_yaml_key(name)}: {{predictors: [{more}{listed}]}}}}."
        )
    reason = f"the model {model} draws it from {plural(len(step.predictors), 'variable')}"
    if worse:
        reason += ", and its other pairs are worse, too"
    elif earlier:
        reason += f", {joined(earlier)} among them, and follows too little of the relation"
    return f"{start}: {reason}. {_of_model(model)}"


def _of_model(model: str) -> str:
    if model in _TREES:
        return (
            f"A smaller leaf (models: {{{model}: {{min_leaf: 10}}}}) or an earlier place in "
            "visit_sequence may help, at some risk."
        )
    return "Another model may follow it better, for example method: cart."


def _yaml_key(name: str) -> str:
    """Write a name as it may stand in YAML."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else json.dumps(name, ensure_ascii=False)
