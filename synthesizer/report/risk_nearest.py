"""Are synthetic records nearer to records that were fitted than to records that were not?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.report.numbers import interval, written
from synthesizer.report.parts import Block, Chart, DataTable, Note, Section, Words
from synthesizer.report.record import Record, number
from synthesizer.report.risk_charts import DotRow, dots
from synthesizer.report.risk_reading import (
    absent,
    count,
    has_control_file,
    joined,
    names,
    part,
    risk_part,
)
from synthesizer.report.risk_words import span

__all__ = ["nearest_section"]

_OFF_RUN = "Nearest records were not compared; they are unless checks.nearest is false."
_OFF_FILES = (
    "Nearest records were not compared: that needs a control file (--control), records of other "
    "people of the same population that were kept out of the fit."
)
_READS = (
    "0.5 is a coin toss: synthetic records are as near to people the synthesis never saw as to "
    "people it was fitted on. The farther the interval lies above 0.5, the more the synthesis has "
    "copied. The diamond is where the fitted records themselves would stand."
)


def nearest_section(record: Record) -> Section | None:
    """Return the share of records nearer to the fitted half; None without a part about risk.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    told = risk_part(record)
    if not told:
        return None
    nearest = part(told, "nearest")
    if number(nearest, "share") is None:
        off = _OFF_FILES if has_control_file(record) else _OFF_RUN
        what = "Nearest records"
        blocks: list[Block] = [absent(record, "nearest", what, found=told.get("nearest"), off=off)]
    else:
        blocks = list(_blocks(nearest))
    return Section(
        anchor="nearest",
        title="Nearest records",
        lead="Whole records: are synthetic ones nearer to people who were in the fit?",
        blocks=blocks,
    )


def _blocks(nearest: Mapping[str, Any]) -> Iterator[Block]:
    share, low, high = (number(nearest, name) for name in ("share", "low", "high"))
    yield _verdict(low, high)
    summary = (
        f"A share of {written(share, 'share')} of the synthetic records is nearer to the fitted "
        f"half, 95 % interval {span(low, high)}; the fitted records themselves would have "
        f"{written(number(nearest, 'original'), 'share')}."
    )
    title = "Share nearer to the fitted half"
    row = DotRow(
        label="nearer to a fitted record",
        value=share,
        low=low,
        high=high,
        baseline=0.5,
        original=number(nearest, "original"),
    )
    marks = {
        "value": "synthetic records",
        "baseline": "coin toss (0.5)",
        "original": "fitted records themselves",
    }
    yield Chart(
        title=title,
        svg=dots([row], title=title, description=summary, label="share", whole=True, marks=marks),
        reads=_READS,
        summary=summary,
        table=_table(nearest),
    )
    yield Words(list(_sentences(nearest)))
    yield _copies(nearest)


def _verdict(low: float | None, high: float | None) -> Note:
    if low is None or high is None:
        return Note("There is no interval for the share: nothing can be concluded.", "alert")
    if low > 0.5:
        return Note(
            f"The interval {interval(low, high, 'share')} lies above 0.5: synthetic records keep "
            "something of the records they were fitted on.",
            "alert",
        )
    if high < 0.5:
        return Note(
            f"The interval {interval(low, high, 'share')} lies below 0.5: synthetic records are "
            "nearer to unseen records. That discloses nothing, but look whether both are alike."
        )
    return Note(
        f"The interval {interval(low, high, 'share')} covers 0.5: no sign that synthetic records "
        "keep the records they were fitted on.",
        "good",
    )


def _table(nearest: Mapping[str, Any]) -> DataTable:
    figures = {
        "share": "share nearer to the fitted half (ties counted half)",
        "low": "lower end of its 95 % interval",
        "high": "upper end",
        "original": "the same of the fitted records themselves",
        "excess": "excess over 0.5, as a share of the fitted records' own",
        "excess_low": "lower end of its interval",
        "excess_high": "upper end of its interval",
        "fitted_distance": "median distance to the nearest fitted record (0 to 1)",
        "unseen_distance": "median distance to the nearest unseen record",
        "distance_ratio": "the first over the second; below 1 is nearer to the fitted",
        "fitted_kept": "share of the fitted half that was compared",
        "unseen_kept": "share of the unseen half that was compared",
    }
    return DataTable(
        caption="Nearest records by Gower's distance",
        columns=("Figure", "Value"),
        forms=("text", "figure"),
        rows=[(meaning, number(nearest, name)) for name, meaning in figures.items()],
    )


def _sentences(nearest: Mapping[str, Any]) -> Iterator[str]:
    counts = {n: written(count(nearest, n), "count") for n in ("nearer", "unseen_nearer", "ties")}
    compared = names(nearest, "names")
    yield (
        f"Of {written(count(nearest, 'synthetic'), 'count')} synthetic records that were compared, "
        f"{counts['nearer']} are nearer to a fitted record, {counts['unseen_nearer']} to an unseen "
        f"one and {counts['ties']} as near to both; the interval counts as if they were "
        f"{written(count(nearest, 'effective'), 'count')} independent ones."
    )
    if compared:
        yield f"Compared on {len(compared)} variables: {joined(compared)}."
    kept = number(nearest, "fitted_kept")
    if kept is not None and kept < 1:
        yield (
            f"Only a share of {written(kept, 'share')} of the fitted records was compared, since "
            "there are no more unseen ones; copies of the others lose their source, and the share "
            "cannot reach 1. The excess in the table allows for that."
        )


def _copies(nearest: Mapping[str, Any]) -> DataTable:
    total = written(count(nearest, "all_synthetic"), "count")
    return DataTable(
        caption=f"Exact copies among all {total} synthetic records: equal in every variable "
        "compared. Copies of unseen records show how many chance makes",
        columns=("Equal to", "Copies", "Out of so many records"),
        forms=("text", "count", "count"),
        rows=[
            ("a fitted record", count(nearest, "fitted_copies"), count(nearest, "all_fitted")),
            ("an unseen record", count(nearest, "unseen_copies"), count(nearest, "all_unseen")),
        ],
    )
