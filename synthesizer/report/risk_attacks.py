"""Attacks that were carried out: singling out, linkability and inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.numbers import interval, written
from synthesizer.report.parts import Block, Chart, DataTable, Note, Section, Words
from synthesizer.report.record import Record, listed, mappings, number, words
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
from synthesizer.report.risk_words import COUNT, FIGURE, span

__all__ = ["attacks_section"]

_OFF = (
    "No attack was carried out. Switch them on with checks: {attacks: true}; that needs the extra "
    "'attacks' (pip install '.[attacks]'). Worth it where exact numbers could be recognised, such "
    "as an income to the cent: default CART repeats numbers that occur."
)
_OFF_FILES = (
    "No attack was carried out. They need a control file (--control, with --attacks), records of "
    "other people of the same population that were kept out of the fit, and the extra 'attacks'."
)
_WHAT = {
    "singling out by rare values": "Conditions on single rare values that fit one synthetic "
    "record: do they fit exactly one person?",
    "singling out by combinations": "Conditions on combinations of values that fit one synthetic "
    "record: do they fit exactly one person?",
    "linkability": "Two sources with different variables: does the synthetic data set help to "
    "join the records of one person?",
    "inference": "The target is taken from the nearest synthetic record: is it right?",
}
_READS = (
    "Risk is what an attack gains on persons who were in the fit beyond persons who were not, as "
    "a share of what could be gained: 0 is none, 1 is always. An interval that covers 0 shows no "
    "risk; one above 0 does."
)


def attacks_section(record: Record) -> Section | None:
    """Return risk and success of the attacks; None without a part about risk.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    told = risk_part(record)
    if not told:
        return None
    found = mappings(told, "attacks", "attacks")
    if found:
        blocks = list(_blocks(part(told, "attacks"), found))
    else:
        off = _OFF_FILES if has_control_file(record) else _OFF
        blocks = [absent(record, "attacks", "Attacks", found=told.get("attacks"), off=off)]
    return Section(
        anchor="attacks",
        title="Attacks",
        lead="Attacks on the synthetic data, held against attacks on persons it never saw.",
        blocks=blocks,
    )


def _blocks(attacks: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    yield Words(list(_setting(attacks)))
    yield _risks(found)
    yield _success(found)
    yield from _notes(found)
    yield DataTable(
        caption="What was tried",
        columns=("Attack", "In words"),
        forms=("text", "text"),
        rows=[(words(row, "name"), _WHAT.get(words(row, "name"), "")) for row in found],
    )


def _setting(attacks: Mapping[str, Any]) -> Iterator[str]:
    keys = joined(names(attacks, "keys")) or "unnamed keys"
    yield (
        f"The inference attack knows {keys} and seeks "
        f"{words(attacks, 'target') or 'an unnamed target'}. All attacks use "
        f"{written(count(attacks, 'synthetic'), 'count')} synthetic records; the halves have "
        f"{written(count(attacks, 'all_fitted'), 'count')} fitted and "
        f"{written(count(attacks, 'all_unseen'), 'count')} unseen records, of which "
        f"{written(count(attacks, 'records'), 'count')} of each took part in singling out. "
        f"Intervals have a confidence of {written(number(attacks, 'confidence'), 'share')}."
    )
    sources = [joined(names(source)) for source in listed(attacks, "linked")]
    if len(sources) == 2:
        yield f"Linkability joins a source with {sources[0]} to one with {sources[1]}."


def _risks(found: Sequence[Mapping[str, Any]]) -> Chart:
    title = "Risk of each attack"
    drawn = [
        DotRow(
            label=words(row, "name"),
            value=number(row, "risk"),
            low=number(row, "low"),
            high=number(row, "high"),
        )
        for row in found
    ]
    summary = "; ".join(
        f"{row.label}: {written(row.value, 'share')} (interval {span(row.low, row.high)})"
        for row in drawn
    )
    return Chart(
        title=title,
        svg=dots(
            drawn,
            title=title,
            description=summary,
            label="risk",
            marks={"value": "risk"},
            whole=True,
            zero=True,
        ),
        reads=_READS,
        summary=summary,
        table=_table(found),
    )


def _success(found: Sequence[Mapping[str, Any]]) -> Chart:
    title = "How often each attack succeeds"
    drawn = [
        DotRow(
            label=words(row, "name"),
            value=number(row, "rate"),
            low=number(row, "rate_low"),
            high=number(row, "rate_high"),
            baseline=number(row, "baseline"),
            original=number(row, "control_rate"),
        )
        for row in found
    ]
    summary = "; ".join(
        f"{row.label}: {written(row.value, 'share')} on fitted records, "
        f"{written(row.original, 'share')} on unseen ones, {written(row.baseline, 'share')} by "
        "guessing"
        for row in drawn
    )
    marks = {
        "value": "fitted records",
        "original": "unseen records",
        "baseline": "an attacker who guesses",
    }
    return Chart(
        title=title,
        svg=dots(drawn, title=title, description=summary, label="success", whole=True, marks=marks),
        reads=(
            "The dot is the success on records that were fitted, the diamond that on records that "
            "were not, the bar that of somebody who guesses. Only the way from diamond to dot is "
            "due to the release; what reaches the diamond is knowledge of the population."
        ),
        summary=summary,
    )


def _table(found: Sequence[Mapping[str, Any]]) -> DataTable:
    counts = ("asked", "n", "successes", "control_successes")
    shares = ("rate", "rate_low", "rate_high", "control_rate", "baseline", "risk", "low", "high")
    return DataTable(
        caption="Attacks made on each half, successes, rates, and the risk with its interval",
        columns=(
            "Attack",
            "Asked for",
            "Made",
            "Successes",
            "On unseen records",
            "Success",
            "From",
            "To",
            "Success on unseen",
            "Guessing",
            "Risk",
            "Risk from",
            "Risk to",
        ),
        forms=("text", *[COUNT] * 4, *[FIGURE] * 8),
        rows=[
            (
                words(row, "name"),
                *(count(row, name) for name in counts),
                *(number(row, name) for name in shares),
            )
            for row in found
        ],
    )


def _notes(found: Sequence[Mapping[str, Any]]) -> Iterator[Note]:
    for row in found:
        name = words(row, "name") or "An attack"
        low, high, kept = (number(row, key) for key in ("low", "high", "fitted_kept"))
        if row.get("is_weak") is True:
            yield Note(
                f"{name}: guessing does better, so the attack proves nothing, not even safety.",
                "alert",
            )
        elif low is not None and low > 0:
            yield Note(
                f"{name}: the interval {interval(low, high, 'share')} lies above 0; persons who "
                "were in the fit are at more risk than others.",
                "alert",
            )
        if (count(row, "n") or 0) == 0:
            yield Note(f"{name}: no attack could be made; nothing can be concluded.")
        if kept is not None and kept < 1:
            yield Note(
                f"{name}: only a share of {written(kept, 'share')} of the fitted records could be "
                "attacked, so rate and risk are too low by about that share."
            )
