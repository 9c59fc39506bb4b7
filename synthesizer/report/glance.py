"""At a glance: limits, the figures that decide about a release, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synthesizer.measures.figure import Figure, is_above_chance, lies_above
from synthesizer.report.blame import bad_utility, is_bad_fit
from synthesizer.report.careers import FAR, UNITS, noise_in_words
from synthesizer.report.expected import (
    copied_in_words,
    distance_in_words,
    expected_of,
    lost_fits,
    mean_mark,
    overlap_in_words,
    short,
    table_mark,
)
from synthesizer.report.figures import figure_of
from synthesizer.report.page import (
    DASH,
    Block,
    Cell,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    interval,
    plural,
    stopped,
    written,
)
from synthesizer.report.propensity_scores import MODELS, only_margins, ratio_in_words
from synthesizer.report.record import Record
from synthesizer.report.risk_figures import unmeasured

_FAIR = 0.5
_HIGH = 3.0
"""Ratio of a tree, whose fresh sample has 1, from which the data are told apart by far."""
_COLUMNS = ("Figure", "Value", "95 % interval", "Good is", "Original", "In words")
_FORMS: tuple[Form, ...] = ("text", "share", "text", "share", "share", "text")


@dataclass(frozen=True)
class _Headline:
    """One row: figure, value, what it means, what is good, its interval, the original's value."""

    name: str
    value: float | None
    words: str
    good: float | None = None
    low: float | None = None
    high: float | None = None
    original: float | None = None
    alert: bool = False

    @property
    def cells(self) -> list[Cell]:
        ends = interval(self.low, self.high, "share")
        return [self.name, self.value, ends, self.good, self.original, self.words]


def glance_section(record: Record) -> Section:
    """Return the verdicts and headline figures."""
    return Section(
        anchor="glance",
        title="At a glance",
        lead="What decides about a release. Every figure is explained further down.",
        blocks=[
            *_limits(record),
            *_missing(record),
            *([Note(UNITS)] if record.units == "persons" else []),
            *unmeasured(record),
            *bad_utility(record),
            *_table("How useful the data are", list(_useful(record)), "no figure of utility"),
            *_table("What the data give away", list(_risky(record)), "no figure of risk"),
        ],
    )


