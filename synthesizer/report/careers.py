"""Careers and histories of a panel, original and synthetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from synthesizer.data.errors import listed
from synthesizer.measures.utility.longitudinal import PanelResult, VariableHistory
from synthesizer.measures.utility.sequences import SequenceResult
from synthesizer.report.blocks import (
    Added,
    Block,
    Cell,
    DataTable,
    Fold,
    Gap,
    Note,
    Words,
    row_table,
    section,
    stopped,
    written,
)
from synthesizer.report.career_pictures import (
    index_chart,
    lines_chart,
    moves_chart,
    shown_states,
    spells_chart,
    stacks_chart,
)
from synthesizer.report.expected import MAX_RATIO, noise_in_words
from synthesizer.report.figures import figure_blocks
from synthesizer.report.record import Labels, Record
from synthesizer.report.risk import of_verdict

MATCHED = (
    "The option match of the careers used exact counts. Combinations of first period, first state, "
    "last period and last state are as frequent as in the confidential data. These counts are "
    "therefore disclosed, also rare ones. Agreement in entry, exit, first and last state is no "
    "finding."
)
_DISTANCES = (
    "Distances are total variation distances: half the sum of the absolute differences of two "
    "distributions. 0 is equal, 1 has nothing in common; lower is better. The noise floor is the "
    "distance of the original from bootstrap samples of its persons. A ratio of about 1 is noise."
)
_HISTORIES = (
    "Share ever changing: persons with a value that differs from that of their first period. The "
    "difference is in percentage points; about 0 is good. Association of a value with the previous "
    "value of the person: Cramer's V (0 to 1) for categories, Spearman's rank correlation (−1 to "
    "1) for numbers. Both columns should be equal."
)
_MAX_POINTS = 5.0
"""Difference in persons who ever change, in percentage points, without highlight."""
_MAX_LAG = 0.1
"""Difference in association without highlight."""
_MAX_TRANSITIONS = 10
_MIN_SHARE = 0.002
"""Share of the pairs of periods that a state needs to be compared."""
_MAX_NAMES = 12


@section(
    "careers",
    "Careers",
    "Presence and states of persons by period, and changes of values over time.",
)
def careers_section(record: Record) -> Iterator[Block]:
    """Yield the comparison of careers and of the variables' histories."""
    if was_matched(record):
        yield Note(MATCHED, "alert")
    panel = record.results.panel
    if panel is None:
        why = "The configuration turns them off: set checks.sequences to true and run again."
        yield Gap("careers and histories, original and synthetic", why)
    else:
        yield Words([_sizes(panel, career_variable(record))])
        for measure, why in panel.failed.items():
            yield Note(stopped(f"Could not be computed: {measure}: {why}"), "alert")
        if panel.sequences is not None:
            periods = period_names(record, panel.sequences)
            yield from _careers(panel.sequences, periods, career_variable(record), record.labels)
        if histories := list(_histories(panel)):
            yield Fold("Values within persons, variable by variable", histories)
    yield from _replicated(record)


def career_variable(record: Record) -> str | None:
    """Return the variable of the careers; None if the career is presence alone."""
    panel, results = record.manifest.panel, record.results.panel
    if panel is not None and panel.career is not None:
        return panel.career
    sequences = None if results is None else results.sequences
    return None if sequences is None else sequences.career


def was_matched(record: Record) -> bool:
    """Whether the careers were drawn to match exact joint counts of the original."""
    config = record.manifest.config
    usual = config.get("models", {}).get("career", {}).get("match", False)
    drawn = [step.variable for step in record.manifest.chain if step.model == "career"]
    variables = config.get("variables", {})
    options = [variables.get(name, {}).get("options", {}) for name in drawn]
    return any(option.get("match", usual) for option in options)


def period_names(record: Record, sequences: SequenceResult) -> tuple[str, ...]:
    """Return the names of the periods; in the wide form the columns of the careers."""
    career = career_variable(record)
    columns = [step.columns for step in record.manifest.chain if step.variable == career]
    whole = [names for names in columns if len(names) == len(sequences.periods)]
    return whole[0] if whole else sequences.periods


def _sizes(panel: PanelResult, career: str | None) -> str:
    drawn = [size.rows_per_person for size in panel.synthetic]
    career_states = f"the values of {career}" if career else "presence and absence"
    return (
        f"A career is the sequence of {career_states} over the periods. The original has "
        f"{written(panel.original.persons, 'count')} persons, present in "
        f"{written(panel.original.rows_per_person)} periods on average. Each synthetic dataset has "
        f"{written(panel.synthetic[0].persons, 'count')} persons, present in "
        f"{written(sum(drawn) / len(drawn))}."
    )


