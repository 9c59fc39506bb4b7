"""At a glance: limits, the figures that decide about a release, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from synthesizer.figures import lies_above
from synthesizer.report.careers_reading import UNITS, is_panel, read_measures
from synthesizer.report.careers_tables import FAR, is_above_chance, noise_in_words
from synthesizer.report.fit_words import lost_fits, overlap_expected, overlap_in_words
from synthesizer.report.numbers import DASH, interval, plural, stopped, written
from synthesizer.report.parts import Block, Cell, DataTable, Form, Gap, Note, Section
from synthesizer.report.propensity_section import MODELS, only_margins, ratio_in_words
from synthesizer.report.record import Record, dig, listed, mappings, number, words
from synthesizer.report.risk_other_rates import other_rates
from synthesizer.report.risk_reading import Rate, rate, rates, scenarios
from synthesizer.report.unmeasured import unmeasured
from synthesizer.report.utility_expected import (
    copied_in_words,
    distance_in_words,
    expected_of,
    kept_of,
    mean_mark,
    short,
    table_mark,
)
from synthesizer.report.utility_marks import bad_utility, is_bad_fit
from synthesizer.report.utility_tables import AGAIN, utility_of

__all__ = ["glance_section"]

_FAIR = 0.5
_HIGH = 3.0
"""Ratio of a tree, whose fresh sample has 1, from which the data are told apart by far."""
_COLUMNS = ("Figure", "Value", "95 % interval", "Good is", "Original", "In words")
_FORMS: tuple[Form, ...] = ("text", "share", "text", "share", "share", "text")


@dataclass(frozen=True)
class _Headline:
    """One row: figure, value, interval, what is good, the original's value, in words."""

    name: str
    value: float | None
    told: str
    low: float | None = None
    high: float | None = None
    good: float | None = None
    original: float | None = None
    alert: bool = False

    @property
    def cells(self) -> list[Cell]:
        ends = interval(self.low, self.high, "share")
        return [self.name, self.value, ends, self.good, self.original, self.told]


def glance_section(record: Record) -> Section:
    """Return the verdicts and headline figures.

    Parameters
    ----------
    record : Record
        A run.
    """
    return Section(
        anchor="glance",
        title="At a glance",
        lead="What decides about a release. Every figure is explained further down.",
        blocks=[
            *_limits(record),
            *_missing(record),
            *([Note(UNITS)] if is_panel(record) else []),
            *unmeasured(record),
            *bad_utility(record),
            *_table("How useful the data are", list(_useful(record)), "no figure of utility"),
            *_table("What the data give away", list(_risky(record)), "no figure of risk"),
        ],
    )


def _limits(record: Record) -> Iterator[Block]:
    told = listed(record.checks, "exceeded") or listed(record.manifest, "exceeded_limits")
    limits = dig(record.manifest, "config", "limits", default={})
    count = sum(v is not None for v in limits.values()) if isinstance(limits, Mapping) else 0
    if told:
        yield Note(
            f"{plural(len(told), 'figure')} above the limits of the configuration: by the "
            "steward's own rule these data are not to be released as they are.",
            "alert",
        )
        yield from (Note(words(entry), "alert") for entry in told)
    elif not record.checks:
        yield Gap("the checks", "The run has no checks.json that can be read; run it again.")
    elif count:
        kept = (
            "The limit that the configuration sets is"
            if count == 1
            else (f"All {count} limits that the configuration sets are")
        )
        yield Note(f"{kept} kept.", "good")
    else:
        yield Note(
            "No limits were set, so no figure could exceed one and this page takes no decision. "
            "To have the run say no by itself, write limits in the configuration, for example "
            "limits: {differential_confidentiality: 0.03, mean_two_way: "
            f"{short(expected_of(record).limit)}}}."
        )