def _limits(record: Record) -> Iterator[Block]:
    limits = record.manifest.config.get("limits") or {}
    count = sum(limit is not None for limit in limits.values())
    if record.exceeded:
        yield Note(
            f"{plural(len(record.exceeded), 'figure')} above the limits of the configuration: by "
            "the steward's own rule these data are not to be released as they are.",
            "alert",
        )
        yield from (Note(text, "alert") for text in record.exceeded)
    elif count:
        kept = (
            "The limit that the configuration sets is"
            if count == 1
            else f"All {count} limits that the configuration sets are"
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
    yield from (Gap("certainty about the files", text, alert=True) for text in record.changes)
    for name, why in record.results.failed.items():
        if name.startswith("column "):
            words = f"Not compared: {name}, and no figure of utility covers it. {why}"
        else:
            words = f"Could not be computed: {name}: {why}"
        yield Note(stopped(words), "alert")
    utility = record.results.utility
    if utility is None:
        return
    for fit in utility.fits:
        yield from (Note(words, "alert") for words in lost_fits(fit))
    if utility.kept:
        yield Note(copied_in_words(utility.kept))
    yield from (Note(note) for note in utility.notes)


def _table(caption: str, rows: Sequence[_Headline], what: str) -> Iterator[Block]:
    if not rows:
        yield Gap(what, "The checks were off or failed.")
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


# How useful the data are.


def _useful(record: Record) -> Iterator[_Headline]:
    utility, expected = record.results.utility, expected_of(record)
    figures = [] if utility is None else [figure for _, figure in utility.figures]
    single = table_mark(expected)
    for key, name, mark in (
        ("mean_two_way", "Pairs of variables, mean S_pMSE", mean_mark(expected)),
        ("worst_two_way", "Worst pair, S_pMSE", single),
        ("worst_one_way", "Worst variable, S_pMSE", single),
    ):
        figure = figure_of(figures, key)
        if figure is not None:
            value = figure.value
            words = f"{_start(distance_in_words(value, expected))}."
            alert = value is not None and value > mark
            yield _Headline(name, value, words, expected.right, alert=alert)
    yield from _told_apart(record)
    yield from _careers(record)
    yield from _overlaps(record)


def _told_apart(record: Record) -> Iterator[_Headline]:
    utility, expected = record.results.utility, expected_of(record)
    for scores in () if utility is None else utility.propensity:
        what = "Margins" if only_margins(scores) else "All variables at once"
        good, mark = (1.0, _HIGH) if scores.permutations else (expected.right, mean_mark(expected))
        value = scores.mean.s_pmse
        yield _Headline(
            f"{what}, pMSE ratio by {MODELS[scores.model]}",
            value,
            f"{_start(ratio_in_words(scores, record))}.",
            good,
            alert=value is not None and value > mark,
        )


def _careers(record: Record) -> Iterator[_Headline]:
    panel = record.results.panel
    sequences = None if panel is None else panel.sequences
    rows = [] if sequences is None else [row for row in sequences.rows if row.ratio is not None]
    if rows:
        worst = max(rows, key=lambda row: row.ratio or 0.0)
        words = f"{_start(noise_in_words(worst.ratio))}. It is the {worst.meaning}."
        name = "Careers, largest distance over its noise floor"
        alert = worst.ratio is not None and worst.ratio > FAR
        yield _Headline(name, worst.ratio, words, 1.0, alert=alert)


def _overlaps(record: Record) -> Iterator[_Headline]:
    utility = record.results.utility
    fits = () if utility is None else utility.fits
    overlaps = [(fit.mean_overlap, fit) for fit in fits if fit.mean_overlap is not None]
    if overlaps:
        value, fit = min(overlaps, key=lambda pair: pair[0])
        words = "How much of each confidence interval original and synthetic data share; "
        words += f"{overlap_in_words(fit.expected_overlap)}."
        if len(fits) > 1:
            words += f" It is the fit {fit.formula}."
        name, alert = "Models, lowest mean overlap of intervals", any(map(is_bad_fit, fits))
        yield _Headline(name, value, words, fit.expected_overlap, alert=alert)


def _start(words: str) -> str:
    return words[:1].upper() + words[1:]


# What the data give away.


def _risky(record: Record) -> Iterator[_Headline]:
    risk = record.results.risk
    for part in risk.scenarios:
        about = f" ({part.scenario.label})" if len(risk.scenarios) > 1 else ""
        if halves := figure_of(part.figures, "differential_confidentiality"):
            name = f"Differential confidentiality{about}"
            yield _headline(halves, name, _added(halves), 0.0)
        if cap := figure_of(part.figures, "cap"):
            yield _headline(cap, f"CAP{about}", _attributed(cap), cap.baseline)
    others = [figure for _, figure in risk.other_figures]
    if nearer := figure_of(others, "nearer_share"):
        yield _headline(nearer, "Share nearer to the fitted half", _nearer(nearer), _FAIR)
    if replicated := figure_of(others, "replicated_uniques"):
        yield _headline(replicated, "Replicated uniques", _replicated(replicated), 0.0)
    if careers := figure_of(others, "replicated_careers"):
        above = is_above_chance(careers.value, careers.baseline, careers.n)
        yield _Headline(
            "Careers of one person",
            careers.value,
            _repeated(careers, above=above),
            careers.baseline,
            original=careers.original,
            alert=above,
        )


def _headline(figure: Figure, name: str, words: str, good: float | None) -> _Headline:
    alert = lies_above(figure.low, good)
    ends = figure.low, figure.high
    return _Headline(name, figure.value, words, good, *ends, figure.original, alert)


def _added(figure: Figure) -> str:
    meaning = "What persons add to their own risk by being in the data; 0 is safe. "
    if figure.value is None or figure.low is None or figure.high is None:
        return f"{meaning}Without an interval nothing can be concluded, which is no good news."
    if figure.low > 0:
        return f"{meaning}The interval lies above 0: being in the data discloses something."
    if figure.high < 0:
        return f"{meaning}The interval lies below 0, which discloses nothing."
    return f"{meaning}The interval covers 0: no difference was found."


def _attributed(figure: Figure) -> str:
    words = "How often an intruder reads off the target rightly"
    if figure.value is None or figure.baseline is None or figure.original is None:
        return f"{words}. Lower is safer."
    way = figure.original - figure.baseline
    words += "; safe is what guessing achieves."
    if way <= 0:
        return words
    share = written((figure.value - figure.baseline) / way, "share")
    return f"{words} {share} of the way from that to the original's."


def _nearer(figure: Figure) -> str:
    meaning = "Are synthetic records nearer to those they were made from than to others; 0.5 is no."
    if figure.low is None:
        return meaning
    if figure.low > _FAIR:
        return f"{meaning} The interval lies above 0.5: they are."
    return f"{meaning} The interval does not lie above 0.5."


def _repeated(figure: Figure, *, above: bool) -> str:
    meaning = "Share of the synthetic careers that repeat the career of a single person. "
    if figure.baseline is None:
        return f"{meaning}Lower is safer."
    return f"{meaning}They do so {'more' if above else 'no more'} often than fresh persons would."


def _replicated(figure: Figure) -> str:
    meaning = "Share of the synthetic records that repeat a unique original record in every value."
    if figure.value is None or not figure.n:
        return meaning
    return f"{meaning} Here {plural(round(figure.value * figure.n), 'record')} of {figure.n:,}."