def _careers(
    sequences: SequenceResult, periods: tuple[str, ...], career: str | None, labels: Labels
) -> Iterator[Block]:
    if len(sequences.states) == 1:
        yield Words(["All persons are present in all periods: there are no careers to compare."])
        return
    shown = shown_states(sequences, periods)
    shown = replace(shown, states=tuple(labels.level(career or "", s) for s in shown.states))
    yield stacks_chart(shown)
    yield from index_chart(shown)
    steps = _transitions(sequences, partial(labels.level, career or ""))
    yield Fold(
        "Distances, steps, changes and spells",
        [
            Words([_DISTANCES]),
            _distances(sequences),
            *steps,
            *moves_chart(sequences),
            *spells_chart(sequences),
            *lines_chart(shown),
        ],
    )


def _distances(sequences: SequenceResult) -> DataTable:
    table = row_table(
        sequences.rows,
        "Distance of synthetic from original careers: mean, lowest and highest over the datasets",
        names=("meaning", "mean", "low", "high", "floor", "ratio"),
        more=[Added("In words", "text", lambda row: noise_in_words(row.ratio, row.mean))],
        highlight=[i for i, row in enumerate(sequences.rows) if (row.ratio or 0) > MAX_RATIO],
    )
    return replace(table, stacks=True, sortable=False)


def _transitions(sequences: SequenceResult, named: Callable[[str], str]) -> Iterator[Block]:
    """Yield the transitions between periods whose probability differs most."""
    sides = sequences.original.transitions, sequences.synthetic.transitions
    rows: list[tuple[float, list[Cell]]] = []
    for before, *counts in zip(sequences.states, *sides, strict=True):
        totals = sum(counts[0]), sum(counts[1])
        if min(totals) < _MIN_SHARE:
            continue
        for after, original, synthetic in zip(sequences.states, *counts, strict=True):
            chances = original / totals[0], synthetic / totals[1]
            gap = round(abs(chances[0] - chances[1]), 9)
            rows.append((gap, [named(before), named(after), totals[0], *chances]))
    rows.sort(key=lambda row: -row[0])
    if rows:
        yield DataTable(
            caption="Transitions between periods whose probability differs most; probabilities are "
            "shares of the state From",
            columns=["From", "To", "Share of all in From", "Original", "Synthetic"],
            forms=("text", "text", "share", "share", "share"),
            rows=[row for _, row in rows[:_MAX_TRANSITIONS]],
        )


_HISTORY = (
    "name", "changing", "mean_changing", "difference", "association", "lag", "mean_lag", "mean_new"
)  # fmt: skip


def _histories(panel: PanelResult) -> Iterator[Block]:
    if panel.worst:
        yield Words([_HISTORIES])
        yield row_table(
            panel.worst,
            caption="Values within persons: share ever changing, association with the previous "
            "value, and share of synthetic transitions that do not occur in the original; "
            "synthetic values are means over the datasets",
            names=_HISTORY,
            highlight=[i for i, history in enumerate(panel.worst) if _is_off(history)],
        )
    constant = [history.name for history in panel.variables if history.is_constant]
    if constant:
        names = listed(constant, _MAX_NAMES)
        yield Words([f"Constant within persons, in original and synthetic data: {names}."])


def _is_off(history: VariableHistory) -> bool:
    lag, mean = history.lag, history.mean_lag
    lag_is_off = lag is not None and mean is not None and abs(lag - mean) > _MAX_LAG
    return abs(history.difference) > _MAX_POINTS or lag_is_off


def _replicated(record: Record) -> Iterator[Block]:
    careers = record.results.risk.careers
    if careers is None:
        yield Gap(
            "careers that occur in the synthetic data",
            "They were not counted: set checks.replicated_careers to true.",
        )
        return
    yield from of_verdict(record, "replicated_careers")
    words = Words(
        [
            f"{written(careers.uniques, 'count')} of {written(careers.n, 'count')} persons of the "
            "original have a unique career. Someone who knows such a career period by period can "
            "recognise it in the synthetic data. Lower is safer. Chance: the value of a person of "
            "the same population who is not in the data."
        ]
    )
    title = "Careers of the original that occur in the synthetic data"
    figures = [figure.counting(record.units) for figure in careers.figures]
    yield Fold(title, [words, *figure_blocks(figures, title)])