def _missing(record: Record) -> Iterator[Block]:
    yield from record.gaps
    for name, why in _failures(record).items():
        if name.startswith("column "):
            told = f"Not compared: {name}, and no figure of utility covers it. {why}"
        else:
            told = f"Could not be computed: {name}: {why}"
        yield Note(stopped(told), "alert")
    for fit in mappings(utility_of(record), "fits"):
        yield from (Note(told, "alert") for told in lost_fits(fit))
    if kept := kept_of(record):
        yield Note(copied_in_words(kept))
    if record.checks and not utility_of(record) and dig(record.checks, "tables"):
        yield Gap(
            "distributions, tables of pairs and propensity scores",
            f"The checks were made by an older version, which did not keep them. {AGAIN}",
        )
    notes = [words(note) for note in listed(utility_of(record), "notes")]
    yield from (Note(note) for note in notes)


def _failures(record: Record) -> dict[str, str]:
    parts = (record.checks, dig(record.checks, "risk"), utility_of(record))
    found: dict[str, str] = {}
    for part in parts:
        failed = dig(part, "failed", default={})
        if isinstance(failed, Mapping):
            found |= {words(name): words(why) for name, why in failed.items()}
    return found


def _table(caption: str, rows: Sequence[_Headline], what: str) -> Iterator[Block]:
    if not rows:
        yield Gap(what, "The checks were off, failed, or cannot be read; see checks.json.")
        return
    # what no row has is left out
    kept = [
        i for i in range(len(_COLUMNS)) if any(row.cells[i] not in (None, DASH) for row in rows)
    ]
    yield DataTable(
        caption=caption,
        columns=[_COLUMNS[i] for i in kept],
        forms=[_FORMS[i] for i in kept],
        rows=[[row.cells[i] for i in kept] for row in rows],
        highlight=[i for i, row in enumerate(rows) if row.alert],
        stacks=True,
    )


def _useful(record: Record) -> Iterator[_Headline]:
    told = {words(f, "name"): f for f in reversed(mappings(utility_of(record), "figures"))}
    summary, expected = dig(record.checks, "summary"), expected_of(record)
    mean, single = mean_mark(expected), table_mark(expected)
    for name, key, shown, mark in (
        ("mean two-way S_pMSE", "mean_two_way", "Pairs of variables, mean S_pMSE", mean),
        ("largest two-way S_pMSE", "worst_two_way", "Worst pair, S_pMSE", single),
        ("largest one-way S_pMSE", "worst_one_way", "Worst variable, S_pMSE", single),
    ):
        value = number(told, name, "value")
        value = number(summary, key) if value is None else value
        if value is not None or name in told:
            told_by = f"{_start(distance_in_words(value, expected))}."
            alert = value is not None and value > mark
            yield _Headline(shown, value, told_by, good=expected.right, alert=alert)
    yield from _told_apart(record)
    yield from _careers(record)
    yield from _overlaps(record)


def _told_apart(record: Record) -> Iterator[_Headline]:
    expected = expected_of(record)
    for entry in mappings(utility_of(record), "propensity"):
        model = words(entry, "model")
        name = f"All variables at once, pMSE ratio by {MODELS.get(model, model)}"
        if only_margins(entry):
            name = f"Margins, pMSE ratio by {MODELS.get(model, model)}"
        told = f"{_start(ratio_in_words(entry, record))}."
        permuted, value = number(entry, "permutations"), number(entry, "mean", "s_pmse")
        good, mark = (1.0, _HIGH) if permuted else (expected.right, mean_mark(expected))
        alert = value is not None and value > mark
        yield _Headline(name, value, told, good=good, alert=alert)


def _careers(record: Record) -> Iterator[_Headline]:
    found = [(own.ratio, own) for own in read_measures(record) if own.ratio is not None]
    if found:
        ratio, own = max(found, key=lambda pair: pair[0])
        told = f"{_start(noise_in_words(ratio))}. It is the {own.meaning}."
        name = "Careers, largest distance over its noise floor"
        yield _Headline(name, ratio, told, good=1.0, alert=ratio > FAR)


