"""Risk at a glance: every rate between guessing and the original, and the verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from synthesizer.report.parts import Block, Chart, DataTable, Gap, Note, Section, Words
from synthesizer.report.record import Record, words
from synthesizer.report.risk_charts import DotRow, dots
from synthesizer.report.risk_other_rates import other_rates
from synthesizer.report.risk_reading import (
    Rate,
    ScenarioPart,
    names,
    part,
    rates,
    risk_part,
    scenarios,
)
from synthesizer.report.risk_verdict import verdict
from synthesizer.report.risk_words import FIGURE, heading, said
from synthesizer.report.unmeasured import unmeasured

__all__ = ["glance_section", "rate_chart"]

_NO_RISK = frozenset({"UiO", "Dorig", "UiS", "Dsyn", "unique records"})
"""They describe one file by itself; the part about the measure shows them."""
_SAID = frozenset({"differential confidentiality", "CAP", "CAP-U", "TCAP", "repU", "DiSCO"})
_MOST_SAID = 6
_COUNTS = "a count"
_READS = (
    "Each dot is what the synthetic data give away, from 0 to 1, with its 95 % interval where one "
    "is known. The bar across is the baseline: what guessing achieves. The diamond is what "
    "releasing the original itself would give away. A dot near the bar is safe; the nearer it is "
    "to the diamond, the more the release tells."
)


def glance_section(record: Record) -> Section:
    """Return what an intruder could learn, in one picture for each scenario.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    parts = scenarios(record)
    blocks: list[Block] = [*unmeasured(record)]
    blocks += [block for entry in parts for block in _scenario(entry)]
    blocks += _others(record)
    if not blocks:
        blocks = [
            Words(
                [
                    "No measure of risk was computed. Write checks: {} in the configuration, or "
                    "leave the key out, and every measure but inference and attacks runs."
                ]
            )
        ]
    return Section(
        anchor="risk",
        title="Risk at a glance",
        lead="How much the synthetic data tell of persons, between guessing and the original.",
        blocks=[*blocks, *_notes(record)],
    )


def _scenario(scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    reason = scenario.content.get("scenario")
    told = part(reason).get("reason")
    if isinstance(told, str) and told not in ("", "as configured", "as asked for"):
        yield Words([f"Why these: {told}"])
    found = rates(scenario.content, "figures")
    yield from verdict(scenario, found)
    shown = [entry for entry in found if _is_rate(entry)]
    if shown:
        yield rate_chart(shown, "Every rate, between guessing and the original", scenario.heading)
        yield _legend(shown)
    for warning in names(scenario.content, "warnings"):
        yield Note(warning)


def _is_rate(entry: Rate) -> bool:
    marks = (entry.baseline, entry.original, entry.low)
    compared = any(mark is not None for mark in marks)
    return compared and entry.direction != _COUNTS and entry.name not in _NO_RISK


def rate_chart(found: Sequence[Rate], title: str, about: str = "") -> Chart:
    """Return a dot plot of rates with the numbers behind it.

    Parameters
    ----------
    found : sequence of Rate
        At least one.
    title : str
        Of the figure.
    about : str
        What tells it from the other figures of the page, for readers who cannot see it.
    """
    everything = "; ".join(said(entry) for entry in found)
    main = [entry for entry in found if entry.name in _SAID] or found[:_MOST_SAID]
    summary = "; ".join(said(entry) for entry in main)
    rows = [
        DotRow(
            label=entry.name,
            value=entry.value,
            low=entry.low,
            high=entry.high,
            baseline=entry.baseline,
            original=entry.original,
        )
        for entry in found
    ]
    name = f"{title}. {about}" if about else title
    picture = dots(rows, title=name, description=everything, label="rate", whole=True)
    return Chart(
        title=title, svg=picture, reads=_READS, summary=summary, table=_table(found, title)
    )


def _table(found: Sequence[Rate], title: str) -> DataTable:
    columns = ("Figure", "Value", "From", "To", "Baseline", "Original", "Records")
    return DataTable(
        caption=f"{title}; from and to are the ends of the 95 % interval",
        columns=columns,
        forms=("text", *[FIGURE] * 5, "count"),
        rows=[(e.name, e.value, e.low, e.high, e.baseline, e.original, e.n) for e in found],
        sortable=len(found) > 4,
    )


def _legend(found: Sequence[Rate]) -> DataTable:
    return DataTable(
        caption="What each figure says",
        columns=("Figure", "In words", "Good is", "Value"),
        forms=("text", "text", "text", "figure"),
        rows=[(e.name, e.meaning, e.direction, e.value) for e in found],
    )


def _others(record: Record) -> Iterator[Block]:
    found = [entry for entry in other_rates(record) if entry.name not in _NO_RISK]
    if found:
        yield Markup("<h3>Beyond keys and target</h3>")
        yield rate_chart(found, "Whole records, sensitive variables and attacks")
        yield _legend(found)


def _notes(record: Record) -> Iterator[Block]:
    told = risk_part(record)
    for note in names(told, "notes"):
        yield Note(note)
    for name, why in part(told, "failed").items():
        reason = words(why) or "no reason was stored"
        yield Gap(str(name), f"It could not be computed: {reason}")
