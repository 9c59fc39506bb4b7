"""Careers and histories of a panel, original beside synthetic."""

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
from synthesizer.report.expected import FAR, noise_in_words
from synthesizer.report.figures import figure_blocks
from synthesizer.report.record import Labels, Record
from synthesizer.report.risk import of_verdict

MATCHED = (
    "Exact counts were used: the option match of the careers was on. The synthetic careers were "
    "chosen so that first period, first state, last period and last state occur together as often "
    "as in the confidential data. These counts are therefore disclosed, rare ones as well, and "
    "being near the original in entry, exit, first and last state is no finding."
)
_DISTANCES = (
    "Distances are half the sum of the absolute differences of two distributions: 0 is equal, 1 "
    "has nothing in common, and lower is better. The noise floor is the distance of the original "
    "from random samples of its own persons. A ratio of about 1 is therefore noise; above it the "
    "synthetic careers differ in earnest."
)
_HISTORIES = (
    "The share ever changing is that of the persons whose value is ever another one than in their "
    "first period; the difference is in percentage points, and about 0 is good. The association of "
    "a value with the person's nearest earlier one is Cramer's V (0 to 1) for categories and "
    "Spearman's rank correlation (−1 to 1) for numbers: the two columns should be alike."
)
_POINTS = 5.0
"""Percentage points of persons who ever change from which a variable is to be looked at."""
_LAG = 0.1
"""Difference in association from which a variable is to be looked at."""
_TRANSITIONS = 10
_RARE = 0.002
"""Share of pairs of periods below which a state's transitions are not compared."""
_NAMED = 12


@section(
    "careers",
    "Careers",
    "Who is there when and in which state, and how values follow each other in time.",
)
def careers_section(record: Record) -> Iterator[Block]:
    """Yield the comparison of careers and of the variables' histories."""
    if was_matched(record):
        yield Note(MATCHED, "alert")
    panel = record.results.panel
    if panel is None:
        why = "The configuration switches them off: set checks.sequences to true and run again."
        yield Gap("careers and histories, original beside synthetic", why)
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
    """Return the variable of the careers; None where presence alone is the career."""
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
    """Return names of the periods: of the wide form the columns that hold the careers."""
    career = career_variable(record)
    columns = [step.columns for step in record.manifest.chain if step.variable == career]
    whole = [names for names in columns if len(names) == len(sequences.periods)]
    return whole[0] if whole else sequences.periods


def _sizes(panel: PanelResult, career: str | None) -> str:
    drawn = [size.rows_per_person for size in panel.synthetic]
    career_states = f"the values of {career}" if career else "being there or not"
    return (
        f"A career is the sequence of {career_states} over the periods. The original has "
        f"{written(panel.original.persons, 'count')} persons, who are there in "
        f"{written(panel.original.rows_per_person)} periods on average; each synthetic dataset has "
        f"{written(panel.synthetic[0].persons, 'count')} persons, who are there in "
        f"{written(sum(drawn) / len(drawn))}."
    )


def _careers(
    sequences: SequenceResult, periods: tuple[str, ...], career: str | None, labels: Labels
) -> Iterator[Block]:
    if len(sequences.states) == 1:
        yield Words(["Everybody is there in every period: there are no careers to compare."])
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
        "Distance of synthetic from original careers; of several datasets the mean, the lowest and "
        "the highest",
        names=("meaning", "mean", "low", "high", "floor", "ratio"),
        more=[Added("In words", "text", lambda row: noise_in_words(row.ratio, row.mean))],
        highlight=[i for i, row in enumerate(sequences.rows) if (row.ratio or 0) > FAR],
    )
    return replace(table, stacks=True, sortable=False)


def _transitions(sequences: SequenceResult, named: Callable[[str], str]) -> Iterator[Block]:
    """Yield the steps from period to period whose chance differs most."""
    sides = sequences.original.transitions, sequences.synthetic.transitions
    rows: list[tuple[float, list[Cell]]] = []
    for before, ours, theirs in zip(sequences.states, *sides, strict=True):
        totals = sum(ours), sum(theirs)
        if min(totals) < _RARE:
            continue
        for after, original, synthetic in zip(sequences.states, ours, theirs, strict=True):
            chances = original / totals[0], synthetic / totals[1]
            gap = round(abs(chances[0] - chances[1]), 9)
            rows.append((gap, [named(before), named(after), totals[0], *chances]))
    rows.sort(key=lambda row: -row[0])
    if rows:
        yield DataTable(
            caption="From one period to the next: the steps whose chance differs most. The chance "
            "is the share of those in the state before; a state followed by itself is staying",
            columns=["From", "To", "Share of all in From", "Original", "Synthetic"],
            forms=("text", "text", "share", "share", "share"),
            rows=[row for _, row in rows[:_TRANSITIONS]],
        )


_HISTORY = (
    "name",
    "changing",
    "mean_changing",
    "difference",
    "association",
    "lag",
    "mean_lag",
    "mean_new",
)


def _histories(panel: PanelResult) -> Iterator[Block]:
    if panel.worst:
        yield Words([_HISTORIES])
        yield row_table(
            panel.worst,
            caption="Values within persons: share ever changing, association with the value "
            "before, and share of the synthetic steps from value to value that nobody of the "
            "original makes; the synthetic ones are means over the datasets",
            names=_HISTORY,
            highlight=[i for i, history in enumerate(panel.worst) if _is_off(history)],
        )
    constant = [history.name for history in panel.variables if history.is_constant]
    if constant:
        names = listed(constant, _NAMED)
        yield Words([f"Nobody changes {names}, neither in the original nor in the synthetic data."])


def _is_off(history: VariableHistory) -> bool:
    lag, mean = history.lag, history.mean_lag
    lag_is_off = lag is not None and mean is not None and abs(lag - mean) > _LAG
    return abs(history.difference) > _POINTS or lag_is_off


def _replicated(record: Record) -> Iterator[Block]:
    careers = record.results.risk.careers
    if careers is None:
        yield Gap(
            "careers that occur in the synthetic data",
            "They were not counted; they are unless checks.replicated_careers is false.",
        )
        return
    yield from of_verdict(record, "replicated_careers")
    words = Words(
        [
            f"{written(careers.uniques, 'count')} of {written(careers.n, 'count')} persons of the "
            "original have a career that nobody shares. Who knows one of them period by period "
            "would recognise it in the synthetic data. Lower is safer; chance is what a "
            "fresh person of the same population would show without being in the data."
        ]
    )
    title = "Careers of the original that occur in the synthetic data"
    figures = [figure.counting(record.units) for figure in careers.figures]
    yield Fold(title, [words, *figure_blocks(figures, title)])