def _overlaps(record: Record) -> Iterator[_Headline]:
    fits = mappings(utility_of(record), "fits")
    found = [(value, fit) for fit in fits if (value := number(fit, "mean_overlap")) is not None]
    if found:
        value, fit = min(found, key=lambda pair: pair[0])
        good = overlap_expected(fit)
        told = "How much of each confidence interval original and synthetic data share; "
        told += f"{overlap_in_words(good)}."
        if len(fits) > 1:
            told += f" It is the fit {words(fit, 'formula')}."
        name = "Models, lowest mean overlap of intervals"
        alert = any(is_bad_fit(own) for own in fits)
        yield _Headline(name, value, told, good=good, alert=alert)


def _start(told: str) -> str:
    return told[:1].upper() + told[1:]


def _risky(record: Record) -> Iterator[_Headline]:
    several = len(scenarios(record)) > 1
    for scenario in scenarios(record):
        found = rates(scenario.content, "figures")
        about = f" ({scenario.label})" if several else ""
        halves, cap = rate(found, "differential confidentiality"), rate(found, "CAP")
        if halves is not None:
            yield _headline(halves, f"Differential confidentiality{about}", _added(halves), 0.0)
        if cap is not None:
            yield _headline(cap, f"CAP{about}", _attributed(cap), cap.baseline)
    for other in other_rates(record):
        if other.name == "share nearer to the fitted half":
            yield _headline(other, "Share nearer to the fitted half", _nearer(other), _FAIR)
        if other.name == "replicated uniques":
            yield _headline(other, "Replicated uniques", _replicated(other), 0.0)
        if other.name == "careers of one person":
            head = _headline(other, "Careers of one person", _repeated(other), other.baseline)
            yield replace(head, alert=is_above_chance(other))


def _headline(found: Rate, name: str, told: str, good: float | None) -> _Headline:
    alert = lies_above(found.low, good)
    return _Headline(name, found.value, told, found.low, found.high, good, found.original, alert)


def _added(found: Rate) -> str:
    meaning = "What persons add to their own risk by being in the data; 0 is safe. "
    if found.value is None or found.low is None or found.high is None:
        return f"{meaning}Without an interval nothing can be concluded, which is no good news."
    if found.low > 0:
        return f"{meaning}The interval lies above 0: being in the data discloses something."
    if found.high < 0:
        return f"{meaning}The interval lies below 0, which discloses nothing."
    return f"{meaning}The interval covers 0: no difference was found."


def _attributed(found: Rate) -> str:
    told = "How often an intruder reads off the target rightly"
    if found.value is None or found.baseline is None or found.original is None:
        return f"{told}. Lower is safer."
    way = found.original - found.baseline
    share = (found.value - found.baseline) / way if way > 0 else None
    place = (
        ""
        if share is None
        else f" {written(share, 'share')} of the way from that to the original's."
    )
    return f"{told}; safe is what guessing achieves.{place}"


def _nearer(found: Rate) -> str:
    meaning = "Are synthetic records nearer to those they were made from than to others; 0.5 is no."
    if found.low is None or found.high is None:
        return meaning
    if found.low > _FAIR:
        return f"{meaning} The interval lies above 0.5: they are."
    return f"{meaning} The interval does not lie above 0.5."


def _repeated(found: Rate) -> str:
    meaning = "Share of the synthetic careers that repeat the career of a single person. "
    if found.baseline is None:
        return f"{meaning}Lower is safer."
    how = "more often" if is_above_chance(found) else "no more often"
    return f"{meaning}They do so {how} than fresh persons would."


def _replicated(found: Rate) -> str:
    meaning = "Share of the synthetic records that repeat a unique original record in every value."
    if found.value is None or not found.n:
        return meaning
    return f"{meaning} Here {plural(round(found.value * found.n), 'record')} of {found.n:,}."
