"""Pairs of an event and the time until it: found by their names, and drawn so that they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from synthesizer.data.table import Column, Kind, Table
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Findings, Found, note, problem

EVENT_WORDS = {
    "cens", "censor", "censored", "dead", "death", "deceased", "died", "event", "failed", "fstat",
    "relapse", "relapsed",
}  # fmt: skip
STATUS_LEVELS = ({"0", "1"}, {"1", "2"}, {"alive", "dead"}, {"false", "true"})
"""What a ``status`` must be to be taken for an event."""
TIME_WORDS = {
    "days", "duration", "followup", "futime", "lenfol", "months", "os", "pfs", "rfs", "stime",
    "survival", "survtime", "time", "tte", "weeks",
}  # fmt: skip
MIN_TIMES = 20
"""Different values of a number that is taken for a time."""


def suggest_pair(table: Table) -> tuple[str, str] | None:
    """Return the event and the time of a table, if there are one of each by name and kind.

    Examples
    --------
    >>> import numpy as np
    >>> from synthesizer.data.table import Variable
    >>> death = Variable(name="death", kind=Kind.CATEGORICAL, levels=("no", "yes"))
    >>> time = Column(Variable(name="fu.time", kind=Kind.NUMERIC), np.arange(40.0))
    >>> suggest_pair(Table([time, Column(death, np.arange(40, dtype=np.int32) % 2)]))
    ('death', 'fu.time')
    """
    events = [column.name for column in table.columns if _is_event(column)]
    times = [column.name for column in table.columns if _is_time(column)]
    return (events[0], times[0]) if len(events) == len(times) == 1 else None


def _words(name: str) -> set[str]:
    return set(re.split(r"[\W_]+", name.lower()))


def _is_event(column: Column) -> bool:
    levels = column.variable.levels
    if not column.is_coded or len(levels) != 2:
        return False
    words = _words(column.name)
    is_status = "status" in words and {level.lower() for level in levels} in STATUS_LEVELS
    return is_status or bool(words & EVENT_WORDS)


def _is_time(column: Column) -> bool:
    if column.variable.kind is not Kind.NUMERIC or not _words(column.name) & TIME_WORDS:
        return False
    values = column.data[column.is_observed]
    return len(set(values.tolist())) >= MIN_TIMES and bool((values >= 0).all())


def survival_findings(context: Context) -> Found[None]:
    """Return what is wrong with the pairs; note a pair that nobody has declared."""
    pairs, found = context.config.survival, Findings()
    if context.is_panel:
        return Found(None, (problem("survival_in_panel"),) if pairs else ())
    if "survival" not in context.config.model_fields_set:
        found.notes += _suggestion(context)
    counts = Counter(name for pair in pairs for name in (pair.event, pair.time))
    for name, count in counts.items():
        if count > 1:
            found.problem("survival_twice", name=name)
        if context.takes_no_part(name):
            found.problem("takes_no_part", name=name, place="survival")
    for pair in pairs:
        found.problems += _kind_problems(context, pair.event, pair.time)
    return found.of(None)


def _suggestion(context: Context) -> Iterator[str]:
    pair = suggest_pair(context.table.select(context.names))
    if pair is not None:
        event, time = pair
        yield note("looks_like_survival", event=event, time=time)


def _kind_problems(context: Context, event: str, time: str) -> Iterator[str]:
    if event in context.names and not context.table[event].is_coded:
        yield problem(
            "event_without_levels", name=event, kind=context.table[event].variable.kind.value
        )
    if time in context.names and context.table[time].variable.kind is not Kind.NUMERIC:
        yield problem("time_not_numeric", name=time, kind=context.table[time].variable.kind.value)


def pairs_last(context: Context, names: Sequence[str]) -> list[str]:
    """Move pairs to the end, each event before its time: what both depend on is then there."""
    last = [
        name
        for pair in context.config.survival
        if pair.event in names and pair.time in names
        for name in (pair.event, pair.time)
    ]
    return [*(name for name in names if name not in last), *last]
