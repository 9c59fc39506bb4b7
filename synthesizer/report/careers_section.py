"""Careers and histories of a panel, original beside synthetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from synthesizer.report.careers_charts import career_lines, paired_bars, state_stacks
from synthesizer.report.careers_reading import (
    Careers,
    career_variable,
    is_panel,
    panel_part,
    read_careers,
    was_matched,
)
from synthesizer.report.careers_tables import (
    distance_table,
    history_blocks,
    replicated_blocks,
    transition_table,
)
from synthesizer.report.numbers import plural, stopped, written
from synthesizer.report.parts import Block, Cell, Chart, DataTable, Form, Gap, Note, Section, Words
from synthesizer.report.record import Record, dig, mappings, number, words
from synthesizer.report.utility_tables import AGAIN

__all__ = ["careers_section"]

MOST_MOVES = 12
"""Numbers of moves with bars of their own; larger ones are one bar together."""
MATCHED = (
    "Exact counts were used: the option match of the careers was on. The synthetic careers were "
    "chosen so that first period, first state, last period and last state occur together as often "
    "as in the confidential data. These counts are therefore disclosed, rare ones as well, and "
    "being near the original in entry, exit, first and last state is no finding."
)


def careers_section(record: Record) -> Section | None:
    """Return what became of careers and of the histories of the variables.

    Parameters
    ----------
    record : Record
        A run; manifest and checks are read.

    Returns
    -------
    Section or None
        None where the run is not of a panel.
    """
    if not is_panel(record):
        return None
    return Section(
        anchor="careers",
        title="Careers",
        lead="Who is there when and in which state, and how values follow each other in time.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    if was_matched(record):
        yield Note(MATCHED, "alert")
    told = panel_part(record)
    if told:
        yield Words(list(_sizes(record)))
        yield from _failures(record)
        found = read_careers(record)
        if found is not None and len(found.states) > 1:
            yield from _pictures(record, found)
        elif found is not None:
            yield Words(["Everybody is there in every period: there are no careers to compare."])
        elif dig(told, "sequences"):
            yield Gap("the careers", f"What checks.json holds is not whole. {AGAIN}")
        yield from history_blocks(record)
    else:
        why = "The configuration switches them off: set checks.sequences to true and run again."
        yield Gap("careers and histories, original beside synthetic", why)
    yield from replicated_blocks(record)


def _sizes(record: Record) -> Iterator[str]:
    told = panel_part(record)
    career = career_variable(record)
    persons, rows = number(told, "original", "persons"), number(told, "original", "rows_per_person")
    drawn = [number(own, "rows_per_person") for own in mappings(told, "synthetic")]
    known = [value for value in drawn if value is not None]
    count = number(told, "synthetic", 0, "persons")
    mean = sum(known) / len(known) if known else None
    what = f"the states of {career}" if career else "being there or not"
    yield (
        f"A career is the sequence of {what} over the periods. The original has "
        f"{written(persons, 'count')} persons, who are there in {written(rows)} periods on "
        f"average; each synthetic dataset has {written(count, 'count')} persons, who are there in "
        f"{written(mean)}."
    )


def _failures(record: Record) -> Iterator[Block]:
    failed = dig(panel_part(record), "failed", default={})
    for name in failed if isinstance(failed, dict) else ():
        yield Note(stopped(f"Could not be computed: {name}: {words(failed, name)}"), "alert")


def _pictures(record: Record, found: Careers) -> Iterator[Block]:
    yield _stacks(found)
    yield from distance_table(record)
    yield from transition_table(found)
    yield from _moves(found)
    yield from _spells(found)
    yield from _lines(found)


def _stacks(found: Careers) -> Chart:
    summary, rows = _states(found)
    return Chart(
        title="Share of persons in each state, period by period",
        svg=state_stacks(
            [("original", found.headcounts[0]), ("synthetic", found.headcounts[1])],
            periods=found.periods,
            states=found.states,
            colours=found.colours,
            title="States by period",
            description=summary,
        ),
        reads="The two pictures should look alike: the same bands, as wide at the same time. The "
        "synthetic one is the mean over the datasets.",
        summary=summary,
        table=DataTable(
            caption="Mean share over all periods, and the period where the two differ most",
            columns=[
                "State",
                "Original",
                "Synthetic",
                "Period",
                "Original there",
                "Synthetic there",
            ],
            forms=("text", "share", "share", "text", "share", "share"),
            rows=rows,
        ),
    )


def _states(found: Careers) -> tuple[str, list[list[Cell]]]:
    """Return a sentence on the largest difference, and a row for each state."""
    rows: list[list[Cell]] = []
    worst = (0.0, "")
    ours, theirs = found.headcounts
    for state, label in enumerate(found.states):
        pairs = [(a[state], b[state]) for a, b in zip(ours, theirs, strict=True)]
        at = max(range(len(pairs)), key=lambda t: abs(pairs[t][0] - pairs[t][1]))
        one, other = pairs[at]
        means = [sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1)]
        rows.append([label, *means, found.periods[at], one, other])
        told = (
            f"The largest difference is at “{label}” in {found.periods[at]}: "
            f"{written(one, 'share')} of the original and {written(other, 'share')} of the "
            "synthetic persons."
        )
        worst = max(worst, (abs(one - other), told))
    return worst[1] or "The shares are equal in every period.", rows


def _moves(found: Careers) -> Iterator[Block]:
    ours, theirs = (_capped(side) for side in found.moves)
    if not ours or len(ours) == 1:
        return
    labels = [str(k) for k in range(len(ours))]
    if len(found.moves[0]) > len(ours):
        labels[-1] += " or more"
    used = max(k for k in range(len(ours)) if ours[k] or theirs[k])
    rows = list(zip(labels, ours, theirs, strict=True))[: used + 1]
    means = [sum(k * share for k, share in enumerate(side)) for side in found.moves]
    summary = (
        f"On average a person changes state {written(means[0])} times in the original and "
        f"{written(means[1])} times in the synthetic data."
    )
    yield Chart(
        title="How often persons change state",
        svg=paired_bars(
            rows, label="share of persons", title="Changes of state", description=summary
        ),
        reads="Pairs of bars should be equally long. Absence counts as a state.",
        summary=summary,
        table=_pairs("Changes of state of a person: shares of persons", "Changes", rows, "share"),
    )


def _capped(shares: list[float]) -> list[float]:
    if len(shares) <= MOST_MOVES + 1:
        return shares
    return [*shares[:MOST_MOVES], sum(shares[MOST_MOVES:])]


def _spells(found: Careers) -> Iterator[Block]:
    ours, theirs = found.spells
    if not ours or not theirs:
        return
    every = list(zip(found.spell_states, ours, theirs, strict=True))
    rows = [row for row in every if row[1] is not None or row[2] is not None]
    if not rows:
        return
    shown = rows[:MOST_MOVES]
    gaps = [row for row in rows if row[1] is not None and row[2] is not None]
    summary = "No state has spells in both."
    if gaps:
        label, one, other = max(gaps, key=lambda row: abs((row[1] or 0) - (row[2] or 0)))
        summary = (
            f"The largest difference is at “{label}”: {written(one)} periods in the original and "
            f"{written(other)} in the synthetic data."
        )
    less = f" The {MOST_MOVES} most frequent states are drawn." if len(shown) < len(rows) else ""
    yield Chart(
        title="How long spells last",
        svg=paired_bars(
            shown, label="mean length in periods", title="Spell lengths", description=summary
        ),
        reads="A spell is an unbroken time in one state. Pairs of bars should be equally long."
        + less,
        summary=summary,
        table=_pairs("Mean length of the spells, in periods", "State", rows, "figure"),
    )


def _pairs(
    caption: str, what: str, rows: Sequence[tuple[str, float | None, float | None]], form: Form
) -> DataTable:
    return DataTable(
        caption=caption,
        columns=[what, "Original", "Synthetic"],
        forms=("text", form, form),
        rows=[list(row) for row in rows],
    )


def _lines(found: Careers) -> Iterator[Block]:
    if not found.sample:
        return
    changes = [sum(a != b for a, b in pairwise(c)) for c in found.sample]
    summary = (
        f"{plural(len(changes), 'synthetic person')}, chosen at random from the first dataset, "
        f"with {min(changes)} to {max(changes)} changes of state."
    )
    yield Chart(
        title="Synthetic careers, one person a line",
        svg=career_lines(
            found.sample,
            periods=found.periods,
            states=found.states,
            colours=found.colours,
            title="Synthetic careers",
            description=summary,
        ),
        reads="Do these look like careers that persons could have? The original's are confidential "
        "and not shown.",
        summary=summary,
    )
